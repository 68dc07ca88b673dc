"""What look-ups cost a server: CPU microseconds a request.

    lookups.py SOCKET PID SIZE

Waits until it is ready, then asks one kind after the other over one connection. Prints lines as
bench/scale-store keeps them.
"""

import http.client
import json
import socket
import sys
import time
import urllib.parse

COUNT = 300


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Server:
    def __init__(self, path, pid):
        self.path, self.pid = path, pid
        for _ in range(6000):
            try:
                self.http = Unix(path)
                if self.get("/readyz", True)[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        sys.exit("lookups: the server is not ready after ten minutes")

    def get(self, url, any_status=False):
        try:
            answer, body = self.ask(url)
        except (BrokenPipeError, http.client.RemoteDisconnected):  # it was idle for too long
            self.http = Unix(self.path)
            answer, body = self.ask(url)
        if answer.status != 200 and not any_status:
            sys.exit(f"lookups: {url}: status {answer.status}: {body[:200]}")
        return answer.status, body

    def ask(self, url):
        self.http.request("GET", url)
        answer = self.http.getresponse()
        return answer, answer.read()

    def cpu(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])  # ticks of 10 ms, of all threads

    def rest(self):
        """Until what it does besides is done."""
        before = self.cpu()
        for _ in range(1200):
            time.sleep(1)
            now = self.cpu()
            if now - before < 3:
                return
            before = now

    def peak(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024


def items(server, url):
    return [item["id"] for item in json.loads(server.get(url)[1])["items"]]


def main():
    server, size = Server(sys.argv[1], sys.argv[2]), sys.argv[3]
    api = "/api/v1"
    programs = items(server, f"{api}/programs?limit=100")
    packages = items(server, f"{api}/packages?limit=100")
    quote = urllib.parse.quote
    kinds = {
        "api-page": [f"{api}/programs?limit={n}&after={{}}" for n in range(50, 70)],
        "api-package": [f"{api}/packages/{quote(p, safe='')}" for p in packages],
        "api-program": [f"{api}/programs/{quote(p, safe='')}" for p in programs],
        "api-trace": [f"{api}/programs/{quote(p, safe='')}/trace" for p in programs],
    }
    server.rest()
    for name, urls in kinds.items():
        after, count, before = "", 0, server.cpu()
        start = time.monotonic()
        # no page twice: an answer that is kept costs nothing
        while count < COUNT or (name != "api-page" and server.cpu() - before < 50 and time.monotonic() - start < 20):
            url = urls[count % len(urls)]
            if "{}" in url:
                body = json.loads(server.get(url.format(after) if after else url.split("&")[0])[1])
                after = quote(body.get("next") or "", safe="")
            else:
                server.get(url)
            count += 1
        used = (server.cpu() - before) / 100
        print(f"{name} {size} {count} {time.monotonic() - start:.3f} {used:.3f} "
              f"{used * 1e6 / count:.3f} {server.peak():.0f}", flush=True)


main()
