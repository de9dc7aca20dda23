"""The protocol of every measurement: plan, run, keep, read once."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from made_up import points_at

from measure.errors import DataError, StoreError, ToolFailedError, UnsafeTargetError
from measure.origin import Provenance
from measure.store import measuring
from measure.store.directory import SweepStore
from measure.store.measuring import Measurement, Outcome, Run, Tick, measure, read_kept
from measure.sweep import Sweep


@dataclass(frozen=True)
class Point:
    key: str

    def describe(self) -> str:
        return f"point {self.key}"


@dataclass
class Tool:
    """A tool that fails at some points, is interrupted at others, and notes what is done with it."""

    failing: frozenset[str] = frozenset()
    interrupted: frozenset[str] = frozenset()
    said: list[str] = field(default_factory=list)

    @contextmanager
    def ready(self, _: SweepStore, missing: Sequence[Point], tick: Tick) -> Iterator[Run[Point]]:
        self.said.append("ready for " + "".join(point.key for point in missing))
        tick("preparing")
        try:
            yield self.run
        finally:
            self.said.append("undone")

    def run(self, point: Point, tick: Tick) -> Outcome:
        if point.key in self.interrupted:
            raise KeyboardInterrupt
        self.said.append(point.key)
        tick("running")
        about = {"command": f"tool {point.key}", "request": {}, "started_at": "2026-01-01T00:00:00+00:00"}
        return Outcome(f"raw {point.key}".encode(), about, "it broke" if point.key in self.failing else "")

    @contextmanager
    def hold(self) -> Iterator[None]:
        self.said.append("held")
        yield
        self.said.append("released")

    def measurement(self, keys: str = "bac", **others: object) -> Measurement[Point]:
        plan = Measurement[Point](
            "tool",
            [Point(key) for key in keys],
            {"size": 1},
            lambda: Provenance(tool="tool"),
            self.ready,
            read,
            lambda _: 2.0,
            hold=self.hold,
            tidy=lambda _: self.said.append("tidied"),
        )
        return replace(plan, **others)  # type: ignore[arg-type]


def read(store: SweepStore) -> Sweep:
    kept = read_kept(store, lambda text, _: text)
    return Sweep(points_at([1] * len(kept.values), 1, raw=list(kept.values)))


def raw_of(sweep: Sweep) -> list[str]:
    return [str(text) for text in sweep.points["raw"]]


def test_points_are_run_in_their_order_and_read_back_in_it(tmp_path: Path) -> None:
    tool = Tool()
    assert raw_of(measure(tool.measurement(), tmp_path / "s")) == ["raw b", "raw a", "raw c"]
    assert tool.said == ["held", "ready for bac", "b", "a", "c", "undone", "released"]


def test_where_nothing_is_missing_nothing_is_prepared_and_leftovers_are_removed(tmp_path: Path) -> None:
    measure(Tool().measurement(), tmp_path / "s")
    tool = Tool()
    assert raw_of(measure(tool.measurement(), tmp_path / "s")) == ["raw b", "raw a", "raw c"]
    assert tool.said == ["tidied"]


def test_an_interruption_keeps_what_is_finished_and_the_next_run_goes_on(tmp_path: Path) -> None:
    tool = Tool(interrupted=frozenset("c"))
    with pytest.raises(KeyboardInterrupt):
        measure(tool.measurement(), tmp_path / "s")
    assert tool.said == ["held", "ready for bac", "b", "a", "undone"]
    kept = {path.name: path.read_bytes() for path in (tmp_path / "s" / "raw").iterdir()}
    assert set(kept) == {"a.json", "b.json"}
    again = Tool()
    assert raw_of(measure(again.measurement(), tmp_path / "s")) == ["raw b", "raw a", "raw c"]
    assert again.said == ["held", "ready for c", "c", "undone", "released"]
    assert kept.items() <= {path.name: path.read_bytes() for path in (tmp_path / "s" / "raw").iterdir()}.items()


def test_a_point_that_fails_is_recorded_and_tried_again_and_the_others_go_on(tmp_path: Path) -> None:
    assert raw_of(measure(Tool(failing=frozenset("a")).measurement(), tmp_path / "s")) == ["raw b", "raw c"]
    kept = read_kept(SweepStore.read(tmp_path / "s"), lambda text, _: text)
    assert [(f.check, f.message) for f in kept.findings] == [("point-failed", "it broke")]
    assert raw_of(measure(Tool().measurement(), tmp_path / "s")) == ["raw b", "raw c", "raw a"]
    assert not read_kept(SweepStore.read(tmp_path / "s"), lambda text, _: text).findings


@pytest.mark.parametrize(
    ("place", "reason", "said"),
    [
        ("N = 8", "N = 8: it broke", "it broke"),
        ("N = 8", "N = 8 holds no result", "N = 8 holds no result"),
        ("", "N = 8: it broke", "N = 8: it broke"),
    ],
)
def test_the_load_of_a_failed_point_is_named_once(tmp_path: Path, place: str, reason: str, said: str) -> None:
    store = SweepStore.create(tmp_path / "s", "tool", {}, {})
    with store.locked():
        about = {"command": "tool", "request": {"load": 8}, "started_at": "2026-01-01T00:00:00+00:00"}
        Outcome(None, about, reason, place=place).keep(store, "a")
    (finding,) = read_kept(store, lambda text, _: text).findings
    assert (finding.load, finding.message) == (8, said)


def test_where_no_point_can_be_measured_the_last_reason_is_said(tmp_path: Path) -> None:
    with pytest.raises(ToolFailedError, match="no point of the sweep could be measured; the last: it broke"):
        measure(Tool(failing=frozenset("abc")).measurement(), tmp_path / "s")
    with pytest.raises(DataError, match="holds no finished point yet: it broke; run the measurement again"):
        read_kept(SweepStore.read(tmp_path / "s"), lambda text, _: text).check_any()


def test_further_points_are_asked_for_until_none_is_new(tmp_path: Path) -> None:
    tool, seen = Tool(failing=frozenset("d")), list[int]()

    def more(found: Sweep) -> list[Point]:
        seen.append(len(found))
        return [Point("a"), Point("d"), Point("d"), *([Point("e")] if len(seen) > 1 else [])]

    assert raw_of(measure(tool.measurement(), tmp_path / "s", more=more)) == ["raw b", "raw a", "raw c", "raw e"]
    assert tool.said == ["held", "ready for bac", "b", "a", "c", "d", "e", "undone", "released"]
    assert seen == [3, 3, 4]


def test_progress_counts_points_and_the_time_that_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int, float, str]] = []
    now_s = [100.0]
    monkeypatch.setattr(measuring, "time", SimpleNamespace(monotonic=lambda: now_s[0]))

    def tell(done: int, total: int, left_s: float, text: str) -> None:
        told.append((done, total, left_s, text))
        if text == "running":
            now_s[0] += 3.0  # where the plan says 2

    measure(Tool().measurement(prepare_seconds=5.0), tmp_path / "s", tell)
    assert told == [
        (0, 3, 11.0, "preparing"),
        (0, 3, 6.0, "point b"),
        (0, 3, 6.0, "running"),
        (1, 3, 6.0, "point a"),
        (1, 3, 6.0, "running"),
        (2, 3, 3.0, "point c"),
        (2, 3, 3.0, "running"),
        (3, 3, 0.0, "done"),
    ]


def test_a_target_that_is_refused_leaves_no_directory(tmp_path: Path) -> None:
    @contextmanager
    def refuse() -> Iterator[None]:
        raise UnsafeTargetError("not this one")
        yield

    with pytest.raises(UnsafeTargetError):
        measure(Tool().measurement(hold=refuse), tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_each_raw_file_and_record_is_read_once(tmp_path: Path) -> None:
    measure(Tool().measurement(), tmp_path / "s")
    opened: Counter[str] = Counter()
    watching = [True]

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event == "open" and str(arguments[0]).startswith(str(tmp_path)):
            opened[str(Path(str(arguments[0])).relative_to(tmp_path / "s"))] += 1

    sys.addaudithook(watch)
    read(SweepStore.read(tmp_path / "s"))
    watching.clear()
    files = [f"{folder}/{key}.json" for folder in ("raw", "points") for key in "abc"]
    assert {name: opened[name] for name in files} == dict.fromkeys(files, 1)


def test_a_point_without_its_raw_output_is_named(tmp_path: Path) -> None:
    tool = Tool()
    silent = partial(_without_output, tool)
    with pytest.raises(StoreError, match="point b has lost its raw output"):
        measure(tool.measurement("b", ready=silent), tmp_path / "s")


@contextmanager
def _without_output(tool: Tool, *_: object) -> Iterator[Run[Point]]:
    yield lambda point, tick: replace(tool.run(point, tick), raw=None)
