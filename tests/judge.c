#include "tests/judge.h"

#include "base/str.h"
#include "scanner/elf_read.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- the loader at hand */

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

/* The C library's files that lie beside a loader, as programs that call dlopen() need them. */
static void find_libc(struct sample_settings *settings, struct arena *arena)
{
    static const char *const names[] = {"libc.so.6", "libdl.so.2"};
    const size_t n = settings->version >= 34 ? 1 : ARRAY_LEN(names);
    char real[PATH_MAX];

    settings->libc = arena_calloc(arena, ARRAY_LEN(names), sizeof(*settings->libc));
    if (settings->ldso->libc == LIBC_MUSL)
        return; /* the loader is the library */
    for (size_t i = 0; i < n && realpath(settings->loader_file, real); i++) {
        const char *path = arena_printf(arena, "%s/%s", dirname(real), names[i]);

        if (access(path, R_OK) < 0) {
            settings->libc = NULL;
            return;
        }
        settings->libc[settings->n_libc++] = path;
    }
}

int judge_open(struct judge *judge, const char *loader, const char *folder, struct arena *arena,
               struct err *err)
{
    const struct object *object;
    const char *interp = NULL;
    struct statvfs fs;
    int r;

    if (judge->machine && !loader)
        loader = judge->machine->loader;
    if (!loader) { /* the loader of the machine's shell is the machine's loader */
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
    if (judge->machine)
        interp = object->ldso->libc == LIBC_MUSL ? judge->machine->musl : judge->machine->interp;
    if (!interp) /* glibc looks at its own directories, wherever it is itself */
        interp = object->ldso->libc == LIBC_MUSL ? "/lib/ld-musl-x86_64.so.1"
                                                 : "/lib64/ld-linux-x86-64.so.2";
    r = judge->machine ? machine_cpu(judge->machine, &judge->cpu, err)
                       : cpu_find("host", &judge->cpu, err);
    if (r < 0)
        return r;
    profile_make(arena, object, interp, loader, &judge->cpu, &judge->profile);
    judge->settings = (struct sample_settings){
        .loader_file = loader,
        .interp = interp,
        .loader_name = str_starts(str_base(loader), "ld-2.") ? str_base(loader) : NULL,
        .ldso = object->ldso,
        .version = judge->profile.libc == LIBC_GLIBC ? judge->profile.version : 0,
        .any_user = geteuid() == 0 && statvfs(folder, &fs) == 0 && !(fs.f_flag & ST_NOSUID),
    };
    if (!judge->machine) /* programs that call dlopen() are for x86-64 */
        find_libc(&judge->settings, arena);
    judge->scratch = arena_printf(arena, "%s/%d", folder, (int)getpid());
    return 0;
}

/* ---- the real one */

static int remove_one(const char *path, const struct stat *st UNUSED, int type UNUSED,
                      struct FTW *at UNUSED)
{
    return remove(path);
}

void judge_close(const struct judge *judge)
{
    (void)nftw(judge->scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A start that fails after all libraries are in memory has started, as far as calls go. */
static bool has_started(const struct traced *traced)
{
    return traced->n_markers || strstr(traced->stderr_text, "symbol lookup error") ||
           strstr(traced->stderr_text, "Error relocating");
}

/* The loader's own assertions, and what it runs into without them. */
static bool has_aborted(const struct traced *traced)
{
    return traced->status >= 128 || strstr(traced->stderr_text, "Inconsistency detected by ld.so");
}

static void lines_of_traced(struct lines *to, const struct traced *traced, const struct sample *s)
{
    size_t phase = 0;

    for (size_t i = 0; i < traced->n_calls; i++) {
        const struct traced_call *c = &traced->call[i];
        const struct call call = {.kind = c->kind, .error = c->error, .is_dir = c->is_dir};

        for (; phase < s->n_dlopens && phase < (size_t)c->phase; phase++)
            lines_add(to, arena_printf(to->arena, "-- dlopen %s", s->dlopens[phase].name));
        lines_add(to, arena_printf(to->arena, "%-8s %s = %s", call_kind_name(c->kind),
                                   str_escape(to->arena, c->path), call_result(&call)));
    }
    if (has_aborted(traced))
        return;
    for (; phase < s->n_dlopens; phase++)
        lines_add(to, arena_printf(to->arena, "-- dlopen %s", s->dlopens[phase].name));
    lines_add(to, has_started(traced) ? "-- starts" : "-- fails");
}

static int run_real(const struct judge *judge, const struct sample *s, struct verdict *v,
                    struct err *err)
{
    const char **argv = arena_calloc(s->arena, s->n_args + 2, sizeof(*argv));
    const char **env = arena_calloc(s->arena, s->n_env + 1, sizeof(*env));
    const struct tracee tracee = {
        .root = judge->scratch,
        .cwd = s->cwd,
        .program = s->program,
        .argv = argv,
        .env = env,
        .uid = s->uid,
        .n_markers = 1 + (int)s->n_dlopens,
        .emulator = judge->machine ? judge->machine->emulator : NULL,
        .emulated_cpu = judge->machine ? judge->machine->model : NULL,
        .interp = s->interp,
    };
    int r;

    argv[0] = s->program;
    for (size_t i = 0; i < s->n_args; i++)
        argv[1 + i] = s->args[i];
    for (size_t i = 0; i < s->n_env; i++)
        env[i] = s->env[i];
    r = tracer_run(&tracee, s->arena, &v->traced, err);
    if (r == 0)
        lines_of_traced(&v->real, &v->traced, s);
    return r;
}

/* ---- the model */

static int run_once(struct loader *loader, const struct start *start, struct verdict *v,
                    struct lines *to, struct err *err)
{
    struct trace trace;
    const int r = loader_run(loader, start, to->arena, &trace, err);

    if (r < 0)
        return r;
    lines_of_trace(to, &trace, start->dlopens, start->n_dlopens);
    v->model_exit = arena_strdup(to->arena, trace.exit_text);
    return 0;
}

/*
 * A loader remembers much, and must answer the same whatever it was asked before: ask, ask for
 * another start in between, and ask again.
 */
static int run_twice(struct loader *loader, const struct start *start, struct verdict *v,
                     struct err *err)
{
    const struct start other = {.program = start->n_ld_args ? "/proc/self/exe" : start->program};
    struct lines again = {.arena = v->model.arena};
    struct trace trace;
    size_t at;
    int r = run_once(loader, start, v, &v->model, err);

    if (r < 0)
        return r;
    if (loader_run(loader, &other, again.arena, &trace, err) < 0)
        err->code = 0; /* no matter */
    r = run_once(loader, start, v, &again, err);
    if (r == 0 && !lines_same(&v->model, &again, &at))
        lines_add(&v->model, "-- and differs when asked again");
    return r;
}

/* Emulated programs always have a /proc/self/exe. */
static bool is_emulated(const struct judge *judge)
{
    return judge->machine && judge->machine->emulator;
}

static int run_model(const struct judge *judge, const struct sample *s, struct verdict *v,
                     struct err *err)
{
    const struct start start = {
        .program = s->program,
        .env = s->env,
        .n_env = s->n_env,
        .record = true,
        .ld_args = s->args,
        .n_ld_args = s->n_args,
        .dlopens = s->dlopens,
        .n_dlopens = s->n_dlopens,
    };
    struct world *world;
    struct loader *loader;
    int r = world_live(judge->scratch, s->uid, s->uid, &world, err);

    if (r < 0)
        return r;
    /* our trees carry the one link of /proc that a loader reads, or do without /proc */
    world->has_proc = tree_find(&s->tree, "/proc/self/exe") != NULL || is_emulated(judge);
    loader = loader_new(world, &judge->cpu, s->cwd, s->secure);
    r = run_twice(loader, &start, v, err);
    loader_free(loader);
    world_close(world);
    return r;
}

int judge_sample(const struct judge *judge, const struct sample *sample,
                 struct verdict *ret_verdict, struct err *err)
{
    struct verdict v = {.real.arena = sample->arena, .model.arena = sample->arena};
    int r;

    judge_close(judge);
    if (mkdir(judge->scratch, 0755) < 0)
        return err_set(err, errno, "'%s': %s", judge->scratch, strerror(errno));
    r = tree_write(&sample->tree, judge->scratch, err);
    if (r == 0)
        r = run_real(judge, sample, &v, err);
    if (r == 0)
        r = run_model(judge, sample, &v, err);
    if (r < 0)
        return r;
    v.same = lines_same(&v.real, &v.model, &v.at);
    if (has_aborted(&v.traced) && v.at == v.real.n && !strstr(v.model.line[v.model.n - 1], "again"))
        v.same = true;
    *ret_verdict = v;
    return 0;
}
