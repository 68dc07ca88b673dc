/*
 * Random trees: the real loader and the model, on the same files, call for call.
 *
 *	random SEED COUNT [--loader FILE] [--keep]
 *
 * Makes COUNT samples (tests/sample.h), the first from SEED, the next from SEED + 1 and so on.
 * Each becomes real files in a scratch directory; its program is started there in a private root
 * under our tracer, with a copy of the machine's own loader or of FILE; the model looks at the
 * same files. When they differ, the sample is made smaller as long as it still differs, then
 * printed and kept as build/random/SEED.json, a case that belongs into tests/loader/regress. The
 * test goes on to find at most five.
 *
 * Private roots take root or user namespaces, tracing takes ptrace: where the machine forbids
 * them everything counts as skipped.
 */
#include "base/json.h"
#include "base/str.h"
#include "loader/loader.h"
#include "scanner/elf_read.h"
#include "tests/lines.h"
#include "tests/sample.h"
#include "tests/tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_REPORTS = 5 };

struct run {
    struct sample_settings settings;
    struct profile profile;
    struct cpu cpu;
    const char *scratch; /* directory, remade for every sample */
    bool keep;
    unsigned passed, failed, skipped;
};

/* ---- one sample, both ways */

static int remove_one(const char *path, const struct stat *st UNUSED, int type UNUSED,
                      struct FTW *at UNUSED)
{
    return remove(path);
}

