"""What a program says when it is asked for its version: some never stop, some write files."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile


def say(program, home):
    """Status and the first megabyte of what it says, in an empty home."""
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(home, exist_ok=True)
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(
            ["prlimit", "--fsize=1048576", program, "--version"], stdin=subprocess.DEVNULL,
            stdout=out, stderr=subprocess.STDOUT, start_new_session=True, cwd=home,
            env={"PATH": "/usr/bin:/bin", "HOME": home, "LC_ALL": "C"})
        try:
            status = child.wait(timeout=20)
        except subprocess.TimeoutExpired:
            status = "time limit"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        out.seek(0)
        return status, out.read()
