"""Counting passes and failures, and running tools."""

import subprocess
import sys


class Failed(Exception):
    """What a test found; its text is the report."""


class Report:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def test(self, name, function, *args):
        try:
            function(*args)
            self.passed += 1
        except Failed as failure:
            self.fail(name, failure)
        except (OSError, subprocess.SubprocessError, ValueError, KeyError) as failure:
            self.fail(name, f"{type(failure).__name__}: {failure}")

    def fail(self, name, why):
        self.failed += 1
        print(f"FAILED {name}: {why}")

    def skip(self, name, why):
        self.skipped += 1
        print(f"skipped {name}: {why}")

    def end(self):
        if self.skipped:
            print(f"{self.skipped} skipped")
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed else 0)


def run(*argv, **kw):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)


def must(*argv, **kw):
    done = run(*argv, **kw)
    if done.returncode:
        raise Failed(f"{' '.join(argv[:8])}: status {done.returncode}: "
                     f"{(done.stderr or done.stdout).strip()[-600:]}")
    return done.stdout


def same(what, found, expected):
    if found != expected:
        raise Failed(f"{what}: {found!r}, expected {expected!r}")
