/*
 * Notes of an object. Kept raw: what they mean is for the loader and the planner to say.
 */
#include "scanner/elf_view.h"

#include <string.h>

enum {
    NOTE_HEADER = 12,             /* three words, whatever the class */
    NOTES_KEPT = 64,              /* dlopen notes of one object */
    NOTE_DLOPEN = 0x407c0c0a,     /* owner FDO */
    NOTE_RESOLUTION = 0x63a86cb6, /* owner NixOS */
    NOTE_CLOSURE = 0x53544f52,    /* owner stormlint */
    NOTE_GO_BUILD_ID = 4,         /* owner Go */
};

/* Notes that decide about loading: what readers look for, and where editors keep it. */
static const struct reading {
    const char *section, *owner;
    uint32_t type;
} readings[] = {
    {".note.nixos.ldcache", "NixOS", NOTE_RESOLUTION},
    {".note.stormlint", "stormlint", NOTE_CLOSURE},
};

struct note_at {
    uint32_t type;
    const char *owner;
    uint32_t owner_len; /* with its final zero */
    const unsigned char *desc;
    uint32_t desc_len;
    uint64_t align;
};

static bool note_is(const struct note_at *note, const char *owner, uint32_t type)
{
    const size_t len = strlen(owner) + 1;

    return note->type == type && note->owner_len == len && memcmp(note->owner, owner, len) == 0;
}

static struct note note_keep(const struct elf_view *view, const struct note_at *note)
{
    return (struct note){arena_memdup(view->arena, note->desc, note->desc_len), note->desc_len};
}

static void add_dlopen_note(struct elf_view *view, const struct note_at *note)
{
    struct object *o = view->object;
    struct note *list = o->dlopen_note;

    /* the same bytes again: two PT_NOTE segments over one note */
    for (size_t i = 0; i < o->n_dlopen_notes; i++)
        if (list[i].size == note->desc_len && memcmp(list[i].bytes, note->desc, list[i].size) == 0)
            return;
    if (o->n_dlopen_notes == NOTES_KEPT) {
        view_problem(view, "more than %d dlopen notes", NOTES_KEPT);
        return;
    }
    list = arena_grow(view->arena, list, o->n_dlopen_notes, sizeof(*list));
    list[o->n_dlopen_notes++] = note_keep(view, note);
    o->dlopen_note = list;
}

/* The type is one of ours, and the owner another: nobody reads it. */
static bool is_odd(const struct note_at *note)
{
    const struct reading *r;

    for_each (r, readings)
        if (note->type == r->type)
            return !note_is(note, r->owner, r->type);
    return false;
}

static void read_note(struct elf_view *view, const struct note_at *note)
{
    struct object *o = view->object;

    if (is_odd(note))
        o->layout |= LAYOUT_NOTE_ODD;
    if (note_is(note, "GNU", NT_GNU_ABI_TAG) && note->desc_len >= 16) {
        if (o->has_abi_tag)
            return;
        o->has_abi_tag = true;
        for (size_t i = 0; i < 4; i++)
            o->abi_tag[i] = view_word(view, note->desc + 4 * i);
    } else if (note_is(note, "GNU", NT_GNU_BUILD_ID)) {
        if (!o->build_id.bytes)
            o->build_id = note_keep(view, note);
    } else if (note_is(note, "NixOS", NOTE_RESOLUTION)) {
        if (!o->resolution.bytes)
            o->resolution = note_keep(view, note);
    } else if (note_is(note, "stormlint", NOTE_CLOSURE)) {
        if (!o->closure.bytes)
            o->closure = note_keep(view, note);
    } else if (note_is(note, "FDO", NOTE_DLOPEN)) {
        add_dlopen_note(view, note);
    } else if (note_is(note, "Go", NOTE_GO_BUILD_ID) ||
               (note->type == NOTE_GO_BUILD_ID && note->owner_len == 4 &&
                memcmp(note->owner, "Go\0", 4) == 0)) {
        o->layout |= LAYOUT_GO;
    }
}

static uint64_t align_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) & ~(align - 1);
}

void elf_read_note_segment(struct elf_view *view, uint64_t offset, uint64_t size, uint64_t align)
{
    const unsigned char *bytes;
    uint64_t at = 0;

    if (size == 0)
        return;
    if (view->n_notes < NOTES_SEEN_MAX)
        view->note[view->n_notes++] = (struct range){offset, size};
    if (size > view->notes_left) {
        view_problem(view, "note segments of more than %d bytes together", NOTES_MAX);
        size = view->notes_left;
    }
    view->notes_left -= size;
    bytes = view_peek(view, SLOT_RECORD, offset, (size_t)size, (size_t)size);
    if (!bytes) {
        view_problem(view, "a note segment is outside the file");
        return;
    }
    if (align != 8)
        align = 4;
    while (size - at >= NOTE_HEADER) {
        struct note_at note = {.owner_len = view_word(view, bytes + at),
                               .desc_len = view_word(view, bytes + at + 4),
                               .type = view_word(view, bytes + at + 8),
                               .align = align};
        const uint64_t desc = align_up(at + NOTE_HEADER + note.owner_len, align);

        if (desc + note.desc_len > size) {
            view_problem(view, "a note reaches out of its segment");
            return;
        }
        note.owner = (const char *)bytes + at + NOTE_HEADER;
        note.desc = bytes + desc;
        read_note(view, &note);
        at = align_up(desc + note.desc_len, align);
        if (at > size)
            return;
    }
}

/* ---- sections, which no loader looks at */

bool elf_is_note_section(const char *name)
{
    const struct reading *r;

    for_each (r, readings)
        if (!strcmp(r->section, name))
            return true;
    return false;
}

bool elf_note_fits(struct elf_view *view, const char *name, uint64_t offset, uint64_t size)
{
    const struct reading *r;

    for_each (r, readings) {
        const size_t len = strlen(r->owner) + 1;
        const unsigned char *bytes;

        if (strcmp(r->section, name) != 0)
            continue;
        if (size < NOTE_HEADER + len)
            return false;
        bytes = view_peek(view, SLOT_RECORD, offset, NOTE_HEADER + len, NOTE_HEADER + len);
        return bytes && view_word(view, bytes) == len && view_word(view, bytes + 8) == r->type &&
               view_word(view, bytes + 4) <= size - NOTE_HEADER - len &&
               !memcmp(bytes + NOTE_HEADER, r->owner, len);
    }
    return true;
}
