"""``qsim solve``: a queue by formula."""

from __future__ import annotations

from calibrate.cli.console import print_json, say
from calibrate.cli.failures import wrong_usage
from calibrate.cli.options import AsJson
from calibrate.cli.theory import queue_options as q
from calibrate.cli.theory.queue_models import MODELS_HELP, ModelName, queue_of

HELP = f"""Solve a queue by formula.

Rates and times are in any consistent unit (16, 0.05), or carry units (20k/s, 80us); then results are in seconds.

\b
Models:
{MODELS_HELP}

\b
Examples:
qsim solve mm1 --arrival-rate 16 --service-rate 20
qsim solve mmcn --population 64 --service-time 80us --servers 32
qsim solve mm1 --arrival-rate 10k/s --service-time 80us --quantiles 0.5,0.99
qsim solve mmc --arrival-rate 2.7 --service-rate 1 --servers 3 --explain
"""


def solve(
    model: ModelName,
    options: q.QueueOptions,
    quantiles: q.Quantiles = None,
    explain: q.Explain = False,
    as_json: AsJson = False,
) -> None:
    """Build the queue that the options describe, solve it, print it."""
    given = q.Given(model, options.values())
    queue = queue_of(given)

    import qsim
    from calibrate.cli.theory.metrics_text import derivation_document, derivation_text, metrics_document, metrics_text
    from qsim.derivations import derive

    try:
        metrics = qsim.solve(queue)
    except qsim.NoFormulaError as error:
        raise wrong_usage(f"{error.reason}; simulate it: qsim simulate {given.command_line()}") from error
    wanted = quantiles or ()
    derivation = derive(queue) if explain else None
    if as_json:
        document = metrics_document(metrics, with_units=given.with_units, quantiles=wanted)
        print_json(document if derivation is None else {**document, "derivation": derivation_document(derivation)})
        return
    say(metrics_text(metrics, with_units=given.with_units, quantiles=wanted))
    if derivation is not None:
        say(f"\n{derivation_text(derivation, with_units=given.with_units)}")
