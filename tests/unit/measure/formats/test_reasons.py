"""What cannot be read is refused for its true reason: refused files and fuzz corpora each have the words of theirs.

The files are what the tools printed here when nobody answered, when an option was wrong or they were killed, and the
refused cases of the field. A reason that is not true is a fault.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from measure import load
from measure.errors import DataError

TESTS = Path(__file__).parents[3]
REFUSED = TESTS / "data" / "refused"
REASONS = {
    "ab-refused.txt": r"has no Concurrency Level: .*it says .*Connection refused",
    "averaged_lat.txt": r"is an averaged latency log of fio \(log_avg_msec\), which is not read: run fio without",
    "dd.txt": r"is dd, which is not read: .*run fio",
    "elbencho-live.csv": r"a load cannot be found in its columns; .*latency=Lat IO us:us",
    "fio-engine.txt": r"holds fio's messages but no JSON result; it says 'fio: engine foo not loadable'",
    "fio-killed.txt": r"holds fio's messages but no JSON result",
    "fio-option.txt": r"holds fio's messages but no JSON result; it says .*nonsense",
    "iostat.json": r"is iostat's JSON, which is not read: run iostat -x 1 without -o JSON",
    "mlc-matrices.txt": r"MLC's output, but without a loaded-latency table .*run mlc --loaded_latency",
    "pgbench-refused.txt": r"holds no measurement; it says .*(?:refused|No such file)",
    "two-rates.csv": r"both 'tps' and 'qps' can be the throughput",
    "wrk-cut.txt": r"has no Requests/sec: the run was interrupted or its text is cut off",
    "wrk-refused.txt": r"holds no measurement; it says 'unable to connect to 127.0.0.1:9 Connection refused'",
}
OF_CORPUS = {
    "fit": r"is JSON|neither a table|cut off|no column|fio's JSON",
    "histograms": r"histogram|fio|JSON",
    "latencies": r"neither a table|header|columns|cut off|empty|binary|is no",
    "probe_record": r"JSON|neither a table|columns",
    "sealed": r"is JSON|cut off|neither a table|binary|empty",
}
"""What the files of each corpus are refused for."""


def test_every_refused_file_has_its_reason() -> None:
    assert REASONS.keys() == {path.name for path in REFUSED.iterdir()}
    assert OF_CORPUS.keys() >= {path.name for path in (TESTS / "fuzz" / "corpus").iterdir()}


@pytest.mark.parametrize("name", REASONS)
def test_a_refusal_has_the_true_reason_and_what_to_do(name: str) -> None:
    with pytest.raises(DataError) as refusal:
        load(REFUSED / name)
    assert re.search(REASONS[name], str(refusal.value)), str(refusal.value)


@pytest.mark.parametrize(
    "path", sorted((TESTS / "fuzz" / "corpus").glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_a_file_of_a_fuzz_corpus_is_refused_for_what_it_is(path: Path) -> None:
    with pytest.raises(DataError) as refusal:
        load(path)
    assert re.search(OF_CORPUS[path.parent.name], str(refusal.value)), str(refusal.value)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Vdbench distribution: vdbench50407\n", "Vdbench"),
        ("================\n---- Global Information --------\n> request count 100\n", "Gatling"),
        ('{"type":"Metric","data":{"name":"http_reqs","type":"counter"},"metric":"http_reqs"}\n', "k6's stream"),
        ("Transaction rate:\t      397.00 trans/sec\n", "siege"),
        (" Timing buffered disk reads: 1000 MB in  3.00 seconds = 333.3 MB/sec\n", "hdparm"),
        ("STREAM version $Revision: 5.10 $\n", "STREAM"),
        ("Results:\nOp rate                   :   21,345 op/s  [WRITE: 21,345 op/s]\n", "cassandra-stress"),
        ("    id, type       total ops,    op/s\n 4 threadCount, total,    61231,    2041\n", "cassandra-stress"),
        ("op rate                   : 46751 [WRITE:46751]\nlatency mean              : 4.3\n", "cassandra-stress"),
        ("readrandom   :       1.652 micros/op 605168 ops/sec; 2294.5 MB/s\n", "db_bench"),  # 64 threads of 104 us
        ("Operation: GET, 45%, Concurrency: 20, Ran 4m59s.\nThroughput: 1251.13 MiB/s, 125.11 obj/s\n", "warp"),
        ('{"aggregate":{"counters":{"vusers.created":300},"rates":{"http.request_rate":10}}}', "Artillery"),
        ("starttime\tseconds\tctime\tdtime\tttime\twait\nMon Nov 02 10:00:00 2026\t1\t0\t10\t10\t9\n", "ab"),
        ("Percentage served,Time in ms\n0,9.1\n50,10.1\n", "ab"),
        ("response-time,DNS+dialup,DNS,Request-write,Response-delay\n0.01,0.001,0,0.0001,0.009\n", "hey"),
        ('{"results":[{"statistics":[{"id":"benchmark_http_client.request_to_response"}]}]}', "Nighthawk"),
        ("Version  1.98       ------Sequential Output------ --Sequential Input-\n", "bonnie"),
        ("[ ID] Interval           Transfer     Bitrate         Retr\n", "iperf"),
        ("MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 port 0 AF_INET to localhost\n", "netperf"),
        ('"stride=128\n0.00049 1.180\n', "lat_mem_rd"),
        ("Samples\t, Byte/thd\t, ChaseThds\t, ChaseNS\n6\t, 1000\t, 1\t, 88.2\n", "multichase"),
        ("AVG\tMethod: MEMCPY\tElapsed: 0.04\tMiB: 256.00\tCopy: 6213.4 MiB/s\n", "mbw"),
        ("stress-ng: info:  [123] dispatching hogs: 4 cpu\n", "stress-ng"),
        ("Pub stats: 1,234,567 msgs/sec ~ 150.70 MB/sec\n", "NATS"),
        (
            "| model            |       size |     params | backend    | ngl |  t/s |\n|---|---|---|---|---|---|\n",
            "llama",
        ),
        ('Starting test.\n[ {\n  "metric" : "OVERALL",\n  "measurement" : "RunTime(ms)",\n', "YCSB's JSON"),
        ('"outputstyle"="table"\n***\nRun finished, takes 651ms\n| OPERATION | TAKES(S) |\n', "go-ycsb's table"),
        ("".join(f"{250 * n}, 87432, 99999, 0, 4096, 0\r\n" for n in range(1, 9)), "averaged latency log"),
        ("Connection rate: 150.0 conn/s (6.7 ms/conn, <=1 concurrent connections)\n", "httperf"),
        (
            "Linux 5.15.0 (db01)\n\n12:00:01 AM       DEV       tps     rkB/s\n12:10:01 AM   sda    100.00    400.00\n",
            "sar",
        ),
        (
            "              capacity     operations     bandwidth\npool        alloc   free   read  write\n",
            "zpool iostat",
        ),
        ("elapsed: 15   ops: 262144   ops/sec: 16512.1   bytes/sec: 64 MiB/s\n", "rbd bench"),
        ("Benchmarking http://127.0.0.1:8080 using 20 connection(s).\nSummary:\n  Elapsed        8.6s\n", "plow"),
        ("Beginning round 1...\nBenchmarking 128 connections @ http://127.0.0.1:8080 for 10 second(s)\n", "rewrk"),
        ("Metric,avg,min,max,p99\nRequest Latency (ms),1500,1200,1900,1880\n", "GenAI-Perf"),
        ("|   Metric |         Task | Value |   Unit |\n|-----:|-----:|----:|----:|\n| Max | a | 1 | s |\n", "Rally"),
        ("sockperf: == version #3.7-no.git ==\nsockperf: Summary: Latency is 10.379 usec\n", "sockperf"),
        (" #bytes #iterations    t_min[usec]    t_max[usec]\n 8       1000          1.82       4.32\n", "perftest"),
        ("goos: linux\nBenchmarkGet-8   \t 1000000\t      1150 ns/op\n", "Go"),
    ],
)
def test_what_is_known_and_not_read_is_named(tmp_path: Path, text: str, name: str) -> None:
    (path := tmp_path / "out.txt").write_text(text)
    with pytest.raises(DataError, match=rf"is .*{name}.*, which is not read: "):
        load(path)
