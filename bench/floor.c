/*
 * The yardstick F: the least that any scan of a tree has to do, and nothing else.
 *
 *	floor DIR...
 *
 * One thread walks the tree. Every regular file is opened and its first 4 KiB are read; of an ELF
 * file also its program headers, its dynamic section and the strings that this names. Nothing is
 * kept, checked beyond what keeps the walk alive, or written. Prints what it saw and the seconds it
 * took: what a scanner takes is given in these.
 */
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    HEAD_SIZE = 4096,
    PHDRS_MAX = 64,
    DYNAMIC_MAX = 1 << 16, /* bytes */
    STRINGS_MAX = 1 << 23, /* bytes */
    STRING_TAIL = 1024,    /* read behind the last string's start */
    DENTS_SIZE = 1 << 16,
};

struct count {
    uint64_t files, dirs, elf, dynamic, strings, bytes;
};

static unsigned char dynamic_bytes[DYNAMIC_MAX];
static char strings[STRINGS_MAX + 1];
static struct count count;

/* Only what this machine can run is taken apart: 64 bits, its own byte order. */
static bool is_native(const unsigned char *head)
{
    return head[EI_CLASS] == ELFCLASS64 && head[EI_DATA] == ELFDATA2LSB;
}

static bool names_string(int64_t tag)
{
    return tag == DT_NEEDED || tag == DT_SONAME || tag == DT_RUNPATH || tag == DT_RPATH;
}

/* The file offset of an address; 0: in no segment. */
static uint64_t offset_of(const Elf64_Phdr *phdr, size_t n, uint64_t vaddr)
{
    for (size_t i = 0; i < n; i++)
        if (phdr[i].p_type == PT_LOAD && vaddr >= phdr[i].p_vaddr &&
            vaddr - phdr[i].p_vaddr < phdr[i].p_filesz)
            return vaddr - phdr[i].p_vaddr + phdr[i].p_offset;
    return 0;
}

/* Read the strings that the dynamic section names: all that lies between the first and last. */
static void read_strings(int fd, const Elf64_Phdr *phdr, size_t n_phdrs, size_t dynamic_size)
{
    uint64_t low = UINT64_MAX, high = 0, table = 0, table_size = 0, want;
    ssize_t n;

    for (size_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic_size; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn dyn;

        memcpy(&dyn, dynamic_bytes + at, sizeof(dyn));
        if (dyn.d_tag == DT_NULL)
            break;
        if (dyn.d_tag == DT_STRTAB)
            table = dyn.d_un.d_ptr;
        else if (dyn.d_tag == DT_STRSZ)
            table_size = dyn.d_un.d_val;
        else if (names_string(dyn.d_tag)) {
            low = dyn.d_un.d_val < low ? dyn.d_un.d_val : low;
            high = dyn.d_un.d_val > high ? dyn.d_un.d_val : high;
            count.strings++;
        }
    }
    table = offset_of(phdr, n_phdrs, table);
    if (table == 0 || low > high)
        return;
    want = high - low + STRING_TAIL;
    if (high < table_size && low + want > table_size)
        want = table_size - low;
    n = pread(fd, strings, want < STRINGS_MAX ? want : STRINGS_MAX, (off_t)(table + low));
    strings[n > 0 ? n : 0] = '\0';
}

static void read_elf(int fd, const unsigned char *head, size_t len)
{
    Elf64_Phdr phdr[PHDRS_MAX];
    struct stat st;
    Elf64_Ehdr ehdr;
    size_t size;

    count.elf++;
    if (fstat(fd, &st) == 0)
        count.bytes += (uint64_t)st.st_size;
    memcpy(&ehdr, head, sizeof(ehdr));
    if (!is_native(head) || ehdr.e_phnum == 0 || ehdr.e_phnum > PHDRS_MAX)
        return;
    size = ehdr.e_phnum * sizeof(*phdr);
    if (ehdr.e_phoff <= len && size <= len - ehdr.e_phoff)
        memcpy(phdr, head + ehdr.e_phoff, size);
    else if (pread(fd, phdr, size, (off_t)ehdr.e_phoff) != (ssize_t)size)
        return;
    for (size_t i = 0; i < ehdr.e_phnum; i++) {
        const size_t want = phdr[i].p_filesz < DYNAMIC_MAX ? phdr[i].p_filesz : DYNAMIC_MAX;
        ssize_t n;

        if (phdr[i].p_type != PT_DYNAMIC || want == 0)
            continue;
        n = pread(fd, dynamic_bytes, want, (off_t)phdr[i].p_offset);
        if (n <= 0)
            return;
        count.dynamic++;
        read_strings(fd, phdr, ehdr.e_phnum, (size_t)n);
        return;
    }
}

static void read_file(int dir_fd, const char *name)
{
    unsigned char head[HEAD_SIZE];
    const int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n;

    count.files++;
    if (fd < 0)
        return;
    n = pread(fd, head, sizeof(head), 0);
    if (n >= (ssize_t)sizeof(Elf64_Ehdr) && memcmp(head, ELFMAG, SELFMAG) == 0)
        read_elf(fd, head, (size_t)n);
    (void)close(fd);
}

/* Directories to be walked, by path: the last one added comes first. */
static char **todo;
static size_t n_todo, size_todo;

static void add_dir(const char *dir, const char *name)
{
    const size_t len = strlen(dir) + strlen(name) + 2;
    char *path = malloc(len);

    if (n_todo == size_todo) {
        char **larger = realloc(todo, (size_todo * 2 + 1024) * sizeof(*todo));

        if (!larger)
            abort();
        todo = larger;
        size_todo = size_todo * 2 + 1024;
    }
    if (!path)
        abort();
    (void)snprintf(path, len, *name ? "%s/%s" : "%s%s", dir, name);
    todo[n_todo++] = path;
}

static void walk_dir(const char *path)
{
    static char dents[DENTS_SIZE] __attribute__((aligned(8)));
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n;

    if (fd < 0)
        return;
    count.dirs++;
    while ((n = getdents64(fd, dents, sizeof(dents))) > 0)
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *e = (const void *)(dents + at);

            at += e->d_reclen;
            if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
                continue;
            if (e->d_type == DT_DIR)
                add_dir(path, e->d_name);
            else if (e->d_type == DT_REG)
                read_file(fd, e->d_name);
        }
    (void)close(fd);
}

static double seconds(clockid_t clock)
{
    struct timespec t;

    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    const double start = seconds(CLOCK_MONOTONIC);

    for (int i = 1; i < argc; i++)
        add_dir(argv[i], "");
    while (n_todo) {
        char *path = todo[--n_todo];

        walk_dir(path);
        free(path);
    }
    free(todo);
    printf("files=%llu dirs=%llu elf=%llu dynamic=%llu strings=%llu wall=%.4f cpu=%.4f\n",
           (unsigned long long)count.files, (unsigned long long)count.dirs,
           (unsigned long long)count.elf, (unsigned long long)count.dynamic,
           (unsigned long long)count.strings, seconds(CLOCK_MONOTONIC) - start,
           seconds(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}
