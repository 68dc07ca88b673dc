"""nginx before the service, by the configuration that docs/http.md shows."""

import os
import re
import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request

NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
MAIN = """{user}
worker_processes 1;
daemon off;
pid {dir}/nginx.pid;
error_log {dir}/nginx.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {dir}/body;
    proxy_temp_path {dir}/proxy;
    fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi;
    scgi_temp_path {dir}/scgi;
{server}
}}
"""


def documented(docs):
    """The server block as it stands in the documentation."""
    with open(docs, encoding="utf-8") as file:
        return re.search(r"```nginx\n(.*?)```", file.read(), re.S)[1]


class Proxy:
    """nginx with that block; only places and the port are this machine's."""

    def __init__(self, docs, directory, unix_socket, port):
        self.dir = directory
        self.base = f"https://stormlint.example.org:{port}"
        self.port = port
        certificate = f"{directory}/stormlint.crt"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                        "/CN=stormlint.example.org", "-addext", "subjectAltName=DNS:stormlint.example.org",
                        "-keyout", f"{directory}/stormlint.key", "-out", certificate],
                       check=True, capture_output=True)
        block = documented(docs)
        for was, now in (("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"), ("/etc/ssl/", directory + "/"),
                         ("/run/stormlint/http.sock", unix_socket)):
            assert was in block, was
            block = block.replace(was, now)
        with open(f"{directory}/nginx.conf", "w", encoding="utf-8") as file:
            user = "user root;" if os.geteuid() == 0 else ""  # the socket is this user's alone
            file.write(MAIN.format(dir=directory, server=block, user=user))
        self.process = subprocess.Popen([NGINX, "-p", directory, "-c", f"{directory}/nginx.conf"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.trust = ssl.create_default_context(cafile=certificate)
        self.trust.check_hostname = False  # it is asked for by address

    def ask(self, path, method="GET", body=None, headers=None):
        """Status, headers, body."""
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", body,
                                         {"Host": "stormlint.example.org", **(headers or {})}, method=method)
        try:
            with urllib.request.urlopen(request, context=self.trust, timeout=60) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def wait(self):
        for _ in range(200):
            try:
                return self.ask("/healthz")
            except OSError:
                time.sleep(0.05)
        with open(f"{self.dir}/nginx.log", encoding="utf-8") as file:
            raise RuntimeError(f"nginx does not answer: {file.read()[-1000:]}")

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
