#include "scanner/facts.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

struct package_facts *facts_new(const char *base)
{
    struct package_facts *f = calloc(1, sizeof(*f));

    if (!f)
        abort();
    f->base = arena_strdup(&f->arena, base);
    f->kind = "other";
    return f;
}

void package_facts_free(struct package_facts *f)
{
    if (!f)
        return;
    arena_release(&f->arena);
    free(f);
}

/* ---- directories */

static void add_bytes(struct entries *e, const char *bytes, size_t len)
{
    if (e->size - e->len < len) {
        e->size = (e->len + len) * 2 + 4096;
        e->bytes = realloc(e->bytes, e->size);
        if (!e->bytes)
            abort();
    }
    memcpy(e->bytes + e->len, bytes, len);
    e->len += len;
}

void entries_add(struct entries *e, enum entry_kind kind, const char *name, const char *text)
{
    const char k = (char)kind;

    add_bytes(e, &k, 1);
    add_bytes(e, name, strlen(name) + 1);
    if (text)
        add_bytes(e, text, strlen(text) + 1);
}

bool facts_always_keep(const char *path)
{
    static const char *const names[] = {"",       "lib", "lib64", "lib32",
                                        "libx32", "bin", "sbin",  "libexec"};
    const char *base = str_base(path);
    const char *const *name;

    for_each (name, names)
        if (strcmp(base, *name) == 0)
            return true;
    return strstr(path, "glibc-hwcaps") != NULL;
}

bool facts_is_worth(const char *path, const struct gathered *g)
{
    return g->n_objects || g->interesting || facts_always_keep(path);
}

void facts_keep(struct package_facts *f, const char *path, const char *entries, size_t size,
                const struct gathered *g, uint64_t changed)
{
    f->dir = arena_grow(&f->arena, f->dir, f->n_dirs, sizeof(*f->dir));
    f->dir[f->n_dirs++] = (struct walked_dir){.path = arena_strdup(&f->arena, path),
                                              .entries = entries,
                                              .entries_size = size,
                                              .changed = changed,
                                              .object = g->object,
                                              .n_objects = g->n_objects};
}

/* ---- what is in them */

void facts_add_object(struct package_facts *f, struct gathered *g,
                      const struct walked_object *found)
{
    g->object = arena_grow(&f->arena, g->object, g->n_objects, sizeof(*g->object));
    g->object[g->n_objects++] = *found;
    f->objects++;
}

void facts_add_problem(struct package_facts *f, const char *dir, const char *name, bool unread,
                       const char *text)
{
    struct arena *a = &f->arena;

    f->problem = arena_grow(a, f->problem, f->n_problems, sizeof(*f->problem));
    f->problem[f->n_problems++] =
        (struct walked_problem){str_join(a, dir, name), unread, arena_strdup(a, text)};
    if (unread)
        f->state = PACKAGE_INCOMPLETE;
}

void facts_add_link(struct package_facts *f, struct gathered *g, const char *store,
                    const char *name, const char *target)
{
    const size_t len = strlen(store);
    size_t n;

    g->interesting |= strstr(name, ".so") != NULL;
    if (strncmp(target, store, len) != 0 || target[len] != '/')
        return;
    target += len + 1;
    n = strcspn(target, "/");
    if (n == 0 || (f->n_links && strncmp(f->link[f->n_links - 1], target, n) == 0 &&
                   f->link[f->n_links - 1][n] == '\0'))
        return;
    f->link = arena_grow(&f->arena, f->link, f->n_links, sizeof(*f->link));
    f->link[f->n_links++] = arena_strndup(&f->arena, target, n);
}

/* Mach-O by magic; the magic of its fat files is Java's too, whose version follows. */
static bool is_macho(const unsigned char *head, size_t len)
{
    static const unsigned char magics[][4] = {
        {0xfe, 0xed, 0xfa, 0xce},
        {0xfe, 0xed, 0xfa, 0xcf},
        {0xce, 0xfa, 0xed, 0xfe},
        {0xcf, 0xfa, 0xed, 0xfe},
    };
    static const unsigned char fat[4] = {0xca, 0xfe, 0xba, 0xbe};

    if (len < 8)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(magics); i++)
        if (memcmp(head, magics[i], 4) == 0)
            return true;
    return memcmp(head, fat, 4) == 0 && head[4] == 0 && head[5] == 0 && head[6] == 0 &&
           head[7] < 45;
}

enum entry_kind facts_judge_head(struct package_facts *f, const unsigned char *head, size_t len)
{
    f->macho += is_macho(head, len);
    if (len >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
        return ENTRY_ELF;
    return len < FACTS_HEAD ? ENTRY_SHORT : ENTRY_FILE;
}
