"""What arguments are refused for, in words that can be typed back."""

from __future__ import annotations

import numpy as np
import pytest

from qsim import MM1, Exponential
from qsim.errors import InvalidParameterError


@pytest.mark.parametrize("value", [-0.5, np.float64(-0.5), np.float32(-0.5)])
def test_a_refused_number_is_shown_as_it_is_typed(value: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"not -0\.5:"):
        Exponential(value)
    with pytest.raises(InvalidParameterError, match=r"not -0\.5:"):
        MM1(arrival_rate=value, service_rate=1)
