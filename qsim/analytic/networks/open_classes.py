"""Open networks of several classes of customers, each a Poisson stream with its own visits and services.

With λ_r the rate of class r and Dᵢᵣ its demand, station i is offered aᵢ = Σᵣ λ_r·Dᵢᵣ erlangs.  Where the product form
holds (see :mod:`qsim.analytic.closed.classes` for when), the number at the station is that of M/M/c at aᵢ, classes
mixed in proportion to what they offer, and

    Wᵢᵣ = Sᵢᵣ·(1 + C(c, aᵢ)/(c - aᵢ)),

C being Erlang's; for one server Sᵢᵣ/(1 - ρᵢ).  A single FCFS server whose classes differ, or are not exponential, is
treated as an M/G/1 queue of the mixed services, Wq = Σᵣ λᵢᵣ·E[Sᵢᵣ²]/2 / (1 - ρᵢ): exact where customers come to it
straight from outside, an approximation (decomposition) behind or beside other stations.

Source: Baskett, Chandy, Muntz & Palacios (1975), J. ACM 22; Lazowska et al. (1984), Quantitative System Performance,
chapter 7; decomposition: Kuehn (1979), IEEE Trans. Communications 27; M/G/1: Kleinrock (1975), chapter 5.

>>> from qsim import Arrivals, Exponential, Network, Station, solve
>>> disk = Station({"read": Exponential(1.0), "write": Exponential(2.0)}, discipline="PS")
>>> [round(c.W, 6) for c in solve(Network({"disk": disk}, {"read": Arrivals(0.3), "write": Arrivals(0.1)})).classes]
[2.0, 4.0]
"""

from __future__ import annotations

import math

import numpy as np

from qsim.analytic.class_metrics import ClassTimes, class_metrics
from qsim.analytic.closed.classes import has_product_form
from qsim.analytic.formula import Formula
from qsim.analytic.open.mmc import ErlangStates, erlang_c
from qsim.analytic.stability import ROUNDING
from qsim.analytic.views import ClassNetwork, VisitedStation, class_network
from qsim.errors import UnstableQueueError
from qsim.metrics import Kind, Metrics, States

METHOD = "open network of several classes, product form (Baskett, Chandy, Muntz & Palacios 1975)"
DECOMPOSED = "decomposition into M/G/1 queues (Kuehn 1979)"
ALONE = "M/G/1 of several classes (Pollaczek-Khinchine; Kleinrock 1975, chapter 5)"


def _is_single_fcfs(station: VisitedStation) -> bool:
    return station.discipline == "FCFS" and (station.servers == 1 or station.queues == "random")


def applies(model: ClassNetwork) -> bool:
    """Stations of product form, and FCFS stations of single servers."""
    if model.populations:
        return False
    return all(has_product_form(s) or _is_single_fcfs(s) for s in model.stations)


def solve(model: ClassNetwork) -> Metrics:
    """``classes`` holds each class per customer, ``stations`` each station per visit; raises UnstableQueueError."""
    rates = np.array(model.arrival_rates)
    shape = (len(model.stations), rates.size)
    W, Wq, p_wait = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    states: list[States | None] = []
    kind: Kind = "exact"
    method = METHOD
    for i, station in enumerate(model.stations):
        queues = station.servers if station.queues == "random" else 1
        c, load = station.servers // queues, float(rates @ np.array(station.demands)) / queues
        if load > c * (1 - ROUNDING):
            name = f"{station.name or f'station {i + 1}'} of {model.kendall}"
            arriving = float(rates @ np.array(station.visits)) / queues
            raise UnstableQueueError(name, arriving, arriving / load, c)
        means = np.array(station.means)
        if has_product_form(station):
            waits = erlang_c(c, load)
            p_wait[i] = waits if station.discipline == "FCFS" else math.nan  # others delay those already served
            Wq[i] = means * waits / (c - load)
            states.append(ErlangStates(c, load) if queues == 1 else None)
        else:
            visits = np.array(station.visits)
            second = np.array([0.0 if s is None else s.variance + s.mean**2 for s in station.services])
            p_wait[i] = load
            Wq[i] = float(rates * visits / queues @ second) / 2 / (1 - load)
            states.append(None)
            if len(model.stations) == 1 and max(station.visits) <= 1:
                method = ALONE
            else:
                kind, method = "approximation", DECOMPOSED
        W[i] = means + Wq[i]
    times = ClassTimes(W, Wq, np.where(np.array([s.visits for s in model.stations]) > 0, p_wait, math.nan), states)
    return class_metrics(model, rates, times, kind, method)


FORMULA = Formula(class_network, applies, solve)
