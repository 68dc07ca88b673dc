#include "base/str.h"
#include "tests/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 256 };

static const struct machine {
    const char *name;
    uint16_t machine;
    uint8_t class, data;
} machines[] = {
    {"x86-64", EM_X86_64, ELFCLASS64, ELFDATA2LSB},   {"i386", EM_386, ELFCLASS32, ELFDATA2LSB},
    {"aarch64", EM_AARCH64, ELFCLASS64, ELFDATA2LSB}, {"arm", EM_ARM, ELFCLASS32, ELFDATA2LSB},
    {"riscv64", EM_RISCV, ELFCLASS64, ELFDATA2LSB},   {"s390x", EM_S390, ELFCLASS64, ELFDATA2MSB},
    {"ppc64le", EM_PPC64, ELFCLASS64, ELFDATA2LSB},   {"ppc", EM_PPC, ELFCLASS32, ELFDATA2MSB},
};

struct line {
    struct arena *arena;
    char *word[MAX_WORDS];
    size_t n;
    unsigned number;
};

static void split(struct line *line, char *text)
{
    char *at = text;

    line->n = 0;
    while (*at && line->n < MAX_WORDS) {
        at += strspn(at, " \t");
        if (!*at || *at == '#')
            return;
        line->word[line->n] = at;
        at += strcspn(at, " \t");
        if (*at)
            *at++ = '\0';
        line->word[line->n] = str_unescape(line->arena, line->word[line->n]);
        line->n++;
    }
}

static void add_dyn(struct arena *arena, struct elf_spec *spec, struct elf_dyn dyn)
{
    struct elf_dyn *list = arena_calloc(arena, spec->n_dynamic + 1, sizeof(*list));

    if (spec->n_dynamic)
        memcpy(list, spec->dynamic, spec->n_dynamic * sizeof(*list));
    list[spec->n_dynamic++] = dyn;
    spec->dynamic = list;
}

/* One more string among the file's constants. */
static void add_string(struct arena *arena, struct elf_spec *spec, const char *text)
{
    const size_t len = strlen(text) + 1;
    char *all = arena_alloc(arena, spec->rodata_size + len);

    if (spec->rodata_size)
        memcpy(all, spec->rodata, spec->rodata_size);
    memcpy(all + spec->rodata_size, text, len);
    spec->rodata = all;
    spec->rodata_size += len;
}

/* A dlopen note (UAPI.12); the text is JSON. */
static void add_dlopen_note(struct arena *arena, struct elf_spec *spec, const char *text)
{
    struct elf_note *list = arena_calloc(arena, spec->n_notes + 1, sizeof(*list));

    if (spec->n_notes)
        memcpy(list, spec->note, spec->n_notes * sizeof(*list));
    list[spec->n_notes++] = (struct elf_note){"FDO", 0x407c0c0a, text, (uint32_t)strlen(text) + 1};
    spec->note = list;
}

static void add_import(struct arena *arena, struct elf_spec *spec, const char *name)
{
    const char **list = arena_calloc(arena, spec->n_imports + 1, sizeof(*list));

    if (spec->n_imports)
        memcpy(list, spec->imports, spec->n_imports * sizeof(*list));
    list[spec->n_imports++] = name;
    spec->imports = list;
}

/* "FILE:VERSION", wanted from a file, or "VERSION", defined here. */
static void add_version(struct arena *arena, struct elf_spec *spec, char *text)
{
    struct elf_version *list = arena_calloc(arena, spec->n_versions + 1, sizeof(*list));
    char *colon = strchr(text, ':');

    if (spec->n_versions)
        memcpy(list, spec->versions, spec->n_versions * sizeof(*list));
    if (colon)
        *colon++ = '\0';
    list[spec->n_versions++] =
        (struct elf_version){.file = colon ? text : NULL, .name = colon ? colon : text};
    spec->versions = list;
}

/* A resolution note: "NAME|LIST|NAME|LIST|", each '|' a zero byte; one more ends it. */
static void add_resolution(struct arena *arena, struct elf_spec *spec, char *text)
{
    struct elf_note *list = arena_calloc(arena, spec->n_notes + 1, sizeof(*list));
    const uint32_t size = (uint32_t)strlen(text) + 1;

    if (spec->n_notes)
        memcpy(list, spec->note, spec->n_notes * sizeof(*list));
    for (uint32_t i = 0; i < size; i++)
        text[i] = text[i] == '|' ? '\0' : text[i];
    list[spec->n_notes++] = (struct elf_note){"NixOS", NT_NIXOS_RESOLUTION, text, size};
    spec->note = list;
}

/* "exec": an executable stack is asked for; "none": nothing is said. */
static void set_stack(struct elf_spec *spec, const char *text)
{
    spec->exec_stack = !strcmp(text, "exec");
    spec->no_gnu_stack = !strcmp(text, "none");
}

