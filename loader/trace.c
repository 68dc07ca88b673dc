#include "loader/trace.h"

#include <string.h>

static int index_after(const int *to, int index)
{
    return index < 0 ? index : to[index];
}

void trace_drop_modules(struct trace *t, struct arena *arena)
{
    int *to = arena_calloc(arena, t->n_loaded + 1, sizeof(*to));
    size_t n = 0;

    for (size_t i = 0; i < t->n_loaded; i++) {
        to[i] = t->loaded[i].module ? -1 : (int)n;
        if (!t->loaded[i].module)
            t->loaded[n++] = t->loaded[i];
    }
    if (n == t->n_loaded)
        return;
    t->n_loaded = n;
    for (size_t i = 0; i < n; i++)
        t->loaded[i].by = index_after(to, t->loaded[i].by);
    for (size_t i = 0; i < t->n_requests; i++) {
        t->request[i].asker = index_after(to, t->request[i].asker);
        t->request[i].answer = index_after(to, t->request[i].answer);
    }
    for (size_t i = 0; i < t->n_phases; i++)
        t->phase[i].caller = index_after(to, t->phase[i].caller);
}

const char *call_kind_name(enum call_kind kind)
{
    static const char *const names[] = {
        [CALL_OPEN] = "open",
        [CALL_STAT] = "stat",
        [CALL_ACCESS] = "access",
        [CALL_READLINK] = "readlink",
    };

    return names[kind];
}

const char *stage_name(enum stage stage)
{
    static const char *const names[] = {
        [STAGE_DIRECT] = "direct",   [STAGE_RPATH] = "rpath",
        [STAGE_NOTE] = "note",       [STAGE_LIBRARY_PATH] = "library-path",
        [STAGE_RUNPATH] = "runpath", [STAGE_CACHE] = "cache",
        [STAGE_SYSTEM] = "system",   [STAGE_PRELOAD] = "preload",
        [STAGE_AUDIT] = "audit",
    };

    return names[stage];
}

const char *errno_name(int error)
{
    static _Thread_local char unknown[32];
    const char *name = strerrorname_np(error);

    if (name)
        return name;
    (void)snprintf(unknown, sizeof(unknown), "errno %d", error);
    return unknown;
}

const char *call_result(const struct call *call)
{
    if (call->error)
        return errno_name(call->error);
    if (call->kind == CALL_STAT)
        return call->is_dir ? "ok-dir" : "ok-notdir";
    return "ok";
}

/* The members of a storm, in the order of every answer. */
enum { N_FIELDS = 8 };

struct field {
    const char *key;
    uint32_t value;
};

static void storm_fields(const struct storm *storm, struct field *field)
{
    const struct field fields[N_FIELDS] = {
        {"failed_opens", storm->failed_opens},
        {"failed_stats", storm->failed_stats},
        {"failed_others", storm->failed_others},
        {"opens", storm->opens},
        {"stats", storm->stats},
        {"others", storm->others},
        {"objects", storm->objects},
        {"directories", storm->directories},
    };

    memcpy(field, fields, sizeof(fields));
}

json_t *storm_json(const struct storm *storm)
{
    struct field fields[N_FIELDS], *field;
    json_t *object = json_object();

    storm_fields(storm, fields);
    for_each (field, fields)
        json_put_int(object, field->key, field->value);
    return object;
}

void storm_json_line(struct json_line *line, const char *key, const struct storm *storm)
{
    struct field fields[N_FIELDS], *field;

    storm_fields(storm, fields);
    json_line_open(line, key);
    for_each (field, fields)
        json_line_int(line, field->key, field->value);
    json_line_close(line);
}

