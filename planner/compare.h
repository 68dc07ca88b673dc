/*
 * Comparing: all methods side by side for one program, and what is judged beside them.
 *
 *	r = compare_methods(&subject, &static_variant, &ret_comparison, &err);
 *
 * The planner's methods are simulated and judged as they are for plans. Beside them: shrink (drop
 * directories of the run path that answer nothing: the baseline), cache (a per-package cache of the
 * loader, as Guix has it) and static (against a given static build).
 */
#pragma once

#include "planner/decide.h"

/* The questions that the article of June 2026 compares by, and what it answers for all programs. */
enum compare_column {
    COLUMN_NO_GLIBC_FORK,
    COLUMN_NO_PATCHELF_CHANGE,
    COLUMN_SMALL,
    COLUMN_OVERRIDES,
    COLUMN_DUPLICATES,
    COLUMN_NO_FLOOR,
    COLUMN_CROSS,
    COLUMN_EASY,
    N_COLUMNS,
};

extern const char *const compare_columns[N_COLUMNS];

struct comparison_row {
    const char *name;              /* "farm lifted", "shrink" */
    bool known;                    /* there are totals */
    bool breaks;                   /* a criterion that the policy asks for fails */
    struct storm after;            /* start-up, on the policy's CPU */
    struct storm dlopen;           /* declared dlopens */
    uint64_t bytes, inodes;        /* what it takes */
    const char *answer[N_COLUMNS]; /* "yes", "no", "?" */
    const char *says;              /* what became of it, a sentence */
};

enum { MAX_COMPARISON_ROWS = N_METHODS + 4 };

struct comparison {
    struct comparison_row row[MAX_COMPARISON_ROWS];
    size_t n_rows;
    struct decision decision;
};

/* A static build of the program, to be held against it. */
struct static_variant {
    const char *path;
    uint64_t size;
    bool is_static;
    /* Start to end, measured by others (stormlint runs nothing but in check); 0: not measured. */
    double wall_us, dynamic_wall_us; /* its own, and the program's; medians */
    unsigned runs;
};

/*
 * `variant` NULL: none is given. `farms_for_all`: with a farm of scope own on every object that is
 * loaded, too, which takes a start of each. All memory is the subject's arena's.
 */
MUST_CHECK int compare_methods(const struct subject *subject, const struct static_variant *variant,
                               bool farms_for_all, struct comparison *ret, struct err *err);

/* Is row number `row` what the plan takes? */
bool compare_is_chosen(const struct comparison *comparison, size_t row);

/* docs/json.md, compare. New reference. */
json_t *compare_json(const struct comparison *comparison, const char *program);

/* ---- article.c: two programs of the shapes that the article measured */

struct article {
    const char *name;
    size_t n_libraries, n_directories;
    unsigned built, leaf_farm, whole_farm; /* its failed opens; 0: not told */
};

/* The rows; the last has no name. */
const struct article *articles(void);

/* A world with such a closure, its program at *ret_program. To be ended by article_close(). */
MUST_CHECK int article_world(const struct article *article, struct arena *arena,
                             struct world **ret_world, const char **ret_program, struct err *err);
void article_close(struct world *world);
