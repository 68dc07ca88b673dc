"""The ELF editor: what it leaves alone, what it changes, and which tools live with the result."""

import glob
import os
import re
import shutil
import struct
import tempfile

from elf import DT_NEEDED, DT_RUNPATH, DT_STRTAB, Elf, PT_LOAD, PT_NOTE, SHF_ALLOC, SHT_DYNSYM, \
    SHT_GROUP, SHT_NOBITS, SHT_PROGBITS, SHT_SYMTAB
from report import Failed, must, run, same

# Names end in the run path's last component, so that the linker stores them as its tail
SOURCES = {
    "b": 'int end_of_path = 1; const char *b_name(void) { return "b"; }',
    "a": 'const char *b_name(void); const char *a_name(void) { return b_name(); }',
    "main": """
#include <stdio.h>
const char *a_name(void);
extern int end_of_path;
int main(void) { printf("%s %d\\n", a_name(), end_of_path); return 7; }
""",
}
BARE = """
const char *a_name(void);
void _start(void) { (void)a_name(); __asm__("mov $1, %eax; mov $7, %ebx; int $0x80"); }
"""

# name: flags of compiler and linker for the program
FORMS = {
    "pie": [],
    "exec": ["-no-pie", "-fno-pie"],
    "64k": ["-Wl,-z,max-page-size=65536"],
    "lld": ["-fuse-ld=lld"],
    "lld-exec": ["-fuse-ld=lld", "-no-pie", "-fno-pie"],
    "now": ["-Wl,-z,now,-z,relro,-z,separate-code"],
    "sysv": ["-Wl,--hash-style=sysv", "-Wl,--build-id=none"],
    "tails": ["-Wl,-O2"],
    "no-spare": ["-Wl,-z,noseparate-code", "-Wl,--spare-dynamic-tags=1"],
}


class Case:
    """A program with a library of a library, in a directory of its own."""

    def __init__(self, scratch, form, edit):
        self.dir = os.path.join(scratch, form)
        self.edit_tool = edit
        for name in ("a", "b", "farm"):
            os.makedirs(os.path.join(self.dir, name))
        for name, text in SOURCES.items():
            with open(os.path.join(self.dir, f"{name}.c"), "w", encoding="utf-8") as file:
                file.write(text)
        a, b = (os.path.join(self.dir, x) for x in "ab")
        if form == "32-bit":
            self.build_bare(a, b)
        else:
            must("gcc", "-shared", "-fPIC", "-o", f"{b}/libb.so", f"{self.dir}/b.c",
                 "-Wl,-soname,libb.so")
            must("gcc", "-shared", "-fPIC", "-o", f"{a}/liba.so", f"{self.dir}/a.c",
                 "-Wl,-soname,liba.so", f"-L{b}", "-lb", f"-Wl,-rpath,{b}",
                 "-Wl,--enable-new-dtags")
            self.old = f"{a}:{b}" + (":/x/end_of_path" if form == "tails" else "")
            must("gcc", "-g", *FORMS[form], "-o", f"{self.dir}/old", f"{self.dir}/main.c",
                 f"-L{a}", "-la", f"-L{b}", "-lb", f"-Wl,-rpath,{self.old}",
                 "-Wl,--enable-new-dtags")
            self.needed = ["liba.so", "libb.so", "libc.so.6", "ld-linux-x86-64.so.2"]
        self.farm = f"{self.dir}/farm/" + "long-name" * 10
        os.makedirs(self.farm)
        for name in "ab":
            os.symlink(f"{self.dir}/{name}/lib{name}.so", f"{self.farm}/lib{name}.so")
        self.run_path = f"{self.farm}:{self.old}"

    def build_bare(self, a, b):
        """32 bits without a C library of that class."""
        flags = ["-m32", "-nostdlib", "-fno-asynchronous-unwind-tables", "-fno-stack-protector"]
        with open(f"{self.dir}/main.c", "w", encoding="utf-8") as file:
            file.write(BARE)
        must("gcc", *flags, "-shared", "-fPIC", "-o", f"{b}/libb.so", f"{self.dir}/b.c",
             "-Wl,-soname,libb.so")
        must("gcc", *flags, "-shared", "-fPIC", "-o", f"{a}/liba.so", f"{self.dir}/a.c",
             "-Wl,-soname,liba.so", f"-L{b}", "-lb", f"-Wl,-rpath,{b}", "-Wl,--enable-new-dtags")
        self.old = a
        must("gcc", *flags, "-pie", "-fPIE", "-o", f"{self.dir}/old", f"{self.dir}/main.c",
             f"-L{a}", "-la", f"-Wl,-rpath-link,{b}", f"-Wl,-rpath,{a}",
             "-Wl,--enable-new-dtags")
        self.needed = ["liba.so", "libb.so"]

    def path(self, name):
        return f"{self.dir}/{name}"

    def edit(self, source, target, *args):
        return must(self.edit_tool, *args, self.path(source), self.path(target)).strip()

    def lift(self, source="old", target="new"):
        how = self.edit(source, target, "--needed", ",".join(self.needed), "--run-path",
                        self.run_path)
        os.chmod(self.path(target), 0o755)
        return how

    def output(self, name):
        done = run(self.path(name))
        return done.returncode, done.stdout, done.stderr

    def works(self, name, reference):
        same("what it says", self.output(name), reference)


