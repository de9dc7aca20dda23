"""Planning a fio sweep on many hosts at once, by fio's own client/server mode; nothing is run.

The user starts ``fio --server`` on each host and names it with its port. Here one fio, the client, sends each host a
job file and collects the results; every point runs on all hosts at the same time.

What cannot be looked at from here is made safe by what is asked of fio:

- The test file has a name with a random token that nobody else can have, one for each host, in the directory that the
  user named: ``directory=`` is refused by the host's fio where that directory is missing (a file name with a path
  would create it), and ``unique_filename=0`` keeps the name as it is. It is filled first, from end to end;
  after that ``allow_file_create=0``. A last job removes it (``unlink=1``).
- A file or device that exists is only read: nothing that writes is planned, and ``--readonly`` is sent to every host.
  It stands behind each ``--client``: before the first it does not reach the hosts (fio 3.33 then writes).
- fio ends a line of a job file at ``#`` or ``;``, and replaces what is in ``$``, so paths hold none of these.
"""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from measure.errors import DataError, UnsafeTargetError
from measure.fio.command import Common, fill_command, point_command
from measure.fio.plan import MARGIN_S, START_S, FioPoint
from measure.fio.preconditioning import SEQUENTIAL_BYTES_PER_S
from measure.fio.settings import DEFAULT_FILE_BYTES, USUAL, RunSettings, check_room
from measure.fio.workload import FioJob
from measure.formats.fio.json_output import SERVER_PORT
from measure.machine.host import tool_version
from measure.machine.own_file import Target
from measure.machine.process import find_tool
from measure.units import counted, format_bytes, format_duration
from qsim.errors import InvalidParameterError

MAX_HOSTS = 1000
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")  # never an option, never fio's ip6: or sock:
ENGINE = "libaio"
CONNECT_S = 1.5  # what client and servers take to find each other and to part, beside fio's own start
_PATH = re.compile(r"/[A-Za-z0-9._+@=/~-]*")
_TOKEN_BYTES = 8
_LOOK = ("[look]", "ioengine=null", "rw=read", "bs=4096", "size=4096")  # touches nothing


@dataclass(frozen=True)
class Host:
    """A host and the port of its fio server."""

    name: str
    port: int = SERVER_PORT

    def __str__(self) -> str:
        """As the user types it, and as it is called in what fio measured there."""
        return self.name if self.port == SERVER_PORT else f"{self.name}:{self.port}"

    @property
    def client(self) -> str:
        """fio's option that names it."""
        return f"--client={self.name},{self.port}"


def parse_hosts(texts: Iterable[str]) -> tuple[Host, ...]:
    """Hosts from ``NAME`` and ``NAME:PORT``, each once. ValueError naming what is none.

    >>> [str(host) for host in parse_hosts(["a", "b:8766"])]
    ['a', 'b:8766']
    """
    hosts: list[Host] = []
    for text in (t.strip() for t in texts):
        name, colon, port = text.partition(":")
        if not _NAME.fullmatch(name) or (colon and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536)):
            hint = "; give a host with an IPv6 address a name" if text.count(":") > 1 else ""
            raise InvalidParameterError("hosts", f"holds {text!r}", f"write NAME or NAME:PORT{hint}", value=text)
        host = Host(name, int(port)) if colon else Host(name)
        if host in hosts:
            raise InvalidParameterError("hosts", f"names {host} twice", "name each server once")
        hosts.append(host)
    if not 1 <= len(hosts) <= MAX_HOSTS:
        raise InvalidParameterError(
            "hosts", f"holds {len(hosts)}", f"name from 1 to {MAX_HOSTS}, as a,b:8766", value=len(hosts)
        )
    return tuple(hosts)


