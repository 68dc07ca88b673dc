"""The parity table: in each situation a program with a note loads what it loads without one, or
differs as the row says. The loader model predicts every start with a note, call by call."""

import os
import tempfile

from report import Failed, same
from store import Store, check, gcc, start, texts

SAME = object()


class Situation:
    def __init__(self, store, name):
        self.store = store
        self.dir = store.place("situation", name)

    def broken(self, kind):
        """A directory with a libx.so that no loader takes, or not without an error."""
        at = os.path.join(self.dir, kind)
        os.makedirs(at, exist_ok=True)
        path = os.path.join(at, "libx.so")
        with open(os.path.join(self.store.d2, "libx.so"), "rb") as file:
            data = bytearray(file.read())
        if kind == "machine":
            data[18:20] = b"\xb7\0" if data[18] != 0xb7 else b"\x3e\0"
        elif kind == "order": # ... and of another machine: Debian's loader passes over it
            data[5], data[18:20] = 2, b"\0\x16"
        elif kind == "executable":
            data[16] = 2
        elif kind == "truncated":
            data = data[:10]
        elif kind == "directory":
            os.makedirs(path, exist_ok=True)
            return at
        with open(path, "wb") as file:
            file.write(data)
        return at

    def pipe(self):
        """A directory in which a pipe stands where one for CPUs might."""
        at = os.path.join(self.dir, "pipe")
        os.makedirs(at, exist_ok=True)
        os.mkfifo(os.path.join(at, "tls"))
        return at

    def levels(self):
        """A directory that has libx.so for every CPU level only."""
        for level in ("x86-64-v2", "x86-64-v3", "x86-64-v4"):
            at = os.path.join(self.dir, "levels/glibc-hwcaps", level)
            os.makedirs(at, exist_ok=True)
            link = os.path.join(at, "libx.so")
            if not os.path.exists(link):
                os.symlink(os.path.join(self.store.d2, "libx.so"), link)
        return os.path.join(self.dir, "levels")


# name: what LD_LIBRARY_PATH is
LIBRARY_PATHS = {
    "empty": lambda s: "",
    "one directory": lambda s: s.store.d2,
    "one that is missing": lambda s: "/nowhere/at/all",
    "missing, then there": lambda s: f"/nowhere:{s.store.d2}",
    "one without it": lambda s: s.store.empty,
    "leading empty": lambda s: f":{s.store.d2}",
    "trailing empty": lambda s: f"{s.store.empty}:",
    "only a colon": lambda s: ":",
    "semicolons": lambda s: f"/nowhere;{s.store.d2}",
    "final slashes": lambda s: f"{s.store.d2}///",
    "relative": lambda s: "lib",
    "relative, missing": lambda s: "no/such",
    "hwcaps inside": lambda s: s.levels(),
    "$ORIGIN": lambda s: f"$ORIGIN/../lib:{s.store.d2}",
    "${ORIGIN}": lambda s: "${ORIGIN}/../lib",
    "$LIB": lambda s: "/nowhere/$LIB",
    "wrong machine": lambda s: s.broken("machine"),
    "truncated": lambda s: s.broken("truncated"),
    "a directory of that name": lambda s: s.broken("directory"),
    "a file, not a directory": lambda s: os.path.join(s.store.d2, "libx.so"),
    "5 kB": lambda s: ":".join(["/nowhere/" + "x" * 90] * 50 + [s.store.d2]),
    "a pipe inside": lambda s: s.pipe(),
    "4 kB and no directory": lambda s: "/" + "y" * 4200,
    "override of a deep one": lambda s: s.store.b2,
}

# name: environment, both programs alike
PRELOADS = {
    "by path": lambda s: {"LD_PRELOAD": os.path.join(s.store.d2, "libx.so")},
    "by name": lambda s: {"LD_PRELOAD": "libx.so"},
    "by name, with library path": lambda s: {"LD_PRELOAD": "libx.so",
                                             "LD_LIBRARY_PATH": s.store.d2},
    "with needs of its own": lambda s: {"LD_PRELOAD": os.path.join(s.store.p, "libp.so")},
    "missing": lambda s: {"LD_PRELOAD": "libnowhere.so"},
}

