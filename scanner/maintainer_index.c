/*
 * What somebody maintains of an index.
 */
#include "scanner/maintainer.h"

#include <stdlib.h>
#include <string.h>

static const char PACKAGES[] =
    "SELECT s.path || '/' || p.base, o.attribute, o.maintainers, o.position FROM package p "
    "JOIN store s ON s.id = p.store JOIN origin o ON o.name = p.name WHERE p.state <> 'gone' "
    "ORDER BY 1";

int maintainer_index(struct db *db, struct maintainer *m, struct err *err)
{
    struct stmt *s = db_prepare(db, PACKAGES, err);
    int r = s ? 0 : -err->code;

    while (s && (r = stmt_step(s, err)) > 0) {
        CLEANUP(arena_release) struct arena scratch = {0};
        const struct origin *origin = origin_of_row(s, 1, &scratch);

        maintainer_see(m, origin);
        if (!maintainer_wants(m, origin))
            continue;
        m->package = arena_grow(m->arena, m->package, m->n_packages, sizeof(*m->package));
        m->package[m->n_packages++] = arena_strdup(m->arena, stmt_text(s, 0));
    }
    return r;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, *(const char *const *)b);
}

/* Packages lie in no other ones: of the path's leading parts at most one is there. */
bool maintainer_has(const struct maintainer *m, const char *path)
{
    CLEANUP(arena_release) struct arena scratch = {0};
    char *part;

    if (!m->name)
        return true;
    part = arena_strdup(&scratch, path);
    for (char *end = strchr(part + 1, '/'); m->n_packages; end = strchr(end + 1, '/')) {
        if (end)
            *end = '\0';
        if (bsearch(part, m->package, m->n_packages, sizeof(*m->package), by_text))
            return true;
        if (!end)
            break;
        *end = '/';
    }
    return false;
}
