"""JSON documents of the commands that compute, from inputs whose figures may be changed by one part in 1e14.

A figure of a :class:`Question` that is written ``~12.5`` is one that was measured or given: ``answer``
changes it, each by its own sign, before the command reads it. Depths, counts and shares stay as they are.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

NUDGE = 1e-14
"""The relative change of each figure: some forty times the last bit of a float."""

UNITS = (1.0, 1.7, 1e-3)
"""Factors on the throughput of the same table: powers of ten, and not."""

DEPTHS = np.array([1.0, 2, 4, 8, 16, 32, 64, 128])
_GIVEN = re.compile(r"~([\d.]+(?:e[+-]?\d+)?)")


@dataclass(frozen=True)
class Question:
    """A command's ``words``, with ``files`` (name: text) in the folder where it runs."""

    words: Sequence[str]
    files: Mapping[str, str] = field(default_factory=dict)


def documents(seed: int | None = None, only: str = "") -> dict[str, Any]:
    """The JSON document of each question whose name begins with ``only``, as given or ``nudged`` by this seed."""
    return {name: answer(one, seed) for name, one in questions().items() if name.startswith(only)}


def answer(question: Question, seed: int | None = None) -> Any:
    """The document that a command prints in a folder of its own. Raises where it fails."""
    signs = None if seed is None else np.random.default_rng(seed)

    def given(text: str) -> str:
        return _GIVEN.sub(lambda found: nudged(float(found[1]), signs), text)

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in question.files.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(given(text), encoding="utf-8")
        return printed([given(word) for word in question.words])


def nudged(value: float, signs: np.random.Generator | None) -> str:
    """The figure, larger or smaller by ``NUDGE`` as the signs have it; as it is without them."""
    return repr(value if signs is None else value * (1 + NUDGE * float(signs.choice((-1.0, 1.0)))))


def printed(words: Sequence[str]) -> Any:
    """What a command prints with --json. ``knee FILE`` is what ``qsim knee`` says of points measured already."""
    if words[0] == "knee":
        from calibrate import fit
        from calibrate.cli.calibration.fit import fit_document
        from calibrate.cli.parsing import objective
        from measure import load

        sweep = load(words[1])
        return json.loads(json.dumps(fit_document(fit(sweep), objective("1ms"), sweep)))
    from typer.testing import CliRunner

    from calibrate.cli.app import app

    done = CliRunner().invoke(app, [*words, "--json"])
    if done.exception is not None or done.exit_code:
        raise RuntimeError(f"qsim {' '.join(words)}: {done.stderr or done.exception!r}")
    return json.loads(done.stdout)


