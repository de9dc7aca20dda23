"""Throughput and latency over block size, share of reads, queue depth and jobs at once, from a few corners."""

from calibrate.surface.design import NextPlace, asked, corners, next_place
from calibrate.surface.places import Places, SurfacePoints, surface_points
from calibrate.surface.surface_comparison import SurfaceComparison, SurfaceSummary, compare_surface
from calibrate.surface.surface_fit import Surface, SurfacePrediction, fit_surface

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