def check_lists(case, name):
    elf = Elf(case.path(name))
    same("needed", elf.needed(), case.needed)
    same("run path", elf.run_path(), case.run_path)


def masked(elf, section):
    """A section's bytes without what an edit of headers changes."""
    content = bytearray(elf.content(section))
    if section["type"] in (SHT_SYMTAB, SHT_DYNSYM):  # section numbers, addresses of moved ones
        for at in range(0, len(content), 24 if elf.wide else 16):
            content[at + (6 if elf.wide else 14):at + (16 if elf.wide else 16)] = bytes(
                10 if elf.wide else 2)
    return bytes(content)


def check_untouched(case, old_name, new_name):
    """Every section but .dynamic and strings has its old bytes, and stays or moved as a whole."""
    old, new = Elf(case.path(old_name)), Elf(case.path(new_name))
    changed = {".dynamic", ".dynstr", ".shstrtab"}
    for s in old.sections[1:]:
        t = new.section(s["name"])
        if not t:
            raise Failed(f"section {s['name']} is gone")
        if s["name"] in changed or s["type"] == SHT_NOBITS:
            continue
        if masked(old, s) != masked(new, t):
            raise Failed(f"section {s['name']} has other bytes")
        if (s["addr"], s["offset"]) != (t["addr"], t["offset"]) and s["name"] not in (
                ".interp", ".gnu.hash", ".hash") and not s["name"].startswith(".note"):
            raise Failed(f"section {s['name']} moved")
    if new.phoff != old.phoff:
        raise Failed("the program headers moved")
    tags = lambda elf: [(t, v) for t, v in elf.dynamic()
                        if t not in (DT_NEEDED, DT_RUNPATH, DT_STRTAB, 10, 4, 0x6ffffef5)]
    same("other dynamic tags", tags(new), tags(old))
    addresses = [s["addr"] for s in new.sections if s["flags"] & SHF_ALLOC]
    same("sections in memory", addresses, sorted(addresses))
    # bytes between and behind: the old file's, or zero where something moved away
    end = min(len(old.data), old.shoff,
              max(s["offset"] for s in new.segments if s["type"] == PT_LOAD))
    table = range(old.phoff, new.phoff + new.phnum * new.phentsize)
    spans = [range(s["offset"], s["offset"] + s["size"]) for s in old.sections[1:]
             if s["type"] != SHT_NOBITS]
    for at in range(end):
        if old.data[at] != new.data[at] and new.data[at] != 0 and at >= 64 and at not in table and \
                not any(at in span for span in spans):
            raise Failed(f"byte {at:#x} changed and is in no section")


