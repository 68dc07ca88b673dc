"""A start with the closure note that the planner makes: no failed call, the same objects in the
same order; and what a program may do afterwards."""

import json
import os
import re
import shutil
import tempfile

from report import Failed, must, run, same
from store import Store, calls, check, environment, start


def listed(program, **env):
    """What LD_TRACE_LOADED_OBJECTS lists, as real paths in order."""
    code, out, err = start(program, env={"LD_TRACE_LOADED_OBJECTS": "1", **env})
    same("status", (code, err), (0, ""))
    paths = re.findall(r"(/\S+) \(0x", out)
    return [os.path.realpath(path) for path in paths]


class Noted:
    def __init__(self, store):
        self.store = store
        self.old = store.app
        self.new = os.path.join(store.place("noted", "bin"), "app")
        self.report = store.closure(self.old, self.new)

    def alike(self, *args, cwd="/", env=None):
        old = start(self.old, *args, cwd=cwd, env=env)
        new = start(self.new, *args, cwd=cwd, env=env)
        same(" ".join(args) or "start", new, old)
        return new


def no_failed_call(n):
    same("rows", n.report.splitlines()[0].split(",")[0], "7 rows")
    if len(calls(n.old)) < 30:
        raise Failed("the program as built makes too few failed calls to tell anything")
    same("failed calls", calls(n.new), [])
    n.alike()


def same_list(n):
    same("LD_TRACE_LOADED_OBJECTS", listed(n.new), listed(n.old))


def predicted(n):
    check(n.store, n.new)
    check(n.store, n.old)


def switched_off(n):
    env = {"STORMLINT_RESOLVE": "off"}
    same("failed calls", len(calls(n.new, env=env)), len(calls(n.old)))
    n.alike(env=env)
    check(n.store, n.new, "--env", "STORMLINT_RESOLVE=off")
    same("another value", calls(n.new, env={"STORMLINT_RESOLVE": "on"}), [])


def by_hand(n):
    same("failed calls", len(calls(n.store.interp, n.new)), len(calls(n.store.interp, n.old)))
    same("output", start(n.store.interp, n.new), start(n.store.interp, n.old))
    override = ["--library-path", n.store.d2]
    same("--library-path", start(n.store.interp, *override, n.new),
         start(n.store.interp, *override, n.old))
    if "libx 2" not in start(n.store.interp, *override, n.new)[1]:
        raise Failed("--library-path did not win")


def dlopens(n):
    for args in (["libp.so"], ["libp.so", "libq.so"], ["fork"], ["exec"], ["threads"],
                 ["libnowhere.so"], [os.path.join(n.store.p, "libp.so")]):
        n.alike(*args)


def reader_gone(n):
    path = os.path.join(n.store.place("gone", "bin"), "app")
    n.store.closure(n.old, path, reader="/nix/store/none/libstormlint-resolve.so")
    code, out, err = start(path)
    same("start", (code, out), start(n.old)[:2])
    if "cannot be loaded as audit interface" not in err:
        raise Failed(f"the loader did not report it: {err}")
    check(n.store, path)


def other_run_path(n):
    """A note for another run path is ignored."""
    path = os.path.join(n.store.place("rerouted", "bin"), "app")
    shutil.copy(n.new, path)
    must("patchelf", "--set-rpath",
         ":".join([n.store.d2, n.store.a, n.store.libc]), path)
    code, out, _ = start(path)
    same("start", (code, out.splitlines()[0]), (0, "liba 119 libx 2"))
    check(n.store, path)


def other_needed(n):
    path = os.path.join(n.store.place("needy", "bin"), "app")
    shutil.copy(n.new, path)
    must("patchelf", "--add-needed", "libp.so", path)
    if not calls(path):
        raise Failed("the note was read, though the needed names are others")
    check(n.store, path)


