#include "planner/elf_edit.h"

#include "planner/elf_file.h"
#include "scanner/elf_read.h"

#include <errno.h>
#include <string.h>

/* The dynamic section as it will be. */
struct dynamic {
    Elf64_Dyn *dyn;
    size_t n;
};

/* Behind everything that headers describe: bytes that are not padding. */
static bool has_payload(const unsigned char *bytes, const struct object *object)
{
    for (uint64_t i = object->size - object->trailing; i < object->size; i++)
        if (bytes[i])
            return true;
    return false;
}

static bool is_c_library(const char *soname)
{
    static const char *const names[] = {"libc.so.6", "libc.so.6.1", "libc.so"};
    const char *const *name;

    for_each (name, names)
        if (str_same(soname, *name))
            return true;
    return false;
}

/* What the scanner's facts forbid. */
static int check_facts(const unsigned char *bytes, uint64_t size, const struct elf_change *change,
                       struct arena *arena, struct err *err)
{
    static const struct {
        unsigned layout;
        const char *rule;
    } rows[] = {
        {LAYOUT_STATIC | LAYOUT_STATIC_PIE, "static"},
        {LAYOUT_DEBUG_ONLY, "debug"},
        {LAYOUT_GO, "go"},
        {LAYOUT_RELRHACK, "relrhack"},
    };
    const struct elf_source source = {.fd = -1, .bytes = bytes, .size = size, .mode = 0755};
    const struct object *object;
    int r = elf_read(&source, arena, &object, err);

    if (r < 0)
        return err_set(err, EINVAL, "malformed: %s", arena_strdup(arena, err->text));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (object->layout & rows[i].layout)
            return elf_refuse(err, rows[i].rule, "%s", "");
    if (object->ldso || is_c_library(object->soname))
        return elf_refuse(err, "loader", "%s", object->soname ? object->soname : "");
    if (object->layout & LAYOUT_LIFTED && change->needed)
        return elf_refuse(err, "lifted", "%s", object->runpath);
    if (object->problem)
        return err_set(err, EINVAL, "malformed: %s", object->problem);
    if (has_payload(bytes, object))
        return elf_refuse(err, "payload", "%llu bytes", (unsigned long long)object->trailing);
    return 0;
}

static int check_change(const struct elf_file *f, const struct elf_change *change, struct err *err)
{
    if (change->needed && (elf_file_tag(f, DT_AUXILIARY) || elf_file_tag(f, DT_FILTER)))
        return elf_refuse(err, "filter", "%s", "");
    if (change->run_path && elf_file_tag(f, DT_RPATH))
        return elf_refuse(err, "rpath", "%s", "");
    if (elf_file_tag(f, DT_MIPS_RLD_MAP_REL) && f->ehdr.e_machine == EM_MIPS)
        return elf_refuse(err, "mips", "%s", "");
    return 0;
}

/* Needed names stand where the first one stood, in their new order; the other tags keep theirs. */
static struct dynamic new_dynamic(const struct elf_file *f, const struct elf_change *change,
                                  struct elf_strings *strings)
{
    struct dynamic d = {0};
    bool placed = !change->needed;

    d.dyn = arena_calloc(f->arena, f->n_dyns + change->n_needed + 3, sizeof(*d.dyn));
    for (size_t i = 0; i <= f->n_dyns; i++) {
        const bool end = i == f->n_dyns;
        const bool needed = !end && f->dyn[i].d_tag == DT_NEEDED && change->needed;

        if ((needed || (end && change->needed)) && !placed) {
            for (size_t k = 0; k < change->n_needed; k++)
                d.dyn[d.n++] = (Elf64_Dyn){
                    .d_tag = DT_NEEDED, .d_un.d_val = elf_strings_put(strings, change->needed[k])};
            placed = true;
        }
        if (!end && !needed)
            d.dyn[d.n++] = f->dyn[i];
    }
    return d;
}

/* A tag gets another string. */
static void set_string(struct elf_strings *strings, int64_t tag, const char *text,
                       struct dynamic *d)
{
    bool found = false;

