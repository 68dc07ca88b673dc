/* Traces: every call of one start, as built or with a strategy's edits; what loaders have built in.
 */
#include "server/api.h"

#include "planner/simulate.h"
#include "planner/strategy.h"

#include <errno.h>
#include <string.h>

enum { ENV_MAX = 32 };

/* NAME=VALUE of the repeatable parameter `env`. */
static int read_env(const struct query *query, const char ***ret_env, size_t *ret_n,
                    struct err *err)
{
    const char **env = arena_calloc(query->arena, query->n_arguments + 1, sizeof(*env));
    size_t n = 0;

    for (size_t i = 0; i < query->n_arguments; i++) {
        const char *text = query->argument[i].value;

        if (strcmp(query->argument[i].name, "env") != 0)
            continue;
        if (!strchr(text, '=') || *text == '=')
            return err_set(err, EINVAL, "'env' wants NAME=VALUE");
        if (n == ENV_MAX)
            return err_set(err, EINVAL, "'env' may be given %d times", (int)ENV_MAX);
        env[n++] = text;
    }
    *ret_env = env;
    *ret_n = n;
    return 0;
}

static int find_method(const char *strategy, const char *scope, enum method *ret_method,
                       struct err *err)
{
    for (unsigned i = 0; i < N_METHODS; i++) {
        const struct strategy *row = strategy_of((enum method)i);

        if (!strcmp(row->name, strategy) && (!scope || !strcmp(scope_name(row->scope), scope))) {
            *ret_method = (enum method)i;
            return 0;
        }
    }
    return err_set(err, EINVAL, "there is no strategy '%s' of scope '%s'", strategy,
                   scope ? scope : "any");
}

/* The trace, and what it is a trace of. */
static void reply_trace(struct reply *reply, const struct trace *trace, const char *const *env,
                        size_t n_env, const char *strategy, const char *scope)
{
    struct json_writer w = {0};

    json_write_begin(&w, NULL, '{');
    trace_write(&w, trace);
    json_write_value(&w, "env", json_texts(env, n_env));
    json_write_text(&w, "strategy", strategy);
    json_write_text(&w, "scope", scope);
    json_write_end(&w);
    json_write_finish(&w);
    reply->type = "application/json";
    reply->text = w.text;
    reply->n_text = w.len;
}

static int trace_built(struct query *query, const struct program_row *program, const char *cpu,
                       const char *const *env, size_t n_env, struct reply *reply, struct err *err)
{
    const char *dlopen = query_text(query, "dlopen");
    struct trace trace = {0};
    struct loader *loader;
    int r = view_loader(query->view, cpu, &loader, err);

    if (r == 0)
        r = loader_run(loader,
                       &(struct start){.program = program->of.program,
                                       .env = env,
                                       .n_env = n_env,
                                       .record = true,
                                       .declared = dlopen != NULL},
                       query->arena, &trace, err);
    if (r < 0)
        return r;
    reply_trace(reply, &trace, env, n_env, NULL, NULL);
    return 0;
}

/* The level of a subject that a CPU names. */
static int find_level(const struct subject *subject, const char *cpu, size_t *ret_level,
                      struct err *err)
{
    for (size_t i = 0; i < subject->n_levels; i++)
        if (!strcmp(subject->level[i].cpu.name, cpu)) {
            *ret_level = i;
            return 0;
        }
    return err_set(err, EINVAL, "strategies are not looked at on '%s'", cpu);
}

static int trace_edited(struct query *query, const struct program_row *program,
                        const char *strategy, const char *cpu, const char *const *env, size_t n_env,
                        struct reply *reply, struct err *err)
{
    struct scenario scenario = {.name = "as is", .overridden = true};
    const char *why_not = NULL;
    struct subject subject;
    struct edits edits = {0};
    struct run run = {0};
    enum method method = METHOD_NONE;
    size_t level = 0;
    int r = find_method(strategy, query_text(query, "scope"), &method, err);