/* "2.36" from 36, "1.2.5" from 10205; null when it could not be told. */
static json_t *version_json(const struct profile *profile)
{
    char text[48] = "";
    const int v = profile->version;

    if (profile->libc == LIBC_GLIBC && v > 0)
        (void)snprintf(text, sizeof(text), "2.%d", v);
    else if (profile->libc == LIBC_MUSL && v > 0)
        (void)snprintf(text, sizeof(text), "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
    return json_text(*text ? text : NULL);
}

static json_t *profile_json(const struct profile *profile)
{
    static const char *const libcs[] = {
        [LIBC_NONE] = "none",
        [LIBC_GLIBC] = "glibc",
        [LIBC_MUSL] = "musl",
        [LIBC_UNKNOWN] = "unknown",
    };
    static const char *const readers[] = {
        [READER_NONE] = "none", [READER_A] = "A", [READER_B] = "B"};
    const size_t plain = profile->n_caps && !*profile->caps[profile->n_caps - 1];
    json_t *object;

    if (!profile->text)
        return json_null(); /* nothing that a loader would load */
    object = json_object();
    json_put_text(object, "libc", libcs[profile->libc]);
    json_put(object, "version", version_json(profile));
    json_put_text(object, "text", profile->text);
    json_put_text(object, "interp", profile->interp);
    json_put_text(object, "soname", profile->soname);
    json_put_text(object, "assumed", profile->assumed);
    json_put_text(object, "from_source", profile->from_source);
    json_put_int(object, "machine", profile->machine);
    json_put_text(object, "note_reader", readers[profile->reader]);
    json_put(object, "system_dirs", json_texts(profile->system_dirs, profile->n_system_dirs));
    json_put_text(object, "cache", profile->cache);
    json_put_text(object, "preload", profile->preload);
    json_put_text(object, "lib", profile->lib);
    json_put_text(object, "platform", profile->platform);
    json_put(object, "hwcaps", json_texts(profile->caps, profile->n_caps - plain));
    return object;
}

/* Path of a loaded object by index; null for -1. */
static json_t *loaded_path_json(const struct trace *trace, int index)
{
    return json_text(index < 0 ? NULL : trace->loaded[index].path);
}

static void write_call(struct json_writer *w, const struct trace *trace, const struct call *call)
{
    const struct request *request = call->request < 0 ? NULL : &trace->request[call->request];
    const int asker = request ? request->asker : -1;

    json_write_begin(w, NULL, '{');
    json_write_text(w, "call", call_kind_name(call->kind));
    json_write_text(w, "path", call->path);
    json_write_text(w, "result", call_result(call));
    json_write_int(w, "phase", call->phase);
    json_write_text(w, "object", asker < 0 ? NULL : trace->loaded[asker].path);
    json_write_text(w, "needed", request ? request->name : NULL);
    json_write_text(w, "stage", stage_name(call->stage));
    if (call->why)
        json_write_text(w, "why", call->why);
    json_write_end(w);
}

static json_t *loaded_json(const struct trace *trace, const struct loaded *loaded)
{
    json_t *object = json_object();

    json_put_text(object, "path", loaded->path);
    json_put_text(object, "soname", loaded->soname);
    json_put(object, "by", loaded_path_json(trace, loaded->by));
    json_put_int(object, "phase", loaded->phase);
    return object;
}

static json_t *phases_json(const struct trace *trace)
{
    json_t *array = json_array();

    for (size_t i = 0; i < trace->n_phases; i++) {
        const struct phase *phase = &trace->phase[i];
        json_t *object = json_object();

        json_put_int(object, "phase", (int64_t)i + 1);
        json_put_text(object, "name", phase->name);
        json_put(object, "caller", loaded_path_json(trace, phase->caller));
        json_put_text(object, "source", dlopen_source_name(phase->source));
        json_put_text(object, "priority", phase->priority);
        json_put_text(object, "feature", phase->feature);
        json_put(object, "succeeds", json_boolean(phase->succeeds));
        json_put(object, "storm", storm_json(&phase->storm));
        json_push(array, object);
    }
    return array;
}

void trace_write(struct json_writer *w, const struct trace *trace)
{
    json_write_text(w, "program", trace->program);
    json_write_value(w, "profile", profile_json(&trace->profile));
    json_write_text(w, "resolver", trace->resolver);
    json_write_text(w, "cpu", trace->cpu ? trace->cpu->name : NULL);
    json_write_begin(w, "calls", '[');
    for (size_t i = 0; i < trace->n_calls; i++)
        write_call(w, trace, &trace->call[i]);
    json_write_end(w);
    json_write_begin(w, "loaded", '[');
    for (size_t i = 0; i < trace->n_loaded; i++)
        json_write_value(w, NULL, loaded_json(trace, &trace->loaded[i]));
    json_write_end(w);
    json_write_value(w, "phases", phases_json(trace));
    json_write_value(w, "storm", storm_json(&trace->storm));
    json_write_value(w, "dlopen", storm_json(&trace->dlopen));
    json_write_text(w, "exit", trace->exit_text);
    json_write_value(w, "assumptions", json_texts(trace->assumption, trace->n_assumptions));
}
