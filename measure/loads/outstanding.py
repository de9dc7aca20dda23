"""What is outstanding, as watched: a mean number of requests in the device, from all programs."""

from __future__ import annotations

from dataclasses import dataclass

from measure.loads.base import CountedLoad


@dataclass(frozen=True, repr=False)
class Outstanding(CountedLoad):
    """The mean number of requests in the device that the kernel or a tool counted; nobody set it.

    It varies around its mean, so N = X R becomes L = X R.

    >>> Outstanding().at(2.5), Outstanding().law
    ('2.5 outstanding', 'L = X R')
    """

    law = "L = X R"
    singular = "outstanding"
    plural = "outstanding"