/* NAME=VALUE of a program or library. */
static int set_field(const struct line *line, char *word, struct elf_spec *spec, struct err *err)
{
    char *value = strchr(word, '=');
    const struct machine *m;
    struct elf_dyn dyn;

    if (!value)
        return err_set(err, EINVAL, "line %u: '%s' is not NAME=VALUE", line->number, word);
    *value++ = '\0';
    if (tree_tag(word, &dyn.tag)) {
        dyn.value = strtoull(value, NULL, 0);
        dyn.text = dyn.tag == DT_FLAGS || dyn.tag == DT_FLAGS_1 ? NULL : value;
        add_dyn(line->arena, spec, dyn);
        return 0;
    }
    if (!strcmp(word, "interp"))
        spec->interp = *value ? value : NULL;
    else if (!strcmp(word, "string"))
        add_string(line->arena, spec, value);
    else if (!strcmp(word, "dlopen"))
        add_dlopen_note(line->arena, spec, value);
    else if (!strcmp(word, "import"))
        add_import(line->arena, spec, value);
    else if (!strcmp(word, "version"))
        add_version(line->arena, spec, value);
    else if (!strcmp(word, "resolution"))
        add_resolution(line->arena, spec, value);
    else if (!strcmp(word, "stack"))
        set_stack(spec, value);
    else if (!strcmp(word, "trailing"))
        spec->trailing = strtoul(value, NULL, 0);
    else if (!strcmp(word, "type"))
        spec->type = (uint16_t)strtoul(value, NULL, 0);
    else if (!strcmp(word, "osabi"))
        spec->osabi = (uint8_t)strtoul(value, NULL, 0);
    else if (strcmp(word, "machine") != 0)
        return err_set(err, EINVAL, "line %u: unknown field '%s'", line->number, word);
    for_each (m, machines)
        if (!strcmp(word, "machine") && !strcmp(m->name, value))
            elf_for_machine(spec, m->machine, m->class, m->data);
    return 0;
}

static int add_elf(const struct line *line, struct tree *tree, struct err *err)
{
    const bool program = !strcmp(line->word[0], "program");
    struct elf_spec *spec = arena_alloc(tree->arena, sizeof(*spec));
    struct entry *entry = tree_add_elf(tree, line->word[1], spec);

    *spec = program ? elf_program("/lib64/ld-linux-x86-64.so.2") : elf_library();
    for (size_t i = 2; i < line->n; i++) {
        const bool is_mode = !strncmp(line->word[i], "mode=", 5);
        const int r = is_mode ? 0 : set_field(line, line->word[i], spec, err);

        if (r < 0)
            return r;
        if (is_mode)
            entry->mode = (uint32_t)strtoul(line->word[i] + 5, NULL, 8);
    }
    return 0;
}

static int add_entry(const struct line *line, struct tree *tree, struct err *err)
{
    const char *kind = line->word[0];
    struct entry *entry;

    if (line->n < 2 || line->word[1][0] != '/')
        return err_set(err, EINVAL, "line %u: wants KIND /PATH ...", line->number);
    if (!strcmp(kind, "program") || !strcmp(kind, "library"))
        return add_elf(line, tree, err);
    if (!strcmp(kind, "dir")) {
        entry = tree_add(tree, ENTRY_DIR, line->word[1]);
        if (line->n > 2)
            entry->mode = (uint32_t)strtoul(line->word[2], NULL, 8);
        return 0;
    }
    if (line->n < 3)
        return err_set(err, EINVAL, "line %u: '%s' wants two words", line->number, kind);
    if (!strcmp(kind, "link"))
        tree_add_link(tree, line->word[1], line->word[2]);
    else if (!strcmp(kind, "hard"))
        tree_add(tree, ENTRY_HARD_LINK, line->word[1])->target = line->word[2];
    else if (!strcmp(kind, "text"))
        tree_add_text(tree, line->word[1], line->word[2]);
    else if (!strcmp(kind, "copy"))
        tree_add(tree, ENTRY_FILE, line->word[1])->copy_of = line->word[2];
    else
        return err_set(err, EINVAL, "line %u: unknown kind '%s'", line->number, kind);
    return 0;
}

int tree_read_text(struct arena *arena, const char *path, struct tree *ret_tree, struct err *err)
{
    struct tree tree = {.arena = arena};
    struct line line = {.arena = arena};
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t size = 0;
    int r = 0;

    if (!file)
        return err_set(err, errno, "'%s': %s", path, strerror(errno));
    while (r == 0 && getline(&text, &size, file) > 0) {
        text[strcspn(text, "\n")] = '\0';
        line.number++;
        split(&line, text);
        if (line.n)
            r = add_entry(&line, &tree, err);
    }
    free(text);
    (void)fclose(file);
    if (r == 0)
        *ret_tree = tree;
    return r;
}
