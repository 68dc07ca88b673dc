#include "scanner/closure_file.h"

#include "base/json.h"
#include "base/str.h"
#include "scanner/nar_hash.h"
#include "scanner/spack.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    FILE_MAX = 512 * 1024 * 1024, /* bytes; the path-info of 100,000 paths is some 150 MB */
    PATHS_MAX = 4 * 1000 * 1000,
    REFERENCES_MAX = 100 * 1000, /* of one path */
    PATH_MAX_BYTES = 4096,
};

/* One file while it is read. */
struct reading {
    const char *name;  /* of the file, as shown */
    const char *store; /* "/nix/store" */
    struct arena *arena;
    struct closure_file *file;
    struct err *err;
    const char *at, *end; /* text: what is left */
    size_t line;
};

static int fail(struct reading *r, const char *what)
{
    if (r->line)
        return err_set(r->err, EINVAL, "'%s', line %zu: %s", r->name, r->line, what);
    return err_set(r->err, EINVAL, "'%s': %s", r->name, what);
}

/* ---- what is found */

/* The base name of a path of the store, or a base name as it is; NULL and an error: neither. */
static const char *base_of(struct reading *r, const char *path)
{
    const size_t len = strlen(r->store);
    const char *base = path;

    if (path[0] == '/') {
        if (strncmp(path, r->store, len) != 0 || path[len] != '/') {
            (void)err_set(r->err, EINVAL,
                          "'%s': '%s' is not in store '%s'; name its store with "
                          "--store",
                          r->name, str_escape(r->arena, path), r->store);
            return NULL;
        }
        base += len + 1;
    }
    if (!*base || strchr(base, '/') || !strcmp(base, ".") || !strcmp(base, "..")) {
        (void)err_set(r->err, EINVAL, "'%s': '%s' is no store path", r->name,
                      str_escape(r->arena, path));
        return NULL;
    }
    return base;
}

static struct closure_path *add_any(struct reading *r, const char *path)
{
    struct closure_file *f = r->file;

    if (f->n_paths >= PATHS_MAX) {
        (void)err_set(r->err, EFBIG, "'%s': more than %d paths", r->name, PATHS_MAX);
        return NULL;
    }
    f->path = arena_grow(r->arena, f->path, f->n_paths, sizeof(*f->path));
    f->path[f->n_paths] = (struct closure_path){.path = path};
    return &f->path[f->n_paths++];
}

/* A path of the store, as a whole path. NULL: an error. */
static struct closure_path *add_path(struct reading *r, const char *path)
{
    const char *base = base_of(r, path);

    return base ? add_any(r, arena_printf(r->arena, "%s/%s", r->store, base)) : NULL;
}

static bool is_derivation(const char *path)
{
    return str_ends(path, ".drv");
}

/* ---- lines of text */

/* The next line, without its end; NULL: there is none, or, with an error, it is too long. */
static char *next_line(struct reading *r)
{
    const char *end;
    char *line;

    if (r->at >= r->end)
        return NULL;
    end = memchr(r->at, '\n', (size_t)(r->end - r->at));
    if (!end)
        end = r->end;
    r->line++;
    if (end - r->at > PATH_MAX_BYTES) {
        (void)fail(r, "the line is too long");
        return NULL;
    }
    line = arena_strndup(r->arena, r->at, (size_t)(end - r->at));
    r->at = end + 1;
    return line;
}

/* What a table has behind a path: a tabulator and sizes. */
static void cut_columns(char *line)
{
    size_t len = strcspn(line, "\t\r");

    while (len && line[len - 1] == ' ')
        len--;
    line[len] = '\0';
}

static int read_list(struct reading *r)
{
    char *line;

    while ((line = next_line(r))) {
        cut_columns(line);
        if (!*line || is_derivation(line))
            r->file->n_left_out += *line != '\0';
        else if (line[0] != '/')
            return fail(r, "no absolute path");
        else if (!add_any(r, line))
            return -r->err->code;
    }
    return r->err->code ? -r->err->code : 0;
}