def complaints(path):
    text = run("eu-elflint", "--gnu-ld", path).stdout
    return set(re.sub(r"0x[0-9a-f]+|\[ *\d+\]|\d+", "N", line) for line in text.splitlines()
               if line != "No errors")


def check_lint(case, old, new):
    more = complaints(case.path(new)) - complaints(case.path(old))
    if more:
        raise Failed(f"eu-elflint has new complaints: {sorted(more)}")


LONG = "/" + "x" * 200
PATCHELF = os.environ.get("PATCHELF", "patchelf")  # another version, by hand: get-patchelf
TOOLS = {
    "strip": ["strip"],
    "strip-g": ["strip", "-g"],
    "eu-strip": ["eu-strip"],
    "objcopy": ["objcopy"],
    "patchelf-set-rpath": [PATCHELF, "--set-rpath"],
    "patchelf-shrink": [PATCHELF, "--shrink-rpath"],
    "patchelf-add-needed": [PATCHELF, "--add-needed", "libm.so.6"],
    "patchelf-interpreter": [PATCHELF, "--set-interpreter"],
}


def use_tool(case, tool, name):
    argv = list(TOOLS[tool])
    elf = Elf(case.path(name))
    if tool == "patchelf-set-rpath":
        argv.append(f"{LONG}:{elf.run_path()}")
    if tool == "patchelf-interpreter":
        link = case.path("loader-" + "x" * 60)
        interp = elf.content(elf.section(".interp"))[:-1].decode()
        if not os.path.exists(link):
            os.symlink(interp, link)
        argv.append(link)
    must(*argv, case.path(name))


def tool_after(case, tool, reference):
    name = f"after-{tool}"
    shutil.copy(case.path("new"), case.path(name))
    use_tool(case, tool, name)
    if reference:
        case.works(name, reference)
    needed = [n for n in Elf(case.path(name)).needed() if n != "libm.so.6"]
    same("needed", needed, case.needed)


def tool_before(case, tool, reference):
    name = f"before-{tool}"
    shutil.copy(case.path("old"), case.path(name))
    use_tool(case, tool, name)
    if reference and case.output(name) != reference:
        return  # the tool itself broke it
    case.lift(name, f"{name}-new")
    if reference:
        case.works(f"{name}-new", reference)
    check_lists(case, f"{name}-new")
    if tool != "patchelf-add-needed" or "exec" not in case.dir:
        check_lint(case, name, f"{name}-new")  # there patchelf's own page loses its one section
    for last in ("strip", "patchelf-set-rpath"):
        shutil.copy(case.path(f"{name}-new"), case.path(f"{name}-{last}"))
        twin = case.path(f"{name}-twin")
        shutil.copy(case.path(name), twin)
        use_tool(case, last, f"{name}-twin")
        if reference and case.output(f"{name}-twin") != reference:
            continue  # the two tools break it without us
        use_tool(case, last, f"{name}-{last}")
        if reference:
            case.works(f"{name}-{last}", reference)


def check_in_place(case, reference):
    """What is shorter, or permuted, is written where the old strings were."""
    elf = Elf(case.path("old"))
    swapped = elf.needed()[1:] + elf.needed()[:1]
    short = case.old[:-len("/x/end_of_path")] if case.old.endswith("/x/end_of_path") else case.old
    how = case.edit("old", "short", "--needed", ",".join(swapped), "--run-path",
                    short + "/" if len(short) < len(case.old) else short)
    same("how", how, "in place" if len(swapped) > 1 else "nothing to do")
    same("needed", Elf(case.path("short")).needed(), swapped)
    same("size", os.path.getsize(case.path("short")), os.path.getsize(case.path("old")))
    os.chmod(case.path("short"), 0o755)
    if reference:
        case.works("short", reference)


