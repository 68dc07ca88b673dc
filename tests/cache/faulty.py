"""A server of a cache's directory that misbehaves by script, and counts what it is asked for."""

import http.server
import os
import socket
import struct
import threading
import time


class Faulty:
    """`script[path]`: a list of faults, one taken at each request of the path; then it behaves.

    A fault is ("status", code, headers), ("truncate", n), ("reset", n), ("slow", seconds),
    ("bytes", content) or ("stall", event)."""

    def __init__(self, root, ranges=False):
        self.root, self.ranges, self.script, self.asked = root, ranges, {}, []
        self.running = self.most = 0
        self.lock = threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                with outer.lock:
                    outer.asked.append(self.path.lstrip("/"))
                    outer.running += 1
                    outer.most = max(outer.most, outer.running)
                try:
                    outer.answer(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                finally:
                    with outer.lock:
                        outer.running -= 1

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def next_fault(self, path):
        with self.lock:
            faults = self.script.get(path) or self.script.get("*") or []
            return faults.pop(0) if faults else None

    def answer(self, request):
        path = request.path.lstrip("/")
        fault = self.next_fault(path)
        kind = fault[0] if fault else None
        if kind == "status":
            request.send_response(fault[1])
            for key, value in (fault[2] if len(fault) > 2 else {}).items():
                request.send_header(key, value)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        try:
            with open(os.path.join(self.root, path), "rb") as file:
                body = file.read()
        except OSError:
            return self.answer_none(request)
        if kind == "bytes":
            body = fault[1]
        if kind == "slow":
            time.sleep(fault[1])
        if kind == "stall":
            fault[1].wait(60)
        asked = request.headers.get("Range", "") if self.ranges else ""
        if asked.startswith("bytes="):
            first, last = (int(n) for n in asked[len("bytes="):].split("-"))
            body = body[first:last + 1]
        request.send_response(206 if asked else 200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if kind in ("truncate", "reset"):
            request.wfile.write(body[:fault[1]])
            request.wfile.flush()
            if kind == "reset":
                request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                              struct.pack("ii", 1, 0))
            request.close_connection = True
            request.connection.close()
            return
        request.wfile.write(body)

    @staticmethod
    def answer_none(request):
        request.send_response(404)
        request.send_header("Content-Length", "0")
        request.end_headers()
