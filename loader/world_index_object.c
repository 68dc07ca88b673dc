/*
 * Rows into objects: what scanner/index_object.c does, backwards.
 */
#include "loader/world_index_private.h"

#include <stdlib.h>
#include <string.h>

static const char RARE[] =
    "SELECT audit, depaudit, resolution, closure, problem FROM object WHERE id = ?";
static const char TRAIT[] =
    "SELECT imports, layout, tls_size, trailing, load_align, spare_dynamic, origin_string, "
    "build_id, verneed, verdef, dlopen_note, dlopen_string FROM object WHERE id = ?";
static const char LDSO[] = "SELECT libc, version, debian, normalises, reads_note, system_dirs, "
                           "cache, preload, lib, source FROM ldso WHERE object = ?";
static const char NAMES[] = "SELECT id, text FROM name WHERE id BETWEEN ?1 AND ?2";
static const char SEARCH_DIRS[] = "SELECT id, text FROM search_dir WHERE id BETWEEN ?1 AND ?2";
static const char RUN_PATHS[] = "SELECT id, dirs FROM run_path WHERE id BETWEEN ?1 AND ?2";
static const char MAX_NAME[] = "SELECT max(id) FROM name";
static const char MAX_SEARCH_DIR[] = "SELECT max(id) FROM search_dir";
static const char MAX_RUN_PATH[] = "SELECT max(id) FROM run_path";

/* ---- texts by id */

static const char *copy(struct index_world *iw, const char *text)
{
    return text ? arena_strdup(iw->world->arena, text) : NULL;
}

enum { TOGETHER_MIN = 8, TOGETHER_MAX = 64 };

static bool fetch_texts(struct index_world *iw, struct texts *texts, int64_t id)
{
    const int64_t least = texts->most < TOGETHER_MIN ? texts->most : TOGETHER_MIN;
    const int64_t first = id - id % least;
    struct stmt *s = db_prepare(iw->db, texts->sql, &iw->err);
    int r;

    if (!s)
        return false;
    if (first != texts->next)
        texts->together = least;
    else if (texts->together < texts->most)
        texts->together *= 2;
    texts->next = first + texts->together;
    stmt_bind_int(s, 1, first);
    stmt_bind_int(s, 2, texts->next - 1);
    while ((r = stmt_step(s, &iw->err)) > 0) {
        const int64_t at = stmt_int(s, 0);

        if (at > 0 && (uint64_t)at < texts->n && !texts->text[at])
            texts->text[at] = texts->make(iw, stmt_text(s, 1));
    }
    return r == 0;
}

/* NULL: there is none, or the index is damaged. */
static const char *text_of(struct index_world *iw, struct texts *texts, uint64_t id)
{
    if (id == 0 || id >= texts->n)
        return NULL;
    if (!texts->text[id] && !fetch_texts(iw, texts, (int64_t)id))
        return NULL;
    return texts->text[id];
}

/* ---- lists of ids */

/* The next number of a JSON list; brackets and commas are passed over. */
static bool next_id(const char **at, int64_t *ret_id)
{
    const char *c = *at;
    bool negative;
    int64_t id = 0;

    while (*c && *c != '-' && (*c < '0' || *c > '9'))
        c++;
    negative = *c == '-';
    c += negative;
    if (*c == '\0')
        return false;
    while (*c >= '0' && *c <= '9' && id < INT64_MAX / 16)
        id = id * 10 + (*c++ - '0');
    *ret_id = negative ? -id : id;
    *at = c;
    return true;
}

static size_t count_ids(const char *list)
{
    size_t n = list[0] && list[1] != ']';

    for (; *list; list++)
        n += *list == ',';
    return n;
}

/* A run path from its list. */
static const char *make_run_path(struct index_world *iw, const char *list)
{
    const char *at = list;
    size_t size = 0;
    char *path, *to;
    int64_t id;

    while (next_id(&at, &id)) {
        const char *dir = text_of(iw, &iw->search_dir, (uint64_t)id);

        size += (dir ? strlen(dir) : 0) + 1;
    }
    to = path = arena_alloc(iw->world->arena, size + 1);
    for (bool first = true; next_id(&list, &id); first = false) {
        const char *dir = text_of(iw, &iw->search_dir, (uint64_t)id);

        to = stpcpy(to, first ? "" : ":");
        to = stpcpy(to, dir ? dir : "");
    }
    return path;
}

