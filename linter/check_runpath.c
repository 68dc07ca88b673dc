/*
 * Run paths: the directories themselves.
 */
#include "linter/check.h"

#include "loader/declared.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Is `path` this directory, or below it? */
static bool is_below(const char *path, const char *dir)
{
    const size_t len = strlen(dir);

    return !strncmp(path, dir, len) && (path[len] == '\0' || path[len] == '/');
}

static const char *insecure_place(const char *path)
{
    static const char *const places[] = {"/tmp", "/var/tmp", "/dev/shm", "/build", "/home"};
    static const char builds[] = "/nix/var/nix/builds";
    const char *const *place;

    for_each (place, places)
        if (is_below(path, *place))
            return *place;
    return is_below(path, builds) ? builds : NULL;
}

/* str_normal(), where there is something to be done. */
static const char *normal_of(const struct check *check, const char *path)
{
    return strstr(path, "/.") || strstr(path, "//") ? str_normal(check->arena, path) : path;
}

/* Where others may write, of a path as it is written; a store that lies there is as safe as it is. */
static const char *insecure_path(const struct check *check, const char *path)
{
    const char *normal = normal_of(check, path);

    return *path == '/' && !closure_in_store(check->closure, normal) ? insecure_place(normal)
                                                                     : NULL;
}

/* ... or of where it leads. */
static const char *insecure(const struct check *check, const struct component *c)
{
    const char *place = insecure_path(check, c->expanded);

    if (place || c->at.error || !check->closure->live) /* an index knows stores alone */
        return place;
    return insecure_path(check, world_path(check->arena, c->at.node));
}

static bool anyone_may_write(const struct component *c)
{
    return !c->at.error && c->at.node->kind == NODE_DIR && c->at.node->mode & S_IWOTH;
}

void check_runpath_insecure_dir(struct check *check)
{
    for (size_t i = 0; i < check->n_components && wants_more(check); i++) {
        const struct component *c = &check->component[i];
        const char *path = shown(check, c->expanded), *place = insecure(check, c);

        if (place)
            report_object(check, check->object, path, "the run path names '%s', below %s", path,
                          place);
        else if (anyone_may_write(c))
            report_object(check, check->object, path,
                          "the run path names '%s', where anyone may write", path);
    }
}

/* Is it looked up from the working directory? $LIB and $PLATFORM stand for relative paths. */
static bool is_relative(const char *text)
{
    return *text != '/' && !str_starts(text, "$ORIGIN") && !str_starts(text, "${ORIGIN}");
}

void check_runpath_empty_component(struct check *check)
{
    for (size_t i = 0; i < check->n_components && wants_more(check); i++) {
        const char *text = check->component[i].text;

        if (*text == '\0')
            report_object(check, check->object, "",
                          "component %zu of the run path is empty: the working directory", i + 1);
        else if (is_relative(text))
            report_object(check, check->object, shown(check, text),
                          "the run path has the relative '%s'", shown(check, text));
    }
}

/* Places that are meant to be filled by the system. */
static bool is_allowed_place(const char *path)
{
    return is_below(path, "/run/opengl-driver") || is_below(path, "/run/opengl-driver-32") ||
           is_below(path, "/run/current-system");
}

/* A program that runs with the rights of its file's owner or group. */
static bool is_set_id(const struct lint_object *object)
{
    return object->node->mode & (S_ISUID | S_ISGID);
}

void check_runpath_outside_store(struct check *check)
{
    if (!check->object->package)
        return;
    for (size_t i = 0; i < check->n_components && wants_more(check); i++) {
        const char *path = check->component[i].expanded;
        const char *normal = normal_of(check, path);
        struct finding *f;

        if (*path != '/' || closure_in_store(check->closure, normal) || is_allowed_place(normal) ||
            insecure_place(normal))
            continue;
        f = report_object(check, check->object, shown(check, path),
                          "the run path names '%s', outside the store", shown(check, path));
        if (f && is_set_id(check->object))
            f->severity = SEVERITY_ERROR;
    }
}

void check_runpath_dir_absent(struct check *check)
{
    for (size_t i = 0; i < check->n_components && wants_more(check); i++) {
        const struct component *c = &check->component[i];
        struct finding *f;

        if (!closure_in_store(check->closure, c->expanded) || c->at.assumed ||
            (c->at.error != ENOENT && c->at.error != ENOTDIR))
            continue;
        f = report_object(check, check->object, subject_path(check, c->expanded),
                          "the run path names '%s', which does not exist",
                          shown(check, c->expanded));
        evidence(check, f, "%s", c->expanded);
    }
}

/* ---- directories that find nothing */

struct wanted {
    const char **name;
    size_t n;
};

static void want(struct check *check, struct wanted *wanted, const char *name)
{
    if (strchr(name, '/'))
        return;
    wanted->name = arena_grow(check->arena, wanted->name, wanted->n, sizeof(*wanted->name));
    wanted->name[wanted->n++] = name;
}

