/*
 * One proposal carried out as it is, whatever the criteria say of it, for tests of the criteria.
 *
 *	propose [BREAK...] METHOD PROGRAM CRITERION STORE
 *
 * METHOD: farm-own, farm-lifted, absolute-own, absolute-lifted, note-own, note-closure. The program
 * is edited in place, its farm is made. Prints the criterion's verdict, and on a second line why; a
 * shut gate speaks for its criterion, but does not keep the file from being edited. BREAK spoils the
 * proposal before it is judged, or asks more of it:
 *
 *	--swap			the first two needed names change places
 *	--link NAME=TARGET	the farm leads NAME there
 *	--run-path TEXT		the run path is this; @FARM stands for the farm
 *	--no-rename		versions keep the file names as built
 *	--require		the policy requires the criterion, and no other
 *	--bytes, --inodes, --references N	the policy's budgets
 *	--cpu LEVEL		the CPU that the policy decides for
 *	--resolver FILE		the policy has this resolver
 */
#include "base/str.h"
#include "planner/decide.h"
#include "planner/elf_edit.h"
#include "planner/gates.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct spoil {
    bool swap, no_rename;
    const char *link, *target, *run_path;
    bool require;
    struct policy policy;
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "propose: %s: %s\n", what, why);
    exit(2);
}

static enum method find_method(const char *name)
{
    static const char *const names[] = {"none",         "farm-own",        "farm-lifted",
                                        "absolute-own", "absolute-lifted", "note-own",
                                        "note-closure"};
    size_t i;

    for (i = 1; i < ARRAY_LEN(names); i++)
        if (!strcmp(names[i], name))
            return (enum method)i;
    die(name, "no such method");
    return METHOD_NONE;
}

static struct edit *find(struct edits *edits, enum edit_kind kind)
{
    size_t i;

    for (i = 0; i < edits->n; i++)
        if (edits->item[i].kind == kind)
            return &edits->item[i];
    die(edit_kind_name(kind), "the proposal has no such edit");
    return NULL;
}

static void set_link(struct arena *arena, struct edit *farm, const char *name, const char *target)
{
    bool found = false;
    size_t i;

    for (i = 0; i < farm->n_links; i++) /* in sub-directories for CPUs, too */
        if (!strcmp(str_base(farm->link[i].name), name)) {
            farm->link[i].target = target;
            found = true;
        }
    if (found)
        return;
    farm->link = arena_grow(arena, farm->link, farm->n_links, sizeof(*farm->link));
    farm->link[farm->n_links++] = (struct farm_link){name, target};
}

static const char *put_farm(struct arena *arena, const char *text, const char *farm)
{
    const char *at = strstr(text, "@FARM");

    return at ? arena_printf(arena, "%.*s%s%s", (int)(at - text), text, farm, at + 5) : text;
}

static void spoil(const struct subject *s, struct edits *edits, const struct spoil *how)
{
    if (how->swap) {
        struct edit *e = find(edits, EDIT_NEEDED);
        const char *first = e->needed[0];

        e->needed[0] = e->needed[1];
        e->needed[1] = first;
    }
    if (how->link)
        set_link(s->arena, find(edits, EDIT_FARM), how->link, how->target);
    if (how->run_path)
        find(edits, EDIT_RUN_PATH)->run_path = put_farm(s->arena, how->run_path, s->farm);
    if (how->no_rename)
        *find(edits, EDIT_VERNEED) = edits->item[--edits->n];
}

/* ---- on disk */

static void make_directories(char *path)
{
    char *slash;

    for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
}

static void make_farm(struct arena *arena, const struct edit *farm)
{
    size_t i;

    for (i = 0; i < farm->n_links; i++) {
        char *path = str_join(arena, farm->path, farm->link[i].name);

        make_directories(path);
        (void)unlink(path);
        if (symlink(farm->link[i].target, path) < 0)
            die(path, strerror(errno));
    }
}

