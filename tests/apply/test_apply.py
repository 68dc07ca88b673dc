"""`stormlint apply`: what it leaves behind when all goes well, and when it does not."""

import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time

from elf import Elf
from listed import listed
from report import Failed, must, run, same
from store import MAIN, Store, snapshot

KILLS = int(os.environ.get("KILLS", "20"))
MANY = tuple(f"app{i}" for i in range(12))


class Bench:
    """A store and the commands that work on it."""

    def __init__(self, scratch, name, build, **kw):
        self.dir = os.path.join(scratch, name)
        self.build = build
        self.stormlint = os.path.join(build, "stormlint")
        self.store = Store(self.dir, **kw)
        self.plan_file = self.store.plan(self.stormlint, f"{self.dir}/plan.json")

    def plan(self):
        with open(self.plan_file, encoding="utf-8") as file:
            return json.load(file)

    def write_plan(self, plan):
        with open(self.plan_file, "w", encoding="utf-8") as file:
            json.dump(plan, file)

    def argv(self, *args):
        where = () if "--out" in args else ("--output", f"out={self.store.app}")
        return [self.stormlint, "apply", self.plan_file, *where, *args]

    def apply(self, *args, status=0):
        done = run(*self.argv(*args))
        if done.returncode != status:
            raise Failed(f"apply {' '.join(args)}: status {done.returncode}, expected {status}: "
                         f"{done.stdout[-300:]}{done.stderr[-500:]}")
        return done.stdout + done.stderr

    def refuses(self, *words, args=(), status=4):
        before = snapshot(self.store.app)
        said = self.apply(*args, status=status)
        for word in words:
            if word not in said:
                raise Failed(f"it does not say '{word}': {said}")
        if snapshot(self.store.app) != before:
            raise Failed(f"it failed, and left something else behind: {said}")

    def path(self, name="app"):
        return f"{self.store.app}/bin/{name}"

    def output(self, name="app"):
        done = run(self.path(name))
        return done.returncode, done.stdout, done.stderr

    def storm(self, name="app", cpu="x86-64-v3"):
        return json.loads(must(self.stormlint, "storm", "--json", "--cpu", cpu,
                               self.path(name)))["storm"]


def check_applied(b, names=("app",)):
    plan = b.plan()
    for obj in plan["objects"]:
        same("state", (obj["strategy"], obj["scope"]), ("farm", "lifted"))
        for level in next(o for o in obj["options"] if o["standing"] == "chosen")["storm"]:
            same(f"{obj['path']} on {level['cpu']}",
                 b.storm(os.path.basename(obj["path"]), level["cpu"]), level["after"])
    for name in names:
        elf = Elf(b.path(name))
        edit = next(e for e in plan["objects"][0]["edits"] if e["edit"] == "needed")
        same("needed", elf.needed(), edit["needed"])
        farm = f"{b.store.app}/nix-support/stormlint/farm"
        if not elf.run_path().startswith(farm + ":"):
            raise Failed(f"the run path is {elf.run_path()}")


def test_in_place(b):
    before = b.output()
    os.chmod(b.path(), 0o555)
    b.apply()
    check_applied(b)
    same("what it says", b.output(), before)
    same("mode", os.stat(b.path()).st_mode & 0o7777, 0o555)
    farm = f"{b.store.app}/nix-support/stormlint/farm"
    for link in os.listdir(farm):
        target = os.readlink(f"{farm}/{link}")
        if not target.startswith(b.store.top) or not os.path.isfile(f"{farm}/{link}"):
            raise Failed(f"{link} leads to {target}")
    same("left over", [n for n in os.listdir(f"{b.store.app}/bin") if "stormlint" in n], [])
    after = snapshot(b.store.app)
    if "done before" not in b.apply():
        raise Failed("the second call does not say that all is done")
    if snapshot(b.store.app) != after:
        raise Failed("the second call changed something")