/* Where the component's libraries can be: itself, and its directories for CPUs that there are. */
struct parts {
    struct component item[12];
    size_t n;
};

static void parts_of(struct check *check, const struct component *c, struct parts *ret)
{
    static const char *const levels[] = {
        "glibc-hwcaps/x86-64-v2",
        "glibc-hwcaps/x86-64-v3",
        "glibc-hwcaps/x86-64-v4",
        "haswell/x86_64",
        "haswell",
        "x86_64",
        "glibc-hwcaps/power9",
        "glibc-hwcaps/power10",
        "glibc-hwcaps/z14",
        "glibc-hwcaps/z15",
        "tls",
    };
    const char *const *level;

    ret->item[0] = *c;
    ret->n = 1;
    for_each (level, levels) {
        const struct place at = world_walk(check->closure->world, c->at.node, *level);

        if (!at.error && at.node->kind == NODE_DIR)
            ret->item[ret->n++] = (struct component){.at = at};
    }
}

/* Is any of the names there? */
static bool finds_any(struct check *check, const struct component *c, const struct wanted *wanted)
{
    struct parts parts;

    parts_of(check, c, &parts);
    for (size_t k = 0; k < wanted->n; k++)
        for (size_t i = 0; i < parts.n; i++)
            if (component_find(check, &parts.item[i], wanted->name[k]))
                return true;
    return false;
}

/*
 * What the directories are there for: needed names, and whatever may be opened by name later. An
 * object that imports dlopen but declares no name gets the name from elsewhere: then nothing is
 * known about its directories.
 */
static bool all_wanted(struct check *check, struct wanted *ret)
{
    const struct object *o = check->object->object;
    struct declared_list declared;

    declared_read(check->arena, o, &declared);
    if (o->imports & (IMPORT_DLOPEN | IMPORT_DLMOPEN) && declared.n == 0)
        return false;
    for (size_t i = 0; i < o->n_needs; i++)
        want(check, ret, o->need[i].name);
    for (size_t i = 0; i < declared.n; i++)
        for (size_t k = 0; k < declared.item[i].n_names; k++)
            want(check, ret, declared.item[i].name[k]);
    return true;
}

/* DT_RPATH serves what is loaded further down, too, as does any run path under musl. */
static bool is_own_business(const struct check *check)
{
    const struct lint_object *o = check->object;

    return o->object->runpath && !(o->loader && strstr(o->loader, "ld-musl"));
}

void check_runpath_dir_useless(struct check *check)
{
    struct wanted wanted = {0};
    struct str list = {.arena = check->arena};
    size_t n = 0;
    struct finding *f;

    if (!is_own_business(check) || !all_wanted(check, &wanted) || is_too_much(check, wanted.n + 4))
        return;
    bool *useless = arena_calloc(check->arena, check->n_components + 1, sizeof(bool));
    for (size_t i = 0; i < check->n_components; i++) {
        const struct component *c = &check->component[i];
        const size_t first = c->dir ? (size_t)(c->dir - check->component) : i;

        if (!c->dir || is_allowed_place(c->expanded))
            continue;
        useless[i] = first < i && !is_allowed_place(c->dir->expanded)
                         ? useless[first]
                         : !finds_any(check, c, &wanted);
        if (useless[i] && n++ < 3)
            str_printf(&list, "%s%s", list.len ? ", " : "", shown(check, c->expanded));
    }
    if (n == 0)
        return;
    f = report_object(check, check->object, NULL,
                      "%zu of %zu run path directories find nothing: %s%s", n, check->n_components,
                      list.text, n > 3 ? ", ..." : "");
    for (size_t i = 0; i < check->n_components && wants_evidence(f); i++)
        if (useless[i])
            evidence(check, f, "%s", check->component[i].expanded);
}

/* Of one text, in their order. */
static int by_text(const void *a, const void *b)
{
    const struct component *x = *(const struct component *const *)a;
    const struct component *y = *(const struct component *const *)b;
    const int r = strcmp(x->expanded, y->expanded);

    return r ? r : (x > y) - (x < y);
}

static void twice(struct check *check, const struct component *first, const struct component *c)
{
    struct finding *f = report_object(check, check->object, subject_path(check, c->expanded),
                                      "the run path names '%s' twice", shown(check, c->expanded));

    evidence(check, f, "%s", first->text);
    evidence(check, f, "%s", c->text);
}

/* Sorted, not each beside each: a run path can have as many components as a file has bytes. */
void check_runpath_duplicate(struct check *check)
{
    const size_t n = check->n_components;
    const struct component **list = arena_calloc(check->arena, n + 1, sizeof(*list));
    const struct component *first;

    for (size_t i = 0; i < n; i++)
        list[i] = &check->component[i];
    qsort(list, n, sizeof(*list), by_text);
    first = list[0];
    for (size_t i = 1; i < n && wants_more(check); i++)
        if (*list[i]->text == '\0' || strcmp(first->expanded, list[i]->expanded) != 0)
            first = list[i];
        else
            twice(check, first, list[i]);
    for (size_t i = 0; i < n && wants_more(check); i++) {
        const struct component *c = &check->component[i];

        if (*c->text && c->dir && c->dir != c)
            twice(check, c->dir, c);
    }
}

