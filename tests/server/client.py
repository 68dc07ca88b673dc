"""A server of its own for tests, and the ways to talk to it."""

import atexit
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

TOKEN = "a-token-of-more-than-16-bytes"


class Answer:
    def __init__(self, response, body):
        self.status = response.status
        self.headers = {k.lower(): v for k, v in response.getheaders()}
        self.body = body

    def json(self):
        return json.loads(self.body)

    def text(self):
        body = self.body
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        return body.decode("utf-8")


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(30)
        self.sock.connect(self.path)


STARTED = []  # every server, so that none outlives the tests


def kill_all():
    for process in STARTED:
        if process.poll() is None:
            process.kill()
            process.wait()


atexit.register(kill_all)


class Server:
    """stormlint serve over DIR/index.db."""

    def __init__(self, stormlint, directory, *options, listen="127.0.0.1:0", token=True,
                 environment=None, ready=True, argv=None, **more):
        self.dir = directory
        self.log = os.path.join(directory, "server.log")
        own = argv is None  # else: whatever ends in a service
        argv = argv or [stormlint, "serve", "--db", f"{directory}/index.db", "--listen", listen,
                        "--state", f"{directory}/state", *options]
        if token and own:
            path = f"{directory}/token"
            with open(path, "w", encoding="ascii") as file:
                file.write(TOKEN + "\n")
            os.chmod(path, 0o600)
            argv += ["--token-file", path]
        mark = os.path.getsize(self.log) if os.path.exists(self.log) else 0
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env=environment, **more)
        STARTED.append(self.process)
        self.port = self.unix = None
        self.wait_for(lambda: self.find_address(mark), "listen")
        if ready:
            self.wait_for(lambda: self.get("/readyz").status == 200, "be ready")

    def find_address(self, mark):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            file.seek(mark)
            said = file.read()
        found = re.search(r"listening on (?:http://[^\s]*:(\d+)|unix:(\S+))", said)
        if found:
            self.port = int(found[1]) if found[1] else None
            self.unix = found[2]
        return bool(found)

    def wait_for(self, what, name, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}: {self.said()}")
            try:
                if what():
                    return True
            except OSError:
                pass
            time.sleep(0.05)
        raise RuntimeError(f"the server does not {name} in {seconds} s: {self.said()}")

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]

    def connection(self):
        if self.unix:
            return UnixConnection(self.unix)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, method, path, body=None, headers=None):
        connection = self.connection()
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return Answer(response, response.read())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def write(self, method, path, body=None, token=TOKEN, type_="application/json"):
        headers = {"Content-Type": type_}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        return self.ask(method, path, body, headers)

    def raw(self, data, seconds=10, size=1 << 20):
        """Send bytes, return what comes until the other side closes or is silent."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as sock:
            sock.sendall(data)
            got = b""
            sock.settimeout(seconds)
            try:
                while len(got) < size:
                    more = sock.recv(65536)
                    if not more:
                        break
                    got += more
            except (socket.timeout, ConnectionResetError):
                pass
            return got

    def children(self):
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(path, encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]

    def job(self, number, states, seconds=60):
        """Wait until a job is in one of these states."""
        found = {}

        def there():
            found.update(self.get(f"/api/v1/jobs/{number}").json())
            return found.get("state") in states
        self.wait_for(there, f"bring job {number} to {states}: it is {found}", seconds)
        return found

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, how=signal.SIGTERM):
        """End it; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "it did not end"


def fresh(directory):
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    return directory