    for (size_t i = 0; i < d->n; i++) {
        if (d->dyn[i].d_tag != tag)
            continue;
        d->dyn[i].d_un.d_val = elf_strings_put(strings, text);
        found = true;
    }
    if (!found)
        d->dyn[d->n++] = (Elf64_Dyn){.d_tag = tag, .d_un.d_val = elf_strings_put(strings, text)};
}

static void drop_tag(struct dynamic *d, int64_t tag)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n; i++)
        if (d->dyn[i].d_tag != tag)
            d->dyn[n++] = d->dyn[i];
    d->n = n;
}

struct renaming {
    struct elf_file *file;
    const struct elf_change *change;
    struct elf_strings *strings;
};

static bool rename_verneed(void *data, uint64_t at)
{
    const struct renaming *r = data;
    const uint64_t field = at + offsetof(Elf64_Verneed, vn_file);
    const char *name = elf_file_string(r->file, raw_word(&r->file->raw, field));

    for (size_t i = 0; name && i < r->change->n_renames; i++) {
        if (strcmp(r->change->renames[i].from, name) != 0)
            continue;
        raw_put_word(&r->file->raw, field,
                     (uint32_t)elf_strings_put(r->strings, r->change->renames[i].to));
        break;
    }
    return true;
}

static void write_dynamic(const struct elf_file *f, const struct dynamic *d)
{
    const uint64_t at = f->phdr[f->dynamic].p_offset, entry = raw_dyn_size(&f->raw);
    const Elf64_Dyn end = {.d_tag = DT_NULL};

    for (size_t i = 0; i < f->dyn_slots; i++)
        raw_put_dyn(&f->raw, at + i * entry, i < d->n ? &d->dyn[i] : &end);
}

/* Values of tags that the layout decides. */
static void follow_layout(const struct elf_file *f, const struct elf_strings *strings,
                          struct dynamic *d)
{
    static const int64_t tables[] = {DT_HASH,   DT_GNU_HASH, DT_SYMTAB,
                                     DT_VERSYM, DT_VERNEED,  DT_VERDEF};

    for (size_t i = 0; i < d->n; i++) {
        const int64_t *tag;

        if (d->dyn[i].d_tag == DT_STRTAB)
            d->dyn[i].d_un.d_ptr = f->str_addr;
        if (d->dyn[i].d_tag == DT_STRSZ)
            d->dyn[i].d_un.d_val = f->str_size + strings->grown.len;
        for_each (tag, tables)
            if (d->dyn[i].d_tag == *tag)
                d->dyn[i].d_un.d_ptr = elf_file_tag(f, *tag)->d_un.d_ptr;
    }
}

static const char *segment_text(const struct elf_append *append)
{
    static const char *const texts[] = {
        NULL,   "strings",       "dynamic section",       "strings, dynamic section",
        "note", "strings, note", "dynamic section, note", "strings, dynamic section, note",
    };

    return texts[(append->move_strings ? 1 : 0) | (append->dynamic ? 2 : 0) |
                 (elf_append_notes(append) ? 4 : 0)];
}

/* ---- notes */

/*
 * What becomes of a note: a new one is written over the old one when it fits, else the old one
 * goes and the new one is appended. What a section removed has its number in `append`.
 */
static int change_note(struct elf_file *f, enum elf_note_id id, enum elf_note_change change,
                       const struct note *descriptor, struct elf_append *append, struct err *err)
{
    const bool set = change == NOTE_SET && descriptor->size;
    struct elf_note_bytes made = {0};
    struct elf_note note;

    if (change == NOTE_LEAVE)
        return 0;
    elf_note_find(f, id, &note);
    if (set && elf_note_is(f, &note, descriptor))
        return 0;
    if (set)
        made = elf_note_make(f->arena, id, descriptor);
    if (note.found && note.alone && note.section && set && made.size <= note.size) {
        elf_note_wipe(f, &note);
        memcpy(f->raw.bytes + note.at, made.bytes, made.size);
        f->phdr[note.phdr].p_filesz = f->phdr[note.phdr].p_memsz = made.size;
        f->shdr[note.section].sh_size = made.size;
        return 0;
    }
    append->note[id] = made;
    if (!note.found)
        return 0;
    elf_note_remove(f, &note);
    append->gone_section[id] = note.alone ? note.section : 0;
    return append->gone_section[id] ? elf_sections_check(f, err) : 0;
}