def figures(document: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Each figure and word of a document, with its place in it."""
    if isinstance(document, dict | list):
        inside = document.items() if isinstance(document, dict) else enumerate(document)
        for key, value in inside:
            yield from figures(value, f"{name}/{key}")
    else:
        yield name, document


def questions() -> dict[str, Question]:
    """All questions, by command and what is special in the data."""
    return {**_of_one_curve(), **_of_several_curves(), **_of_services(), **_of_theory()}


def table(depths: Sequence[float] | np.ndarray, rates: Any, latencies: Any = None) -> str:
    """A CSV table of depths, rates and mean latencies in seconds, N / X where none are given."""
    times = np.asarray(depths) / np.asarray(rates) if latencies is None else latencies
    rows = [f"{n:g},~{float(x)!r},~{float(r)!r}" for n, x, r in zip(depths, rates, times, strict=True)]
    return "\n".join(["iodepth,iops,latency_s", *rows]) + "\n"


def drive(seed: int = 1, noise: float = 0.02, peak: float = 1e5, unit: float = 1.0) -> np.ndarray:
    """Rates at ``DEPTHS`` of a drive of N* = 10, with noise."""
    smooth = ((DEPTHS / 10) ** -3 + 1) ** (-1 / 3) * peak * unit
    return np.asarray(smooth * np.exp(noise * np.random.default_rng(seed).standard_normal(len(DEPTHS))))


def _of_one_curve() -> dict[str, Question]:
    two, flat, falling = [0, 5], drive(noise=0.0), drive(noise=0.0)
    flat[4:], falling[5:] = 1e5, falling[5:] * [0.97, 0.9, 0.8]
    curves = {
        "one point": table([1], [1000.0]),
        "one point of another depth": table([16], [12345.6]),
        "two points": table(DEPTHS[two], drive()[two]),
        "eight points": table(DEPTHS, drive(), DEPTHS / drive(2)),
        "in another unit": table(DEPTHS, drive(unit=1.7), DEPTHS / drive(2, unit=1.7)),
        "in thousands": table(DEPTHS, drive(unit=1e-3), DEPTHS / drive(2, unit=1e-3)),
        "rows nearly twice": table(np.repeat(DEPTHS, 2), np.repeat(drive(), 2) * np.tile([1, 1 + 1e-6], 8)),
        "repeats": table(np.tile(DEPTHS, 3), np.concatenate([drive(seed) for seed in (1, 2, 3)])),
        "equal peaks": table(DEPTHS, flat),
        "a straight line": table(DEPTHS[:5], DEPTHS[:5] * 1000.0),
        "a decline": table(DEPTHS, falling),
        "one request served at a time": _flat(164),
    }
    rates = [(r, 0.01 / (1 - r / 1100)) for r in (100, 300, 600, 900, 1000)]
    opened = "arrival_rate,rps,latency_s\n" + "".join(f"~{r},~{r},~{w!r}\n" for r, w in rates)
    delays = [(0, 12.0, 180), (50, 11.5, 150), (100, 9.0, 115), (200, 6.2, 98), (500, 3.0, 88), (5000, 0.4, 80)]
    memory = "delay,bandwidth_GB/s,latency_ns\n" + "".join(f"{d},~{x!r},~{r!r}\n" for d, x, r in delays)
    found = {f"fit: {name}": Question(["fit", "t.csv"], {"t.csv": text}) for name, text in curves.items()}
    found["fit: arrivals"] = Question(["fit", "t.csv"], {"t.csv": opened})
    found["fit: a memory"] = Question(["fit", "t.csv"], {"t.csv": memory})
    found["fit: a limit of time"] = Question(["fit", "t.csv", "--slo", "1ms"], {"t.csv": curves["eight points"]})
    for name in ("one point", "two points", "eight points", "rows nearly twice", "equal peaks"):
        found[f"knee: {name}"] = Question(["knee", "t.csv"], {"t.csv": curves[name]})
        found[f"audit: {name}"] = Question(["audit", "t.csv"], {"t.csv": curves[name]})
    found["audit: a decline"] = Question(["audit", "t.csv"], {"t.csv": curves["a decline"]})
    for name in ("one point", "eight points", "rows nearly twice"):
        words = ["predict", "t.csv", "--at", "1..256", *(("--slo", "1ms") if name == "one point" else ())]
        found[f"predict: {name}"] = Question(words, {"t.csv": curves[name]})
    sheet = ["predict", "--idle-latency", "~80us", "--peak-iops", "~600000", "--at", "1..256"]
    found["predict: a data sheet"] = Question(sheet)
    found["predict: twice the drives"] = Question([*sheet, "--what-if", "drives=1:2"])
    for name in ("eight points", "in another unit", "rows nearly twice", "equal peaks", "a decline"):
        found[f"compare: {name}"] = Question(["compare", "t.csv"], {"t.csv": curves[name]})
    found["compare: a memory"] = Question(["compare", "t.csv"], {"t.csv": memory})
    return found


def _of_several_curves() -> dict[str, Question]:
    def again(slower: float, seeds: Sequence[int]) -> str:
        return table(np.tile(DEPTHS, len(seeds)), np.concatenate([drive(s) for s in seeds]) / slower)

    pairs = {
        "single runs": (again(1, [1]), again(1.1, [2])),
        "repeats": (again(1, [1, 2, 3]), again(1.1, [4, 5, 6])),
        "of flat curves": (_flat(164), _flat(151)),
        "nothing": (again(1, [1]), again(1, [1])),
    }
    files = {name: {"a.csv": a, "b.csv": b} for name, (a, b) in pairs.items()}
    found = {f"change: {name}": Question(["change", "a.csv", "b.csv"], two) for name, two in files.items()}
    found["compare: two drives"] = Question(["compare", "a.csv", "b.csv"], files["single runs"])
    rack = {f"rack/d{i:02d}.csv": table(DEPTHS[:7], drive(i, 0.01, 1e5 / (1 + (i == 7)))[:7]) for i in range(12)}
    found["fleet: a slow drive"] = Question(["fleet", "rack"], rack)
    rack = {f"rack/d{i:02d}.csv": table([1, 32], drive(i % 4, 0.01, unit=UNITS[i % 3])[[0, 5]]) for i in range(9)}
    found["fleet: two points each, some alike"] = Question(["fleet", "rack"], rack)
    found["surface: sizes and mixes"] = Question(["surface", "t.csv", "--ask", "1"], {"t.csv": _surface()})
    found["surface: an exact one, all alike"] = Question(["surface", "t.csv"], {"t.csv": _surface(0.0)})
    found["fleet: of flat curves"] = Question(["fleet", "rack"], {f"rack/d{i}.csv": _flat(164) for i in range(9)})
    app = '[stations]\nusers = { delay = "~20ms" }\ncpu = { service = "~200us", servers = 2 }\n'
    fitted = 'disk = { device = "t.csv", visits = 10 }\n'
    sheet = 'disk = { idle_latency = "~80us", peak = "~600000/s" }\n'
    words = ["network", "app.toml", "--clients", "1..64", "--slo", "30ms"]
    twice = '[stations]\nusers = { delay = "~20ms" }\na = { device = "t.csv" }\nb = { device = "t.csv" }\n'
    points = table(DEPTHS, drive())
    found["network: on two equal drives"] = Question(words, {"app.toml": twice, "t.csv": points})
    found["network: on a fitted drive"] = Question(words, {"app.toml": app + fitted, "t.csv": points})
    found["network: on a data sheet"] = Question(words, {"app.toml": app + sheet})
    return found


def _flat(rate: float) -> str:
    return table(DEPTHS, np.full(len(DEPTHS), rate))


def _surface(noise: float = 0.03) -> str:
    rows, random = ["block,read,depth,iops"], np.random.default_rng(5)
    for block in (4, 32, 128):
        for read in (0, 50, 100):
            for depth in (1, 4, 32):
                peak = 1e5 / (1 + block / 32) * (1 + read / 100)
                rate = ((depth / 6) ** -3 + 1) ** (-1 / 3) * peak * np.exp(noise * random.standard_normal())
                rows.append(f"{block}KiB,{read},{depth},~{float(rate)!r}")
    return "\n".join(rows) + "\n"


def _of_services() -> dict[str, Question]:
    random = np.random.default_rng(3)
    laws = {"lognormal": random.lognormal(-9, 0.4, 400), "two kinds": random.exponential(1e-3, 400)}
    laws["two kinds"][::10] *= 20
    laws["equal"] = np.tile([1e-4, 2e-4, 5e-4, 1e-3], 50)
    found = {}
    for name, times in laws.items():
        text = "".join(f"~{float(t)!r}s\n" for t in times)
        found[f"fit-service: {name}"] = Question(["fit-service", "t.txt"], {"t.txt": text})
    shares = "p50=~80us,p90=~110us,p95=~140us,p99=~300us,p99.9=~1200us"
    found["fit-service: percentiles"] = Question(["fit-service", "--percentiles", shares, "--requests", "1e6"])
    return found


def _of_theory() -> dict[str, Question]:
    solved = {
        "mm1": "mm1 --arrival-rate ~16 --service-rate ~20 --quantiles 0.5,0.99",
        "mmc": "mmc --arrival-rate ~2.7 --service-rate ~1 --servers 3 --quantiles 0.5,0.99",
        "mmck": "mmck --arrival-rate ~2.7 --service-rate ~1 --servers 3 --capacity 9",
        "mmcn": "mmcn --population 64 --service ~80us --servers 32 --think-time ~10us",
        "mdc": "mdc --arrival-rate ~2.7 --service ~1 --servers 3",
        "mg1": "mg1 --arrival-rate ~10k/s --service lognormal:~80us:scv=~2 --quantiles 0.5,0.99",
        "srpt": "mg1 --arrival-rate ~0.8 --service exponential:~1 --discipline SRPT",
        "mmcc": "mmck --arrival-rate ~2 --service-rate ~1 --servers 4 --capacity 4",
        "gg1 of clocks": "gg1 --arrival-rate deterministic:~1 --service deterministic:~0.9",
        "ggc": "ggc --arrival-rate erlang:~0.4:k=2 --service gamma:~1:scv=~2 --servers 3",
        "gimc": "ggc --arrival-rate erlang:~0.4:k=2 --service exponential:~1 --servers 3",
    }
    run = "--seed 3 --customers 3e4"
    simulated = {
        "mm1": f"mm1 --arrival-rate ~0.5 --service-rate ~1 {run}",
        "mgc": f"mgc --arrival-rate ~1.6 --service lognormal:~1:scv=~2 --servers 2 {run}",
        "mmcn": f"mmcn --population 16 --service ~80us --servers 4 --think-time ~200us {run}",
        "mmck": f"mmck --arrival-rate ~2 --service-rate ~1 --servers 2 --capacity 5 {run}",
        "one queue each": f"mmc --arrival-rate ~1.2 --service-rate ~1 --servers 2 --queues shortest {run}",
        "PS": f"mg1 --arrival-rate ~0.5 --service lognormal:~1:scv=~2 --discipline PS {run}",
        "LCFS-PR": f"mg1 --arrival-rate ~0.5 --service lognormal:~1:scv=~2 --discipline LCFS-PR {run}",
    }
    net = (
        '[stations]\ncpu = {{ service = "~0.7", servers = 2, discipline = "{0}" }}\n'
        'disk = {{ service = "~0.3", discipline = "{0}" }}\n'
    )
    closed, opened = "customers = 8\n" + net, 'customers = "~1.3/s"\n' + re.sub(r"(~[\d.]+)", r"\1s", net)
    simulate = ["network", "n.toml", "--simulate", "--seed", "3", "--customers", "3e4"]
    return {
        **{f"solve: {name}": Question(["solve", *words.split()]) for name, words in solved.items()},
        **{f"simulate: {name}": Question(["simulate", *words.split()]) for name, words in simulated.items()},
        "network: closed, exact": Question(["network", "n.toml"], {"n.toml": closed.format("FCFS")}),
        "network: open, exact": Question(["network", "n.toml"], {"n.toml": opened.format("FCFS")}),
        "network: closed, simulated": Question(simulate, {"n.toml": closed.format("FCFS")}),
        "network: open, simulated": Question(simulate, {"n.toml": opened.format("PS")}),
        "network: closed PS, simulated": Question(simulate, {"n.toml": closed.format("PS")}),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(documents()))
