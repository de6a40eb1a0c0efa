"""Export: the command line itself renders the receipt of the plan, in a process of its own."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from djnet.errors import UserError, shown
from djnet.files import write_json

_PROGRESS = re.compile(r"(\w+): +(\d+)%")  # of tqdm
_LONGEST_NAME = 120
FILES = (".json", ".cue", ".m3u8", ".csv", ".png", ".html")


def safe_name(folder: Path, stem: str, suffix: str) -> Path:
    """A path in a folder that no file has yet: no other folder, nothing hidden, no characters that are not text."""
    text = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff/\\:]", "_", stem).strip(" .")
    text = text.encode()[:_LONGEST_NAME].decode(errors="ignore") or "untitled"
    for number in range(1, 1000):
        name = text if number == 1 else f"{text} ({number})"
        if not any((folder / f"{name}{ending}").exists() for ending in (suffix, *FILES)):
            return folder / f"{name}{suffix}"
    raise UserError(f"{folder}: there are a thousand files named {text} already.")


class Export:
    """One export at a time, into one folder."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._lock = threading.Lock()
        self._state: dict[str, Any] = {"state": "none"}

    def state(self) -> dict[str, Any]:
        """none, running (with step and percent), done (with files and remarks) or failed (with why)."""
        return dict(self._state)

    def start(self, receipt: dict[str, Any], name: str, suffix: str) -> None:
        """Render a receipt to a new file named so."""
        with self._lock:
            if self._state["state"] == "running":
                raise UserError("An export is under way: wait for it.")
            output = safe_name(self._folder, name, suffix)
            asked = self._folder / f".{output.name}.receipt"
            write_json(asked, receipt)
            self._state = {"state": "running", "step": "start", "percent": 0}
        threading.Thread(target=self._run, args=(asked, output), daemon=True).start()

    def _run(self, asked: Path, output: Path) -> None:
        words = [sys.executable, "-m", "djnet.cli.main", "medley", "--again", str(asked), "-o", str(output)]
        environment = {name: value for name, value in os.environ.items() if name != "TQDM_DISABLE"}
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        try:
            with subprocess.Popen(words, env=environment, **pipes) as child:  # type: ignore[call-overload]
                last = self._follow(child.stderr)
                said = child.stdout.read().decode(errors="replace")
        finally:
            asked.unlink(missing_ok=True)
        if child.returncode:
            self._state = {"state": "failed", "error": shown(last or "The export ended without a word.")}
            return
        files = [output.with_suffix(ending).name for ending in (output.suffix, *FILES)]
        remarks = [shown(re.sub(" {2,}", " · ", line.strip())) for line in said.splitlines() if "WARNING" in line]
        self._state = {"state": "done", "files": files, "remarks": remarks}

    def _follow(self, stream: Any) -> str:
        """Read the progress of the command: -> its last line that is none."""
        text, last = b"", ""
        while piece := stream.read1(4096):
            *lines, text = re.split(rb"[\r\n]", text + piece)
            for line in [*lines, text]:
                if progress := _PROGRESS.match(line.decode(errors="replace")):
                    self._state = {"state": "running", "step": progress[1], "percent": int(progress[2])}
            last = next((s for line in reversed(lines) if (s := _said(line))), last)
        return _said(text) or last


def _said(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return "" if _PROGRESS.match(text) or re.match(r"\w+: .*it/s", text) else text
