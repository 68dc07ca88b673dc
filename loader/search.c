#include "loader/internal.h"

#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

enum {
    V_AUDIT_RUNPATH = 35, /* audit modules also use the program's RUNPATH */
    V_STAT_SLASH = 38,    /* stat gets the directory with its final slash */
    V_ENOTDIR_GOES_ON = 39,
    CACHE_MAX = 64 * 1024 * 1024,
};

/* What an open() of a place ends with. */
int open_error(const struct run *run, struct place at)
{
    if (at.error)
        return at.error;
    return world_readable(run->world, at.node) ? 0 : EACCES;
}

static void note_assumed(struct run *run, const char *path)
{
    run_assume(run, "'%s' is outside what was looked at, and taken as absent", path);
}

/* Take what an open gave as the loader judges it, record the call. */
static struct found judge_open(struct run *run, struct image *image, enum stage stage,
                               bool miss_ends)
{
    struct found found = {.stage = stage};
    enum outcome outcome = OUTCOME_HIT;

    if (image->judgement == JUDGED_FATAL || (image->judgement == JUDGED_MISS && miss_ends)) {
        outcome = OUTCOME_FATAL;
        found.fatal = image->why;
    } else if (image->judgement == JUDGED_MISS) {
        outcome = OUTCOME_REJECTED;
    }
    if (outcome == OUTCOME_HIT || outcome == OUTCOME_FATAL)
        found.image = image;
    run_call(run, (struct call){.kind = CALL_OPEN,
                                .stage = stage,
                                .outcome = outcome,
                                .path = image->path->text,
                                .why = image->why});
    return found;
}

struct found open_path(struct run *run, const struct name *path, enum stage stage, bool miss_ends)
{
    const struct place at = loader_walk(run->loader, path->text);
    const int error = open_error(run, at);

    run->effort += path->len;
    if (!error)
        return judge_open(run, image_get(run->loader, run->setup, path, at.node), stage, miss_ends);
    if (at.assumed)
        note_assumed(run, path->text);
    run_call(run, (struct call){.kind = CALL_OPEN,
                                .stage = stage,
                                .outcome = OUTCOME_FAILED,
                                .error = error,
                                .path = path->text});
    return (struct found){.stage = stage};
}

/* ---- the walk (docs/loader.md, 8) */

struct walk {
    struct run *run;
    const struct name *name;
    enum stage stage;
    unsigned flags;
    int error; /* what the last failing call left in errno */
};

/* Where a name in an existing directory leads, for the first time. */
static struct place look(const struct run *run, struct node *dir, const struct name *name)
{
    if (name->text[0] == '.' && (!strcmp(name->text, ".") || !strcmp(name->text, "..")))
        return world_walk(run->world, dir, name->text);
    return world_at(run->world, dir, name);
}

/* The image of a file that is there, opened by the path as the loader composes it. */
static __attribute__((noinline)) struct image *image_in(const struct walk *w, const struct dir *dir,
                                                        size_t cap, struct node *node)
{
    struct run *run = w->run;
    const size_t a = dir->path->len, b = run->setup->cap_len[cap], c = w->name->len;
    char path[PATH_MAX] __attribute__((uninitialized));

    memcpy(path, dir->path->text, a);
    memcpy(path + a, run->setup->profile.caps[cap], b);
    memcpy(path + a + b, w->name->text, c);
    return image_get(run->loader, run->setup, intern_n(run->names, path, a + b + c), node);
}

/* What opening directory + cap + name gives: remembered, for many programs ask the same. */
static struct probe probe(const struct walk *w, struct dir *dir, size_t cap)
{
    struct run *run = w->run;
    const struct place at =
        dir->walked[cap] ? dir->at[cap] : dir_at(run->loader, run->setup, dir, cap);
    struct probe *known, fresh = {0};
    struct place file;