def test_check(b):
    """The real loader does what was planned; a plan that was not applied is told apart."""
    old = f"{b.dir}/old"
    shutil.copy(b.path(), old)
    done = run(b.stormlint, "check", "--plan", b.plan_file)
    same("before", done.returncode, 1)
    if "not as planned" not in done.stdout:
        raise Failed(done.stdout)
    b.apply()
    same("another output", run(b.stormlint, "check", "--plan", b.plan_file, "--output",
                               f"o={b.store.app}").returncode, 4)
    if "as planned (farm lifted)" not in must(b.stormlint, "check", "--plan", b.plan_file,
                                              "--output", f"out={b.store.app}"):
        raise Failed("check does not say that it is as planned")
    told = json.loads(must(b.stormlint, "check", "--json", "--time", "5", "--before", old,
                           b.path()))["programs"][0]["time"]
    same("runs", told["runs"], 5)
    same("file", told["edited"]["file_bytes"], os.path.getsize(b.path()))
    same("old file", told["unedited"]["file_bytes"], os.path.getsize(old))
    if not 0 < told["edited"]["loader_us"] < 10 * told["edited"]["wall_us"]:  # runs of their own
        raise Failed(f"the loader took {told['edited']}")


def test_own_library(b):
    """A library of the package itself: its link is relative."""
    os.makedirs(f"{b.store.app}/lib")
    b.store.compile("int own(void) { return 1; }", f"{b.store.app}/lib/libown.so", "-shared",
                    "-fPIC", "-Wl,-soname,libown.so")
    b.store.program("app", f"-L{b.store.app}/lib", "-Wl,--no-as-needed", "-lown",
                    f"-Wl,-rpath,{b.store.app}/lib")
    levels = f"{b.store.app}/lib/glibc-hwcaps/x86-64-v2"
    os.makedirs(levels)
    shutil.copy(f"{b.store.app}/lib/libown.so", levels)
    b.store.plan(b.stormlint, b.plan_file)
    before = b.output()
    b.apply()
    farm = f"{b.store.app}/nix-support/stormlint/farm"
    same("link", os.readlink(f"{farm}/libown.so"), "../../../lib/libown.so")
    same("link", os.readlink(f"{farm}/glibc-hwcaps/x86-64-v2/libown.so"),
         "../../../../../lib/glibc-hwcaps/x86-64-v2/libown.so")
    same("what it says", b.output(), before)
    must(b.stormlint, "check", b.path())


def timed(b, *args, status=0):
    done = run(b.stormlint, "check", "--json", "--time", "2", *args)
    same(f"check --time {args}", done.returncode, status)
    return [p["time"] for p in json.loads(done.stdout)["programs"]]


def test_check_time(b):
    """The unedited program is found where the plan was made, or in the package as it was."""
    plan = ("--plan", b.plan_file)
    old = f"{b.dir}/old"
    shutil.copytree(b.store.app, old)
    new = b.store.package(81, "app-1.0")
    shutil.copytree(b.store.app, new)
    must(b.stormlint, "apply", b.plan_file, "--output", f"out={new}")
    told, = timed(b, *plan, "--output", f"out={new}")
    same("edited", told["edited"]["program"], f"{new}/bin/app")
    same("unedited", told["unedited"]["program"], b.path())
    same("sizes", (told["edited"]["file_bytes"], told["unedited"]["file_bytes"]),
         (os.path.getsize(f"{new}/bin/app"), os.path.getsize(b.path())))
    text = must(b.stormlint, "check", "--time", "2", *plan, "--output", f"out={new}")
    if f"in turns with the unedited '{b.path()}'" not in text or " change\n" not in text:
        raise Failed(f"it does not say what is compared: {text}")
    b.apply()
    told, = timed(b, *plan)
    same("in place", told["unedited"], None)
    if f"'{b.path()}' is the program that is checked" not in told["alone"]:
        raise Failed(f"it does not say why: {told}")
    told, = timed(b, *plan, "--before", old)
    same("unedited", told["unedited"]["program"], f"{old}/bin/app")
    told, = timed(b, *plan, "--output", f"out={new}")
    if "not what the plan was made for" not in told["alone"]:
        raise Failed(f"an edited program passes for the unedited one: {told}")
    told, = timed(b, *plan, "--before", f"{b.dir}/nowhere")
    if "No such file" not in told["alone"]:
        raise Failed(f"it does not say why: {told}")
    same("measured all the same", told["edited"]["file_bytes"], os.path.getsize(b.path()))
    told, = timed(b, b.path())
    if "--before FILE" not in told["alone"]:
        raise Failed(f"it does not say how: {told}")
    done = subprocess.run([b.stormlint, "check", "--json", "--time", "2", "--before", "bin/app",
                           b.path()], cwd=old, stdout=subprocess.PIPE, check=True)
    same("a relative path", json.loads(done.stdout)["programs"][0]["time"]["unedited"]["program"],
         f"{old}/bin/app")


