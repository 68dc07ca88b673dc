/*
 * What a check function gets, and what it may ask. For the files of linter/ alone.
 */
#pragma once

#include "base/str.h"
#include "linter/lint.h"
#include "linter/wrappers.h"

#include <string.h>

struct lint;

/* A component of a run path. */
struct component {
    const char *text;     /* as written */
    const char *expanded; /* with $ORIGIN replaced; `text` when there is nothing to expand */
    struct place at;      /* where it leads */

    /* The first component that leads to the same directory; NULL: to none. */
    const struct component *dir;
    const struct lint_package *package; /* that it names, links not followed; NULL: none known */
};

struct check {
    struct lint *lint;
    struct closure *closure;
    const struct rule *rule;
    struct arena *arena; /* scratch, released after the check */

    struct lint_object *object;   /* RULE_OBJECT; RULE_PROCESS: what is started */
    struct lint_package *package; /* RULE_PACKAGE */
    const struct trace *trace;    /* RULE_PROCESS */
    bool alone;                   /* RULE_PROCESS: a library, started by itself */

    /* RULE_OBJECT: its run path (RUNPATH, else RPATH), taken apart */
    struct component *component;
    size_t n_components;
    /* ... and the directories that there are, each once, by the first component that leads there */
    const struct component **dir;
    size_t n_dirs;
};

/* Names looked up in directories for one rule and object; the largest object known wants 30,000. */
enum { LOOKUPS_MAX = 1 << 18 };

/* ---- telling: lint.c. A finding that is there already (same identity) is only counted. */

/* About an object / a package / a file; `subject` must be free of hashes; NULL: none. */
struct finding *report_object(struct check *check, const struct lint_object *object,
                              const char *subject, const char *message, ...) PRINTF(4, 5);
struct finding *report_package(struct check *check, const struct lint_package *package,
                               const char *subject, const char *message, ...) PRINTF(4, 5);
struct finding *report_file(struct check *check, const struct lint_package *package,
                            const char *path, const char *subject, const char *message, ...)
    PRINTF(5, 6);

/* False: the rule has told so much that nothing more will be kept. */
bool wants_more(const struct check *check);

/* One more fact, with whole paths. Nothing when `finding` is NULL; the first few are kept. */
void evidence(struct check *check, struct finding *finding, const char *fmt, ...) PRINTF(3, 4);
/* False: what else there is will not be kept. */
bool wants_evidence(const struct finding *finding);

/* ---- asking: ask.c */

/* Without stores and hashes, for messages; bytes are escaped where they are printed. */
const char *shown(struct check *check, const char *text);

/* A directory without its hash, as a subject: "ffmpeg.out/lib"; outside stores as it is. */
const char *subject_path(struct check *check, const char *path);

/* The directories of an object's run path; until another object is asked about. */
size_t directories(struct check *check, const struct lint_object *object,
                   const struct component ***ret_dir);

/*
 * Would it be too much to look up `n` names in each directory of the object's run path? A file can
 * ask for it a million times over; then one finding says so, and the rule goes without an answer.
 */
bool is_too_much(struct check *check, size_t n);

/* Is it a machine-wide driver directory (/run/opengl-driver/lib)? */
bool is_driver_link(const char *path);

/* The node of `name` in a component, links followed; NULL: not there. */
struct node *component_find(struct check *check, const struct component *component,
                            const char *name);

/* The first loader of the object's machine in one of its run path's directories; NULL: none. */
const struct node *run_path_ldso(struct check *check, const struct lint_object *object);

/* Where a needed name of an object leads when nothing else is in memory yet; NULL: nowhere. */
struct node *need_answer(struct check *check, const struct lint_object *object, size_t need);

/* What decides whether files can be loaded into one process. */
struct machine {
    uint16_t machine;
    uint8_t class, data;
};

struct machine machine_of(const struct object *object);
bool machines_equal(struct machine a, struct machine b);

/* Could both be loaded into one process: same class, machine, byte order? */
bool same_machine(const struct object *a, const struct object *b);

/* Two files with the same contents, as far as can be told: same file, or same build id. */
bool same_build(const struct node *a, const struct node *b);
bool same_id(struct note a, struct note b);

/* Is it loaded by a dynamic loader: a program or library with a dynamic section? */
bool is_dynamic(const struct object *object);
/* Is it a library (no program, no loader, nothing that only holds debug information)? */
bool is_library(const struct object *object);
/* Is it a program that a loader starts, and no library first? */
bool is_started(const struct object *object);

