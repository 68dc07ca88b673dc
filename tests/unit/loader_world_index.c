/*
 * The index world against the live one, over the same store: the same nodes, the same facts.
 */
#include "tests/unit/unit.h"

#include "loader/world_index.h"
#include "tests/disk_store.h"

#include <errno.h>
#include <string.h>

struct fixture {
    struct disk_store *store;
    struct db *db;
    struct world *index, *live;
};

static int set_up(void **state)
{
    static struct fixture f;
    struct err err;

    f.store = disk_store_new();
    (void)disk_store_fill(f.store);
    disk_store_hard_link(f.store, DISK_ODD "/lib/libb2.so", DISK_LIBB "/lib/libb.so.3");
    if (disk_store_index(f.store, &f.db, &err) < 0 ||
        world_index(f.db, WORLD_EVERYTHING, &f.index, &err) < 0 ||
        world_live(f.store->root, 0, 0, &f.live, &err) < 0)
        return -1;
    *state = &f;
    return 0;
}

static int set_up_anew(void **state)
{
    struct fixture *f;
    struct err err;

    if (set_up(state) < 0)
        return -1;
    f = *state;
    if (world_walk(f->index, NULL, "/store/" DISK_PROG "/bin/prog").error)
        return -1;
    return world_index_anew(&f->index, &err);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    world_close(f->index);
    world_close(f->live);
    db_close(f->db);
    disk_store_free(f->store);
    return 0;
}

static void same_text(const char *a, const char *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a)
        assert_string_equal(a, b);
}

static void same_note(const struct note *a, const struct note *b)
{
    assert_int_equal(a->size, b->size);
    assert_int_equal(a->bytes == NULL, b->bytes == NULL);
    if (a->size)
        assert_memory_equal(a->bytes, b->bytes, a->size);
}

static void same_version(const struct version *a, const struct version *b)
{
    same_text(a->file, b->file);
    same_text(a->name, b->name);
    assert_int_equal(a->weak, b->weak);
}

static void same_ldso(const struct ldso *a, const struct ldso *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (!a)
        return;
    assert_int_equal(a->libc, b->libc);
    same_text(a->version, b->version);
    assert_int_equal(a->debian, b->debian);
    assert_int_equal(a->normalises, b->normalises);
    assert_int_equal(a->reads_note, b->reads_note);
    assert_int_equal(a->n_system_dirs, b->n_system_dirs);
    for (size_t i = 0; i < a->n_system_dirs; i++)
        same_text(a->system_dirs[i], b->system_dirs[i]);
    same_text(a->cache, b->cache);
    same_text(a->preload, b->preload);
    same_text(a->lib, b->lib);
    same_text(a->source, b->source);
}

static void same_header(const struct object *a, const struct object *b)
{
    assert_int_equal(a->class, b->class);
    assert_int_equal(a->data, b->data);
    assert_int_equal(a->ident_version, b->ident_version);
    assert_int_equal(a->osabi, b->osabi);
    assert_int_equal(a->abiversion, b->abiversion);
    assert_int_equal(a->ident_pad_zero, b->ident_pad_zero);
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->machine, b->machine);
    assert_int_equal(a->version, b->version);
    assert_int_equal(a->machine_flags, b->machine_flags);
    assert_int_equal(a->phentsize, b->phentsize);
    assert_int_equal(a->phnum, b->phnum);
    assert_int_equal(a->size, b->size);
    assert_int_equal(a->mode, b->mode);
    same_text(a->problem, b->problem);
}

static void same_dynamic(const struct object *a, const struct object *b)
{
    same_text(a->interp, b->interp);
    assert_int_equal(a->has_dynamic, b->has_dynamic);
    same_text(a->soname, b->soname);
    same_text(a->rpath, b->rpath);
    same_text(a->runpath, b->runpath);
    same_text(a->audit, b->audit);
    same_text(a->depaudit, b->depaudit);
    assert_int_equal(a->flags, b->flags);
    assert_int_equal(a->flags_1, b->flags_1);
    assert_int_equal(a->n_needs, b->n_needs);
    for (size_t i = 0; i < a->n_needs; i++) {
        assert_int_equal(a->need[i].kind, b->need[i].kind);
        same_text(a->need[i].name, b->need[i].name);
    }
    assert_int_equal(a->has_abi_tag, b->has_abi_tag);
    assert_memory_equal(a->abi_tag, b->abi_tag, sizeof(a->abi_tag));
    same_note(&a->resolution, &b->resolution);
    same_note(&a->closure, &b->closure);
}

