"""Random graphs of libraries: a start with the note that the planner makes is the start without it,
in every environment tried, and the model predicts its calls."""

import os
import random
import tempfile

from report import Failed, same
from store import Store, check, gcc, start

TREES = int(os.environ.get("NOTE_TREES", "12"))
SEED = int(os.environ.get("NOTE_SEED", "1"))

MAIN = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
static int show(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size, (void)data;
    if (*info->dlpi_name && !strstr(info->dlpi_name, "vdso") && !strstr(info->dlpi_name, "resolve"))
        puts(info->dlpi_name);
    return 0;
}
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (argv[i][0] != '-')
            printf("%s %s\\n", argv[i], dlopen(argv[i], RTLD_NOW) ? "opened" : "not opened");
    dl_iterate_phdr(show, NULL);
    return 0;
}
"""


class Tree:
    """Libraries r0 .. rN in some directories, some in two builds; later ones are needed."""

    def __init__(self, store, scratch, seed):
        self.rng = random.Random(seed)
        self.store = store
        self.outside = os.path.join(scratch, f"outside{seed}")
        os.makedirs(self.outside)
        self.dirs = [store.place(f"t{seed}-{i}") for i in range(self.rng.randint(3, 7))]
        self.n = self.rng.randint(4, 12)
        for i in reversed(range(self.n)):
            for at in self.rng.sample(self.dirs, self.rng.choice((1, 1, 1, 2))):
                self.library(i, at)
        if self.rng.random() < 0.3: # what may be replaced comes first
            self.library(self.n - 1, self.outside)
        self.old = os.path.join(store.place(f"t{seed}-app", "bin"), "app")
        needed = self.needs(0, self.rng.randint(1, 4))
        gcc(self.old, MAIN, f"-Wl,--dynamic-linker,{store.interp}", "-Wl,--no-as-needed",
            *self.link_flags(needed, [store.libc]))
        self.new = os.path.join(store.place(f"t{seed}-noted", "bin"), "app")
        store.closure(self.old, self.new)

    def needs(self, first, n):
        return sorted(self.rng.sample(range(first, self.n), min(n, self.n - first)))

    def run_path(self, program):
        """All directories in some order, with some that are of no use in between."""
        path = self.dirs[:]
        self.rng.shuffle(path)
        for extra in (self.dirs[0] + "/none", self.store.dir + "/gone/lib", self.outside,
                      "/run/no-driver/lib", self.rng.choice(self.dirs), "$ORIGIN/none",
                      self.store.empty + "/"):
            # of the program's own $ORIGIN a note knows nothing: no row would be left
            if self.rng.random() < 0.25 and not (program and extra.startswith("$")):
                path.insert(self.rng.randrange(len(path) + 1), extra)
        return path

    def link_flags(self, needed, more):
        flags = [f"-L{d}" for d in self.dirs] + [f"-lr{i}" for i in needed]
        path = ":".join(self.run_path(bool(more)) + more)
        return flags + ["-Wl,--enable-new-dtags", f"-Wl,-rpath,{path}",
                        "-Wl,--allow-shlib-undefined", f"-Wl,-rpath-link,{self.store.deep}"]

    def library(self, i, at):
        path = os.path.join(at, f"libr{i}.so")
        needed = [k for k in self.needs(i + 1, self.rng.randint(0, 3))
                  if any(os.path.exists(f"{d}/libr{k}.so") for d in self.dirs)]
        gcc(path, f"int r{i}(void) {{ return {i}; }}", "-shared", "-fPIC", "-nostdlib",
            "-Wl,--no-as-needed", f"-Wl,-soname,libr{i}.so", *self.link_flags(needed, []))

    def environments(self):
        some = self.rng.sample(self.dirs, min(2, len(self.dirs)))
        name = f"libr{self.rng.randrange(self.n)}.so"
        found = [f"{d}/{name}" for d in self.dirs if os.path.exists(f"{d}/{name}")]
        return [{}, {"LD_LIBRARY_PATH": ":".join(some)},
                {"LD_LIBRARY_PATH": f"/nowhere;{self.outside}"},
                {"LD_PRELOAD": found[-1]}, {"LD_PRELOAD": name, "LD_LIBRARY_PATH": some[0]}]


def compare(tree):
    args = [f"libr{i}.so" for i in range(tree.n)]
    for env in tree.environments():
        for argv in ([], args):
            same(f"{env} {argv}", start(tree.new, *argv, env=env), start(tree.old, *argv, env=env))
        check(tree.store, tree.new, *[x for k, v in env.items() for x in ("--env", f"{k}={v}")])


def test(report, build):
    with tempfile.TemporaryDirectory(prefix="stormlint-note-") as scratch:
        store = Store(scratch, build)
        for seed in range(SEED, SEED + TREES):
            try:
                tree = Tree(store, scratch, seed)
            except Failed as failure:
                report.failed += 1
                print(f"FAILED random tree {seed}: {failure}")
                continue
            report.test(f"random tree {seed}", compare, tree)
