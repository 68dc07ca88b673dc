/*
 * libstormlint-resolve.so: the resolver as an audit module of glibc (docs/closure-note.md).
 *
 * No C library, no needed names, no relocations, no constructor, no thread-local storage, no
 * memory of its own but one static struct. An object's cookie is its link map. ld.so calls all of
 * this under its lock for loading. It exports no la_symbind, la_plt* or la_activity: each would
 * cost something at run time.
 */
#include "resolver/decide.h"
#include "resolver/module/start.h"
#include "resolver/module/sys.h"

#define EXPORT __attribute__((visibility("default")))

enum { VERSION_MAX = 2, ENOENT_ = 2, ENOTDIR_ = 20 };

static struct {
    struct resolver resolver;
    const struct link_map *program; /* NULL: nothing was announced yet */
    char library_path[RESOLVER_PATH_MAX + 1];
} self;

/* ---- looking at files */

static enum seen verify_head(long fd)
{
    unsigned char at[SEEN_SIZE];
    struct seen_head head;

    if (sys_read(fd, at, SEEN_SIZE) != SEEN_SIZE)
        return SEEN_UNSURE;
    for (unsigned i = 0; i < SELFMAG; i++)
        if (at[i] != (unsigned char)ELFMAG[i])
            return SEEN_UNSURE;
    head = (struct seen_head){
        .class = at[EI_CLASS],
        .data = at[EI_DATA],
        .version = at[EI_VERSION],
        .osabi = at[EI_OSABI],
        .type = (uint16_t)(at[16] | at[17] << 8),
        .machine = (uint16_t)(at[18] | at[19] << 8),
    };
    return resolver_judge(THIS_MACHINE, &head);
}

static enum seen look(void *data, const char *path, bool verify)
{
    const long fd = sys_open(path);
    enum seen seen = SEEN_THERE;

    (void)data;
    if (fd == -ENOENT_ || fd == -ENOTDIR_)
        return SEEN_ABSENT;
    if (fd < 0)
        return SEEN_UNSURE;
    if (verify)
        seen = verify_head(fd);
    sys_close(fd);
    return seen;
}

/* ---- the program's notes */

/* The first descriptor of each kind, valid or not: as any other reader takes it. */
struct descriptors {
    struct descriptor {
        const char *at; /* NULL: there is none */
        uint64_t size;
    } closure, own;
};

/* Bytes of the file that are in memory, to be read. */
static bool is_loaded(const struct start_facts *start, const ElfW(Phdr) * note)
{
    for (unsigned long i = 0; i < start->n_phdrs; i++) {
        const ElfW(Phdr) *load = &start->phdr[i];

        if (load->p_type == PT_LOAD && load->p_flags & PF_R && note->p_vaddr >= load->p_vaddr &&
            note->p_memsz <= load->p_filesz &&
            note->p_vaddr - load->p_vaddr <= load->p_filesz - note->p_memsz)
            return true;
    }
    return false;
}

static uint64_t align_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) & ~(align - 1);
}

static bool is_owned(const char *owner, uint32_t size, const char *wanted)
{
    if (size != text_len(wanted) + 1)
        return false;
    for (uint32_t i = 0; i < size; i++)
        if (owner[i] != wanted[i])
            return false;
    return true;
}

/* Notes of one segment. */
static void read_notes(struct descriptors *found, const char *at, uint64_t size, uint64_t align)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
        const uint64_t from = align_up(sizeof(*note) + (uint64_t)note->n_namesz, align);
        const uint64_t end = align_up(from + note->n_descsz, align);

        if (from > size || note->n_descsz > size - from)
            return;
        if (note->n_type == CLOSURE_NOTE && !found->closure.at &&
            is_owned(at + sizeof(*note), note->n_namesz, CLOSURE_OWNER))
            found->closure = (struct descriptor){at + from, note->n_descsz};
        if (note->n_type == RESOLUTION_NOTE && !found->own.at &&
            is_owned(at + sizeof(*note), note->n_namesz, "NixOS"))
            found->own = (struct descriptor){at + from, note->n_descsz};
        if (end >= size)
            return;
        at += end;
        size -= end;
    }
}