    if (dir->path->len + run->setup->cap_len[cap] + w->name->len >= PATH_MAX)
        return (struct probe){.error = ENAMETOOLONG};
    if (at.error)
        return (struct probe){.error = at.error, .assumed = at.assumed};
    if (world_rejects(run->world, at.node, w->name) && w->name->text[0] != '.')
        return (struct probe){.error = ENOENT};
    known = probe_slot(run->setup, dir, cap, w->name);
    if (known->key)
        return *known;
    file = look(run, at.node, w->name);
    fresh = (struct probe){.error = open_error(run, file), .assumed = file.assumed};
    if (!fresh.error)
        fresh.image = image_in(w, dir, cap, file.node);
    return probe_keep(run->setup, dir, cap, w->name, fresh);
}

static struct found open_in(struct walk *w, struct dir *dir, size_t cap)
{
    struct run *run = w->run;
    const char *cap_text = run->setup->profile.caps[cap];
    const struct probe at = probe(w, dir, cap);
    struct found found;

    run->effort += dir->path->len + w->name->len;
    if (at.image) {
        found = judge_open(run, at.image, w->stage, false);
        if (!found.image)
            w->error = ENOENT;
        return found;
    }
    if (at.assumed)
        note_assumed(run, dir->path->text);
    w->error = at.error;
    if (!run->start->record)
        run_count(run, CALL_OPEN, at.error);
    else
        run_call(run,
                 (struct call){.kind = CALL_OPEN,
                               .stage = w->stage,
                               .outcome = OUTCOME_FAILED,
                               .error = at.error,
                               .path = run_path(run, dir->path->text, cap_text, w->name->text)});
    return (struct found){.stage = w->stage};
}

static void record_stat(struct walk *w, const struct dir *dir, size_t cap, int error, bool is_dir,
                        bool slash)
{
    struct run *run = w->run;
    const char *path = run_path(run, dir->path->text, run->setup->profile.caps[cap], "");

    if (!slash && *path)
        path = arena_strndup(run->arena, path, strlen(path) - 1);
    run_call(run, (struct call){.kind = CALL_STAT,
                                .stage = w->stage,
                                .outcome = OUTCOME_INFO,
                                .error = error,
                                .is_dir = is_dir && !error,
                                .path = path});
}

/* After a miss in a directory of unknown state: the loader asks whether there is one at all. */
static enum dir_state stat_dir(struct walk *w, struct dir *dir, size_t cap)
{
    struct run *run = w->run;
    const struct place at =
        dir->walked[cap] ? dir->at[cap] : dir_at(run->loader, run->setup, dir, cap);
    const bool slash = run->setup->profile.version >= V_STAT_SLASH;
    const bool is_dir = !at.error && at.node->kind == NODE_DIR;
    int error = at.error;

    run->effort += dir->path->len;
    if (slash && dir->path->len + run->setup->cap_len[cap] >= PATH_MAX)
        error = ENAMETOOLONG;
    else if (!error && slash && !is_dir)
        error = ENOTDIR;
    if (!slash && dir->path->len == 1 && run->setup->cap_len[cap] == 0)
        error = ENOENT; /* "/" without its slash is the empty string */
    if (run->start->record)
        record_stat(w, dir, cap, error, is_dir, slash);
    else
        run_count(run, CALL_STAT, error);
    if (error)
        w->error = error;
    return is_dir && !error ? DIR_EXISTS : DIR_MISSING;
}

/* All caps of one directory. True: the search of this list is over. */
static bool walk_dir(struct walk *w, struct dir *dir, struct found *found)
{
    struct run *run = w->run;
    uint8_t *state = run_dir_state(run, dir);
    const bool enotdir = run->setup->profile.version >= V_ENOTDIR_GOES_ON;
    bool any = false;

    run->effort += 4; /* bytes: to pass one by that is known to be missing takes as long */
    for (size_t cap = 0; cap < run->setup->profile.n_caps; cap++) {
        if (state[cap] == DIR_MISSING)
            continue;
        *found = open_in(w, dir, cap);
        if (found->fatal)
            return true;
        if (state[cap] == DIR_UNKNOWN)
            state[cap] = (uint8_t)(found->image ? DIR_EXISTS : stat_dir(w, dir, cap));
        any |= state[cap] != DIR_MISSING;
        if (found->image && w->flags & SEARCH_SECURE_PRELOAD &&
            !(found->image->node->mode & S_ISUID)) {
            found->image = NULL;
            w->error = ENOENT;
        }
        if (found->image)
            return true;
    }
    return any && w->error != ENOENT && w->error != EACCES && !(enotdir && w->error == ENOTDIR);
}