def test_check_time_nothing_planned(b):
    with open(b.store.policy, encoding="utf-8") as file:
        policy = json.load(file)
    policy.update(min_saving=100000, lift_saving=100000)
    with open(b.store.policy, "w", encoding="utf-8") as file:
        json.dump(policy, file)
    b.store.plan(b.stormlint, b.plan_file)
    told, = timed(b, "--plan", b.plan_file)
    same("why", told["alone"], "the plan leaves it as it is")


def test_check_time_limit(b):
    """Who does not end is told, and the others are timed."""
    b.store.program("slow", text="#include <unistd.h>\nint main(void) { return pause(); }")
    slow, other = timed(b, "--limit", "1", b.path("slow"), b.path(), status=3)
    same("slow", (slow["edited"], "longer than 1000 ms" in slow["failed"]), (None, True))
    same("other", other["edited"]["program"], b.path())


def with_libraries(b):
    """Two libraries of the package, both worth an edit; libtop's start includes libbase's."""
    os.makedirs(f"{b.store.app}/lib")
    paths = [f"-Wl,-rpath,{b.store.lib(i)}" for i in reversed(range(8))]
    for name, needs in (("base", (2, 3)), ("top", (0, 1))):
        links = [x for i in needs for x in (f"-L{b.store.lib(i)}", f"-l{i}")]
        if name == "top":
            links += [f"-L{b.store.app}/lib", "-lbase"]
        b.store.compile(f"int {name}(void) {{ return 1; }}", f"{b.store.app}/lib/lib{name}.so",
                        "-shared", "-fPIC", f"-Wl,-soname,lib{name}.so", "-Wl,--no-as-needed",
                        *links, *paths, f"-Wl,-rpath,{b.store.app}/lib")
    b.store.plan(b.stormlint, b.plan_file)
    libraries = [o for o in b.plan()["objects"] if o["kind"] == "library"]
    same("planned", [(o["path"], o["strategy"], o["scope"]) for o in libraries],
         [(f"lib/lib{name}.so", "farm", "own") for name in ("base", "top")])


def states(told):
    return {os.path.basename(o["path"]): o["state"] for o in json.loads(told)["objects"]}


def test_libraries(b):
    """A library's promise is that of it edited alone; beside other edits it may only cost less."""
    with_libraries(b)
    names = ("app", "libbase.so", "libtop.so")
    paths = [f"{b.store.app}/lib/{name}" for name in names[1:]]
    before = [listed(path) for path in paths]
    same("files", len(before[1][2]), 11)  # 8 libraries, libbase, libc, the loader
    told = b.apply("--json")
    same("first", states(told), dict.fromkeys(names, "edited"))
    for path in paths:
        if not Elf(path).run_path().startswith(f"{b.store.app}/nix-support/stormlint/farm:"):
            raise Failed(f"{path} was not edited")
    same("files", [listed(path) for path in paths], before)
    same("again", states(b.apply("--json")), dict.fromkeys(names, "done"))


def test_library_breaks_promise(b):
    """... but not more."""
    with_libraries(b)
    plan = b.plan()
    top = next(o for o in plan["objects"] if o["path"] == "lib/libtop.so")
    top["storm"]["after"]["failed_opens"] = 0
    for level in next(o for o in top["options"] if o["standing"] == "chosen")["storm"]:
        level["after"]["failed_opens"] = 0
    b.write_plan(plan)
    b.refuses("libtop.so", "the plan promises 0")


def test_log(b):
    """A build's log has programs in full, and a few lines for each plugin and library."""
    with_libraries(b)
    said = must(b.stormlint, "apply", "--output", f"out={b.store.app}", "--policy", b.store.policy)
    same("tables", said.count("One start on"), 1)
    for name in ("base", "top"):
        if f"lib/lib{name}.so: farm own\n  because: " not in said:
            raise Failed(f"lib{name}.so is not told of: {said}")


