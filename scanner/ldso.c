#include "scanner/ldso.h"

#include "base/str.h"

#include <ctype.h>
#include <string.h>

/* Type of the resolution note, which a loader that reads it compares with (section 17). */
enum { RESOLUTION_NOTE = 0x63a86cb6 };

/* Longest string looked at: a path. */
enum { STRING_MAX = 4096 };

/* Sonames that loaders have, whatever C library they belong to. */
static bool is_loader_soname(const char *soname)
{
    return soname && (str_starts(soname, "ld-") || str_starts(soname, "ld.so") ||
                      str_starts(soname, "ld64.so"));
}

bool ldso_candidate(const struct object *object)
{
    if (object->type != ET_DYN || !object->has_dynamic || object->interp || object->n_needs ||
        (object->flags_1 & DF_1_PIE))
        return false;
    /* musl's is its whole C library, with the soname of one or none */
    return !object->soname || is_loader_soname(object->soname) ||
           str_starts(object->soname, "libc.");
}

/* One string of the file: `text[0..len)`, ended by a NUL that is not counted. */
struct string {
    const char *text;
    size_t len, at;
};

struct strings {
    const unsigned char *bytes;
    size_t len, at;
};

/* The next run of text, line ends included, that ends with a NUL. */
static bool string_next(struct strings *all, struct string *ret)
{
    size_t start = all->at;

    for (size_t i = all->at; i < all->len; i++) {
        const unsigned char c = all->bytes[i];

        if ((c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t')
            continue;
        if (c == 0 && i > start && i - start <= STRING_MAX) {
            *ret = (struct string){(const char *)all->bytes + start, i - start, start};
            all->at = i + 1;
            return true;
        }
        start = i + 1;
    }
    all->at = all->len;
    return false;
}

static bool string_ends(const struct string *s, const char *tail)
{
    const size_t len = strlen(tail);

    return s->len >= len && memcmp(s->text + s->len - len, tail, len) == 0;
}

/* "2.36", "2.41.1" with `major` 2; "1.2.5" with 1: digits and dots, nothing else. */
static bool is_version(const char *text, size_t len, char major, int dots_min)
{
    int dots = 0;

    if (len < 3 || text[0] != major || text[1] != '.')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '.' && i + 1 < len && text[i + 1] != '.')
            dots++;
        else if (!isdigit((unsigned char)text[i]))
            return false;
    }
    return dots >= dots_min && dots <= 2;
}

/* "... stable release version 2.36." and "... release version 2.43.9000." */
static const char *banner_version(struct arena *arena, const struct string *s)
{
    static const char mark[] = "release version ";
    const char *at = memmem(s->text, s->len, mark, sizeof(mark) - 1);
    size_t len = 0, left;

    if (!at)
        return NULL;
    at += sizeof(mark) - 1;
    left = (size_t)(s->text + s->len - at);
    while (len < left && (isdigit((unsigned char)at[len]) || at[len] == '.'))
        len++;
    while (len && at[len - 1] == '.')
        len--;
    return is_version(at, len, '2', 1) ? arena_strndup(arena, at, len) : NULL;
}

/* ---- system directories: a run of adjacent strings that begin and end with '/' */

struct run {
    size_t first, n;  /* offset of the first string, number of strings */
    bool names_a_lib; /* one of them ends in /lib.../ */
};

static bool is_directory(const struct string *s)
{
    return s->len >= 2 && s->text[0] == '/' && s->text[s->len - 1] == '/' &&
           !memchr(s->text, '%', s->len) && !memchr(s->text, ' ', s->len);
}

/* Paths of that form which are not searched for libraries. */
static bool is_other_directory(const struct string *s)
{
    static const char *const others[] = {"/proc/", "/dev/", "/sys/", "/etc/"};
    const char *const *other;

    for_each (other, others)
        if (s->len >= strlen(*other) && memcmp(s->text, *other, strlen(*other)) == 0)
            return true;
    return false;
}

static bool names_a_lib(const struct string *s)
{
    const char *last = memrchr(s->text, '/', s->len - 1);

    return last && (size_t)(s->text + s->len - last) > 4 && memcmp(last, "/lib", 4) == 0;
}

static bool run_better(const struct run *a, const struct run *b)
{
    if (a->names_a_lib != b->names_a_lib)
        return a->names_a_lib;
    return a->n > b->n;
}

