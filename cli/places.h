/*
 * Where a command's arguments are found. What has a slash is read as it is now, unless there is a
 * --db; everything else is a path in the index, or the name of programs there.
 *
 *	CLEANUP(places_release) struct places places = {.options = &o->common};
 *	int r = places_find(&places, o->common.arg[0], arena, &found, err);
 */
#pragma once

#include "cli/options.h"
#include "loader/storm.h"
#include "planner/subject.h"

struct places {
    const struct options *options;
    bool everything; /* the index tells also what is asked for by dlopens only */
    /* each is made when it is wanted for the first time, and has no world before */
    struct setting live, index;
    struct db *db; /* the index itself */
};

struct found {
    struct setting *setting;
    const char **path; /* programs */
    size_t n;          /* at least 1; more: programs of the index that have the same name */
};

MUST_CHECK int places_live(struct places *places, struct err *err);
MUST_CHECK int places_index(struct places *places, struct err *err);
void places_release(struct places *places);

/* What an argument means. -ENOENT: no program has that name, or there is no index. */
MUST_CHECK int places_find(struct places *places, const char *arg, struct arena *arena,
                           struct found *ret_found, struct err *err);

/* What the planner is asked of a program there: everything but the program. */
struct subject_query places_query(const struct places *places, const struct setting *setting,
                                  const struct policy *policy);
