"""A run of the lab: its log, who may guess when, what may be ordered, and what a browser can name."""

from __future__ import annotations

import json
import stat
import sys

import pytest
from lab_replay import REPLAY

from measure.loads import Depth

pytest.importorskip("dash", reason="install it: pip install 'qsim-queue[lab]'")

from calibrate.cli.calibration import knee
from calibrate.fitting.calibrating import fit
from calibrate.lab.folder import LabFolder, opened
from calibrate.lab.run.duel import Guess, judge, predicted_load, ranked, true_rows
from calibrate.lab.run.event_log import EVENTS, GUESSES, EventLog, first_loads
from calibrate.lab.run.orders import DEPTHS, Order, choices, order_for
from calibrate.lab.run.session import MOST_GUESSES, MOST_REMOVED, MOST_TRIES, LabRun, RefusedError, RunTable
from measure.datasets import dataset_names
from measure.errors import DataError, MeasureError, StoreError


@pytest.fixture
def run(folder: LabFolder) -> LabRun:
    return LabRun.begin(folder.new_run(), Order("replay", "a drive", Depth(), (1.0, 4.0, 32.0, 64.0)))


def test_events_are_numbered_and_survive_a_kill(tmp_path):
    path = tmp_path / "events.jsonl"
    log = EventLog(path)
    assert [log.add("point", load=number)["seq"] for number in range(3)] == [0, 1, 2]
    path.write_text(path.read_text() + '{"seq": 3, "kind": "po')
    again = EventLog(path)
    assert [e["load"] for e in again.since(1)] == [1, 2]
    assert again.add("stopped")["seq"] == 3
    assert [json.loads(line)["seq"] for line in path.read_text().splitlines()] == [0, 1, 2, 3]
    path.write_text('{"seq": 0\n{"seq": 1}\n')
    with pytest.raises(StoreError, match="damaged"):
        EventLog(path)


def test_a_guess_is_sealed_and_its_value_stays_hidden(run):
    event = run.guess("  Ann   Lee ", 12, "one")
    assert event["name"] == "Ann Lee"
    assert set(event) == {"seq", "at", "kind", "name", "commitment", "looks"}
    secret = run.directory / GUESSES
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert "12" not in (run.directory / EVENTS).read_text().partition('"guess"')[2].replace(event["at"], "").replace(
        event["commitment"], ""
    )


def test_a_browser_and_a_name_have_one_guess_that_may_be_taken_back_also_after_a_restart(run):
    run.guess("Zoë", 12, "one")
    run.guess("Bob", 9, "two")
    for again in (run, LabRun(run.directory)):
        with pytest.raises(RefusedError, match="this browser has sealed a guess already"):
            again.guess("Eve", 9, "one")
        with pytest.raises(RefusedError, match="another name"):
            again.guess("ZOË", 9, "three")
        with pytest.raises(RefusedError, match="no guess"):
            again.take_back("three")
    run.take_back("one")
    run.guess("zoë", 30, "one")
    assert [(e["guess"]["name"], e["guess"]["load"]) for e in run.standing()] == [("Bob", 9), ("zoë", 30)]


def test_guesses_and_the_reveal_have_their_turn(run):
    run.guess("rude", 1, "one")
    run.guess("Ann", 12, "two")
    rude = number_of(run, "rude")
    run.remove([rude])
    for nobody in ([rude], [0], [], None, ["rude"], "rude"):
        for between in (False, True):
            with pytest.raises(RefusedError, match="no guess"):
                run.remove(nobody, between=between)
    with pytest.raises(RefusedError, match="finish"):
        run.reveal()
    assert run.report is None
    run.log.add("started", resumed=False)
    for late in (lambda: run.remove([number_of(run, "Ann")]), lambda: run.guess("late", 5, "three")):
        with pytest.raises(RefusedError, match="closed"):
            late()
    with pytest.raises(RefusedError, match="started"):
        run.start()
    assert [e["guess"]["name"] for e in run.standing()] == ["Ann"]


