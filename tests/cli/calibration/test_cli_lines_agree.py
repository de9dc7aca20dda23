"""``compare`` over many sweeps: no line contradicts another, ``--details`` or the JSON document."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from simulated_fio import write_simulated

from measure.units import significant
from qsim import LogNormal

ROOT = Path(__file__).parents[3]
DATA = ROOT / "docs" / "data"
SWEEPS = {
    **{name: ("--dataset", name) for name in ("000-ssd", "001-ssd", "001-memory", "003-ssd-read", "004-ssd-depth")},
    "blocks of reads": ("--dataset", "004-ssd-block-size"),
    "a floppy": (str(DATA / "drives" / "floppy-sequential-read.csv"),),
    "a knee of one request": (str(DATA / "drives" / "samsungf1-8disk-mdraid10-64k-500gb-randwrite.csv"),),
    "a missed point": (str(DATA / "drives" / "wd10k-8disk-mdraid5-64k-randwrite.csv"),),
    "not saturated": (str(DATA / "drives" / "sabrent-rocket4plus-512sector-randread.csv"),),
    "many depths": (str(DATA / "drives-later" / "azure-lisa32-vm-randread.csv"),),
    "a server": (str(DATA / "llm-server"),),
    "clients": (str(ROOT / "tests" / "data" / "tables" / "wrk.csv"),),
    "histograms, one held out": (),
    "histograms, none held out": ("--use", "1,4,16,32"),
}


@pytest.fixture(scope="module")
def histograms(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A known device: two servers before one queue, in fio's json+."""
    folder = tmp_path_factory.mktemp("known") / "two"
    return str(write_simulated(folder, LogNormal(1e-3, 1.5), 2, [1, 4, 16, 32]))


@pytest.fixture(scope="module")
def answers() -> dict[str, tuple[list[str], str, list[dict]]]:
    """What was printed of each sweep."""
    return {}


@pytest.fixture(params=SWEEPS)
def answered(request, qsim, histograms, answers, compare_once) -> tuple[list[str], str, list[dict]]:
    """The lines of the answer, all that --details adds, and the curves of the JSON document, of one comparison."""
    name = request.param
    if name not in answers:
        source = (histograms, *SWEEPS[name]) if name.startswith("histograms") else SWEEPS[name]
        run = qsim("compare", *source, "--details")
        assert run.code == 0, run.err
        answer, details = run.out.split("\n\n\n", 1)
        answers[name] = answer.splitlines(), details, qsim("compare", *source, "--json").json["series"]
    return answers[name]


def labelled(lines: list[str], label: str) -> str:
    """The text behind a label; empty without such a line."""
    return next((line.removeprefix(label).strip() for line in lines if line.startswith(label)), "")


def test_next_names_the_load_of_details_and_of_the_document(answered) -> None:
    lines, details, curves = answered
    said = labelled(lines, "NEXT")
    advised = [c["next"] for c in curves if c["next"] is not None]
    in_details = re.findall(r"Measure ([^:\n]+): a fit", details)
    assert len(in_details) == len(advised)
    assert "far beyond these points: measure" not in details
    if not advised:
        assert said == ""
        return
    place = max(in_details, key=in_details.count)
    assert said.startswith(f"Measure {place}")
    if len(curves) > 1:
        named = re.search(r" for (\d+) of (\d+) curves", said)
        wanted = len(curves) if "for every curve" in said else int(named[1]) if named else 1
        assert wanted == in_details.count(place)
    elif "the start of queueing in" in said:  # that of the knee which is printed
        low, high = curves[0]["knee"]["low"], curves[0]["knee"]["high"]
        assert said.endswith(f"{significant(high, 2)}")
        assert f"not {significant(low, 2)}" in said


def test_sure_counts_what_the_table_and_the_details_count(answered) -> None:
    lines, details, _ = answered
    said = labelled(lines, "SURE?").removeprefix("Doubtful: the data contradict themselves. ")
    cells = [re.search(r"(\d+) of (\d+)$", line) for line in lines if not re.match(r"SURE|NEXT|TAILS|MISSED", line)]
    in_band = [(int(c[1]), int(c[2])) for c in cells if c]
    outside = details.count("outside its band")
    if "No point is held out" in said:
        assert outside == 0
        return
    count = re.match(r"(?:(\d+) of (\d+)|All (\d+)|(Both)|The held-out point is (inside|outside))", said)
    assert count, said
    inside, total = (
        (int(count[1]), int(count[2]))
        if count[1]
        else (int(count[3]), int(count[3]))
        if count[3]
        else (2, 2)
        if count[4]
        else (int(count[5] == "inside"), 1)
    )
    assert total - inside == outside
    if in_band:
        assert (inside, total) == tuple(map(sum, zip(*in_band, strict=True)))
    if inside < total / 2:
        assert "all sure" not in labelled(lines, "QUEUEING STARTS")