def rehashed(n):
    """Store paths rewritten to others of the same length, in all files: the note lives on."""
    moved = n.store.dir[:-5] + "stor2"
    shutil.copytree(n.store.dir, moved, symlinks=True)
    for at, _, names in os.walk(moved):
        for name in names:
            path = os.path.join(at, name)
            with open(path, "rb+") as file:
                data = file.read()
                file.seek(0)
                file.write(data.replace(n.store.dir.encode(), moved.encode()))
    os.rename(n.store.dir, n.store.dir + ".away")
    try:
        same("failed calls", calls(n.new.replace(n.store.dir, moved)), [])
    finally:
        os.rename(n.store.dir + ".away", n.store.dir)
        shutil.rmtree(moved)


def library_gone(n):
    """What the note names is not there any more: the loader searches, and finds or reports."""
    away = os.path.join(n.store.d1, "away.so")
    os.rename(os.path.join(n.store.d1, "libx.so"), away)
    try:
        same("the other build", start(n.new)[1].splitlines()[0], "liba 119 libx 2")
        same("as built", start(n.new)[1].splitlines()[0], start(n.old)[1].splitlines()[0])
    finally:
        os.rename(away, os.path.join(n.store.d1, "libx.so"))


def set_id(n):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Failed("needs root")
    path = os.path.join(n.store.place("setuid", "bin"), "app")
    shutil.copy(n.new, path)
    os.chmod(path, 0o4755)
    for at, _, _ in os.walk(os.path.dirname(n.store.dir)):
        os.chmod(at, 0o755)
    code, out, err = run_as_nobody(path)
    same("start", (code, out, err), (0, start(n.old)[1], ""))


def run_as_nobody(path):
    done = run("setpriv", "--reuid", "65534", "--clear-groups", path, env=environment())
    return done.returncode, done.stdout, done.stderr


def debugger(n):
    done = run("gdb", "-batch", "-ex", "break libx", "-ex", "run", "-ex", "bt 1", "-ex", "kill",
               n.new, env=environment(HOME="/"))
    if "libx" not in done.stdout or "Breakpoint 1," not in done.stdout:
        raise Failed(done.stdout[-500:] + done.stderr[-300:])


def memcheck(n):
    done = run("valgrind", "-q", "--run-libc-freeres=no", "--error-exitcode=9", n.new,
               env=environment())
    same("status", done.returncode, 0)


def memcheck_caveat(n):
    """Without the option: what valgrind reports are glibc's own frees at exit, nothing else."""
    done = run("valgrind", n.new, env=environment())
    same("status", done.returncode, 0)
    wrong = [x for x in re.findall(r"== (Invalid .*|.*uninitialised.*)", done.stderr)
             if not x.startswith("Invalid free()")]
    same("other errors", wrong, [])
    if done.stderr.count("Invalid free()") > 2 or ("Invalid free()" in done.stderr
                                                   and "__libc_freeres" not in done.stderr):
        raise Failed(done.stderr[-700:])


def stripped(n):
    """strip and objcopy keep the note, the module, and what they bring."""
    path = os.path.join(n.store.place("stripped", "bin"), "app")
    for argv in (["strip"], ["strip", "-g"], ["objcopy"], ["objcopy", "--strip-unneeded"]):
        shutil.copy(n.new, path)
        must(*argv, path)
        same(f"{' '.join(argv)}: failed calls", calls(path), [])
        same(f"{' '.join(argv)}: start", start(path), start(n.old))


def lint(n, program):
    done = run(os.path.join(n.store.build, "stormlint"), "lint", "--rule", "all", "--format",
               "json", program)
    return [f["rule"] for f in json.loads(done.stdout)["findings"] if "note" in f["rule"]]


def linted(n):
    same("as planned", lint(n, n.new), [])
    path = os.path.join(n.store.place("linted", "bin"), "app")
    shutil.copy(n.new, path)
    must("patchelf", "--set-rpath", ":".join([n.store.d1, n.store.a, n.store.libc]), path)
    same("another run path", lint(n, path), ["note-stale"])
    n.store.edit(n.new, path, "--audit", "/nowhere.so", "--renew")
    same("another module", lint(n, path), ["note-without-reader"])
    note = os.path.join(n.store.dir, "bad-note")
    with open(note, "wb") as file:
        file.write(b"7\0\0\0\0")
    n.store.edit(n.new, path, "--closure", note, "--renew")
    same("another version", lint(n, path), ["note-malformed"])


