#include "planner/elf_file.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

/* Dynamic tags whose value is an offset into the string table. */
static const int64_t string_tags[] = {
    DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH,  DT_AUXILIARY,
    DT_FILTER, DT_CONFIG, DT_AUDIT, DT_DEPAUDIT,
};

enum { FREE, USED, PLACED };

struct marking {
    struct elf_strings *strings;
    const struct elf_change *change;
    bool gone; /* mark strings that go, not those that stay */
};

/* Mark one string, its end included. False: it lies outside, or does not end. */
static bool mark(const struct marking *m, uint64_t at)
{
    struct elf_strings *s = m->strings;
    const char *text = elf_file_string(s->file, at);

    if (!text)
        return false;
    memset((m->gone ? s->spare : s->used) + at, 1, strlen(text) + 1);
    return true;
}

static bool is_string_tag(int64_t tag)
{
    const int64_t *t;

    for_each (t, string_tags)
        if (*t == tag)
            return true;
    return false;
}

static bool still_needed(const struct elf_change *change, const char *name)
{
    for (size_t i = 0; i < change->n_needed; i++)
        if (name && strcmp(change->needed[i], name) == 0)
            return true;
    return false;
}

static bool tag_goes(const struct marking *m, const Elf64_Dyn *dyn)
{
    if (dyn->d_tag == DT_RUNPATH)
        return m->change->run_path;
    if (dyn->d_tag == DT_AUDIT)
        return m->change->audit;
    return dyn->d_tag == DT_NEEDED && m->change->needed &&
           !still_needed(m->change, elf_file_string(m->strings->file, dyn->d_un.d_val));
}

static bool renamed(const struct elf_change *change, const char *name)
{
    for (size_t i = 0; i < change->n_renames; i++)
        if (name && strcmp(change->renames[i].from, name) == 0)
            return true;
    return false;
}

/* A verneed record: the file's name, and the names of its versions. */
static bool mark_verneed(void *data, uint64_t at)
{
    const struct marking *m = data;
    const struct elf_file *f = m->strings->file;
    const struct raw *raw = &f->raw;
    const uint32_t name = raw_word(raw, at + offsetof(Elf64_Verneed, vn_file));
    uint16_t n = raw_half(raw, at + offsetof(Elf64_Verneed, vn_cnt));
    uint64_t aux = at + raw_word(raw, at + offsetof(Elf64_Verneed, vn_aux));

    if (renamed(m->change, elf_file_string(f, name)) == m->gone && !mark(m, name))
        return false;
    for (; !m->gone && n > 0; n--) {
        uint32_t next;

        if (!raw_fits(raw, aux, 1, sizeof(Elf64_Vernaux)) ||
            !mark(m, raw_word(raw, aux + offsetof(Elf64_Vernaux, vna_name))))
            return false;
        next = raw_word(raw, aux + offsetof(Elf64_Vernaux, vna_next));
        if (next == 0)
            break;
        aux += next;
    }
    return true;
}

static bool mark_verdefs(const struct marking *m)
{
    const struct raw *raw = &m->strings->file->raw;
    uint64_t at = m->strings->file->verdef_offset;

    for (uint64_t i = 0; i < m->strings->file->n_verdefs; i++) {
        uint64_t aux;
        uint16_t n;
        uint32_t next;

        if (!raw_fits(raw, at, 1, sizeof(Elf64_Verdef)))
            return false;
        aux = at + raw_word(raw, at + offsetof(Elf64_Verdef, vd_aux));
        n = raw_half(raw, at + offsetof(Elf64_Verdef, vd_cnt));
        for (; n > 0; n--) {
            if (!raw_fits(raw, aux, 1, sizeof(Elf64_Verdaux)) ||
                !mark(m, raw_word(raw, aux + offsetof(Elf64_Verdaux, vda_name))))
                return false;
            next = raw_word(raw, aux + offsetof(Elf64_Verdaux, vda_next));
            if (next == 0)
                break;
            aux += next;
        }
        next = raw_word(raw, at + offsetof(Elf64_Verdef, vd_next));
        if (next == 0)
            break;
        at += next;
    }
    return true;
}

