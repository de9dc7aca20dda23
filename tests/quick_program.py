"""The program ``qsim``, started as a fork of a process in which all that most commands import is loaded.

Imports are most of the time of a short command. What a process is has all of it: its own streams, folder, environment
and exit status.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_SERVER = """
import contextlib, gc, io, json, os, signal, socket, sys
import jinja2, numba, numpy, pandas, rich.console, rich.progress, scipy.special, scipy.stats, typer.rich_utils
import calibrate.cli.app
from calibrate import *
from measure import *
from qsim import *

def ended(*_):
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass

address = sys.argv[1]
listening = socket.socket(socket.AF_UNIX)
listening.bind(address)
listening.listen()
signal.signal(signal.SIGCHLD, ended)
gc.freeze()  # a fork that ends would look through all of it, and copy it
print(flush=True)
while True:
    client, _ = listening.accept()
    if os.fork():
        client.close()
        continue
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    listening.close()
    asked, streams, *_ = socket.recv_fds(client, 2**16, 3)
    while part := client.recv(2**16):
        asked += part
    if program := os.fork():
        _, status = os.waitpid(program, 0)
        client.send(bytes([os.waitstatus_to_exitcode(status) % 256]))
        os._exit(0)
    client.close()
    for number, (name, stream) in enumerate(zip(("stdin", "stdout", "stderr"), streams)):
        os.dup2(stream, number)
        os.close(stream)
        began, raw = getattr(sys, name), open(number, "wb" if number else "rb", 0)
        made = io.TextIOWrapper(raw, began.encoding, began.errors, write_through=True)
        setattr(sys, name, made)
        setattr(sys, f"__{name}__", made)
    words, folder, environment = json.loads(asked)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["qsim", *words]
    from calibrate.cli.entry import main

    sys.exit(main())
"""
_CLIENT = """
import json, os, socket, sys

server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
asked = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
server.sendall(asked[socket.send_fds(server, [asked], [0, 1, 2]) :])
server.shutdown(socket.SHUT_WR)
sys.exit(server.recv(1)[0])
"""


@contextmanager
def quick_program(environment: Mapping[str, str]) -> Iterator[Path]:
    """A folder for PATH whose ``qsim`` starts quickly, in processes whose interpreter began in this environment."""
    with tempfile.TemporaryDirectory() as folder:  # the path of a socket may have 100 characters
        program, client, address = Path(folder, "qsim"), Path(folder, "client.py"), f"{folder}/socket"
        client.write_text(_CLIENT.format(address=address))
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{client}" "$@"\n')  # paths may have blanks
        program.chmod(0o755)
        command = [sys.executable, "-u", "-c", _SERVER, address]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            server.stdout.readline()  # it listens
            yield Path(folder)
            server.kill()
