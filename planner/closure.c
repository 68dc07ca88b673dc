#include "planner/closure.h"

#include "base/str.h"
#include "loader/token.h"
#include "resolver/note.h"

#include <string.h>

enum {
    PLUGINS_MAX = 256, /* declared dlopens that get a start of their own */
    V_LEGACY_DIRS = 36 /* up to here "tls", "x86_64" and others are looked into */
};

struct making {
    const struct subject *s;
    struct arena *arena;
    const struct trace *trace;
    struct str rows;
    struct closure_made made;
    struct {
        const char *requester, *name;
    } * known; /* rows made, and requests left out */
    size_t n_known;
};

/* ---- one component of a run path */

enum component_kind {
    COMPONENT_HIT,
    COMPONENT_EMPTY, /* cannot hold the name, today or later */
    COMPONENT_HINT,  /* may hold it one day */
};

static bool is_there(const struct making *m, const char *path)
{
    return world_walk(m->s->world, NULL, path).error == 0;
}

/* Can a directory that is not there come to be? What lies in a package that is there, cannot. */
static bool may_appear(const struct making *m, const char *directory)
{
    const char *package = policy_package(m->s->policy, m->arena, directory);

    return !package || !is_there(m, package);
}

/* Is there a build of `name` for some CPU below the directory, or could an old loader find one? */
static bool has_variant(const struct making *m, const char *directory, const char *name)
{
    static const char *const legacy[] = {"tls", "x86_64", "haswell", "xeon_phi", "atomics"};
    const char *const *sub;

    for (size_t i = 0; i < m->s->n_levels; i++) {
        const struct profile *p = &m->s->level[i].trace.profile;

        for (size_t k = 0; k < p->n_caps; k++)
            if (*p->caps[k] &&
                is_there(m, arena_printf(m->arena, "%s/%s%s", directory, p->caps[k], name)))
                return true;
    }
    if (m->trace->profile.version > V_LEGACY_DIRS)
        return false;
    for_each (sub, legacy)
        if (is_there(m, str_join(m->arena, directory, *sub)))
            return true;
    return false;
}

/* ---- one list */

struct list_making {
    struct making *m;
    const char *name, *hit; /* the path that the loader opened */
    struct str text;
    const char *why_not; /* the request gets no row */
};

/* A directory of the walk, in its order. True: the walk ends here. */
static bool add_directory(struct list_making *l, const char *directory)
{
    struct making *m = l->m;
    const char *separator = l->text.len ? ":" : "";
    const bool in_store = subject_in_store(m->s, directory);
    const char *path =
        arena_printf(m->arena, "%s%s%s", directory, str_ends(directory, "/") ? "" : "/", l->name);

    if (*directory != '/') {
        l->why_not = "its run path depends on the working directory";
        return true;
    }
    if (has_variant(m, directory, l->name)) {
        l->why_not = "it has builds for some CPUs";
        return true;
    }
    if (strcmp(path, l->hit) == 0) {
        str_printf(&l->text, "%s=%s", separator, path);
        if (!in_store)
            l->why_not = "it lies outside the store, where it may be replaced";
        return true;
    }
    if (is_there(m, directory) ? !in_store : may_appear(m, directory))
        str_printf(&l->text, "%s?%s", separator, directory);
    return false;
}

/* A component with its tokens filled in, final slashes gone as the loader has it. */
static const char *expand(struct list_making *l, const struct loaded *asker, const char *component)
{
    const size_t origin = strlen(asker->path) - strlen(str_base(asker->path));
    const struct tokens tokens = {
        asker == l->m->trace->loaded ? NULL : arena_strndup(l->m->arena, asker->path, origin - 1),
        NULL, l->m->trace->profile.lib};
    const char *path = component;
    size_t len;

    if (token_present(component))
        path = token_expand(l->m->arena, component, &tokens);
    if (!path)
        return NULL;
    len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    return arena_strndup(l->m->arena, path, len);
}

/* The cache comes before the system directories: it must never come to be. */
static bool cache_may_answer(const struct making *m)
{
    const char *cache = m->trace->profile.cache;

    return cache && (is_there(m, cache) || may_appear(m, cache));
}