static void find_notes(struct resolver *r, const struct start_facts *start,
                       const struct link_map *program)
{
    struct descriptors found = {0};

    for (unsigned long i = 0; i < start->n_phdrs; i++) {
        const ElfW(Phdr) *p = &start->phdr[i];

        if (p->p_type == PT_NOTE && is_loaded(start, p))
            read_notes(&found, (const char *)(program->l_addr + p->p_vaddr), p->p_memsz,
                       p->p_align == 8 ? 8 : 4);
    }
    (void)closure_open(&r->closure, found.closure.at, found.closure.size);
    (void)resolution_open(&r->own, found.own.at, found.own.size);
}

/* ---- is the closure note about this very program? */

struct names {
    const ElfW(Dyn) * at;
    const char *text;
};

static const char *next_needed(void *data)
{
    struct names *names = data;

    for (; names->at->d_tag != DT_NULL; names->at++)
        if (names->at->d_tag == DT_NEEDED)
            return names->text + names->at++->d_un.d_val;
    return NULL;
}

/* The value of a dynamic tag; -1: there is none. */
static unsigned long tag_value(const struct link_map *map, long tag)
{
    for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == tag)
            return d->d_un.d_val;
    return -1UL;
}

static bool is_about(const struct closure_note *closure, const struct link_map *program)
{
    const unsigned long run_path = tag_value(program, DT_RUNPATH);
    const unsigned long text = tag_value(program, DT_STRTAB);
    struct names names = {.at = program->l_ld};

    if (text == -1UL || tag_value(program, DT_RPATH) != -1UL)
        return false;
    names.text = (const char *)dynamic_address(program, text);
    return closure_is_for(closure, run_path == -1UL ? NULL : names.text + run_path, next_needed,
                          &names);
}

/* ---- start-up */

/* The value of NAME= in an entry of the environment. NULL: another one. */
static const char *value_of(const char *entry, const char *name)
{
    while (*name && *entry == *name) {
        entry++;
        name++;
    }
    return *name ? NULL : entry;
}

/* The program may overwrite its environment, so the value is copied. One too long is cut: opaque.
 */
static void keep_library_path(struct resolver *r, const char *value)
{
    uint64_t n = 0;

    if (!value || !*value)
        return;
    for (; value[n] && n < RESOLVER_PATH_MAX; n++)
        self.library_path[n] = value[n];
    self.library_path[n] = '\0';
    r->library_path = self.library_path;
}

static void read_start(struct resolver *r, const struct link_map *program, unsigned long inside)
{
    const char *library_path = NULL;
    struct start_facts start;

    if (!start_find(program, inside, &start) || start.secure || start.by_hand)
        return;
    for (const char *const *entry = start.env; *entry; entry++) {
        const char *value = value_of(*entry, "LD_LIBRARY_PATH=");

        if (value) /* the last one counts */
            library_path = value;
        if (text_same(*entry, RESOLVER_SWITCH))
            return;
    }
    keep_library_path(r, library_path);
    find_notes(r, &start, program);
    if (r->closure.rows.at && !is_about(&r->closure, program))
        r->closure.rows.at = NULL;
    r->look = look;
    r->machine = THIS_MACHINE;
    r->off = !r->closure.rows.at && !r->own.at;
}

/* ---- the audit interface */

static void read_tags(const struct link_map *map, struct asker *asker)
{
    for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
        asker->rpath |= d->d_tag == DT_RPATH;
        asker->runpath |= d->d_tag == DT_RUNPATH;
    }
}

EXPORT unsigned la_version(unsigned version)
{
    return version > VERSION_MAX ? VERSION_MAX : version;
}

EXPORT unsigned la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie)
{
    struct asker asker = {0};

    *cookie = (uintptr_t)map;
    if (!self.program && namespace == LM_ID_BASE) {
        self.program = map;
        self.resolver.off = true;
        read_start(&self.resolver, map, (unsigned long)__builtin_return_address(0));
    }
    if (self.resolver.off)
        return 0;
    read_tags(map, &asker);
    self.resolver.inherits |= asker.rpath && !asker.runpath;
    return 0;
}

EXPORT char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag)
{
    const struct link_map *map = (const struct link_map *)*cookie;
    struct asker asker = {0};
    const char *answer = NULL;

    if (flag == LA_SER_ORIG && self.program && !self.resolver.off && name && map) {
        asker.is_program = map == self.program;
        asker.path = asker.is_program ? CLOSURE_PROGRAM : map->l_name;
        read_tags(map, &asker);
        answer = resolver_answer(&self.resolver, &asker, name);
    }
    return (char *)(uintptr_t)(answer ? answer : name);
}