static int fresh_scratch(const struct run *run, struct err *err)
{
    (void)nftw(run->scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (mkdir(run->scratch, 0755) < 0)
        return err_set(err, errno, "'%s': %s", run->scratch, strerror(errno));
    return 0;
}

/* A start that fails after all libraries are in memory has started, as far as calls go. */
static bool has_started(const struct traced *traced)
{
    return traced->marker || strstr(traced->stderr_text, "symbol lookup error") ||
           strstr(traced->stderr_text, "Error relocating");
}

static int run_real(const struct run *run, const struct sample *s, struct lines *to,
                    struct traced *traced, struct err *err)
{
    const char *const argv[] = {s->program, NULL};
    const char **env = arena_calloc(s->arena, s->n_env + 1, sizeof(*env));
    struct tracee tracee = {run->scratch, s->cwd, s->program, argv, env, s->uid};
    int r;

    if (s->n_env)
        memcpy(env, s->env, s->n_env * sizeof(*env));
    r = tracer_run(&tracee, s->arena, traced, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < traced->n_calls; i++) {
        const struct traced_call *c = &traced->call[i];
        const struct call call = {
            .kind = c->kind, .error = c->error, .is_dir = c->is_dir, .path = c->path};

        lines_add(to, arena_printf(to->arena, "%-8s %s = %s", call_kind_name(call.kind),
                                   str_escape(to->arena, call.path), call_result(&call)));
    }
    lines_add(to, has_started(traced) ? "-- starts" : "-- fails");
    return 0;
}

static int run_model(const struct run *run, const struct sample *s, struct lines *to,
                     const char **ret_exit, struct err *err)
{
    struct world *world;
    struct loader *loader;
    struct trace trace;
    int r = world_live(run->scratch, s->uid, s->uid, &world, err);

    if (r < 0)
        return r;
    /* our trees carry the one link of /proc that a loader reads, or do without /proc */
    world->has_proc = tree_find(&s->tree, "/proc/self/exe") != NULL;
    loader = loader_new(world, &run->cpu, s->cwd, false);
    r = loader_run(
        loader,
        &(struct start){.program = s->program, .env = s->env, .n_env = s->n_env, .record = true},
        s->arena, &trace, err);
    if (r == 0) {
        lines_of_trace(to, &trace, NULL, 0);
        *ret_exit = arena_strdup(s->arena, trace.exit_text);
    }
    loader_free(loader);
    world_close(world);
    return r;
}

struct verdict {
    bool same;
    size_t at; /* first line that differs */
    struct lines real, model;
    struct traced traced;
    const char *model_exit;
};

/* 0: *ret_verdict tells. -EPERM: cannot be run on this machine. */
static int judge(const struct run *run, const struct sample *s, struct verdict *ret_verdict,
                 struct err *err)
{
    struct verdict v = {.real.arena = s->arena, .model.arena = s->arena};
    int r = fresh_scratch(run, err);

    if (r == 0)
        r = tree_write(&s->tree, run->scratch, err);
    if (r == 0)
        r = run_real(run, s, &v.real, &v.traced, err);
    if (r == 0)
        r = run_model(run, s, &v.model, &v.model_exit, err);
    if (r < 0)
        return r;
    v.same = lines_same(&v.real, &v.model, &v.at);
    *ret_verdict = v;
    return 0;
}

/* ---- making a failing sample small */

static bool still_differs(const struct run *run, const struct sample *s)
{
    struct verdict verdict;
    struct err err;

    return judge(run, s, &verdict, &err) == 0 && !verdict.same;
}

/* An entry that others need on disk: the parent of something, or a hard link's target. */
static bool is_needed(const struct tree *tree, const struct entry *entry)
{
    const size_t len = strlen(entry->path);

    for (size_t i = 0; i < tree->n_entries; i++) {
        const struct entry *other = &tree->entry[i];

        if (!strncmp(other->path, entry->path, len) && other->path[len] == '/')
            return true;
        if (other->kind == ENTRY_HARD_LINK && !strcmp(other->target, entry->path))
            return true;
    }
    return entry->is_loader;
}

static bool drop_entry(const struct run *run, struct sample *s, size_t i)
{
    struct sample smaller = *s;

    if (is_needed(&s->tree, &s->tree.entry[i]))
        return false;
    smaller.tree.entry = arena_calloc(s->arena, s->tree.n_entries, sizeof(struct entry));
    memcpy(smaller.tree.entry, s->tree.entry, i * sizeof(struct entry));
    memcpy(smaller.tree.entry + i, s->tree.entry + i + 1,
           (s->tree.n_entries - i - 1) * sizeof(struct entry));
    smaller.tree.n_entries--;
    if (!still_differs(run, &smaller))
        return false;
    *s = smaller;
    return true;
}

static bool drop_env(const struct run *run, struct sample *s, size_t i)
{
    struct sample smaller = *s;

    smaller.env = arena_memdup(s->arena, s->env, s->n_env * sizeof(*s->env));
    smaller.env[i] = smaller.env[--smaller.n_env];
    if (!still_differs(run, &smaller))
        return false;
    *s = smaller;
    return true;
}

static bool drop_dyn(const struct run *run, struct sample *s, size_t entry, size_t i)
{
    struct sample smaller = *s;
    struct elf_spec *spec = arena_memdup(s->arena, s->tree.entry[entry].elf, sizeof(*spec));
    struct elf_dyn *list = arena_calloc(s->arena, spec->n_dynamic, sizeof(*list));

    memcpy(list, spec->dynamic, i * sizeof(*list));
    memcpy(list + i, spec->dynamic + i + 1, (spec->n_dynamic - i - 1) * sizeof(*list));
    spec->dynamic = list;
    spec->n_dynamic--;
    smaller.tree.entry =
        arena_memdup(s->arena, s->tree.entry, s->tree.n_entries * sizeof(struct entry));
    smaller.tree.entry[entry].elf = spec;
    if (!still_differs(run, &smaller))
        return false;
    *s = smaller;
    return true;
}

static void shrink(const struct run *run, struct sample *s)
{
    bool progress = true;

    while (progress) {
        progress = false;
        for (size_t i = s->n_env; i-- > 0;)
            progress |= drop_env(run, s, i);
        for (size_t i = s->tree.n_entries; i-- > 0;)
            progress |= drop_entry(run, s, i);
        for (size_t i = 0; i < s->tree.n_entries; i++)
            if (s->tree.entry[i].kind == ENTRY_FILE && s->tree.entry[i].elf)
                for (size_t j = s->tree.entry[i].elf->n_dynamic; j-- > 0;)
                    progress |= drop_dyn(run, s, i, j);
    }
}

/* ---- a failing sample as a case */

static json_t *calls_json(const struct traced *traced)
{
    json_t *list = json_array();

    for (size_t i = 0; i < traced->n_calls; i++) {
        const struct traced_call *c = &traced->call[i];
        const struct call call = {.kind = c->kind, .error = c->error, .is_dir = c->is_dir};
        json_t *json = json_object();

        json_put_text(json, "call", call_kind_name(c->kind));
        json_put_text(json, "path", c->path);
        json_put_text(json, "result", call_result(&call));
        json_push(list, json);
    }
    return list;
}

/* The loader's own file is not described by the tree; a case needs its header and name. */
static json_t *case_tree(const struct run *run, const struct sample *s)
{
    struct tree tree = {.arena = s->arena, .n_entries = s->tree.n_entries};
    struct elf_spec *spec = arena_alloc(s->arena, sizeof(*spec));
    struct elf_dyn *soname = arena_alloc(s->arena, sizeof(*soname));

    *spec = elf_library();
    *soname = (struct elf_dyn){DT_SONAME, run->profile.soname, 0};
    spec->dynamic = soname;
    spec->n_dynamic = run->profile.soname != NULL;
    tree.entry = arena_memdup(s->arena, s->tree.entry, s->tree.n_entries * sizeof(struct entry));
    for (size_t i = 0; i < tree.n_entries; i++)
        if (tree.entry[i].is_loader)
            tree.entry[i].elf = spec;
    return tree_json(&tree);
}

static json_t *case_json(const struct run *run, const struct sample *s, const struct verdict *v)
{
    json_t *file = json_object(), *records = json_array(), *record = json_object();
    json_t *cpu = json_object(), *env = json_object(), *argv = json_array();
    const struct ldso *ldso = run->settings.ldso;

    json_put_text(cpu, "name", run->cpu.name);
    json_put(file, "cpu", cpu);
    json_put(record, "case",
             json_text(arena_printf(s->arena, "random_%llu", (unsigned long long)s->seed)));
    json_put_text(record, "shows", "");
    json_put(record, "loader",
             json_text(arena_printf(s->arena, "%s-%s%s", ldso->libc == LIBC_MUSL ? "musl" : "glibc",
                                    ldso->version,
                                    ldso->libc == LIBC_MUSL ? ""
                                    : ldso->debian          ? "-debian"
                                                            : "-nix")));
    json_put_text(record, "interp", s->interp);
    json_push(argv, json_text(s->program));
    json_put(record, "argv", argv);
    for (size_t i = 0; i < s->n_env; i++) {
        const char *equals = strchr(s->env[i], '=');

        json_put(env, arena_strndup(s->arena, s->env[i], (size_t)(equals - s->env[i])),
                 json_text(equals + 1));
    }
    json_put(record, "env", env);
    json_put_text(record, "cwd", s->cwd);
    json_put_int(record, "uid", s->uid);
    json_put(record, "tree", case_tree(run, s));
    json_put(record, "trace", calls_json(&v->traced));
    json_put_int(record, "exit_status", v->traced.marker ? 0 : v->traced.status);
    json_put_text(record, "stderr", v->traced.stderr_text);
    json_push(records, record);
    json_put(file, "records", records);
    return file;
}

static void report(const struct run *run, struct sample *s)
{
    const char *path = arena_printf(s->arena, "%s.json", run->scratch);
    struct verdict v;
    struct err err;
    json_t *json;
    FILE *file;

    path = arena_printf(s->arena, "build/random/%llu.json", (unsigned long long)s->seed);
    shrink(run, s);
    if (judge(run, s, &v, &err) < 0)
        return;
    printf("FAIL seed %llu: line %zu; model ends: %s; loader says: %s\n",
           (unsigned long long)s->seed, v.at + 1, v.model_exit, v.traced.stderr_text);
    lines_print(&v.real, &v.model, v.at);
    json = case_json(run, s, &v);
    file = fopen(path, "we");
    if (file && json_print(json, file, true, &err) == 0)
        printf("    the whole case: %s\n", path);
    if (file)
        (void)fclose(file);
    json_decref(json);
    for (size_t i = 0; i < s->tree.n_entries; i++)
        if (s->tree.entry[i].kind != ENTRY_DIR)
            printf("    %s%s%s\n", s->tree.entry[i].path, s->tree.entry[i].target ? " -> " : "",
                   s->tree.entry[i].target ? s->tree.entry[i].target : "");
}

/* ---- all of them */

static void run_seed(struct run *run, uint64_t seed)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct sample sample;
    struct verdict verdict;
    struct err err;
    int r;

    sample_make(&arena, seed, &run->settings, &sample);
    r = judge(run, &sample, &verdict, &err);
    if (r == -EPERM) {
        if (!run->skipped)
            printf("skipped: %s\n", err.text);
        run->skipped++;
    } else if (r < 0) {
        printf("FAIL seed %llu: %s\n", (unsigned long long)seed, err.text);
        run->failed++;
    } else if (verdict.same) {
        run->passed++;
    } else {
        run->failed++;
        report(run, &sample);
    }
}

