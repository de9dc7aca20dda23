"""Which loads to measure: the first (:mod:`calibrate.next.first`), then the next (:mod:`calibrate.next.load`)."""
