/*
 * A synthetic store on disk: packages of small ELF files that a loader would start, and Nix's
 * database of them.
 *
 *	store DIR FIRST COUNT [LIBRARIES]	packages FIRST to FIRST + COUNT - 1, below DIR; LIBRARIES
 *						each beside a program (default: 4)
 *
 * Package 0 is glibc; the next BASE are what everybody needs. What a package is follows from its
 * number alone: a store made in two steps is the one made in one, and a large one is a small one
 * and more of the same.
 */
#include "base/db.h"
#include "base/str.h"
#include "tests/elf/elf_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BASE = 100, DEPENDENCIES = 8, ENTRIES = 2 * DEPENDENCIES + 4 };
#define STORE "/nix/store"

static const char CREATE[] =
    "CREATE TABLE IF NOT EXISTS ValidPaths (id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, "
    "hash TEXT NOT NULL, registrationTime INTEGER NOT NULL, deriver TEXT, narSize INTEGER, "
    "ultimate INTEGER, sigs TEXT, ca TEXT);"
    "CREATE TABLE IF NOT EXISTS Refs (referrer INTEGER NOT NULL, reference INTEGER NOT NULL, "
    "PRIMARY KEY (referrer, reference));";
static const char ADD_PATH[] =
    "INSERT INTO ValidPaths VALUES (?, ?, ?, 0, NULL, 8000, 1, NULL, NULL)";
static const char ADD_REF[] = "INSERT INTO Refs VALUES (?, ?)";

struct package {
    struct arena arena;
    uint64_t random;
    uint32_t number;
    uint32_t dependency[DEPENDENCIES];
    size_t n_dependencies;
    const char *run_path;
    int fd; /* of its directory */
};

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(4);
}

static uint64_t mix(uint64_t h)
{
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return h ^ h >> 31;
}

static uint32_t below(struct package *p, uint32_t n)
{
    p->random = p->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((p->random >> 33) % n);
}

static const char *base_name(struct arena *arena, uint32_t i)
{
    char hash[33] = "";

    for (unsigned k = 0; k < 32; k++)
        hash[k] = "0123456789abcdfghijklmnpqrsvwxyz"[mix(i * 32ull + k + 1) & 31];
    return arena_printf(arena, "%s-%s", hash,
                        i ? arena_printf(arena, "package%u-1.%u", i, i % 7) : "glibc-2.40");
}

static void choose_dependencies(struct package *p)
{
    const uint32_t from = p->number < BASE ? p->number : BASE;

    for (uint32_t i = 0; p->number > 1 && i < DEPENDENCIES; i++) {
        /* the earlier a package, the more need it: the lower of two choices */
        const uint32_t a = 1 + below(p, from), b = 1 + below(p, from);
        const uint32_t choice = a < b ? a : b;
        bool known = choice >= p->number;

        for (size_t k = 0; k < p->n_dependencies; k++)
            known |= p->dependency[k] == choice;
        if (!known)
            p->dependency[p->n_dependencies++] = choice;
    }
}

static void choose_run_path(struct package *p)
{
    struct str path = {.arena = &p->arena};

    str_printf(&path, STORE "/%s/lib", base_name(&p->arena, p->number));
    for (size_t i = 0; i < p->n_dependencies; i++)
        str_printf(&path, ":" STORE "/%s/lib", base_name(&p->arena, p->dependency[i]));
    str_printf(&path, ":" STORE "/%s/lib", base_name(&p->arena, 0));
    p->run_path = path.text;
}

static const char *library_name(struct package *p, uint32_t package, uint32_t i)
{
    return package ? arena_printf(&p->arena, "lib%u-%u.so.1", package, i) : "libc.so.6";
}

