import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

WORKER = "import os, time; from djnet.processes import end_with; end_with(os.getppid()); print(os.getpid(), flush=True)"


def test_a_worker_ends_with_its_parent():
    parent = ["sh", "-c", f'"{sys.executable}" -c "{WORKER}; time.sleep(600)"; true']
    with subprocess.Popen(parent, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        process.kill()
    while os.path.exists(f"/proc/{worker}"):  # it ends within a second or two; a worker that does not hangs this test
        time.sleep(0.1)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no signal for it")
def test_a_program_ends_with_the_process_that_runs_it(tmp_path):
    run = f"from djnet.processes import run; run(['sh', '-c', 'echo $$ > {tmp_path}/id; exec sleep 600'])"
    with subprocess.Popen([sys.executable, "-c", run]) as process:
        while not (tmp_path / "id").exists() or not (tmp_path / "id").read_text():
            time.sleep(0.05)
        process.kill()
    program = (tmp_path / "id").read_text().strip()
    while os.path.exists(f"/proc/{program}") and "State:\tZ" not in Path(f"/proc/{program}/status").read_text():
        time.sleep(0.05)  # one that does not end hangs this test
