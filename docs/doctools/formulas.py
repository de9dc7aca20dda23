"""Formulas of the pages, as one types them, as MathML: fractions, powers, subscripts and sums."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKENS = re.compile(
    r"""(?P<space>\s+)|(?P<word>[A-Z]+/[A-Z]+/[a-zA-Z0-9]+|\|\w\|)
    |(?P<sum>sum\ over\ (?P<index>\w+)\ =\ (?P<low>\S+?)\.\.(?P<high>\S+)\ of|sum\ over\ (?P<under>\w+)\ of|sum\ of|Σ)
    |(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z]+(?:_\w+|\d+)?\*?|[α-ωΔΦ][a-z\d]?)
    |(?P<power>\^|²|³)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<operator><=|>=|···|\.\.|.)""",
    re.VERBOSE,
)
_GREEK = {"rho": "ρ", "kappa": "κ", "beta": "β"}
_SPACED = frozenset(["for", "over", "from", "all", "that", "of", "to"])
_LAWS = ["exp", "min", "max", "log", "var", "cov", "scv", "dt", "Var", "FCFS", "SJF", "PSJF", "SRPT"]
_WORDS = frozenset([*_SPACED, *_LAWS])
_SIGNS = {"<=": "≤", ">=": "≥", "-": "−", "...": "…"}
_ENDS = frozenset("+-=·,≤≥<>±|;:")
_PROSE = re.compile(r"(?:\b[a-z]{2,}\b[ ,:]+){3,}|^[^\W\d_][\w'-]{3,}(?: \w+)?$|, which|, a |: a ")


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    spaced: bool
    match: re.Match[str]


def is_formula(block: str) -> bool:
    """Whether the lines of a block are formulas rather than commands."""
    lines = [line for line in block.splitlines() if line.strip()]
    return bool(lines) and not any(re.match(r"\$ |qsim ", line) for line in lines)


def mathml_table(block: str) -> str:
    """The lines of a block as rows, and what two blanks part as cells.

    >>> mathml_table("a = b")
    '<table class="math"><tr><td><math><mi>a</mi><mo>=</mo><mi>b</mi></math></td></tr></table>'
    """
    lines = (line for line in block.splitlines() if line.strip())
    rows = ("".join(f"<td>{_cell(cell)}</td>" for cell in _cells(line)) for line in lines)
    return f'<table class="math">{"".join(f"<tr>{row}</tr>" for row in rows)}</table>'


def _cells(line: str) -> list[str]:
    """A run of blanks before a sign is alignment within a cell."""
    return re.split(r"\s{3,}|(?<=,)\s{2,}", re.sub(r"(?<=\S)\s+(?=[=≤] )", " ", line).rstrip())


def _cell(text: str) -> str:
    if _PROSE.search(text):
        return html.escape(text)
    return f"<math>{mathml(text)}</math>"


def mathml(text: str) -> str:
    """A formula of one line.

    >>> mathml("ρ / (1 - ρ)")
    '<mfrac><mi>ρ</mi><mrow><mn>1</mn><mo>−</mo><mi>ρ</mi></mrow></mfrac>'
    >>> mathml("Wq")
    '<msub><mi>W</mi><mi>q</mi></msub>'
    """
    tokens, spaced = [], False
    for match in _TOKENS.finditer(text):
        kind = match.lastgroup or "operator"
        kind = "sum" if match["sum"] else kind
        if kind != "space":
            tokens.append(_Token(kind, match[0], spaced, match))
        spaced = kind == "space"
    return "".join(_row(_Ahead(tokens)))


class _Ahead:
    """Tokens one after another, the next one in sight."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens[::-1]

    @property
    def next(self) -> _Token | None:
        """The next token, which stays."""
        return self._tokens[-1] if self._tokens else None

    def take(self) -> _Token:
        """The next token."""
        return self._tokens.pop()


