"""Measuring drives of many hosts at once with fio: ``plan_hosts``, ``run_hosts``, ``read_hosts_store``.

One fio, the client, runs each point on every host at the same time (see :mod:`measure.fio.hosts_plan`). What it prints
holds a result for each host; it is stored untouched before the next point begins. The sweep has a curve for each host
and one for all together: throughputs added, latencies weighted by them, histograms merged.

A point counts where every host gave a result; fio itself goes on without a host that is down, and ends well. Where one
is missing the point is recorded as failed with the host's name, and the sweep goes on.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from measure.errors import DataError, StoreError, ToolFailedError
from measure.findings import Finding
from measure.fio.hosts_plan import Host, HostsPlan, client_command, parse_hosts, plan_hosts, read_hosts
from measure.fio.plan import FioPoint
from measure.fio.points import request_of
from measure.formats.fio.json_output import parse_fio
from measure.formats.fio.record import FioRecord, added
from measure.formats.fio.sweep import sweep_of_records, why_unusable
from measure.machine.durable import write_durably
from measure.machine.host import host_facts
from measure.machine.process import Finished, run_tool
from measure.store.directory import SweepStore
from measure.store.measuring import Measurement, Outcome, Progress, Run, Tick, measure, printed, read_kept
from measure.sweep import Provenance, Sweep
from measure.units import counted

__all__ = ["Host", "HostsPlan", "parse_hosts", "plan_hosts", "read_hosts", "read_hosts_store", "run_hosts"]

ALL_HOSTS = "all hosts"
LEFT = "files-on-hosts.json"  # {host: path}: what has to be removed there, while it is there

GRACE_S = 5.0  # the client tells the hosts to stop, and they remove what they wrote
LOOK_LIMIT_S = 8.0
REMOVE_LIMIT_S = 20.0
SLOWEST_FILL_BYTES_PER_S = 2e6  # a drive slower than this counts as hung
SAID_KEPT = 240

_SAID = re.compile(r"\bfio: |disconnected|version mismatch", re.IGNORECASE)
_ABSENT = ("file creation disallowed by allow_file_create", "failed parsing directory")


def run_hosts(plan: HostsPlan, out_dir: Path, on_progress: Progress | None = None) -> Sweep:
    """Measure what is missing of ``plan`` in the sweep directory ``out_dir``, and return all of it.

    The test files are removed from the hosts at the end, whatever happens here; those of a host that cannot be
    reached then are named in a finding, and removed when the same sweep is started again.

    Raises StoreError (the directory holds something else), ToolMissingError, ToolFailedError (a host does not answer
    before the first point, a file cannot be filled, or no point at all could be measured).
    """
    return measure(
        Measurement(
            "fio-hosts",
            plan.points,
            plan.settings(),
            partial(_provenance, plan),
            partial(_ready, plan),
            read_hosts_store,
            lambda _: plan.point_seconds,
            plan.fill_seconds(),
            tidy=partial(_remove_files, plan),
        ),
        out_dir,
        on_progress,
    )


def read_hosts_store(store: SweepStore) -> Sweep:
    """The sweep that ``run_hosts`` keeps in a directory: a curve for each host and, of several, one for all.

    Raises DataError where no point is finished, StoreError where the directory is damaged.
    """
    kept = read_kept(store, lambda text, point: parse_fio(text, point.raw.name if point.raw else point.key))
    kept.check_any()
    provenance = kept.provenance
    rank = {host: i for i, host in enumerate(provenance.details.get("hosts", ()))}
    records = [
        [replace(r, device=provenance.device) for r in sorted(found, key=lambda r: rank.get(r.host, len(rank)))]
        for found in kept.values
    ]
    findings = [*kept.findings, *_left(store)]
    each = sweep_of_records([r for of_point in records for r in of_point], findings)
    table = each.points
    latencies = dict(each.latencies)
    if all(len(of_point) > 1 for of_point in records):
        totals = _all_hosts(each, records)
        table = pd.concat([table, totals.points], ignore_index=True)
        latencies |= totals.latencies
    repeats = {p.raw.name: p.asked("repeat") for p in kept.finished if p.raw is not None}
    order = {series: i for i, series in enumerate(dict.fromkeys(table["series"]))}
    table = table.assign(repeat=[repeats[source] for source in table["source"]]).sort_values(
        ["series", "load", "repeat"], key=lambda c: c.map(order) if c.name == "series" else c, ignore_index=True
    )
    return replace(
        each, points=table, provenance=provenance, raw=kept.raw, name=store.directory.name, latencies=latencies
    )


def _all_hosts(each: Sweep, records: Sequence[Sequence[FioRecord]]) -> Sweep:
    """A row for every point of all hosts together, under the name of the hosts' curves."""
    totals = sweep_of_records([_total(of_point) for of_point in records])
    names: dict[str, str] = {}
    for of_point in records:
        source = of_point[0].source
        name = str(each.points.loc[each.points["source"] == source, "series"].iloc[0])
        for record in of_point:  # the name holds one of them
            name = re.sub(rf"from {re.escape(record.host)}(?= |$)", ALL_HOSTS, name)
        names[source] = name
    rows = totals.points
    return replace(totals, points=rows.assign(series=[names[source] for source in rows["source"]]))


