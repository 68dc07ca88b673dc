"""Just enough of ELF to look at what an editor left: little-endian, 64 and 32 bits."""

import struct

SHT_PROGBITS, SHT_SYMTAB, SHT_NOBITS, SHT_DYNSYM, SHT_GROUP = 1, 2, 8, 11, 17
SHF_ALLOC = 2
PT_LOAD, PT_DYNAMIC, PT_NOTE = 1, 2, 4
DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_SONAME, DT_RUNPATH = 1, 5, 10, 14, 29


class Elf:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        data = self.data
        self.wide = data[4] == 2
        self.type, self.machine = struct.unpack_from("<HH", data, 16)
        if self.wide:
            self.phoff, self.shoff = struct.unpack_from("<QQ", data, 32)
            at = 52
        else:
            self.phoff, self.shoff = struct.unpack_from("<II", data, 28)
            at = 40
        (_, self.phentsize, self.phnum, self.shentsize, self.shnum,
         self.shstrndx) = struct.unpack_from("<HHHHHH", data, at)
        self.segments = [self._segment(i) for i in range(self.phnum)]
        self.sections = [self._section(i) for i in range(self.shnum)]
        if self.sections:
            names = self.sections[self.shstrndx]
            for section in self.sections:
                section["name"] = self._string(names["offset"], section["name_at"])

    def _segment(self, i):
        at = self.phoff + i * self.phentsize
        if self.wide:
            kind, flags, offset, vaddr, _, filesz, memsz, align = struct.unpack_from(
                "<IIQQQQQQ", self.data, at)
        else:
            kind, offset, vaddr, _, filesz, memsz, flags, align = struct.unpack_from(
                "<IIIIIIII", self.data, at)
        return dict(type=kind, flags=flags, offset=offset, vaddr=vaddr, filesz=filesz,
                    memsz=memsz, align=align)

    def _section(self, i):
        fields = struct.unpack_from("<IIQQQQIIQQ" if self.wide else "<IIIIIIIIII", self.data,
                                    self.shoff + i * self.shentsize)
        keys = "name_at type flags addr offset size link info align entsize".split()
        return dict(zip(keys, fields))

    def _string(self, table, at):
        return self.data[table + at:self.data.index(0, table + at)].decode()

    def offset(self, vaddr):
        for s in self.segments:
            if s["type"] == PT_LOAD and s["vaddr"] <= vaddr < s["vaddr"] + s["filesz"]:
                return vaddr - s["vaddr"] + s["offset"]
        raise ValueError(f"no segment holds {vaddr:#x}")

    def dynamic(self):
        at = next((s["offset"] for s in self.segments if s["type"] == PT_DYNAMIC), None)
        if at is None:
            return []
        form, size = ("<qQ", 16) if self.wide else ("<iI", 8)
        entries = []
        while True:
            tag, value = struct.unpack_from(form, self.data, at)
            if tag == 0:
                return entries
            entries.append((tag, value))
            at += size

    def strings(self, tag):
        if not self.dynamic():
            return []
        table = self.offset(dict(self.dynamic())[DT_STRTAB])
        return [self._string(table, value) for t, value in self.dynamic() if t == tag]

    def needed(self):
        return self.strings(DT_NEEDED)

    def run_path(self):
        return (self.strings(DT_RUNPATH) or [None])[0]

    def section(self, name):
        return next((s for s in self.sections if s.get("name") == name), None)

    def content(self, section):
        return self.data[section["offset"]:section["offset"] + section["size"]]
