"""The compiled loops of the memory probe: they allocate nothing, and run without the GIL.

``chase``   follows a ring of cache lines, where each hop depends on the previous one: latency.
``stream``  reads or updates a buffer burst by burst, idling between bursts: bandwidth at an injected delay.
``spin``    the idle loop alone, to time one of its iterations.
``link``    the ring that ``chase`` follows, written in one pass.

All run without Python's global lock, so that the threads of one process load the memory together. They share
``control``, int64 words: in its first line the phase (WARM_UP, MEASURE, STOP), then a line for each loader, with its
answer to the phase and its heartbeat. The chaser advances the phase by its own clock, so that no Python runs between
the start and the end of a measurement; any thread may set STOP at any time.

A compiler may remove a loop whose result it can predict, and a probe that does nothing looks very fast. So each loop
returns a value that depends on all of its work: the chaser the line it ended on (every line holds its place in the
ring), the loaders the sum of the words they read and the state of the idle loop. That loop is a xorshift generator:
compilers fold repeated steps of a linear congruential generator into one (seen with LLVM 20: 0.14 ns an iteration),
but not these.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import njit, types

from measure.units import CACHE_LINE_BYTES
from qsim.engines.jit import cached_njit

WORDS_PER_LINE = CACHE_LINE_BYTES // 8

WARM_UP, MEASURE, STOP = 0, 1, 2

CONTROL_STRIDE = WORDS_PER_LINE  # one cache line per control word, so that threads do not disturb each other
BEAT_ITERATIONS = 8192  # iterations of the idle loop, at most, between two heartbeats: some 15 us, less than a chunk
BEAT = 1  # offset of a loader's heartbeat in its control line

# By symbol, not by address: a compiled loop with an address in it cannot be cached on the disk.
_clock_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.voidptr))
_WALL = np.int32(time.CLOCK_MONOTONIC)
_CPU = np.int32(time.CLOCK_THREAD_CPUTIME_ID)


@njit(nogil=True)
def _clock_ns(clock: Any, timespec: Any) -> Any:
    """The clock's time in ns; ``timespec`` is scratch space. The call also prevents reordering by the optimiser."""
    _clock_gettime(clock, timespec.ctypes)
    return timespec[0] * 1_000_000_000 + timespec[1]


@njit(nogil=True)
def _spin(state: Any, iterations: Any) -> Any:
    """``iterations`` steps of xorshift64 (Marsaglia 2003, J. Statistical Software 8(14), p. 4: shifts 13, 7, 17)."""
    for _ in range(iterations):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
    return state


@njit(nogil=True)
def _answered(control: Any, loaders: Any, phase: Any) -> Any:
    """Whether all loaders have reached ``phase``: their words hold 1 + the last phase they saw."""
    reached = 0
    for loader in range(loaders):
        reached += control[(1 + loader) * CONTROL_STRIDE] > phase
    return reached == loaders


@njit(nogil=True)
def _all_ran(control: Any, loaders: Any, beats: Any) -> Any:
    """Whether every loader's heartbeat advanced since the last call; ``beats`` holds the last ones seen."""
    ran = 0
    for loader in range(loaders):
        beat = control[(1 + loader) * CONTROL_STRIDE + BEAT]
        ran += beat != beats[loader]
        beats[loader] = beat
    return ran == loaders


@njit(nogil=True)
def _next_line(line: Any, stride: Any, lines: Any) -> Any:
    """The line ``stride`` further on; at the end of the buffer the first line not visited yet, or 0."""
    line += stride
    if line < lines:
        return line
    line += 1 - lines
    return 0 if line == stride else line


@njit(nogil=True)
def _adjacent_burst(buffer: Any, place: Any, read_words: Any, updated_words: Any) -> Any:
    """Read and update burst number ``place``; returns the sum of the words read."""
    # Slices that begin at index 0: a possibly negative index would prevent vectorization.
    position = place * (read_words + updated_words)
    total = np.uint64(0)
    read = buffer[position : position + read_words]
    for k in range(read_words):
        total += read[k]
    updated = buffer[position + read_words : position + read_words + updated_words]
    for k in range(updated_words):
        updated[k] += np.uint64(1)
    return total


@njit(nogil=True)
def _strided_burst(buffer: Any, line: Any, read_lines: Any, updated_lines: Any, stride: Any, lines: Any) -> Any:
    """Read and update a burst from ``line`` on; returns (sum of the words read, line after the burst)."""
    total = np.uint64(0)
    for place in range(read_lines + updated_lines):
        first = np.uint64(line) * np.uint64(WORDS_PER_LINE)  # unsigned: a possibly negative index costs a test
        for k in range(WORDS_PER_LINE):
            if place < read_lines:
                total += buffer[first + np.uint64(k)]
            else:
                buffer[first + np.uint64(k)] += np.uint64(1)
        line = _next_line(line, stride, lines)
    return total, line


@cached_njit(nogil=True)
def spin(state: Any, iterations: Any, timespec: Any) -> Any:
    """Time the idle loop: returns (its state afterwards, ns elapsed)."""
    began = _clock_ns(_WALL, timespec)
    state = _spin(state, iterations)
    return state, _clock_ns(_WALL, timespec) - began