def check_wiped(case):
    """No store path of the old strings is left anywhere, and shared tails are."""
    case.edit("old", "wiped", "--run-path", "/only/this/one/which/is/a/path/of/its/own" * 4)
    data = Elf(case.path("wiped")).data
    if case.old.encode() in data:
        raise Failed("the old run path is still in the file")
    if b"end_of_path" not in data and b"end_of_path" in Elf(case.path("old")).data:
        raise Failed("a symbol's name went with the run path")


def check_note(case, reference):
    """A resolution note: added, renewed in place, renewed longer, removed."""
    def note_of(name):
        section = Elf(case.path(name)).section(".note.nixos.ldcache")
        return section and Elf(case.path(name)).content(section)

    def put(name, text):
        with open(case.path(name), "wb") as file:
            file.write(text)

    put("n1", b"liba.so\0=" + case.dir.encode() + b"/a/liba.so\0\0")
    put("n2", b"liba.so\0=/s\0\0")
    put("n3", b"liba.so\0=" + b"/long" * 100 + b"\0\0")
    case.edit("old", "noted", "--note", case.path("n1"))
    if b"/a/liba.so" not in note_of("noted"):
        raise Failed("the note is not in its section")
    check_lint_note(case, "old", "noted")
    same("shorter", case.edit("noted", "noted2", "--note", case.path("n2")), "in place")
    same("again", case.edit("noted2", "noted2b", "--note", case.path("n2")), "nothing to do")
    case.edit("noted", "noted3", "--note", case.path("n3"))
    same("removed", case.edit("noted3", "noted4", "--no-note"), "in place")
    for name, text in (("noted2", "=/s"), ("noted3", "/long/long")):
        if text.encode() not in note_of(name):
            raise Failed(f"{name} has another note")
        if b"/a/liba.so\0\0" in Elf(case.path(name)).data:
            raise Failed(f"{name} still holds the old note")
    if note_of("noted4") is not None or b"/long/long" in Elf(case.path("noted4")).data:
        raise Failed("the note is still there")
    same("notes", count_notes(case, "noted3"), count_notes(case, "old") + 1)
    same("notes", count_notes(case, "noted4"), count_notes(case, "old"))
    case.lift("noted", "noted5")
    for name in ("noted", "noted2", "noted3", "noted4", "noted5"):
        os.chmod(case.path(name), 0o755)
        for tool in (None, "strip", "eu-strip", "objcopy", "patchelf-set-rpath"):
            shutil.copy(case.path(name), case.path("tooled"))
            if tool == "patchelf-set-rpath" and b"/x/end_of_path" in case.old.encode() and \
                    name != "noted5":
                continue  # patchelf wipes the symbol's name with the old run path
            if tool:
                use_tool(case, tool, "tooled")
            if reference:
                same(f"{name} after {tool}", case.output("tooled"), reference)


def count_notes(case, name):
    return len([s for s in Elf(case.path(name)).segments if s["type"] == PT_NOTE])


def check_lint_note(case, old, new):
    more = {c for c in complaints(case.path(new)) - complaints(case.path(old))
            if "unknown" not in c}
    if more:
        raise Failed(f"eu-elflint has new complaints: {sorted(more)}")


def refuse(case, rule, make):
    make(case.path("bad"))
    done = run(case.edit_tool, "--needed", ",".join(case.needed), "--run-path", case.run_path,
               case.path("bad"), case.path("bad.new"))
    if done.returncode != 1 or not done.stderr.startswith(rule):
        raise Failed(f"not refused as {rule}: {done.returncode} {done.stdout}{done.stderr}")


