#include "tests/store.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_child(struct world *world UNUSED, const struct node *dir UNUSED,
                    const struct name *name UNUSED, struct node *ret_node UNUSED)
{
    return -ENOENT;
}

static int no_list(struct world *world UNUSED, struct node *dir UNUSED,
                   void (*each)(void *data, const char *name) UNUSED, void *data UNUSED)
{
    return 0;
}

static int no_bytes(struct world *world UNUSED, const struct node *file UNUSED, size_t max UNUSED,
                    struct arena *arena UNUSED, char **ret_bytes UNUSED, size_t *ret_len UNUSED)
{
    return -EIO;
}

static const struct world_ops empty = {.child = no_child, .list = no_list, .bytes = no_bytes};

static void die(const char *what, const struct err *err)
{
    fprintf(stderr, "tests/store: %s: %s\n", what, err->text);
    abort();
}

/* 32 characters that depend on the name alone. */
static const char *package(struct store *store, const char *name, size_t len)
{
    static const char digits[] = "0123456789abcdfghijklmnpqrsvwxyz";
    uint64_t h = 1469598103934665603u;
    char hash[33];
    size_t i;

    for (i = 0; i < len; i++)
        h = (h ^ (unsigned char)name[i]) * 1099511628211u;
    for (i = 0; i < 32; i++) {
        h = h * 6364136223846793005u + 1442695040888963407u;
        hash[i] = digits[h >> 59];
    }
    hash[32] = '\0';
    return arena_printf(&store->arena, "/nix/store/%s-%.*s", hash, (int)len, name);
}

const char *store_path(struct store *store, const char *path)
{
    size_t len;

    if (*path == '/')
        return path;
    path += *path == '@';
    len = strcspn(path, "/");
    return arena_printf(&store->arena, "%s%s", package(store, path, len), path + len);
}

/* A list in which '@' starts the name of a package. */
static const char *expand(struct store *store, const char *text)
{
    struct str out = {.arena = &store->arena};
    size_t len;

    if (!text)
        return NULL;
    str_add(&out, "");
    while (*text) {
        if (*text == '@') {
            len = strcspn(text + 1, "/:; ");
            str_add(&out, package(store, text + 1, len));
            text += len + 1;
        } else
            str_add_n(&out, text++, 1);
    }
    return out.text;
}

static void add_needs(struct store *store, struct object *object, const char *list,
                      enum need_kind kind)
{
    char *text = arena_strdup(&store->arena, list ? list : ""), *save = NULL, *name;

    for (name = strtok_r(text, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        object->need =
            arena_grow(&store->arena, object->need, object->n_needs, sizeof(*object->need));
        object->need[object->n_needs++] = (struct need){kind, expand(store, name)};
    }
}

static void add_versions(struct store *store, struct object *object, const char *list)
{
    char *text = arena_strdup(&store->arena, list ? list : ""), *save = NULL, *name;

    for (name = strtok_r(text, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        object->verneed =
            arena_grow(&store->arena, object->verneed, object->n_verneed, sizeof(*object->verneed));
        object->verneed[object->n_verneed++] = (struct version){.file = name, .name = "V_1"};
    }
}

static struct object *make(struct store *store, const struct store_object *from)
{
    struct object *o = arena_alloc(&store->arena, sizeof(*o));
    bool program = strstr(from->path, "/bin/") != NULL;

    *o = (struct object){
        .class = ELFCLASS64,
        .data = ELFDATA2LSB,
        .ident_version = EV_CURRENT,
        .ident_pad_zero = true,
        .type = ET_DYN,
        .machine = from->machine ? from->machine : EM_X86_64,
        .version = EV_CURRENT,
        .phentsize = sizeof(Elf64_Phdr),
        .phnum = 8,
        .size = 4096,
        .mode = 0100555,
        .has_dynamic = true,
        .interp = program ? store_path(store, "glibc/lib/ld-linux-x86-64.so.2") : NULL,
        .runpath = expand(store, from->run_path),
        .rpath = expand(store, from->rpath),
        .soname = program ? NULL : str_base(from->path),
        .imports = from->imports,
        .layout = from->layout,
        .origin_string = from->origin_string,
        .trailing = from->trailing,
        .tls_size = from->tls_size,
        .audit = expand(store, from->audit),
    };
    if (from->dlopens) {
        o->dlopen_string = arena_calloc(&store->arena, 1, sizeof(*o->dlopen_string));
        o->dlopen_string[o->n_dlopen_strings++] = from->dlopens;
    }
    if (from->soname)
        o->soname = *from->soname ? from->soname : NULL;
    add_needs(store, o, from->needed, NEED_NEEDED);
    add_needs(store, o, from->filter, NEED_FILTER);
    add_versions(store, o, from->verneed);
    if (from->constant) {
        o->imports |= IMPORT_DLOPEN;
        o->dlopen_string = arena_calloc(&store->arena, 1, sizeof(*o->dlopen_string));
        o->dlopen_string[o->n_dlopen_strings++] = from->constant;
    }
    return o;
}

void store_add(struct store *store, const struct store_object *object, size_t n)
{
    struct err err;
    size_t i;

    for (i = 0; i < n; i++) {
        const char *path = store_path(store, object[i].path);
        int r = object[i].link
                    ? overlay_link(store->world, path, expand(store, object[i].link), &err)
                    : overlay_file(store->world, path, make(store, &object[i]), &err);

        if (r < 0)
            die(path, &err);
    }
}

static void add_loader(struct store *store)
{
    static const struct store_object libc = {"glibc/lib/libc.so.6",
                                             .needed = "ld-linux-x86-64.so.2"};
    static const struct store_object ldso = {.path = "glibc/lib/ld-linux-x86-64.so.2"};
    struct object *loader = make(store, &ldso);
    struct ldso *facts = arena_alloc(&store->arena, sizeof(*facts));
    struct err err;

    *facts = (struct ldso){.libc = LIBC_GLIBC, .version = "2.41", .lib = "lib", .source = "file"};
    facts->system_dirs = arena_calloc(&store->arena, 1, sizeof(*facts->system_dirs));
    facts->system_dirs[0] = store_path(store, "glibc/lib/");
    facts->n_system_dirs = 1;
    facts->cache = store_path(store, "glibc/etc/ld.so.cache");
    facts->preload = "/etc/ld-nix.so.preload";
    loader->ldso = facts;
    if (overlay_file(store->world, store_path(store, ldso.path), loader, &err) < 0)
        die(ldso.path, &err);
    store_add(store, &libc, 1);
}

struct store *store_new(void)
{
    struct store *store = calloc(1, sizeof(*store));

    if (!store)
        abort();
    store->base = world_new(&empty, NULL, 0, 0);
    store->base->has_proc = true;
    store->world = world_overlay(store->base);
    store->policy = *policy_default();
    add_loader(store);
    return store;
}

void store_free(struct store *store)
{
    world_close(store->world);
    world_close(store->base);
    arena_release(&store->arena);
    free(store);
}

void store_subject(struct store *store, const char *program, struct subject *ret_subject)
{
    struct subject_query query = {.world = store->world,
                                  .policy = &store->policy,
                                  .program = store_path(store, program),
                                  .env = store->env,
                                  .n_env = store->n_env};
    struct err err;

    if (subject_init(ret_subject, &query, &store->arena, &err) < 0)
        die(program, &err);
}

const char *store_join(struct store *store, const char *const *text, size_t n)
{
    struct str out = {.arena = &store->arena};
    size_t i;

    str_add(&out, "");
    for (i = 0; i < n; i++)
        str_printf(&out, "%s%s", i ? " " : "", text[i]);
    return out.text;
}
