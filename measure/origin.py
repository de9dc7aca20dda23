"""Where figures come from: measured, computed, corrected, told or assumed, and of which tool, machine and device.

``Sweep.points`` has a column of origins beside each of load, throughput and latency, and a column of the published
value beside each that was corrected. An origin is a word, and behind a colon the law or the reason:

``measured``   the tool or the table printed it
``computed``   by a law, from other figures of the same row (``computed: N / X``)
``corrected``  the published value was wrong (``corrected: a unit off by 1000``); it stands in the published column
``told``       the user said it (``--columns load=1``)
``assumed``    nobody said it

>>> computed("N / X"), word_of("computed: N / X"), reason_of("computed: N / X"), word_of(MEASURED)
('computed: N / X', 'computed', 'N / X', 'measured')
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

OriginWord = Literal["measured", "computed", "corrected", "told", "assumed"]
WORDS: tuple[OriginWord, ...] = get_args(OriginWord)

MEASURED = "measured"
ORIGIN: Mapping[str, str] = {
    "load": "load_origin",
    "throughput_per_s": "throughput_origin",
    "latency_s": "latency_origin",
}
"""Column of a figure -> column of its origin."""
PUBLISHED: Mapping[str, str] = {
    "load": "load_published",
    "throughput_per_s": "throughput_published_per_s",
    "latency_s": "latency_published_s",
}
"""Column of a figure -> column of what was published where the figure was corrected; NaN elsewhere."""


def computed(law: str) -> str:
    """The origin of a figure that ``law`` gives from others of its row."""
    return f"computed: {law}"


def corrected(why: str) -> str:
    """The origin of a figure whose published value was wrong."""
    return f"corrected: {why}"


def told(how: str) -> str:
    """The origin of a figure that the user said."""
    return f"told: {how}"


def assumed(why: str) -> str:
    """The origin of a figure that nobody said."""
    return f"assumed: {why}"


def word_of(origin: str) -> OriginWord:
    """The word of an origin, without its law or reason."""
    return origin.partition(":")[0]  # type: ignore[return-value]


def reason_of(origin: str) -> str:
    """The law or the reason of an origin; empty for a measured figure."""
    return origin.partition(":")[2].strip()


MARKS: Mapping[OriginWord, str] = {"computed": "=", "corrected": "←", "told": "†", "assumed": "~"}
"""The mark of a figure that was not measured, by the word of its origin."""
_LITTLE = ("X R", "N / X", "N / R")
_COLUMN = "_origin"
_LEAST_KNOWN_FIRST = ("assumed", "computed", "told", "corrected")


def by_littles_law(origin: str) -> bool:
    """Whether a figure was computed or corrected by N = X R, so that it cannot show that the law holds.

    >>> by_littles_law("computed: N / X"), by_littles_law("computed: bandwidth / block")
    (True, False)
    """
    return any(law in reason_of(origin) for law in _LITTLE)


def can_judge(origin: str) -> bool:
    """Whether a check, or an error, may rest on the figure: it was not assumed, nor computed by N = X R.

    >>> [can_judge(o) for o in (MEASURED, corrected("a unit"), computed("N / X"), computed("bandwidth / block"))]
    [True, True, False, True]
    """
    word = word_of(origin)
    return word != "assumed" and not (word == "computed" and by_littles_law(origin))


def rows_to_judge(
    table: pd.DataFrame, figures: Iterable[str] = ORIGIN, judges: Callable[[str], bool] = can_judge
) -> NDArray[np.bool_]:
    """True (m,) for the rows of a table whose ``figures`` all have an origin that ``judges``."""
    found = np.ones(len(table), bool)
    for column in (ORIGIN[figure] for figure in figures if ORIGIN[figure] in table):
        origins = table[column].to_numpy(object)
        for origin in set(origins) - {MEASURED}:
            if not judges(origin):
                found &= origins != origin
    return found


def judged(
    table: pd.DataFrame, figures: Iterable[str] = ORIGIN, judges: Callable[[str], bool] = can_judge
) -> pd.DataFrame:
    """The rows of ``rows_to_judge``."""
    rows = rows_to_judge(table, figures, judges)
    return table if rows.all() else table[rows]


def as_measured(table: pd.DataFrame, figure: str) -> NDArray[np.float64]:
    """The values of a figure (m,): where a law gave another one than was measured, the measured one."""
    stands = rows_to_judge(table, [figure] if figure in ORIGIN else ())
    return np.where(stands, table[figure].to_numpy(float), as_published(table, figure))


def as_published(table: pd.DataFrame, figure: str) -> NDArray[np.float64]:
    """The values of a figure (m,) as they were published: corrected ones too, where what they were is known."""
    values = table[figure].to_numpy(float)
    if figure not in ORIGIN or PUBLISHED[figure] not in table:
        return values
    published = table[PUBLISHED[figure]].to_numpy(float)
    return np.where(np.isnan(published), values, published)


def corrected_rows(table: pd.DataFrame, figures: Iterable[str]) -> pd.DataFrame:
    """The rows of which one of the ``figures`` was corrected."""
    known = [figure for figure in figures if figure in ORIGIN]
    return table[~rows_to_judge(table, known, lambda origin: word_of(origin) != "corrected")]


def symbols(table: pd.DataFrame, figures: Iterable[str], symbol: str) -> str | list[str]:
    """The symbols of points in a plot: open where one of the ``figures`` has a mark."""
    open_ones = ~rows_to_judge(table, [f for f in figures if f in ORIGIN], lambda origin: origin == MEASURED)
    return [f"{symbol}-open" if is_open else symbol for is_open in open_ones] if open_ones.any() else symbol


def marks(table: pd.DataFrame, figures: Iterable[str]) -> list[str]:
    """The marks of each row (m,), one for each kind of origin of its ``figures``; empty where all were measured."""
    columns = [table[ORIGIN[figure]].map(word_of) for figure in figures]
    return [
        " ".join(MARKS[word] for word in dict.fromkeys(words) if word != "measured")
        for words in zip(*columns, strict=True)
    ]


def of_mean(origins: Sequence[str]) -> str:
    """The origin of a mean over figures of these origins.

    >>> of_mean([MEASURED, "computed: N / X", MEASURED]), of_mean(["told: jobs=4"] * 2)
    ('computed: N / X, in 1 of 3 repeats', 'told: jobs=4')
    """
    if len(set(origins)) == 1:
        return origins[0]
    others = [origin for origin in origins if origin != MEASURED]
    found = sorted(dict.fromkeys(others), key=lambda origin: _LEAST_KNOWN_FIRST.index(word_of(origin)))
    return f"{'; '.join(found)}, in {len(others)} of {len(origins)} repeats"


def marked(text: str, origin: str, published: str = "") -> str:
    """The cell of a figure: what was measured plain and first, anything else with its mark.

    >>> marked("296 µs", "computed: N / X", "156 µs"), marked("296 µs", "computed: N / X"), marked("70.2 µs", MEASURED)
    ('156 µs (296 µs =)', '296 µs =', '70.2 µs')
    >>> marked("70 µs", "corrected: a unit", "70 ms"), marked("2.0 ms", "assumed: a pause"), marked("1", "told: load=1")
    ('70 µs ← 70 ms', '~2.0 ms', '1 †')
    """
    word = word_of(origin)
    if word == "measured" or not text:
        return text
    if word == "computed":
        return f"{published} ({text} =)" if published else f"{text} ="
    if word == "assumed":
        return f"~{text}"
    return f"{text} {MARKS[word]}" + (f" {published}" if published else "")


def marked_figure(row: Mapping[Any, Any], figure: str, show: Callable[[float], str]) -> str:
    """The cell of a figure of a row with the columns of ``Sweep.points``, in the words of ``show``."""
    published = float(row[PUBLISHED[figure]])
    return marked(show(float(row[figure])), row[ORIGIN[figure]], "" if math.isnan(published) else show(published))


_EXPLAINED: Mapping[OriginWord, str] = {
    "computed": "computed, not measured",
    "corrected": "corrected; behind the arrow what was published",
    "told": "told, not in the data",
    "assumed": "assumed, as nobody said it",
}
_BESIDE = "; in brackets beside what was measured"
IN_PLOTS: Mapping[OriginWord, str] = {**_EXPLAINED, "corrected": "corrected"}  # what marks mean under a plot


def foot_lines(table: pd.DataFrame, explained: Mapping[OriginWord, str] = _EXPLAINED) -> list[str]:
    """A line on each mark in a table with columns of origins: what it means (``explained``), of which figures.

    >>> import pandas as pd
    >>> foot_lines(pd.DataFrame({"latency_s": [1e-4, 2e-4], "latency_origin": [MEASURED, "computed: N / X"]}))
    ['=  computed, not measured: latency (N / X)']
    """
    lines = []
    for word, mark in MARKS.items():
        reasons: dict[str, list[str]] = {}
        beside = False
        for column in (str(c) for c in table.columns if str(c).endswith(_COLUMN)):
            name = column.removesuffix(_COLUMN)
            known = table[column].astype(str)
            rows = known.map(word_of) == word
            for origin in dict.fromkeys(known[rows]):
                reasons.setdefault(name, []).append(reason_of(origin))
            published = [c for c in table.columns if str(c).startswith(f"{name}_published")]
            beside |= word == "computed" and bool(table.loc[rows, published].notna().any(axis=None))
        if reasons:
            of = "; ".join(f"{name.replace('_', ' ')} ({', '.join(why)})" for name, why in reasons.items())
            brackets = _BESIDE if beside and explained is not IN_PLOTS else ""
            lines.append(f"{mark}  {explained[word]}{brackets}: {of}")
    return lines


@dataclass(frozen=True)
class Provenance:
    """Where the numbers come from. Unknown facts stay empty; ``details`` holds further facts.

    ``commands`` are the exact commands, one per point, as they could be typed again.

    >>> Provenance(tool="fio", device="/dev/nvme0n1").to_dict()["tool"]
    'fio'
    """

    tool: str = ""
    tool_version: str = ""
    commands: tuple[str, ...] = ()
    host: str = ""
    kernel: str = ""
    cpu: str = ""
    device: str = ""
    started_at: str = ""
    source: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Provenance:
        """The inverse of ``to_dict``; unknown keys go to ``details``."""
        known = {k: v for k, v in values.items() if k in cls.__dataclass_fields__}
        known["commands"] = tuple(known.get("commands", ()))
        extra = {k: v for k, v in values.items() if k not in cls.__dataclass_fields__}
        known["details"] = {**dict(known.get("details", {})), **extra}
        return cls(**known)