static void make_list(struct list_making *l, const struct loaded *asker)
{
    const struct trace *trace = l->m->trace;
    const char **component;
    size_t n = run_path_split(l->m->arena, asker->object->runpath, &component);

    for (size_t i = 0; i < n && !l->why_not; i++) {
        const char *directory = expand(l, asker, component[i]);

        if (!directory)
            l->why_not = "its run path depends on where the program lies";
        else if (add_directory(l, directory))
            return;
    }
    if (!l->why_not && cache_may_answer(l->m))
        l->why_not = "the loader's cache may answer it";
    for (size_t i = 0; i < trace->profile.n_system_dirs && !l->why_not; i++)
        if (add_directory(l, expand(l, asker, trace->profile.system_dirs[i])))
            return;
    if (!l->why_not)
        l->why_not = "it was found in a way that a note cannot tell";
}

/* ---- rows */

static bool is_known(const struct making *m, const char *requester, const char *name)
{
    for (size_t i = 0; i < m->n_known; i++)
        if (!strcmp(m->known[i].name, name) && !strcmp(m->known[i].requester, requester))
            return true;
    return false;
}

static void leave_out(struct making *m, const char *requester, const char *name, const char *why)
{
    if (m->made.n_left_out < CLOSURE_LEFT_OUT_KEPT)
        m->made.left_out[m->made.n_left_out] = (struct left_out){requester, name, why};
    m->made.n_left_out++;
}

bool versions_wanted_from(const struct trace *trace, const char *name)
{
    for (size_t i = 0; i < trace->n_loaded; i++) {
        const struct object *object = trace->loaded[i].object;

        for (size_t k = 0; object && k < object->n_verneed; k++)
            if (str_same(object->verneed[k].file, name))
                return true;
    }
    return false;
}

/* What stands against a row, whatever its list. NULL: nothing. */
static const char *refusal(const struct making *m, const struct request *q)
{
    const struct loaded *asker = &m->trace->loaded[q->asker], *answer;

    if (q->answer < 0)
        return "it is nowhere";
    answer = &m->trace->loaded[q->answer];
    if (q->stage != STAGE_RUNPATH && q->stage != STAGE_SYSTEM && q->stage != STAGE_NOTE)
        return "it is not found by a run path";
    if (!str_same(answer->soname, q->name) && versions_wanted_from(m->trace, q->name))
        return "its DT_SONAME is another name than the one that versions are wanted from";
    if (q->result != RESULT_FOUND)
        return "the file is in memory under another name";
    if (strchr(asker->path, '\n') || strchr(q->name, ':') || strchr(answer->path, ':'))
        return "its name or path cannot be written into a note";
    return NULL;
}

static void add_row(struct making *m, const struct request *q)
{
    const struct loaded *asker = &m->trace->loaded[q->asker];
    const char *requester = q->asker == 0 ? CLOSURE_PROGRAM : asker->path;
    struct list_making l = {
        .m = m, .name = q->name, .hit = request_opened(m->trace, q), .text = {.arena = m->arena}};

    if (is_known(m, requester, q->name))
        return;
    requester = arena_strdup(m->arena, requester);
    l.name = arena_strdup(m->arena, q->name);
    m->known = arena_grow(m->arena, m->known, m->n_known, sizeof(*m->known));
    m->known[m->n_known].requester = requester;
    m->known[m->n_known++].name = l.name;
    l.why_not = refusal(m, q);
    if (!l.why_not)
        make_list(&l, asker);
    if (l.why_not) {
        leave_out(m, requester, l.name, l.why_not);
        return;
    }
    str_add_n(&m->rows, requester, strlen(requester) + 1);
    str_add_n(&m->rows, l.name, strlen(l.name) + 1);
    str_add_n(&m->rows, l.text.text, l.text.len + 1);
    m->made.n_rows++;
    m->made.n_plugin_rows += q->phase > 0;
}

static void add_rows(struct making *m, const struct trace *trace)
{
    m->trace = trace;
    for (size_t i = 0; i < trace->n_requests; i++) {
        const struct request *q = &trace->request[i];

        if ((q->kind == REQUEST_NEEDED || q->kind == REQUEST_DLOPEN) && q->asker >= 0 &&
            request_searched(q) && !strchr(q->name, '/'))
            add_row(m, q);
    }
}