# name: list of libx.so in a hand-made note, and the libx that the noted program gets; SAME: as built
LISTS = {
    "exact": (lambda s: f"={s.store.d1}/libx.so", SAME),
    "exact, another build": (lambda s: f"={s.store.d2}/libx.so", 2),
    "gone, then another": (lambda s: f"=/nowhere/libx.so:={s.store.d2}/libx.so", 2),
    "gone": (lambda s: "=/nowhere/libx.so", SAME),
    "wrong machine, then another": (
        lambda s: f"={s.broken('machine')}/libx.so:={s.store.d2}/libx.so", 2),
    "wrong machine": (lambda s: f"={s.broken('machine')}/libx.so", SAME),
    # what may end the start, or not, is for ld.so to find by itself
    "other byte order": (lambda s: f"={s.broken('order')}/libx.so:={s.store.d2}/libx.so", SAME),
    "an executable": (lambda s: f"={s.broken('executable')}/libx.so", SAME),
    "truncated": (lambda s: f"={s.broken('truncated')}/libx.so:={s.store.d2}/libx.so", SAME),
    "a directory": (lambda s: f"={s.broken('directory')}/libx.so", SAME),
    "relative": (lambda s: "=libx.so", SAME),
    "token in an exact one": (lambda s: "=$ORIGIN/libx.so", SAME),
    "hint: miss": (lambda s: f"?{s.store.empty}:={s.store.d2}/libx.so", 2),
    "hint: missing directory": (lambda s: f"?/nowhere:={s.store.d2}/libx.so", 2),
    "hint: hit": (lambda s: f"?{s.store.d1}:={s.store.d2}/libx.so", SAME),
    "hint: hwcaps": (lambda s: f"?{s.levels()}:={s.store.d2}/libx.so", SAME),
    "hint: $ORIGIN": (lambda s: f"?$ORIGIN:={s.store.d2}/libx.so", SAME),
    "hint: relative": (lambda s: f"?lib:={s.store.d2}/libx.so", SAME),
    "hint: empty": (lambda s: f"?:={s.store.d2}/libx.so", SAME),
    "nothing known": (lambda s: f"!{s.store.d2}/libx.so", SAME),
}

# kinds of a libx.so that ends the start when it is the first in the run path
FATAL = ("truncated", "directory", "executable")


def usual_run_path(store):
    return ":".join([store.empty, store.p, store.d1, store.d2, store.a, store.libc])


def noted_by_hand(s, listed, kind, program=None, needed=None, run_path=None):
    """The program with a note that has just this list for libx.so."""
    store, program = s.store, program or s.store.app
    note = os.path.join(s.dir, "note")
    run_path = run_path or usual_run_path(store)
    needed = needed or ["liba.so", "libx.so", "libc.so.6"]
    with open(note, "wb") as file:
        if kind == "closure":
            file.write(texts("1", run_path, *needed, "", ".", "libx.so", listed))
        else:
            file.write(texts("libx.so", listed))
    option = "--closure" if kind == "closure" else "--note"
    return store.edit(program, os.path.join(s.dir, "program-" + kind), option, note, "--audit",
                      store.reader)


def library_path(s, new, value):
    os.makedirs(os.path.join(s.dir, "cwd/lib"), exist_ok=True)
    link = os.path.join(s.dir, "cwd/lib/libx.so")
    if not os.path.exists(link):
        os.symlink(os.path.join(s.store.d2, "libx.so"), link)
        os.symlink(os.path.join(s.store.d2, "libx.so"), os.path.join(s.dir, "cwd/libx.so"))
    cwd, env = os.path.join(s.dir, "cwd"), {"LD_LIBRARY_PATH": value}
    same("start", mask(start(new, cwd=cwd, env=env), new),
         mask(start(s.store.app, cwd=cwd, env=env), s.store.app))
    check(s.store, new, "--env", f"LD_LIBRARY_PATH={value}", "--cwd", cwd)


def mask(result, program):
    return tuple(x.replace(program, "PROGRAM") if isinstance(x, str) else x for x in result)


def preload(s, new, env):
    same("start", mask(start(new, env=env), new), mask(start(s.store.app, env=env), s.store.app))
    check(s.store, new, *[x for k, v in env.items() for x in ("--env", f"{k}={v}")])


