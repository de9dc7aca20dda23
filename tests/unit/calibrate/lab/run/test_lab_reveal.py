"""From the first points to the reveal, on a published measurement: what is sent when, and what is kept back."""

from __future__ import annotations

import json
import re

import pytest
from lab_replay import REPLAY

pytest.importorskip("dash", reason="install it: pip install 'qsim-queue[lab]'")

from calibrate.lab.folder import LabFolder
from calibrate.lab.run.event_log import PREDICTION, REPORT, RESULT, SWEEP, EventWriter, first_loads
from calibrate.lab.run.orders import order_for
from calibrate.lab.run.session import LabRun
from calibrate.lab.run.worker import main, measure, reveal
from measure.fio.fio_command import FioJob
from measure.fio.plan import FioPoint


def writer_of(folder: LabFolder, sent: list[dict[str, object]]) -> tuple[LabRun, EventWriter]:
    order = order_for(folder, REPLAY)
    run = LabRun.begin(folder.new_run(), order)
    return run, EventWriter(order, run.directory, [], lambda line: sent.append(json.loads(line)))


def test_from_sealed_guesses_to_the_leaderboard(folder, monkeypatch):
    monkeypatch.setattr("calibrate.lab.run.worker.POINT_S", 0.0)
    sent: list[dict[str, object]] = []
    run, writer = writer_of(folder, sent)
    run.guess("Ann", 12, "one")
    run.guess("Bob", 7, "two")
    run.take_back("two")
    sweep = measure(writer)
    kinds = [e["kind"] for e in sent if e["kind"] != "progress"]
    assert kinds.index("sealed") == len(first_loads(run.order)) == 2
    sealed = next(e for e in sent if e["kind"] == "sealed")
    assert len(sealed["curve"]) > len(run.order.loads)
    assert (run.directory / PREDICTION).exists()

    result = reveal(sweep, run.directory, run.order)
    (run.directory / RESULT).write_text(json.dumps(result))
    run.log.add("measured")
    run.reveal()
    told = run.revealed
    assert {row["name"] for row in told["leaderboard"]} == {"Ann", "qsim"}
    nonce = next(row["nonce"] for row in told["leaderboard"] if row["name"] == "Ann")
    assert len(nonce) == 64
    low, high = map(float, re.findall(r"[\d.]+", told["judged"]["note"]))
    assert low < told["judged"]["load"] < high
    assert not {low, high} & set(first_loads(run.order))
    assert told["outcome"].startswith("N90 is ")
    sentences = re.split(r"(?<=[.!])\s", told["verdict"])
    assert len(sentences) == 3
    assert "held-out points" in sentences[0]
    assert sentences[1].startswith("The prediction misses ")
    assert sentences[2] == "The report has the rest."
    assert max(len(sentence) for sentence in sentences) < 130
    assert (run.directory / REPORT).exists()
    assert not (run.directory / SWEEP).exists()  # a replay measures nothing


def test_the_measuring_process_ends_with_what_it_measured_or_with_why_not(folder, monkeypatch, capsys):
    monkeypatch.setattr("calibrate.lab.run.worker.POINT_S", 0.0)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    run, _ = writer_of(folder, [])
    assert main(run.directory) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"kind": "measured"}
    assert set(json.loads((run.directory / RESULT).read_text())) == {"verdict", "judged", "model", "truth"}
    assert main(folder.new_run()) == 1
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)


def test_what_is_left_counts_the_points_that_are_not_planned_yet(folder):
    sent: list[dict[str, object]] = []
    _, writer = writer_of(folder, sent)
    writer.progress(1, 3, 4.0, "depth 4")
    left = next(e for e in sent if e["kind"] == "progress")["seconds_left"]
    unplanned = len(writer.order.loads) - 2
    assert left == pytest.approx(4.0 + unplanned * 1.3, abs=0.1)


def test_points_that_run_are_shown_until_fio_prints_them(folder):
    sent: list[dict[str, object]] = []
    _, writer = writer_of(folder, sent)
    for depth, rate in ((4, 10.0), (8, 20.0), (8, 21.0)):
        writer.watch(FioPoint(f"d{depth}", FioJob(depth, 1, 4096, 100, "random"), 0, ("fio",)), rate)
    writer.progress(0, 3, 4.0, "depth 8")
    assert sent[-1]["running"] == [[4.0, 10.0], [8.0, 21.0]]
    writer._sent.add((4.0, 0))
    writer._last_s = 0.0
    writer.progress(0, 3, 3.0, "depth 16")
    assert sent[-1]["running"] == [[8.0, 21.0]]