static int open_texts(struct index_world *iw, struct texts *texts, const char *max)
{
    const int r = index_world_max(iw, max, &texts->n);

    if (r < 0)
        return r;
    texts->next = -1;
    texts->text = calloc(++texts->n, sizeof(*texts->text));
    if (!texts->text)
        abort();
    return 0;
}

int index_world_texts(struct index_world *iw)
{
    int r;

    iw->name = (struct texts){.sql = NAMES, .make = copy, .most = TOGETHER_MAX};
    iw->search_dir = (struct texts){.sql = SEARCH_DIRS, .make = copy, .most = TOGETHER_MAX};
    iw->run_path = (struct texts){.sql = RUN_PATHS, .make = make_run_path, .most = 1};
    r = open_texts(iw, &iw->name, MAX_NAME);
    if (r == 0)
        r = open_texts(iw, &iw->search_dir, MAX_SEARCH_DIR);
    if (r == 0)
        r = open_texts(iw, &iw->run_path, MAX_RUN_PATH);
    return r;
}

/* ---- what is packed */

static struct note read_blob(struct index_world *iw, struct stmt *s, int column)
{
    size_t size;
    const void *bytes = stmt_blob(s, column, &size);

    if (stmt_is_null(s, column))
        return (struct note){0};
    return (struct note){arena_memdup(iw->world->arena, bytes, size), (uint32_t)size};
}

static bool read_needs(struct index_world *iw, struct packed *packed, struct object *o)
{
    const uint64_t n = packed_number(packed);

    if (n > (size_t)(packed->end - packed->at))
        return false;
    o->need = arena_calloc(iw->world->arena, n, sizeof(*o->need));
    for (; o->n_needs < n; o->n_needs++) {
        const uint64_t number = packed_number(packed);
        const char *name = text_of(iw, &iw->name, number >> 2);

        if (!name)
            return false;
        o->need[o->n_needs] = (struct need){(enum need_kind)(number & 3), name};
    }
    return true;
}

/* Behind the header. */
static bool read_start(struct index_world *iw, struct packed *packed, struct object *o)
{
    o->interp = text_of(iw, &iw->name, packed_number(packed));
    o->soname = text_of(iw, &iw->name, packed_number(packed));
    o->rpath = text_of(iw, &iw->run_path, packed_number(packed));
    o->runpath = text_of(iw, &iw->run_path, packed_number(packed));
    for (size_t i = 0; i < ARRAY_LEN(o->abi_tag) && o->has_abi_tag; i++)
        o->abi_tag[i] = (uint32_t)packed_number(packed);
    return read_needs(iw, packed, o);
}

/* ---- what few objects have */

static bool read_rare(struct index_world *iw, int64_t id, struct object *o)
{
    struct stmt *s = db_prepare(iw->db, RARE, &iw->err);

    if (!s)
        return false;
    stmt_bind_int(s, 1, id);
    if (stmt_step(s, &iw->err) <= 0)
        return false;
    o->audit = copy(iw, stmt_text(s, 0));
    o->depaudit = copy(iw, stmt_text(s, 1));
    o->resolution = read_blob(iw, s, 2);
    o->closure = read_blob(iw, s, 3);
    o->problem = copy(iw, stmt_text(s, 4));
    stmt_reset(s);
    return true;
}

static void read_system_dirs(struct arena *arena, const char *list, struct ldso *ldso)
{
    while (list && *list) {
        const size_t len = strcspn(list, ":");

        ldso->system_dirs =
            arena_grow(arena, ldso->system_dirs, ldso->n_system_dirs, sizeof(*ldso->system_dirs));
        ldso->system_dirs[ldso->n_system_dirs++] = arena_strndup(arena, list, len);
        list += len + (list[len] == ':');
    }
}

static bool read_ldso(struct index_world *iw, int64_t id, struct object *o)
{
    struct stmt *s = db_prepare(iw->db, LDSO, &iw->err);
    struct ldso *ldso;
    int r;

    if (!s)
        return false;
    stmt_bind_int(s, 1, id);
    r = stmt_step(s, &iw->err);
    if (r <= 0)
        return false;
    ldso = arena_alloc(iw->world->arena, sizeof(*ldso));
    ldso->libc = (enum libc)stmt_int(s, 0);
    ldso->version = copy(iw, stmt_text(s, 1));
    ldso->debian = stmt_int(s, 2) != 0;
    ldso->normalises = stmt_int(s, 3) != 0;
    ldso->reads_note = (enum note_reader)stmt_int(s, 4);
    read_system_dirs(iw->world->arena, stmt_text(s, 5), ldso);
    ldso->cache = copy(iw, stmt_text(s, 6));
    ldso->preload = copy(iw, stmt_text(s, 7));
    ldso->lib = copy(iw, stmt_text(s, 8));
    ldso->source = copy(iw, stmt_text(s, 9));
    stmt_reset(s);
    o->ldso = ldso;
    return true;
}

