#include "base/str.h"
#include "loader/ldcache_write.h"
#include "tests/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct tag_name {
    const char *name;
    int64_t tag;
    bool text;
} tag_names[] = {
    {"NEEDED", DT_NEEDED, true},    {"SONAME", DT_SONAME, true},       {"RPATH", DT_RPATH, true},
    {"RUNPATH", DT_RUNPATH, true},  {"AUXILIARY", DT_AUXILIARY, true}, {"FILTER", DT_FILTER, true},
    {"AUDIT", DT_AUDIT, true},      {"DEPAUDIT", DT_DEPAUDIT, true},   {"FLAGS", DT_FLAGS, false},
    {"FLAGS_1", DT_FLAGS_1, false},
};

bool tree_tag(const char *name, int64_t *ret_tag)
{
    const struct tag_name *tag;

    for_each (tag, tag_names)
        if (!strcasecmp(tag->name, name)) {
            *ret_tag = tag->tag;
            return true;
        }
    return false;
}

/* ---- reading */

static const char *get_text(struct arena *arena, const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));

    return text ? str_unescape(arena, text) : NULL;
}

static uint64_t get_int(const json_t *json, const char *key, uint64_t otherwise)
{
    const json_t *value = json_object_get(json, key);

    return json_is_integer(value) ? (uint64_t)json_integer_value(value) : otherwise;
}

static int read_dynamic(struct arena *arena, const json_t *json, struct elf_spec *spec,
                        struct err *err)
{
    const size_t n = json_array_size(json);
    struct elf_dyn *dynamic = arena_calloc(arena, n + 1, sizeof(*dynamic));

    for (size_t i = 0; i < n; i++) {
        const json_t *pair = json_array_get(json, i), *value = json_array_get(pair, 1);
        const char *name = json_string_value(json_array_get(pair, 0));
        const struct tag_name *tag, *found = NULL;

        for_each (tag, tag_names)
            if (name && !strcmp(tag->name, name))
                found = tag;
        if (!found || (found->text ? !json_is_string(value) : !json_is_integer(value)))
            return err_set(err, EINVAL, "dynamic entry %zu: unknown tag or wrong value", i);
        dynamic[i].tag = found->tag;
        if (found->text)
            dynamic[i].text = str_unescape(arena, json_string_value(value));
        else
            dynamic[i].value = (uint64_t)json_integer_value(value);
    }
    spec->dynamic = dynamic;
    spec->n_dynamic = n;
    return 0;
}

static void add_note(struct arena *arena, struct elf_spec *spec, const char *owner, uint32_t type,
                     const void *bytes, size_t size)
{
    struct elf_note *note = arena_calloc(arena, spec->n_notes + 1, sizeof(*note));

    if (spec->n_notes)
        memcpy(note, spec->note, spec->n_notes * sizeof(*note));
    note[spec->n_notes++] =
        (struct elf_note){owner, type, arena_memdup(arena, bytes, size), (uint32_t)size};
    spec->note = note;
}

/* Pairs of zero-ended strings, closed by an empty one. */
static void read_resolution(struct arena *arena, const json_t *pairs, struct elf_spec *spec)
{
    struct str text = {.arena = arena};

    for (size_t i = 0; i < json_array_size(pairs); i++)
        for (size_t j = 0; j < 2; j++) {
            const char *part = json_string_value(json_array_get(json_array_get(pairs, i), j));

            part = str_unescape(arena, part ? part : "");
            str_add_n(&text, part, strlen(part) + 1);
        }
    str_add_n(&text, "", 1);
    add_note(arena, spec, "NixOS", NT_NIXOS_RESOLUTION, text.text, text.len);
}

static int read_elf(struct arena *arena, const json_t *json, struct elf_spec **ret_spec,
                    struct err *err)
{
    struct elf_spec *spec = arena_alloc(arena, sizeof(*spec));
    const json_t *dynamic = json_object_get(json, "dynamic");
    const json_t *abi_tag = json_object_get(json, "abi_tag");
    const json_t *resolution = json_object_get(json, "nixos_ldcache");
    uint32_t tag[4];