def number_of(run: LabRun, name: str) -> int:
    """The number of the event with the last guess of a name."""
    return [e["seq"] for e in run.log.of_kind("guess") if e["name"] == name][-1]


def test_a_browser_seals_so_many_guesses_in_a_run_and_no_more(run):
    for _ in range(MOST_TRIES):
        run.guess("late", 8, "late")
        run.take_back("late")
    with pytest.raises(RefusedError, match=f"{MOST_TRIES} guesses"):
        run.guess("late", 8, "late")
    run.guess("Ann", 8, "Ann's")


def test_the_teacher_takes_a_burst_of_guesses_back_at_once_and_its_browsers_cannot_repeat_it(run):
    run.guess("Ann", 8, "Ann's")
    for _ in range(MOST_REMOVED):
        for number in range(MOST_GUESSES - 1):
            run.guess(f"bot {number}", 8, f"bot's {number}")
        with pytest.raises(RefusedError, match="the teacher can take some back"):
            run.guess("Zoë", 8, "Zoë's")
        run.remove([number_of(run, "bot 0"), number_of(run, f"bot {MOST_GUESSES - 2}")], between=True)
        assert [e["guess"]["name"] for e in run.standing()] == ["Ann"]
    for number in (0, MOST_GUESSES - 2):
        with pytest.raises(RefusedError, match="the teacher took back 2 guesses of this browser"):
            run.guess("another name", 8, f"bot's {number}")
    run.guess("Zoë", 8, "Zoë's")
    run.guess("Bob", 8, "Bob's")
    run.remove([number_of(run, "Ann"), number_of(run, "Bob")])
    assert [e["guess"]["name"] for e in run.standing()] == ["Zoë"]


def test_a_guess_says_how_its_name_looks(run):
    mine, other = run.guess("Ann", 8, "one"), run.guess("\u0410 n\u0301n", 9, "two")
    assert other["name"] == "\u0410 n\u0301n"
    assert mine["looks"] == other["looks"]
    with pytest.raises(RefusedError, match="the model's"):
        run.guess("q\u0455im", 9, "three")
    with pytest.raises(RefusedError, match="letters"):
        run.guess("\u3164", 9, "three")


def test_a_lab_closed_while_it_measured_says_so_when_it_opens_again(folder, run):
    run.log.add("started", resumed=False)
    again = RunTable(folder).current
    assert again is not None
    assert again.phase == "stopped"
    assert "closed" in again.log.of_kind("stopped")[-1]["why"]


