"""Memory for the probe: page-aligned, on huge pages where the system gives them, and the word on whether it did.

With pages of 4 KiB a random walk through 128 MiB misses the TLB at nearly every step and measures page-table walks
on top of memory. Pages of 2 MiB are asked for by madvise(2) MADV_HUGEPAGE; whether they came stands in
/proc/self/smaps (AnonHugePages of the mapping), and nowhere else.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HUGE_PAGE_BYTES = 2 * 2**20
Words = NDArray[np.uint64]


@dataclass(frozen=True)
class MemoryPages:
    """A private anonymous mapping: ``words`` views it, beginning on a huge-page boundary.

    ``refusal`` is the system's answer where it would not even take the request for huge pages ("" where it did).
    """

    words: Words
    refusal: str = ""

    def first(self, size_bytes: int) -> MemoryPages:
        """The first ``size_bytes`` (a multiple of 8) of the same memory."""
        return MemoryPages(self.words[: size_bytes // 8], self.refusal)

    @property
    def huge_share(self) -> float | None:
        """The share of the touched memory that lies on huge pages; None where the system does not tell."""
        return huge_page_share(self.words.ctypes.data)


def allocate(size_bytes: int) -> MemoryPages:
    """``size_bytes`` of fresh memory (a multiple of 8), untouched yet: its pages come to whoever writes first.

    Raises ValueError with the remedy where the system does not give that much address space.
    """
    flags = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    try:
        # Whole huge pages, and one more to begin on a boundary; huge pages are for private mappings only.
        whole = -(-size_bytes // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES
        mapping = mmap.mmap(-1, whole + HUGE_PAGE_BYTES, **flags)
    except (OSError, OverflowError, ValueError) as error:
        raise ValueError(f"no memory for a buffer of {size_bytes} bytes ({error}); choose a smaller buffer") from error
    refusal = "" if hasattr(mmap, "MADV_HUGEPAGE") else "this system has no MADV_HUGEPAGE"
    if not refusal:
        try:
            mapping.madvise(mmap.MADV_HUGEPAGE)
        except OSError as error:  # a kernel built without transparent huge pages
            refusal = error.strerror or str(error)
    words = np.frombuffer(mapping, dtype=np.uint64)
    skip = -words.ctypes.data % HUGE_PAGE_BYTES // 8
    return MemoryPages(words[skip : skip + size_bytes // 8], refusal)


def huge_page_share(address: int, smaps: Path = Path("/proc/self/smaps")) -> float | None:
    """The share of the mapping around ``address`` that lies on huge pages (AnonHugePages / Rss)."""
    try:
        text = smaps.read_text("utf-8")
    except OSError:
        return None
    return parse_huge_page_share(text, address)


def parse_huge_page_share(smaps: str, address: int) -> float | None:
    """The same from the text of smaps; None where the mapping or its numbers are not in it.

    The kernel may have merged neighbouring mappings into one: the share is theirs together.
    """
    inside = False
    resident = huge = None
    for line in smaps.splitlines():
        name, _, rest = line.partition(" ")
        low, dash, high = name.partition("-")
        if dash and not name.endswith(":"):
            if inside:
                break
            inside = int(low, 16) <= address < int(high, 16)
        elif inside and name == "Rss:":
            resident = int(rest.split()[0])
        elif inside and name == "AnonHugePages:":
            huge = int(rest.split()[0])
    return huge / resident if resident and huge is not None else None