@cached_njit(nogil=True)
def chase(
    ring: Any,
    word: Any,
    control: Any,
    loaders: Any,
    warm_up_ns: Any,
    measure_ns: Any,
    chunk_hops: Any,
    beats: Any,
    timespec: Any,
) -> Any:
    """Chase from ``word`` until ``measure_ns`` have passed after the warm-up, and set the phases of the loaders.

    ``ring`` holds at the first word of each line the index of the next line's first word. The warm-up lasts at least
    ``warm_up_ns``, until every loader has answered both phases. A chunk of ``chunk_hops`` hops counts as loaded if
    every loader's heartbeat advanced during it: other programs may take a loader off its CPU for milliseconds, and the
    memory is idle meanwhile. ``beats`` is scratch space, a word a loader.

    Returns (last word, all hops, measured hops, ns elapsed, ns on the CPU, hops in loaded chunks, ns on the CPU in
    loaded chunks); fewer hops where a thread set STOP.
    """
    hops = 0
    began = now = _clock_ns(_WALL, timespec)
    for phase in (WARM_UP, MEASURE):
        # Wait for the answers: a loader kept off its CPU by another program would otherwise count nothing.
        if control[0] != STOP:
            control[0] = phase
        while control[0] != STOP and (now - began < warm_up_ns or not _answered(control, loaders, phase)):
            for _ in range(chunk_hops):
                word = ring[word]
            hops += chunk_hops
            now = _clock_ns(_WALL, timespec)

    hops_before = hops
    loaded_hops = 0
    loaded_ns = 0
    _all_ran(control, loaders, beats)
    began = now = _clock_ns(_WALL, timespec)
    cpu_began = cpu_now = _clock_ns(_CPU, timespec)
    while control[0] != STOP and now - began < measure_ns:
        for _ in range(chunk_hops):
            word = ring[word]
        hops += chunk_hops
        now = _clock_ns(_WALL, timespec)
        cpu_before = cpu_now
        cpu_now = _clock_ns(_CPU, timespec)
        if _all_ran(control, loaders, beats):
            loaded_hops += chunk_hops
            loaded_ns += cpu_now - cpu_before
    control[0] = STOP
    return word, hops, hops - hops_before, now - began, cpu_now - cpu_began, loaded_hops, loaded_ns


@cached_njit(nogil=True)
def stream(
    buffer: Any,
    read_words: Any,
    updated_words: Any,
    stride: Any,
    delay: Any,
    bursts_per_check: Any,
    control: Any,
    loader: Any,
    timespec: Any,
) -> Any:
    """Stream through ``buffer`` until STOP: a burst of words, then ``delay`` iterations of the idle loop.

    The first ``read_words`` of a burst are summed, the next ``updated_words`` incremented (read and written back);
    bursts are adjacent. With a ``stride`` of more than 1 line (the buffer's lines are a multiple of it) the lines of a
    burst lie that far apart, and every line is visited in ``stride`` passes through the buffer. The buffer holds a
    whole number of bursts. The phase is read, and answered, after every ``bursts_per_check`` bursts. Returns (bursts
    measured, ns elapsed, ns on the CPU, sum of the words read modulo 2^64, state of the idle loop, all bursts);
    measured values are 0 if the phase never was MEASURE.
    """
    buffer_bursts = buffer.size // (read_words + updated_words)
    lines = buffer.size // WORDS_PER_LINE
    place, line = 0, 0
    total = np.uint64(0)
    state = np.uint64(1)
    bursts = 0
    bursts_before = 0
    began = np.int64(-1)
    cpu_began = np.int64(0)
    own = (1 + loader) * CONTROL_STRIDE
    beat = 0
    control[own] = 1 + WARM_UP
    while True:
        for _ in range(bursts_per_check):
            if stride == 1:
                total += _adjacent_burst(buffer, place, read_words, updated_words)
            else:
                read, line = _strided_burst(
                    buffer, line, read_words // WORDS_PER_LINE, updated_words // WORDS_PER_LINE, stride, lines
                )
                total += read
            place = place + 1 if place + 1 < buffer_bursts else 0
            left = delay
            while left > BEAT_ITERATIONS:
                state = _spin(state, BEAT_ITERATIONS)
                left -= BEAT_ITERATIONS
                beat += 1
                control[own + BEAT] = beat
                _clock_ns(_WALL, timespec)  # else the compiler may store the heartbeats only at the end
            state = _spin(state, left)
        bursts += bursts_per_check
        beat += 1
        control[own + BEAT] = beat
        now = _clock_ns(_WALL, timespec)
        if control[0] == MEASURE and began < 0:
            cpu_began = _clock_ns(_CPU, timespec)
            began = now
            bursts_before = bursts
            control[own] = 1 + MEASURE
        if control[0] == STOP:
            break
    if began < 0:
        return 0, 0, 0, total, state, bursts
    return bursts - bursts_before, now - began, _clock_ns(_CPU, timespec) - cpu_began, total, state, bursts


@cached_njit(nogil=True)
def link(words: Any, order: Any) -> None:
    """Link the lines of ``words`` into a ring in the given ``order``, a permutation of their indices.

    Word 0 of a line becomes the index of the next line's first word, word 1 the line's place in the ring.
    """
    last = order.size - 1
    for place in range(order.size):
        first = order[place] * WORDS_PER_LINE
        words[first] = order[place + 1 if place < last else 0] * WORDS_PER_LINE
        words[first + 1] = place