static struct found walk(struct walk w, const struct dirlist *list)
{
    struct found found = {.stage = w.stage};

    for (size_t i = 0; i < list->n && !run_too_large(w.run); i++)
        if (walk_dir(&w, list->dir[i], &found))
            break;
    return found;
}

/* ---- the cache (docs/loader.md, 10) */

static void cache_open(struct run *run)
{
    const struct profile *p = &run->setup->profile;
    const struct place at = loader_walk(run->loader, p->cache);
    const int error = open_error(run, at);
    char *bytes;
    size_t len;

    run_call(run, (struct call){.kind = CALL_OPEN,
                                .stage = STAGE_CACHE,
                                .outcome = error ? OUTCOME_FAILED : OUTCOME_INFO,
                                .error = error,
                                .path = p->cache});
    run->cache = CACHE_ABSENT;
    if (error)
        return;
    if (world_bytes(run->world, at.node, CACHE_MAX, run->arena, &bytes, &len) < 0) {
        run_assume(run, "'%s' cannot be read, and is taken as empty", p->cache);
        return;
    }
    run->cache_data = ldcache_parse(run->arena, p, bytes, len);
    if (run->cache_data)
        run->cache = CACHE_MAPPED;
}

struct found search_cache(struct run *run, const struct lib *asker, const struct name *name)
{
    const struct profile *p = &run->setup->profile;
    struct found found = {.stage = STAGE_CACHE};
    const char *value;

    if (!p->cache)
        return found;
    if (run->cache == CACHE_UNASKED)
        cache_open(run);
    if (run->cache != CACHE_MAPPED)
        return found;
    value = ldcache_find(run->cache_data, p, name->text);
    if (!value)
        return found;
    if (asker && asker->image && asker->image->object->flags_1 & DF_1_NODEFLIB)
        for (size_t i = 0; i < p->n_system_dirs; i++)
            if (str_starts(value, p->system_dirs[i]))
                return found;
    return open_path(run, intern(run->names, value), STAGE_CACHE, false);
}

/* ---- the order of the stages (docs/loader.md, 5) */

/* --inhibit-rpath: does the object's opened path stand in the list? */
bool run_inhibited(const struct run *run, const struct lib *lib)
{
    const char *path = lib->is_main ? "" : lib->image->path->text;
    const char *list = run->explicit ? run->explicit->inhibit_rpath : NULL;

    if (!list)
        return false;
    do {
        const size_t len = strcspn(list, ":");

        if (strlen(path) == len && strncmp(list, path, len) == 0)
            return true;
        list += len + (list[len] == ':');
    } while (*list != '\0'); /* an empty element counts only when another follows */
    return false;
}

static const struct dirlist *paths_of(struct run *run, const struct lib *lib, bool runpath)
{
    static const struct dirlist none;

    if (!lib->image || !lib->image->object || lib->is_self || run_inhibited(run, lib))
        return &none;
    if (!lib->image->paths_known)
        image_paths(run->loader, run->setup, lib->image);
    return runpath ? &lib->image->runpath : &lib->image->rpath;
}

static bool has_runpath(const struct lib *lib)
{
    return lib->image && lib->image->object && lib->image->object->runpath;
}

/* RPATH of the asker, of who loaded it, up to the top; then the program's. */
static struct found search_rpaths(struct walk w, struct lib *asker)
{
    struct run *run = w.run;
    struct found found = {.stage = STAGE_RPATH};
    bool did_main = false;

    for (struct lib *lib = asker; lib; lib = lib->chain) {
        const struct dirlist *list = paths_of(run, lib, false);

        if (!list->exists)
            continue;
        found = walk(w, list);
        if (found.image)
            return found;
        did_main |= lib->is_main;
    }
    if (did_main)
        return found;
    found = walk(w, paths_of(run, run->main, false));
    if (found.image || !(w.flags & SEARCH_AUDIT) || run->setup->profile.version < V_AUDIT_RUNPATH ||
        paths_of(run, run->main, false)->exists)
        return found;
    w.stage = STAGE_RUNPATH;
    return walk(w, paths_of(run, run->main, true));
}

