"""Non-temporal stores: a whole cache line written past the caches, without reading it first.

LLVM emits them for a store that is marked ``!nontemporal`` and covers an aligned vector: ``vmovntps``, ``vmovntdq`` or
``movntps`` on x86, ``stnp`` on ARM. Where a CPU lacks it an ordinary store does the work, so ask
``streaming_instruction`` what this machine's compiled code holds.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from measure.units import CACHE_LINE_BYTES

WORDS_PER_LINE = CACHE_LINE_BYTES // 8
_INSTRUCTION = re.compile(r"\b(v?movnt(?:i|dq|pd|ps)|stnp)\b")


def _store_line(typing_context: Any, words: Any, first: Any, value: Any) -> Any:
    """``store_line(words, first, value)``: write ``value``, ``value + 1``, ... to a line, past the caches.

    The line begins at ``words[first]``; ``words`` is a uint64 array that begins on a line, ``first`` a multiple of 8.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        index = ir.IntType(32)
        line = ir.VectorType(ir.IntType(64), WORDS_PER_LINE)
        place = builder.bitcast(builder.gep(array.data, [arguments[1]]), line.as_pointer())
        nothing = ir.Constant(line, ir.Undefined)
        first_lane = builder.insert_element(nothing, arguments[2], ir.Constant(index, 0))
        every_lane = ir.Constant(ir.VectorType(index, WORDS_PER_LINE), [0] * WORDS_PER_LINE)
        same = builder.shuffle_vector(first_lane, nothing, every_lane)
        counting = builder.add(same, ir.Constant(line, list(range(WORDS_PER_LINE))))
        store = builder.store(counting, place, align=CACHE_LINE_BYTES)
        store.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(index, 1)]))
        return context.get_dummy_value()

    return types.void(words, types.int64, types.uint64), emit


store_line: Any = intrinsic(_store_line)


@cache
def streaming_instruction() -> str:
    """The instruction that ``store_line`` becomes on this CPU ("vmovntps"); "" where it is an ordinary store."""

    @njit
    def one_line(words: Any) -> None:
        store_line(words, 0, np.uint64(0))

    one_line.compile((types.uint64[::1],))
    code = next(iter(one_line.inspect_asm().values()))
    found = _INSTRUCTION.search(code)
    return found[1] if found else ""
