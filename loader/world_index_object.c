/*
 * Rows into objects: what scanner/index_object.c does, backwards.
 */
#include "loader/world_index_private.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char OBJECT[] =
    "SELECT class, data, ident_version, osabi, abiversion, ident_pad_zero, type, machine, "
    "elf_version, machine_flags, phentsize, phnum, size, mode, has_dynamic, interp, soname, "
    "needed, rpath, "
    "runpath, flags, flags_1, audit, depaudit, abi_tag, resolution, closure, problem "
    "FROM object WHERE id = ?";
static const char TRAIT[] =
    "SELECT imports, layout, tls_size, trailing, load_align, spare_dynamic, origin_string, "
    "build_id, verneed, verdef, dlopen_note, dlopen_string FROM object WHERE id = ?";
static const char LDSO[] = "SELECT libc, version, debian, reads_note, system_dirs, cache, preload, "
                           "lib, source FROM ldso WHERE object = ?";

static const char *text_of(struct index_world *iw, struct texts *texts, int64_t id)
{
    struct stmt *s;

    if (id <= 0 || (uint64_t)id >= texts->n)
        return NULL;
    if (texts->text[id])
        return texts->text[id];
    s = db_prepare(iw->db, texts->sql, &iw->err);
    if (!s)
        return NULL;
    stmt_bind_int(s, 1, id);
    if (stmt_step(s, &iw->err) <= 0)
        return NULL;
    texts->text[id] = arena_strdup(iw->world->arena, stmt_text(s, 0));
    stmt_reset(s);
    return texts->text[id];
}

/* ---- lists of ids */

/* The next number of a JSON list, with the letter before it; brackets and quotes are passed over.
 */
static bool next_id(const char **at, char *ret_letter, int64_t *ret_id)
{
    const char *c = *at;
    bool negative;
    int64_t id = 0;

    *ret_letter = '\0';
    while (*c && *c != '-' && (*c < '0' || *c > '9')) {
        if (*c >= 'a' && *c <= 'z')
            *ret_letter = *c;
        c++;
    }
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

static bool read_needs(struct index_world *iw, const char *list, struct object *o)
{
    char letter;
    int64_t id;

    if (!list)
        return false;
    o->need = arena_calloc(iw->world->arena, count_ids(list), sizeof(*o->need));
    while (next_id(&list, &letter, &id)) {
        const char *name = text_of(iw, &iw->name, id);
        const enum need_kind kind = letter == 'a'   ? NEED_AUXILIARY
                                    : letter == 'f' ? NEED_FILTER
                                                    : NEED_NEEDED;

        if (!name)
            return false;
        o->need[o->n_needs++] = (struct need){kind, name};
    }
    return true;
}

/* A run path from its list. The same list gives the same string. */
static const char *run_path(struct index_world *iw, const char *list)
{
    struct str s = {.arena = iw->world->arena};
    const struct name *key;
    char letter;
    int64_t id;

    if (!list)
        return NULL;
    key = intern(iw->lists, list);
    if (key->id < iw->n_paths)
        return iw->path[key->id];
    str_add(&s, "");
    for (bool first = true; next_id(&list, &letter, &id); first = false) {
        const char *dir = text_of(iw, &iw->search_dir, id);

        str_add(&s, first ? "" : ":");
        str_add(&s, dir ? dir : "");
    }
    if ((iw->n_paths & (iw->n_paths - 1)) == 0) {
        iw->path = realloc(iw->path, (iw->n_paths ? iw->n_paths * 2 : 1) * sizeof(*iw->path));
        if (!iw->path)
            abort();
    }
    iw->path[iw->n_paths++] = s.text;
    return s.text;
}

static void read_abi_tag(const char *list, struct object *o)
{
    char letter;
    int64_t value;

    o->has_abi_tag = list != NULL;
    for (size_t i = 0; list && i < ARRAY_LEN(o->abi_tag) && next_id(&list, &letter, &value); i++)
        o->abi_tag[i] = (uint32_t)value;
}

static const char *copy(struct index_world *iw, const char *text)
{
    return text ? arena_strdup(iw->world->arena, text) : NULL;
}

static struct note read_blob(struct index_world *iw, struct stmt *s, int column)
{
    size_t size;
    const void *bytes = stmt_blob(s, column, &size);

    if (stmt_is_null(s, column))
        return (struct note){0};
    return (struct note){arena_memdup(iw->world->arena, bytes, size), (uint32_t)size};
}

static bool read_object(struct index_world *iw, struct stmt *s, struct object *o)
{
    int at = 0;

    o->class = (uint8_t)stmt_int(s, at++);
    o->data = (uint8_t)stmt_int(s, at++);
    o->ident_version = (uint8_t)stmt_int(s, at++);
    o->osabi = (uint8_t)stmt_int(s, at++);
    o->abiversion = (uint8_t)stmt_int(s, at++);
    o->ident_pad_zero = stmt_int(s, at++) != 0;
    o->type = (uint16_t)stmt_int(s, at++);
    o->machine = (uint16_t)stmt_int(s, at++);
    o->version = (uint32_t)stmt_int(s, at++);
    o->machine_flags = (uint32_t)stmt_int(s, at++);
    o->phentsize = (uint16_t)stmt_int(s, at++);
    o->phnum = (uint16_t)stmt_int(s, at++);
    o->size = (uint64_t)stmt_int(s, at++);
    o->mode = (uint32_t)stmt_int(s, at++);
    o->has_dynamic = stmt_int(s, at++) != 0;
    o->interp = text_of(iw, &iw->name, stmt_int(s, at++));
    o->soname = text_of(iw, &iw->name, stmt_int(s, at++));
    if (!read_needs(iw, stmt_text(s, at++), o))
        return false;
    o->rpath = run_path(iw, stmt_text(s, at++));
    o->runpath = run_path(iw, stmt_text(s, at++));
    o->flags = (uint32_t)stmt_int(s, at++);
    o->flags_1 = (uint32_t)stmt_int(s, at++);
    o->audit = copy(iw, stmt_text(s, at++));
    o->depaudit = copy(iw, stmt_text(s, at++));
    read_abi_tag(stmt_text(s, at++), o);
    o->resolution = read_blob(iw, s, at++);
    o->closure = read_blob(iw, s, at++);
    o->problem = copy(iw, stmt_text(s, at));
    return true;
}

/* ---- loader files */

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
        return r == 0;
    ldso = arena_alloc(iw->world->arena, sizeof(*ldso));
    ldso->libc = (enum libc)stmt_int(s, 0);
    ldso->version = copy(iw, stmt_text(s, 1));
    ldso->debian = stmt_int(s, 2) != 0;
    ldso->reads_note = (enum note_reader)stmt_int(s, 3);
    read_system_dirs(iw->world->arena, stmt_text(s, 4), ldso);
    ldso->cache = copy(iw, stmt_text(s, 5));
    ldso->preload = copy(iw, stmt_text(s, 6));
    ldso->lib = copy(iw, stmt_text(s, 7));
    ldso->source = copy(iw, stmt_text(s, 8));
    stmt_reset(s);
    o->ldso = ldso;
    return true;
}