/* The loader of the machine's shell is the machine's loader. */
static int read_object(const char *path, struct arena *arena, const struct object **ret_object,
                       struct err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    int r;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, errno, "'%s': %s", path, strerror(errno));
    r = elf_read(&(struct elf_source){.fd = fd, .size = (uint64_t)st.st_size, .mode = st.st_mode},
                 arena, ret_object, err);
    close(fd);
    return r;
}

static int set_up(struct run *run, const char *loader, struct arena *arena, struct err *err)
{
    const struct object *object;
    const char *interp = NULL;
    int r;

    if (!loader) {
        r = read_object("/bin/sh", arena, &object, err);
        if (r < 0)
            return r;
        loader = interp = object->interp;
    }
    r = read_object(loader, arena, &object, err);
    if (r < 0)
        return r;
    if (!object->ldso || object->ldso->libc == LIBC_UNKNOWN)
        return err_set(err, EINVAL, "'%s': not a loader that is known", loader);
    if (!interp) /* glibc looks at its own directories, wherever it is itself */
        interp = object->ldso->libc == LIBC_MUSL ? "/lib/ld-musl-x86_64.so.1"
                                                 : "/lib64/ld-linux-x86-64.so.2";
    r = cpu_find("host", &run->cpu, err);
    if (r < 0)
        return r;
    profile_make(arena, object, interp, loader, &run->cpu, &run->profile);
    run->settings = (struct sample_settings){
        .loader_file = loader,
        .interp = interp,
        .loader_name = str_starts(str_base(loader), "ld-2.") ? str_base(loader) : NULL,
        .ldso = object->ldso,
        .version = run->profile.libc == LIBC_GLIBC ? run->profile.version : 0,
        .any_user = geteuid() == 0,
    };
    return 0;
}