def check_refusals(case):
    def payload(path):
        shutil.copy(case.path("old"), path)
        with open(path, "ab") as file:
            file.write(b"PK\x03\x04 payload")

    def stripped(path):
        with open(case.path("old"), "rb") as file:
            data = bytearray(file.read())
        data[40:48], data[60:64] = bytes(8), bytes(4)
        end = max(s["offset"] + s["filesz"] for s in Elf(case.path("old")).segments)
        with open(path, "wb") as file:
            file.write(data[:end])

    def static(path):
        must("gcc", "-static", "-nostdlib", "-x", "c", "-o", path, "-", input="void _start(void){}")

    def filter_(path):
        must("gcc", "-shared", "-nostdlib", "-x", "c", "-o", path, "-Wl,--filter=libf.so", "-",
             input="int x;")

    def rpath(path):
        must("gcc", "-o", path, f"{case.dir}/main.c", f"-L{case.dir}/a", "-la", f"-L{case.dir}/b",
             "-lb", f"-Wl,-rpath,{case.old}", "-Wl,--disable-new-dtags")

    def loader(path):
        shutil.copy(os.path.realpath(glob.glob("/lib*/*/ld-linux-x86-64.so.2")[0] if glob.glob(
            "/lib*/*/ld-linux-x86-64.so.2") else "/lib64/ld-linux-x86-64.so.2"), path)

    def libc(path):
        shutil.copy(must("gcc", "-print-file-name=libc.so.6").strip(), path)

    def lifted(path):
        case.edit("old", "bad", "--run-path",
                  "/nix/store/" + "0" * 32 + "-x/nix-support/stormlint/farm:/y")
        if not os.path.exists(path):
            raise Failed("no file to be refused")

    def debug(path):
        must("objcopy", "--only-keep-debug", case.path("old"), path)

    def section_type(path, which, kind):
        """The file, with another type in the header of one section."""
        elf = Elf(case.path("old"))
        data = bytearray(elf.data)
        i = next(i for i, s in enumerate(elf.sections) if which(s["name"]))
        struct.pack_into("<I", data, elf.shoff + i * elf.shentsize + 4, kind)
        with open(path, "wb") as file:
            file.write(data)

    def no_room(path):  # what looks like data behind the program headers
        section_type(path, lambda name: name.startswith(".note.gnu"), SHT_PROGBITS)

    def group(path):
        section_type(path, lambda name: name == ".comment", SHT_GROUP)

    def relocatable(path):
        must("gcc", "-c", "-o", path, f"{case.dir}/a.c")

    for rule, make in (("payload", payload), ("no-sections", stripped), ("static", static),
                       ("filter", filter_), ("rpath", rpath), ("loader", loader),
                       ("loader", libc), ("lifted", lifted), ("type", relocatable),
                       ("debug", debug), ("no-room", no_room), ("section-group", group)):
        refuse(case, rule, make)


def run_form(report, scratch, form, edit):
    case = Case(scratch, form, edit)
    reference = case.output("old")
    if form == "32-bit" and reference[0] != 7:
        reference = None  # no loader of that class here: only the file is looked at
    elif reference[0] != 7:
        report.test(form, same, "as built", reference[0], 7)
        return
    case.lift()
    name = lambda what: f"edit {form}: {what}"
    if reference:
        report.test(name("runs"), case.works, "new", reference)
    report.test(name("lists"), check_lists, case, "new")
    report.test(name("untouched"), check_untouched, case, "old", "new")
    report.test(name("eu-elflint"), check_lint, case, "old", "new")
    report.test(name("in place"), check_in_place, case, reference)
    report.test(name("wiped"), check_wiped, case)
    report.test(name("note"), check_note, case, reference)
    for tool in TOOLS:
        report.test(name(f"then {tool}"), tool_after, case, tool, reference)
        report.test(name(f"after {tool}"), tool_before, case, tool, reference)
    if form == "pie":
        report.test(name("refusals"), check_refusals, case)


def test(report, build):
    edit = os.path.join(build, "tests/edit")
    with tempfile.TemporaryDirectory(prefix="stormlint-edit-") as scratch:
        for form in list(FORMS) + ["32-bit"]:
            try:
                run_form(report, scratch, form, edit)
            except Failed as failure:
                if form == "32-bit" and "gcc" in str(failure):
                    report.skip(form, "no 32-bit compiler")
                else:
                    report.failed += 1
                    print(f"FAILED {form}: {failure}")
