"""``qsim course handouts``, ``hand-in`` and ``grade``: from the notebooks of a class to its table."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from calibrate import fit
from calibrate.course import hand_in as hand_ins
from calibrate.course.labs import course_labs
from measure import load_dataset

LAB = "04-the-knee-sealed"
SAME = "The hash of a lone number is found by hashing every number from 1 to 1000."


def filled(name: str, answers: dict[int, str]) -> Path:
    """The handout of lab 4 with these answers."""
    notebook = json.loads(Path(f"handouts/{LAB}.ipynb").read_text())
    for cell in notebook["cells"]:
        for question, text in answers.items():
            source = "".join(cell["source"])
            if source.startswith(f"**Answer {question}.**"):
                cell["source"] = source.replace("*Your answer.*", text)
    path = Path(f"{name}.ipynb")
    path.write_text(json.dumps(notebook))
    return path


@pytest.fixture
def handed_in(qsim, monkeypatch):
    """A function that hands in lab 4 for a student, with a sealed guess, into ``inbox/``."""
    assert qsim("course", "handouts", "handouts").code == 0
    kept = fit(load_dataset("003-ssd-read", corrected=True).select("4 KiB read"))
    Path("fit.json").write_text(json.dumps(kept.to_dict()))
    Path("inbox").mkdir()

    def hand_in(name, knee, *, questions=6, five="", at="2026-11-20T12:00:00+00:00"):
        slug = name.lower()
        answers = {q: f"{name} says {q}" for q in range(1, questions + 1)} | ({5: five} if five else {})
        assert (
            qsim("seal", "add", "class.json", "--name", name, "--knee", str(knee), "--keep", f"{slug}.guess").code == 0
        )
        monkeypatch.setattr(hand_ins, "now", lambda: at)
        run = qsim(
            "course",
            "hand-in",
            str(filled(slug, answers)),
            "--name",
            name,
            "--guess",
            f"{slug}.guess",
            "--seal",
            "class.json",
            "--fit",
            "fit.json",
            "--out",
            f"inbox/{slug}.json",
        )
        assert run.code == 0, run.err
        return Path(f"inbox/{slug}.json")

    return hand_in


def test_handouts_have_a_cell_for_each_answer_and_no_key(qsim):
    assert qsim("course", "handouts", "handouts", "--keys", "keys").code == 0
    keys = [json.loads(p.read_text()) for p in sorted(Path("keys").glob("*.ipynb"))]
    assert len(keys) == 6
    for lab, key in zip(course_labs(), keys, strict=True):
        text = Path(f"handouts/{lab.name}.ipynb").read_text()
        cells = ["".join(c["source"]) for c in json.loads(text)["cells"]]
        assert sum(c.startswith("**Answer ") for c in cells) == len(lab.questions) >= 5
        assert [c for c in cells if "Hand in" in c and f"{lab.name}.ipynb" in c]
        solutions = ["".join(c["source"]) for c in key["cells"] if c["cell_type"] == "code"]
        assert solutions
        assert not set(solutions) & set(cells)
    assert Path("handouts/data/mm1.csv").exists()
    assert not list(Path("handouts").rglob("*key*"))


def test_keys_are_not_handed_out(qsim):
    run = qsim("course", "handouts", "handouts", "--keys", "handouts/keys")
    assert run.code == 1
    assert "the keys would lie in handouts, which is handed out" in run.error
    assert not Path("handouts").exists()
    assert qsim("course", "handouts", "handouts").code == 0
    assert "exists and is not replaced" in qsim("course", "handouts", "handouts").error


def test_a_class_is_graded_whatever_else_lies_in_the_folder(qsim, handed_in):
    handed_in("Ada", 18)
    handed_in("Bob", 9, questions=4)
    handed_in("Cyd", 16, at="2026-11-20T19:00:00+00:00")
    handed_in("Dee", 30, five=SAME)
    handed_in("Eve", 12, five=SAME.upper())
    tampered = handed_in("Mal", 90)
    tampered.write_text(tampered.read_text().replace('"knee": 90', '"knee": 18'))
    inbox = Path("inbox")
    (inbox / "half.json").write_text((inbox / "ada.json").read_text()[:3000])
    (inbox / "empty.json").touch()
    (inbox / "milk.txt").write_text("milk")
    (inbox / "list.json").write_bytes(Path("class.json").read_bytes())
    (inbox / ".DS_Store").write_text("hidden")
    words = ("course", "grade", "inbox", "--due", "2026-11-20T18:00+00:00", "--seal", "class.json")
    run = qsim(*words, "--csv", "grades.csv")
    assert run.code == 1
    assert run.error == "5 of 10 files could not be graded"
    lines = run.out.splitlines()
    assert lines[0] == "10 files: 3 complete, 1 incomplete, 1 late, 5 not graded"
    row = {line.split()[0]: line for line in lines if line and not line.startswith("not graded")}
    assert "4 of 6" in row["Bob"]
    assert "missing: 5, 6" in row["Bob"]
    assert "late" in row["Cyd"]
    assert "late" not in row["Ada"]
    assert "answer 5 as Eve" in row["Dee"]
    assert "2.1 times" in row["Bob"]
    refused = {line.split()[2]: line for line in lines if line.startswith("not graded")}
    assert list(refused) == ["empty.json:", "half.json:", "list.json:", "mal.json:", "milk.txt:"]
    assert refused["empty.json:"].endswith("is empty")
    assert refused["half.json:"].endswith("cut off or damaged")
    assert "edited" in refused["mal.json:"]
    assert "not a hand-in" in refused["list.json:"]
    with open("grades.csv", newline="") as file:
        table = {r["file"]: r for r in csv.DictReader(file)}
    assert len(table) == 10
    assert table["ada.json"]["answer_3"] == "Ada says 3"
    assert table["bob.json"]["answer_6"] == ""
    assert table["mal.json"]["refused"]
    document = qsim(*words, "--json").json
    assert document["error"]["exit_code"] == 1
    assert {h["name"]: h["complete"] for h in document["hand_ins"]} == {
        "Ada": True,
        "Bob": False,
        "Cyd": False,
        "Dee": True,
        "Eve": True,
    }
    assert document["hand_ins"][0]["off_pct"] < 5


def test_a_seal_that_does_not_fit_is_told(qsim, handed_in):
    path = handed_in("Ada", 18)
    document = json.loads(path.read_text())
    document["guess"]["knee"] = 17.0
    document["sha256"] = hand_ins.sha256_of(document)  # the whole file sealed anew, the guess is not
    path.write_text(json.dumps(document))
    assert [h["seal"] for h in qsim("course", "grade", "inbox", "--json").json["hand_ins"]] == ["broken"]
    handed_in("Bob", 12)
    qsim("seal", "add", "other.json", "--name", "Zed", "--knee", "3")
    run = qsim("course", "grade", "inbox", "--seal", "other.json", "--json")
    assert run.code == 0
    assert [h["seal"] for h in run.json["hand_ins"]] == ["broken", "not in the list"]


def test_the_later_of_two_hand_ins_counts_and_a_formula_is_text(qsim, handed_in):
    first = handed_in("=1+1", 18)
    first.rename("inbox/first.json")
    Path("class.json").unlink()
    Path("=1+1.guess").unlink()
    handed_in("=1+1", 17, at="2026-11-21T12:00:00+00:00")
    run = qsim("course", "grade", "inbox", "--csv", "grades.csv", "--json")
    assert [h["remarks"] for h in run.json["hand_ins"]] == [["a later hand-in counts"], []]
    assert "\n=" not in Path("grades.csv").read_text()
    assert "'=1+1" in Path("grades.csv").read_text()


def test_what_is_not_filled_in_is_missing(qsim):
    assert qsim("course", "handouts", "handouts").code == 0
    run = qsim("course", "hand-in", f"handouts/{LAB}.ipynb", "--name", "Ada", "--json")
    assert run.json["missing"] == ["1", "2", "3", "4", "5", "6", "guess", "fit"]
    assert run.json["file"] == f"ada-{LAB}.json"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("grade", "nowhere"), 1, "nowhere is not a folder"),
        (("grade", "empty"), 1, "empty holds no file"),
        (("grade", "empty", "--due", "soon"), 2, "invalid time 'soon'"),
        (("grade", "empty", "--seal", "no.json"), 1, "no.json"),
        (("hand-in", "no.ipynb", "--name", "Ada"), 1, "no.ipynb"),
        (("hand-in", "no.ipynb", "--name", " "), 2, "--name is empty"),
        (("hand-in", "no.ipynb", "--name", "Ada", "--guess", "g.json"), 2, "--seal and --guess belong together"),
        (("hand-ins",), 2, "unknown command 'hand-ins'; did you mean hand-in"),
    ],
)
def test_what_is_wrong_is_one_line(qsim, words, code, said):
    Path("empty").mkdir()
    run = qsim("course", *words)
    assert run.code == code
    assert said in run.error


def test_a_fit_that_does_not_exist_is_told_so(qsim):
    run = qsim("predict", "nowhere.json")
    assert run.code == 1
    assert "nowhere.json does not exist" in run.error


def test_an_objective_that_every_load_meets_is_told_so(qsim):
    run = qsim("predict", "--idle-latency", "80us", "--peak-iops", "600k", "--slo", "10s")
    assert "Under 10.0 s: met at every load." in run.out