static void same_traits(const struct object *a, const struct object *b)
{
    assert_int_equal(a->imports, b->imports);
    assert_int_equal(a->layout, b->layout);
    assert_int_equal(a->tls_size, b->tls_size);
    assert_int_equal(a->trailing, b->trailing);
    assert_int_equal(a->load_align, b->load_align);
    assert_int_equal(a->spare_dynamic, b->spare_dynamic);
    assert_int_equal(a->origin_string, b->origin_string);
    same_note(&a->build_id, &b->build_id);
    assert_int_equal(a->n_verneed, b->n_verneed);
    for (size_t i = 0; i < a->n_verneed; i++)
        same_version(&a->verneed[i], &b->verneed[i]);
    assert_int_equal(a->n_verdef, b->n_verdef);
    for (size_t i = 0; i < a->n_verdef; i++)
        same_version(&a->verdef[i], &b->verdef[i]);
    assert_int_equal(a->n_dlopen_notes, b->n_dlopen_notes);
    for (size_t i = 0; i < a->n_dlopen_notes; i++)
        same_note(&a->dlopen_note[i], &b->dlopen_note[i]);
    assert_int_equal(a->n_dlopen_strings, b->n_dlopen_strings);
    for (size_t i = 0; i < a->n_dlopen_strings; i++)
        same_text(a->dlopen_string[i], b->dlopen_string[i]);
    same_ldso(a->ldso, b->ldso);
}

static const char *const paths[] = {
    "/store",
    "/store/" DISK_PROG,
    "/store/" DISK_PROG "/bin/prog",
    "/store/" DISK_PROG "/bin/alias",
    "/store/" DISK_PROG "/bin/none",
    "/store/" DISK_PROG "/lib",
    "/store/" DISK_LIBA "/lib/liba.so",
    "/store/" DISK_LIBA "/lib64/liba.so.2",
    "/store/" DISK_LIBA "/lib/glibc-hwcaps/x86-64-v3/liba.so.2",
    "/store/" DISK_LIBA "/lib/liba.so/x",
    "/store/" DISK_LIBB "/lib/libb.so.3",
    "/store/" DISK_LIBC "/lib/ld-linux-x86-64.so.2",
    "/store/" DISK_LIBC "/lib/libc.so.6",
    "/store/" DISK_FILE,
    "/store/" DISK_LINK "/lib/liba.so.2",
    "/store/" DISK_ODD "/lib/broken.so",
    "/store/" DISK_ODD "/lib/libtext.so",
    "/store/" DISK_ODD "/lib/empty.so",
    "/store/" DISK_ODD "/lib/fifo.so",
    "/store/" DISK_ODD "/lib/loop.so",
    "/store/" DISK_ODD "/lib/libb2.so",
    "/store/" DISK_ODD "/share/empty",
    "/store/" DISK_ODD "/share/empty/x",
    "/store/no-such-package",
};

static void nodes_and_facts_are_the_same(void **state)
{
    const struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        const struct place a = world_walk(f->live, NULL, paths[i]);
        const struct place b = world_walk(f->index, NULL, paths[i]);
        const struct object *x, *y;

        assert_int_equal(a.error, b.error);
        assert_false(b.assumed);
        if (a.error)
            continue;
        assert_int_equal(a.node->kind, b.node->kind);
        x = world_object(f->live, a.node);
        y = world_object(f->index, b.node);
        assert_int_equal(x == NULL, y == NULL);
        if (!x)
            continue;
        same_header(x, y);
        same_dynamic(x, y);
        same_traits(x, y);
    }
}

static struct node *node_at(struct world *world, const char *path)
{
    const struct place at = world_walk(world, NULL, path);

    assert_int_equal(at.error, 0);
    return at.node;
}

static void hard_links_are_one_file(void **state)
{
    const struct fixture *f = *state;
    const struct node *a = node_at(f->index, "/store/" DISK_LIBB "/lib/libb.so.3");
    const struct node *b = node_at(f->index, "/store/" DISK_ODD "/lib/libb2.so");
    const struct node *c = node_at(f->index, "/store/" DISK_FILE);

    assert_true(a->dev == b->dev && a->ino == b->ino);
    assert_false(a->dev == c->dev && a->ino == c->ino);
}

static void what_is_not_covered_is_assumed(void **state)
{
    static const char *const outside[] = {"/etc/ld.so.cache", "/usr",
                                          "/store/" DISK_LIBA "/share/doc/README"};
    const struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(outside); i++) {
        const struct place at = world_walk(f->index, NULL, outside[i]);

        assert_int_equal(at.error, ENOENT);
        assert_true(at.assumed);
    }
}

static void count_entry(void *data, const char *name)
{
    assert_true(name[0]);
    ++*(size_t *)data;
}

static void directories_are_listed(void **state)
{
    static const char *const dirs[] = {"/store", "/store/" DISK_LIBA, "/store/" DISK_ODD "/lib",
                                       "/store/" DISK_ODD "/share/empty"};
    const struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        size_t a = 0, b = 0;

        assert_int_equal(world_list(f->live, node_at(f->live, dirs[i]), count_entry, &a), 0);
        assert_int_equal(world_list(f->index, node_at(f->index, dirs[i]), count_entry, &b), 0);
        assert_int_equal(a, b);
    }
}

static void keep_path(void *data, const char *path)
{
    assert_string_equal(path, "/store/" DISK_PROG "/bin/prog");
    ++*(size_t *)data;
}