def _total(records: Sequence[FioRecord]) -> FioRecord:
    """The results of all hosts at one point as one: as many jobs as there are on all of them."""
    total = added(records)
    jobs = sum(r.jobs for r in records)
    return replace(
        total,
        host="",
        options={**total.options, "numjobs": str(jobs), "group_reporting": "1"},
        records=1,
        findings=(),
        windows=(),
    )


@contextmanager
def _ready(plan: HostsPlan, store: SweepStore, _missing: Sequence[FioPoint], tick: Tick) -> Iterator[Run[FioPoint]]:
    """Look for the hosts and fill the files, which are removed at the end."""
    plan = replace(plan, token=_token(store))

    def run(point: FioPoint, tick: Tick) -> Outcome:
        jobs, readonly = plan.point_jobs(point), point.job.read_percent == 100
        finished = _client(plan.hosts, point.key, jobs, readonly, plan.point_limit_s, lambda: tick(point.describe()))
        return printed(
            finished,
            _why_failed(plan, point.key, finished),
            point.command,
            request_of(point.job, point.repeat),
            job_files={str(host): text for host, text in jobs.items()},
        )

    try:
        _prepare(plan, store, tick)
        yield run
    finally:
        _remove_files(plan, store)


def _prepare(plan: HostsPlan, store: SweepStore, tick: Tick) -> None:
    """See that every host answers, and fill the files; ToolFailedError where one does not."""
    looked = _client(
        plan.hosts,
        "look",
        plan.look_jobs(plan.hosts),
        True,
        LOOK_LIMIT_S + len(plan.hosts),
        lambda: tick("looking for the hosts"),
    )
    if reason := _why_failed(plan, "look", looked):
        raise ToolFailedError(f"{reason}; start fio --server there, of the version that is here ({plan.fio_version})")
    if not plan.only_read and plan.size_bytes is not None:
        _note_files(store, {str(host): plan.file_on(host) for host in plan.hosts})
        limit_s = 60.0 + plan.size_bytes / SLOWEST_FILL_BYTES_PER_S
        filled = _client(plan.hosts, "fill", plan.fill_jobs(), False, limit_s, lambda: tick("writing the test files"))
        if reason := _why_failed(plan, "fill", filled):
            raise ToolFailedError(f"the test files could not be filled: {reason}")


def _client(
    hosts: Sequence[Host],
    step: str,
    jobs: Mapping[Host, str],
    readonly: bool,
    limit_s: float,
    on_tick: Callable[[], None] = lambda: None,
) -> Finished:
    """One step on all of ``hosts``, with their job files in a private folder."""
    with tempfile.TemporaryDirectory(prefix="qsim-hosts-") as folder:
        for number, host in enumerate(hosts, 1):
            (Path(folder) / f"{step}-{number}.fio").write_text(jobs[host], "ascii")
        command = client_command(hosts, step, readonly=readonly)
        return run_tool(command, limit_s, Path(folder), on_tick=lambda _: on_tick(), grace_s=GRACE_S)


def _why_failed(plan: HostsPlan, step: str, finished: Finished) -> str:
    """One sentence that names the hosts, or "" where every host gave one usable result."""
    if finished.timed_out:
        silent = _silent_hosts(plan)
        who = f"no answer from {', '.join(silent)}" if silent else "which host kept it is not known"
        return f"{step}: fio did not end in time and was stopped; {who}"
    if finished.returncode < 0:
        return f"{step}: fio was ended by signal {-finished.returncode}"
    records = _records_in(finished.text)
    problems = [p for host in plan.hosts if (p := _problem(records, host, measured=step != "look"))]
    if not problems and finished.returncode > 0:
        problems.append(f"fio ended with exit code {finished.returncode}")
    if not problems:
        return ""
    said = _said(finished.text, finished.stderr.decode("utf-8", "replace"))
    return f"{step}: {'; '.join(problems)}" + (f" ({said})" if said else "")


