"""Throughput and latency over block size, share of reads, queue depth and jobs at once, from a few corners."""

from calibrate.surface.compare import SurfaceComparison, SurfaceSummary, compare_surface
from calibrate.surface.design import NextPlace, asked, corners, next_place
from calibrate.surface.fit import Surface, SurfacePrediction, fit_surface
from calibrate.surface.places import Places, SurfacePoints, surface_points

__all__ = [
    "NextPlace",
    "Places",
    "Surface",
    "SurfaceComparison",
    "SurfacePoints",
    "SurfacePrediction",
    "SurfaceSummary",
    "asked",
    "compare_surface",
    "corners",
    "fit_surface",
    "next_place",
    "surface_points",
]
