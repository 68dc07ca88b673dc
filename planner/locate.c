#include "planner/locate.h"
#include "base/str.h"
#include "planner/subject.h"

#include <fnmatch.h>
#include <string.h>

/* Objects that do not ask themselves, but have another object ask where they are. */
struct proxy {
    const char *soname; /* glob */
    const char *asks;   /* the one that answers, must be loaded too */
};

static const struct proxy proxies[] = {
    {"libnss3.so", "libnspr4.so"},
    {"libnssutil3.so", "libnspr4.so"},
    {"libsmime3.so", "libnspr4.so"},
    {"libssl3.so", "libnspr4.so"},
};

/*
 * Objects that import dladdr() and the like, read by a person: what they do with the answer.
 * `beside` are the names (globs) they look for in their own directory; one that has none of them
 * has nothing to lose.
 */
struct review {
    const char *soname; /* glob */
    const char *beside; /* space-separated globs; NULL: nothing is looked for */
    const char *why;    /* a sentence */
};

static const struct review reviews[] = {
    {"libcrypto.so.[13]*", NULL,
     "it only opens itself once more by that name, which keeps it in memory"},
    {"libpulse.so.0", NULL, "it only asks where the program's main() is, to name the program"},
    {"libpulsecommon-*.so", NULL,
     "it only asks where the program's main() is, to name the program"},
    {"libinkscape_base.so.*", NULL, "it only prints stack traces with it"},
    {"libnspr4.so", NULL, "it only answers where others are (PR_GetLibraryFilePathname)"},
    {"libnss3.so", NULL, "it resolves the links of its own path when nothing is beside it"},
    {"libnssutil3.so", NULL, "it resolves the links of its own path when nothing is beside it"},
    {"libsmime3.so", NULL, "it resolves the links of its own path when nothing is beside it"},
    {"libssl3.so", NULL, "it resolves the links of its own path when nothing is beside it"},
    {"libasound.so.2", "alsa-lib", "it looks for the directory alsa-lib beside it: there is none"},
    {"libbluray.so.[23]", "libbluray*.jar", "it looks for its Java archive beside it: none there"},
    {0},
};

/* ---- could it locate itself? */

static const char *import_names(struct arena *arena, unsigned imports)
{
    static const struct {
        unsigned bit;
        const char *name;
    } rows[] = {{IMPORT_DLADDR, "dladdr"}, {IMPORT_DLADDR1, "dladdr1"}, {IMPORT_DLINFO, "dlinfo"}};
    struct str out = {.arena = arena};
    size_t i;

    for (i = 0; i < ARRAY_LEN(rows); i++)
        if (imports & rows[i].bit)
            str_printf(&out, "%s%s", out.len ? ", " : "", rows[i].name);
    return out.len ? out.text : NULL;
}

static const char *token_in_needed(const struct object *object)
{
    size_t i;

    for (i = 0; i < object->n_needs; i++)
        if (has_token(object->need[i].name))
            return object->need[i].name;
    return NULL;
}

/* Is an object with this soname loaded? */
static bool is_loaded(const struct subject *s, const char *soname)
{
    size_t i;

    for (i = 0; i < s->trace->n_loaded; i++)
        if (str_same(s->trace->loaded[i].soname, soname))
            return true;
    return false;
}

static const char *asks_by_proxy(const struct subject *s, const char *soname)
{
    const struct proxy *p;

    for_each (p, proxies)
        if (soname && !fnmatch(p->soname, soname, 0) && is_loaded(s, p->asks))
            return p->asks;
    return NULL;
}

static const char *reason_to_keep(const struct subject *s, const struct loaded *loaded)
{
    const struct object *object = loaded->object;
    const char *found;

    if ((found = import_names(s->arena, object->imports)))
        return arena_printf(s->arena, "it can ask for its own path (%s)", found);
    if (has_token(object->runpath) || has_token(object->rpath))
        return "its run path has a token that stands for its own directory";
    if ((found = token_in_needed(object)))
        return arena_printf(s->arena, "its needed '%s' has a token", found);
    if (object->origin_string)
        return "it holds the text $ORIGIN for a later dlopen";
    if ((found = asks_by_proxy(s, loaded->soname)))
        return arena_printf(s->arena, "it has %s ask for its path", found);
    return NULL;
}

/* ---- has it been reviewed? */

struct listing {
    const char *glob;
    bool found;
};

static void look_at(void *data, const char *name)
{
    struct listing *listing = data;

    if (!fnmatch(listing->glob, name, 0))
        listing->found = true;
}

/* Is one of the names `beside` (globs) in the object's directory? True when that is not known. */
static bool is_beside(const struct subject *s, const struct member *m, const char *beside)
{
    char *globs = arena_strdup(s->arena, beside), *save = NULL, *glob;
    struct place at = world_walk(s->world, NULL, m->directory);
    struct listing listing = {0};

    if (at.error)
        return true;
    for (glob = strtok_r(globs, " ", &save); glob; glob = strtok_r(NULL, " ", &save)) {
        listing.glob = glob;
        if (world_list(s->world, at.node, look_at, &listing) < 0 || listing.found)
            return true;
    }
    return false;
}

static const char *reviewed(const struct subject *s, const struct member *m)
{
    const struct review *r;

    if (s->policy->cautious || !m->loaded->soname || has_token(m->loaded->object->runpath) ||
        token_in_needed(m->loaded->object))
        return NULL;
    for (r = reviews; r->soname; r++)
        if (!fnmatch(r->soname, m->loaded->soname, 0) &&
            (!r->beside || !is_beside(s, m, r->beside)))
            return r->why;
    return NULL;
}

void locate_members(struct subject *s)
{
    size_t i;

    for (i = 0; i < s->trace->n_loaded; i++) {
        struct member *m = &s->member[i];
        const char *keep;

        /* the program and the loader are opened by nobody's run path */
        if (i == 0 || !m->loaded->node || m->loaded->object->ldso)
            continue;
        keep = reason_to_keep(s, m->loaded);
        if (!keep)
            continue;
        m->cleared = reviewed(s, m);
        m->keep = m->cleared ? NULL : keep;
    }
}