/* A closure note and its reader belong together: neither is replaced without being told to. */
static int check_closure(const struct elf_file *f, const struct elf_change *change, struct err *err)
{
    const Elf64_Dyn *audit = elf_file_tag(f, DT_AUDIT);
    const char *named = audit ? elf_file_string(f, audit->d_un.d_val) : NULL;
    struct elf_note note;

    if (change->renew)
        return 0;
    if (audit && change->audit && *change->audit && !str_same(named, change->audit))
        return elf_refuse(err, "audit", "%s", named ? named : "");
    elf_note_find(f, ELF_NOTE_CLOSURE, &note);
    if (change->closure == NOTE_SET && note.found &&
        !elf_note_is(f, &note, &change->closure_descriptor))
        return elf_refuse(err, "note", "%s", "");
    return 0;
}

static int change_notes(struct elf_file *f, const struct elf_change *change,
                        struct elf_append *append, struct err *err)
{
    int r = check_closure(f, change, err);

    if (r == 0)
        r = change_note(f, ELF_NOTE_RESOLUTION, change->note, &change->descriptor, append, err);
    if (r == 0)
        r = change_note(f, ELF_NOTE_CLOSURE, change->closure, &change->closure_descriptor, append,
                        err);
    return r;
}

/* ---- the order of it all */

/* Sections go without anything being appended. */
static void drop_sections(struct elf_file *f, const struct elf_append *append)
{
    struct elf_moved *moved = arena_calloc(f->arena, f->n_shdrs, sizeof(*moved));
    const uint64_t entry = raw_shdr_size(&f->raw);
    const size_t n = f->n_shdrs;
    bool any = false;

    for (size_t i = 0; i < N_ELF_NOTES; i++) {
        if (!append->gone_section[i])
            continue;
        moved[append->gone_section[i]].gone = true;
        any = true;
    }
    if (!any)
        return;
    elf_sections_sort(f, moved);
    memset(f->raw.bytes + f->ehdr.e_shoff + f->n_shdrs * entry, 0, (n - f->n_shdrs) * entry);
}

int elf_edit(const unsigned char *bytes, uint64_t size, const struct elf_change *change,
             struct arena *arena, struct elf_edited *ret_edited, struct err *err)
{
    unsigned char *copy = arena_memdup(arena, bytes, size);
    struct elf_edited edited = {.in_place = true};
    struct elf_append append = {0};
    struct elf_strings strings;
    struct elf_file f;
    struct dynamic d;
    struct renaming renaming = {&f, change, &strings};
    int r = check_facts(bytes, size, change, arena, err);

    if (r == 0)
        r = elf_file_open(&f, copy, size, arena, err);
    if (r == 0)
        r = check_change(&f, change, err);
    if (r == 0)
        r = elf_strings_open(&strings, &f, change, err);
    if (r == 0)
        r = change_notes(&f, change, &append, err);
    if (r < 0)
        return r;
    d = new_dynamic(&f, change, &strings);
    if (change->run_path)
        set_string(&strings, DT_RUNPATH, change->run_path, &d);
    if (change->audit && *change->audit)
        set_string(&strings, DT_AUDIT, change->audit, &d);
    else if (change->audit)
        drop_tag(&d, DT_AUDIT);
    (void)elf_file_verneeds(&f, rename_verneed, &renaming);
    append.strings = &strings;
    append.move_strings = strings.grown.len > 0;
    append.dynamic = d.n >= f.dyn_slots;
    append.n_dyns = d.n;
    if (append.move_strings || append.dynamic || elf_append_notes(&append)) {
        r = elf_append(&f, &append, err);
        if (r < 0)
            return r;
        edited.in_place = false;
        edited.segment = segment_text(&append);
    } else {
        drop_sections(&f, &append);
    }
    elf_strings_write(&strings, f.raw.bytes + f.str_offset);
    follow_layout(&f, &strings, &d);
    write_dynamic(&f, &d);
    elf_file_write_headers(&f);
    edited.bytes = f.raw.bytes;
    edited.size = f.raw.size;
    edited.nothing_to_do = edited.in_place && memcmp(bytes, f.raw.bytes, size) == 0;
    *ret_edited = edited;
    return 0;
}
