#include "tests/judge.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing */

static json_t *calls_json(const struct traced *traced, int phase)
{
    json_t *list = json_array();

    for (size_t i = 0; i < traced->n_calls; i++) {
        const struct traced_call *c = &traced->call[i];
        const struct call call = {.kind = c->kind, .error = c->error, .is_dir = c->is_dir};
        json_t *json;

        if (c->phase != phase)
            continue;
        json = json_object();
        json_put_text(json, "call", call_kind_name(c->kind));
        json_put_text(json, "path", c->path);
        json_put_text(json, "result", call_result(&call));
        json_push(list, json);
    }
    return list;
}

/* Copied files are not described by the tree; a case needs their header, name and needs. */
static const struct elf_spec *spec_of_copy(const struct judge *judge, struct arena *arena,
                                           const struct entry *entry)
{
    struct elf_spec *spec = arena_alloc(arena, sizeof(*spec));
    struct elf_dyn *dynamic = arena_calloc(arena, 2, sizeof(*dynamic));
    const char *soname = entry->is_loader ? judge->profile.soname : str_base(entry->path);

    *spec = elf_library();
    if (judge->machine) {
        elf_for_machine(spec, judge->machine->machine, judge->machine->class, judge->machine->data);
        spec->flags = judge->profile.machine_flags;
    }
    if (entry->is_loader && !soname)
        return spec;
    dynamic[spec->n_dynamic++] = (struct elf_dyn){DT_SONAME, soname, 0};
    if (!entry->is_loader)
        dynamic[spec->n_dynamic++] = (struct elf_dyn){
            DT_NEEDED, strcmp(soname, "libc.so.6") ? "libc.so.6" : judge->profile.soname, 0};
    spec->dynamic = dynamic;
    return spec;
}

static json_t *case_tree(const struct judge *judge, const struct sample *s)
{
    struct tree tree = s->tree;

    tree.entry = arena_memdup(s->arena, tree.entry, tree.n_entries * sizeof(struct entry));
    for (size_t i = 0; i < tree.n_entries; i++)
        if (tree.entry[i].copy_of)
            tree.entry[i].elf = spec_of_copy(judge, s->arena, &tree.entry[i]);
    return tree_json(&tree);
}

static const char *loader_name(const struct judge *judge, struct arena *arena)
{
    const struct ldso *ldso = judge->settings.ldso;
    const int version = judge->profile.version;

    if (ldso->libc == LIBC_MUSL)
        return arena_printf(arena, "musl-%d.%d.%d", version / 10000, version / 100 % 100,
                            version % 100);
    return arena_printf(arena, "glibc-2.%d%s%s-%s%s%s", version,
                        ldso->normalises ? "-normalises" : "", ldso->reads_note ? "-ldcache" : "",
                        ldso->debian ? "debian" : "nix", ldso->debian && judge->machine ? "-" : "",
                        ldso->debian && judge->machine ? str_base(ldso->lib) : "");
}

json_t *sample_record(const struct judge *judge, const struct sample *s, const struct verdict *v,
                      const char *name, const char *shows)
{
    json_t *record = json_object(), *env = json_object(), *argv = json_array();
    json_t *dlopens = json_array(), *after = json_array();

    json_push(argv, json_text(s->program));
    for (size_t i = 0; i < s->n_args; i++)
        json_push(argv, json_text(s->args[i]));
    for (size_t i = 0; i < s->n_env; i++) {
        const char *equals = strchr(s->env[i], '=');

        json_put_text(env, arena_strndup(s->arena, s->env[i], (size_t)(equals - s->env[i])),
                      equals + 1);
    }
    for (size_t i = 0; i < s->n_dlopens; i++) {
        json_push(dlopens, json_text(s->dlopens[i].name));
        json_push(after, calls_json(&v->traced, (int)i + 1));
    }
    json_put_text(record, "case", name);
    json_put_text(record, "shows", shows);
    json_put_text(record, "loader", loader_name(judge, s->arena));
    json_put_text(record, "interp", s->interp);
    json_put(record, "argv", argv);
    json_put(record, "env", env);
    json_put_text(record, "cwd", s->cwd);
    json_put_int(record, "uid", s->uid);
    json_put(record, "tree", case_tree(judge, s));
    json_put(record, "trace", calls_json(&v->traced, 0));
    json_put(record, "dlopen", dlopens);
    if (s->n_dlopens && s->dlopens[0].caller)
        json_put_text(record, "dlopen_caller", s->dlopens[0].caller);
    json_put(record, "after_start", after);
    json_put_int(record, "exit_status", v->traced.n_markers ? 0 : v->traced.status);
    json_put_text(record, "stderr", v->traced.stderr_text);
    return record;
}

