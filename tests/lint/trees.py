"""Stores as text, made on disk: what the suites of the linter and of audits share."""

import hashlib
import json
import os
import re
import sqlite3
import subprocess
import tempfile

LOADER = "@glibc/lib/ld-linux-x86-64.so.2"
PRELUDE = [
    f"library {LOADER} soname=ld-linux-x86-64.so.2 string=glibc-ld.so.cache1.1 string=2.38"
    " string=@glibc/lib/ string=@glibc/etc/ld.so.cache string=/etc/ld-nix.so.preload",
    "library @glibc/lib/libc.so.6 soname=libc.so.6 needed=ld-linux-x86-64.so.2",
]


def store_path(name, salt=""):
    """Another salt, another build of everything: other hashes."""
    return f"/nix/store/{hashlib.md5((salt + name).encode()).hexdigest()}-{name}"


def expand(line, salt=""):
    """@name is a store path."""
    return re.sub(r"(?<![\w}])@([a-z][a-z0-9]*(?:-[0-9][0-9.]*)?)(?=[/\s:'\"|,]|$)(?!@)",
                  lambda match: store_path(match[1], salt), line)


def make_database(root, refs, salt=""):
    """What Nix would have registered."""
    os.makedirs(f"{root}/nix/var/nix/db")
    with sqlite3.connect(f"{root}/nix/var/nix/db/db.sqlite") as db:
        db.execute("CREATE TABLE ValidPaths (id INTEGER PRIMARY KEY, path TEXT, hash TEXT,"
                   " registrationTime INTEGER, deriver TEXT, narSize INTEGER)")
        db.execute("CREATE TABLE Refs (referrer INTEGER, reference INTEGER)")
        ids = {}
        for name in refs:
            ids[name] = db.execute("INSERT INTO ValidPaths (path, hash, narSize) VALUES (?, ?, 1)",
                                   (store_path(name, salt), f"sha256:{salt}{name}")).lastrowid
        for name, others in refs.items():
            for other in others:
                db.execute("INSERT INTO Refs VALUES (?, ?)", (ids[name], ids[other]))


SARIF = "build/npm/node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"
VALIDATE = """
import json, sys, jsonschema
schema, sarif = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])
errors = jsonschema.validators.validator_for(schema)(schema).iter_errors(sarif)
print(*[error.message for error in errors], sep="\\n", end="")
"""


class Suite:
    """Runs the program, counts checks."""

    def __init__(self, build):
        self.build, self.passed, self.failed, self.skipped = build, 0, 0, 0
        self.stormlint = os.path.abspath(f"{build}/stormlint")

    def check(self, ok, text):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {text}")
        return ok

    def skip(self, text):
        self.skipped += 1
        print(f"skipped: {text}")

    def check_sarif(self, sarif):
        """Against the schema of OASIS, which tests/npm brings; Debian's Python has the validator."""
        if not os.path.exists(SARIF):
            self.skip("sarif: no schema; 'make npm' brings it")
            return
        with tempfile.NamedTemporaryFile("w", suffix=".sarif", encoding="utf-8") as file:
            json.dump(sarif, file)
            file.flush()
            done = subprocess.run(["/usr/bin/python3", "-c", VALIDATE, SARIF, file.name],
                                  capture_output=True, text=True, check=False)
        self.check(done.returncode == 0 and not done.stdout, f"sarif: {done.stdout}{done.stderr}")

    def call(self, *argv, cwd=None):
        """Exit code, output, errors; nothing of the caller's settings."""
        keep = {name: value for name, value in os.environ.items()
                if name not in ("STORMLINT_DB", "LD_LIBRARY_PATH", "LD_PRELOAD")}
        keep.update(NO_COLOR="1", SOURCE_DATE_EPOCH="1800000000")
        done = subprocess.run([self.stormlint, *argv], capture_output=True, text=True, cwd=cwd,
                              env=keep, check=False)
        return done.returncode, done.stdout, done.stderr

    def tree(self, root, lines, refs, salt=""):
        """Make a tree below root; programs have the usual loader unless they name another."""
        lines = [line + f" interp={LOADER}" if line.startswith("program ") and
                 " interp=" not in line else line for line in lines]
        with open(f"{root}.tree", "w", encoding="utf-8") as file:
            file.write("\n".join(expand(line, salt) for line in PRELUDE + lines) + "\n")
        subprocess.run([f"{self.build}/tests/mktree", f"{root}.tree", root], check=True)
        if refs:
            make_database(root, refs, salt)

    def close(self):
        """Tell the sum; the exit code."""
        if self.skipped:
            print(f"{self.skipped} skipped")
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0
