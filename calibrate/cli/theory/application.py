"""``qsim network FILE --clients``: an application on calibrated devices, over its number of clients."""

from __future__ import annotations

from pathlib import Path

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say
from calibrate.cli.failures import wrong_usage
from calibrate.cli.outputs import Outputs
from calibrate.cli.theory.network_file import read_network


def say_application(
    file: Path,
    clients: parsing.Numbers,
    slo: parsing.Objective | None,
    outputs: Outputs,
    *,
    simulate: bool,
    seed: int | None,
    as_json: bool,
) -> None:
    """Print the bottleneck, the knee, what two of a station give, and the curve; write the report."""
    outputs.check()
    if slo is not None and slo.quantile is not None and not simulate:
        raise wrong_usage("--slo of a percentile needs --simulate: a formula gives the mean response time")

    from calibrate.application.answer import system_answer, system_table, within_text
    from calibrate.application.system import system
    from calibrate.report.application import system_section

    network = read_network(file).network
    whole = [n for n in clients if n != int(n) or n < 1]
    if whole:
        raise wrong_usage(f"invalid --clients {whole[0]:g}: expected whole numbers, 1 or more, as 1..500")
    share = None if slo is None or slo.quantile is None else float(slo.quantile[1:]) / 100
    found = system(network, [int(n) for n in clients], simulate=simulate, seed=seed or 0)
    written = outputs.write([system_section(found)] if outputs.wanted else [], f"Application: {file.stem}")
    if as_json:
        kept = {} if slo is None else {"objective": vars(found.within(slo.time_s, share))}
        print_json({**found.to_dict(), **kept, **written.to_dict()})
        return
    lines = [] if slo is None else [f"{'OBJECTIVE':<12}{within_text(found, slo.time_s, share)}"]
    say("\n".join([*lines, system_answer(found), "", system_table(found)]))
    written.say()
