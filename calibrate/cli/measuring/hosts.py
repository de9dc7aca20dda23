"""``qsim measure fio --hosts``: the same sweep on many hosts at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from calibrate.cli.console import print_json, say
from calibrate.cli.data import tell_findings
from calibrate.cli.failures import wrong_usage
from calibrate.cli.measuring.run import keeping, points_text, sweep_document
from calibrate.cli.progress import Bar
from measure.units import counted, format_duration

if TYPE_CHECKING:
    from measure.fio.hosts_sweep import Host
    from measure.fio.settings import RunSettings
    from measure.fio.workload import FioJob


def hosts_of(names: Sequence[str] | None, file: Path | None) -> tuple[Host, ...]:
    """The hosts of --hosts or --hosts-file; none where neither was given."""
    if names is None and file is None:
        return ()
    from measure.fio.host_names import parse_hosts, read_hosts

    if file is None:
        return parse_hosts(names or ())
    if names is not None:
        raise wrong_usage("--hosts and --hosts-file were both given: name the hosts once")
    return read_hosts(file)


def refuse_with_hosts(typed: Mapping[str, object]) -> None:
    """CommandError naming the first option of those that many hosts do not take, {option: its value}."""
    for option, value in typed.items():
        if value not in (None, False):
            raise wrong_usage(f"{option} is for one machine; leave it out, or measure without --hosts")


def measure_on_hosts(
    target: str, hosts: Sequence[Host], workloads: Sequence[FioJob], where: Path | None, *, dry_run: bool,
    as_json: bool, settings: RunSettings,
) -> None:  # fmt: skip
    """Plan, say what will be done, do it, print the points."""
    from measure.fio.hosts_sweep import plan_hosts, run_hosts

    plan = plan_hosts(target, hosts, workloads, settings)
    if dry_run or where is None:
        if as_json:
            points = [
                {"key": p.key, "depth": p.job.depth, "repeat": p.repeat,
                 "job_files": {str(host): text for host, text in plan.point_jobs(p).items()}}
                for p in plan.points
            ]  # fmt: skip
            print_json({"dry_run": True, "points": points, "commands": list(plan.commands),
                        "seconds": plan.seconds(), "settings": plan.settings()})  # fmt: skip
        else:
            first = plan.point_jobs(plan.points[0])[plan.hosts[0]]
            say("\n".join([plan.describe(), "", *plan.commands, "", f"{plan.points[0].key}-1.fio:", first.rstrip()]))
        return
    opening = (
        f"{len(plan.points)} points on {counted(len(hosts), 'host')}, about {format_duration(plan.seconds())}, "
        f"into {where}"
    )
    with keeping(where), Bar("measuring", opening=opening) as bar:
        sweep = run_hosts(plan, where, bar.points)
    tell_findings(sweep)
    if as_json:
        print_json(sweep_document(sweep, where))
    else:
        say(points_text(sweep, where))
