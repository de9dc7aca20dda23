"""Throughput and latency over block size, share of reads, queue depth and jobs at once, from a few corners."""

from calibrate.surface.compare import SurfaceComparison, SurfaceSummary, compare_surface
from calibrate.surface.design import asked, corners
from calibrate.surface.fit import Surface, SurfaceEstimate, SurfacePrediction, fit_surface
from calibrate.surface.places import Places, SurfacePoints, surface_points

__all__ = [
    "Places", "Surface", "SurfaceComparison", "SurfaceEstimate", "SurfacePoints", "SurfacePrediction",
    "SurfaceSummary", "asked", "compare_surface", "corners", "fit_surface", "surface_points",
]  # fmt: skip
