"""A store made with gcc: libraries that know their build, a C library of its own, a program."""

import glob
import os
import re
import shutil
import subprocess

from report import Failed, must

PROGRAM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pthread.h>
int liba(void);
int libx(void);
static int show(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size, (void)data;
    if (*info->dlpi_name && !strstr(info->dlpi_name, "vdso") && !strstr(info->dlpi_name, "resolve"))
        puts(info->dlpi_name);
    return 0;
}
static void *load(void *name)
{
    for (int i = 0; i < 20; i++) {
        void *p = dlopen(name, RTLD_NOW);
        if (!p) { puts(dlerror()); exit(3); }
        dlclose(p);
    }
    return NULL;
}
int main(int argc, char **argv)
{
    printf("liba %d libx %d\\n", liba(), libx());
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--version")) continue;
        if (!strcmp(argv[i], "fork")) { int s; if (!fork()) _exit(!dlopen("libp.so", RTLD_NOW)); wait(&s); printf("child %d\\n", s); continue; }
        if (!strcmp(argv[i], "exec")) { fflush(stdout); execl(argv[0], argv[0], NULL); }
        if (!strcmp(argv[i], "threads")) { pthread_t t[4]; for (int k = 0; k < 4; k++) pthread_create(&t[k], NULL, load, "libp.so"); for (int k = 0; k < 4; k++) pthread_join(t[k], NULL); continue; }
        void *p = dlopen(argv[i], RTLD_NOW);
        printf("%s %s\\n", argv[i], p ? "opened" : dlerror());
    }
    dl_iterate_phdr(show, NULL);
    return 0;
}
"""


def gcc(out, text, *flags):
    must("gcc", "-x", "c", "-", "-o", out, *flags, input=text)


class Store:
    """hash-name/lib for every library; builds of one name differ by what their function returns."""

    def __init__(self, scratch, build, libc=None):
        """`libc`: a folder with another loader and its libc.so.6; None: the host's are taken."""
        self.dir = os.path.join(os.path.realpath(scratch), "store")
        self.build = build
        self.n = 0
        self.libc = self.take_libc(libc) if libc else self.make_libc()
        self.d1 = self.library("d1", "x", 1)
        self.d2 = self.library("d2", "x", 2)
        self.deep = self.library("deep", "z", 7)
        self.b = self.library("b", "b", 10, ("z", self.deep))
        self.b2 = self.library("b2", "b", 20)
        self.a = self.library("a", "a", 100, ("b", self.b), ("x", self.d1))
        self.q = self.library("q", "q", 5)
        self.p = self.library("p", "p", 6, ("q", self.q), ("z", self.deep))
        self.empty = self.place("empty")
        self.reader = os.path.join(self.place("resolver"), "libstormlint-resolve.so")
        shutil.copy(os.path.join(build, "libstormlint-resolve.so"), self.reader)
        self.app = self.program("app")

    def place(self, name, sub="lib"):
        self.n += 1
        path = os.path.join(self.dir, f"{self.n:032d}-{name}", sub)
        os.makedirs(path)
        return path

    def make_libc(self):
        """The host's C library and loader, copied: then nothing is found outside the store."""
        at = self.place("libc")
        told = must("ldd", "/bin/sh") + must("gcc", "-print-file-name=libc.so.6")
        self.loader = re.search(r"(/\S*/ld-linux\S*)", told).group(1)
        libc = re.search(r"=> (\S*/libc\.so\.6)", told).group(1)
        shutil.copy(os.path.realpath(libc), os.path.join(at, "libc.so.6"))
        self.interp = os.path.join(at, os.path.basename(self.loader))
        shutil.copy(os.path.realpath(self.loader), self.interp)
        return at

    def take_libc(self, folder):
        at = self.place("libc")
        loader, = glob.glob(f"{folder}/ld-*.so*")
        shutil.copy(f"{folder}/libc.so.6", at)
        self.interp = os.path.join(at, os.path.basename(loader))
        shutil.copy(loader, self.interp)
        os.chmod(self.interp, 0o755)
        return at

    def library(self, place, name, value, *needs, at=None, run_path=None):
        at = at or self.place(place)
        calls = "".join(f"int lib{n}(void);" for n, _ in needs)
        body = f"{value}" + "".join(f"+lib{n}()" for n, _ in needs)
        flags = ["-shared", "-fPIC", "-nostdlib", f"-Wl,-soname,lib{name}.so"]
        for n, d in needs:
            flags += [f"-L{d}", f"-l{n}"]
        if run_path is None and needs:
            run_path = ":".join([self.empty_path()] + [d for _, d in needs])
        if run_path:
            flags += ["-Wl,--enable-new-dtags", f"-Wl,-rpath,{run_path}"]
        gcc(os.path.join(at, f"lib{name}.so"), f"{calls} int lib{name}(void) {{ return {body}; }}",
            *flags, f"-Wl,-rpath-link,{self.dir}")
        return at

    def empty_path(self):
        if not hasattr(self, "filler"):
            self.filler = self.place("filler")
        return self.filler

    def program(self, name, run_path=None, *flags):
        path = os.path.join(self.place(name, "bin"), name)
        run_path = run_path or ":".join([self.empty, self.p, self.d1, self.d2, self.a, self.libc])
        gcc(path, PROGRAM, f"-Wl,--dynamic-linker,{self.interp}", f"-L{self.a}", f"-L{self.d1}",
            "-Wl,--no-as-needed", "-la", "-lx", "-Wl,--enable-new-dtags",
            f"-Wl,-rpath,{run_path}", f"-Wl,-rpath-link,{self.b}:{self.deep}", "-O1", *flags)
        return path

    def closure(self, program, out, *options, reader=None):
        """The program with a closure note, as the planner makes it."""
        return must(os.path.join(self.build, "tests/closure"), "--store", self.dir, *options,
                    program, reader or self.reader, out)

    def edit(self, program, out, *options):
        must(os.path.join(self.build, "tests/edit"), *options, program, out)
        os.chmod(out, 0o755)
        return out


def texts(*strings):
    return b"".join(s.encode() + b"\0" for s in strings) + b"\0"


def environment(**env):
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", **env}


def start(*argv, cwd="/", env=None, limit=60):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=cwd, env=environment(**(env or {})), timeout=limit,
                          errors="replace")
    return done.returncode, done.stdout, done.stderr


def calls(*argv, cwd="/", env=None):
    """The calls of a start that failed, up to the program's own first line."""
    trace = must("strace", "-qq", "-e", "trace=openat,newfstatat,stat,access,faccessat,mincore",
                 "-o", "/dev/stdout", *argv, cwd=cwd, env=environment(**(env or {})))
    return [line for line in trace.splitlines() if " = -1 " in line and "ld.so.preload" not in line]


def check(store, program, *options, cwd=None):
    """Does the model predict the very calls of this start?"""
    argv = [os.path.join(store.build, "stormlint"), "check", *options, program]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          cwd=cwd)
    if done.returncode or not done.stdout.startswith("ok"):
        raise Failed(f"check {' '.join(options)}: {done.stdout.strip()[-700:]}")