static struct run find_directories(const unsigned char *bytes, size_t len)
{
    struct strings all = {bytes, len, 0};
    struct run best = {0}, now = {0};
    struct string s;
    size_t next = 0;

    while (string_next(&all, &s)) {
        if (!is_directory(&s) || is_other_directory(&s)) {
            now.n = 0;
            continue;
        }
        if (now.n == 0 || s.at != next)
            now = (struct run){.first = s.at};
        now.n++;
        now.names_a_lib |= names_a_lib(&s);
        next = s.at + s.len + 1;
        if (run_better(&now, &best))
            best = now;
    }
    return best;
}

static void set_directories(struct arena *arena, struct ldso *ldso, const unsigned char *bytes,
                            const struct run *run)
{
    const char *at = (const char *)bytes + run->first;

    ldso->system_dirs = arena_calloc(arena, run->n, sizeof(*ldso->system_dirs));
    for (; ldso->n_system_dirs < run->n; at += strlen(at) + 1)
        ldso->system_dirs[ldso->n_system_dirs++] = arena_strdup(arena, at);
}

/* ---- glibc */

/*
 * What $LIB stands for when its own string is not found: the last part of the first directory, or
 * the last two where the last names an ABI, as in /lib64/lp64d/ of riscv64.
 */
static const char *lib_of_directory(struct arena *arena, const struct ldso *ldso)
{
    const char *dir = ldso->n_system_dirs ? ldso->system_dirs[0] : "/lib/";
    const size_t len = strlen(dir) - 1;
    const char *slash = memrchr(dir, '/', len), *before = NULL;

    if (str_starts(slash, "/lp64") || str_starts(slash, "/ilp32"))
        before = memrchr(dir, '/', (size_t)(slash - dir));
    if (before)
        slash = before;
    return arena_strndup(arena, slash + 1, (size_t)(dir + len - slash - 1));
}

/* "lib/x86_64-linux-gnu": Debian's multiarch value. */
static bool is_multiarch_lib(const struct string *s)
{
    return s->len > 4 && memcmp(s->text, "lib/", 4) == 0 && memmem(s->text, s->len, "-linux-", 7) &&
           !memchr(s->text + 4, '/', s->len - 4);
}

static bool has_word(const unsigned char *bytes, size_t len, uint32_t word, bool big_endian)
{
    unsigned char want[4];

    for (int i = 0; i < 4; i++)
        want[i] = (unsigned char)(word >> 8 * (big_endian ? 3 - i : i));
    return memmem(bytes, len, want, sizeof(want)) != NULL;
}

/*
 * Which patch reads resolution notes (section 17)? The second one tells of itself under LD_DEBUG.
 * Compilers of some machines split the type value into two instructions: a loader that knows the
 * owner's name and nothing else cannot be told, and is taken for the second, the careful one.
 */
static enum note_reader note_reader(const unsigned char *bytes, size_t len, bool big_endian)
{
    static const char careful[] = "trying cached file", owner[] = "NixOS";

    if (memmem(bytes, len, careful, sizeof(careful) - 1))
        return READER_B;
    if (has_word(bytes, len, RESOLUTION_NOTE, big_endian))
        return READER_A;
    return memmem(bytes, len, owner, sizeof(owner)) ? READER_B : READER_NONE;
}

/*
 * Debian's packages of versions before 2.45 that have the fix of CVE-2026-86805 (section 14), by
 * the first revision. Its banner is "ld.so (Debian GLIBC 2.41-12+deb13u5) stable release ...".
 */
static bool debian_normalises(struct arena *arena, const struct string *banner)
{
    static const struct fixed {
        const char *version, *revision;
    } table[] =
        {
            {"2.41-", "12+deb13u5"},
            {"2.43-", "7"},
        },
      *fixed;
    static const char mark[] = "(Debian GLIBC ";
    const char *at = memmem(banner->text, banner->len, mark, sizeof(mark) - 1);
    const char *end = banner->text + banner->len, *version;

    if (!at)
        return false;
    at += sizeof(mark) - 1;
    version = arena_strndup(arena, at, (size_t)(end - at));
    for_each (fixed, table)
        if (str_starts(version, fixed->version))
            return strverscmp(version + strlen(fixed->version), fixed->revision) >= 0;
    return false;
}

