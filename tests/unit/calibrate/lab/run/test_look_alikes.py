"""Names that a reader takes for each other."""

from __future__ import annotations

import pytest

from calibrate.lab.run.duel import looks


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("Ann", ("ann", "A nn", "\u0410nn", "\uff21nn", "\u00c0nn", "A\u3164nn", "\U0001d400nn")),
        ("Peter", ("\u0420\u0435t\u0435r", "\u03a1eter", "PETER")),
        ("Yan Nu", ("\u03a5an Nu", "Yan \u039du")),
        ("Ida", ("lda", "1da", "|da", "\u0406da")),
        ("Bob 0", ("B\u043eb O", "\u0412ob0")),
        ("Emma", ("Ernma", "Em rna")),
        ("Milo", ("MILO", "MlLO", "Mllo")),
        ("Bea", ("Be\ufe0fa", "B\u034fea", "Be\U000e0101a")),
    ],
)
def test_letters_of_other_alphabets_capitals_and_blanks_look_alike(name: str, others: tuple[str, ...]) -> None:
    for other in others:
        assert looks(other) == looks(name), other


def test_other_names_do_not() -> None:
    names = [
        "Ann",
        "Anna",
        "Ned",
        "Bob",
        "\u0410\u043d\u043d\u0430",
        "\u65e5\u672c",
        "\u97d3\u56fd",
        "Zo\u00eb",
        "12",
        "13",
    ]
    assert len({looks(name) for name in names}) == len(names)
