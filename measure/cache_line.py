"""The size of a cache line, in a module that imports nothing."""

CACHE_LINE_BYTES = 64
