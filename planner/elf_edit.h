/*
 * The ELF editor: needed names, run path, names of wanted versions, notes and the audit module of
 * one file, changed in one pass over its bytes.
 *
 *	struct elf_change change = {.run_path = "/farm:/old", .needed = list, .n_needed = n};
 *	r = elf_edit(bytes, size, &change, &arena, &edited, &err);
 *
 * What fits is changed in place, and the file does not grow. Else one segment is appended:
 *
 *	+--------+-------------+-- ... --+-------------------------------------------+----------+
 *	| header | program     | old     | displaced | .dynstr | .dynamic     | notes | section  |
 *	|        | headers + n |         | sections  | (copy)  | (if too long)|       | headers  |
 *	+--------+-------------+-- ... --+-------------------------------------------+----------+
 *
 * The program headers grow where they are (so the kernel's AT_PHDR is right everywhere), over the
 * sections behind them (.interp, notes, hash table), which move into the new segment. File offset
 * and address of the segment are only congruent modulo the largest alignment: no padding to pages.
 * Section headers are written anew, in address order, so that strip, objcopy and patchelf find a
 * file they understand. Why each of these: docs/elf-editor.md.
 *
 * Only dynamic tags, the strings they name, and headers change; every other byte stays. Strings
 * that are no longer named are zeroed (a store path in them would count as a reference), but for
 * bytes that another string shares: linkers merge tails.
 *
 * Little-endian files of 64 and 32 bits. Bytes are not trusted.
 */
#pragma once

#include "base/arena.h"
#include "planner/edit.h"

enum elf_note_change { NOTE_LEAVE, NOTE_REMOVE, NOTE_SET };

struct elf_change {
    /* The new needed list, in this order; NULL: leave as it is. */
    const char *const *needed;
    size_t n_needed;
    const char *run_path; /* NULL: leave as it is */
    const struct rename *renames;
    size_t n_renames;
    /* The resolution note: leave it, remove it, or make its descriptor this. */
    enum elf_note_change note;
    struct note descriptor;
    /* The closure note (docs/closure-note.md), likewise, and DT_AUDIT, which names its reader. */
    enum elf_note_change closure;
    struct note closure_descriptor;
    const char *audit; /* NULL: leave as it is; "": remove */
    bool renew;        /* a closure note or an audit module that is another one may be replaced */
};

struct elf_edited {
    unsigned char *bytes; /* in the arena */
    uint64_t size;
    bool in_place;       /* the file did not grow */
    bool nothing_to_do;  /* the bytes are the old ones */
    const char *segment; /* what the new segment holds: "strings", "strings, dynamic"; NULL */
};

/*
 * Edit. -ENOTSUP: the file cannot be edited safely; the error text starts with the rule's name
 * ("filter: ...", elf_edit_rules() lists them). -EINVAL: the file is malformed. The input is left
 * alone in every case.
 */
MUST_CHECK int elf_edit(const unsigned char *bytes, uint64_t size, const struct elf_change *change,
                        struct arena *arena, struct elf_edited *ret_edited, struct err *err);

/* One reason to refuse a file. */
struct elf_edit_rule {
    const char *id;
    const char *why;
};

/* All of them; the last has id NULL. */
const struct elf_edit_rule *elf_edit_rules(void);
