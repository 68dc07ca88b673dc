#include "planner/subject.h"
#include "base/str.h"
#include "planner/locate.h"
#include "planner/plugins.h"
#include "planner/rules.h"
#include "planner/simulate.h"
#include "scanner/ldso.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- names and paths */

bool same_file(const struct loaded *a, const struct loaded *b)
{
    if (!a->node || !b->node)
        return a->node == b->node;
    return a->node->dev == b->node->dev && a->node->ino == b->node->ino;
}

bool has_token(const char *text)
{
    static const char *const names[] = {"ORIGIN", "LIB", "PLATFORM"};
    const char *const *name;
    const char *at, *end;

    for (at = text ? strchr(text, '$') : NULL; at; at = strchr(at + 1, '$'))
        for_each (name, names) {
            bool brace = at[1] == '{';

            if (!str_starts(at + 1 + brace, *name))
                continue;
            end = at + 1 + brace + strlen(*name);
            if (brace ? *end == '}' : !isalnum((unsigned char)*end) && *end != '_')
                return true;
        }
    return false;
}

size_t run_path_split(struct arena *arena, const char *run_path, const char ***ret_component)
{
    const char **component = NULL;
    size_t n = 0, len;

    if (run_path && *run_path)
        for (;; run_path += len + 1) {
            len = strcspn(run_path, ":");
            component = arena_grow(arena, component, n, sizeof(*component));
            component[n++] = arena_strndup(arena, run_path, len);
            if (run_path[len] == '\0')
                break;
        }
    *ret_component = component;
    return n;
}

/* How many characters of a store path's hash stand here: 32, or 0. */
static size_t hash_length(const char *text)
{
    size_t n = strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz");

    return n == 32 ? n : 0;
}

/* One store path's name ("HASH-name", Spack's "name-HASH"), with a star for the hash. */
static void add_hash_free(struct str *out, const char *name, size_t len)
{
    if (len > 33 && hash_length(name) && name[32] == '-')
        str_printf(out, "*%.*s", (int)len - 32, name + 32);
    else if (len > 33 && name[len - 33] == '-' && hash_length(name + len - 32))
        str_printf(out, "%.*s*", (int)len - 32, name);
    else
        str_add_n(out, name, len);
}

const char *hash_free(const struct policy *policy, struct arena *arena, const char *text)
{
    struct str out = {.arena = arena};
    const char *at = text;
    size_t i, len;

    if (!text)
        return NULL;
    str_add(&out, "");
    while (*at) {
        for (i = 0; i < policy->n_stores; i++) {
            len = strlen(policy->store[i]);
            if (strncmp(at, policy->store[i], len) != 0 || at[len] != '/')
                continue;
            str_add_n(&out, at, len + 1);
            at += len + 1;
            len = strcspn(at, "/:");
            add_hash_free(&out, at, len);
            at += len;
            break;
        }
        if (i == policy->n_stores)
            str_add_n(&out, at++, 1);
    }
    return out.text;
}

bool subject_in_store(const struct subject *subject, const char *path)
{
    return policy_package(subject->policy, subject->arena, path) != NULL;
}

bool is_loader_name(const struct trace *trace, const char *name)
{
    return str_same(name, trace->profile.interp) ||
           (trace->profile.soname && !strcmp(name, trace->profile.soname));
}

bool request_searched(const struct request *request)
{
    return request->n_calls > 0 &&
           (request->result == RESULT_FOUND || request->result == RESULT_SAME);
}

const char *request_opened(const struct trace *trace, const struct request *request)
{
    size_t i;

    for (i = request->n_calls; i > 0; i--) {
        const struct call *call = &trace->call[request->first_call + i - 1];

        if (call->outcome == OUTCOME_HIT || call->outcome == OUTCOME_SAME_FILE)
            return call->path;
    }
    return NULL;
}

const char *opened_directory(struct arena *arena, const struct trace *trace, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0, i, cap;

    for (i = 0; i < trace->profile.n_caps; i++) {
        cap = strlen(trace->profile.caps[i]); /* "glibc-hwcaps/x86-64-v3/", the last one "" */
        if (cap > 0 && len + 1 > cap && path[len - cap] == '/' &&
            !strncmp(path + len + 1 - cap, trace->profile.caps[i], cap)) {
            len -= cap;
            break;
        }
    }
    return arena_strndup(arena, path, len);
}