    *spec = elf_library();
    spec->interp = get_text(arena, json, "interp");
    if (spec->interp)
        *spec = elf_program(spec->interp);
    spec->class = (uint8_t)get_int(json, "class", spec->class);
    spec->data = (uint8_t)get_int(json, "data", spec->data);
    spec->ident_version = (uint8_t)get_int(json, "ident_version", spec->ident_version);
    spec->osabi = (uint8_t)get_int(json, "osabi", 0);
    spec->abiversion = (uint8_t)get_int(json, "abiversion", 0);
    spec->ident_pad = json_is_false(json_object_get(json, "ident_pad_zero"));
    spec->type = (uint16_t)get_int(json, "type", spec->type);
    spec->machine = (uint16_t)get_int(json, "machine", spec->machine);
    spec->version = (uint32_t)get_int(json, "version", spec->version);
    spec->flags = (uint32_t)get_int(json, "flags", 0);
    spec->phentsize = (uint16_t)get_int(json, "phentsize", 0);
    spec->no_dynamic = !dynamic;
    for (size_t i = 0; i < 4; i++)
        tag[i] = (uint32_t)json_integer_value(json_array_get(abi_tag, i));
    if (abi_tag)
        add_note(arena, spec, "GNU", NT_GNU_ABI_TAG, tag, sizeof(tag));
    if (resolution)
        read_resolution(arena, resolution, spec);
    *ret_spec = spec;
    return dynamic ? read_dynamic(arena, dynamic, spec, err) : 0;
}

static void read_head(struct arena *arena, const char *hex, uint64_t size, struct entry *entry)
{
    const size_t digits = strlen(hex);
    const size_t n = size < digits / 2 ? digits / 2 : size;
    char *bytes = arena_alloc(arena, n + 1);

    for (size_t i = 0; i + 1 < digits; i += 2) {
        const char pair[3] = {hex[i], hex[i + 1], '\0'};

        bytes[i / 2] = (char)strtoul(pair, NULL, 16);
    }
    entry->bytes = bytes;
    entry->size = n;
}

/* {"entries": [[flags, key, value, hwcap], ...], "glibc_hwcaps": [name, ...]} */
static void read_ldcache(struct arena *arena, const json_t *json, struct entry *entry)
{
    const json_t *entries = json_object_get(json, "entries");
    const json_t *levels = json_object_get(json, "glibc_hwcaps");
    const size_t n = json_array_size(entries);
    struct cache_entry *cache = arena_calloc(arena, n + 1, sizeof(*cache));

    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(entries, i);
        const char *key = json_string_value(json_array_get(row, 1));
        const char *value = json_string_value(json_array_get(row, 2));

        cache[i].flags = (int32_t)json_integer_value(json_array_get(row, 0));
        cache[i].key = str_unescape(arena, key ? key : "");
        cache[i].value = str_unescape(arena, value ? value : "");
        cache[i].hwcap = (uint64_t)json_integer_value(json_array_get(row, 3));
        if (cache[i].hwcap >> 62 & 1)
            cache[i].level = json_string_value(json_array_get(levels, (uint32_t)cache[i].hwcap));
        if (cache[i].level)
            cache[i].level = arena_strdup(arena, cache[i].level);
    }
    ldcache_write(arena, cache, n, true, &entry->bytes, &entry->size);
}

static int read_file(struct arena *arena, const json_t *json, struct entry *entry, struct err *err)
{
    const json_t *elf = json_object_get(json, "elf"), *cache = json_object_get(json, "ldcache");
    const char *head = json_string_value(json_object_get(json, "head"));
    const char *text = get_text(arena, json, "text");
    struct elf_spec *spec;
    int r;

    entry->is_loader = json_is_true(json_object_get(json, "is_loader"));
    entry->size = get_int(json, "size", 0);
    if (elf) {
        r = read_elf(arena, elf, &spec, err);
        if (r < 0)
            return r;
        entry->elf = spec;
    } else if (cache) {
        read_ldcache(arena, cache, entry);
    } else if (text) {
        entry->bytes = text;
        entry->size = strlen(text);
    } else {
        read_head(arena, head ? head : "", entry->size, entry);
    }
    return 0;
}

static int read_entry(struct tree *tree, const json_t *json, struct err *err)
{
    const char *path = get_text(tree->arena, json, "path"), *type;
    const char *mode = json_string_value(json_object_get(json, "mode"));
    const char *hard = get_text(tree->arena, json, "hardlink_of");
    struct entry *entry;

    type = json_string_value(json_object_get(json, "type"));
    if (!path || path[0] != '/' || !type)
        return err_set(err, EINVAL, "tree entry without path or type");
    if (!strcmp(type, "dir"))
        entry = tree_add(tree, ENTRY_DIR, path);
    else if (!strcmp(type, "symlink"))
        entry = tree_add_link(tree, path, get_text(tree->arena, json, "target"));
    else if (!strcmp(type, "file"))
        entry = tree_add(tree, hard ? ENTRY_HARD_LINK : ENTRY_FILE, path);
    else
        return err_set(err, EINVAL, "'%s': unknown type '%s'", path, type);
    if (mode)
        entry->mode = (uint32_t)strtoul(mode, NULL, 8);
    entry->uid = (uint32_t)get_int(json, "uid", 0);
    if (hard)
        entry->target = hard;
    if (entry->kind == ENTRY_LINK && !entry->target)
        return err_set(err, EINVAL, "'%s': a link without target", path);
    return entry->kind == ENTRY_FILE ? read_file(tree->arena, json, entry, err) : 0;
}

