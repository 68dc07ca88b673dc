"""Debian packages without root: what is needed to fetch and open them, for the tools beside this.

apt works on state of its own, made from this machine's configuration for whatever suite is asked
for, in a directory that is removed afterwards; what stays is the debs.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile


class Failure(Exception):
    """Something the user can do about it: printed without a traceback."""


def say(text, start="", end="\n"):
    print(f"{start}{os.path.basename(sys.argv[0])}: {text}", end=end, flush=True)


def progress(done, total, what):
    if sys.stdout.isatty():
        say(f"{what} {done} of {total} ", "\r", "\n" if done == total else "")
    elif done == total:
        say(f"{what} {done} of {total}")


def run(argv, failed, **kw):
    """Run a tool and return its output; `failed` is the sentence to say when it fails."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.strip()][-3:]
        raise Failure("\n  ".join([failed, "it said:"] + last))
    return done.stdout


def machine_suite():
    with open("/etc/os-release", encoding="utf-8") as file:
        found = re.search(r"^VERSION_CODENAME=(\S+)", file.read(), re.M)
    if not found:
        raise Failure("/etc/os-release names no suite: say which one with --suite")
    return found.group(1)


def write_sources(base, own, suite):
    """This machine's package sources for its suite `own`, as if it were `suite`."""
    kept = {"sources": [], "list": []}
    parts = sorted(glob.glob("/etc/apt/sources.list.d/*"))
    for path in filter(os.path.isfile, ["/etc/apt/sources.list"] + parts):
        kind = path.rsplit(".", 1)[-1]
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for entry in re.split(r"\n\s*\n" if kind == "sources" else r"\n", text):
            wanted = r"^Suites:(.*)$" if kind == "sources" else r"^deb\s(?:\[.*?\])?(.*)$"
            found = re.search(wanted, entry, re.M)
            if kind in kept and found and own in found.group(1).split():
                one = f"Suites: {suite}" if kind == "sources" else f" {suite} ".join(
                    re.split(rf"\s{re.escape(own)}\s", found.group(0), maxsplit=1))
                kept[kind].append(entry.strip().replace(found.group(0), one))
    if not kept["sources"] + kept["list"]:
        raise Failure(f"no package source for '{own}' in /etc/apt: apt does not know where to look")
    os.mkdir(f"{base}/sources")
    for kind, entries in kept.items():
        with open(f"{base}/sources/machine.{kind}", "w", encoding="utf-8") as file:
            file.write("\n\n".join(entries) + "\n")


def apt_environment(base, suite):
    """An apt that knows nothing installed, works below `base` and needs no privileges."""
    for part in ("lists/partial", "archives/partial"):
        os.makedirs(f"{base}/{part}")
    write_sources(base, machine_suite(), suite)
    open(f"{base}/status", "w", encoding="utf-8").close()
    with open(f"{base}/apt.conf", "w", encoding="utf-8") as file:
        file.write(
            f'Dir::Etc::sourcelist "{base}/none"; Dir::Etc::sourceparts "{base}/sources";\n'
            f'Dir::Etc::preferences "{base}/none"; Dir::Etc::preferencesparts "{base}/none";\n'
            f'Dir::State "{base}"; Dir::State::lists "{base}/lists";\n'
            f'Dir::State::status "{base}/status"; Dir::Cache "{base}";\n'
            'APT::Install-Recommends "false"; APT::Sandbox::User "root"; Debug::NoLocking "true";\n'
            'APT::Update::Error-Mode "any"; Acquire::Languages "none"; Acquire::Retries "2";\n'
        )
    return dict(os.environ, APT_CONFIG=f"{base}/apt.conf", LC_ALL="C")


def fetch(packages, suite, debs):
    """Download `packages` and all they depend on into `debs`; returns [(package, deb)]."""
    os.makedirs(debs, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=debs, prefix="apt-") as base:
        env = apt_environment(base, suite)
        say(f"reading the package lists of {suite}")
        run(
            ["apt-get", "-q", "update"],
            f"the package lists of '{suite}' could not be fetched. The demo store needs the\n"
            "  network once; 'make demo STORE=DIR' shows the same for a store you have.",
            env=env,
        )
        plan = run(
            ["apt-get", "-s", "install"] + packages,
            f"apt cannot find {' and '.join(packages)} with all they need in '{suite}'",
            env=env,
        )
        wanted = re.findall(r"^Inst (\S+) (?:\[\S+\] )?\((\S+) .*?\[(\S+)\]\)", plan, re.M)
        found = [
            (name, f"{debs}/{name}_{version.replace(':', '%3a')}_{arch}.deb", f"{name}={version}")
            for name, version, arch in wanted
        ]
        for first in range(0, len(found), 15):  # apt takes a second to start: some at a time
            batch = found[first : first + 15]
            missing = [exact for _, deb, exact in batch if not os.path.exists(deb)]
            if missing:
                failed = f"of {', '.join(missing)} not all could be downloaded"
                run(["apt-get", "-q", "download"] + missing, failed, env=env, cwd=debs)
            progress(first + len(batch), len(found), "downloaded")
    return [(package, deb) for package, deb, _ in found]
