/*
 * ELF files to be edited, hostile: any bytes must end in an edited file or in a reason. The first
 * byte chooses the change, the rest is the file. What came out is edited once more.
 */
#include "planner/elf_edit.h"
#include "scanner/elf_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    NEEDED = 1,
    RUN_PATH = 2,
    LONG = 4,
    RENAME = 8,
    NOTE = 16,
    NO_NOTE = 32,
    CLOSURE = 64,
    NO_CLOSURE = 128
};

static struct elf_change choose(unsigned bits)
{
    static const char *const needed[] = {"liba.so", "libb.so", "libc.so.6", "libb.so"};
    static const struct rename renames[] = {{"libc.so.6", "/long/path/to/libc.so.6"},
                                            {"liba.so", "a"}};
    static const unsigned char descriptor[] = "liba.so\0=/a/liba.so\0";
    struct elf_change change = {0};

    if (bits & NEEDED) {
        change.needed = needed;
        change.n_needed = bits & LONG ? ARRAY_LEN(needed) : 1;
    }
    if (bits & RUN_PATH)
        change.run_path = bits & LONG ? "/a/long/run/path/that/needs/room/of/its/own:/old" : "/a";
    if (bits & RENAME) {
        change.renames = renames;
        change.n_renames = ARRAY_LEN(renames);
    }
    if (bits & NOTE) {
        change.note = NOTE_SET;
        change.descriptor = (struct note){descriptor, sizeof(descriptor)};
    } else if (bits & NO_NOTE) {
        change.note = NOTE_REMOVE;
    }
    if (bits & CLOSURE) {
        change.closure = NOTE_SET;
        change.closure_descriptor = (struct note){descriptor, sizeof(descriptor)};
        change.audit = bits & LONG ? "/a/long/path/to/an/audit/module/lib.so" : "/a";
    } else if (bits & NO_CLOSURE) {
        change.closure = NOTE_REMOVE;
        change.audit = "";
    }
    return change;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    const struct object *object;
    struct elf_edited once, twice;
    struct elf_change change;
    struct err err = {0};

    if (size < 1)
        return 0;
    change = choose(data[0]);
    if (elf_edit(data + 1, size - 1, &change, &arena, &once, &err) < 0) {
        if (!*err.text)
            __builtin_trap();
        return 0;
    }
    if ((once.in_place && once.size != size - 1) || once.size > 4 * size + 65536)
        __builtin_trap();
    if (elf_read(&(struct elf_source){.fd = -1, .bytes = once.bytes, .size = once.size}, &arena,
                 &object, &err) < 0)
        __builtin_trap();
    change = choose(data[0] ^ LONG);
    (void)!elf_edit(once.bytes, once.size, &change, &arena, &twice, &err);
    return 0;
}
