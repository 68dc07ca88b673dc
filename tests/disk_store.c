#include "tests/disk_store.h"

#include "scanner/scan.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    abort();
}

static char *host_path(struct disk_store *s, const char *path)
{
    char *whole = arena_printf(&s->arena, "%s%s/%s", s->root, s->store, path);

    for (char *slash = whole + strlen(s->root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        must(mkdir(whole, 0755) == 0 || errno == EEXIST, whole);
        *slash = '/';
    }
    return whole;
}

struct disk_store *disk_store_new(void)
{
    char root[] = "/tmp/stormlint-store-XXXXXX";
    struct disk_store *s = calloc(1, sizeof(*s));

    must(s && mkdtemp(root), "disk_store_new");
    s->root = arena_strdup(&s->arena, root);
    s->store = "/store";
    s->db = arena_printf(&s->arena, "%s/index.db", root);
    disk_store_dir(s, "");
    return s;
}

static int remove_one(const char *path, const struct stat *st UNUSED, int type UNUSED,
                      struct FTW *ftw UNUSED)
{
    return remove(path);
}

static void remove_tree(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void disk_store_free(struct disk_store *s)
{
    remove_tree(s->root);
    arena_release(&s->arena);
    free(s);
}

void disk_store_file(struct disk_store *s, const char *path, const void *bytes, size_t size)
{
    const char *whole = host_path(s, path);
    FILE *file = fopen(whole, "w");

    must(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0, whole);
    must(chmod(whole, 0755) == 0, whole);
}

void disk_store_elf(struct disk_store *s, const char *path, const struct elf_spec *spec)
{
    const struct elf_image image = elf_write(&s->arena, spec);

    disk_store_file(s, path, image.bytes, image.size);
}

void disk_store_link(struct disk_store *s, const char *path, const char *target)
{
    must(symlink(target, host_path(s, path)) == 0, path);
}

void disk_store_dir(struct disk_store *s, const char *path)
{
    (void)host_path(s, arena_printf(&s->arena, "%s/x", path));
}

void disk_store_fifo(struct disk_store *s, const char *path)
{
    must(mkfifo(host_path(s, path), 0644) == 0, path);
}

void disk_store_hard_link(struct disk_store *s, const char *path, const char *other)
{
    must(link(host_path(s, other), host_path(s, path)) == 0, path);
}

void disk_store_remove(struct disk_store *s, const char *path)
{
    remove_tree(host_path(s, path));
}

#define S "/store/"

size_t disk_store_fill(struct disk_store *s)
{
    static const struct elf_dyn prog[] = {
        {DT_NEEDED, "liba.so.2", 0},
        {DT_NEEDED, "libc.so.6", 0},
        {DT_RUNPATH,
         S DISK_LIBA "/lib:" S DISK_LIBC "/lib:" S DISK_ODD "/share/empty:$ORIGIN/../lib", 0}};
    static const struct elf_dyn liba[] = {{DT_SONAME, "liba.so.2", 0},
                                          {DT_NEEDED, "libb.so.3", 0},
                                          {DT_RUNPATH, S DISK_LIBB "/lib", 0}};
    static const struct elf_dyn libb[] = {{DT_SONAME, "libb.so.3", 0}};
    static const struct elf_dyn libc[] = {{DT_SONAME, "libc.so.6", 0}};
    static const struct elf_dyn ldso[] = {{DT_SONAME, "ld-linux-x86-64.so.2", 0}};
    static const char strings[] =
        "\0" S DISK_LIBC "/lib/\0glibc-ld.so.cache1.1\0" S DISK_LIBC "/etc/ld.so.cache\0"
        "/etc/ld-nix.so.preload\0ld.so (GNU libc) stable release version 2.40.\n";
    static const unsigned char macho[64] = {0xcf, 0xfa, 0xed, 0xfe};
    struct elf_spec spec = elf_program(S DISK_LIBC "/lib/ld-linux-x86-64.so.2");

#define WRITE(path, entries)                                                                       \
    (spec.dynamic = (entries), spec.n_dynamic = ARRAY_LEN(entries),                                \
     disk_store_elf(s, (path), &spec))
    WRITE(DISK_PROG "/bin/prog", prog);
    disk_store_link(s, DISK_PROG "/bin/alias", "prog");
    spec = elf_library();
    WRITE(DISK_LIBA "/lib/liba.so.2", liba);
    disk_store_link(s, DISK_LIBA "/lib/liba.so", "liba.so.2");
    disk_store_link(s, DISK_LIBA "/lib64", "lib");
    WRITE(DISK_LIBA "/lib/glibc-hwcaps/x86-64-v3/liba.so.2", liba);
    disk_store_file(s, DISK_LIBA "/share/doc/README", "text", 4);
    WRITE(DISK_LIBB "/lib/libb.so.3", libb);
    WRITE(DISK_LIBC "/lib/libc.so.6", libc);
    WRITE(DISK_FILE, libb);
    disk_store_link(s, DISK_LINK, S DISK_LIBA);
    WRITE(DISK_ODD "/lib/broken.so", libb);
    must(truncate(host_path(s, DISK_ODD "/lib/broken.so"), 100) == 0, "broken.so");
    spec.rodata = strings;
    spec.rodata_size = sizeof(strings);
    WRITE(DISK_LIBC "/lib/ld-linux-x86-64.so.2", ldso);
#undef WRITE
    disk_store_dir(s, DISK_ODD "/share/empty");
    disk_store_file(s, DISK_ODD "/lib/libmac.dylib", macho, sizeof(macho));
    disk_store_file(s, DISK_ODD "/lib/libtext.so", "INPUT(-la)", 10);
    disk_store_file(s, DISK_ODD "/lib/empty.so", "", 0);
    disk_store_fifo(s, DISK_ODD "/lib/fifo.so");
    disk_store_link(s, DISK_ODD "/lib/outside.so", "/etc/passwd");
    disk_store_link(s, DISK_ODD "/lib/loop.so", "loop.so");
    return 7;
}

int disk_store_index(struct disk_store *store, struct db **ret_db, struct err *err)
{
    const struct scan_options options = {.root = store->root, .store = store->store, .readers = 1};
    struct scan_result result;
    const int r = db_open(store->db, DB_WRITE, ret_db, err);

    return r < 0 ? r : scan_run(*ret_db, &options, &result, err);
}