void check_runpath_not_in_references(struct check *check)
{
    const struct lint_package *own = check->object->package;

    if (!own || !own->registered)
        return;
    for (size_t i = 0; i < check->n_components && wants_more(check); i++) {
        const char *path = check->component[i].expanded;
        const struct lint_package *p = check->component[i].package;
        struct finding *f;

        if (!closure_in_store(check->closure, path) || (p && closure_refers(own, p)))
            continue;
        f = report_object(check, check->object, subject_path(check, path),
                          "the run path names '%s', which the package does not refer to",
                          shown(check, path));
        evidence(check, f, "%s", path);
    }
}

void check_rpath_legacy_tag(struct check *check)
{
    const struct object *o = check->object->object;

    if (o->rpath && !o->runpath)
        report_object(check, check->object, NULL,
                      "DT_RPATH of %zu director%s: it beats LD_LIBRARY_PATH and is inherited",
                      check->n_components, str_count(check->n_components, "y", "ies"));
}

/* What is hardly meant in a run path; NULL: nothing. */
static const char *odd_token(struct check *check, const char *text)
{
    static const char *const tokens[] = {"$LIB", "${LIB}", "$PLATFORM", "${PLATFORM}"};
    const char *const *token, *at, *end;

    for_each (token, tokens)
        if ((at = strstr(text, *token)) && !((*token)[1] != '{' && (at[strlen(*token)] == '_')))
            return *token;
    for (at = text; (at = strchr(at, '$')); at++)
        if (strncmp(at, "$ORIGIN", 7) != 0 && strncmp(at, "${ORIGIN}", 9) != 0)
            return arena_strndup(check->arena, at, strcspn(at, "/"));
    at = strchr(text, '@');
    end = at ? strchr(at + 1, '@') : NULL;
    if (end && end > at + 1 && !memchr(at, '/', (size_t)(end - at)))
        return arena_strndup(check->arena, at, (size_t)(end - at) + 1);
    return NULL;
}

void check_runpath_literal_token(struct check *check)
{
    for (size_t i = 0; i < check->n_components && wants_more(check); i++) {
        const char *text = check->component[i].text, *token = odd_token(check, text);

        if (token)
            report_object(check, check->object, shown(check, text), "the run path has '%s' in '%s'",
                          shown(check, token), shown(check, text));
    }
}

/* By its text, or by where it leads. */
static bool is_of_stubs(const struct component *c)
{
    const struct node *node = c->at.error ? NULL : c->at.node;

    while (node && !(node->name && !strcmp(node->name->text, "stubs")))
        node = node->parent;
    return node || str_ends(c->expanded, "/stubs") || strstr(c->expanded, "/stubs/");
}

void check_runpath_stub_dir(struct check *check)
{
    for (size_t i = 0; i < check->n_components && wants_more(check); i++) {
        const struct component *c = &check->component[i];

        if (is_of_stubs(c))
            report_object(check, check->object, subject_path(check, c->expanded),
                          "the run path names the directory of stubs '%s'",
                          shown(check, c->expanded));
    }
}

/* ---- two answers for one name */

/* Without build ids two files of one size may be the same twice. */
static bool may_be_equal(const struct node *a, const struct node *b)
{
    return a->size == b->size && !(a->object->build_id.bytes && b->object->build_id.bytes);
}

static void one_name(struct check *check, const char *name)
{
    const struct component *first = NULL;
    struct node *taken = NULL, *other;
    struct finding *f;

    for (size_t i = 0; i < check->n_dirs; i++) {
        other = component_find(check, check->dir[i], name);
        if (!other || !world_object(check->closure->world, other) ||
            !same_machine(other->object, check->object->object))
            continue;
        if (!taken) {
            taken = other;
            first = check->dir[i];
        } else if (!same_build(taken, other)) {
            f = report_object(check, check->object, shown(check, name),
                              "%s is in two run path directories: '%s' comes before '%s'",
                              shown(check, name), shown(check, first->expanded),
                              shown(check, check->dir[i]->expanded));
            if (f && may_be_equal(taken, other))
                f->confidence = CONFIDENCE_LIKELY;
            evidence(check, f, "%s", world_path(check->arena, taken));
            evidence(check, f, "%s", world_path(check->arena, other));
            return;
        }
    }
}

void check_runpath_shadowing(struct check *check)
{
    const struct object *o = check->object->object;

    if (is_too_much(check, o->n_needs))
        return;
    for (size_t i = 0; i < o->n_needs; i++)
        if (!strchr(o->need[i].name, '/'))
            one_name(check, o->need[i].name);
}