/* ---- traits */

static struct version version_of(struct index_world *iw, const char *file, int64_t id)
{
    return (struct version){file, text_of(iw, &iw->name, id < 0 ? -id : id), id < 0};
}

/* [[file, version, ...], ...]: the number behind a bracket is a file. */
static void read_verneed(struct index_world *iw, const char *list, struct object *o)
{
    const char *file = NULL;
    char letter;
    int64_t id;

    if (!list)
        return;
    o->verneed = arena_calloc(iw->world->arena, count_ids(list), sizeof(*o->verneed));
    for (;;) {
        const char *start = list;
        bool new_file;

        if (!next_id(&list, &letter, &id))
            return;
        new_file = memchr(start, '[', (size_t)(list - start)) != NULL;
        if (new_file)
            file = text_of(iw, &iw->name, id);
        else
            o->verneed[o->n_verneed++] = version_of(iw, file, id);
    }
}

static void read_verdef(struct index_world *iw, const char *list, struct object *o)
{
    char letter;
    int64_t id;

    if (!list)
        return;
    o->verdef = arena_calloc(iw->world->arena, count_ids(list), sizeof(*o->verdef));
    while (next_id(&list, &letter, &id))
        o->verdef[o->n_verdef++] = version_of(iw, NULL, id);
}

static void read_constants(struct index_world *iw, const char *list, struct object *o)
{
    char letter;
    int64_t id;

    if (!list)
        return;
    o->dlopen_string = arena_calloc(iw->world->arena, count_ids(list), sizeof(*o->dlopen_string));
    while (next_id(&list, &letter, &id))
        o->dlopen_string[o->n_dlopen_strings++] = text_of(iw, &iw->name, id);
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

/* Only what looks like a loader can have a row among them. */
static bool may_be_ldso(const struct object *o)
{
    return !o->interp && o->n_needs == 0 && o->type == ET_DYN;
}

static bool fetch(struct index_world *iw, int64_t id, struct object *o)
{
    struct stmt *s = db_prepare(iw->db, OBJECT, &iw->err);
    bool ok;

    if (!s)
        return false;
    stmt_bind_int(s, 1, id);
    if (stmt_step(s, &iw->err) <= 0)
        return false;
    ok = read_object(iw, s, o);
    stmt_reset(s);
    if (ok && may_be_ldso(o))
        ok = read_ldso(iw, id, o);
    if (ok && iw->facts == WORLD_EVERYTHING)
        ok = read_traits(iw, id, o);
    return ok;
}

const struct object *index_world_object(struct index_world *iw, int64_t id)
{
    struct object *o;

    if (id <= 0 || (uint64_t)id >= iw->n_objects)
        return NULL;
    if (iw->object[id])
        return iw->object[id];
    o = arena_alloc(iw->world->arena, sizeof(*o));
    if (!fetch(iw, id, o))
        return NULL;
    iw->object[id] = o;
    return o;
}
