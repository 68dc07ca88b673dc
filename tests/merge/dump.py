"""All that an index says, as sorted lines in which no id stands: equal for equal indexes.

    dump.py INDEX [--without-local]

Ids depend on who was read first, and the order of a directory's entries on the file system; neither
is part of what an index says. With --without-local what is true on one machine only is left out:
which directory was read, and when it changed; roots; inodes.
"""
import json
import sqlite3
import sys

LOCAL = {"store": ("root", "changed"), "directory": ("changed",)}
NAMES = ("needed", "verneed", "verdef", "dlopen_string")
PATHS = ("rpath", "runpath")
HEADER = 16  # numbers of a packed header; the last holds bits


def entries(blob):
    """The entries of a directory (scanner/entries.h), sorted."""
    found, at = [], 0
    while at < len(blob):
        end = blob.index(0, at + 1)
        kind, name, text = chr(blob[at]), blob[at + 1:end], b""
        if kind in "ls":
            start, end = end + 1, blob.index(0, end + 1)
            text = blob[start:end]
        found.append(f"{kind}{name!r}{text!r}")
        at = end + 1
    return sorted(found)


def numbers(blob):
    """The numbers in packed bytes (scanner/packed.h)."""
    found, value, shift = [], 0, 0
    for byte in blob:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            found.append(value)
            value = shift = 0
    return found


def objects(blob):
    """The numbers of each packed object."""
    while blob:
        n = next(i for i, byte in enumerate(blob) if byte < 0x80) + 1
        size, = numbers(blob[:n])
        yield numbers(blob[n:n + size])
        blob = blob[n + size:]


class Dump:
    def __init__(self, path, local=True):
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.db.text_factory = lambda b: b.decode("utf-8", "surrogateescape")
        self.db.row_factory = sqlite3.Row
        self.local = local
        self.names = dict(map(tuple, self.db.execute("SELECT id, text FROM name")))
        self.dirs = dict(map(tuple, self.db.execute("SELECT id, text FROM search_dir")))
        self.paths = {r[0]: self.list(r[1], self.dirs)
                      for r in self.db.execute("SELECT id, dirs FROM run_path")}
        self.out = []

    def packed(self, blob):
        """What is packed of a directory's objects, with texts for ids."""
        for o in objects(blob):
            header, ids, rest = o[:HEADER], o[HEADER:HEADER + 4], o[HEADER + 4:]
            tag, rest = (rest[:4], rest[4:]) if header[-1] & 16 else ([], rest)
            assert rest[0] == len(rest) - 1
            yield [header, [self.names[i] if i else None for i in ids[:2]],
                   [self.paths[i] if i else None for i in ids[2:]], tag,
                   [[n & 3, self.names[n >> 2]] for n in rest[1:]]]

    def list(self, text, texts):
        def one(value):
            if isinstance(value, list):
                return [one(v) for v in value]
            if isinstance(value, str):
                return value[0] + ":" + texts[int(value[1:])]
            return ("weak " if value < 0 else "") + texts[abs(value)]
        return None if text is None else one(json.loads(text))

    def add(self, table, key, row, drop=()):
        drop = set(drop) | (set() if self.local else set(LOCAL.get(table, ())))
        values = {k: row[k] for k in row.keys() if k not in drop}
        for k, v in values.items():
            if isinstance(v, bytes):
                values[k] = v.hex()
        self.out.append(f"{table} {key} {json.dumps(values, sort_keys=True)}")

    def resolved(self, row):
        values = dict(row)
        for k in ("interp", "soname"):
            values[k] = None if row[k] is None else self.names[row[k]]
        for k in NAMES:
            values[k] = self.list(row[k], self.names)
        for k in PATHS:
            values[k] = None if row[k] is None else self.paths[row[k]]
        return values

    def lines(self):
        q = self.db.execute
        store = {r["id"]: r["path"] for r in q("SELECT * FROM store")}
        package, directory, thing = {}, {}, {}
        for r in q("SELECT * FROM store"):
            self.add("store", r["path"], r, ("id",))
        if self.local:
            for r in q("SELECT * FROM part"):
                self.add("part", store[r["store"]], r, ("store",))
        for r in q("SELECT * FROM package"):
            package[r["id"]] = f"{store[r['store']]}/{r['base']}"
            self.add("package", package[r["id"]], r, ("id", "store", "base", "first_object"))
        for r in q("SELECT * FROM directory"):
            directory[r["id"]] = f"{package[r['package']]}/{r['path']}"
            values = dict(r, entries=entries(r["entries"]),
                          packed=sorted(map(json.dumps, self.packed(r["packed"]))))
            self.add("directory", directory[r["id"]], values,
                     ("id", "package", "path", "first_object"))
        for r in q("SELECT * FROM object"):
            thing[r["id"]] = f"{directory[r['directory']]}/{r['name']}"
            self.add("object", thing[r["id"]], self.resolved(r), ("id", "directory", "name"))
        self.check_numbers()
        for r in q("SELECT * FROM ldso"):
            self.add("ldso", thing[r["object"]], r, ("object",))
        if self.local:
            for r in q("SELECT * FROM inode"):
                self.add("inode", thing[r["object"]], r, ("object",))
        for r in q("SELECT * FROM problem"):
            self.add("problem", package[r["package"]], r, ("package",))
        for r in q("SELECT * FROM reference"):
            self.out.append(f"reference {package[r['package']]} {package[r['reference']]}")
        for r in q("SELECT * FROM origin"):
            self.add("origin", r["name"], r, ("name",))
        return sorted(self.out)

    def check_numbers(self):
        """Objects of a package, and of a directory, are numbered one after the other."""
        bad = self.db.execute(
            "SELECT count(*) FROM object o JOIN directory d ON d.id = o.directory JOIN package p "
            "ON p.id = d.package WHERE o.id < d.first_object OR o.id >= d.first_object + d.objects "
            "OR o.id < p.first_object OR o.id >= p.first_object + p.objects").fetchone()[0]
        total = self.db.execute("SELECT (SELECT count(*) FROM object) = (SELECT total(objects) FROM "
                                "package)").fetchone()[0]
        if bad or not total:
            self.out.append(f"numbers of objects are wrong: {bad} {total}")


def dump(path, local=True):
    return Dump(path, local).lines()


if __name__ == "__main__":
    print("\n".join(dump(sys.argv[1], "--without-local" not in sys.argv)))
