"""The shapes that formulas know, recognised in a model: each function returns a view, or None for another shape."""

from __future__ import annotations

from qsim.models import (
    Closed,
    ClosedClasses,
    MixedNetwork,
    Model,
    Network,
    Open,
    OpenClasses,
    OpenNetwork,
    OpenNetworkClasses,
    Tandem,
)


def open_queue(model: Model) -> Open | None:
    """One station fed from outside by one class of customers."""
    return model if isinstance(model, Open) else None


def open_classes(model: Model) -> OpenClasses | None:
    """One station fed from outside by several classes."""
    return model if isinstance(model, OpenClasses) else None


def closed_network(model: Model) -> Closed | None:
    """One class of customers that circle."""
    return model if isinstance(model, Closed) else None


def closed_classes(model: Model) -> ClosedClasses | None:
    """Several classes of customers that circle."""
    return model if isinstance(model, ClosedClasses) else None


def jackson_network(model: Model) -> OpenNetwork | Tandem | None:
    """Stations fed from outside by one class of customers."""
    return model if isinstance(model, OpenNetwork | Tandem) else None


def open_network_classes(model: Model) -> OpenNetworkClasses | None:
    """Stations fed from outside by several classes."""
    return model if isinstance(model, OpenNetworkClasses) else None


def mixed_network(model: Model) -> MixedNetwork | None:
    """Classes from outside at stations where others circle."""
    return model if isinstance(model, MixedNetwork) else None


def network(model: Model) -> Network | None:
    """Any network of named stations."""
    return model if isinstance(model, Network) else None