int tree_read_json(struct arena *arena, const json_t *json, struct tree *ret_tree, struct err *err)
{
    struct tree tree = {.arena = arena};

    for (size_t i = 0; i < json_array_size(json); i++) {
        const int r = read_entry(&tree, json_array_get(json, i), err);

        if (r < 0)
            return r;
    }
    *ret_tree = tree;
    return 0;
}

/* ---- writing */

static json_t *dynamic_json(const struct elf_spec *spec)
{
    json_t *list = json_array();

    for (size_t i = 0; i < spec->n_dynamic; i++) {
        const struct elf_dyn *d = &spec->dynamic[i];
        const struct tag_name *tag;
        json_t *pair = json_array();

        for_each (tag, tag_names)
            if (tag->tag == d->tag)
                json_push(pair, json_text(tag->name));
        json_push(pair, d->text ? json_text(d->text) : json_integer((json_int_t)d->value));
        json_push(list, pair);
    }
    return list;
}

static json_t *resolution_json(const struct elf_note *note)
{
    const char *at = note->bytes, *end = at + note->size;
    json_t *pairs = json_array();

    while (at < end && *at) {
        json_t *pair = json_array();

        for (int i = 0; i < 2 && at < end; i++) {
            json_push(pair, json_text(at));
            at += strlen(at) + 1;
        }
        json_push(pairs, pair);
    }
    return pairs;
}

static json_t *elf_json(const struct elf_spec *spec)
{
    json_t *elf = json_object();

    json_put_int(elf, "class", spec->class);
    json_put_int(elf, "data", spec->data);
    json_put_int(elf, "ident_version", spec->ident_version);
    json_put_int(elf, "osabi", spec->osabi);
    json_put_int(elf, "abiversion", spec->abiversion);
    json_put(elf, "ident_pad_zero", json_boolean(!spec->ident_pad));
    json_put_int(elf, "type", spec->type);
    json_put_int(elf, "machine", spec->machine);
    json_put_int(elf, "version", spec->version);
    if (spec->flags)
        json_put_int(elf, "flags", spec->flags);
    json_put_int(elf, "phentsize",
                 spec->phentsize             ? spec->phentsize
                 : spec->class == ELFCLASS32 ? 32
                                             : 56);
    if (spec->interp)
        json_put_text(elf, "interp", spec->interp);
    for (size_t i = 0; i < spec->n_notes; i++) {
        const struct elf_note *note = &spec->note[i];

        if (note->type == NT_NIXOS_RESOLUTION)
            json_put(elf, "nixos_ldcache", resolution_json(note));
        if (note->type == NT_GNU_ABI_TAG && note->size == 16) {
            json_t *tag = json_array();

            for (size_t j = 0; j < 4; j++)
                json_push(tag, json_integer(((const uint32_t *)note->bytes)[j]));
            json_put(elf, "abi_tag", tag);
        }
    }
    if (!spec->no_dynamic && !spec->empty_dynamic)
        json_put(elf, "dynamic", dynamic_json(spec));
    return elf;
}

static json_t *hex_json(const char *bytes, size_t size)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct str hex = {.arena = &arena};

    for (size_t i = 0; i < size; i++)
        str_printf(&hex, "%02x", (unsigned char)bytes[i]);
    return json_text(size ? hex.text : "");
}

static json_t *entry_json(const struct tree *tree, const struct entry *entry)
{
    static const char *const types[] = {"dir", "file", "symlink", "file"};
    json_t *json = json_object();

    json_put_text(json, "path", entry->path);
    json_put_text(json, "type", types[entry->kind]);
    if (entry->kind == ENTRY_LINK)
        json_put_text(json, "target", entry->target);
    if (entry->kind == ENTRY_HARD_LINK)
        json_put_text(json, "hardlink_of", entry->target);
    if (entry->mode != 0755)
        json_put(json, "mode", json_text(arena_printf(tree->arena, "%o", entry->mode)));
    if (entry->uid)
        json_put_int(json, "uid", entry->uid);
    if (entry->kind == ENTRY_FILE && entry->elf)
        json_put(json, "elf", elf_json(entry->elf));
    else if (entry->kind == ENTRY_FILE && entry->bytes)
        json_put(json, "head", hex_json(entry->bytes, entry->size));
    if (entry->is_loader)
        json_put(json, "is_loader", json_true());
    return json;
}

json_t *tree_json(const struct tree *tree)
{
    json_t *list = json_array();

    for (size_t i = 0; i < tree->n_entries; i++)
        json_push(list, entry_json(tree, &tree->entry[i]));
    return list;
}
