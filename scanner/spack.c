#include "scanner/spack.h"

#include "base/intern.h"
#include "base/str.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SPEC_MAX = 16 * 1024 * 1024 }; /* bytes of one spec.json */

bool spack_is_used(const json_t *dependency)
{
    const json_t *types = json_object_get(json_object_get(dependency, "parameters"), "deptypes");
    const json_t *type;
    size_t i;

    if (!types)
        types = json_object_get(dependency, "type");
    if (!json_is_array(types))
        return true;
    json_array_foreach (types, i, type) {
        if (str_same(json_string_value(type), "link") || str_same(json_string_value(type), "run"))
            return true;
    }
    return false;
}

/* The specs of a package and its dependencies, its own first; NULL: not Spack's. */
static json_t *read_nodes(int store_fd, const char *base, struct arena *arena)
{
    const char *path = arena_printf(arena, "%s/.spack/spec.json", base);
    const int fd =
        openat(store_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    struct stat st;
    json_t *value = NULL, *nodes;

    if (file && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= SPEC_MAX)
        value = json_loadf(file, JSON_REJECT_DUPLICATES, NULL);
    if (file)
        (void)fclose(file);
    else if (fd >= 0)
        (void)close(fd);
    nodes = json_object_get(json_object_get(value, "spec"), "nodes");
    json_incref(nodes);
    json_decref(value);
    if (json_is_object(json_array_get(nodes, 0)))
        return nodes;
    json_decref(nodes);
    return NULL;
}

static const char *hash_of(const json_t *node)
{
    return json_string_value(json_object_get(node, "hash"));
}

/* What is known of one package: the hashes of what it needs, later the names of their packages. */
static void keep(struct arena *arena, const json_t *node, struct closure_path *to)
{
    const json_t *dependency;
    size_t i;

    json_array_foreach (json_object_get(node, "dependencies"), i, dependency) {
        if (!hash_of(dependency) || !spack_is_used(dependency))
            continue;
        to->reference = arena_grow(arena, to->reference, to->n_references, sizeof(*to->reference));
        to->reference[to->n_references++] = arena_strdup(arena, hash_of(dependency));
    }
}

/* Hashes become the names of the packages that have them; what is not here is forgotten. */
static void name_references(struct closure_file *file, struct intern *hashes,
                            const char *const *base_of)
{
    const uint32_t known = (uint32_t)file->n_paths;

    for (size_t i = 0; i < file->n_paths; i++) {
        struct closure_path *path = &file->path[i];
        size_t n = 0;

        for (size_t k = 0; k < path->n_references; k++) {
            const struct name *hash = intern(hashes, path->reference[k]);

            if (hash->id < known && base_of[hash->id])
                path->reference[n++] = base_of[hash->id];
        }
        path->n_references = n;
    }
}

void spack_tree(int store_fd, const char *store, const char *const *base, size_t n_bases,
                struct arena *arena, struct closure_file *ret_file)
{
    struct closure_file file = {.format = "spack"};
    struct intern *hashes = intern_new();
    const char **base_of = arena_calloc(arena, n_bases + 1, sizeof(*base_of));

    for (size_t i = 0; i < n_bases; i++) {
        json_auto_t *nodes = read_nodes(store_fd, base[i], arena);
        const json_t *own = json_array_get(nodes, 0);

        if (!hash_of(own))
            continue;
        file.path = arena_grow(arena, file.path, file.n_paths, sizeof(*file.path));
        file.path[file.n_paths] =
            (struct closure_path){.path = arena_printf(arena, "%s/%s", store, base[i])};
        keep(arena, own, &file.path[file.n_paths++]);
        base_of[intern(hashes, hash_of(own))->id] = base[i];
    }
    file.refers = file.n_paths > 0;
    name_references(&file, hashes, base_of);
    intern_free(hashes);
    *ret_file = file;
}
