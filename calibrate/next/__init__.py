"""Which loads to measure: the first and the next (:mod:`calibrate.next.load`)."""