static bool mark_all(const struct marking *m)
{
    const struct elf_file *f = m->strings->file;

    for (size_t i = 0; i < f->n_dyns; i++)
        if (is_string_tag(f->dyn[i].d_tag) && tag_goes(m, &f->dyn[i]) == m->gone &&
            !mark(m, f->dyn[i].d_un.d_val))
            return false;
    if (!elf_file_verneeds(f, mark_verneed, (void *)(uintptr_t)m))
        return false;
    if (m->gone)
        return true;
    for (uint64_t i = 0; i < f->n_syms; i++)
        if (!mark(m, raw_sym(&f->raw, f->sym_offset + i * raw_sym_size(&f->raw)).st_name))
            return false;
    return mark_verdefs(m);
}

int elf_strings_open(struct elf_strings *ret_strings, const struct elf_file *file,
                     const struct elf_change *change, struct err *err)
{
    struct elf_strings s = {.file = file, .grown = {.arena = file->arena}};
    struct marking stays = {.strings = &s, .change = change};
    struct marking goes = {.strings = &s, .change = change, .gone = true};

    s.used = arena_calloc(file->arena, file->str_size, 1);
    s.spare = arena_calloc(file->arena, file->str_size, 1);
    if (!mark_all(&stays) || !mark_all(&goes))
        return err_set(err, EINVAL, "malformed: a name lies outside the dynamic string table");
    for (uint64_t i = 0; i < file->str_size; i++)
        if (s.used[i])
            s.spare[i] = 0;
    *ret_strings = s;
    return 0;
}

/* An old string, or the end of one, all of whose bytes stay. UINT64_MAX: none. */
static uint64_t find_used(const struct elf_strings *s, const char *text, size_t len)
{
    const char *table = (const char *)s->file->raw.bytes + s->file->str_offset, *at = table;
    const char *end = table + s->file->str_size;

    while ((at = memmem(at, (size_t)(end - at), text, len + 1))) {
        const size_t offset = (size_t)(at - table);
        size_t n = 0;

        while (n <= len && s->used[offset + n] == USED)
            n++;
        if (n > len)
            return offset;
        at++;
    }
    return UINT64_MAX;
}

static uint64_t find_placed(const struct elf_strings *s, const char *text)
{
    const char *at;

    for (size_t i = 0; i < s->n_placed; i++)
        if (str_ends(s->placed[i].text, text))
            return s->placed[i].at + strlen(s->placed[i].text) - strlen(text);
    if (s->grown.len == 0)
        return UINT64_MAX;
    at = memmem(s->grown.text, s->grown.len, text, strlen(text) + 1);
    return at ? s->file->str_size + (uint64_t)(at - s->grown.text) : UINT64_MAX;
}

/* Room in what strings that went have left. */
static uint64_t place(struct elf_strings *s, const char *text, size_t len)
{
    uint64_t run = 0;

    for (uint64_t i = 0; i < s->file->str_size; i++) {
        run = s->spare[i] ? run + 1 : 0;
        if (run <= len)
            continue;
        i -= len;
        memset(s->spare + i, 0, len + 1);
        memset(s->used + i, PLACED, len + 1);
        s->placed = arena_grow(s->file->arena, s->placed, s->n_placed, sizeof(*s->placed));
        s->placed[s->n_placed++] =
            (struct elf_placed){.at = i, .text = arena_strdup(s->file->arena, text)};
        return i;
    }
    return UINT64_MAX;
}

uint64_t elf_strings_put(struct elf_strings *s, const char *text)
{
    const size_t len = strlen(text);
    uint64_t at = find_used(s, text, len);

    if (at == UINT64_MAX)
        at = find_placed(s, text);
    if (at == UINT64_MAX)
        at = place(s, text, len);
    if (at != UINT64_MAX)
        return at;
    at = s->file->str_size + s->grown.len;
    str_add_n(&s->grown, text, len + 1);
    return at;
}

void elf_strings_write(const struct elf_strings *s, unsigned char *table)
{
    for (uint64_t i = 0; i < s->file->str_size; i++)
        if (s->spare[i])
            table[i] = '\0';
    for (size_t i = 0; i < s->n_placed; i++)
        memcpy(table + s->placed[i].at, s->placed[i].text, strlen(s->placed[i].text) + 1);
}