/* How far a reader trusts the note of an object (docs/loader.md, 17). */
enum trust { TRUST_ALL, TRUST_HINTS, TRUST_NOTHING };

/*
 * Reader B looks at the run path beside the note: what depends on the run could come first, so
 * exact entries are not used; a directory outside the store can change after the note was written,
 * so nothing is.
 */
static enum trust note_trust(struct run *run, const struct lib *asker)
{
    const struct profile *p = &run->setup->profile;
    const struct dirlist *list = paths_of(run, asker, has_runpath(asker));
    enum trust trust = TRUST_ALL;

    if (p->reader == READER_A)
        return trust;
    for (size_t i = 0; i < list->n; i++) {
        if (list->dir[i]->relative)
            trust = TRUST_HINTS;
        else if (!str_starts(list->dir[i]->path->text, p->store))
            return TRUST_NOTHING;
    }
    return trust;
}

/* The resolution note of the asker (docs/loader.md, 17). */
static struct found search_note(struct walk w, struct lib *asker)
{
    struct run *run = w.run;
    struct found found = {.stage = STAGE_NOTE};
    const struct image *image = asker->image;
    const struct tokens tokens = {image->origin, run->setup->profile.platform,
                                  run->setup->profile.lib};
    const char *list = note_find(image->object, w.name->text);
    const enum trust trust = list ? note_trust(run, asker) : TRUST_NOTHING;

    /* looking through a note takes a sixteenth of what taking down a path does */
    run->effort += image->object->resolution.size / 16;
    if (list)
        run->effort += strlen(list) + paths_of(run, asker, has_runpath(asker))->n;
    if (trust == TRUST_NOTHING)
        return found;
    w.stage = STAGE_NOTE;
    for (size_t len; *list && !found.image; list += len + (list[len] == ':')) {
        char *element;

        len = strcspn(list, ":");
        element = arena_strndup(run->arena, list, len);
        if (*element == '=' && trust == TRUST_ALL) {
            found = open_path(run, intern(run->names, element + 1), STAGE_NOTE, false);
        } else if (*element == '?') {
            const struct dirlist dirs =
                dirlist_make(run->loader, run->setup, element + 1, ":", &tokens, asker->is_main);

            found = walk(w, &dirs);
        }
    }
    return found;
}

static bool may_ask_cache(const struct run *run, unsigned flags)
{
    return !(flags & SEARCH_SECURE_PRELOAD) && !(run->explicit && run->explicit->inhibit_cache);
}

struct found search_name(struct run *run, struct lib *asker, const struct name *name,
                         unsigned flags)
{
    struct walk w = {.run = run, .name = name, .stage = STAGE_RPATH, .flags = flags};
    const bool nodeflib = asker && asker->image && asker->image->object->flags_1 & DF_1_NODEFLIB;
    const bool cache_first = run->setup->profile.cache_first;
    struct found found = {.stage = STAGE_RPATH};

    if (!asker || !has_runpath(asker))
        found = search_rpaths(w, asker);
    if (found.image)
        return found;
    w.stage = STAGE_LIBRARY_PATH;
    found = walk(w, &run->library_path);
    if (!found.image && cache_first && may_ask_cache(run, flags))
        found = search_cache(run, asker, name);
    if (!found.image && asker && run->setup->profile.reader != READER_NONE && asker->image)
        found = search_note(w, asker);
    if (!found.image && asker) {
        w.stage = STAGE_RUNPATH;
        found = walk(w, paths_of(run, asker, true));
    }
    if (!found.image && !cache_first && may_ask_cache(run, flags))
        found = search_cache(run, asker, name);
    if (!found.image && !nodeflib) {
        w.stage = STAGE_SYSTEM;
        found = walk(w, &run->setup->system);
    }
    return found;
}
