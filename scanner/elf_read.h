/*
 * From a file's bytes to an object: the only reader of ELF, and the only door to libelf.
 *
 *	struct elf_source src = {.fd = fd, .size = st.st_size, .mode = st.st_mode};
 *	int r = elf_read(&src, &arena, &object, &err);
 *
 * Bytes are not trusted: everything is bounded, read by pread into buffers (never mmap: files can
 * shrink), checked before use. Dynamic facts come from PT_DYNAMIC through PT_LOAD; section headers
 * are not looked at but for a few traits. A file that is malformed beyond its header gives an
 * object with `problem` set and whatever could be read: for the loader even its first 64 bytes
 * decide something.
 */
#pragma once

#include "base/arena.h"
#include "scanner/object.h"

struct elf_scratch;

/* Names of dynamic symbols, for who asks which of them two files share. */
struct elf_names {
    const char **wanted; /* undefined, weak ones too */
    size_t n_wanted;
    const char **offered; /* defined and visible to others */
    size_t n_offered;
};

/* Where the bytes are: a file descriptor, or memory when fd is -1 (tests, fuzzing). */
struct elf_source {
    int fd;
    const unsigned char *bytes;
    uint64_t size;
    uint32_t mode; /* st_mode */
    /* The file's first bytes if the caller has read them already; borrowed. */
    const unsigned char *head;
    size_t head_len;
    /* Buffers kept from file to file, for who reads many; NULL: this call makes its own. */
    struct elf_scratch *scratch;
    /* Filled with all names of its dynamic symbols, in the arena; NULL: they are not read. */
    struct elf_names *names;
};

/*
 * Read one file. Returns 0 and an object (perhaps with a problem); -ENOEXEC when it does not start
 * with the ELF magic; another negative errno when reading fails (I/O).
 */
MUST_CHECK int elf_read(const struct elf_source *source, struct arena *arena,
                        const struct object **ret_object, struct err *err);

/* Buffers for one thread's calls of elf_read(). Never NULL. */
struct elf_scratch *elf_scratch_new(void);
void elf_scratch_free(struct elf_scratch *scratch);
