/*
 * Replay recorded runs of real loaders against the model, call for call, in order.
 *
 *	recorded [-v] [--file FILE] [--dir DIR] [CASE-GLOB [LOADER-GLOB]]
 *
 * A record is one start of one program in a small, complete file tree under one loader: the tree,
 * the arguments, and every call on a path that the real loader made (tests/loader/README). Prints
 * a line and the surroundings of the first difference for each record that differs, and closes
 * with "N passed, N failed". Cases that the model does not claim to know yet are listed below and
 * counted as left out, never as passed.
 */
#include "base/json.h"
#include "base/str.h"
#include "loader/loader.h"
#include "tests/ldso_name.h"
#include "tests/lines.h"
#include "tests/machine.h"
#include "tests/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum { FILE_MAX = 256 * 1024 * 1024 };

/* Not claimed yet: left out, and said so. */
static const char *const left_out[] = {
    NULL,
};

struct totals {
    unsigned passed, failed, left_out;
    bool verbose;
    const char *case_glob, *loader_glob;
};

/* ---- one record */

struct record {
    const json_t *json;
    const char *name, *loader, *interp, *program;
    struct ldso ldso;
    struct cpu cpu;
    struct tree tree;
    struct world *world;
    const char **env, **args; /* args: of an explicit invocation */
    size_t n_env, n_args;
    struct dlopen_call *dlopens;
    size_t n_dlopens;
    bool secure;
};

static const char *text_of(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));

    return text ? text : "";
}

/* The processor of the machine a file was recorded on; `cpu` names it, or tells what it has. */
static int record_cpu(const json_t *cpu, struct arena *arena, bool taken_for_intel,
                      struct record *rec, struct err *err)
{
    const char *name = json_string_value(json_object_get(cpu, "name"));
    const struct machine *machine = machine_find(text_of(cpu, "machine"));
    const char *best = json_string_value(json_array_get(json_object_get(cpu, "isa_subdirs"), 0));

    if (machine)
        return machine_cpu(machine, &rec->cpu, err);
    if (!name) {
        name = best ? best : "x86-64-v1";
        if (taken_for_intel || !strcmp(text_of(cpu, "vendor"), "GenuineIntel"))
            name = arena_printf(arena, "%s:intel", name);
    }
    return cpu_find(name, &rec->cpu, err);
}

static void record_start(struct record *rec, struct arena *arena)
{
    json_t *env = json_object_get(rec->json, "env"), *value;
    const json_t *argv = json_object_get(rec->json, "argv");
    const json_t *dlopens = json_object_get(rec->json, "dlopen");
    const char *caller = json_string_value(json_object_get(rec->json, "dlopen_caller"));
    const char *name;

    rec->env = arena_calloc(arena, json_object_size(env) + 1, sizeof(*rec->env));
    json_object_foreach (env, name, value)
        rec->env[rec->n_env++] =
            arena_printf(arena, "%s=%s", name, str_unescape(arena, json_string_value(value)));
    rec->program = str_unescape(arena, json_string_value(json_array_get(argv, 0)));
    if (!strcmp(rec->program, rec->interp)) {
        rec->args = arena_calloc(arena, json_array_size(argv) + 1, sizeof(*rec->args));
        for (size_t i = 1; i < json_array_size(argv); i++)
            rec->args[rec->n_args++] = json_string_value(json_array_get(argv, i));
    }
    rec->dlopens = arena_calloc(arena, json_array_size(dlopens) + 1, sizeof(*rec->dlopens));
    for (size_t i = 0; i < json_array_size(dlopens); i++)
        rec->dlopens[rec->n_dlopens++] =
            (struct dlopen_call){json_string_value(json_array_get(dlopens, i)), caller};
}

/* A set-id program, started by somebody who is not its owner. */
static bool is_secure(const struct record *rec)
{
    const struct place cwd = world_walk(rec->world, NULL, text_of(rec->json, "cwd"));
    const struct place program = world_walk(rec->world, cwd.node, rec->program);

    return !program.error && program.node->mode & S_ISUID &&
           program.node->uid != json_integer_value(json_object_get(rec->json, "uid"));
}

