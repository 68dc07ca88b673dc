/*
 * Objects into rows.
 */
#include "scanner/index_private.h"

#include "scanner/packed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- lists of ids as JSON */

static void add_number(struct str *s, int64_t value)
{
    char text[24], *at = text + sizeof(text);
    uint64_t v = value < 0 ? (uint64_t)-value : (uint64_t)value;

    do
        *--at = (char)('0' + v % 10);
    while (v /= 10);
    if (value < 0)
        *--at = '-';
    str_add_n(s, at, (size_t)(text + sizeof(text) - at));
}

static void add_separator(struct str *s)
{
    str_add_n(s, s->len && s->text[s->len - 1] != '[' ? "," : "",
              s->len && s->text[s->len - 1] != '[');
}

/* The list of needs, each also packed. */
static const char *needed_list(struct index *index, struct arena *arena, const struct object *o,
                               struct str *packed)
{
    struct str s = {.arena = arena};

    pack_number(packed, o->n_needs);
    str_add_n(&s, "[", 1);
    for (size_t i = 0; i < o->n_needs; i++) {
        const int64_t id = dictionary_id(&index->name, o->need[i].name);

        pack_number(packed, (uint64_t)id << 2 | o->need[i].kind);
        add_separator(&s);
        if (o->need[i].kind == NEED_NEEDED)
            add_number(&s, id);
        else
            str_printf(&s, "\"%c%" PRId64 "\"", o->need[i].kind == NEED_AUXILIARY ? 'a' : 'f', id);
    }
    str_add_n(&s, "]", 1);
    return s.text;
}

/* $ORIGIN, in either spelling, at the start of `dir`: what follows it; NULL: something else. */
static const char *behind_origin(const char *dir, size_t len)
{
    static const char *const forms[] = {"$ORIGIN", "${ORIGIN}"};
    const char *const *form;

    for_each (form, forms) {
        const size_t n = strlen(*form);

        if (len >= n && memcmp(dir, *form, n) == 0 && (len == n || dir[n] == '/'))
            return dir + n;
    }
    return NULL;
}

/* Remember where a run path's directory is, when that depends on where the object is. */
static void note_origin(struct index *index, const char *place, const char *dir, size_t len)
{
    const char *rest = behind_origin(dir, len);
    char path[8192];
    int n;

    if (!rest)
        return;
    n = snprintf(path, sizeof(path), "%s%.*s", place, (int)(dir + len - rest), rest);
    if (n > 0 && (size_t)n < sizeof(path))
        (void)intern_n(index->expanded, path, (size_t)n);
}

void index_note_dirs(struct index *index, const char *dirs)
{
    while (*dirs) {
        const size_t len = strcspn(dirs, ":");

        (void)intern_n(index->expanded, dirs, len);
        dirs += len + (dirs[len] == ':');
    }
}

void index_note_origin(struct index *index, const char *base, const char *below, const char *dir)
{
    CLEANUP(arena_release) struct arena a = {0};
    const char *place = str_join(&a, index->store_path, base);

    note_origin(index, *below ? str_join(&a, place, below) : place, dir, strlen(dir));
}

/* The id of a run path; 0: there is none. */
static int64_t path_id(struct index *index, struct arena *arena, const char *path,
                       const char *place)
{
    struct str s = {.arena = arena};
    bool origin = false;
    const char *at = path;
    int64_t id;

    if (!path)
        return 0;
    if (index->last_path && strcmp(index->last_path, path) == 0)
        return index->last_id;
    str_add_n(&s, "[", 1);
    for (;;) {
        const size_t len = strcspn(at, ":");

        add_separator(&s);
        add_number(&s, dictionary_id_n(&index->search_dir, at, len));
        origin |= memchr(at, '$', len) != NULL;
        note_origin(index, place, at, len);
        if (at[len] == '\0')
            break;
        at += len + 1;
    }
    str_add_n(&s, "]", 1);
    id = dictionary_id_n(&index->run_path, s.text, s.len);
    if (!origin) { /* else it depends on the place */
        arena_release(&index->last);
        index->last_path = arena_strdup(&index->last, path);
        index->last_id = id;
    }
    return id;
}