def _records_in(text: str) -> list[FioRecord]:
    """The results in what the client printed; none where it printed none."""
    try:
        return parse_fio(text, "fio")
    except DataError:
        return []


def _problem(records: Sequence[FioRecord], host: Host, *, measured: bool = True) -> str:
    """Why there is not one usable result of the host; "" where there is."""
    found = [r for r in records if r.host == str(host)]
    if len(found) != 1:
        return f"{host} gave {'no result' if not found else f'{len(found)} results'}"
    unusable = why_unusable(found[0]) if measured else None
    return f"{host}: {unusable.message}" if unusable else ""


def _silent_hosts(plan: HostsPlan) -> list[str]:
    """The hosts whose server does not answer a job that touches nothing."""
    silent = []
    for host in plan.hosts:
        looked = _client([host], "look", plan.look_jobs([host]), True, LOOK_LIMIT_S)
        if looked.timed_out or '"client_stats"' not in looked.text:
            silent.append(str(host))
    return silent


def _said(text: str, stderr: str) -> str:
    """What the client and the hosts complained of first, before the results."""
    lines = [*stderr.splitlines(), *text.partition('"fio version"')[0].splitlines()]
    said = list(dict.fromkeys(line.strip() for line in lines if _SAID.search(line)))
    return "; ".join(said)[:SAID_KEPT]


def _remove_files(plan: HostsPlan, store: SweepStore) -> None:
    """Remove the test files that the sweep has on hosts, and note those that could not be removed.

    All hosts at once; then those that are left one by one, so that what is said concerns them.
    """
    plan = replace(plan, token=_token(store))
    left = _noted_files(store)
    wanted = [host for host in plan.hosts if str(host) in left]
    for group in [wanted, *([host] for host in wanted)]:
        hosts = [host for host in group if str(host) in left]
        if not hosts:
            continue
        finished = _client(hosts, "remove", {h: plan.remove_job(h) for h in hosts}, False, REMOVE_LIMIT_S)
        absent = len(hosts) == 1 and any(words in finished.text for words in _ABSENT)
        removed = [str(host) for host in hosts if absent or not _problem(_records_in(finished.text), host)]
        left = {host: file for host, file in left.items() if host not in removed}
        _note_files(store, left)


def _note_files(store: SweepStore, files: Mapping[str, str]) -> None:
    path = store.directory / LEFT
    if files:
        write_durably(path, json.dumps(dict(files), indent=1).encode())
    else:
        path.unlink(missing_ok=True)


def _noted_files(store: SweepStore) -> dict[str, str]:
    path = store.directory / LEFT
    try:
        noted = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}; look on the hosts for files that it names") from error
    if not isinstance(noted, dict):
        raise StoreError(f"{path} names no files; look on the hosts for files of this sweep")
    return {str(host): str(file) for host, file in noted.items()}


def _left(store: SweepStore) -> Iterator[Finding]:
    left = _noted_files(store)
    files = ", ".join(f"{file} on {host}" for host, file in left.items())
    if left:
        yield Finding(
            "file-left-on-host",
            "warning",
            f"The test file could not be removed: {files}.",
            "the host could not be reached at the end.",
            "start the same sweep again, which removes it, or remove it there by hand.",
        )


def _token(store: SweepStore) -> str:
    """The token in the names of the files of this sweep, which is the first run's."""
    token = store.manifest.get("provenance", {}).get("details", {}).get("token")
    if not isinstance(token, str) or not re.fullmatch(r"[0-9a-f]{16}", token):
        raise StoreError(f"{store.directory} does not tell the names of its test files; choose another --out")
    return token


def _provenance(plan: HostsPlan) -> Provenance:
    details: dict[str, Any] = {
        "hosts": [str(host) for host in plan.hosts],
        "token": plan.token,
        "engine": plan.engine,
        "engine_reason": plan.engine_reason,
        "submission": "inline",
        "client": host_facts().hostname,
    }
    return Provenance(
        tool="fio",
        tool_version=plan.fio_version,
        host=", ".join(str(host) for host in plan.hosts),
        device=f"{plan.target} on {counted(len(plan.hosts), 'host')}",
        details=details,
    )