    if (r == 0)
        r = subject_init(&subject,
                         &(struct subject_query){.world = view_world(query->view),
                                                 .policy = &query->snapshot->policy,
                                                 .program = program->of.program,
                                                 .env = env,
                                                 .n_env = n_env,
                                                 .cwd = "/"},
                         query->arena, err);
    if (r == 0)
        r = find_level(&subject, cpu, &level, err);
    if (r == 0)
        r = strategy_propose(strategy_of(method), &subject, &edits, &why_not, err);
    if (r == 0 && why_not)
        r = err_set(err, EBADMSG, "this strategy has nothing to propose: %s", why_not);
    scenario.reader = method == METHOD_NOTE_OWN; /* without one it changes nothing */
    if (r == 0)
        r = simulate(&subject, &edits, &scenario, level, &run, err);
    if (r < 0)
        return r;
    reply_trace(reply, &run.trace, env, n_env, strategy, scope_name(strategy_of(method)->scope));
    run_close(&run);
    return 0;
}

int get_trace(struct query *query, struct reply *reply, struct err *err)
{
    const char *strategy = query_text(query, "strategy"), *cpu = query_text(query, "cpu");
    struct program_row *program;
    const char **env = NULL;
    size_t n_env = 0;
    int r = find_program(query, query->segment[0], &program, err);

    if (r == 0)
        r = read_env(query, &env, &n_env, err);
    if (r < 0)
        return r;
    if (!cpu)
        cpu = query->snapshot->cpu;
    if (!strcmp(cpu, "host"))
        return err_set(err, EINVAL, "'cpu' wants a name: the host here is not the client's");
    if (strategy && query_text(query, "dlopen"))
        return err_set(err, EINVAL, "'dlopen' and 'strategy' do not go together");
    return strategy ? trace_edited(query, program, strategy, cpu, env, n_env, reply, err)
                    : trace_built(query, program, cpu, env, n_env, reply, err);
}

/* ---- loaders */

static const char LOADERS[] =
    "SELECT x.path, l.libc, l.version, l.debian, l.reads_note, l.system_dirs, l.cache, l.preload, "
    "l.lib FROM ldso l JOIN object_path x ON x.object = l.object ORDER BY x.path LIMIT 1000";

static json_t *parted(struct arena *arena, const char *text)
{
    json_t *array = json_array();

    while (text && *text) {
        const size_t len = strcspn(text, ":");

        json_push(array, json_text(arena_strndup(arena, text, len)));
        text += len + (text[len] == ':');
    }
    return array;
}

static json_t *loader_json(struct stmt *s, struct arena *arena)
{
    static const char *const libcs[] = {"none", "glibc", "musl", "unknown"};
    static const char *const readers[] = {"none", "A", "B"};
    const int64_t libc = stmt_int(s, 1), reader = stmt_int(s, 4);
    json_t *json = json_object();

    json_put_text(json, "path", stmt_text(s, 0));
    json_put_text(json, "libc", libc >= 0 && libc < 4 ? libcs[libc] : "unknown");
    json_put_text(json, "version", stmt_text(s, 2));
    json_put(json, "debian", json_boolean(stmt_int(s, 3)));
    json_put_text(json, "note_reader", reader >= 0 && reader < 3 ? readers[reader] : "none");
    json_put(json, "system_dirs", parted(arena, stmt_text(s, 5)));
    json_put_text(json, "cache", stmt_text(s, 6));
    json_put_text(json, "preload", stmt_text(s, 7));
    json_put_text(json, "lib", stmt_text(s, 8));
    return json;
}

int list_loaders(struct query *query, struct reply *reply, struct err *err)
{
    struct stmt *s = db_prepare(view_db(query->view), LOADERS, err);
    json_t *items = json_array();
    int r = s ? 0 : -err->code;

    reply->json = json_object();
    json_put(reply->json, "items", items);
    while (s && (r = stmt_step(s, err)) > 0)
        json_push(items, loader_json(s, query->arena));
    return r;
}