static void programs_are_listed(void **state)
{
    const struct fixture *f = *state;
    struct err err;
    size_t n = 0;

    assert_int_equal(index_programs(f->db, keep_path, &n, &err), 0);
    assert_int_equal(n, 1);
}

static void a_moment_outlives_its_world(void **state)
{
    static const char GENERATION[] = "SELECT value FROM meta WHERE key = 'generation'";
    struct fixture *f = *state;
    CLEANUP(db_closep) struct db *reader = NULL;
    struct world *world;
    struct stmt *s;
    struct err err;
    size_t held;
    int64_t before;

    assert_int_equal(db_open(f->store->db, DB_READ, &reader, &err), 0);
    assert_int_equal(world_index(reader, WORLD_STARTS, &world, &err), 0);
    held = world_held(world);
    assert_int_equal(world_walk(world, NULL, "/store/" DISK_PROG "/bin/prog").error, 0);
    assert_true(world_held(world) >= held);
    s = db_prepare(reader, GENERATION, &err);
    assert_int_equal(stmt_step(s, &err), 1);
    before = stmt_int(s, 0);
    stmt_reset(s);

    world_close(f->index); /* it writes now */
    f->index = NULL;
    assert_int_equal(
        db_exec(f->db, "UPDATE meta SET value = value + 1 WHERE key = 'generation'", &err), 0);
    assert_int_equal(world_index_anew(&world, &err), 0);
    s = db_prepare(reader, GENERATION, &err);
    assert_int_equal(stmt_step(s, &err), 1);
    assert_int_equal(stmt_int(s, 0), before);
    stmt_reset(s);

    world_close(world);
    s = db_prepare(reader, GENERATION, &err);
    assert_int_equal(stmt_step(s, &err), 1);
    assert_int_equal(stmt_int(s, 0), before + 1);
    stmt_reset(s);
}

static void add_name(void *data, const char *name)
{
    strcat(strcat(data, name), " ");
}

static void needed_names_are_listed_once(void **state)
{
    const struct fixture *f = *state;
    char names[256] = "";
    struct err err;

    assert_int_equal(index_needed(f->db, add_name, names, &err), 0);
    for (const char *const *name =
             (const char *const[]){"liba.so.2 ", "libb.so.3 ", "libc.so.6 ", NULL};
         *name; name++) {
        const char *at = strstr(names, *name);

        assert_non_null(at);
        assert_null(strstr(at + 1, *name));
    }
}

/* ---- overlays that fill themselves */

struct laid {
    unsigned n, n_prog;
};

static void lay(void *data, struct world *overlay, const char *path)
{
    struct laid *laid = data;
    struct err err;

    laid->n++;
    if (strcmp(path, "/store/" DISK_PROG) != 0)
        return;
    laid->n_prog++;
    assert_int_equal(overlay_link(overlay, "/store/" DISK_PROG "/farm/liba.so.2",
                                  "/store/" DISK_LIBA "/lib/liba.so.2", &err),
                     0);
}

static void what_is_looked_at_is_laid_over_once(void **state)
{
    const struct fixture *f = *state;
    static const char *const stores[] = {"/store", "/no-store"};
    struct laid laid = {0};
    const struct overlay_source source = {stores, ARRAY_LEN(stores), lay, &laid};
    struct world *overlay = world_overlay_from(f->index, &source);
    const struct node *file;

    assert_int_equal(laid.n, 0);
    assert_int_equal(world_walk(overlay, NULL, "/store/nothing/x").error, ENOENT);
    assert_int_equal(laid.n, 0);
    file = world_walk(overlay, NULL, "/store/" DISK_PROG "/farm/liba.so.2").node;
    assert_ptr_equal(file, node_at(f->index, "/store/" DISK_LIBA "/lib/liba.so.2"));
    assert_int_equal(laid.n, 2); /* and where the link leads */
    assert_int_equal(world_walk(overlay, NULL, "/store/" DISK_PROG "/bin/prog").error, 0);
    assert_int_equal(laid.n, 2);
    assert_int_equal(laid.n_prog, 1);
    assert_int_equal(world_walk(f->index, NULL, "/store/" DISK_PROG "/farm/liba.so.2").error,
                     ENOENT);
    world_close(overlay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_and_facts_are_the_same),
        cmocka_unit_test(hard_links_are_one_file),
        cmocka_unit_test(what_is_not_covered_is_assumed),
        cmocka_unit_test(directories_are_listed),
        cmocka_unit_test(programs_are_listed),
        cmocka_unit_test(needed_names_are_listed_once),
        cmocka_unit_test(what_is_looked_at_is_laid_over_once),
    };

    const struct CMUnitTest last[] = {cmocka_unit_test(a_moment_outlives_its_world)};

    return cmocka_run_group_tests_name("row by row", tests, set_up, tear_down) +
           cmocka_run_group_tests_name("in place of another", tests, set_up_anew, tear_down) +
           cmocka_run_group_tests_name("moments", last, set_up, tear_down);
}
