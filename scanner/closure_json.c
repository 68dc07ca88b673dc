/*
 * Closures told in JSON: by Nix, by builds with structured attributes, by Hydra, by Spack.
 */
#include "scanner/closure_private.h"

#include "base/json.h"
#include "base/str.h"
#include "scanner/nar_hash.h"
#include "scanner/spack.h"

#include <errno.h>
#include <string.h>

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
            return reading_fail(r, "a reference is no text");
        base = reading_base(r, text);
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
        return reading_fail(r, "an element has no \"path\"");
    if (reading_is_derivation(path)) {
        r->file->n_left_out++;
        return 0;
    }
    if (!json_is_object(info) || json_is_false(json_object_get(info, "valid")))
        return err_set(r->err, EINVAL, "'%s': '%s' is not valid in its store", r->name,
                       str_escape(r->arena, path));
    to = reading_add(r, path);
    if (!to)
        return -r->err->code;
    to->nar_hash = hash_of(r, info);
    to->nar_size = json_integer_value(json_object_get(info, "narSize"));
    to->deriver = deriver && *deriver ? arena_strdup(r->arena, str_base(deriver)) : NULL;
    if (!json_is_array(json_object_get(info, "references")))
        return reading_fail(r, "a path has no \"references\"");
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
            return reading_fail(r, "an element is no absolute path");
        if (!path || !*path || reading_is_derivation(path))
            r->file->n_left_out++;
        else if (!reading_add_any(r, arena_strdup(r->arena, path)))
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
        to = reading_add(r, path);
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

int closure_json_parse(struct reading *r)
{
    const struct json_form *form;
    json_error_t why;
    json_auto_t *value = json_loadb(r->at, (size_t)(r->end - r->at), JSON_REJECT_DUPLICATES, &why);

    if (!value)
        return err_set(r->err, EINVAL, "'%s', line %d: %s", r->name, why.line,
                       str_escape(r->arena, why.text));
    if (json_is_array(value) && json_array_size(value) == 0)
        return reading_fail(r, "is an empty array: no closure");
    for_each (form, json_forms)
        if (form->is(value)) {
            r->file->format = form->name;
            return form->read(r, value);
        }
    return reading_refuse(r);
}

void closure_json_forms(struct str *out)
{
    const struct json_form *form;

    for_each (form, json_forms)
        if (form->from)
            str_printf(out, "; %s", form->from);
}
