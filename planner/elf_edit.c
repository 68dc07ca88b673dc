#include "planner/elf_edit.h"

#include "planner/elf_file.h"

#include <errno.h>
#include <string.h>

/* The dynamic section as it will be. */
struct dynamic {
    Elf64_Dyn *dyn;
    size_t n;
};

static int check_change(const struct elf_file *f, const struct elf_change *change, struct err *err)
{
    if (change->needed && (elf_file_tag(f, DT_AUXILIARY) || elf_file_tag(f, DT_FILTER)))
        return elf_refuse(err, "filter", "%s", "");
    if (change->run_path && elf_file_tag(f, DT_RPATH))
        return elf_refuse(err, "rpath", "%s", "");
    return 0;
}

/* Needed names stand where the first one stood, in their new order; the other tags keep theirs. */
static struct dynamic new_dynamic(const struct elf_file *f, const struct elf_change *change,
                                  struct elf_strings *strings)
{
    struct dynamic d = {0};
    bool placed = !change->needed;

    d.dyn = arena_calloc(f->arena, f->n_dyns + change->n_needed + 2, sizeof(*d.dyn));
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

static void set_run_path(const struct elf_change *change, struct elf_strings *strings,
                         struct dynamic *d)
{
    bool found = false;

    if (!change->run_path)
        return;
    for (size_t i = 0; i < d->n; i++) {
        if (d->dyn[i].d_tag != DT_RUNPATH)
            continue;
        d->dyn[i].d_un.d_val = elf_strings_put(strings, change->run_path);
        found = true;
    }
    if (!found)
        d->dyn[d->n++] = (Elf64_Dyn){.d_tag = DT_RUNPATH,
                                     .d_un.d_val = elf_strings_put(strings, change->run_path)};
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
    static const int64_t hashes[] = {DT_HASH, DT_GNU_HASH};

    for (size_t i = 0; i < d->n; i++) {
        const int64_t *tag;

        if (d->dyn[i].d_tag == DT_STRTAB)
            d->dyn[i].d_un.d_ptr = f->str_addr;
        if (d->dyn[i].d_tag == DT_STRSZ)
            d->dyn[i].d_un.d_val = f->str_size + strings->grown.len;
        for_each (tag, hashes)
            if (d->dyn[i].d_tag == *tag)
                d->dyn[i].d_un.d_ptr = elf_file_tag(f, *tag)->d_un.d_ptr;
    }
}

static const char *segment_text(bool strings, bool dynamic)
{
    return strings && dynamic ? "strings, dynamic section"
           : strings          ? "strings"
                              : "dynamic section";
}

int elf_edit(const unsigned char *bytes, uint64_t size, const struct elf_change *change,
             struct arena *arena, struct elf_edited *ret_edited, struct err *err)
{
    unsigned char *copy = arena_memdup(arena, bytes, size);
    struct elf_edited edited = {.in_place = true};
    struct elf_strings strings;
    struct elf_file f;
    struct dynamic d;
    struct renaming renaming = {&f, change, &strings};
    int r = elf_file_open(&f, copy, size, arena, err);

    if (r == 0)
        r = check_change(&f, change, err);
    if (r == 0)
        r = elf_strings_open(&strings, &f, change, err);
    if (r < 0)
        return r;
    d = new_dynamic(&f, change, &strings);
    set_run_path(change, &strings, &d);
    (void)elf_file_verneeds(&f, rename_verneed, &renaming);
    if (strings.grown.len || d.n >= f.dyn_slots) {
        struct elf_append append = {
            .strings = strings.grown.len ? &strings : NULL,
            .dynamic = d.n >= f.dyn_slots,
            .n_dyns = d.n,
        };

        r = elf_append(&f, &append, err);
        if (r < 0)
            return r;
        edited.in_place = false;
        edited.segment = segment_text(append.strings, append.dynamic);
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