def test_tails_are_relied_on_where_their_own_number_is_within_its_threshold(answered) -> None:
    lines, details, curves = answered
    said = labelled(lines, "TAILS")
    assert bool(said) == any(c["tails"] for c in curves)
    if not said:
        return
    assert said.partition(" (the worst")[0] in details
    checked = re.search(r"missed by (?:([\d.]+) %|a factor of ([\d.]+)) .*, (within|beyond) the ([\d.]+) % of", said)
    if checked is None:
        assert ("fits the calibrated ones: unchecked" in said) != ("does not fit" in said)
        assert said.endswith("do not rely on it") == ("does not fit" in said)
        return
    missed = float(checked[1]) if checked[1] else 100 * (float(checked[2]) - 1)
    assert (missed <= float(checked[4])) == (checked[3] == "within")
    assert said.endswith("do not rely on it") == (checked[3] == "beyond")


def test_nothing_is_sure_where_the_model_misses_its_own_points(answered) -> None:
    lines, details, curves = answered
    if len(curves) == 1 and any(f["check"] == "misses-its-points" for f in curves[0]["audit"]):
        knees = [
            line for line in [*lines, *details.splitlines()] if re.match(r"(?i)queueing starts|90 % of peak", line)
        ]
        assert len(knees) >= 3
        assert not any(re.search(r"\bsure\b", line) for line in knees)


def test_everything_is_doubtful_where_the_audit_has_errors_and_nothing_else(answered) -> None:
    lines, details, curves = answered
    for c in curves:
        wrong = any(f["severity"] == "error" for f in c["audit"])
        assert {c["knee"]["sure"] == "doubtful", c["knee90"]["sure"] == "doubtful"} == {wrong}
    assert labelled(lines, "SURE?").startswith("Doubtful") == any(c["knee"]["sure"] == "doubtful" for c in curves)
    assert ("doubtful" in details) == any(c["knee"]["sure"] == "doubtful" for c in curves)


def test_no_knee_is_above_the_peak_and_both_are_named(answered) -> None:
    lines, details, curves = answered
    for c in curves:
        peak = (c["parameters"].get("Xmax") or {}).get("estimate")
        if peak is None or "N*" not in c["parameters"]:
            continue
        knee, ninety = c["knee"]["throughput_per_s"], c["knee90"]["throughput_per_s"]
        assert knee <= peak * (1 + 1e-9)
        assert ninety is None or ninety <= peak * (1 + 1e-9)
        assert "90 % of the peak at" in details
    if len(curves) == 1 and "N*" in curves[0]["parameters"]:
        assert [line.partition(" ")[0] for line in lines[1:3]] == ["QUEUEING", "90"]


def test_all_findings_of_all_sweeps_are_counted_and_printed(qsim, tmp_path) -> None:
    sources = ("missed", "wd10k-8disk-mdraid5-64k-randwrite"), ("odd", "kingston-p420i-5min-randwrite")
    for name, file in sources:
        (tmp_path / f"{name}.csv").write_bytes((DATA / "drives" / f"{file}.csv").read_bytes())
    alone = [qsim("compare", str(tmp_path / f"{name}.csv"), "--json").json for name, _ in sources]
    for several in (sources, sources[::-1]):
        run = qsim("compare", *(str(tmp_path / f"{name}.csv") for name, _ in several))
        audit = labelled(run.out.splitlines(), "AUDIT")
        found = [f for one in alone for f in one["audit"]]
        warnings = [f["check"] for f in found if f["severity"] == "warning"]
        assert len(warnings) == 3
        assert warnings.count("misses-its-points") == run.err.count("misses-its-points") == 1  # which no audit shows
        assert audit.startswith("2 warnings")
        assert all(check in audit or check in run.err for check in warnings)
