#include "cli/trace_text.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

/* ---- words */

const char *stage_words(enum stage stage)
{
    static const char *const words[] = {
        [STAGE_DIRECT] = "by its path",
        [STAGE_RPATH] = "RPATH",
        [STAGE_LIBRARY_PATH] = "LD_LIBRARY_PATH",
        [STAGE_NOTE] = "note",
        [STAGE_RUNPATH] = "RUNPATH",
        [STAGE_CACHE] = "library cache",
        [STAGE_SYSTEM] = "the loader's own directories",
        [STAGE_PRELOAD] = "preload file",
        [STAGE_AUDIT] = "audit module",
    };

    return words[stage];
}

bool request_is_optional(const struct request *request)
{
    switch (request->kind) {
    case REQUEST_AUXILIARY:
    case REQUEST_PRELOAD:
    case REQUEST_PRELOAD_FILE:
    case REQUEST_AUDIT:
        return true;
    case REQUEST_NEEDED:
    case REQUEST_FILTER:
    case REQUEST_DLOPEN:
    case REQUEST_PROGRAM:
        break;
    }
    return false;
}

const char *phase_words(const struct trace_view *view, size_t phase)
{
    const struct phase *p = &view->trace->phase[phase];
    struct str out = {.arena = view->arena};

    str_printf(&out, "after the start, dlopen by %s",
               p->caller < 0 ? "an object that is not loaded" : trace_object(view, p->caller));
    switch (p->source) {
    case DLOPEN_ASKED:
        break;
    case DLOPEN_NOTE:
        str_printf(&out, ": by its dlopen note, %s", p->priority);
        if (p->feature)
            str_printf(&out, ", for '%s'", trace_shown(view, p->feature));
        break;
    case DLOPEN_CONSTANT:
        str_add(&out, ": a constant in it looks like a library's name");
        break;
    }
    if (p->n_alternatives > 1)
        str_printf(&out, " (choice %u of %u)", p->alternative + 1, p->n_alternatives);
    return out.text;
}

bool phase_is_asked(const struct trace *trace, int phase)
{
    return phase < 1 || (size_t)phase > trace->n_phases ||
           trace->phase[phase - 1].source == DLOPEN_ASKED;
}

static const char *error_words(int error)
{
    static const struct row {
        const char *name, *words;
    } rows[] =
        {
            {"ENOENT", "not there"},
            {"ENOTDIR", "not there: part of the path is no directory"},
            {"EACCES", "not permitted to this user"},
            {"ELOOP", "symbolic links in a circle"},
            {"ENAMETOOLONG", "the name is too long"},
        },
      *row;

    for_each (row, rows)
        if (!strcmp(row->name, errno_name(error)))
            return row->words;
    return strerror(error);
}

static const char *open_words(const struct trace *trace, const struct call *call,
                              struct arena *arena)
{
    const char *why = call->why ? str_escape(arena, call->why) : "cannot be used";

    switch (call->outcome) {
    case OUTCOME_HIT:
        return "found: this file is loaded";
    case OUTCOME_SAME_FILE:
        return "found: the same file as one in memory already";
    case OUTCOME_REJECTED:
        return arena_printf(arena, "not for this loader (%s): the search goes on", why);
    case OUTCOME_FATAL:
        return arena_printf(arena, "unusable (%s): the search ends here", why);
    case OUTCOME_FAILED:
    case OUTCOME_INFO:
        break;
    }
    if (str_same(call->path, trace->profile.cache))
        return call->error ? "this loader has no library cache" : "the library cache is read, once";
    if (str_same(call->path, trace->profile.preload))
        return call->error ? error_words(call->error) : "its entries are loaded first";
    return call->error ? error_words(call->error) : "opened";
}