int main(int argc, char **argv)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct run run = {0};
    const char *loader = NULL, *number[2] = {"1", "100"};
    size_t n_numbers = 0;
    uint64_t seed, count;
    struct err err;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--keep"))
            run.keep = true;
        else if (!strcmp(argv[i], "--loader") && i + 1 < argc)
            loader = argv[++i];
        else if (n_numbers < ARRAY_LEN(number))
            number[n_numbers++] = argv[i];
    }
    if (set_up(&run, loader, &arena, &err) < 0) {
        printf("%s\n0 passed, 1 failed\n", err.text);
        return 1;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)mkdir("build", 0755);
    (void)mkdir("build/random", 0755);
    run.scratch = arena_printf(&arena, "build/random/%d", (int)getpid());
    seed = strtoull(number[0], NULL, 10);
    count = strtoull(number[1], NULL, 10);
    printf("%s, %s\n", run.profile.text, run.cpu.name);
    for (uint64_t i = 0; i < count && run.failed < MAX_REPORTS; i++)
        run_seed(&run, seed + i);
    if (!run.keep)
        (void)nftw(run.scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (run.skipped)
        printf("%u skipped\n", run.skipped);
    printf("%u passed, %u failed\n", run.passed, run.failed);
    return run.failed ? 1 : 0;
}
