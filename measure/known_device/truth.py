"""What a known device truly is: its law of service, its servers, its queues, and what follows from them by theory.

A truth is written into the provenance of a sweep as plain JSON and read back from there, so that an estimate can be
held against it. A law is stored as its family and its parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal, get_args

from measure.errors import DataError
from measure.units import format_duration
from qsim import Distribution
from qsim.distributions.as_dict import law_from_dict, law_to_dict
from qsim.errors import InvalidParameterError

Queueing = Literal["central", "per-server"]

_NAMES = {
    "Exponential": "exponential", "Deterministic": "deterministic", "HyperExponential": "hyperexponential",
    "LogNormal": "lognormal", "Empirical": "histogram",
}  # fmt: skip


@dataclass(frozen=True)
class Truth:
    """A device with ``servers`` servers whose times follow ``service`` (seconds).

    ``queueing`` is "central" (one queue, the next free server takes its head) or "per-server" (each request joins the
    queue of a server drawn at random). ``served_mean_s`` and ``served_scv`` are those of the sample of the law that the
    device plays back, drawn with ``seed``; ``early_s`` is by how much it answers early, to make up for the way.
    ``delay_s`` is a constant part of every latency that keeps no server busy. ``player`` is what plays the device.
    """

    service: Distribution
    servers: int
    queueing: Queueing
    seed: int
    served_mean_s: float
    served_scv: float
    early_s: float = 0.0
    delay_s: float = 0.0
    player: str = "nbdkit"

    @property
    def law(self) -> str:
        """The law in words: ``lognormal, mean 2 ms, scv 2``."""
        family = type(self.service).__name__
        words = f"{_NAMES.get(family, family)}, mean {format_duration(self.service.mean)}"
        return words if family in ("Exponential", "Deterministic") else f"{words}, scv {self.service.scv:.3g}"

    @property
    def label(self) -> str:
        """The device in words, for a sweep's target."""
        one = self.servers == 1
        behind = "" if one else ", one queue" if self.queueing == "central" else ", a queue each"
        delay = f", and a delay of {format_duration(self.delay_s)}" if self.delay_s else ""
        return f"{self.player}, {self.servers} server{'' if one else 's'}{behind}, {self.law}{delay}"

    @property
    def peak_throughput_per_s(self) -> float:
        """Requests a second when every server is busy."""
        return self.servers / self.service.mean

    @property
    def crossing(self) -> float:
        """Where the asymptotes cross: the latency of a lone request times the peak."""
        return (self.delay_s / self.service.mean + 1) * self.servers

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: what was asked, what is served, and the peak and the crossing of asymptotes that follow."""
        return {
            "service": law_to_dict(self.service),
            "law": self.law,
            **{f.name: getattr(self, f.name) for f in fields(self) if f.name != "service"},
            "mean_service_time_s": self.service.mean,
            "scv": self.service.scv,
            "peak_throughput_per_s": self.peak_throughput_per_s,
            "knee": self.crossing,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Truth:
        """The inverse of ``to_dict``. Raises DataError where a field is missing or impossible."""
        try:
            told = [f.name for f in fields(cls) if f.name in values or f.default is MISSING]
            kept = {name: values[name] for name in told if name != "service"}
            if kept["queueing"] not in get_args(Queueing):
                raise InvalidParameterError("queueing", f"is {kept['queueing']!r}", value=kept["queueing"])
            return cls(service=law_from_dict(values["service"]), **kept)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"the truth in the provenance is damaged ({error}); measure the device again") from error