const char *call_words(const struct trace *trace, const struct call *call, struct arena *arena)
{
    switch (call->kind) {
    case CALL_OPEN:
        return open_words(trace, call, arena);
    case CALL_STAT:
        if (call->error == ENOENT)
            return "no such directory: not looked into again";
        if (call->error)
            return arena_printf(arena, "%s: not looked into again", error_words(call->error));
        return call->is_dir ? "a directory: looked into for every further name"
                            : "not a directory: not looked into again";
    case CALL_ACCESS:
        if (str_same(call->path, trace->profile.preload))
            return call->error ? "no file of libraries to load first: as usual"
                               : "there is a file of libraries to load first";
        return call->error ? error_words(call->error) : "there, and may be used";
    case CALL_READLINK:
        return call->error ? "the program's place is not known: what uses $ORIGIN is dropped"
                           : "where the program lies, for $ORIGIN";
    }
    return "";
}

/* ---- paths */

enum { HASH_LEN = 32 };

/* A store path's component starts with 32 characters of base 32 and a dash. */
static bool is_hash(const char *text)
{
    return strspn(text, "0123456789abcdfghijklmnpqrsvwxyz") == HASH_LEN && text[HASH_LEN] == '-';
}

const char *path_short(struct arena *arena, const char *path)
{
    for (const char *at = path; (at = strchr(at, '/')) != NULL; at++)
        if (is_hash(at + 1))
            return arena_printf(arena, "%.*s...%s", (int)(at + 1 - path), path, at + 1 + HASH_LEN);
    return path;
}

const char *trace_shown(const struct trace_view *view, const char *text)
{
    return str_escape(view->arena, text);
}

const char *trace_object(const struct trace_view *view, int index)
{
    return trace_shown(view, str_base(view->trace->loaded[index].path));
}

const char *trace_on(const struct trace_view *view, enum style style)
{
    return term_style(&view->term, style);
}

const char *trace_off(const struct trace_view *view)
{
    return term_style(&view->term, STYLE_PLAIN);
}

void trace_heading(const struct trace_view *view, const char *text)
{
    fprintf(view->to, "\n%s%s%s\n", trace_on(view, STYLE_BOLD), text, trace_off(view));
}

/* ---- costs of searches */

static void cost_add(struct cost *cost, const struct call *call)
{
    if (!call->error)
        return;
    cost->failed_opens += call->kind == CALL_OPEN;
    cost->failed_stats += call->kind == CALL_STAT;
}

struct cost trace_cost(const struct trace *trace, const struct request *request)
{
    struct cost cost = {0};

    for (size_t i = 0; i < request->n_calls; i++)
        cost_add(&cost, &trace->call[request->first_call + i]);
    return cost;
}

/* ---- header */

static void PRINTF(3, 4)
    field(const struct trace_view *view, const char *label, const char *fmt, ...)
{
    const bool styled = *label != '\0';
    va_list ap;

    fprintf(view->to, "%s%-12s%s ", styled ? trace_on(view, STYLE_BOLD) : "", label,
            styled ? trace_off(view) : "");
    va_start(ap, fmt);
    vfprintf(view->to, fmt, ap);
    va_end(ap);
    fputc('\n', view->to);
}

static const char *words_text(const struct trace_view *view, const char *const *text, size_t n,
                              const char *between)
{
    struct str list = {.arena = view->arena};

    str_add(&list, "");
    for (size_t i = 0; i < n; i++)
        str_printf(&list, "%s%s", i ? between : "", trace_shown(view, text[i]));
    return list.text;
}

static const char *list_text(const struct trace_view *view, const char *const *text, size_t n)
{
    return words_text(view, text, n, ", ");
}

