"""What look-ups cost a server: CPU microseconds a request.

    lookups.py SOCKET PID SIZE INDEX

Waits until the server is ready and has done what it does besides, then asks over one connection for
the same number of packages, programs, traces and pages of programs, whatever the size of the store:
SAMPLE of them, from all over it, but not the packages that all others need, whose lists of
dependents grow with the store. No URL is asked for twice, or the answer would be a kept one: the
same is spelt otherwise. Lines are those that bench/scale-store keeps; a name with "-first" is the
first pass over the sample, which reads the index; else the best of TURNS passes that follow. CPU is
what the kernel counted of all the server's threads, in nanoseconds.
"""

import glob
import http.client
import json
import random
import re
import socket
import sqlite3
import sys
import time
import urllib.parse

SAMPLE, TURNS, PAGE, EVERYBODY_NEEDS = 400, 7, 50, 101
API = "/api/v1"


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Server:
    def __init__(self, path, pid):
        self.path, self.pid, self.asked = path, pid, 0
        for _ in range(36000):
            try:
                self.http = Unix(path)
                if self.ask("/readyz")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        sys.exit("lookups: the server is not ready after an hour")

    def ask(self, url):
        try:
            self.http.request("GET", url)
            answer = self.http.getresponse()
        except (BrokenPipeError, http.client.RemoteDisconnected):  # it was idle for too long
            self.http = Unix(self.path)
            self.http.request("GET", url)
            answer = self.http.getresponse()
        return answer.status, answer.read()

    def get(self, list_or_item, last, rest=""):
        """`last` spelt as it was not before."""
        self.asked += 1
        bits = self.asked
        spelt = ""
        for letter in last:
            spelt += f"%{ord(letter):02x}" if bits % 2 or not letter.isalnum() else letter
            bits //= 2
        status, body = self.ask(f"{API}/{list_or_item}{spelt}{rest}")
        if status != 200:
            sys.exit(f"lookups: {list_or_item}{last}{rest}: status {status}: {body[:200]}")
        return body

    def schedstat(self, columns):
        used = 0
        for name in glob.glob(f"/proc/{self.pid}/task/*/schedstat"):
            with open(name, encoding="ascii") as file:
                used += sum(int(column) for column in file.read().split()[:columns])
        return used

    def cpu_ns(self):
        return self.schedstat(1)

    def rest(self):
        """Until what it does besides is done: for three seconds it hardly runs, nor waits to run."""
        calm = 0
        for _ in range(3600):
            before = self.schedstat(2)
            time.sleep(1)
            calm = calm + 1 if self.schedstat(2) - before < 20_000_000 else 0
            if calm == 3:
                return
        sys.exit("lookups: the server is not at rest after an hour")

    def memory(self, name):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(name)) / 1024


def number_of(path):
    """Of a package of bench/store.c."""
    match = re.search(r"-package(\d+)-", path)
    return int(match.group(1)) if match else 0


def sample(index, sql):
    with sqlite3.connect(f"file:{index}?mode=ro", uri=True) as db:
        rows = [row[0] for row in db.execute(sql) if number_of(row[0]) >= EVERYBODY_NEEDS]
    return random.Random(1).sample(rows, SAMPLE)


def cursors(server, size):
    """Of pages all over the list of programs: every so many of them one begins."""
    step = max(PAGE, min(1000, size // 20))
    found, after = [], ""
    while True:
        page = json.loads(server.get(f"programs?limit={step}{after}&sort=", "-failed"))
        if not page["next"]:
            return found[: len(found) - 1] if len(page["items"]) < PAGE else found
        found.append(page["next"])
        after = f"&after={page['next']}"


def main():
    socket_path, pid, size, index = sys.argv[1:]
    server = Server(socket_path, pid)
    server.rest()
    print(f"api-ready {size} 1 0 0 0 {server.memory('VmHWM'):.0f}", flush=True)
    programs = sample(index, "SELECT path FROM object o JOIN object_path x ON x.object = o.id WHERE interp IS NOT NULL")
    packages = sample(index, "SELECT base FROM package")
    pages = cursors(server, int(size))
    kinds = {
        "api-page": lambda i: server.get(f"programs?limit={PAGE}&after=", pages[i * len(pages) // SAMPLE]),
        "api-package": lambda i: server.get("packages/", packages[i]),
        "api-program": lambda i: server.get("programs/", programs[i]),
        "api-trace": lambda i: server.get("programs/", programs[i], "/trace"),
    }
    for name, ask in kinds.items():
        passes = []
        for _ in range(1 + TURNS):
            start, before = time.monotonic(), server.cpu_ns()
            for i in range(SAMPLE):
                ask(i)
            passes.append((server.cpu_ns() - before, time.monotonic() - start))
        for label, (cpu, wall) in ((f"{name}-first", passes[0]), (name, min(passes[1:]))):
            print(
                f"{label} {size} {SAMPLE} {wall:.3f} {cpu / 1e9:.3f} "
                f"{cpu / 1e3 / SAMPLE:.3f} {server.memory('VmRSS'):.0f}",
                flush=True,
            )


main()
