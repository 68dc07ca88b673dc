"""Small random stores: packages of libraries, programs, links and directories that only run paths
name, so that what one package keeps depends on others. The same seed gives the same store."""

import os
import random
import shutil
import sqlite3

from report import must

DIGITS = "0123456789abcdfghijklmnpqrsvwxyz"


class RandomStore:
    def __init__(self, mktree, root, seed, packages=24, store="/nix/store"):
        self.mktree, self.root, self.store = mktree, root, store
        self.rng = random.Random(seed)
        self.base = [self.name(i) for i in range(packages)]
        self.make([line for i in range(packages) for line in self.package(i)])

    def name(self, i):
        digits = "".join(self.rng.choice(DIGITS) for _ in range(32))
        output = self.rng.choice(["", "", "-dev", "-lib"])
        return f"{digits}-part{i}-1.{self.rng.randrange(9)}{output}"

    def path(self, i, below=""):
        return f"{self.store}/{self.base[i]}" + (f"/{below}" if below else "")

    def package(self, i):
        rng = self.rng
        others = rng.sample(range(len(self.base)), min(len(self.base), 4))
        dirs = ["lib", "lib/plugins", "share/only/named", "share/empty", "lib64", "etc"]
        run = ":".join([self.path(k, rng.choice(dirs)) for k in others] +
                       ["$ORIGIN/../share/near"])
        need = " ".join(f"needed=lib{k}.so" for k in others)
        yield f"library {self.path(i, f'lib/lib{i}.so')} soname=lib{i}.so {need} runpath={run}"
        if rng.random() < 0.5:
            yield f"library {self.path(i, f'lib/plugins/p{i}.so')} {need} version=lib{i}.so:V{i}"
        if rng.random() < 0.5:
            yield (f"program {self.path(i, f'bin/tool{i}')} {need} runpath={run} "
                   f"interp={self.path(0, 'lib/ld.so')} import=dlopen string=lib{i}.so.7")
        for below in ("share/only/named/x", "share/near/text", "share/doc/readme", "etc/rc"):
            if rng.random() < 0.6:
                yield f"text {self.path(i, below)} {'y' * rng.choice([3, 80])}"
        if rng.random() < 0.4:
            yield f"link {self.path(i, f'lib/lib{i}.so.1')} lib{i}.so"
        if rng.random() < 0.3:
            yield f"link {self.path(i, 'lib64')} {self.path(others[0], 'lib')}"
        if rng.random() < 0.2:
            yield f"text {self.path(i, 'lib/broken.so')} \\x7fELF\\x02\\x01\\x01broken"
        if i == 0:
            yield (f"library {self.path(0, 'lib/ld.so')} soname=ld.so string=2.36 "
                   f"string=glibc-ld.so.cache1.1 string={self.path(0, 'lib')}/ "
                   f"string={self.path(0, 'etc/ld.so.cache')}")
        elif rng.random() < 0.2:
            yield f"hard {self.path(i, 'lib/twin.so')} {self.path(0, 'lib/lib0.so')}"

    def make(self, lines):
        os.makedirs(self.root, exist_ok=True)
        tree = f"{self.root}.tree"
        lines.sort(key=lambda line: line.startswith("hard"))
        with open(tree, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        must(self.mktree, tree, self.root)

    def register(self, hashes=None, refer=True):
        """Nix's database of the store: every package, all of them referring to a few."""
        state = f"{self.root}/nix/var/nix/db"
        os.makedirs(state, exist_ok=True)
        path = f"{state}/db.sqlite"
        if os.path.exists(path):
            os.unlink(path)
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE ValidPaths (id INTEGER PRIMARY KEY, path TEXT, hash TEXT, "
                   "registrationTime INTEGER, deriver TEXT, narSize INTEGER)")
        db.execute("CREATE TABLE Refs (referrer INTEGER, reference INTEGER)")
        rng = random.Random(1)
        for i in range(len(self.base)):
            db.execute("INSERT INTO ValidPaths VALUES (?, ?, ?, 0, NULL, ?)",
                       (i + 1, self.path(i), (hashes or {}).get(i, f"sha256:{i:064x}"), 1000 + i))
            for k in rng.sample(range(i + 1), min(i + 1, 4)) if refer else []:
                db.execute("INSERT INTO Refs VALUES (?, ?)", (i + 1, k + 1))
        db.commit()
        db.close()

    def remove(self):
        shutil.rmtree(self.root)
