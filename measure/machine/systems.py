"""What works on which system: for ``qsim doctor`` and for the table in the documentation, which the tests try out."""

from __future__ import annotations

from dataclasses import dataclass

SYSTEMS = ("Linux", "Darwin", "Windows")
"""As ``platform.system()`` names them."""


@dataclass(frozen=True)
class Work:
    """Something to do: ``command`` is one of its kind, ``only_on`` the systems it works on."""

    what: str
    command: str
    only_on: tuple[str, ...] = SYSTEMS
    note: str = ""

    def on(self, system: str) -> bool:
        """Whether it works there. Systems that nobody named are taken for the like of macOS."""
        return system in self.only_on or (system not in SYSTEMS and "Darwin" in self.only_on)


WORKS = (
    Work("queues solved", "qsim solve mm1 --arrival-rate 0.5 --service-rate 1"),
    Work("queues simulated", "qsim simulate mm1 --arrival-rate 0.5 --service-rate 1"),
    Work("data of any tool read and audited", "qsim show DATA"),
    Work("curves fitted", "qsim fit DATA"),
    Work("curves compared, with the report", "qsim compare DATA --report report.html"),
    Work("plots", "qsim plot DATA --out plot.html"),
    Work("guesses sealed", "qsim seal add class.json --name Ada --knee 24"),
    Work("this machine looked at", "qsim doctor"),
    Work("the lab: Explore, Compare, and Run on all but a disk", "qsim lab"),
    Work("memory measured", "qsim measure memory --out DIR", note="threads pinned and huge pages asked for on Linux"),
    Work("drives measured by fio", "qsim measure fio TARGET --out DIR", ("Linux",), "they need direct I/O (O_DIRECT)"),
    Work(
        "devices of known truth driven by fio", "qsim measure device --out DIR", ("Linux",), "they need fio and nbdkit"
    ),
    Work("memory measured by MLC", "qsim measure mlc --out DIR", ("Linux",), "it needs the Linux program"),
)


def named_system(system: str) -> str:
    """The name that its users call a system by.

    >>> named_system("Darwin")
    'macOS'
    """
    return {"Darwin": "macOS"}.get(system, system or "this system")
