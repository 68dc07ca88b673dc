"""A small store with a glibc of its own: packages of libraries, and one with programs."""

import json
import os
import shutil
import subprocess

from report import must

N_LIBS = 8
MAIN = """
#include <stdio.h>
#include <string.h>
int f0(void);
int main(int argc, char **argv)
{
    (void)argc;
    printf("%s %d\\n", strrchr(argv[0], '/') + 1, f0());
    return 3;
}
"""


def hash_of(number):
    return "".join("0123456789abcdfghijklmnpqrsvwxyz"[(number * 7 + i * i) % 32] for i in range(32))


class Store:
    """store/<hash>-lN-1/lib/libN.so, each needing the next; app with `programs` in bin/."""

    def __init__(self, top, salt=0, programs=("app",), extra=()):
        self.top = os.path.join(top, "store")
        self.salt = salt
        self.programs = programs
        self.policy = os.path.join(top, "policy.json")
        os.makedirs(self.top, exist_ok=True)
        with open(self.policy, "w", encoding="utf-8") as file:
            json.dump({"schema": "stormlint-policy/1", "name": "test", "stores": [self.top],
                       "min_saving": 1, "lift_saving": 1}, file)
        self.glibc = self.package(90, "glibc-2.36")
        os.makedirs(f"{self.glibc}/lib")
        for name in ("libc.so.6", "libm.so.6"):
            shutil.copy(must("gcc", f"-print-file-name={name}").strip(), f"{self.glibc}/lib/{name}")
        self.loader = f"{self.glibc}/lib/ld-linux-x86-64.so.2"
        shutil.copy(os.path.realpath("/lib64/ld-linux-x86-64.so.2"), self.loader)
        for i in reversed(range(N_LIBS)):
            self.library(i)
        self.app = self.package(80, "app-1.0")
        os.makedirs(f"{self.app}/bin")
        for name in programs:
            self.program(name, *extra)

    def package(self, number, name):
        return os.path.join(self.top, f"{hash_of(number + 100 * self.salt)}-{name}")

    def lib(self, i):
        return self.package(i, f"l{i}-1") + "/lib"

    def library(self, i):
        os.makedirs(self.lib(i))
        next_flags = [f"-L{self.lib(i + 1)}", f"-l{i + 1}", f"-Wl,-rpath,{self.lib(i + 1)}"] \
            if i + 1 < N_LIBS else []
        body = f"int f{i}(void) {{ return {i}" + (f" + f{i + 1}()" if next_flags else "") + "; }"
        self.compile(f"int f{i + 1}(void); {body}", f"{self.lib(i)}/lib{i}.so", "-shared", "-fPIC",
                     f"-Wl,-soname,lib{i}.so", *next_flags)

    def program(self, name, *extra, text=MAIN):
        flags = [f"-Wl,-rpath,{self.lib(i)}" for i in reversed(range(N_LIBS))]
        self.compile(text, f"{self.app}/bin/{name}", f"-L{self.lib(0)}", "-l0", *flags, *extra)

    def compile(self, text, path, *flags):
        subprocess.run(
            ["gcc", "-x", "c", "-O1", "-o", path, "-", "-x", "none", *flags,
             f"-Wl,--dynamic-linker,{self.loader}", f"-Wl,-rpath,{self.glibc}/lib",
             "-Wl,--enable-new-dtags"], input=text, text=True, check=True)

    def plan(self, stormlint, path, *what):
        must(stormlint, "plan", "--policy", self.policy, "-o", path, *(what or (self.app,)))
        return path


def snapshot(folder):
    """Every file's bytes and mode, every link's text."""
    found = {}
    for base, dirs, files in os.walk(folder):
        for name in dirs + files:
            path = os.path.join(base, name)
            key = os.path.relpath(path, folder)
            if os.path.islink(path):
                found[key] = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    found[key] = (os.stat(path).st_mode, file.read())
            else:
                found[key] = None
    return found
