"""Which loads to measure: the first (:mod:`calibrate.default_loads`), then the next (:mod:`calibrate.next.load`)."""