static int number(struct reading *r, const char *what, uint64_t max, uint64_t *ret_number)
{
    const char *line = next_line(r);
    char *end;

    if (!line)
        return r->err->code ? -r->err->code
                            : fail(r, arena_printf(r->arena, "ends before %s", what));
    errno = 0;
    *ret_number = strtoull(line, &end, 10);
    if (errno || !isdigit((unsigned char)line[0]) || *end || *ret_number > max)
        return fail(
            r, arena_printf(r->arena, "%s is no number up to %llu", what, (unsigned long long)max));
    return 0;
}

/* Deriver, count, references: what all registrations end with. */
static int read_references(struct reading *r, struct closure_path *path)
{
    const char *deriver = next_line(r), *line;
    uint64_t n = 0;
    int e;

    if (!deriver)
        return r->err->code ? -r->err->code : fail(r, "ends before the deriver");
    path->deriver = *deriver ? str_base(deriver) : NULL;
    e = number(r, "the number of references", REFERENCES_MAX, &n);
    for (uint64_t i = 0; i < n && e == 0; i++) {
        line = next_line(r);
        if (!line)
            return r->err->code ? -r->err->code : fail(r, "ends amidst references");
        line = base_of(r, line);
        if (!line)
            return -r->err->code;
        path->reference =
            arena_grow(r->arena, path->reference, path->n_references, sizeof(*path->reference));
        path->reference[path->n_references++] = line;
    }
    return e;
}

static int read_records(struct reading *r, bool hashed)
{
    char *line;
    int e = 0;

    r->file->refers = true;
    while (e == 0 && (line = next_line(r))) {
        struct closure_path path = {0}, *to;
        uint64_t size = 0;

        if (line[0] != '/')
            return fail(r, "a store path is expected here");
        if (hashed) {
            const char *hash = next_line(r);

            if (!hash || !*hash)
                return fail(r, "a NAR hash is expected here");
            path.nar_hash = nar_hash_text(r->arena, hash);
            e = number(r, "the NAR size", INT64_MAX, &size);
            path.nar_size = (int64_t)size;
        }
        if (e == 0)
            e = read_references(r, &path);
        if (e < 0)
            return e;
        if (is_derivation(line)) {
            r->file->n_left_out++;
            continue;
        }
        to = add_path(r, line);
        if (!to)
            return -r->err->code;
        path.path = to->path;
        *to = path;
    }
    return r->err->code ? -r->err->code : e;
}

static int read_registration(struct reading *r)
{
    return read_records(r, true);
}

static int read_graph(struct reading *r)
{
    return read_records(r, false);
}

/* ---- JSON */

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* A hash is a text, or since Nix 2.33 an object. */
static const char *hash_of(struct reading *r, const json_t *info)
{
    const json_t *hash = json_object_get(info, "narHash");
    const char *format = text_of(hash, "format"), *digits = text_of(hash, "hash");

    if (!json_is_object(hash))
        return nar_hash_text(r->arena, json_string_value(hash));
    if (!digits || !format || !str_same(text_of(hash, "algorithm"), "sha256"))
        return NULL;
    return nar_hash_text(r->arena, arena_printf(r->arena, "sha256%c%s",
                                                strcmp(format, "base64") == 0 ? '-' : ':', digits));
}

static int add_references(struct reading *r, struct closure_path *to, const json_t *references)
{
    const size_t n = json_array_size(references);

    if (n > REFERENCES_MAX)
        return err_set(r->err, EFBIG, "'%s': '%s' has %zu references; more than %d are not read",
                       r->name, str_escape(r->arena, to->path), n, REFERENCES_MAX);
    to->reference = arena_calloc(r->arena, n + 1, sizeof(*to->reference));
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(references, i)), *base;

        if (!text)
            return fail(r, "a reference is no text");
        base = base_of(r, text);
        if (!base)
            return -r->err->code;
        to->reference[to->n_references++] = arena_strdup(r->arena, base);
    }
    return 0;
}

