"""A library that is asked for by another name than its DT_SONAME."""

import os
import tempfile

from report import must, same
from store import Store, calls, check, gcc, start

LIBRARY, SONAME = "libn.so.7.0", "libn.so.7"


class Named:
    """A program and a library that both need libn.so.7.0, in which DT_SONAME says libn.so.7; with
    `versions` both want a version from it."""

    def __init__(self, store, versions):
        self.store = store
        self.n = store.place("n")
        self.library = os.path.join(self.n, LIBRARY)
        stub = store.place("stub")
        script = os.path.join(stub, "versions")
        with open(script, "w", encoding="utf-8") as file:
            file.write("N_1 { global: libn; local: *; };")
        flags = ["-shared", "-fPIC", "-nostdlib"]
        if versions:
            flags.append(f"-Wl,--version-script={script}")
        text = "int libn(void) { return 3; }"
        gcc(self.library, text, *flags, f"-Wl,-soname,{SONAME}")
        gcc(os.path.join(stub, "libn.so"), text, *flags, f"-Wl,-soname,{LIBRARY}")
        os.symlink(LIBRARY, os.path.join(self.n, SONAME))
        self.asker = store.place("asker")
        gcc(os.path.join(self.asker, "libw.so"), "int libn(void); int libw(void) { return libn(); }",
            "-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libw.so", f"-L{stub}", "-ln",
            "-Wl,--enable-new-dtags", f"-Wl,-rpath,{store.empty}:{self.n}")
        path = ":".join([store.empty, store.p, store.d1, store.a, self.asker, self.n, store.libc])
        self.old = store.program("named", path, f"-L{self.asker}", f"-L{stub}", "-ln", "-lw",
                                 f"-Wl,-rpath-link,{store.deep}:{store.b}")
        self.new = os.path.join(store.place("noted", "bin"), "named")
        self.report = store.closure(self.old, self.new)

    def alike(self, *args, **env):
        same(f"{args} {env}", start(self.new, *args, env=env), start(self.old, *args, env=env))
        if not args:
            check(self.store, self.new, *(f"--env={k}={v}" for k, v in env.items()))

    def everywhere(self):
        """Whoever loads the file first, and by which name."""
        self.alike()
        for name in (LIBRARY, SONAME, self.library):
            self.alike(name)
        for path in (self.library, os.path.join(self.n, SONAME),
                     os.path.join(self.asker, "libw.so")):
            self.alike(LD_PRELOAD=path)
        self.alike(LD_PRELOAD=f"{self.library}:{os.path.join(self.asker, 'libw.so')}")
        self.alike(LD_LIBRARY_PATH=self.n)


def name_alone(store):
    """Nobody wants versions from it: there is a row, whatever the DT_SONAME."""
    named = Named(store, False)
    same("failed calls", calls(named.new), [])
    named.everywhere()


def versions_too(store):
    """There is no row for it: if the file were in memory already, the name would not be recorded."""
    named = Named(store, True)
    same("left out", named.report.count(LIBRARY), 1)
    named.everywhere()


TESTS = {"a name of its own": name_alone, "a name that versions are wanted from": versions_too}


def test(report, build):
    with tempfile.TemporaryDirectory(prefix="stormlint-note-") as scratch:
        store = Store(scratch, build)
        for name, function in TESTS.items():
            report.test(f"names: {name}", function, store)
