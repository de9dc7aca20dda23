"""What a few points say of a model: a table of weights, and every figure read off it.

A row of the table (:mod:`calibrate.inference.weights`) is one possible device: its parameters, the size of what the
model misses, and how probable the two are. Whatever enters linearly is integrated out exactly, so that a row is not a
point but a narrow normal distribution around it. Two methods make such a table, and neither draws random numbers:

:mod:`calibrate.inference.nodes`       few parameters that are not linear: a fixed quasi-random set, refined once
:mod:`calibrate.inference.linearised`  many parameters: linearised at the most probable ones, for each misfit size

An estimate, the end of an interval or of a band is a quantile of a weighted mixture of normals
(:mod:`calibrate.inference.weights`). The same points give the same figures, on any machine.
"""