def planned_and_applied(n):
    stormlint = os.path.join(n.store.build, "stormlint")
    policy, plan, out = (os.path.join(n.store.dir, x) for x in ("policy.json", "plan.json", "out"))
    with open(policy, "w", encoding="utf-8") as file:
        json.dump({"schema": "stormlint-policy/1", "reader": "resolver", "stores": [n.store.dir],
                   "resolver": n.store.reader}, file)
    must(stormlint, "plan", "--policy", policy, "-o", plan, n.old)
    with open(plan, encoding="utf-8") as file:
        chosen = json.load(file)["objects"][0]
    same("choice", (chosen["strategy"], chosen["scope"], chosen["rule"]),
         ("note", "closure", "resolver-there"))
    must(stormlint, "apply", plan, "--out", out)
    same("failed calls", calls(os.path.join(out, "bin/app")), [])
    path = os.path.join(n.store.place("again", "bin"), "app")
    shutil.copy(os.path.join(out, "bin/app"), path)
    if "it has this very note already" not in must(stormlint, "plan", "--policy", policy, path):
        raise Failed("the same note is not recognised")
    os.rename(os.path.join(n.store.d1, "libx.so"), os.path.join(n.store.d1, "liby.so"))
    try:
        told = must(stormlint, "plan", "--policy", policy, path)
        if "says something else" not in told:
            raise Failed(f"a stale note is not recognised: {told}")
        if "> note closure" not in must(stormlint, "plan", "--renew", "--policy", policy, path):
            raise Failed("--renew does not renew")
    finally:
        os.rename(os.path.join(n.store.d1, "liby.so"), os.path.join(n.store.d1, "libx.so"))


def plugins_told(n):
    """A plugin that no file declares: told to the planner, it brings what it needs without a search."""
    stormlint = os.path.join(n.store.build, "stormlint")
    policy, plan, out = (os.path.join(n.store.dir, x) for x in ("p.json", "plan-p.json", "out-p"))
    at = n.store.library("undeclared", "undeclared", 8, ("q", n.store.q))
    plugin = os.path.join(at, "libundeclared.so")
    with open(policy, "w", encoding="utf-8") as file:
        json.dump({"schema": "stormlint-policy/1", "reader": "resolver", "stores": [n.store.dir],
                   "resolver": n.store.reader}, file)
    must(stormlint, "plan", "--policy", policy, "--dlopen", at + "/lib*.so", "-o", plan, n.old)
    must(stormlint, "apply", plan, "--out", out)
    program = os.path.join(out, "bin/app")
    same("start", start(program, plugin), start(n.old, plugin))
    same("failed calls", calls(program, plugin), [])
    if not calls(n.new, plugin):
        raise Failed("the plugin's names would be found without rows")


TESTS = {
    "0 failed calls": no_failed_call, "same list": same_list, "predicted": predicted,
    "switched off": switched_off, "ld.so by hand": by_hand, "dlopen, fork, exec, threads": dlopens,
    "reader gone": reader_gone, "other run path": other_run_path, "other needed": other_needed,
    "stripped": stripped, "rehashed": rehashed, "library gone": library_gone, "linted": linted,
    "planned and applied": planned_and_applied, "plugins told": plugins_told,
}


def test(report, build):
    with tempfile.TemporaryDirectory(prefix="stormlint-note-") as scratch:
        noted = Noted(Store(scratch, build))
        for name, function in TESTS.items():
            report.test(f"start: {name}", function, noted)
        for name, tool, function in (("gdb", "gdb", debugger), ("valgrind", "valgrind", memcheck),
                                     ("valgrind's caveat", "valgrind", memcheck_caveat)):
            if shutil.which(tool):
                report.test(f"start: {name}", function, noted)
            else:
                report.skip(name, f"no {tool} here")
        if os.geteuid() == 0 and shutil.which("setpriv"):
            report.test("start: set-id", set_id, noted)
        else:
            report.skip("set-id", "needs root")