static int record_open(struct record *rec, const json_t *cpu, struct arena *arena, struct err *err)
{
    bool intel;
    int r;

    rec->interp = text_of(rec->json, "interp");
    r = ldso_by_name(arena, rec->loader, rec->interp, &rec->ldso, &intel, err);
    if (r == 0)
        r = record_cpu(cpu, arena, intel, rec, err);
    if (r == 0)
        r = tree_read_json(arena, json_object_get(rec->json, "tree"), &rec->tree, err);
    if (r < 0)
        return r;
    rec->world = tree_world(&rec->tree, &rec->ldso,
                            (uint32_t)json_integer_value(json_object_get(rec->json, "uid")));
    record_start(rec, arena);
    rec->secure = is_secure(rec);
    return 0;
}

/* ---- comparing */

static void expect_calls(struct lines *to, const json_t *calls)
{
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i);

        lines_add(to, arena_printf(to->arena, "%-8s %s = %s", text_of(call, "call"),
                                   text_of(call, "path"), text_of(call, "result")));
    }
}

/*
 * Relocation and version trouble after all loading costs no call: the model need not see it. musl as
 * a command ends with 1, in its own name, when there is no program to start.
 */
static bool start_failed(const json_t *record)
{
    const json_int_t status = json_integer_value(json_object_get(record, "exit_status"));
    const char *said = text_of(record, "stderr");

    if (status == 1 && strstr(said, "/ld-musl-"))
        return true;
    return status == 127 && !strstr(said, "symbol lookup error") &&
           !strstr(said, "Error relocating");
}

static void expected_lines(const struct record *rec, struct lines *to)
{
    const json_t *phases = json_object_get(rec->json, "after_start");

    expect_calls(to, json_object_get(rec->json, "trace"));
    for (size_t i = 0; i < rec->n_dlopens; i++) {
        lines_add(to, arena_printf(to->arena, "-- dlopen %s", rec->dlopens[i].name));
        expect_calls(to, json_array_get(phases, i));
    }
    lines_add(to, start_failed(rec->json) ? "-- fails" : "-- starts");
}

/* True when the model says what the real loader did. */
static bool same_calls(const struct record *rec, const struct trace *trace, struct arena *arena)
{
    struct lines expected = {.arena = arena}, predicted = {.arena = arena};
    size_t at;

    expected_lines(rec, &expected);
    lines_of_trace(&predicted, trace, rec->dlopens, rec->n_dlopens);
    if (lines_same(&expected, &predicted, &at))
        return true;
    /* the loader's own assertions may cut a start short: then what it did is the beginning */
    if (strstr(text_of(rec->json, "stderr"), "Inconsistency detected") && at + 1 == expected.n)
        return true;
    printf("FAIL %s %s: call %zu of %zu\n", rec->name, rec->loader, at + 1, expected.n);
    printf("    (%s; model ends: %s)\n", text_of(rec->json, "shows"), trace->exit_text);
    lines_print(&expected, &predicted, at);
    return false;
}

static bool run_record(struct record *rec, const json_t *cpu)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct loader *loader;
    struct trace trace;
    struct err err;
    bool same = false;
    int r = record_open(rec, cpu, &arena, &err);

    if (r < 0) {
        printf("FAIL %s %s: %s\n", rec->name, rec->loader, err.text);
        return false;
    }
    loader = loader_new(rec->world, &rec->cpu, text_of(rec->json, "cwd"), rec->secure);
    r = loader_run(loader,
                   &(struct start){
                       .program = rec->program,
                       .env = rec->env,
                       .n_env = rec->n_env,
                       .record = true,
                       .ld_args = rec->args,
                       .n_ld_args = rec->n_args,
                       .dlopens = rec->dlopens,
                       .n_dlopens = rec->n_dlopens,
                   },
                   &arena, &trace, &err);
    if (r < 0)
        printf("FAIL %s %s: %s\n", rec->name, rec->loader, err.text);
    else
        same = same_calls(rec, &trace, &arena);
    loader_free(loader);
    world_close(rec->world);
    return same;
}

