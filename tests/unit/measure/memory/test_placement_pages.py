"""Allocation on huge-page boundaries, and what smaps says about huge pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from measure.memory.placement import HUGE_PAGE_BYTES, allocate, huge_page_share

SMAPS = """\
7f0000000000-7f0000400000 rw-p 00000000 00:00 0
Size:               4096 kB
Rss:                4000 kB
AnonHugePages:      2000 kB
VmFlags: rd wr mr mw me ac sd hg
7f0000400000-7f0000500000 r-xp 00000000 08:01 1234  /usr/lib/libc-2.36.so
Size:               1024 kB
Rss:                   0 kB
AnonHugePages:         0 kB
7f0000600000-7f0000700000 rw-p 00000000 00:00 0
Size:               1024 kB
Rss:                1024 kB
"""


def test_memory_is_aligned_zero_and_of_the_size_asked() -> None:
    words = allocate(3 * 4096)
    assert words.ctypes.data % HUGE_PAGE_BYTES == 0
    assert words.nbytes == 3 * 4096
    assert not words.any()
    words[-1] = 7
    assert words[-1] == 7


def test_memory_that_no_system_has_is_refused_with_a_remedy() -> None:
    with pytest.raises(ValueError, match="choose a smaller buffer"):
        allocate(2**60)


@pytest.mark.parametrize(
    ("address", "share"),
    [
        (0x7F0000000000, 0.5),
        (0x7F00003FFFFF, 0.5),
        (0x7F0000400000, None),
        (0x7F0000500000, None),
        (0x7F0000600000, None),
    ],
)
def test_share_of_the_mapping_around_an_address(tmp_path: Path, address: int, share: float | None) -> None:
    smaps = tmp_path / "smaps"
    assert huge_page_share(address, smaps) is None
    smaps.write_text(SMAPS)
    assert huge_page_share(address, smaps) == share


def test_touched_memory_of_this_process_has_a_share() -> None:
    words = allocate(2 * HUGE_PAGE_BYTES)
    words[:] = 1
    share = huge_page_share(words.ctypes.data)
    assert share is None or 0 <= share <= 1
