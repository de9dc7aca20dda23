"""Parts of devices by name: each function returns a :class:`~qsim.models.routed.Network`."""

from __future__ import annotations

from qsim import _check
from qsim.distributions import Distribution, Exponential
from qsim.models.closed import Delay
from qsim.models.node import Node
from qsim.models.routed import Network


def MG1Setup(arrival_rate: float, service: Distribution, setup: Distribution, off_after: float = 0.0) -> Network:  # noqa: N802
    """M/G/1 whose server is switched off when it has been idle for ``off_after``, and takes ``setup`` to wake.

    >>> from qsim import Deterministic, solve
    >>> drive = MG1Setup(1.0, Deterministic(80e-6), setup=Deterministic(2e-3), off_after=50e-3)
    >>> round(solve(drive).W * 1e6)
    1981
    """
    return Network({"server": Node(service, setup=setup, off_after=off_after)}, arrivals={"server": arrival_rate})


def ForkJoin(arrival_rate: float, service: Distribution, servers: int) -> Network:  # noqa: N802
    """Each of Poisson arrivals brings a part of its own ``service`` to every server, and leaves with the last part.

    >>> from qsim import Exponential, solve
    >>> round(solve(ForkJoin(arrival_rate=0.5, service=Exponential(1.0), servers=8)).W, 2)
    4.78
    """
    return Network({"stripe": Node(service, servers, queues="split")}, arrivals={"stripe": arrival_rate})


def Retrial(arrival_rate: float, service: Distribution, retrial_rate: float, servers: int = 1) -> Network:  # noqa: N802
    """Who finds every server taken waits in an orbit, and tries again after exponential times, at ``retrial_rate``.

    >>> from qsim import Exponential, solve
    >>> round(solve(Retrial(0.6, Exponential(1.0), retrial_rate=0.5)).Wq, 6)  # M/M/1 waits 1.5
    4.5
    """
    again = Exponential(1 / _check.positive("retrial_rate", retrial_rate))
    return Network(
        {"server": Node(service, servers, capacity=servers, overflow_to="orbit"), "orbit": Delay(again)},
        arrivals={"server": arrival_rate},
        routing={"orbit": {"server": 1.0}},
    )


def WriteCache(  # noqa: N802
    population: int, think_time: float, cache: Distribution, disk: Distribution, places: int, servers: int = 1
) -> Network:
    """Writes that are answered when they are in the cache, and go to the disk later; at most ``places`` wait there.

    ``population`` writes are in flight; a write that finds no place waits in the cache.

    >>> from qsim import Exponential, simulate
    >>> drive = WriteCache(8, 0.0, cache=Exponential(20e-6), disk=Exponential(100e-6), places=1000)
    >>> simulate(drive, customers=50_000, seed=1, allow_short=True)["disk"].throughput < 10_100
    True
    """
    host = {"host": Delay(think_time)} if _check.non_negative("think_time", think_time) else {}
    device = {
        "cache": Node(cache, servers, copies_to="disk"),
        "disk": Node(disk, capacity=places, when_full="after service"),
    }
    return Network({**host, **device}, populations={"host" if host else "cache": population})


def UnequalServers(population: int, think_time: float, service: Distribution, paces: tuple[float, ...]) -> Network:  # noqa: N802
    """Servers of unequal ``paces`` behind queues of their own, of which everyone joins the shortest.

    >>> from qsim import Exponential
    >>> UnequalServers(16, 0.0, Exponential(80e-6), paces=(1, 1, 0.5)).kendall
    'closed network of 1 station//16'
    """
    dies = Node(service, len(_check.sequence("paces", paces)), queues="shortest", paces=paces)
    host = {"host": Delay(think_time)} if _check.non_negative("think_time", think_time) else {}
    return Network({**host, "dies": dies}, populations={"host" if host else "dies": population})