def hand_made(s, listed, kind, expected):
    new = noted_by_hand(s, listed, kind)
    code, out, err = start(new, cwd=s.dir)
    same("status", (code, err), (0, ""))
    if expected is SAME:
        same("start", out, start(s.store.app, cwd=s.dir)[1])
    else:
        same("libx", out.splitlines()[0].split()[-1], str(expected))
    check(s.store, new, "--cwd", s.dir)


def fatal(s, kind, how):
    """What ends the start as built ends it with a note, and with the same words."""
    at = s.broken(how)
    run_path = f"{at}:{usual_run_path(s.store)}"
    old = s.store.program("fatal", run_path)
    new = noted_by_hand(s, f"={at}/libx.so", kind, old, run_path=run_path)
    same("start", mask(start(new), new), mask(start(old), old))
    same("status", start(new)[0], 127)


NOTES = """
__asm__(".pushsection .note.stormlint,\\"a\\",@note\\n .p2align 2\\n"
        ".long 10, 4, 0x53544f52\\n .asciz \\"stormlint\\"\\n .p2align 2\\n .asciz \\"9?!\\"\\n"
        ".long 10, 2f-1f, 0x53544f52\\n .asciz \\"stormlint\\"\\n .p2align 2\\n"
        "1: .asciz \\"1\\", \\"RUN_PATH\\", \\"libx.so\\", \\"libc.so.6\\", \\"\\"\\n"
        ".asciz \\".\\", \\"libx.so\\", \\"=D2/libx.so\\", \\"\\"\\n 2: .p2align 2\\n .popsection");
#include <stdio.h>
int libx(void);
int main(void) { printf("libx %d\\n", libx()); return 0; }
"""


def two_notes(s):
    """Of two notes the first counts, here a malformed one."""
    store, path = s.store, os.path.join(s.dir, "two")
    run_path = f"{store.d1}:{store.libc}"
    gcc(path, NOTES.replace("RUN_PATH", run_path).replace("D2", store.d2),
        f"-Wl,--dynamic-linker,{store.interp}", f"-L{store.d1}", "-Wl,--no-as-needed", "-lx",
        "-Wl,--enable-new-dtags", f"-Wl,-rpath,{run_path}", f"-Wl,--audit,{store.reader}")
    same("libx", start(path), (0, "libx 1\n", ""))
    check(store, path)


def rpath(s, env):
    """RPATH comes before LD_LIBRARY_PATH; a program with it keeps to its resolution note alone."""
    store = s.store
    old = store.program("rpath", None, "-Wl,--disable-new-dtags")
    new = noted_by_hand(s, f"={store.d1}/libx.so", "resolution", old)
    same("start", mask(start(new, env=env), new), mask(start(old, env=env), old))
    check(store, new, *[x for k, v in env.items() for x in ("--env", f"{k}={v}")])
    new = noted_by_hand(s, f"={store.d2}/libx.so", "closure", old)
    same("closure note ignored", mask(start(new, env=env), new), mask(start(old, env=env), old))


def planned(store):
    new = os.path.join(store.place("noted", "bin"), "app")
    store.closure(store.app, new)
    return new


def table(report, store, loader=""):
    """Every situation on a store; `loader` is put before the names of tests."""
    new = planned(store)
    for name, value in LIBRARY_PATHS.items():
        s = Situation(store, "lp")
        report.test(f"{loader}LD_LIBRARY_PATH, {name}", library_path, s, new, value(s))
    for name, env in PRELOADS.items():
        s = Situation(store, "pre")
        report.test(f"{loader}LD_PRELOAD, {name}", preload, s, new, env(s))
    for kind in ("closure", "resolution"):
        for name, (listed, expected) in LISTS.items():
            s = Situation(store, "list")
            report.test(f"{loader}{kind}, {name}", hand_made, s, listed(s), kind, expected)
        for how in FATAL:
            s = Situation(store, "fatal")
            report.test(f"{loader}{kind}, fatal: {how}", fatal, s, kind, how)
    report.test(f"{loader}two notes", two_notes, Situation(store, "two"))
    for env in ({}, {"LD_LIBRARY_PATH": store.d2}, {"LD_LIBRARY_PATH": store.b2}):
        report.test(f"{loader}DT_RPATH, {env}", rpath, Situation(store, "rpath"), env)


def test(report, build):
    with tempfile.TemporaryDirectory(prefix="stormlint-note-") as scratch:
        table(report, Store(scratch, build))
