import os
import subprocess
import sys
import time

WORKER = "import os, time; from djnet.processes import end_with; end_with(os.getppid()); print(os.getpid(), flush=True)"


def test_a_worker_ends_with_its_parent():
    parent = ["sh", "-c", f'"{sys.executable}" -c "{WORKER}; time.sleep(600)"; true']
    with subprocess.Popen(parent, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        process.kill()
    while os.path.exists(f"/proc/{worker}"):  # it ends within a second or two; a worker that does not hangs this test
        time.sleep(0.1)
