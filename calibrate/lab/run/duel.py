"""The duel: the class and the model answer one question, and are ranked by what was measured afterwards.

On a device whose truth is known the question is N* = R(1) Xmax, and the truth ranks. On a real device the model seals
its answer after its calibration points, and the question is where throughput reaches 90 % of the highest at the loads
that are measured: read off all measured points, and by the model off its curve over the same loads.

Names that a reader cannot tell apart (the same letters of other alphabets, capitals, accents or blanks) are one name.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrate.fitting.fit import Fit
from calibrate.fitting.predicted_curve import grid
from calibrate.fitting.readings import ninety_among
from calibrate.lab.run.known_queue import TIMES, doubling, predicted_doubling
from calibrate.lab.run.orders import Order
from calibrate.sealing import canonical
from measure.loads import InjectedDelay
from measure.origin import judged as judged_rows
from measure.sweep import Sweep
from qsim.errors import InvalidParameterError

_ALPHABETS = (
    "aɑαаᎪᗅꓮ bƅβвьᏏᏴᑲᖯᗷꓐꞵ cсᏟᴄⲥꓚ dԁᎠᏧᑯᗞᗪꓒꓓ eεеҽᎬⴹꓰꬲ fϝքᖴẝꓝꞙꬵ gƍɡԍցᏀᏳᶃꓖ hηнһհᎻᏂᕼⲏꓧ iıɪᎥꙇ jʝϳјᎫᒍꓙ kκкᏦᛕⲕꓗ "
    "lǀɩιіӏ۱Ꮮᒪᛁⲓⳑⵏꓡꓲ mμϻмᎷᗰᛖⲙꓟ nոռⲛꓠ oοσоօ۵०০੦૦ଠ୦௦౦೦ഠ൦๐໐ဝ၀ჿዐᴏᴑⲟⵔ〇ꓳꬽ pρрᏢᑭⲣꓑ qԛգզⵕ rʀгᎡᎱᏒᖇᴦⲅꓣꭇꭈ sƽѕտᏕᏚꓢꜱ "
    "tτтᎢⲧꓔ uʋυսሀᑌᴜꓴꞟꭎꭒ vνѵ۷Ꮩᐯᴠⴸꓦꛟ wɯѡԝաᎳᏔᴡꓪ xχхᕁᕽᚷⲭⵝꓫꭓ yɣʏγуүყᎩᎽᶌỿⲩꓬꭚ zζᏃᴢꓜ"
)
"""Each Latin letter with those that look like it (Unicode Technical Standard 39, confusables; one of each letter)."""
_LATIN = {ord(other): letters[0] for letters in _ALPHABETS.split() for other in letters[1:]}
_SHAPES = str.maketrans({"I": "l", "1": "l", "|": "l", "0": "o", "\u03a5": "y", "\u039d": "n"})
"""Of letters whose small form looks like another one: also the capitals of upsilon and nu."""
_BLANK = {
    *"\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0",
    *map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))),
}
"""Letters that show nothing, and selectors of a variant."""


def looks(name: str) -> str:
    """What a reader sees of a name: two names with the same looks are easily taken for each other.

    >>> looks("Ann") == looks("\\u0410nn") == looks("A n n") == looks("ÀNN"), looks("Ann") == looks("Anna")
    (True, False)
    """
    parts = unicodedata.normalize("NFKD", name)
    letters = "".join(c for c in parts if not unicodedata.combining(c) and not c.isspace() and c not in _BLANK)
    latin = letters.translate(_SHAPES).casefold().translate(_LATIN)
    return latin.replace("rn", "m").replace("vv", "w").replace("i", "l")  # I is i and looks like l


LOWEST, HIGHEST = 1.0, 1000.0
LONGEST_NAME = 40
MODEL_NAME = "qsim"


def real(value: Any) -> float:
    """A finite real number of any kind (numpy's too) or its text as a float; NaN for anything else.

    >>> real(np.int64(96)), real(" 2.5 "), real(True), real("a lot")
    (96.0, 2.5, nan, nan)
    """
    if isinstance(value, bool | np.bool_ | bytes) or np.ndim(value) > 0:
        return math.nan
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return number if math.isfinite(number) else math.nan


@dataclass(frozen=True)
class Guess:
    """The guess of ``name`` at a load, with the nonce (hex) that hides it.

    >>> Guess("Ada", 24.0, "00").commitment[:8]
    'e056f984'
    """

    name: str
    load: float
    nonce: str

    @classmethod
    def sealed(cls, name: object, load: object) -> Guess:
        """A new guess with a nonce. InvalidParameterError for an invalid name or number."""
        who = " ".join(name.split()) if isinstance(name, str) else ""
        if not looks(who) or not who.isprintable():
            raise InvalidParameterError("name", "is missing", "say who guesses, in letters")
        if len(who) > LONGEST_NAME:
            raise InvalidParameterError("name", "is too long", f"use at most {LONGEST_NAME} letters")
        if looks(who) == looks(MODEL_NAME):
            raise InvalidParameterError("name", f"{MODEL_NAME} is the model's", "take another name")
        number = real(load)
        if not LOWEST <= number <= HIGHEST:
            raise InvalidParameterError("guess", "is out of range", f"give a number from {LOWEST:g} to {HIGHEST:g}")
        return cls(who, number, secrets.token_bytes(32).hex())

    @property
    def commitment(self) -> str:
        """SHA-256 (hex) over the nonce and the canonical form of name and guess."""
        shown = canonical({"name": self.name, "guess": self.load})
        return hashlib.sha256(bytes.fromhex(self.nonce) + shown).hexdigest()


MOST_NAMES = 3


@dataclass(frozen=True)
class Judged:
    """The answer that ranks, ``load``, or None for the reason in ``note``. Errors are multiples of the ``standard``."""

    load: float | None
    standard: str
    note: str


def judge(order: Order, sweep: Sweep) -> Judged:
    """The answer for a device: its truth, or the reading of all its measured points."""
    if order.is_queue:
        return Judged(doubling(order), "the truth", f"there R = {TIMES:g} S = {1e3 * TIMES * order.service_s:g} ms")
    if order.device == "known":
        note = f"{order.servers} servers of {1e3 * order.service_s:g} ms each"
        return Judged(float(order.servers), "the truth", note)
    measured = judged_rows(sweep.points, ["load", "throughput_per_s"])
    mean = measured.groupby("load")["throughput_per_s"].mean()
    loads, rates = mean.index.to_numpy(float), mean.to_numpy(float)
    if len(loads) < 2:
        few = "fewer than two points were measured"
        whole = len(measured) == len(sweep.points)
        return Judged(None, "the measured one", few if whole else f"{few} whose throughput was not computed")
    load = ninety_among(loads, rates, delays=isinstance(order.load_type, InjectedDelay))
    low, high = loads[loads <= load].max(), loads[loads >= load].min()
    where = order.load_type.at(low) if low == high else f"between {order.load_type.at(low)} and {high:g}"
    return Judged(load, "the measured one", where)


def predicted_load(order: Order, fit: Fit) -> float | None:
    """The model's answer to the same question: the same reading of its curve over the loads that are measured."""
    if order.is_queue:
        return predicted_doubling(order, fit)
    if order.device == "known":
        return fit.knee.load
    loads = grid(min(order.loads), max(order.loads))
    throughput = fit.predict(loads, refuse=False).throughput_per_s
    return ninety_among(loads, throughput, delays=isinstance(order.load_type, InjectedDelay))


def true_rows(order: Order) -> list[dict[str, float]]:
    """The exact curve X = min(N, c) / S of a known device over its depths, JSON-ready; empty for any other.

    >>> from measure.loads import Depth
    >>> order = Order("known", "", Depth(), (1.0, 2.0, 8.0), servers=2, service_s=2e-3)
    >>> [row["throughput_per_s"] for row in true_rows(order)]
    [500.0, 1000.0, 1000.0]
    """
    if order.device != "known":
        return []
    loads = sorted({*order.loads, float(order.servers)})
    rates = [min(n, order.servers) / order.service_s for n in loads]
    return [{"load": n, "throughput_per_s": x, "response_time_s": n / x} for n, x in zip(loads, rates, strict=True)]


@dataclass(frozen=True)
class Row:
    """A line of the leaderboard; ``ratio`` is the guess over the answer. Without a guess there is no rank."""

    rank: int | None
    name: str
    load: float | None
    error: str
    is_model: bool = False
    nonce: str = ""


def ranked(guesses: Sequence[Guess], model: float | None, judged: Judged) -> list[Row]:
    """The class and the model, the closest first: half and twice the answer are equally wrong, and share a place."""
    entries = [(g.name, g.load, False, g.nonce) for g in guesses] + [(MODEL_NAME, model, True, "")]
    answer = judged.load
    off = [abs(math.log(load / answer)) if load and answer else None for _, load, *_ in entries]
    places = sorted(round(o, 9) for o in off if o is not None)
    rows = [
        Row(None if o is None else 1 + places.index(round(o, 9)), name, load, error_text(load, judged), is_model, nonce)
        for o, (name, load, is_model, nonce) in zip(off, entries, strict=True)
    ]
    return sorted(rows, key=lambda row: math.inf if row.rank is None else row.rank)


def error_text(load: float | None, judged: Judged) -> str:
    """How far a guess is off.

    >>> error_text(7.0, Judged(6.0, "the truth", "")), error_text(None, Judged(6.0, "the truth", ""))
    ('1.17 × the truth', 'no answer')
    """
    if not load:
        return "no answer"
    if not judged.load:
        return "not ranked"
    ratio = load / judged.load
    digits = ".0f" if ratio >= 10 else ".2f" if ratio >= 0.1 else ".1g"
    return f"{ratio:{digits}} × {judged.standard}"


def outcome(order: Order, rows: Sequence[Row], judged: Judged) -> str:
    """The end of the duel in a few sentences."""
    asked = order.quantity
    people = [row for row in rows if not row.is_model]
    if judged.load is None:
        return f"{asked} cannot be read from these points, so nobody is ranked: {judged.note}."
    parts = [f"{asked} is {judged.load:.3g}, {judged.standard}: {judged.note}."]
    if people:
        parts.append(_closest(people))
    model = next(row for row in rows if row.is_model)
    if model.load is None:
        return " ".join([*parts, "The model gave no answer."])
    parts.append(f"The model said {model.load:.3g} ({model.error})")
    if people and model.rank and people[0].rank:
        ahead = model.rank - people[0].rank
        parts[-1] += ": a draw" if ahead == 0 else " and loses" if ahead > 0 else " and wins"
    return " ".join(parts) + "."


def _closest(people: Sequence[Row]) -> str:
    first = [row for row in people if row.rank == people[0].rank]
    names = [row.name for row in first[:MOST_NAMES]]
    if len(first) > MOST_NAMES:
        names.append(f"{len(first) - MOST_NAMES} more")
    joined = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    count = "the only guess" if len(people) == 1 else f"of {len(people)} guesses"
    return f"Closest {count}: {joined} with {first[0].load:.3g} ({first[0].error})."