/* ---- files */

static bool is_left_out(const char *name, const char *loader)
{
    for (const char *const *glob = left_out; *glob; glob++)
        if (!fnmatch(*glob, name, 0) || !fnmatch(*glob, loader, 0))
            return true;
    return false;
}

static void run_records(const json_t *file, struct totals *totals)
{
    const json_t *records = json_object_get(file, "records");

    for (size_t i = 0; i < json_array_size(records); i++) {
        struct record rec = {.json = json_array_get(records, i)};
        bool same;

        rec.name = text_of(rec.json, "case");
        rec.loader = text_of(rec.json, "loader");
        if (fnmatch(totals->case_glob, rec.name, 0) || fnmatch(totals->loader_glob, rec.loader, 0))
            continue;
        if (is_left_out(rec.name, rec.loader)) {
            totals->left_out++;
            continue;
        }
        same = run_record(&rec, json_object_get(file, "cpu"));
        if (same && totals->verbose)
            printf("ok   %s %s\n", rec.name, rec.loader);
        totals->passed += same;
        totals->failed += !same;
    }
}

/* Reads plain and compressed files alike. */
static int read_whole(const char *path, struct str *text, struct err *err)
{
    gzFile file = gzopen(path, "rb");
    char block[65536];
    int n = 0;

    if (!file)
        return err_set(err, errno, "'%s': %s", path, strerror(errno));
    while (text->len < FILE_MAX && (n = gzread(file, block, sizeof(block))) > 0)
        str_add_n(text, block, (size_t)n);
    gzclose(file);
    return n == 0 ? 0 : err_set(err, EIO, "'%s': cannot be decompressed", path);
}

static int run_file(const char *path, struct totals *totals, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct str text = {.arena = &arena};
    json_error_t why;
    json_t *file;
    int r = read_whole(path, &text, err);

    if (r < 0)
        return r;
    file = json_loadb(text.text, text.len, JSON_REJECT_DUPLICATES, &why);
    if (!file)
        return err_set(err, EINVAL, "'%s', line %d: %s", path, why.line, why.text);
    run_records(file, totals);
    json_decref(file);
    return 0;
}

static int run_folder(const char *path, struct totals *totals, struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct dirent **entries;
    const int n = scandir(path, &entries, NULL, alphasort);
    int r = 0;

    if (n < 0)
        return err_set(err, errno, "'%s': %s", path, strerror(errno));
    for (int i = 0; i < n; i++) {
        if (r == 0 && str_ends(entries[i]->d_name, ".json"))
            r = run_file(str_join(&arena, path, entries[i]->d_name), totals, err);
        free(entries[i]);
    }
    free(entries);
    return r;
}

int main(int argc, char **argv)
{
    struct totals totals = {.case_glob = "*", .loader_glob = "*"};
    const char *file = "tests/loader/cases.json.gz", *dir = NULL;
    const char **glob = &totals.case_glob;
    struct err err;
    int r;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-v"))
            totals.verbose = true;
        else if (!strcmp(argv[i], "--file") && i + 1 < argc)
            file = argv[++i];
        else if (!strcmp(argv[i], "--dir") && i + 1 < argc)
            dir = argv[++i];
        else
            *glob = argv[i], glob = &totals.loader_glob;
    }
    r = dir ? run_folder(dir, &totals, &err) : run_file(file, &totals, &err);
    if (r < 0) {
        printf("%s\n", err.text);
        totals.failed++;
    }
    if (totals.left_out)
        printf("%u left out: the model does not claim them yet\n", totals.left_out);
    printf("%u passed, %u failed\n", totals.passed, totals.failed);
    return totals.failed ? 1 : 0;
}