static void glibc_string(struct arena *arena, struct ldso *ldso, const struct string *s)
{
    const char *version = banner_version(arena, s);

    if (version)
        ldso->version = version;
    else if (!ldso->version && is_version(s->text, s->len, '2', 1))
        ldso->version = arena_strndup(arena, s->text, s->len);
    if (s->text[0] == '/' && string_ends(s, "/ld.so.cache"))
        ldso->cache = arena_strndup(arena, s->text, s->len);
    else if (s->text[0] == '/' && string_ends(s, ".so.preload"))
        ldso->preload = arena_strndup(arena, s->text, s->len);
    else if (is_multiarch_lib(s))
        ldso->lib = arena_strndup(arena, s->text, s->len);
    else if (memmem(s->text, s->len, "Debian GLIBC", 12) ||
             memmem(s->text, s->len, "debian.org", 10))
        ldso->debian = true;
    ldso->normalises |= debian_normalises(arena, s);
}

static void read_glibc(struct arena *arena, struct ldso *ldso, const struct object *object,
                       const unsigned char *bytes, size_t len)
{
    const struct run run = find_directories(bytes, len);
    struct strings all = {bytes, len, 0};
    struct string s;

    ldso->libc = LIBC_GLIBC;
    set_directories(arena, ldso, bytes, &run);
    while (string_next(&all, &s))
        glibc_string(arena, ldso, &s);
    if (!ldso->lib)
        ldso->lib = lib_of_directory(arena, ldso);
    ldso->reads_note = note_reader(bytes, len, object->data == ELFDATA2MSB);
}

/* ---- musl */

static void musl_directories(struct arena *arena, struct ldso *ldso, const struct string *s)
{
    const char *at = s->text, *end = s->text + s->len;

    while (at < end) {
        const char *colon = memchr(at, ':', (size_t)(end - at));
        const size_t len = (size_t)((colon ? colon : end) - at);

        ldso->system_dirs =
            arena_grow(arena, ldso->system_dirs, ldso->n_system_dirs, sizeof(*ldso->system_dirs));
        ldso->system_dirs[ldso->n_system_dirs++] = arena_printf(arena, "%.*s/", (int)len, at);
        at += len + 1;
    }
}

static void read_musl(struct arena *arena, struct ldso *ldso, const unsigned char *bytes,
                      size_t len)
{
    struct strings all = {bytes, len, 0};
    struct string s;

    ldso->libc = LIBC_MUSL;
    ldso->lib = "lib";
    while (string_next(&all, &s)) {
        if (!ldso->version && is_version(s.text, s.len, '1', 2))
            ldso->version = arena_strndup(arena, s.text, s.len);
        else if (ldso->n_system_dirs == 0 && s.text[0] == '/' && memmem(s.text, s.len, ":/", 2) &&
                 string_ends(&s, "/lib") && !memmem(s.text, s.len, "bin", 3))
            musl_directories(arena, ldso, &s);
    }
}

const struct ldso *ldso_read(struct arena *arena, const struct object *object,
                             const unsigned char *bytes, size_t len)
{
    static const char glibc_mark[] = "glibc-ld.so.cache", musl_mark[] = "/etc/ld-musl-";
    struct ldso *ldso = arena_alloc(arena, sizeof(*ldso));

    if (memmem(bytes, len, musl_mark, sizeof(musl_mark) - 1))
        read_musl(arena, ldso, bytes, len);
    else if (is_loader_soname(object->soname) &&
             memmem(bytes, len, glibc_mark, sizeof(glibc_mark) - 1))
        read_glibc(arena, ldso, object, bytes, len);
    else if (is_loader_soname(object->soname))
        *ldso = (struct ldso){.libc = LIBC_UNKNOWN,
                              .reads_note = note_reader(bytes, len, object->data == ELFDATA2MSB)};
    else
        return NULL;
    ldso->source = ldso->version ? "file" : NULL;
    return ldso;
}

const char *const *ldso_names(void)
{
    static const char *const names[] = {
        "ld-linux-x86-64.so.2",
        "ld-linux-aarch64.so.1",
        "ld-linux.so.2",
        "ld-linux-armhf.so.3",
        "ld-linux-riscv64-lp64d.so.1",
        "ld64.so.2",
        "ld64.so.1",
        "ld-linux-loongarch-lp64d.so.1",
        "ld-musl-x86_64.so.1",
        "ld-musl-aarch64.so.1",
        "ld-musl-i386.so.1",
        "ld-musl-armhf.so.1",
        "ld-musl-riscv64.so.1",
        "ld-musl-powerpc64le.so.1",
        "ld-musl-s390x.so.1",
        "ld-musl-loongarch64.so.1",
        NULL,
    };

    return names;
}