def test_library_gone(b):
    with_libraries(b)
    os.unlink(f"{b.store.app}/lib/libtop.so")
    b.refuses("libtop.so", "no library or plugin any more")


def test_program_over_libraries(b):
    """So may a program that leaves its libraries to search for theirs."""
    with open(b.store.policy, encoding="utf-8") as file:
        policy = json.load(file)
    policy["packages"] = [
        {"pname": "app", "strategy": "farm", "scope": "own", "reason": "for this test"}]
    with open(b.store.policy, "w", encoding="utf-8") as file:
        json.dump(policy, file)
    with_libraries(b)
    b.store.program("app", f"-L{b.store.app}/lib", "-Wl,--no-as-needed", "-ltop",
                    f"-Wl,-rpath,{b.store.app}/lib")
    b.store.plan(b.stormlint, b.plan_file)
    obj = b.plan()["objects"][0]
    same("planned", (obj["path"], obj["strategy"], obj["scope"]), ("bin/app", "farm", "own"))
    b.apply()
    if not b.storm()["failed_opens"] < obj["storm"]["after"]["failed_opens"]:
        raise Failed("its libraries' edits save it nothing: this tests nothing")
    if "done before" not in b.apply():
        raise Failed("it is edited twice")
    must(b.stormlint, "check", "--plan", b.plan_file)


def test_check_libraries(b):
    """No loader starts a library: a plan's are not run."""
    with_libraries(b)
    b.apply()
    told = json.loads(must(b.stormlint, "check", "--json", "--plan", b.plan_file))
    same("checked", [os.path.basename(p["program"]) for p in told["programs"]], ["app"])
    same("summary", told["summary"],
         {"ok": 1, "differs": 0, "not_comparable": 0, "not_run": 2})
    if "2 libraries and plugins of the plan were not run" not in must(
            b.stormlint, "check", "--plan", b.plan_file):
        raise Failed("check does not say what it leaves out")


def test_copies(b):
    before = snapshot(b.store.app)
    out = f"{b.dir}/copies"
    b.apply("--out", out)
    if snapshot(b.store.app) != before:
        raise Failed("the package was changed")
    elf = Elf(f"{out}/bin/app")
    if not elf.run_path().startswith(f"{b.store.app}/nix-support/stormlint/farm:"):
        raise Failed(f"the copy's run path is {elf.run_path()}")
    if not os.path.lexists(f"{out}/nix-support/stormlint/farm/lib0.so"):
        raise Failed("there is no farm beside the copy")
    first = snapshot(out)
    b.apply("--out", out)
    if snapshot(out) != first:
        raise Failed("a second call makes something else")


def test_lone_program(b):
    """In no package: copies lie as beside the program, and are found there."""
    lone, out, old = f"{b.dir}/lone", f"{b.dir}/copies", f"{b.dir}/old"
    os.makedirs(lone)
    shutil.copy(b.path(), lone)
    shutil.copytree(lone, old)
    b.store.plan(b.stormlint, b.plan_file, f"{lone}/app")
    b.apply("--out", out)
    if not Elf(f"{out}/app").run_path().startswith(f"{lone}/.stormlint/farm:"):
        raise Failed(f"the copy's run path is {Elf(f'{out}/app').run_path()}")
    if not os.path.lexists(f"{out}/.stormlint/farm/lib0.so"):
        raise Failed(f"there is no farm beside the copy: {os.listdir(out)}")
    same("copies", sorted(os.listdir(out)), [".stormlint", "app"])
    shutil.rmtree(lone)
    shutil.copytree(out, lone, symlinks=True)
    told, = timed(b, "--plan", b.plan_file, "--before", old)
    same("unedited", told["unedited"]["program"], f"{old}/app")
    must(b.stormlint, "check", "--plan", b.plan_file, "--output", f"out={lone}")


