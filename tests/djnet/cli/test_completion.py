import shutil
import subprocess

import pytest

from djnet.cli import completion


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["me"], {"medley"}),
        (["medley", "--dry"], {"--dry-run"}),
        (["cache", "--o"], {"--older-than"}),
        (["x", "--"], set()),
    ],
)
def test_bash_completes_commands_and_options(words, expected):
    line = f"COMP_WORDS=(djnet {' '.join(words)}); COMP_CWORD={len(words)}; _djnet; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-uc", f"{completion.script()}\n{line}"], capture_output=True, text=True)
    assert (set(done.stdout.split()), done.stderr) == (expected, "")
