"""Loaders of other suites, as tests/loader/get-loaders fetches them: 2.35 and later read the note,
2.31 starts the program as ever."""

import os
import shutil
import tempfile

import test_names
import test_parity
import test_start
from report import Failed, must, same
from store import Store, calls, gcc, start

LOADERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/loaders")
READ = ("trixie", "sid")
OLD = "bullseye"
STARTS = ("0 failed calls", "same list", "predicted", "switched off", "ld.so by hand",
          "dlopen, fork, exec, threads", "reader gone", "library gone", "planned and applied",
          "plugins told")
# what starts under any loader: no C library
BARE = """
int liba(void);
int libx(void);
void _start(void)
{
    long status = liba() + libx(); /* as built: 119 + 2, and with the note's libx 118 + 1 */
    status = status == 121 ? 0 : status;
    __asm__ volatile("syscall" : : "a"(231L), "D"(status) : "rcx", "r11", "memory");
}
"""


def bare(store):
    path = os.path.join(store.place("bare", "bin"), "bare")
    run_path = ":".join([store.empty, store.p, store.d2, store.d1, store.a])
    gcc(path, BARE, "-nostdlib", "-O1", f"-Wl,--dynamic-linker,{store.interp}", f"-L{store.a}",
        f"-L{store.d2}", "-Wl,--no-as-needed", "-la", "-lx", "-Wl,--enable-new-dtags",
        f"-Wl,-rpath,{run_path}", f"-Wl,-rpath-link,{store.b}:{store.deep}")
    return path


def steps_aside(store):
    """DT_AUDIT means nothing to it: the very calls and the answer of the program as built."""
    old = bare(store)
    new = os.path.join(store.place("noted", "bin"), "bare")
    shutil.copy(old, new)
    note = os.path.join(store.dir, "old-note")
    with open(note, "wb") as file:
        file.write(b"1\0" + run_path_of(old) + b"\0liba.so\0libx.so\0\0.\0libx.so\0="
                   + os.path.join(store.d1, "libx.so").encode() + b"\0\0")
    store.edit(old, new, "--closure", note, "--audit", store.reader)
    same("as built", start(old)[0], 0)
    same("start", start(new), start(old))
    if not calls(old):
        raise Failed("the program as built makes no failed call: nothing is told")
    same("failed calls", len(calls(new)), len(calls(old)))
    told = must(os.path.join(store.build, "stormlint"), "check", new)
    if not told.startswith("ok"):
        raise Failed(told)


def refused(store):
    """The planner does not write a note for it."""
    stormlint = os.path.join(store.build, "stormlint")
    policy = os.path.join(store.dir, "old-policy.json")
    with open(policy, "w", encoding="utf-8") as file:
        file.write('{"schema": "stormlint-policy/1", "reader": "resolver", "reader_saving": 1, '
                   f'"stores": ["{store.dir}"], "resolver": "{store.reader}"}}')
    told = must(stormlint, "plan", "--policy", policy, bare(store))
    if "glibc-too-old" not in told:
        raise Failed(told)


def run_path_of(program):
    return must("patchelf", "--print-rpath", program).strip().encode()


def test(report, build):
    for suite in (*READ, OLD):
        folder = os.path.join(LOADERS, suite)
        if not os.path.exists(os.path.join(folder, "libc.so.6")):
            print(f"loader of {suite}: by hand, once tests/loader/get-loaders has fetched it")
            continue
        with tempfile.TemporaryDirectory(prefix="stormlint-note-") as scratch:
            store = Store(scratch, build, folder)
            if suite == OLD:
                report.test(f"{suite}: steps aside", steps_aside, store)
                report.test(f"{suite}: refused", refused, store)
                continue
            noted = test_start.Noted(store)
            for name in STARTS:
                report.test(f"{suite}: {name}", test_start.TESTS[name], noted)
            for name, function in test_names.TESTS.items():
                report.test(f"{suite}: {name}", function, store)
            test_parity.table(report, store, f"{suite}: ")
