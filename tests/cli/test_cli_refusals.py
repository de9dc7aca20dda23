"""What a command refuses: one line on stderr that names the value and the remedy, nothing on stdout, its exit code."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from places import GOLDEN

SHEET = "predict --idle-latency 80us --peak-iops 600k"
NAMES = {"JSON": str(GOLDEN / "fio" / "json-plus.json"), "TYPED": "p10=40us,p50=80us,p90=120us,p99=200us,p99.9=320us"}

REFUSED = """
2 | compare | DATA, --dataset
2 | compare '' | DATA is empty
2 | show '' | DATA is empty
2 | network '' | FILE, empty
1 | fleet '' | the name of a folder is empty
2 | compare --dataset 003-ssd | did you mean 003-ssd-read
2 | compare --dataset 003-ssd-read --series '4 KiB' | --series, did you mean 4 KiB read
1 | compare --dataset 003-ssd-read --use 4,7 | no point at load 7, 1024
2 | compare --dataset 003-ssd-read --use 4,4 | --use, named twice
2 | compare --dataset 003-ssd-read --use '' | --use, empty
2 | compare --dataset 003-ssd-read --model magic | --model, magic, p-norm
2 | compare --dataset 003-ssd-read --slo 0s | --slo
2 | compare --dataset 003-ssd-read --fail-on fatal | --fail-on, fatal, warning
2 | compare --dataset 003-ssd-read --prediction f.json --use 1,2 | --prediction, --use
1 | compare nowhere.json | nowhere.json
1 | compare --dataset 000-memory | none of the 8 curves can be used, read buffer 4 KiB, four times
2 | audit x.csv --dataset 003-ssd-read | both
2 | audit x.csv --columns load | --columns, load
2 | datasets nothing | nothing, 001-ssd
2 | predict | FIT, --idle-latency
2 | predict fit.json --idle-latency 80us | FIT, exclude
2 | predict --idle-latency 80us | --peak-iops
2 | SHEET --series x | --series
2 | predict --idle-latency 0us --peak-iops 600k | --idle-latency, positive
2 | predict --idle-latency 80us --peak-iops 0 | --peak-iops, above 0
2 | SHEET --at 0 | load 0
2 | SHEET --at=-4 | expected 1e-06 to 1e+15
2 | SHEET --what-if drives | workers=4:8
2 | SHEET --what-if drifes=2 | did you mean drives
2 | SHEET --what-if replicas=1:2,drives=1:3 | give one of them
2 | SHEET --what-if service=0 | positive
2 | SHEET --what-if workers=8 | workers=4:8
2 | measure fio | TARGET
2 | measure fio '' --out s | TARGET, empty
2 | measure fio . | --out
2 | measure fio . --out s --depths 0 | --depths, 0
2 | measure fio . --out s --depths 1-8 | --depths, write 1..8
2 | measure fio . --out s --depths 1e300 | invalid depth 1e+300: expected a whole number from 1 to 1e+06
2 | measure fio . --out s --block '4 parsec' | --block, parsec
2 | measure fio . --out s --arrival-rates 1k,0 | --arrival-rates, above 0
2 | measure fio . --out s --arrival-rates 1k --depths 1 | --depths, --arrival-rates
2 | measure fio . --out s --read 101 | --read, 101
2 | measure fio . --out s --pattern zigzag | --pattern, zigzag, sequential
2 | measure memory --out m --delays 0,1e14 | invalid delay 1e+14: expected 0, or 1e-06 to 1e+12
2 | measure memory --out m --traffic 1:2 | --traffic, take 1:1
2 | measure memory --out m --buffers 16KiB..4KiB | --buffers, upwards
2 | measure memory --out m --buffers 16KiB --delays 0 | --delays, --buffers, exclude
2 | measure memory --out m --buffers 16KiB --buffer 1GiB | --buffers and --buffer exclude
2 | measure memory --out m --strides 100 | strides, 100 B
2 | show | give DATA
2 | show --dataset 004-ssd-mix --columns load=qd | --columns is about CSV files
1 | show --dataset 004-ssd-mix --report FILE | is not a report of qsim
2 | fit-service --percentiles TYPED --series a | --percentiles and --series exclude each other
2 | fit-service --percentiles TYPED --requests 0 | --requests: must be from 1 to 1e+15
2 | fit-service --dataset 002-ssd-tails --series nonsense | 'nonsense' is unknown
1 | fit-service --dataset 003-ssd-read | neither a histogram nor percentiles
1 | fit-service --dataset 002-ssd-baseline | run: qsim fit-service --percentiles p95=56.58us,p99=129.54us
2 | fit-service --dataset 002-ssd-tails --out l.json | there are 2 curves; name one
1 | fit-service --percentiles TYPED --out none/law.json | there is no directory none
2 | surface --dataset 003-ssd-read --use size=4KiB | write places like block=4KiB,64KiB
2 | surface --dataset 003-ssd-read --use 'block=4KiB block=8KiB' | 'block' is named twice
2 | surface --dataset 003-ssd-read --at '' | no place is named
2 | surface --dataset 003-ssd-read --ask -1 | --ask is -1; it must be zero or more
1 | surface --dataset 003-ssd-read --pattern random | has no pattern 'random'
2 | surface --dataset 001-ssd --budget 60s | --budget and --dataset exclude each other
2 | surface somewhere --out kept | --out needs --budget
2 | surface a b --budget 60s | --budget measures one target
2 | trace mm1k --arrival-rate 1 --service-rate 1 | mm1k is not followed by hand
2 | trace mm1 --gaps 1,2 | --gaps needs --times
2 | trace mm1 --gaps 1,2 --times 1 | --times lists 1 customers and --gaps 2
2 | trace mg1 --gaps 1 --times 1 | --gaps and --times go with mm1
2 | trace mm1 --gaps 1 --times 1 --servers 2 | --servers means nothing for mm1
2 | trace mm1 --gaps 1..4 --times 1 | '1..4' holds a range
2 | trace mm1 --arrival-rate 0 --service-rate 1 | arrival and service times differ too much
2 | trace mm1 --arrival-rate 1 --service-rate 2 --customers 0 | --customers must be
2 | trace mm1 --arrival-rate 1 --service-rate 2 --customers 1e4 | are too many to print
2 | trace mm1 --arrival-rate 1 | it takes --arrival-rate, --service-rate or --service
2 | solve | MODEL
2 | solve mm1 --arrival-rate 20 --service-rate 16 | rho = 1.25, servers
2 | solve mm2 --arrival-rate 1 --service-rate 2 | 'mm2', did you mean, mmcn, ggc
2 | solve mm1 --arrival-rate 1 | --service-rate, --service
2 | solve mm1 --arrival-rate 1 --service-rate 0 | --service-rate, positive
2 | solve mm1 --arrival-rate -1 --service-rate 1 | --arrival-rate, -1
2 | solve mm1 --arrival-rate nan --service-rate 1 | --arrival-rate, 'nan'
2 | solve mm1 --arrival-rate 1 --service '5 parsec' | --service, parsec, ms
2 | solve mm1 --arrival-rate 1 --service-rate 2 --servers 3 | --servers, mm1
2 | solve mm1 --arrival-rate 1 --service-rate 2 --service 1 | --service-rate, one of
2 | solve mmc --arrival-rate 1 --service-rate 2 --servers 2.5 | --servers, 2.5
2 | solve mmcn --population 0 --service 1 | --population
2 | solve mmcn --population 1e9 --think-time 1 --service 1 | 1,000,000,000, qsim simulate
2 | solve mg1 --arrival-rate 1 --service levy:mean=1 | --service, levy, lognormal
2 | solve mg1 --arrival-rate 1 --service lognormal:mean=1 | like lognormal:mean=...,scv=... (
2 | solve mg1 --arrival-rate 1 --service erlang:k=1.5,mean=1 | --service, k must, 1.5
2 | solve mm1 --arrival-rate 1 --service gamma:mean=.5,scv=2 | --service, mg1
2 | solve mg1 --arrival-rate erlang:2:k=2 --service 1 | --arrival-rate, gg1
2 | solve mm1 --arrival-rate 1 --service-rate 2 --quantiles 99 | --quantiles, 99, 0.99
2 | solve mm1 --arrival-rate | --arrival-rate
2 | solve mm1 --arival-rate 1 | --arival-rate
2 | simulate mm1 --arrival-rate 1 --service-rate 2 --customers -5 | --customers
2 | simulate mm1 --arrival-rate 1 --service-rate 2 --seed 1.5 | --seed
"""

WITH_FIO = """
2 | knee DISK --seconds 1s | --seconds 1.00 s is out of reach
2 | knee DISK --read 100,0 | --read
2 | knee DISK --block 100 | --block
2 | measure fio DISK --out s --block 100 | --block
2 | measure fio DISK --out s --runtime 0s | --runtime
2 | measure fio DISK --out s --allow everything | --allow
2 | measure fio DISK --out s --allow write | --allow
2 | measure fio DISK --out s --depths 1 --repeats 0 | --repeats
2 | measure fio DISK --out s --depths 1 --repeats 2.5 | '2.5'
1 | measure fio DISK --out s --size 900TiB | free
2 | measure fio DISK --out s --size 1 | below 4096 bytes
2 | surface DISK --budget 2s | too short; the corners take 2
2 | measure suite tail DISK --plan | NAME: 'tail' is unknown; did you mean tails?
2 | measure suite tails '' --plan | TARGET: it is empty
2 | measure suite tails DISK | --out is missing
2 | measure suite tails DISK --plan --budget 3s | --budget is too short: 12 workloads take at least
2 | measure suite tails DISK --plan --budget 1min --quick | exclude each other
2 | measure suite tails DISK --plan --allow write=sdb | only read goes with
2 | course | --disk is missing
2 | course --disk . | --out is missing
2 | course --disk . --out course --quick --budget 5min | --quick and --budget exclude each other
2 | course --disk . --out course --budget 1s --no-memory | --budget is too short
"""


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_a_refusal_is_one_line_with_its_exit_code(qsim, line):
    refused(qsim, line)


@pytest.mark.parametrize("line", WITH_FIO.strip().splitlines())
def test_a_measurement_is_refused_before_anything_is_written(qsim, require_tool, disk, line):
    require_tool("fio")
    refused(qsim, line, DISK=str(disk))
    assert list(disk.iterdir()) == []


def refused(qsim, line: str, **names: str) -> None:
    """Run the command of a line of the tables; check its exit code, its words and that it wrote nothing."""
    code, command, words = (part.strip() for part in line.split(" | "))
    Path("FILE").write_text("mine")
    run = qsim(*({**NAMES, **names}.get(word, word) for word in shlex.split(command.replace("SHEET", SHEET))))
    assert run.code == int(code), run.err
    assert run.out == ""
    said = run.err.splitlines()[-1]
    assert said.startswith("error: ")
    for part in [words] if words in said else words.split(", "):
        assert part in said
    assert [p.name for p in Path().iterdir()] == ["FILE"]
    assert Path("FILE").read_text() == "mine"
