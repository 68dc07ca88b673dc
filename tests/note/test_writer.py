"""What the editor writes: sections, segments, DT_AUDIT; and what it refuses."""

import os
import struct
import tempfile

from elf import Elf, PT_NOTE
from report import Failed, must, run, same
from store import texts

DT_AUDIT = 0x6ffffefc
READER = "/nix/store/00000000000000000000000000000000-resolver/lib/libstormlint-resolve.so"
NOTE = texts("1", "", "libc.so.6", "", ".", "libc.so.6", "=/c/libc.so.6")
OTHER = texts("1", "", "libc.so.6", "", ".", "libc.so.6", "=/d/libc.so.6")
PAIRS = texts("libc.so.6", "=/c/libc.so.6")


class Files:
    def __init__(self, scratch, build):
        self.dir, self.tool = scratch, os.path.join(build, "tests/edit")
        self.program = self.path("program")
        must("gcc", "-x", "c", "-", "-o", self.program, input="int main(void) { return 7; }")
        for name, content in (("note", NOTE), ("other", OTHER), ("pairs", PAIRS)):
            with open(self.path(name), "wb") as file:
                file.write(content)

    def path(self, name):
        return os.path.join(self.dir, name)

    def edit(self, old, new, *options):
        return must(self.tool, *options, self.path(old), self.path(new)).strip()

    def refused(self, rule, old, *options):
        done = run(self.tool, *options, self.path(old), self.path("refused"))
        if done.returncode != 1 or not done.stderr.startswith(rule + ":"):
            raise Failed(f"status {done.returncode}: {done.stderr.strip()}, expected {rule}")


def expect_note(path, section, owner, kind, descriptor):
    elf = Elf(path)
    content = elf.content(elf.section(section))
    name = owner.encode() + b"\0"
    wanted = struct.pack("<III", len(name), len(descriptor), kind) + name
    wanted += b"\0" * (-len(wanted) % 4) + descriptor
    same(section, content, wanted + b"\0" * (-len(wanted) % 4))
    found = [s for s in elf.segments
             if s["type"] == PT_NOTE and s["offset"] == elf.section(section)["offset"]]
    same("PT_NOTE", [(s["filesz"], s["align"]) for s in found], [(len(content), 4)])


def written(files):
    files.edit("program", "noted", "--closure", files.path("note"), "--audit", READER)
    elf = Elf(files.path("noted"))
    same("DT_AUDIT", elf.strings(DT_AUDIT), [READER])
    expect_note(files.path("noted"), ".note.stormlint", "stormlint", 0x53544f52, NOTE)
    same("status", run(files.path("noted")).returncode if os.chmod(files.path("noted"), 0o755)
         is None else None, 7)


def both_notes(files):
    files.edit("program", "both", "--closure", files.path("note"), "--audit", READER,
               "--note", files.path("pairs"))
    expect_note(files.path("both"), ".note.stormlint", "stormlint", 0x53544f52, NOTE)
    expect_note(files.path("both"), ".note.nixos.ldcache", "NixOS", 0x63a86cb6, PAIRS)


def again(files):
    same("the same note", files.edit("noted", "again", "--closure", files.path("note"),
                                     "--audit", READER), "nothing to do")


def renewed(files):
    files.refused("note", "noted", "--closure", files.path("other"), "--audit", READER)
    files.refused("audit", "noted", "--closure", files.path("note"), "--audit", "/elsewhere.so")
    same("in place", files.edit("noted", "renewed", "--closure", files.path("other"), "--audit",
                                "/elsewhere.so", "--renew"), "in place")
    expect_note(files.path("renewed"), ".note.stormlint", "stormlint", 0x53544f52, OTHER)
    elf = Elf(files.path("renewed"))
    same("DT_AUDIT", elf.strings(DT_AUDIT), ["/elsewhere.so"])
    for gone in (b"=/c/libc.so.6", READER.encode()):
        if gone in elf.data:
            raise Failed(f"{gone} is still there")


def removed(files):
    files.edit("noted", "removed", "--no-closure", "--audit", "")
    elf = Elf(files.path("removed"))
    same("DT_AUDIT", elf.strings(DT_AUDIT), [])
    same("section", elf.section(".note.stormlint"), None)
    if READER.encode() in elf.data or b"=/c/libc.so.6" in elf.data:
        raise Failed("the note's bytes are still there")


def tools_after(files):
    for argv in (["strip"], ["strip", "-g"], ["patchelf", "--set-rpath", "/a/longer/run/path"]):
        must("cp", files.path("noted"), files.path("after"))
        must(*argv, files.path("after"))
        same(f"{argv[0]}: status", run(files.path("after")).returncode, 7)
        same(f"{argv[0]}: DT_AUDIT", Elf(files.path("after")).strings(DT_AUDIT), [READER])
    must("objcopy", files.path("noted"), files.path("after"))
    same("objcopy: status", run(files.path("after")).returncode, 7)


def test(report, build):
    with tempfile.TemporaryDirectory(prefix="stormlint-note-") as scratch:
        files = Files(scratch, build)
        report.test("writer: note and DT_AUDIT", written, files)
        report.test("writer: both notes", both_notes, files)
        report.test("writer: again", again, files)
        report.test("writer: renewed", renewed, files)
        report.test("writer: removed", removed, files)
        report.test("writer: tools afterwards", tools_after, files)
