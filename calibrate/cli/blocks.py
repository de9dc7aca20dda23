"""``qsim blocks``: throughput over the block size, from two sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say
from calibrate.cli.data import Source
from calibrate.cli.failures import CHECK_FAILED, CommandError
from calibrate.cli.options import AsJson, AsPublished, Columns, Data, Dataset, Level, Seed

if TYPE_CHECKING:
    from calibrate.block_sizes import BlockLine

HELP = """Predict the throughput at block sizes from two of them.

At each depth and mix with two or more sizes: what every request costs, what every byte costs, the size where both are
equal, and predicted against observed at every size. Sizes beyond those calibrated on are marked as extrapolated.

\b
Examples:
qsim blocks --dataset 004-ssd-block-size
qsim blocks sweep/ --use 4KiB,1MiB --max-error 5
"""


def blocks(
    data: Data = None,
    dataset: Dataset = None,
    columns: Columns = None,
    as_published: AsPublished = False,
    use: Annotated[
        parsing.Numbers | None,
        typer.Option("--use", metavar="SIZE,...", parser=parsing.sizes, show_default=False,
                     help="The block sizes to calibrate on, two or more. Default: the smallest and the largest."),
    ] = None,
    level: Level = None,
    seed: Seed = None,
    max_error: Annotated[
        float | None,
        typer.Option(metavar="PCT", parser=parsing.allowed_error, show_default=False,
                     help="Exit with 3 where the median held-out error of any line exceeds this many percent."),
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Load, fit a line at each depth, print, check."""
    from calibrate.block_sizes import LEVEL, block_lines

    source = Source(data or (), dataset, columns, as_published)
    lines = block_lines(source.load(), use, level=LEVEL if level is None else level, seed=seed or 0)
    document: dict[str, Any] = {"source": source.name, "lines": [line.to_dict() for line in lines]}
    if not as_json:
        say("\n\n".join(str(line) for line in lines))
    _check(lines, max_error, document if as_json else None)
    if as_json:
        print_json(document)


def _check(lines: list[BlockLine], max_error: float | None, document: dict[str, Any] | None) -> None:
    """CommandError (a check failed) by --max-error."""
    for line in lines:
        error = line.held_out_mdape_pct
        if max_error is not None and error is not None and error > max_error:
            raise CommandError(
                f"--max-error {max_error:g}: {line.series} at {line.outstanding:g} outstanding is missed by "
                f"{error:.3g} % at the median", CHECK_FAILED, document,
            )  # fmt: skip