/* One path and what is told about it; `info` null: Nix says that there is no such path. */
static int add_info(struct reading *r, const char *path, const json_t *info)
{
    const char *deriver = text_of(info, "deriver");
    struct closure_path *to;

    if (!path)
        return fail(r, "an element has no \"path\"");
    if (is_derivation(path)) {
        r->file->n_left_out++;
        return 0;
    }
    if (!json_is_object(info) || json_is_false(json_object_get(info, "valid")))
        return err_set(r->err, EINVAL, "'%s': '%s' is not valid in its store", r->name,
                       str_escape(r->arena, path));
    to = add_path(r, path);
    if (!to)
        return -r->err->code;
    to->nar_hash = hash_of(r, info);
    to->nar_size = json_integer_value(json_object_get(info, "narSize"));
    to->deriver = deriver && *deriver ? arena_strdup(r->arena, str_base(deriver)) : NULL;
    if (!json_is_array(json_object_get(info, "references")))
        return fail(r, "a path has no \"references\"");
    r->file->refers = true;
    return add_references(r, to, json_object_get(info, "references"));
}

static int read_info_array(struct reading *r, const json_t *array)
{
    const json_t *item;
    size_t i;
    int e = 0;

    json_array_foreach (array, i, item) {
        if ((e = add_info(r, text_of(item, "path"), item)) < 0)
            break;
    }
    return e;
}

static int read_info_object(struct reading *r, const json_t *object)
{
    const char *path;
    json_t *info;
    int e = 0;

    json_object_foreach ((json_t *)(uintptr_t)object, path, info) {
        if ((e = add_info(r, path, info)) < 0)
            break;
    }
    return e;
}

static int read_info_versioned(struct reading *r, const json_t *object)
{
    const char *store = text_of(object, "storeDir");

    if (store && strcmp(store, r->store) != 0)
        return err_set(r->err, EINVAL, "'%s' is of store '%s', not of '%s'; say --store", r->name,
                       str_escape(r->arena, store), r->store);
    return read_info_object(r, json_object_get(object, "info"));
}

/* The graphs that a derivation with structured attributes asked for, all of them. */
static int read_attributes(struct reading *r, const json_t *object)
{
    const char *graph;
    json_t *roots;
    int e = 0;

    json_object_foreach (json_object_get(object, "exportReferencesGraph"), graph, roots) {
        const json_t *array = json_object_get(object, graph);

        if (!json_is_array(array))
            return err_set(r->err, EINVAL, "'%s': there is no graph \"%s\"", r->name,
                           str_escape(r->arena, graph));
        if ((e = read_info_array(r, array)) < 0)
            break;
    }
    return e;
}

static int read_text_array(struct reading *r, const json_t *array)
{
    const json_t *item;
    size_t i;

    json_array_foreach (array, i, item) {
        const char *path = json_string_value(item);

        if (!json_is_null(item) && (!path || (*path && path[0] != '/')))
            return fail(r, "an element is no absolute path");
        if (!path || !*path || is_derivation(path))
            r->file->n_left_out++;
        else if (!add_any(r, arena_strdup(r->arena, path)))
            return -r->err->code;
    }
    return 0;
}

/* ---- Spack's database of a tree: opt/spack/.spack-db/index.json */

static const json_t *spack_installs(const json_t *index)
{
    return json_object_get(json_object_get(index, "database"), "installs");
}

/* Where an install is; NULL: not installed, or outside of the tree. */
static const char *spack_path(const struct reading *r, const json_t *install)
{
    const char *path = text_of(install, "path");
    const size_t len = strlen(r->store);

    if (!path || !json_is_true(json_object_get(install, "installed")) ||
        strncmp(path, r->store, len) != 0 || path[len] != '/' || !path[len + 1] ||
        strchr(path + len + 1, '/'))
        return NULL;
    return path;
}

static void spack_refer(struct reading *r, struct closure_path *to, const json_t *installs,
                        const char *hash, const json_t *dependency)
{
    const char *path;

    path =
        hash && spack_is_used(dependency) ? spack_path(r, json_object_get(installs, hash)) : NULL;
    if (!path)
        return;
    to->reference = arena_grow(r->arena, to->reference, to->n_references, sizeof(*to->reference));
    to->reference[to->n_references++] = arena_strdup(r->arena, str_base(path));
}

/* Dependencies are a list of objects with names in them, formerly an object by name. */
static void spack_references(struct reading *r, struct closure_path *to, const json_t *installs,
                             const json_t *dependencies)
{
    const json_t *item;
    const char *name;
    json_t *value;
    size_t i;

    json_array_foreach (dependencies, i, item) {
        spack_refer(r, to, installs, text_of(item, "hash"), item);
    }
    json_object_foreach ((json_t *)(uintptr_t)dependencies, name, value) {
        spack_refer(r, to, installs, text_of(value, "hash"), value);
    }
}