static int64_t version_id(struct index *index, const struct version *version)
{
    const int64_t id = dictionary_id(&index->name, version->name);

    return version->weak ? -id : id;
}

static const char *verneed_list(struct index *index, struct arena *arena, const struct object *o)
{
    struct str s = {.arena = arena};
    const char *file = NULL;

    if (o->n_verneed == 0)
        return NULL;
    str_add_n(&s, "[", 1);
    for (size_t i = 0; i < o->n_verneed; i++) {
        const struct version *v = &o->verneed[i];

        if (v->file != file) { /* one pointer for all versions of one record */
            str_add(&s, file ? "],[" : "[");
            add_number(&s, dictionary_id(&index->name, v->file));
            file = v->file;
        }
        add_separator(&s);
        add_number(&s, version_id(index, v));
    }
    str_add(&s, "]]");
    return s.text;
}

static const char *verdef_list(struct index *index, struct arena *arena, const struct object *o)
{
    struct str s = {.arena = arena};

    if (o->n_verdef == 0)
        return NULL;
    str_add_n(&s, "[", 1);
    for (size_t i = 0; i < o->n_verdef; i++) {
        add_separator(&s);
        add_number(&s, version_id(index, &o->verdef[i]));
    }
    str_add_n(&s, "]", 1);
    return s.text;
}

static const char *constants_list(struct index *index, struct arena *arena, const struct object *o)
{
    struct str s = {.arena = arena};

    if (o->n_dlopen_strings == 0)
        return NULL;
    str_add_n(&s, "[", 1);
    for (size_t i = 0; i < o->n_dlopen_strings; i++) {
        add_separator(&s);
        add_number(&s, dictionary_id(&index->name, o->dlopen_string[i]));
    }
    str_add_n(&s, "]", 1);
    return s.text;
}

/* All dlopen notes in one blob, each behind its length. */
static const char *dlopen_notes(struct arena *arena, const struct object *o, size_t *ret_size)
{
    struct str s = {.arena = arena};

    for (size_t i = 0; i < o->n_dlopen_notes; i++) {
        const struct note *note = &o->dlopen_note[i];
        char len[4];

        for (size_t k = 0; k < sizeof(len); k++)
            len[k] = (char)(note->size >> 8 * k);
        str_add_n(&s, len, sizeof(len));
        str_add_n(&s, (const char *)note->bytes, note->size);
    }
    *ret_size = s.len;
    return s.text;
}

/* ---- rows */

static void bind_id(struct stmt *s, int at, int64_t id)
{
    if (id)
        stmt_bind_int(s, at, id);
    else
        stmt_bind_null(s, at);
}

/* What a loader cares for, packed too; the number of the next value. */
static int bind_start(struct index *index, struct stmt *s, int at, const char *place,
                      const struct object *o, struct str *packed)
{
    struct arena *arena = packed->arena;
    const int64_t ids[] = {
        dictionary_id(&index->name, o->interp), dictionary_id(&index->name, o->soname),
        path_id(index, arena, o->rpath, place), path_id(index, arena, o->runpath, place)};
    const int64_t numbers[] = {o->class, o->type, o->machine, (int64_t)o->size, o->mode};
    struct str start = {.arena = arena};

    pack_header(&start, o);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        pack_number(&start, (uint64_t)ids[i]);
    for (size_t i = 0; i < ARRAY_LEN(o->abi_tag) && o->has_abi_tag; i++)
        pack_number(&start, o->abi_tag[i]);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        stmt_bind_int(s, at++, numbers[i]);
    bind_id(s, at++, ids[0]);
    bind_id(s, at++, ids[1]);
    stmt_bind_text(s, at++, needed_list(index, arena, o, &start));
    bind_id(s, at++, ids[2]);
    bind_id(s, at++, ids[3]);
    stmt_bind_int(s, at++, o->flags);
    stmt_bind_int(s, at++, o->flags_1);
    stmt_bind_text(s, at++, o->audit);
    stmt_bind_text(s, at++, o->depaudit);
    stmt_bind_blob(s, at++, o->resolution.bytes, o->resolution.size);
    stmt_bind_blob(s, at++, o->closure.bytes, o->closure.size);
    stmt_bind_text(s, at++, o->problem);
    pack_object(packed, &start);
    return at;
}

