"""``qsim measure fio --hosts``: the same sweep on many hosts at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli.failures import wrong_usage
from calibrate.cli.measuring.run import PlanOrRun
from measure.units import counted, format_duration

if TYPE_CHECKING:
    from measure.fio.hosts_sweep import Host, HostsPlan
    from measure.fio.settings import RunSettings
    from measure.fio.workload import FioJob


def hosts_of(names: Sequence[str] | None, file: Path | None) -> tuple[Host, ...]:
    """The hosts of --hosts or --hosts-file; none where neither was given."""
    if names is None and file is None:
        return ()
    from measure.fio.hosts_plan import parse_hosts, read_hosts

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
    target: str, hosts: Sequence[Host], workloads: Sequence[FioJob], output: PlanOrRun, settings: RunSettings
) -> None:
    """Plan, say what will be done, do it, print the points."""
    from measure.fio.hosts_sweep import plan_hosts, run_hosts

    plan = plan_hosts(target, hosts, workloads, settings)
    if output.dry_run:
        output.show_plan(partial(_plan_text, plan), lambda: _plan_document(plan))
        return
    opening = f"{len(plan.points)} points on {counted(len(hosts), 'host')}, about {format_duration(plan.seconds())}"
    output.measure(opening, lambda out, bar: run_hosts(plan, out, bar))


def _plan_text(plan: HostsPlan) -> str:
    first = plan.point_jobs(plan.points[0])[plan.hosts[0]]
    return "\n".join([plan.describe(), "", *plan.commands, "", f"{plan.points[0].key}-1.fio:", first.rstrip()])


def _plan_document(plan: HostsPlan) -> dict[str, Any]:
    points = [
        {"key": p.key, "depth": p.job.depth, "repeat": p.repeat,
         "job_files": {str(host): text for host, text in plan.point_jobs(p).items()}}
        for p in plan.points
    ]  # fmt: skip
    return {
        "points": points, "commands": list(plan.commands), "seconds": plan.seconds(), "settings": plan.settings(),
    }  # fmt: skip
