"""``qsim datasets``: the published tables, and what each is over."""

from __future__ import annotations

import re

from measure.datasets import dataset_names


def test_datasets_lists_every_one_of_the_catalogue(qsim):
    names = [d["name"] for d in qsim("datasets", "--json").json["datasets"]]
    assert tuple(names) == dataset_names()
    text = qsim("datasets").out
    assert all(name in text for name in names)


def test_the_list_says_over_what_load_each_was_measured(qsim):
    rows = [re.split(r"\s{2,}", line, maxsplit=2) for line in qsim("datasets").out.splitlines()]
    loads = {row[0]: row[1] for row in rows if row[0] in dataset_names()}
    assert loads["003-ssd-read"] == "queue depth"
    assert loads["001-memory"] == "injected delay"
    assert loads["002-ssd-tails"] == loads["002-ssd-baseline"] == "(no curve)"


def test_the_document_names_the_curves_as_the_text_and_the_other_commands_do(qsim):
    names = qsim("datasets", "000-ssd", "--json").json["series"]
    assert f"36 points of 12 curves: {', '.join(names)}" in qsim("datasets", "000-ssd").out
    assert qsim("show", "--dataset", "000-ssd", "--series", names[0]).code == 0
