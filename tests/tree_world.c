#include "base/str.h"
#include "tests/tree.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Nodes carry 1 + the index of their entry as `source`; the root directory, which a tree need not
 * list, carries 0.
 */
struct tree_data {
    const struct tree *tree;
    const struct ldso *ldso;
    struct arena arena;
};

static bool is_child(const char *path, const char *dir, const char *name)
{
    const size_t len = strlen(dir);

    return !strncmp(path, dir, len) && path[len] == '/' && !strcmp(path + len + 1, name);
}

static const char *path_of(const struct tree *tree, const struct node *node)
{
    return node->source ? tree->entry[node->source - 1].path : "";
}

static const struct entry *hard_target(const struct tree *tree, const struct entry *entry)
{
    const struct entry *target = entry;

    if (entry->kind == ENTRY_HARD_LINK)
        target = tree_find(tree, entry->target);
    return target ? target : entry;
}

/* A described ELF file has some size that nothing depends on, unless it was recorded. */
static uint64_t size_of(const struct entry *entry)
{
    return entry->elf && !entry->size ? 4096 : entry->size;
}

static int tree_child(struct world *world, const struct node *dir, const struct name *name,
                      struct node *ret_node)
{
    static const enum node_kind kinds[] = {NODE_DIR, NODE_FILE, NODE_LINK, NODE_FILE};
    static const uint32_t types[] = {S_IFDIR, S_IFREG, S_IFLNK, S_IFREG};
    const struct tree_data *data = world->data;
    const struct tree *tree = data->tree;
    const char *parent = path_of(tree, dir);

    for (size_t i = 0; i < tree->n_entries; i++) {
        const struct entry *entry = &tree->entry[i], *real;

        if (!is_child(entry->path, parent, name->text))
            continue;
        real = hard_target(tree, entry);
        ret_node->kind = kinds[entry->kind];
        ret_node->dev = 1;
        ret_node->ino = 2 + (uint64_t)(real - tree->entry);
        ret_node->mode = types[entry->kind] | real->mode;
        ret_node->uid = real->uid;
        ret_node->gid = 0;
        ret_node->size = size_of(real);
        ret_node->target = entry->target;
        ret_node->source = 1 + (uint64_t)(real - tree->entry);
        return 0;
    }
    return -ENOENT;
}

/* ---- from a description to the facts the scanner would read from the file */

static void object_dynamic(struct arena *arena, const struct elf_spec *spec, struct object *o)
{
    o->need = arena_calloc(arena, spec->n_dynamic + 1, sizeof(*o->need));
    for (size_t i = 0; i < spec->n_dynamic; i++) {
        const struct elf_dyn *d = &spec->dynamic[i];

        switch (d->tag) {
        case DT_NEEDED:
            o->need[o->n_needs++] = (struct need){NEED_NEEDED, d->text};
            break;
        case DT_AUXILIARY:
            o->need[o->n_needs++] = (struct need){NEED_AUXILIARY, d->text};
            break;
        case DT_FILTER:
            o->need[o->n_needs++] = (struct need){NEED_FILTER, d->text};
            break;
        case DT_SONAME:
            o->soname = d->text;
            break;
        case DT_RPATH:
            o->rpath = d->text;
            break;
        case DT_RUNPATH:
            o->runpath = d->text;
            break;
        case DT_AUDIT:
            o->audit = d->text;
            break;
        case DT_DEPAUDIT:
            o->depaudit = d->text;
            break;
        case DT_FLAGS:
            o->flags = (uint32_t)d->value;
            break;
        case DT_FLAGS_1:
            o->flags_1 = (uint32_t)d->value;
            break;
        default:
            break;
        }
    }
}

struct object *tree_object(struct arena *arena, const struct elf_spec *spec)
{
    struct object *o = arena_alloc(arena, sizeof(*o));

    *o = (struct object){
        .class = spec->class,
        .data = spec->data,
        .ident_version = spec->ident_version,
        .osabi = spec->osabi,
        .abiversion = spec->abiversion,
        .ident_pad_zero = !spec->ident_pad,
        .type = spec->type,
        .machine = spec->machine,
        .version = spec->version,
        .machine_flags = spec->flags,
        .phentsize = spec->phentsize             ? spec->phentsize
                     : spec->class == ELFCLASS32 ? 32
                                                 : 56,
        .phnum = 3,
        .interp = spec->interp,
        .has_dynamic = !spec->no_dynamic && !spec->empty_dynamic,
    };
    for (size_t i = 0; i < spec->n_notes; i++) {
        const struct elf_note *note = &spec->note[i];

        if (!strcmp(note->owner, "GNU") && note->type == NT_GNU_ABI_TAG && note->size >= 16 &&
            !o->has_abi_tag) {
            o->has_abi_tag = true;
            memcpy(o->abi_tag, note->bytes, sizeof(o->abi_tag));
        }
        if (note->type == NT_NIXOS_RESOLUTION && !o->resolution.bytes)
            o->resolution = (struct note){note->bytes, note->size};
    }
    if (o->has_dynamic)
        object_dynamic(arena, spec, o);
    return o;
}

static int read_object(struct world *world, const struct node *file,
                       const struct object **ret_object)
{
    struct tree_data *data = world->data;
    const struct entry *entry = &data->tree->entry[file->source - 1];
    struct object *object;

    *ret_object = NULL;
    if (!entry->elf)
        return 0;
    object = tree_object(&data->arena, entry->elf);
    object->size = size_of(entry);
    object->mode = file->mode;
    if (entry->is_loader)
        object->ldso = data->ldso;
    *ret_object = object;
    return 0;
}

static int tree_bytes(struct world *world, const struct node *file, size_t max, struct arena *arena,
                      char **ret_bytes, size_t *ret_len)
{
    const struct tree_data *data = world->data;
    const struct entry *entry = &data->tree->entry[file->source - 1];
    const size_t len = entry->size < max ? entry->size : max;

    if (!entry->bytes)
        return -EIO; /* nothing reads an ELF file this way */
    *ret_bytes = arena_strndup(arena, "", 0);
    if (len)
        *ret_bytes = memcpy(arena_alloc(arena, len + 1), entry->bytes, len);
    *ret_len = len;
    return 0;
}

static int tree_list(struct world *world, struct node *dir,
                     void (*each)(void *data, const char *name), void *each_data)
{
    const struct tree_data *data = world->data;
    const char *parent = path_of(data->tree, dir);

    for (size_t i = 0; i < data->tree->n_entries; i++) {
        const char *path = data->tree->entry[i].path, *name = str_base(path);

        if (is_child(path, parent, name))
            each(each_data, name);
    }
    return 0;
}

static void tree_close(struct world *world)
{
    struct tree_data *data = world->data;

    arena_release(&data->arena);
    world->data = NULL;
}

struct world *tree_world(const struct tree *tree, const struct ldso *ldso, uint32_t uid)
{
    static const struct world_ops ops = {
        .child = tree_child,
        .object = read_object,
        .bytes = tree_bytes,
        .list = tree_list,
        .close = tree_close,
    };
    struct tree_data *data = arena_alloc(tree->arena, sizeof(*data));
    struct world *world;

    *data = (struct tree_data){.tree = tree, .ldso = ldso};
    world = world_new(&ops, data, uid, uid);
    world->has_proc = tree_find(tree, "/proc") != NULL;
    world->root->mode = S_IFDIR | 0755;
    world->root->dev = world->root->ino = 1;
    return world;
}
