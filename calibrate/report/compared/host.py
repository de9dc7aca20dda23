"""Where the time of a request goes, host or device, at each load."""

from __future__ import annotations

from calibrate.models.host_and_device import HostAndDevice
from calibrate.report.drawing import INK, ORANGE, SKY, empty_figure, marker
from calibrate.report.view import View
from measure.units import format_duration


def host_view(found: HostAndDevice) -> View:
    """The share of a request's time in the device and in the host as stacked bars; marks where the model parts them."""
    import pandas as pd

    _, host, device = found.predicted(found.load)
    table = pd.DataFrame(
        {
            "load": found.load,
            "throughput_per_s": found.throughput_per_s,
            "device_s": found.device_s,
            "host_s": found.host_s,
            "device_by_model_s": device,
            "host_by_model_s": host,
        }
    )
    figure = empty_figure("outstanding requests", "share of the response time (%)")
    loads, whole = [f"{n:g}" for n in found.load], found.device_s + found.host_s
    parts = (("in the device", found.device_s, SKY, "start"), ("in the host", found.host_s, ORANGE, "end"))
    for name, times, colour, clear_of_the_mark in parts:
        figure.add_bar(
            x=loads,
            y=100 * times / whole,
            name=name,
            marker={"color": colour},
            text=[format_duration(t, 2) for t in times],
            textangle=0,
            insidetextanchor=clear_of_the_mark,
        )
    figure.add_scatter(
        x=loads,
        y=100 * device / (device + host),
        name="parted by the model",
        mode="markers",
        marker=marker(INK, "diamond", 9),
    )
    figure.update_layout(barmode="stack")
    figure.update_xaxes(type="category", rangemode=None)
    sentence = found.sentence()
    return View(
        "host", "host-and-device", "Where the time goes", f"{sentence[0].upper()}{sentence[1:]}.", table, figure
    )