static void header_loader(const struct trace_view *view)
{
    static const char *const readers[] = {
        [READER_NONE] = NULL,
        [READER_A] = "reads resolution notes (first form of the patch)",
        [READER_B] = "reads resolution notes (second form of the patch)",
    };
    const struct profile *p = &view->trace->profile;

    field(view, "loader", "%s: %s", trace_shown(view, p->interp ? p->interp : "?"),
          trace_shown(view, p->text));
    if (p->assumed)
        field(view, "", "%s%s%s", trace_on(view, STYLE_YELLOW), trace_shown(view, p->assumed),
              trace_off(view));
    field(view, "", "its own directories: %s",
          p->n_system_dirs ? list_text(view, p->system_dirs, p->n_system_dirs) : "none");
    if (p->cache)
        field(view, "", "its library cache: %s", trace_shown(view, p->cache));
    if (p->preload)
        field(view, "", "its file of libraries to load first: %s", trace_shown(view, p->preload));
    if (readers[p->reader])
        field(view, "", "%s", readers[p->reader]);
    if (view->trace->resolver)
        field(view, "resolver", "%s", trace_shown(view, view->trace->resolver));
}

static void header_cpu(const struct trace_view *view)
{
    const struct profile *p = &view->trace->profile;
    const size_t n = p->n_caps && !*p->caps[p->n_caps - 1] ? p->n_caps - 1 : p->n_caps;
    const char *name = view->trace->cpu ? view->trace->cpu->name : "unknown";

    if (n == 0) {
        field(view, "CPU", "%s: no sub-directories for it", name);
        return;
    }
    field(view, "CPU", "%s: in each directory these sub-directories are tried before it:", name);
    field(view, "", "%s", list_text(view, p->caps, n));
}

/* Where a path with links in it ends: it tells the package. */
static void header_real_path(const struct trace_view *view)
{
    const struct trace *t = view->trace;
    const char *path;

    if (t->n_loaded == 0 || !t->loaded[0].node || view->n_ld_args)
        return;
    path = world_path(view->arena, t->loaded[0].node);
    if (strcmp(path, t->program) != 0)
        field(view, "", "which is %s", trace_shown(view, path));
}

/* The way from what was named to the program: each hop's own start is another one. */
static void header_way(const struct trace_view *view)
{
    const struct way *way = view->followed ? &view->followed->way : NULL;
    const struct hop *last = way ? &way->hop[way->n - 1] : NULL;

    for (size_t i = 0; way && i + 1 < way->n; i++) {
        field(view, "wrapper", "%s", trace_shown(view, way->hop[i].exec));
        field(view, "", "%s, whose own start is not counted here",
              trace_shown(view, way->hop[i].how));
    }
    if (last && strcmp(last->exec, last->program) != 0)
        field(view, "script", "%s", trace_shown(view, last->exec));
    if (way && way->stop)
        field(view, last->exec == last->program ? "note" : "",
              "%sno more is said than how its interpreter starts: %s%s",
              trace_on(view, STYLE_YELLOW), trace_shown(view, way->stop), trace_off(view));
}

void trace_text_header(const struct trace_view *view)
{
    const struct trace *t = view->trace;

    header_way(view);
    if (view->n_ld_args)
        field(view, "command", "%s %s", trace_shown(view, t->program),
              words_text(view, view->ld_args, view->n_ld_args, " "));
    else
        field(view, "program", "%s", trace_shown(view, t->program));
    header_real_path(view);
    if (t->profile.text) {
        header_loader(view);
        header_cpu(view);
    }
    if (view->root && strcmp(view->root, "/") != 0)
        field(view, "root", "%s", trace_shown(view, view->root));
    field(view, "working dir", "%s", trace_shown(view, view->cwd));
    if (view->n_env == 0)
        field(view, "environment", "empty");
    for (size_t i = 0; i < view->n_env; i++)
        field(view, i ? "" : "environment", "%s", trace_shown(view, view->env[i]));
    if (view->note)
        field(view, "note", "%s%s%s", trace_on(view, STYLE_YELLOW), trace_shown(view, view->note),
              trace_off(view));
    for (size_t i = 0; i < t->n_assumptions; i++)
        if (!str_same(t->assumption[i], t->profile.assumed)) /* stands beside the loader */
            field(view, "assumed", "%s%s%s", trace_on(view, STYLE_YELLOW),
                  trace_shown(view, t->assumption[i]), trace_off(view));
}