def test_other_hashes(b):
    """The plan was made for other store paths: it holds for these all the same."""
    other = Store(os.path.join(b.dir, "other"), salt=3)
    done = run(b.stormlint, "apply", b.plan_file, "--policy", other.policy, "--output",
               f"out={other.app}")
    if done.returncode != 4 or "stale" not in done.stderr:
        raise Failed("another store is not noticed: " + done.stdout + done.stderr)
    text = open(b.plan_file, encoding="utf-8").read().replace(b.store.top, other.top)
    with open(f"{b.dir}/other.json", "w", encoding="utf-8") as file:
        file.write(text)
    must(b.stormlint, "apply", f"{b.dir}/other.json", "--output", f"out={other.app}")
    same("runs", run(f"{other.app}/bin/app").returncode, 3)


def test_stale(b):
    b.store.program("app", "-Wl,--no-as-needed", "-lm")
    b.refuses("stale", "it needs")
    before = snapshot(b.store.app)
    if "left alone" not in b.apply("--stale", "skip"):
        raise Failed("skip does not say so")
    same("skip", snapshot(b.store.app) == before, True)
    if "planned anew" not in b.apply("--stale", "replan"):
        raise Failed("replan does not say so")
    same("runs", b.output()[0], 3)
    if "nothing to do" not in b.apply("--stale", "replan"):
        raise Failed("edited twice")


def test_stale_library(b):
    """The program is the same, but a library needs one more."""
    b.store.compile("int more(void) { return 0; }", f"{b.store.lib(7)}/libmore.so", "-shared",
                    "-fPIC", "-Wl,-soname,libmore.so")
    b.store.compile("int more(void); int f7(void) { return 7 + more(); }",
                    f"{b.store.lib(7)}/lib7.so", "-shared", "-fPIC", "-Wl,-soname,lib7.so",
                    f"-L{b.store.lib(7)}", "-lmore", f"-Wl,-rpath,{b.store.lib(7)}")
    b.refuses("stale", "found otherwise")
    b.apply("--stale", "replan")
    same("runs", b.output()[0], 3)
    if "libmore.so" not in Elf(b.path()).needed():
        raise Failed("the new library is not lifted")


def test_clash(b):
    """Two programs, planned anew, that need different files of one name: a farm each."""
    other = f"{b.store.app}/other"
    os.makedirs(other)
    b.store.compile("int f7(void) { return 70; }", f"{other}/lib7.so", "-shared", "-fPIC",
                    "-Wl,-soname,lib7.so")
    for name in ("app", "second"):
        first = [f"-L{other}", "-l7", f"-Wl,-rpath,{other}"] if name == "second" else []
        flags = [f"-L{b.store.lib(0)}", "-l0", f"-Wl,-rpath-link,{b.store.lib(0)}",
                 *[f"-Wl,-rpath,{b.store.lib(i)}" for i in reversed(range(8))]]
        b.store.compile(MAIN, b.path(name), "-Wl,--no-as-needed", *first, *flags)
    b.store.plan(b.stormlint, b.plan_file)
    before = b.output("app"), b.output("second")
    plan = b.plan()
    for obj in plan["objects"]:
        obj["expect"]["needed"].append("libstale.so")  # as if made for an older build
    b.write_plan(plan)
    b.apply("--stale", "replan")
    same("what they say", (b.output("app"), b.output("second")), before)
    farms = sorted(os.listdir(f"{b.store.app}/nix-support/stormlint"))
    same("farms", farms, ["farm", "farm-second"])


def test_gone(b):
    os.unlink(b.path())
    b.refuses("no program any more")
    if "left alone" not in b.apply("--stale", "replan"):
        raise Failed("a program that is gone cannot be planned anew")


def test_broken_promise(b):
    """A plan that promises what does not come true: put back."""
    plan = b.plan()
    for obj in plan["objects"]:
        obj["storm"]["after"]["failed_opens"] = 1
        for option in obj["options"]:
            if option["standing"] == "chosen":
                for level in option["storm"]:
                    if level["cpu"] == obj["storm"]["cpu"]:
                        level["after"]["failed_opens"] = 1
    b.write_plan(plan)
    b.refuses("the plan promises 1")


def test_payload(b):
    with open(b.path(), "ab") as file:
        file.write(b"PK payload")
    b.refuses("payload")


