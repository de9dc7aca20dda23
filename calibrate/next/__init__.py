"""Which loads to measure: the first ones (:mod:`calibrate.next.first`), and after them the next (:mod:`calibrate.next.load`)."""
