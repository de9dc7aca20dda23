"""The baselines of ``qsim compare --details``, and the key ``baselines`` of its JSON."""

from __future__ import annotations


def test_the_table_has_a_row_for_the_model_and_each_baseline(qsim, sweep_csv):
    out = qsim("compare", str(sweep_csv), "--use", "1,32", "--details").out
    table = out[out.index("missed at 5 held-out points") :].splitlines()
    assert table[0].split("  ")[-1].strip() == "p90"
    starts = ("p-norm with onset", "plain bound", "p-norm, most probable", "Universal Scalability Law", "interpolation")
    for row, name in zip(table[1:6], starts, strict=True):
        assert row.startswith(name)
        assert row.count(" %") == 4