static int read_spack(struct reading *r, const json_t *index)
{
    const json_t *installs = spack_installs(index);
    const char *hash;
    json_t *install;

    r->file->refers = true;
    json_object_foreach ((json_t *)(uintptr_t)installs, hash, install) {
        const json_t *spec = json_object_get(install, "spec");
        const char *path = spack_path(r, install);
        struct closure_path *to;

        if (!path) {
            r->file->n_left_out++;
            continue;
        }
        to = add_path(r, path);
        if (!to)
            return -r->err->code;
        if (json_object_size(spec) == 1) /* before 0.17: {NAME: {...}} */
            spec = json_object_iter_value(json_object_iter((json_t *)(uintptr_t)spec));
        spack_references(r, to, installs, json_object_get(spec, "dependencies"));
    }
    if (r->file->n_paths == 0)
        return err_set(r->err, EINVAL,
                       "'%s': Spack has nothing installed directly in '%s'; name "
                       "the directory of its packages with --store",
                       r->name, r->store);
    return 0;
}

/* ---- what is what */

/* Outputs that have no path yet, of content-addressed builds, are null or empty in Hydra's lists. */
static bool is_array_of_texts(const json_t *v)
{
    size_t i = 0;

    while (json_is_null(json_array_get(v, i)))
        i++;
    return json_is_string(json_array_get(v, i));
}

static bool is_array_of_objects(const json_t *v)
{
    return json_is_array(v) && json_is_object(json_array_get(v, 0));
}

static bool is_versioned(const json_t *v)
{
    return json_is_object(json_object_get(v, "info"));
}

static bool is_attributes(const json_t *v)
{
    return json_is_object(json_object_get(v, "exportReferencesGraph"));
}

static bool is_spack(const json_t *v)
{
    return json_is_object(spack_installs(v));
}

static bool is_by_path(const json_t *v)
{
    const char *key = json_object_iter_key(json_object_iter((json_t *)(uintptr_t)v));

    return key && key[0] == '/';
}

/* The forms in JSON, the first that fits. */
static const struct json_form {
    const char *name, *from;
    bool (*is)(const json_t *value);
    int (*read)(struct reading *r, const json_t *value);
} json_forms[] = {
    {"attributes", "the .attrs.json of a build with exportReferencesGraph", is_attributes,
     read_attributes},
    {"path-info-2", "nix path-info --json --json-format 2 -r", is_versioned, read_info_versioned},
    {"spack", "Spack's .spack-db/index.json", is_spack, read_spack},
    {"path-info-1", "nix path-info --json -r", is_by_path, read_info_object},
    {"path-info-0", NULL, is_array_of_objects, read_info_array},
    {"paths", "a JSON array of store paths", is_array_of_texts, read_text_array},
};

/* Line number `n` of the text, from 0; `*ret_len` its length. NULL: there is none. */
static const char *line_at(const struct reading *r, size_t n, size_t *ret_len)
{
    const char *at = r->at, *end;

    for (;; n--) {
        if (at >= r->end)
            return NULL;
        end = memchr(at, '\n', (size_t)(r->end - at));
        if (!end)
            end = r->end;
        if (n == 0)
            break;
        at = end + 1;
    }
    *ret_len = (size_t)(end - at);
    return at;
}

static bool is_number(const struct reading *r, size_t n)
{
    size_t len = 0;
    const char *line = line_at(r, n, &len);

    for (size_t i = 0; line && i < len; i++)
        if (!isdigit((unsigned char)line[i]))
            return false;
    return line && len > 0;
}

static bool begins_with_path(const struct reading *r)
{
    return r->at < r->end && *r->at == '/';
}

/* path, hash, size, deriver, number, ... */
static bool is_registration(const struct reading *r)
{
    return begins_with_path(r) && is_number(r, 2) && is_number(r, 4);
}

/* path, deriver, number, ... */
static bool is_graph(const struct reading *r)
{
    return begins_with_path(r) && is_number(r, 2);
}