def test_wrong_output(b):
    done = run(b.stormlint, "apply", b.plan_file, "--output", f"lib={b.store.app}")
    same("status", done.returncode, 4)
    if "output 'out'" not in done.stderr:
        raise Failed(done.stderr)
    same("usage", run(b.stormlint, "apply", b.plan_file).returncode, 2)
    same("usage", run(b.stormlint, "apply", b.plan_file, "--output", "x").returncode, 2)
    same("unreadable", run(b.stormlint, "apply", "/nowhere", "--out", "/x").returncode, 3)


def test_hard_links(b):
    os.link(b.path(), f"{b.dir}/elsewhere")
    b.refuses("2 names")
    os.unlink(f"{b.dir}/elsewhere")
    os.link(b.path(), b.path("other"))
    b.refuses("2 names")  # the second name is in the package, but in no plan
    b.store.plan(b.stormlint, b.plan_file)
    b.apply()
    same("one file", os.stat(b.path()).st_ino, os.stat(b.path("other")).st_ino)
    same("runs", (b.output()[0], b.output("other")[0]), (3, 3))


def test_lock(b):
    fd = os.open(b.store.app, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    b.refuses("another apply")
    os.close(fd)
    b.apply()


def as_root(command):
    """A shell command in a mount namespace of our own; None: that is not allowed here."""
    for argv in (["unshare", "-m"], ["unshare", "-rm"]):
        if run(*argv, "true").returncode == 0:
            return run(*argv, "sh", "-ec", command)
    return None


# Apply on a small file system with more room each time, from none: wherever it fails, nothing changes
FULLER = """
    umask 022
    failures=0 more=-1 status=4
    while [ $status -ne 0 ]; do
        more=$((more + 1))
        mount -t tmpfs -o {options} none {app}
        cp -a {copy}/. {app}/
        {fill}
        status=0
        {apply} || status=$?
        case $status in
        0) ;;
        4) failures=$((failures + 1))
           rm -f {app}/fill
           diff -r --no-dereference {copy} {app} ;;
        *) exit 98 ;;
        esac
        umount {app}
    done
    echo $failures
    """


def fills_up(b, options, fill, at_least):
    copy = f"{b.dir}/copy"
    shutil.copytree(b.store.app, copy, symlinks=True)
    before = snapshot(b.store.app)
    done = as_root(FULLER.format(options=options.format(n=len(before)), app=b.store.app, copy=copy,
                                 fill=fill.format(app=b.store.app), apply=" ".join(b.argv())))
    check_hostile(b, done, before, "No space left")
    failures = int(done.stdout.split()[-1])
    if failures < at_least:
        raise Failed(f"it failed {failures} times only: not every step was met")


def test_disk_full(b):
    """Pages for one more each time: copies."""
    fills_up(b, "size=1m", "cat /dev/zero > {app}/fill 2>/dev/null || true; "
             "truncate -s -$((more * 4096)) {app}/fill", 3)


def test_inodes_full(b):
    """One more file, directory or link each time: the copy, the farm's directories, its links."""
    fills_up(b, "nr_inodes=$(({n} + 1 + more))", ":", 8)


def test_read_only(b):
    before = snapshot(b.store.app)
    done = as_root(f"""
        mount --bind {b.store.app} {b.store.app}
        mount -o remount,bind,ro {b.store.app}
        {' '.join(b.argv())} && exit 99
        [ $? -eq 4 ] || exit 98
        """)
    check_hostile(b, done, before, "Read-only")


def check_hostile(b, done, before, words):
    if done is None:
        raise Failed("no mount namespace can be made here")
    if done.returncode:
        raise Failed(f"status {done.returncode}: {done.stdout}{done.stderr}")
    if words not in done.stderr:
        raise Failed(f"it does not say '{words}': {done.stderr}")
    same("untouched", snapshot(b.store.app) == before, True)


def test_owner(b):
    if os.getuid() != 0:
        return
    os.chown(b.path(), 1234, 1235)
    b.apply()
    st = os.stat(b.path())
    same("owner", (st.st_uid, st.st_gid), (1234, 1235))


def test_foreign_owner(b):
    """Somebody else's file in a directory that we may write."""
    if os.getuid() != 0:
        return
    for base, _, _ in os.walk(b.store.app):
        os.chown(base, 1000, 1000)
    before = snapshot(b.store.app)
    done = run("setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", *b.argv())
    same("status", done.returncode, 4)
    if "belongs to user 0" not in done.stderr:
        raise Failed(done.stderr)
    same("untouched", snapshot(b.store.app) == before, True)


def test_killed(b):
    """Killed at any moment: each file is the old or the new one, and the next call completes."""
    pristine = f"{b.dir}/pristine"
    shutil.copytree(b.store.app, pristine, symlinks=True)
    start = time.monotonic()
    b.apply()
    takes = time.monotonic() - start
    done = snapshot(b.store.app)
    old = snapshot(pristine)
    dice = random.Random(os.environ.get("SEED", "1"))
    states = set()
    for i in range(KILLS):
        shutil.rmtree(b.store.app)
        shutil.copytree(pristine, b.store.app, symlinks=True)
        child = subprocess.Popen(b.argv(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(dice.uniform(0, takes))
        child.send_signal(signal.SIGKILL)
        child.wait()
        found = snapshot(b.store.app)
        new = 0
        for name in MANY:
            key = f"bin/{name}"
            if found.get(key) not in (old[key], done[key]):
                raise Failed(f"kill {i}: {key} is neither the old nor the new file")
            new += found[key] == done[key]
        if new:
            for key, value in done.items():
                if key.startswith("nix-support") and found.get(key) != value:
                    raise Failed(f"kill {i}: a file names the farm, which lacks {key}")
        states.add("old" if new == 0 else "new" if new == len(MANY) else "mixed")
        for name in (MANY[0], MANY[-1]):
            same(f"kill {i}: {name} runs", b.output(name)[0], 3)
        b.apply()
        if snapshot(b.store.app) != done:
            raise Failed(f"kill {i}: the next call did not complete it")
    if KILLS >= 100:
        print(f"killed {KILLS} times within {takes * 1000:.0f} ms; states seen: {sorted(states)}")


def test_json(b):
    told = json.loads(b.apply("--json"))
    same("keys", sorted(told), ["links", "objects"])
    same("state", told["objects"][0]["state"], "edited")
    same("again", json.loads(b.apply("--json"))["objects"][0]["state"], "done")


def test_small(b):
    """The executable for builds brings no database, and no index."""
    small = b.stormlint + "-apply"
    libraries = set(name.split(".")[0] for name in Elf(small).needed())
    if not libraries <= {"libelf", "libjansson", "libc", "ld-linux-x86-64"}:
        raise Failed(f"it needs {libraries}")
    done = run(small, "trace", "--db", "/nowhere", "app")
    if done.returncode == 0 or "reads no index" not in done.stderr:
        raise Failed(f"asked for an index: {done.stderr}")
    must(small, "apply", b.plan_file, "--output", f"out={b.store.app}")
    check_applied(b)


def test_budget(b):
    before = snapshot(b.store.app)
    where = ["--output", f"out={b.store.app}", "--policy", b.store.policy]
    done = run(b.stormlint, "apply", *where, "--budget", "3")
    same("status", done.returncode, 1)
    same("status", run(b.stormlint, "apply", *where, "--budget", "100000").returncode, 0)
    same("untouched", snapshot(b.store.app) == before, True)


def test_on_the_spot(b):
    said = must(b.stormlint, "apply", "--output", f"out={b.store.app}", "--policy",
                b.store.policy, "--keep-plan")
    check_applied(b)
    if " ms" in said:
        raise Failed(f"it tells time without being told what a call costs: {said}")
    kept = f"{b.store.app}/nix-support/stormlint/plan.json"
    with open(kept, encoding="utf-8") as file:
        same("kept", json.load(file)["objects"][0]["strategy"], "farm")
    before = snapshot(b.store.app)
    must(b.stormlint, "apply", "--output", f"out={b.store.app}", "--policy", b.store.policy,
         "--keep-plan")
    if snapshot(b.store.app) != before:
        raise Failed("a second call loses the plan, for one of what is edited already")


def test_references(b):
    """A plan that would refer to what the derivation does not allow is stale."""
    lib = os.path.dirname(b.store.lib(5))
    b.refuses("stale", "disallowedReferences", args=("--disallowed-references", lib))
    b.refuses("stale", "allowedReferences", args=("--allowed-references", "out"))
    b.apply("--allowed-references", " ".join(
        [os.path.dirname(b.store.lib(i)) for i in range(8)] + [b.store.glibc, "out"]))


def test_note(b):
    """For loaders that read resolution notes: the note is written, read back, and known again."""
    with open(b.store.policy, encoding="utf-8") as file:
        policy = json.load(file)
    policy.update(reader="glibc-b", lift_saving=100000)
    with open(b.store.policy, "w", encoding="utf-8") as file:
        json.dump(policy, file)
    b.store.plan(b.stormlint, b.plan_file)
    same("strategy", b.plan()["objects"][0]["strategy"], "note")
    before = b.output()
    b.apply()
    section = Elf(b.path()).section(".note.nixos.ldcache")
    if not section or f"={b.store.lib(0)}/lib0.so".encode() not in Elf(b.path()).content(section):
        raise Failed("the note is not there")
    same("what it says", b.output(), before)
    if "done before" not in b.apply():
        raise Failed("the note is not known again")
    if "reads notes" not in must(b.stormlint, "check", "--plan", b.plan_file):
        raise Failed("check does not say what the plan is for")
    plan = b.plan()
    for obj in plan["objects"]:
        obj["storm"] = None
        for option in obj["options"]:
            option["storm"] = []
    with open(f"{b.dir}/bare.json", "w", encoding="utf-8") as file:
        json.dump(plan, file)
    if "done before" not in must(b.stormlint, "apply", f"{b.dir}/bare.json", "--output",
                                 f"out={b.store.app}"):
        raise Failed("a plan without totals: the note is not known again")
    # a farm makes the note stale: it goes in the same pass
    policy.update(reader="none", lift_saving=1)
    with open(b.store.policy, "w", encoding="utf-8") as file:
        json.dump(policy, file)
    b.store.plan(b.stormlint, b.plan_file)
    b.apply()
    check_applied(b)
    same("note", Elf(b.path()).section(".note.nixos.ldcache"), None)


def test_closure(b):
    """A closure note, read by the audit module that it names: no call fails."""
    package = b.store.package(70, "resolver-1")
    os.makedirs(f"{package}/lib")
    module = shutil.copy(os.path.join(b.build, "libstormlint-resolve.so"), f"{package}/lib/")
    with open(b.store.policy, encoding="utf-8") as file:
        policy = json.load(file)
    policy.update(reader="resolver", resolver=module)
    with open(b.store.policy, "w", encoding="utf-8") as file:
        json.dump(policy, file)
    b.store.plan(b.stormlint, b.plan_file)
    obj = b.plan()["objects"][0]
    same("strategy", (obj["strategy"], obj["scope"]), ("note", "closure"))
    before = b.output()
    b.apply()
    same("what it says", b.output(), before)
    if "done before" not in b.apply():
        raise Failed("the note is not known again")
    must(b.stormlint, "check", "--plan", b.plan_file)
    same("failed opens", b.storm()["failed_opens"], 0)


TESTS = [test_note, test_closure, test_small, test_budget, test_on_the_spot, test_references,
         test_in_place, test_check, test_check_time, test_check_time_nothing_planned,
         test_check_time_limit, test_own_library, test_libraries, test_library_breaks_promise,
         test_library_gone, test_log, test_program_over_libraries, test_check_libraries, test_copies,
         test_lone_program, test_other_hashes, test_stale, test_stale_library, test_clash, test_gone,
         test_broken_promise, test_payload, test_wrong_output, test_hard_links, test_lock,
         test_disk_full, test_inodes_full, test_read_only, test_owner, test_foreign_owner,
         test_json]


def test(report, build):
    with tempfile.TemporaryDirectory(prefix="stormlint-apply-") as scratch:
        os.chmod(scratch, 0o755)
        for function in TESTS:
            name = function.__name__[5:]
            report.test(f"apply: {name}", lambda f, n: f(Bench(scratch, n, build)), function, name)
        report.test("apply: killed", lambda: test_killed(
            Bench(scratch, "killed", build, programs=MANY)))