/* ---- declared dlopens: all of them in one process, then each by itself */

/* One plugin alone: what others would have brought with them is asked for by itself. */
static int add_plugin(struct making *m, struct loader *loader, const struct trace *all, size_t at)
{
    const struct phase *phase = &all->phase[at];
    const struct loaded *caller = phase->caller >= 0 ? &all->loaded[phase->caller] : NULL;
    const struct dlopen_call call = {phase->name,
                                     caller && phase->caller > 0 ? caller->path : NULL};
    const struct start start = {.program = m->s->program,
                                .env = m->s->env,
                                .n_env = m->s->n_env,
                                .record = true,
                                .dlopens = &call,
                                .n_dlopens = 1};
    struct arena arena = {0};
    struct trace trace;
    struct err err;
    int r = 0;

    if (!phase->succeeds || !caller || caller->phase != 0)
        return 0;
    r = loader_run(loader, &start, &arena, &trace, &err);
    if (r == 0)
        add_rows(m, &trace);
    m->trace = all;
    arena_release(&arena);
    return r;
}

/* As if no note were there: what an older one says must not be taken over. */
static void without_note(const struct subject *s, struct edits *edits)
{
    if (s->object->closure.bytes)
        edit_closure(edits, s->arena, s->path, (struct note){0}, "");
    if (s->object->resolution.bytes)
        edit_note(edits, s->arena, s->path, (struct note){0});
}

static int add_starts(struct making *m, struct err *err)
{
    const struct scenario scenario = {.name = "declared dlopens", .declared = true};
    const struct level *level = &m->s->level[m->s->policy_level];
    CLEANUP(run_close) struct run run = {0};
    CLEANUP(loader_freep) struct loader *loader = NULL;
    struct edits edits = {0};
    int r;

    without_note(m->s, &edits);
    r = simulate(m->s, &edits, &scenario, m->s->policy_level, &run, err);
    if (r < 0)
        return r;
    add_rows(m, &run.trace);
    if (run.trace.n_phases)
        loader = loader_new(run.rig.world, &level->cpu, m->s->cwd, false);
    for (size_t i = 0; r == 0 && i < run.trace.n_phases && i < PLUGINS_MAX; i++)
        r = add_plugin(m, loader, &run.trace, i);
    m->trace = NULL;
    return r < 0 ? err_set(err, -r, "'%s': a declared dlopen cannot be looked at", m->s->program)
                 : 0;
}

/* ---- the descriptor */

static bool has_empty_need(const struct object *object)
{
    for (size_t i = 0; i < object->n_needs; i++)
        if (*object->need[i].name == '\0')
            return true;
    return false;
}

static struct note descriptor(const struct making *m)
{
    const struct object *object = m->s->object;
    struct str out = {.arena = m->arena};

    str_add_n(&out, CLOSURE_VERSION, sizeof(CLOSURE_VERSION));
    str_add_n(&out, object->runpath, object->runpath ? strlen(object->runpath) : 0);
    str_add_n(&out, "", 1);
    for (size_t i = 0; i < object->n_needs; i++)
        if (object->need[i].kind == NEED_NEEDED)
            str_add_n(&out, object->need[i].name, strlen(object->need[i].name) + 1);
    str_add_n(&out, "", 1);
    str_add_n(&out, m->rows.text, m->rows.len);
    str_add_n(&out, "", 1);
    return (struct note){(const unsigned char *)out.text, (uint32_t)out.len};
}

int closure_make(const struct subject *s, struct closure_made *ret_made, struct err *err)
{
    struct making m = {.s = s, .arena = s->arena, .rows = {.arena = s->arena}};
    int r;

    r = add_starts(&m, err);
    if (r < 0)
        return r;
    if (has_empty_need(s->object) || s->object->rpath)
        m.made.n_rows = 0; /* the note could not say what it was made for */
    if (m.made.n_rows)
        m.made.note = descriptor(&m);
    *ret_made = m.made;
    return 0;
}