def read_hosts(path: Path) -> tuple[Host, ...]:
    """The hosts in a file, one a line; what follows # is left out. DataError where it cannot be read or names none."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise DataError(f"{path} cannot be read: {reason}; give a file with one host a line") from error
    try:
        return parse_hosts(text for line in lines if (text := line.partition("#")[0].strip()))
    except ValueError as error:
        raise DataError(f"{path}: {error}") from error


@dataclass(frozen=True)
class HostsPlan:
    """What will be done, before anything is done.

    ``target`` is the directory on every host that gets the test file or, with ``only_read``, what is read there.
    ``size_bytes`` is None where all of what exists is read.
    """

    hosts: tuple[Host, ...]
    target: str
    points: tuple[FioPoint, ...]
    only_read: bool
    size_bytes: int | None
    engine: str
    engine_reason: str
    runtime_s: float
    ramp_s: float
    seed: int
    fio_version: str
    token: str

    @property
    def point_seconds(self) -> float:
        """How long one point takes."""
        return self.ramp_s + self.runtime_s + START_S + CONNECT_S

    @property
    def point_limit_s(self) -> float:
        """The hard time limit of one point."""
        return self.ramp_s + self.runtime_s + max(MARGIN_S, 0.5 * self.runtime_s)

    def fill_seconds(self) -> float:
        """How long the filling of the files will about take."""
        if self.only_read or self.size_bytes is None:
            return 0.0
        return self.size_bytes / SEQUENTIAL_BYTES_PER_S + CONNECT_S

    def seconds(self) -> float:
        """How long the whole sweep will about take."""
        return self.fill_seconds() + len(self.points) * self.point_seconds + len(self.hosts) * CONNECT_S

    def file_on(self, host: Host) -> str:
        """The path that is measured on a host."""
        return self.target if self.only_read else f"{self.target.rstrip('/')}/{self._file_name(host)}"

    def point_jobs(self, point: FioPoint) -> dict[Host, str]:
        """The job file of a point for each host."""
        return {
            host: self._job_file(point_command(point.key, point.job, self._common(host), self.seed), host)
            for host in self.hosts
        }

    def fill_jobs(self) -> dict[Host, str]:
        """The job file that writes the test file, for each host."""
        return {host: self._job_file(fill_command(self._file(host), self.engine), host) for host in self.hosts}

    def remove_job(self, host: Host) -> str:
        """The job file that removes the test file of a host; it creates nothing."""
        options = ("--name=remove", f"--filename={self.file_on(host)}", "--size=4096", "--rw=read", "--bs=4096")
        return self._job_file((*options, "--ioengine=psync", "--thread=1", "--allow_file_create=0", "--unlink=1"), host)

    def look_jobs(self, hosts: Sequence[Host]) -> dict[Host, str]:
        """A job file that touches nothing on a host, to see whether its server answers."""
        return {host: "".join(f"{line}\n" for line in _LOOK) for host in hosts}

    def describe(self) -> str:
        """The plan in words."""
        what = (
            "only read"
            if self.only_read
            else (
                f"a test file of {format_bytes(self.size_bytes or 0)} on each, "
                f"{self._file_name(self.hosts[0])} and so on, "
                "removed at the end"
            )
        )
        depths = ", ".join(dict.fromkeys(str(p.job.depth) for p in self.points))
        return (
            f"{self.target} on {counted(len(self.hosts), 'host')}, {', '.join(map(str, self.hosts))}: {what}\n"
            f"{len(self.points)} points (depths {depths}, on every host at once), {format_duration(self.runtime_s)} "
            f"each after {format_duration(self.ramp_s)} of ramp\nengine {self.engine}: {self.engine_reason}\n"
            f"about {format_duration(self.seconds())} in all"
        )

    @property
    def commands(self) -> tuple[str, ...]:
        """The command of every step, in order; the job files are sent to the hosts by it."""
        fill = () if self.only_read else (shlex.join(client_command(self.hosts, "fill", readonly=False)),)
        return (*fill, *(p.command for p in self.points))

    def settings(self) -> dict[str, Any]:
        """What is fixed over a directory, which can be continued with the same settings only, by any workloads."""
        return {
            "hosts": [str(host) for host in self.hosts],
            "target": self.target,
            "only_read": self.only_read,
            "size_bytes": self.size_bytes,
            "engine": self.engine,
            "seed": self.seed,
            "runtime_s": self.runtime_s,
            "ramp_s": self.ramp_s,
        }

    def _file_name(self, host: Host) -> str:
        return f"qsim-{self.token}-{self.hosts.index(host) + 1}"  # two servers may share one disk

    def _file(self, host: Host) -> Target:
        kind: Literal["foreign file", "own file"] = "foreign file" if self.only_read else "own file"
        return Target(Path(self.file_on(host)), kind, self.size_bytes or 0, exists=True, writable=not self.only_read)

    def _common(self, host: Host) -> Common:
        return Common(self._file(host), "", self.engine, self.runtime_s, self.ramp_s)

    def _job_file(self, command: Sequence[str], host: Host) -> str:
        """A command of fio's as a job file: every option behind the first name is a line."""
        first = next(i for i, option in enumerate(command) if option.startswith("--name="))
        lines: list[str] = []
        for option in command[first:]:
            name, _, value = option.removeprefix("--").partition("=")
            if name == "name":
                lines.append(f"[{value}]")
            elif name == "filename" and not self.only_read:
                lines += [f"directory={self.target}", f"filename={self._file_name(host)}", "unique_filename=0"]
            elif (name, value) != ("size", "0"):  # no size: all of what exists
                lines.append(f"{name}={value}")
        return "".join(f"{line}\n" for line in lines)