def _row(tokens: _Ahead) -> Iterator[str]:
    """Products parted by signs, up to a closing bracket."""
    product: list[str] = []
    while (token := tokens.next) is not None and token.kind != "close":
        if token.text == "/" and product:
            tokens.take()
            below = _atom(tokens) if tokens.next is not None and tokens.next.kind == "sum" else _factor(tokens)
            product = [f"<mfrac>{_grouped(product)}{_grouped([below])}</mfrac>"]
        elif token.kind == "sum":
            yield from product
            product = []
            yield _sum(tokens.take().match)
        elif token.text in _ENDS or token.text in _SIGNS:
            tokens.take()
            yield from product
            product = []
            yield f"<mo>{html.escape(_SIGNS.get(token.text, token.text))}</mo>"
        else:
            product.append(_factor(tokens))
    yield from product


def _grouped(parts: list[str]) -> str:
    """One row; the brackets around all of it are not needed over or under a line."""
    whole = "".join(parts)
    bare = re.fullmatch(r"<mrow><mo[^>]*>\(</mo>(.*)<mo[^>]*>\)</mo></mrow>", whole) if len(parts) == 1 else None
    return f"<mrow>{bare[1] if bare else whole}</mrow>" if bare or len(parts) > 1 else whole


def _factor(tokens: _Ahead) -> str:
    """An atom, what is written close to it in brackets, and its powers."""
    found = _atom(tokens)
    while (token := tokens.next) is not None:
        if token.kind == "power":
            tokens.take()
            if token.text == "^":
                minus = "<mo>−</mo>" if tokens.next is not None and tokens.next.text == "-" and tokens.take() else ""
                above = _grouped([_atom(tokens)])
                above = f"<mrow>{minus}{above}</mrow>" if minus else above
            else:
                above = f"<mn>{'2' if token.text == '²' else '3'}</mn>"
            found = f"<msup>{found}{above}</msup>"
        elif token.kind == "open" and not token.spaced and not found.startswith("<mn>"):
            found = f"<mrow>{found}{_atom(tokens)}</mrow>"
        elif token.text == "!":
            tokens.take()
            found = f"<mrow>{found}<mo>!</mo></mrow>"
        else:
            break
    return found


def _atom(tokens: _Ahead) -> str:
    if tokens.next is None:
        return "<mrow></mrow>"
    token = tokens.take()
    if token.kind == "open":
        inner = "".join(_row(tokens))
        close = tokens.take().text if tokens.next is not None else ""
        still = "" if "<mfrac>" in inner or "<munder" in inner else ' stretchy="false"'
        return f"<mrow><mo{still}>{token.text}</mo>{inner}<mo{still}>{close}</mo></mrow>"
    if token.kind == "sum":
        return _sum(token.match) + _factor(tokens)
    if token.kind == "name":
        return _named(token.text)
    tag = {"number": "mn", "word": "mtext"}.get(token.kind, "mo")
    return f"<{tag}>{html.escape(token.text)}</{tag}>"


def _sum(match: re.Match[str]) -> str:
    if match["index"]:
        low, high = mathml(f"{match['index']} = {match['low']}"), mathml(match["high"])
        return f"<munderover><mo>∑</mo><mrow>{low}</mrow><mrow>{high}</mrow></munderover>"
    return f"<munder><mo>∑</mo><mi>{match['under']}</mi></munder>" if match["under"] else "<mo>∑</mo>"


def _named(name: str) -> str:
    """A symbol with its subscript, or a word; ``kc`` and ``kD`` are products."""
    if name in _WORDS:
        return f"<mtext>&nbsp;{name}&nbsp;</mtext>" if name in _SPACED else f"<mi>{name}</mi>"
    if re.fullmatch("k[a-zD]", name):
        return f"<mi>k</mi><mi>{name[1]}</mi>"
    base, star = name.rstrip("*"), "<mo>*</mo>" if name.endswith("*") else ""
    base = _GREEK.get(base, base)
    first, rest = base[0], base[1:].lstrip("_")
    if len(base) > 5 or (first.islower() and len(rest) > 2 and "_" not in base):
        return f"<mtext>&nbsp;{base}&nbsp;</mtext>{star}"
    if not rest:
        return f"<msup><mi>{first}</mi>{star}</msup>" if star else f"<mi>{first}</mi>"
    tag = "mn" if rest.isdigit() else "mi"
    return f"<msub><mi>{first}</mi><{tag}>{rest}</{tag}></msub>"
