"""Files as compilers, editors and strip leave them: what the small ELF writer does not write."""

import os
import struct
import subprocess

NOTE = """
    .section .note.GNU-stack,"",@progbits
    .section {section},"a",@note
    .align 4
    .long {length}, 2, {type}
    .asciz "{owner}"
    .align 4
    .byte 0, 0, 0, 0
"""
OURS = {"section": ".note.nixos.ldcache", "owner": "NixOS", "type": "0x63a86cb6"}


def run(*argv):
    subprocess.run(argv, check=True, capture_output=True)


def compile_(folder, name, *options, **note):
    """A program; with a note when one is told."""
    sources = [f"{folder}/main.c"]
    with open(sources[0], "w", encoding="utf-8") as file:
        file.write("int main(void) { return 0; }\n")
    if note:
        note = dict(OURS, **note)
        sources.append(f"{folder}/note.s")
        with open(sources[1], "w", encoding="utf-8") as file:
            file.write(NOTE.format(length=len(note["owner"]) + 1, **note))
    run("gcc", *options, *sources, "-o", f"{folder}/{name}")
    return f"{folder}/{name}"


def change(path, edit):
    with open(path, "rb") as file:
        data = bytearray(file.read())
    edit(data)
    with open(path, "wb") as file:
        file.write(data)
    return path


def swap_sections(data):
    """Two loaded sections change places in the table, not in the file."""
    at, = struct.unpack_from("<Q", data, 40)
    n, names = struct.unpack_from("<HH", data, 60)
    loaded = [i for i in range(1, n) if struct.unpack_from("<Q", data, at + 64 * i + 8)[0] & 2
              and i != names]
    a, b = (at + 64 * i for i in loaded[2:4])
    data[a:a + 64], data[b:b + 64] = data[b:b + 64], data[a:a + 64]


def swap_unloaded(data):
    """The same of two that are not loaded: linkers order these as they like."""
    at, = struct.unpack_from("<Q", data, 40)
    n, = struct.unpack_from("<H", data, 60)
    free = [i for i in range(1, n) if not struct.unpack_from("<Q", data, at + 64 * i + 8)[0] & 2]
    a, b = (at + 64 * i for i in free[:2])
    data[a:a + 64], data[b:b + 64] = data[b:b + 64], data[a:a + 64]


def headers_to_end(data):
    """As early editors did: the program headers behind everything."""
    size = struct.unpack_from("<HH", data, 54)
    table = data[64:64 + size[0] * size[1]]
    data += bytes(-len(data) % 8)
    struct.pack_into("<Q", data, 32, len(data))
    data += table


def cut_note_segments(data):
    """PT_NOTE becomes PT_NULL: the section is still there."""
    n, = struct.unpack_from("<H", data, 56)
    for at in range(64, 64 + 56 * n, 56):
        if struct.unpack_from("<I", data, at)[0] == 4:
            struct.pack_into("<I", data, at, 0)


def long_run_path(path):
    run("patchelf", "--set-rpath", "/" + "q" * 300, path)
    return path


def files(folder):
    """[path, rule that it trips, or None: none of both, part of the message]."""
    os.makedirs(folder)
    fixed = ["-no-pie", "-fno-pie"]
    return [
        [compile_(folder, "plain"), None, ""],
        [compile_(folder, "fixed", *fixed), None, ""],
        # patchelf survives itself, and strip, where addresses are free
        [long_run_path(compile_(folder, "edited")), None, ""],
        [long_run_path(compile_(folder, "edited-fixed", *fixed)), "R701", "an earlier edit moved"],
        [change(compile_(folder, "at-the-end"), headers_to_end), "R701", "an earlier edit moved"],
        [change(compile_(folder, "unsorted"), swap_sections), "R701", "not in the order"],
        [change(compile_(folder, "unloaded"), swap_unloaded), None, ""],
        [compile_(folder, "note", owner="NixOS"), None, ""],
        [compile_(folder, "owner", owner="Debix"), "R502", "another owner"],
        [compile_(folder, "type", type="7"), "R502", "another owner, type"],
        [compile_(folder, "ours", section=".note.stormlint", owner="storm"), "R502", "owner"],
        [compile_(folder, "elsewhere", section=".note.x", owner="Debix"), "R502", "another owner"],
        [compile_(folder, "another", section=".note.nixos.other", type="7"), None, ""],
        [change(compile_(folder, "unseen", owner="NixOS"), cut_note_segments), "R502",
         "no PT_NOTE covers"],
        [change(compile_(folder, "no-notes"), cut_note_segments), None, ""],
    ]