/* ---- traits */

static struct version version_of(struct index_world *iw, const char *file, int64_t id)
{
    return (struct version){file, text_of(iw, &iw->name, (uint64_t)(id < 0 ? -id : id)), id < 0};
}

/* [[file, version, ...], ...]: the number behind a bracket is a file. */
static void read_verneed(struct index_world *iw, const char *list, struct object *o)
{
    const char *file = NULL;
    int64_t id;

    if (!list)
        return;
    o->verneed = arena_calloc(iw->world->arena, count_ids(list), sizeof(*o->verneed));
    for (;;) {
        const char *start = list;
        bool new_file;

        if (!next_id(&list, &id))
            return;
        new_file = memchr(start, '[', (size_t)(list - start)) != NULL;
        if (new_file)
            file = text_of(iw, &iw->name, (uint64_t)id);
        else
            o->verneed[o->n_verneed++] = version_of(iw, file, id);
    }
}

static void read_verdef(struct index_world *iw, const char *list, struct object *o)
{
    int64_t id;

    if (!list)
        return;
    o->verdef = arena_calloc(iw->world->arena, count_ids(list), sizeof(*o->verdef));
    while (next_id(&list, &id))
        o->verdef[o->n_verdef++] = version_of(iw, NULL, id);
}

static void read_constants(struct index_world *iw, const char *list, struct object *o)
{
    int64_t id;

    if (!list)
        return;
    o->dlopen_string = arena_calloc(iw->world->arena, count_ids(list), sizeof(*o->dlopen_string));
    while (next_id(&list, &id))
        o->dlopen_string[o->n_dlopen_strings++] = text_of(iw, &iw->name, (uint64_t)id);
}

static void read_dlopen_notes(struct index_world *iw, struct note all, struct object *o)
{
    uint32_t at = 0;

    while (all.size - at >= 4) {
        uint32_t size = 0;

        for (uint32_t k = 0; k < 4; k++)
            size |= (uint32_t)all.bytes[at + k] << 8 * k;
        at += 4;
        if (size > all.size - at)
            return;
        o->dlopen_note = arena_grow(iw->world->arena, o->dlopen_note, o->n_dlopen_notes,
                                    sizeof(*o->dlopen_note));
        o->dlopen_note[o->n_dlopen_notes++] = (struct note){all.bytes + at, size};
        at += size;
    }
}

static bool read_traits(struct index_world *iw, int64_t id, struct object *o)
{
    struct stmt *s = db_prepare(iw->db, TRAIT, &iw->err);
    int at = 0;

    if (!s)
        return false;
    stmt_bind_int(s, 1, id);
    if (stmt_step(s, &iw->err) <= 0)
        return false;
    o->imports = (unsigned)stmt_int(s, at++);
    o->layout = (unsigned)stmt_int(s, at++);
    o->tls_size = (uint64_t)stmt_int(s, at++);
    o->trailing = (uint64_t)stmt_int(s, at++);
    o->load_align = (uint64_t)stmt_int(s, at++);
    o->spare_dynamic = (uint32_t)stmt_int(s, at++);
    o->origin_string = stmt_int(s, at++) != 0;
    o->build_id = read_blob(iw, s, at++);
    read_verneed(iw, stmt_text(s, at++), o);
    read_verdef(iw, stmt_text(s, at++), o);
    read_dlopen_notes(iw, read_blob(iw, s, at++), o);
    read_constants(iw, stmt_text(s, at), o);
    stmt_reset(s);
    return true;
}

const struct object *index_world_object(struct index_world *iw, int64_t id, struct packed packed)
{
    struct object *o = arena_alloc(iw->world->arena, sizeof(*o));
    struct packed numbers;
    unsigned rows;

    if (!packed_next(&packed, &numbers))
        return NULL;
    rows = packed_header(&numbers, o);
    if (!read_start(iw, &numbers, o) || (rows & PACKED_RARE && !read_rare(iw, id, o)) ||
        (rows & PACKED_LDSO && !read_ldso(iw, id, o)) ||
        (iw->facts == WORLD_EVERYTHING && !read_traits(iw, id, o)))
        return NULL;
    return o;
}