/* What the planner and the checks want to know. */
static void bind_traits(struct index *index, struct stmt *s, int at, const struct object *o,
                        struct arena *arena)
{
    const int64_t numbers[] = {o->imports,
                               o->layout,
                               (int64_t)o->tls_size,
                               (int64_t)o->trailing,
                               (int64_t)o->load_align,
                               o->spare_dynamic,
                               o->origin_string};
    const char *notes;
    size_t notes_size;

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        stmt_bind_int(s, at++, numbers[i]);
    stmt_bind_blob(s, at++, o->build_id.bytes, o->build_id.size);
    stmt_bind_text(s, at++, verneed_list(index, arena, o));
    stmt_bind_text(s, at++, verdef_list(index, arena, o));
    notes = dlopen_notes(arena, o, &notes_size);
    stmt_bind_blob(s, at++, notes, notes_size);
    stmt_bind_text(s, at, constants_list(index, arena, o));
}

static int add_row(struct index *index, int64_t directory, const char *place,
                   const struct walked_object *found, struct str *packed, struct err *err)
{
    struct stmt *s = index_prepare(index, SQL_OBJECT_ADD, err);
    int at;

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, index->next_object);
    stmt_bind_int(s, 2, directory);
    stmt_bind_text(s, 3, found->name);
    at = bind_start(index, s, 4, place, found->object, packed);
    bind_traits(index, s, at, found->object, packed->arena);
    return stmt_run(s, err);
}

/* A loader looks into its system directories and for its two files. */
static void note_ldso(struct index *index, const struct ldso *ldso)
{
    const char *const files[] = {ldso->cache, ldso->preload};

    for (size_t i = 0; i < ldso->n_system_dirs; i++)
        (void)intern_n(index->expanded, ldso->system_dirs[i], strlen(ldso->system_dirs[i]));
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (files[i])
            (void)intern_n(index->expanded, files[i], (size_t)(str_base(files[i]) - files[i]));
}

static int add_ldso(struct index *index, const struct ldso *ldso, struct arena *arena,
                    struct err *err)
{
    struct stmt *s = index_prepare(index, SQL_LDSO_ADD, err);
    struct str dirs = {.arena = arena};

    if (!s)
        return -err->code;
    note_ldso(index, ldso);
    str_add(&dirs, "");
    for (size_t i = 0; i < ldso->n_system_dirs; i++) {
        str_add(&dirs, i ? ":" : "");
        str_add(&dirs, ldso->system_dirs[i]);
    }
    stmt_bind_int(s, 1, index->next_object);
    stmt_bind_int(s, 2, ldso->libc);
    stmt_bind_text(s, 3, ldso->version);
    stmt_bind_int(s, 4, ldso->debian);
    stmt_bind_int(s, 5, ldso->normalises);
    stmt_bind_int(s, 6, ldso->reads_note);
    stmt_bind_text(s, 7, dirs.text);
    stmt_bind_text(s, 8, ldso->cache);
    stmt_bind_text(s, 9, ldso->preload);
    stmt_bind_text(s, 10, ldso->lib);
    stmt_bind_text(s, 11, ldso->source);
    return stmt_run(s, err);
}

int index_add_object(struct index *index, int64_t directory, const char *place,
                     const struct walked_object *found, struct str *packed, struct err *err)
{
    const struct object *o = found->object;
    int r = add_row(index, directory, place, found, packed, err);

    if (r == 0 && o->ldso)
        r = add_ldso(index, o->ldso, packed->arena, err);
    if (r == 0 && found->nlink > 1)
        r = index_add_inode(index, index->next_object, found->dev, found->ino, err);
    if (r == 0)
        index->next_object++;
    return r;
}
