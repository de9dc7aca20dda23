"""``qsim fit-service``: laws of service times from files, tables and typed percentiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from measure.device_truth import law_from_dict

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "data"
JSON_PLUS = str(GOLDEN / "fio" / "json-plus.json")
TYPED = "p10=40us,p50=80us,p90=120us,p95=140us,p99=200us,p99.9=320us"


def test_a_histogram_of_fio_becomes_a_law_and_a_page(qsim, tmp_path):
    run = qsim("fit-service", JSON_PLUS, "--bootstrap", "0", "--report", "service.html", "--json")
    assert run.code == 0
    document = run.json
    assert document["kind"] == "histogram"
    assert document["requests"] == 6320
    assert {f["name"] for f in document["families"]} >= {"exponential", "Burr XII", "shifted gamma"}
    bics = [f["bic"] for f in document["families"]]
    assert bics == sorted(bics)
    law = law_from_dict(document["law"])
    assert law.mean == pytest.approx(document["families"][0]["mean_s"])
    assert {"several-modes", "tail-beyond-data"} <= {f["check"] for f in document["findings"]}
    assert "waiting as well as the service" in run.err  # it was measured at depth 4
    page = (tmp_path / "service.html").read_text()
    assert all(title in page for title in ("Distribution function", "Quantiles against quantiles", "Families"))


def test_percentiles_as_typed_with_goodness_of_fit(qsim):
    run = qsim("fit-service", "--percentiles", TYPED, "--requests", "10k", "--bootstrap", "19")
    assert run.code == 0
    assert "10,000 requests in 7 bins (percentiles)" in run.out
    assert "(19 draws)" in run.out
    assert "left out, as the bins cannot pin them" in run.out


def test_a_published_table_of_percentiles(qsim):
    run = qsim("fit-service", "--dataset", "002-ssd-tails", "--load", "8", "--bootstrap", "0", "--json")
    assert run.code == 0
    assert [s["name"] for s in run.json["series"]] == [
        "write (as published) at load 8", "read (as published) at load 8",
    ]  # fmt: skip
    assert "requests-unknown" in run.err


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["--percentiles", "p50=80us,p95=70us"], 1, "percentiles out of order: p95 = 70.0 us"),
        (["--percentiles", "p50"], 2, "'p50' is no percentile"),
        (["--percentiles", TYPED, "--load", "1"], 2, "leave out --load"),
        (["--percentiles", TYPED, "--bootstrap", "3"], 2, "0 (none) or at least 19"),
        (["--percentiles", TYPED, "--requests", "0"], 2, "--requests must be at least 1"),
        (["--percentiles", TYPED, JSON_PLUS], 2, "instead of DATA"),
        ([JSON_PLUS, "--load", "3"], 2, "no point was measured at 3; there are 4"),
        ([JSON_PLUS, "--series", "nonsense"], 2, "'nonsense' is unknown"),
        (["--dataset", "002-ssd-tails", "--series", "nonsense"], 2, "'nonsense' is unknown"),
        (["--dataset", "003-ssd-read"], 1, "neither a histogram nor a log nor percentiles"),
        ([], 2, "give DATA"),
    ],
)
def test_what_cannot_be_done_is_one_line(qsim, args, code, words):
    run = qsim("fit-service", *args)
    assert run.code == code
    assert words in run.err.splitlines()[-1]
    assert run.out == ""