def plan_hosts(
    target: str, hosts: Sequence[Host], workloads: Sequence[FioJob], settings: RunSettings | None = None
) -> HostsPlan:
    """A closed sweep of ``target`` on every host at once: a directory that is there on each, or with
    ``consent="read"`` a file or device that is there and is only read.

    Nothing is run. Raises ToolMissingError (no fio here), ValueError (a setting, named), UnsafeTargetError.
    """
    settings = settings or RunSettings()
    workloads = list(dict.fromkeys(workloads))
    if not workloads:
        raise InvalidParameterError("workloads", "is empty", "give at least one")
    if not hosts:
        raise InvalidParameterError("hosts", "is empty", "name at least one")
    if any(w.is_open for w in workloads):
        raise InvalidParameterError(
            "arrival_rates", "cannot be offered on many hosts", "measure over depths, or one host by itself"
        )
    if any(w.is_parallel for w in workloads):
        raise InvalidParameterError("mixing", "is parallel", "on many hosts only mixed requests can be measured")
    only_read, size_bytes, engine = settings.consent == "read", settings.size_bytes, settings.engine
    _check_target(target, only_read=only_read, writes=any(w.read_percent < 100 for w in workloads))
    if not only_read:
        size_bytes = (size_bytes or DEFAULT_FILE_BYTES) // 4096 * 4096
        check_room(size_bytes, workloads)
    if engine not in ("auto", *USUAL):
        raise InvalidParameterError(
            "engine", f"{engine!r} is not for hosts that cannot be asked", f"there are auto, {', '.join(USUAL)}", engine
        )
    find_tool("fio")
    reason = "every fio for Linux has it, and what the hosts have cannot be asked" if engine == "auto" else "asked for"
    points = [
        FioPoint(key, job, repeat, client_command(hosts, key, readonly=job.read_percent == 100))
        for job, repeat in settings.rounds(workloads)
        for key in [f"{job.key}.r{repeat}"]
    ]
    return HostsPlan(
        tuple(hosts),
        target,
        tuple(points),
        only_read,
        size_bytes,
        ENGINE if engine == "auto" else engine,
        reason,
        settings.runtime_s,
        settings.ramp_s,
        settings.seed,
        tool_version("fio") or "",
        secrets.token_hex(_TOKEN_BYTES),
    )


def client_command(hosts: Sequence[Host], step: str, *, readonly: bool) -> tuple[str, ...]:
    """The client's command, in a folder that holds the job files ``STEP-1.fio``, ``STEP-2.fio``, ..."""
    guard = ("--readonly",) if readonly else ()
    each = ((host.client, *guard, f"{step}-{number}.fio") for number, host in enumerate(hosts, 1))
    return ("fio", "--output-format=json+", "--eta=never", *(word for words in each for word in words))


def _check_target(target: str, *, only_read: bool, writes: bool) -> None:
    what = "the file or device to read" if only_read else "a directory"
    if not _PATH.fullmatch(target):
        raise UnsafeTargetError(
            f"target {target!r} cannot be sent to hosts; name {what} by its whole path there, from / on, of letters, "
            "digits and . _ + @ = ~ - only (fio reads other characters as something else)"
        )
    if ".." in target.split("/"):
        raise UnsafeTargetError(f"target {target!r} leads upwards (..); name {what} by its plain path")
    if only_read and writes:
        raise UnsafeTargetError(
            f"{target} on the hosts is read only, and this workload writes; name a directory, in which a test file is "
            "created, or measure reads"
        )