/* Is the object right in its package's lib directory? */
bool is_public(const struct lint_object *object);

/* How ldd has the object at `path` loaded by the loader `ldso`: it goes on when something is missing.
 * What the start points to is `arena`'s. */
struct start start_as_ldd(struct world *world, const char *ldso, const char *path,
                          struct arena *arena);

/* The index of a node in a trace's loaded objects; -1: not there. */
int loaded_index(const struct trace *trace, const struct node *node);

/* A library that may be another's, and what tells it from others, so that it need not be at hand. */
struct offer {
    const char *soname; /* versioned */
    const struct lint_object *object;
    struct note build_id;
    uint64_t dev, ino;
    struct machine machine;
};

struct offers {
    struct offer *item; /* by soname, then path */
    size_t n;
};

/* All of them: `public` are those right in lib/, else those anywhere below. */
const struct offers *lint_offers(const struct lint *lint, bool public);

/* check_soname.c: is the object one of them? Their order. */
bool is_offered(const struct lint_object *object);
int offers_order(const void *a, const void *b);

/* The object of a loaded one, when it is in the closure's selection. */
struct lint_object *loaded_object(struct check *check, const struct loaded *loaded);

/* The package that a node's file lies in; NULL: none known. */
struct lint_package *node_package(struct check *check, const struct node *node);

/* Does the name have a version behind ".so"? */
bool is_versioned(const char *soname);

uint32_t probe_budget(const struct lint *lint);
const struct wrappers *lint_wrappers(const struct lint *lint);
struct loader *lint_loader(const struct lint *lint);
const struct cpu *lint_cpu(const struct lint *lint);
const char *lint_cwd(const struct lint *lint);

/* ---- the checks, by file */

/* check_runpath.c */
void check_runpath_insecure_dir(struct check *check);
void check_runpath_empty_component(struct check *check);
void check_runpath_outside_store(struct check *check);
void check_runpath_dir_absent(struct check *check);
void check_runpath_dir_useless(struct check *check);
void check_runpath_duplicate(struct check *check);
void check_runpath_not_in_references(struct check *check);
void check_rpath_legacy_tag(struct check *check);
void check_runpath_literal_token(struct check *check);
void check_runpath_stub_dir(struct check *check);
void check_runpath_shadowing(struct check *check);

/* check_driver.c */
void check_driver_link_missing(struct check *check);
void check_driver_link_not_first(struct check *check);
void check_farm_hides_driver(struct check *check);

/* check_needed.c */
void check_needed_unresolved(struct check *check);
void check_needed_outside_closure(struct check *check);
void check_needed_absolute_absent(struct check *check);
void check_needed_absolute_foreign(struct check *check);
void check_needed_wrong_arch(struct check *check);
void check_needed_versionless(struct check *check);

/* check_unused.c */
void check_needed_unused(struct check *check);

/* check_soname.c */
void check_soname_missing(struct check *check);
void check_soname_file_mismatch(struct check *check);
void check_soname_absolute(struct check *check);
void check_soname_clash_in_process(struct check *check);
void check_soname_clash_in_closure(struct check *check);
void check_embedded_library_copy(struct check *check);

/* check_file.c */
void check_interp_outside_store(struct check *check);
void check_exec_stack(struct check *check);
void check_text_relocation(struct check *check);
void check_rewrite_unsafe_layout(struct check *check);
void check_scan_incomplete(struct check *check);

/* check_process.c */
void check_interp_libc_split(struct check *check);
void check_mixed_libc(struct check *check);
void check_version_need_unmet(struct check *check);
void check_probe_budget(struct check *check);
void check_probe_hwcaps_floor(struct check *check);

/* check_note.c */
void check_note_stale(struct check *check);
void check_note_malformed(struct check *check);
void check_note_bypasses_runtime_dir(struct check *check);
void check_note_without_reader(struct check *check);

/* check_closure.c: the same of closure notes */
const char *closure_note_problem(const struct object *object);
void closure_note_stale(struct check *check);
void closure_note_without_reader(struct check *check);
bool has_resolver(struct check *check, const struct object *object);

/* check_farm.c */
void check_farm_link_dangling(struct check *check);
void check_farm_soname_collision(struct check *check);

/* check_dlopen.c */
void check_dlopen_note_unmet(struct check *check);
void check_dlopen_undeclared(struct check *check);

/* check_wrapper.c */
void check_wrapper_shadows_closure(struct check *check);