/* The forms in lines, the first that fits. */
static const struct text_form {
    const char *name, *from;
    bool (*is)(const struct reading *r);
    int (*read)(struct reading *r);
} text_forms[] = {
    {"registration", "closureInfo's registration or nix-store --dump-db", is_registration,
     read_registration},
    {"graph", "the file of an exportReferencesGraph", is_graph, read_graph},
    {"list", "paths, one a line (nix-store -qR, guix gc -R, closureInfo's store-paths)",
     begins_with_path, read_list},
};

const char *closure_file_forms(struct arena *arena)
{
    struct str out = {.arena = arena};
    const struct text_form *text;
    const struct json_form *json;

    for_each (text, text_forms)
        str_printf(&out, "%s%s", out.len ? "; " : "", text->from);
    for_each (json, json_forms)
        if (json->from)
            str_printf(&out, "; %s", json->from);
    return out.text;
}

static int refuse(struct reading *r)
{
    const size_t len = (size_t)(r->end - r->at), n = len < 40 ? len : 40;

    r->line = 0;
    if (len == 0)
        return fail(r, "is empty: no closure");
    return err_set(r->err, EINVAL, "'%s' is no closure; it begins with '%s', and could be: %s",
                   r->name, str_escape_n(r->arena, r->at, n), closure_file_forms(r->arena));
}

static int parse_json(struct reading *r)
{
    const struct json_form *form;
    json_error_t why;
    json_auto_t *value = json_loadb(r->at, (size_t)(r->end - r->at), JSON_REJECT_DUPLICATES, &why);

    if (!value)
        return err_set(r->err, EINVAL, "'%s', line %d: %s", r->name, why.line,
                       str_escape(r->arena, why.text));
    if (json_is_array(value) && json_array_size(value) == 0)
        return fail(r, "is an empty array: no closure");
    for_each (form, json_forms)
        if (form->is(value)) {
            r->file->format = form->name;
            return form->read(r, value);
        }
    return refuse(r);
}

static int parse_text(struct reading *r)
{
    const struct text_form *form;

    for_each (form, text_forms)
        if (form->is(r)) {
            r->file->format = form->name;
            return form->read(r);
        }
    return refuse(r);
}

int closure_file_parse(const char *name, const char *text, size_t len, const char *store,
                       struct arena *arena, struct closure_file *ret_file, struct err *err)
{
    struct closure_file file = {0};
    struct reading r = {.name = str_escape(arena, name),
                        .store = store,
                        .arena = arena,
                        .file = &file,
                        .err = err,
                        .at = text,
                        .end = text + len};
    int e;

    err->code = 0;
    while (r.at < r.end && isspace((unsigned char)*r.at))
        r.at++;
    if (memchr(r.at, '\0', (size_t)(r.end - r.at)))
        return fail(&r, "has bytes that are no text");
    if (r.at < r.end && (*r.at == '[' || *r.at == '{'))
        e = parse_json(&r);
    else
        e = parse_text(&r);
    if (e == 0)
        *ret_file = file;
    return e;
}

/* ---- files */

static int read_all(FILE *from, const char *name, char **ret_text, size_t *ret_len, struct err *err)
{
    size_t len = 0, size = 1 << 16, n;
    char *text = malloc(size);

    if (!text)
        abort();
    while ((n = fread(text + len, 1, size - len, from)) > 0) {
        len += n;
        if (len > FILE_MAX) {
            free(text);
            return err_set(err, EFBIG, "'%s': more than %d MB", name, FILE_MAX >> 20);
        }
        if (len == size) {
            size *= 2;
            text = realloc(text, size);
            if (!text)
                abort();
        }
    }
    *ret_text = text;
    *ret_len = len;
    return ferror(from) ? err_set(err, EIO, "'%s': cannot be read", name) : 0;
}

int closure_file_read(const char *path, const char *store, struct arena *arena,
                      struct closure_file *ret_file, struct err *err)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    FILE *from = is_stdin ? stdin : fopen(path, "re");
    const char *name = is_stdin ? "standard input" : path;
    char *text = NULL;
    size_t len = 0;
    int r;

    if (!from)
        return err_set(err, errno, "closure file '%s': %s", path, strerror(errno));
    r = read_all(from, name, &text, &len, err);
    if (!is_stdin)
        (void)fclose(from);
    if (r == 0)
        r = closure_file_parse(name, text, len, store, arena, ret_file, err);
    free(text);
    return r;
}
