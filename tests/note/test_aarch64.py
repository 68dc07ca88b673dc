"""The resolver on aarch64, under an emulator: 64 KiB segments, no sub-directories for CPUs."""

import glob
import os
import shutil
import tempfile

from report import Failed, must, run, same

CROSS = "/usr/aarch64-linux-gnu"
START = """
int liba(void);
int libx(void);
void _start(void)
{
    register long x8 __asm__("x8") = 93, x0 __asm__("x0") = liba() + libx();
    __asm__ volatile("svc 0" : : "r"(x8), "r"(x0));
}
"""


def missing():
    for tool in ("clang", "ld.lld", "qemu-aarch64-static"):
        if not shutil.which(tool):
            return f"no {tool} here"
    if not os.path.exists(f"{CROSS}/include/link.h"):
        return f"no C library in {CROSS}"
    return None


class Arm:
    def __init__(self, scratch, build, form):
        self.build, self.n = build, 0
        self.dir = os.path.join(os.path.realpath(scratch), form, "store")
        self.libc = self.place("libc")
        loader = glob.glob(f"{CROSS}/lib/ld-linux-aarch64.so.1")[0]
        self.interp = os.path.join(self.libc, os.path.basename(loader))
        shutil.copy(os.path.realpath(loader), self.interp)
        empty = [self.place(f"empty{i}") for i in range(8)]
        self.x1, self.x2 = self.library("x", 1), self.library("x", 2)
        self.b = self.library("b", 10)
        self.a = self.library("a", 20, ("b", self.b))
        self.reader = os.path.join(self.place("resolver"), "libstormlint-resolve.so")
        shutil.copy(os.path.join(build, "aarch64/libstormlint-resolve.so"), self.reader)
        self.old = os.path.join(self.place("app", "bin"), "app")
        run_path = ":".join(empty + [self.x1, self.x2, self.a])
        self.link(self.old, START, f"-Wl,--dynamic-linker,{self.interp}", f"-L{self.a}",
                  f"-L{self.x1}", "-la", "-lx", f"-Wl,-rpath,{run_path}", "-Wl,--enable-new-dtags",
                  "-Wl,--allow-shlib-undefined", *(["-pie"] if form == "pie" else ["-no-pie"]))
        self.new = self.old + "-noted"
        must(f"{build}/tests/closure", "--store", self.dir, self.old, self.reader, self.new)

    def place(self, name, sub="lib"):
        self.n += 1
        path = os.path.join(self.dir, f"{self.n:032d}-{name}", sub)
        os.makedirs(path)
        return path

    def link(self, out, text, *flags):
        must("clang", "--target=aarch64-linux-gnu", "-nostdlib", "-fuse-ld=lld", "-O1",
             "-fno-builtin", "-Wl,-z,max-page-size=65536", "-x", "c", "-", "-o", out, *flags,
             input=text)

    def library(self, name, value, *needs):
        at = self.place(f"{name}{value}")
        calls = "".join(f"int lib{n}(void);" for n, _ in needs)
        body = str(value) + "".join(f"+lib{n}()" for n, _ in needs)
        flags = ["-shared", "-fPIC", f"-Wl,-soname,lib{name}.so"]
        for n, d in needs:
            flags += [f"-L{d}", f"-l{n}", f"-Wl,-rpath,{d}", "-Wl,--enable-new-dtags"]
        self.link(f"{at}/lib{name}.so", f"{calls} int lib{name}(void) {{ return {body}; }}", *flags)
        return at

    def start(self, program, *qemu):
        done = run("qemu-aarch64-static", "-strace", *qemu, program,
                   env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
        failed = [line for line in done.stderr.splitlines()
                  if ("openat(" in line or "stat" in line) and "errno=" in line]
        return done.returncode, len(failed)


def answers(arm):
    status, failed = arm.start(arm.old)
    same("as built", (status, failed > 8), (31, True))
    same("noted: status, failed calls", arm.start(arm.new), (31, 0))


def steps_aside(arm):
    old = arm.start(arm.old, "-E", f"LD_LIBRARY_PATH={arm.x2}")
    new = arm.start(arm.new, "-E", f"LD_LIBRARY_PATH={arm.x2}")
    same("LD_LIBRARY_PATH wins", (old[0], new[0]), (32, 32))
    same("switched off", arm.start(arm.new, "-E", "STORMLINT_RESOLVE=off"), arm.start(arm.old))


def is_freestanding(arm):
    told = must("readelf", "-Wrd", arm.reader)
    if "NEEDED" in told or "no relocations" not in told:
        raise Failed(told)


def test(report, build):
    why = missing()
    if why:
        report.skip("aarch64", why)
        return
    must("make", "-s", "MODE=" + os.path.basename(build), "resolver-aarch64",
         cwd=os.path.join(os.path.dirname(__file__), "../.."))
    with tempfile.TemporaryDirectory(prefix="stormlint-note-") as scratch:
        for form in ("pie", "exec"):
            arm = Arm(scratch, build, form)
            report.test(f"aarch64 {form}: answers", answers, arm)
            report.test(f"aarch64 {form}: steps aside", steps_aside, arm)
            report.test(f"aarch64 {form}: freestanding", is_freestanding, arm)
