"""The road from one file of fio's to the residuals passes few modules, and no module is added to it unseen."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from calibrate import compare
from measure import load

T = TypeVar("T")
ROOT = Path(__file__).parents[2]
OUTPUTS = ROOT / "tests" / "golden" / "data" / "fio"
FROM_BYTES_TO_SWEEP, FROM_BYTES_TO_RESIDUAL = 10, 27


def test_one_file_passes_few_modules_up_to_its_residuals(tmp_path: Path) -> None:
    file = tmp_path / "drive.json"
    file.write_text("\n".join((OUTPUTS / f"sweep-depth-{n}.json").read_text("utf-8") for n in (1, 4, 16)), "utf-8")
    compare(load(file)).to_frame()  # what is imported when it is first used is imported now
    sweep, loading = _walked(lambda: load(file))
    residuals, comparing = _walked(lambda: compare(sweep).to_frame())
    assert residuals["residual_throughput_pct"].notna().all()
    assert {"measure/loading.py", "measure/formats/fio/json_output.py", "measure/sweep.py"} <= loading
    assert {"calibrate/points.py", "calibrate/prediction/comparison.py"} <= comparing
    assert not {path for path in comparing if "text_files" in path or "json_output" in path}, "the file is read again"
    assert len(loading) <= FROM_BYTES_TO_SWEEP, sorted(loading)
    assert len(loading | comparing) <= FROM_BYTES_TO_RESIDUAL, sorted(loading | comparing)


def _walked(step: Callable[[], T]) -> tuple[T, set[str]]:
    """What a step gives, and the modules of measure/ and calibrate/ in which functions were called meanwhile."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            seen.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        result = step()
    finally:
        sys.setprofile(before)
    packages = (ROOT / "measure", ROOT / "calibrate")
    inside = [Path(file) for file in seen if any(Path(file).is_relative_to(p) for p in packages)]
    return result, {file.relative_to(ROOT).as_posix() for file in inside}
