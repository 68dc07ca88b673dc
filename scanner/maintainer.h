/*
 * What somebody maintains: lists narrowed to it, whatever they are lists of. The name is what
 * commands take as --maintainer and the HTTP interface as ?maintainer=.
 *
 *	struct maintainer m = {.name = "anna", .arena = &arena};
 *	if (maintainer_wants(&m, row->origin)) ...
 *	... and when nothing is left, of every package there is: maintainer_see(&m, origin);
 *	puts(maintainer_none(&m));
 */
#pragma once

#include "scanner/origin.h"

enum { MAINTAINERS_NEAR = 3 };

struct maintainer {
    const char *name;    /* as origin_is_of() takes it; NULL: all is wanted, whoever's it is */
    struct arena *arena; /* of what follows */

    size_t n_known, n_own;              /* packages seen: with an origin; the name's */
    const char *near[MAINTAINERS_NEAR]; /* seen: others in whose texts the name occurs */
    size_t n_near;

    const char **package; /* the name's own in an index: paths, ascending */
    size_t n_packages;
};

/* Is a package of this origin (NULL: not known), or what is in it, wanted? */
bool maintainer_wants(const struct maintainer *maintainer, const struct origin *origin);

/* Count a package in. */
void maintainer_see(struct maintainer *maintainer, const struct origin *origin);

/* Is the name one that maintains any of the packages seen? */
bool maintainer_is_known(const struct maintainer *maintainer);

/* Why a list is empty, and what to do about it: a sentence, escaped, of the packages seen. */
const char *maintainer_none(const struct maintainer *maintainer);

/* ---- maintainer_index.c */

/* See the packages of an index, and note the name's own. */
MUST_CHECK int maintainer_index(struct db *db, struct maintainer *maintainer, struct err *err);

/* Is `path` one of the packages noted, or in one? Always without a name. */
bool maintainer_has(const struct maintainer *maintainer, const char *path);
