"""The posterior of a model given a few points: a table of weights, from which every figure is computed.

A row of the table (:mod:`calibrate.inference.weights`) is one possible device: its parameters, the size of its misfit,
and their probability. Parameters that enter linearly are integrated out exactly, so that a row is a narrow normal
distribution, not a point. Two methods make such a table, and neither draws random numbers:

few parameters that are not linear   a fixed quasi-random set of nodes, refined once
many parameters                      the model linearised at the most probable ones, for each misfit size

They are in :mod:`calibrate.inference.tables`. An estimate, the end of an interval or of a band is a quantile of a
weighted mixture of normals (:mod:`calibrate.inference.weights`). The same points give the same figures, on any machine.
"""