/* ---- the starts */

static int find_levels(struct subject *s, const char *wanted, struct err *err)
{
    static const char *const x86_64[] = {"x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
    const char *const *name;
    struct cpu cpu;
    int r;

    if (!wanted)
        wanted = s->policy->cpu ? s->policy->cpu : cpu_default(s->object->machine);
    if (!wanted)
        return err_set(err, ENOTSUP, "'%s': no CPU is known for its machine (%u)", s->program,
                       (unsigned)s->object->machine);
    if ((r = cpu_find(wanted, &cpu, err)) < 0)
        return r;
    s->policy_level = MAX_LEVELS;
    if (cpu.machine == EM_X86_64)
        for_each (name, x86_64) {
            struct level *level = &s->level[s->n_levels];

            if ((r = cpu_find(*name, &level->cpu, err)) < 0)
                return r;
            if (cpu_level(&level->cpu) == cpu_level(&cpu)) {
                level->cpu = cpu; /* as named: "x86-64-v3:intel" has its own platform */
                s->policy_level = s->n_levels;
            }
            s->n_levels++;
        }
    if (s->policy_level == MAX_LEVELS) {
        s->n_levels = 1;
        s->policy_level = 0;
        s->level[0].cpu = cpu;
    }
    return 0;
}

static void split_environment(struct subject *s, const char *const *env, size_t n)
{
    const char **plain = arena_calloc(s->arena, n + 1, sizeof(*plain));
    size_t i;

    for (i = 0; i < n; i++)
        if (!str_starts(env[i], "LD_LIBRARY_PATH=") && !str_starts(env[i], "LD_PRELOAD="))
            plain[s->n_env++] = env[i];
    s->env = plain;
    s->full_env = env;
    s->n_full_env = n;
}

static int start_all(struct subject *s, struct err *err)
{
    struct start start = {.program = s->program, .env = s->env, .n_env = s->n_env, .record = true};
    size_t i;
    int r;

    for (i = 0; i < s->n_levels; i++) {
        CLEANUP(loader_freep)
        struct loader *loader = loader_new(s->world, &s->level[i].cpu, s->cwd, false);

        if ((r = loader_run(loader, &start, s->arena, &s->level[i].trace, err)) < 0)
            return r;
        trace_drop_modules(&s->level[i].trace, s->arena);
        trace_keep(&s->level[i].trace, s->arena);
    }
    return 0;
}

static void describe_members(struct subject *s)
{
    const struct trace *trace = s->trace;
    size_t i;

    s->member = arena_calloc(s->arena, trace->n_loaded + 1, sizeof(*s->member));
    for (i = 0; i < trace->n_loaded; i++) {
        struct member *m = &s->member[i];

        m->loaded = &trace->loaded[i];
        if (!m->loaded->node)
            continue;
        m->directory = opened_directory(s->arena, trace, m->loaded->path);
        m->package = policy_package(s->policy, s->arena, world_path(s->arena, m->loaded->node));
    }
    locate_members(s);
}

/* ---- what is no program, as one */

static const char *const kind_names[] = {"program", "root", "library"};

const char *subject_kind_name(enum subject_kind kind)
{
    return kind_names[kind];
}

int subject_kind_find(const char *name)
{
    int i;

    for (i = 0; i < (int)ARRAY_LEN(kind_names); i++)
        if (!strcmp(kind_names[i], name))
            return i;
    return -1;
}

static int by_bytes(const void *key, const void *name)
{
    return strcmp(key, *(const char *const *)name);
}

bool name_set_has(const struct name_set *set, const char *name)
{
    return set->n && bsearch(name, set->name, set->n, sizeof(*set->name), by_bytes);
}

/* The loader that lies in a directory of the run path; NULL: none does. */
static const char *loader_beside(struct world *world, struct arena *arena,
                                 const struct object *object)
{
    const char *const *name;
    const char **component, *path;
    size_t n = run_path_split(arena, object->runpath ? object->runpath : object->rpath, &component);
    size_t i;

    for (i = 0; i < n; i++)
        for (name = ldso_names(); *name; name++) {
            struct place at;
            const struct object *found;

            if (*component[i] != '/' || has_token(component[i]))
                continue;
            path = str_join(arena, component[i], *name);
            at = world_walk(world, NULL, path);
            found = at.error || at.node->kind != NODE_FILE ? NULL : world_object(world, at.node);
            if (found && found->machine == object->machine && found->class == object->class)
                return path;
        }
    return NULL;
}

int subject_stage(const struct subject *s, struct world *world, struct world **ret_world,
                  struct err *err)
{
    struct place at = world_walk(world, NULL, s->path);
    const struct object *object = at.error ? NULL : world_object(world, at.node);
    struct object *staged;
    struct world *overlay;
    int r;

    *ret_world = NULL;
    if (s->kind == SUBJECT_PROGRAM)
        return 0;
    if (!object)
        return err_set(err, ENOEXEC, "'%s': not an ELF file", s->path);
    staged = arena_memdup(s->arena, object, sizeof(*object));
    staged->interp = loader_beside(world, s->arena, object);
    staged->soname = NULL;
    if (!staged->interp)
        return err_set(err, ENOENT, "'%s': no loader lies in its run path", s->path);
    overlay = world_overlay(world);
    if ((r = overlay_object(overlay, s->path, staged, err)) < 0) {
        world_closep(&overlay);
        return r;
    }
    *ret_world = overlay;
    return 0;
}

void subject_release(struct subject *s)
{
    if (s->world != s->base)
        world_closep(&s->world);
    s->world = s->base;
}

/* Put the staged file in the place of the one that is there. */
static int stage(struct subject *s, struct err *err)
{
    struct world *staged;
    int r = subject_stage(s, s->base, &staged, err);

    if (r < 0 || !staged)
        return r;
    s->world = staged;
    s->object = world_object(staged, world_walk(staged, NULL, s->path).node);
    return 0;
}

int subject_init(struct subject *ret_subject, const struct subject_query *query,
                 struct arena *arena, struct err *err)
{
    struct subject s = {
        .world = query->world,
        .base = query->world,
        .kind = query->kind,
        .policy = query->policy,
        .arena = arena,
        .program = query->program,
        .wrapper = query->wrapper,
        .cwd = query->cwd ? query->cwd : "/",
        .farm = query->farm,
    };
    struct place at = world_walk(s.world, NULL, s.program);
    size_t i;
    int r;

    if (at.error)
        return err_set(err, at.error, "'%s': %s", s.program, strerror(at.error));
    split_environment(&s, query->env, query->n_env);
    s.node = at.node;
    s.object = world_object(s.world, s.node);
    if (!s.object)
        return err_set(err, s.node->object_error ? s.node->object_error : ENOEXEC,
                       "'%s': not an ELF program", s.program);
    s.path = world_path(arena, s.node);
    s.soname = s.object->soname;
    s.interp = s.object->interp;
    s.package = policy_package(s.policy, arena, s.path);
    if (!s.farm)
        s.farm = s.package ? str_join(arena, s.package, FARM_IN_PACKAGE)
                           : arena_printf(arena, "%.*s" FARM_BESIDE,
                                          (int)(str_base(s.path) - s.path), s.path);
    if (s.kind == SUBJECT_PROGRAM)
        plugins_find(s.policy, s.base, s.package, arena, &s.dlopens, &s.n_dlopens);
    if ((r = stage(&s, err)) < 0)
        return r;
    if ((r = find_levels(&s, query->cpu, err)) < 0 || (r = start_all(&s, err)) < 0) {
        subject_release(&s);
        return r;
    }
    *ret_subject = s;
    for (i = 0; i < s.n_levels; i++)
        ret_subject->level[i].trace.cpu = &ret_subject->level[i].cpu;
    ret_subject->trace = &ret_subject->level[s.policy_level].trace;
    describe_members(ret_subject);
    rulings_find(ret_subject);
    return 0;
}