def test_a_run_whose_log_cannot_be_written_fails_and_says_so(run, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise StoreError("no space left on device")

    monkeypatch.setattr(sys.modules[type(run).__module__], "run_tool", full)
    run.log.add("started", resumed=False)
    monkeypatch.setattr(run.log, "add", full)
    with pytest.raises(StoreError):
        run._measure()
    assert run.phase == "failed"
    assert EVENTS in run.trouble


def test_what_the_measuring_process_says_is_believed_in_its_own_words_only(run):
    for line in (
        b"",
        b"[]",
        b"7",
        b'"x"',
        b"\xff\xfe",
        b'{"kind": "revealed"}',
        b'{"kind": "guess", "name": "x"}',
        b'{"no": 1}',
    ):
        run._hear(line)
    assert [e["kind"] for e in run.log.since()] == ["opened"]
    run._hear(b'{"kind": "point", "load": 4, "repeat": 0, "throughput_per_s": 1.0, "latency_s": 1.0}')
    run._hear(b'{"kind": "progress", "text": "depth 4"}')
    assert [e["kind"] for e in run.log.since()] == ["opened", "point"]
    assert run.progress == {"text": "depth 4"}


@pytest.mark.parametrize("value", ["/etc/passwd", "../../etc", "own-000000000000", "dataset-", None, 7, ["disk"], ""])
def test_a_browser_cannot_name_a_path_or_a_device_of_its_own(folder, value):
    with pytest.raises(DataError, match="not in the lab"):
        order_for(folder, value)


def test_a_class_begins_with_the_device_whose_truth_is_known(folder):
    assert [c["value"] for c in choices(folder)][:5] == ["known", "mm1", "mmc", "disk", "memory"]
    known = order_for(folder, "known")
    assert known.quantity == "N*"
    assert "against the truth" in known.rule
    assert first_loads(known) == (1.0, 32.0)
    rate = known.servers / known.service_s
    hint = f"a request alone takes {1e3 * known.service_s:g} ms, and at depth 32 the device serves {rate:,.0f} a second"
    assert hint in known.rule
    replay = order_for(folder, REPLAY)
    assert replay.quantity == "N90"
    assert "ranked by what all points show" in replay.rule


def test_the_exact_curve_of_a_known_device_is_revealed_and_no_other_has_one(folder):
    known = order_for(folder, "known")
    rows = true_rows(known)
    at = {row["load"]: row for row in rows}
    assert at[1.0]["throughput_per_s"] == pytest.approx(1 / known.service_s)
    assert at[32.0]["throughput_per_s"] == pytest.approx(known.servers / known.service_s)
    assert at[float(known.servers)]["response_time_s"] == pytest.approx(known.service_s)
    assert true_rows(order_for(folder, REPLAY)) == []


def test_the_disk_is_measured_by_the_quick_sweep_of_knee():
    disk = Order("disk", "the disk", Depth(), tuple(map(float, DEPTHS)))
    assert DEPTHS == knee.DEPTHS
    assert first_loads(disk) == (1.0, 32.0)


def test_what_the_teacher_puts_there_is_offered_by_name_and_never_by_path(folder):
    hostile = "<script>alert(1)<&script>.csv"
    rows = "1,1e4,100\n4,3e4,133\n8,5e4,160\n32,6e4,533\n"
    (folder.root / "sweeps" / hostile).write_text(f"queue_depth,iops,latency_us\n{rows}")
    found = choices(folder)
    assert not any(str(folder.root) in c["label"] + c["value"] for c in found)
    order = order_for(folder, next(c["value"] for c in found if hostile in c["label"]))
    assert order.loads == (1.0, 4.0, 8.0, 32.0)
    assert first_loads(order) == (1.0, 32.0)
    assert order_for(folder, REPLAY).series == "4 KiB read"


def test_a_source_of_too_few_points_or_none_is_refused(folder):
    (folder.root / "sweeps" / "two.csv").write_text("queue_depth,iops,latency_us\n1,10000,100\n8,50000,160\n")
    (folder.root / "sweeps" / "junk.bin").write_bytes(b"\x00\x01\x02")
    for name, error in (("two.csv", "a duel needs a curve over 3 depths"), ("junk.bin", "junk")):
        value = next(c["value"] for c in choices(folder) if name in c["label"])
        with pytest.raises(MeasureError, match=error):
            order_for(folder, value)


@pytest.mark.parametrize("name", dataset_names(curves_only=True))
def test_every_dataset_that_is_offered_ranks_everybody(folder, name):
    (choice,) = [c for c in choices(folder) if c["value"] == f"dataset-{name}"]
    if choice["disabled"]:
        assert name in ("000-memory", "004-ssd-block-size", "004-ssd-mix")
        assert "missing: a curve over 3 depths or delays, measured, that a model fits" in choice["label"]
        return
    order = order_for(folder, choice["value"])
    sweep = order.source().load().select(order.series)
    judged, model = judge(order, sweep), predicted_load(order, fit(sweep, first_loads(order)))
    rows = ranked([Guess("Ada", 5.0, "00")], model, judged)
    assert [row.rank for row in rows] in ([1, 2], [1, 1])


def test_two_labs_do_not_share_a_folder(folder):
    with pytest.raises(MeasureError, match="another lab"), opened(folder.root):
        pytest.fail("the folder was opened twice")


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(MeasureError, match="not empty"), opened(tmp_path):
        pytest.fail("a foreign folder was opened")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["thesis.tex"]