static void write_file(struct package *p, const char *dir, const char *name, struct elf_spec *spec,
                       const struct elf_dyn *dyn, size_t n_dyn)
{
    struct elf_image image;
    int fd;

    spec->dynamic = dyn;
    spec->n_dynamic = n_dyn;
    image = elf_write(&p->arena, spec);
    fd = openat(p->fd, arena_printf(&p->arena, "%s/%s", dir, name),
                O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
    must(fd >= 0 && write(fd, image.bytes, image.size) == (ssize_t)image.size && close(fd) == 0,
         name);
}

/* Library `i`: some need its elder, some a library of a dependency, all need libc. */
static void write_library(struct package *p, uint32_t i)
{
    struct elf_dyn dyn[ENTRIES];
    struct elf_spec spec = elf_library();
    const char *name = library_name(p, p->number, i);
    size_t n = 0;

    dyn[n++] = (struct elf_dyn){DT_SONAME, name, 0};
    if (i > 0 && below(p, 2))
        dyn[n++] = (struct elf_dyn){DT_NEEDED, library_name(p, p->number, i - 1), 0};
    for (size_t k = 0; k < p->n_dependencies; k++)
        if (below(p, DEPENDENCIES) == 0)
            dyn[n++] =
                (struct elf_dyn){DT_NEEDED, library_name(p, p->dependency[k], below(p, 2)), 0};
    if (p->number) {
        dyn[n++] = (struct elf_dyn){DT_NEEDED, "libc.so.6", 0};
        dyn[n++] = (struct elf_dyn){DT_RUNPATH, p->run_path, 0};
    }
    write_file(p, "lib", name, &spec, dyn, n);
}

static void write_program(struct package *p)
{
    struct elf_dyn dyn[ENTRIES];
    struct elf_spec spec = elf_program(
        arena_printf(&p->arena, STORE "/%s/lib/ld-linux-x86-64.so.2", base_name(&p->arena, 0)));
    size_t n = 0;

    dyn[n++] = (struct elf_dyn){DT_NEEDED, library_name(p, p->number, below(p, 2)), 0};
    for (size_t i = 0; i < p->n_dependencies; i++)
        if (below(p, 2))
            dyn[n++] =
                (struct elf_dyn){DT_NEEDED, library_name(p, p->dependency[i], below(p, 3)), 0};
    dyn[n++] = (struct elf_dyn){DT_NEEDED, "libc.so.6", 0};
    dyn[n++] = (struct elf_dyn){DT_RUNPATH, p->run_path, 0};
    write_file(p, "bin", arena_printf(&p->arena, "program%u", p->number), &spec, dyn, n);
}

static void write_loader(struct package *p)
{
    const struct elf_dyn dyn[] = {{DT_SONAME, "ld-linux-x86-64.so.2", 0}};
    struct elf_spec spec = elf_library();
    struct str strings = {.arena = &p->arena};
    const char *own = arena_printf(&p->arena, STORE "/%s", base_name(&p->arena, 0));
    const char *const constants[] = {"",
                                     arena_printf(&p->arena, "%s/lib/", own),
                                     "glibc-ld.so.cache1.1",
                                     arena_printf(&p->arena, "%s/etc/ld.so.cache", own),
                                     "/etc/ld-nix.so.preload",
                                     "ld.so (GNU libc) stable release version 2.40.\n"};

    for (size_t i = 0; i < ARRAY_LEN(constants); i++)
        str_add_n(&strings, constants[i], strlen(constants[i]) + 1);
    spec.rodata = strings.text;
    spec.rodata_size = strings.len;
    write_file(p, "lib", "ld-linux-x86-64.so.2", &spec, dyn, ARRAY_LEN(dyn));
}

static void register_package(struct package *p, struct db *db)
{
    struct err err;
    struct stmt *s = db_prepare(db, ADD_PATH, &err);

    must(s != NULL, "database");
    stmt_bind_int(s, 1, p->number + 1);
    stmt_bind_text(s, 2, arena_printf(&p->arena, STORE "/%s", base_name(&p->arena, p->number)));
    stmt_bind_text(
        s, 3, arena_printf(&p->arena, "sha256:%064llx", (unsigned long long)mix(p->number + 7ull)));
    must(stmt_run(s, &err) == 0, err.text);
    for (size_t i = 0; i < p->n_dependencies + 2; i++) {
        const uint32_t to = i < p->n_dependencies    ? p->dependency[i]
                            : i == p->n_dependencies ? p->number
                                                     : 0;

        if (i > p->n_dependencies && p->number == 0)
            break;
        s = db_prepare(db, ADD_REF, &err);
        must(s != NULL, "database");
        stmt_bind_int(s, 1, p->number + 1);
        stmt_bind_int(s, 2, to + 1);
        must(stmt_run(s, &err) == 0, err.text);
    }
}

static void write_package(int store_fd, struct db *db, uint32_t number, uint32_t libraries)
{
    struct package p = {.number = number, .random = mix(number)};
    const char *base = base_name(&p.arena, number);

    must(mkdirat(store_fd, base, 0755) == 0, base);
    p.fd = openat(store_fd, base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(p.fd >= 0 && mkdirat(p.fd, "lib", 0755) == 0 && mkdirat(p.fd, "bin", 0755) == 0, base);
    choose_dependencies(&p);
    choose_run_path(&p);
    for (uint32_t i = 0; i < (number ? libraries : 1); i++)
        write_library(&p, i);
    if (number)
        write_program(&p);
    else
        write_loader(&p);
    register_package(&p, db);
    (void)close(p.fd);
    arena_release(&p.arena);
}

int main(int argc, char **argv)
{
    static const char *const dirs[] = {"",         "/nix",         STORE,
                                       "/nix/var", "/nix/var/nix", "/nix/var/nix/db"};
    CLEANUP(arena_release) struct arena arena = {0};
    CLEANUP(db_closep) struct db *db = NULL;
    const uint32_t libraries = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 4;
    uint32_t first, count;
    struct err err;
    int fd;

    if (argc < 4) {
        fprintf(stderr, "usage: store DIR FIRST COUNT [LIBRARIES]\n");
        return 2;
    }
    first = (uint32_t)strtoul(argv[2], NULL, 10);
    count = (uint32_t)strtoul(argv[3], NULL, 10);
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        must(mkdir(arena_printf(&arena, "%s%s", argv[1], dirs[i]), 0755) == 0 || errno == EEXIST,
             argv[1]);
    fd = open(arena_printf(&arena, "%s" STORE, argv[1]), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(fd >= 0, argv[1]);
    /* a file of ours, with Nix's tables beside those that nobody looks at */
    if (db_open(arena_printf(&arena, "%s/nix/var/nix/db/db.sqlite", argv[1]), DB_WRITE, &db, &err) <
            0 ||
        db_exec(db, CREATE, &err) < 0 || db_begin(db, &err) < 0) {
        fprintf(stderr, "store: %s\n", err.text);
        return 4;
    }
    for (uint32_t i = first; i < first + count; i++)
        write_package(fd, db, i, libraries);
    must(db_commit(db, &err) == 0, "database");
    (void)close(fd);
    return 0;
}