static void print_member(FILE *to, const char *key, const json_t *value, bool last)
{
    const bool lines = !strcmp(key, "tree") || !strcmp(key, "trace");
    char *text;

    fprintf(to, "  \"%s\": %s", key, lines ? "[" : "");
    for (size_t i = 0; lines && i < json_array_size(value); i++) {
        text = json_dumps(json_array_get(value, i), JSON_PRESERVE_ORDER);
        fprintf(to, "%s\n    %s", i ? "," : "", text);
        free(text);
    }
    if (!lines) {
        text = json_dumps(value, JSON_PRESERVE_ORDER | JSON_ENCODE_ANY);
        fputs(text, to);
        free(text);
    }
    fprintf(to, "%s%s\n", lines ? "]" : "", last ? "" : ",");
}

int sample_write_case(const char *path, const struct judge *judge, const json_t *record,
                      struct err *err)
{
    FILE *to = fopen(path, "we");
    const size_t n = json_object_size(record);
    json_t *copy = json_copy((json_t *)(uintptr_t)record), *value;
    const char *key;
    size_t i = 0;

    if (!to) {
        json_decref(copy);
        return err_set(err, errno, "'%s': %s", path, strerror(errno));
    }
    fprintf(to, "{\"cpu\": {\"name\": \"%s\"", judge->cpu.name);
    if (judge->machine)
        fprintf(to, ", \"machine\": \"%s\"", judge->machine->name);
    fprintf(to, "}, \"records\": [{\n");
    json_object_foreach (copy, key, value)
        print_member(to, key, value, ++i == n);
    fputs("}]}\n", to);
    json_decref(copy);
    if (fclose(to) != 0)
        return err_set(err, EIO, "'%s': cannot be written", path);
    return 0;
}

/* ---- reading */

static const char *text_of(struct arena *arena, const json_t *value)
{
    return str_unescape(arena, json_is_string(value) ? json_string_value(value) : "");
}

static const char **texts_of(struct arena *arena, const json_t *list, size_t from, size_t *ret_n)
{
    const size_t n = json_array_size(list);
    const char **text = arena_calloc(arena, n + 1, sizeof(*text));

    for (size_t i = from; i < n; i++)
        text[i - from] = text_of(arena, json_array_get(list, i));
    *ret_n = n > from ? n - from : 0;
    return text;
}

/* The program that a record describes, with code that makes its dlopens. */
static void make_dlopener(struct sample *s, const char *const *names)
{
    struct entry *program = tree_find(&s->tree, s->program);
    struct elf_spec *spec = arena_alloc(s->arena, sizeof(*spec));

    if (!program || !program->elf)
        return;
    *spec = elf_dlopener(s->arena, s->interp, names, s->n_dlopens);
    spec->dynamic = program->elf->dynamic;
    spec->n_dynamic = program->elf->n_dynamic;
    program->elf = spec;
}

int sample_of_record(const struct judge *judge, const json_t *record, struct arena *arena,
                     struct sample *ret_sample, struct err *err)
{
    struct sample s = {.arena = arena};
    const json_t *argv = json_object_get(record, "argv");
    json_t *env = json_object_get(record, "env"), *value;
    const char *caller = json_string_value(json_object_get(record, "dlopen_caller"));
    const char *key, **names;
    const int r = tree_read_json(arena, json_object_get(record, "tree"), &s.tree, err);

    if (r < 0)
        return r;
    s.interp = text_of(arena, json_object_get(record, "interp"));
    s.program = text_of(arena, json_array_get(argv, 0));
    s.args = texts_of(arena, argv, 1, &s.n_args);
    s.cwd = text_of(arena, json_object_get(record, "cwd"));
    s.uid = (uint32_t)json_integer_value(json_object_get(record, "uid"));
    s.env = arena_calloc(arena, json_object_size(env) + 1, sizeof(*s.env));
    json_object_foreach (env, key, value)
        s.env[s.n_env++] = arena_printf(arena, "%s=%s", key, text_of(arena, value));
    names = texts_of(arena, json_object_get(record, "dlopen"), 0, &s.n_dlopens);
    s.dlopens = arena_calloc(arena, s.n_dlopens + 1, sizeof(*s.dlopens));
    for (size_t i = 0; i < s.n_dlopens; i++)
        s.dlopens[i] = (struct dlopen_call){.name = names[i], .caller = caller};
    if (s.n_dlopens && !caller)
        make_dlopener(&s, names);
    for (size_t i = 0; i < s.tree.n_entries; i++) {
        struct entry *entry = &s.tree.entry[i];

        if (entry->is_loader)
            entry->copy_of = judge->settings.loader_file;
        for (size_t j = 0; j < judge->settings.n_libc; j++)
            if (!strcmp(str_base(entry->path), str_base(judge->settings.libc[j])))
                entry->copy_of = judge->settings.libc[j];
        if (entry->mode & 04000)
            s.secure = s.uid != 0;
    }
    *ret_sample = s;
    return 0;
}