static void edit_file(struct arena *arena, const struct subject *s, const struct edits *edits)
{
    struct elf_change change = {0};
    struct elf_edited edited;
    struct err err;
    struct stat st;
    unsigned char *bytes;
    size_t i;
    int fd;

    for (i = 0; i < edits->n; i++) {
        const struct edit *e = &edits->item[i];

        if (e->kind == EDIT_FARM)
            make_farm(arena, e);
        else if (e->kind == EDIT_NEEDED) {
            change.needed = e->needed;
            change.n_needed = e->n_needed;
        } else if (e->kind == EDIT_RUN_PATH)
            change.run_path = e->run_path;
        else if (e->kind == EDIT_VERNEED) {
            change.renames = e->renames;
            change.n_renames = e->n_renames;
        } else if (e->kind == EDIT_NOTE) {
            change.note = NOTE_SET;
            change.descriptor = e->note;
        } else if (e->kind == EDIT_CLOSURE) {
            change.closure = NOTE_SET;
            change.closure_descriptor = e->note;
            change.audit = e->audit;
        }
    }
    fd = open(s->path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        die(s->path, strerror(errno));
    bytes = arena_alloc(arena, (size_t)st.st_size + 1);
    if (read(fd, bytes, (size_t)st.st_size) != st.st_size)
        die(s->path, "short read");
    if (elf_edit(bytes, (uint64_t)st.st_size, &change, arena, &edited, &err) < 0)
        die(s->path, err.text);
    if (pwrite(fd, edited.bytes, edited.size, 0) != (ssize_t)edited.size)
        die(s->path, "short write");
    close(fd);
}

/* ---- */

enum { OPT_REQUIRE = 0x200, OPT_BYTES, OPT_INODES, OPT_REFERENCES, OPT_CPU, OPT_RESOLVER };

static bool read_policy(int c, struct spoil *ret)
{
    struct policy *p = &ret->policy;

    switch (c) {
    case OPT_REQUIRE:
        ret->require = true;
        return true;
    case OPT_BYTES:
        p->max_bytes = (uint32_t)strtoul(optarg, NULL, 10);
        return true;
    case OPT_INODES:
        p->max_inodes = (uint32_t)strtoul(optarg, NULL, 10);
        return true;
    case OPT_REFERENCES:
        p->max_references = (uint32_t)strtoul(optarg, NULL, 10);
        return true;
    case OPT_CPU:
        p->cpu = optarg;
        return true;
    case OPT_RESOLVER:
        p->resolver = optarg;
        p->reader_saving = 1; /* whatever it saves here */
        return true;
    default:
        return false;
    }
}

static void read_options(int argc, char **argv, struct spoil *ret)
{
    static const struct option options[] = {
        {"swap", no_argument, NULL, 's'},
        {"link", required_argument, NULL, 'l'},
        {"run-path", required_argument, NULL, 'r'},
        {"no-rename", no_argument, NULL, 'n'},
        {"require", no_argument, NULL, OPT_REQUIRE},
        {"bytes", required_argument, NULL, OPT_BYTES},
        {"inodes", required_argument, NULL, OPT_INODES},
        {"references", required_argument, NULL, OPT_REFERENCES},
        {"cpu", required_argument, NULL, OPT_CPU},
        {"resolver", required_argument, NULL, OPT_RESOLVER},
        {0},
    };
    char *equals;
    int c;

    while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1)
        switch (c) {
        case 's':
            ret->swap = true;
            break;
        case 'n':
            ret->no_rename = true;
            break;
        case 'r':
            ret->run_path = optarg;
            break;
        case 'l':
            if (!(equals = strchr(optarg, '=')))
                die(optarg, "expected NAME=TARGET");
            *equals = '\0';
            ret->link = optarg;
            ret->target = equals + 1;
            break;
        default:
            if (!read_policy(c, ret))
                exit(2);
        }
}

/* As a plan tells it: a shut gate speaks for its criterion, the judgement for what is left. */
static void tell(const struct subject *s, enum method method, const struct verdicts *v,
                 const char *criterion)
{
    const struct gate *gate;
    const char *why;
    size_t i;

    for (gate = gates(); gate->id; gate++)
        if ((gate->methods & METHOD_BIT(method)) && !strcmp(gate->criterion, criterion) &&
            (why = gate->check(s, method))) {
            printf("fail\n%s\n", why);
            return;
        }
    for (i = 0; i < N_CRITERIA; i++)
        if (!strcmp(v->judgement[i].criterion, criterion))
            printf("%s\n%s\n", verdict_name(v->judgement[i].verdict), v->judgement[i].reason);
}

int main(int argc, char **argv)
{
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(world_closep) struct world *world = NULL;
    struct spoil how = {.policy = *policy_default()};
    struct policy *policy = &how.policy;
    struct subject s;
    struct edits edits;
    struct verdicts v;
    struct trial trial;
    struct err err = {0};
    const char *why_not = NULL;
    const char *required;
    enum method method;

    read_options(argc, argv, &how);
    if (argc - optind != 4)
        die("usage", "propose [BREAK...] METHOD PROGRAM CRITERION STORE");
    method = find_method(argv[optind]);
    policy->store = (const char *[]){argv[optind + 3]};
    policy->n_stores = 1;
    required = argv[optind + 2];
    if (how.require) {
        policy->required = &required;
        policy->n_required = 1;
    }
    if (world_live("/", 0, 0, &world, &err) < 0 ||
        subject_init(
            &s,
            &(struct subject_query){.world = world, .policy = policy, .program = argv[optind + 1]},
            &arena, &err) < 0 ||
        strategy_propose(strategy_of(method), &s, &edits, &why_not, &err) < 0)
        die(argv[optind + 1], err.text);
    if (why_not)
        die(argv[optind + 1], why_not);
    spoil(&s, &edits, &how);
    if (trial_init(&trial, &s, &err) < 0 || criteria_judge(&trial, method, &edits, &v, &err) < 0)
        die(argv[optind + 1], err.text);
    trial_release(&trial);
    tell(&s, method, &v, argv[optind + 2]);
    fflush(stdout); /* before an editor that refuses the file, too */
    edit_file(&arena, &s, &edits);
    return 0;
}
