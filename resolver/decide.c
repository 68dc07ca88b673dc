#include "resolver/decide.h"

/* Sub-directories with variants for a CPU: glibc-hwcaps, and those of glibc up to 2.36. */
static const char levels_x86_64[][13] = {"glibc-hwcaps", "tls", "x86_64", "haswell", "xeon_phi"};
static const char levels_aarch64[][13] = {"glibc-hwcaps", "tls", "atomics", "aarch64"};

static bool has(const char *text, uint64_t len, char c)
{
    for (uint64_t i = 0; i < len; i++)
        if (text[i] == c)
            return true;
    return false;
}

/* directory + '/' + name. NULL: too long. */
static const char *join(struct resolver *r, const char *directory, uint64_t len, const char *name)
{
    const uint64_t name_len = text_len(name);
    char *to = r->path;

    if (len >= RESOLVER_PATH_MAX || name_len >= RESOLVER_PATH_MAX - len - 1)
        return NULL;
    for (uint64_t i = 0; i < len; i++)
        *to++ = directory[i];
    if (len && to[-1] != '/')
        *to++ = '/';
    for (uint64_t i = 0; i <= name_len; i++)
        *to++ = name[i];
    return r->path;
}

/* Is there certainly nothing of this name in the directory? */
static bool is_absent(struct resolver *r, const char *directory, uint64_t len, const char *name)
{
    const char *path = join(r, directory, len, name);

    return path && r->look(r->data, path, false) == SEEN_ABSENT;
}

/* Could ld.so find a variant for this CPU below the directory? */
static bool has_levels(struct resolver *r, const char *directory, uint64_t len)
{
    const bool arm = r->machine == EM_AARCH64;
    const char(*level)[13] = arm ? levels_aarch64 : levels_x86_64;
    const unsigned n = (unsigned)(arm ? sizeof(levels_aarch64) : sizeof(levels_x86_64)) / 13;

    for (unsigned i = 0; i < n; i++)
        if (!is_absent(r, directory, len, level[i]))
            return true;
    return false;
}

/* ---- LD_LIBRARY_PATH comes before what a note says */

static uint64_t component_len(const char *text)
{
    uint64_t n = 0;

    while (text[n] && text[n] != ':' && text[n] != ';')
        n++;
    return n;
}

/* Does every component mean just one directory? */
static bool is_plain(struct resolver *r)
{
    const char *at = r->library_path;
    const uint64_t len = text_len(at);

    if (len >= RESOLVER_PATH_MAX || has(at, len, '$'))
        return false;
    for (;; at++) {
        const uint64_t n = component_len(at);

        if (has_levels(r, at, n))
            return false;
        at += n;
        if (!*at)
            return true;
    }
}

static bool library_path_may_have(struct resolver *r, const char *name)
{
    const char *at = r->library_path;

    if (!at)
        return false;
    if (r->library_path_state == PATH_UNSEEN)
        r->library_path_state = is_plain(r) ? PATH_PLAIN : PATH_OPAQUE;
    if (r->library_path_state == PATH_OPAQUE)
        return true;
    for (;; at++) {
        const uint64_t n = component_len(at);

        if (!is_absent(r, at, n, name))
            return true;
        at += n;
        if (!*at)
            return false;
    }
}

/* ---- one list of a note */

/* What is known about a hint's directory. Names in a row usually share it. */
static enum hint_state hint_state(struct resolver *r, const char *directory, uint64_t len)
{
    bool same = r->hint && r->hint_len == len;

    for (uint64_t i = 0; same && i < len; i++)
        same = r->hint[i] == directory[i];
    if (same)
        return r->hint_state;
    r->hint = directory;
    r->hint_len = len;
    if (is_absent(r, directory, len, ""))
        r->hint_state = HINT_ABSENT;
    else
        r->hint_state = has_levels(r, directory, len) ? HINT_LEVELS : HINT_PLAIN;
    return r->hint_state;
}

/* May the directory of a hint hold the name? What depends on the start, ld.so must judge. */
static bool hint_may_have(struct resolver *r, const char *directory, uint64_t len, const char *name)
{
    if (len == 0 || *directory != '/' || has(directory, len, '$'))
        return true;
    switch (hint_state(r, directory, len)) {
    case HINT_ABSENT:
        return false;
    case HINT_PLAIN:
        return !is_absent(r, directory, len, name);
    case HINT_LEVELS:
        break;
    }
    return true;
}

/* The path of an exact element, as a string of its own. NULL: it is not one to be trusted. */
static const char *exact(struct resolver *r, const char *path, uint64_t len)
{
    if (len == 0 || *path != '/' || len >= RESOLVER_PATH_MAX || has(path, len, '$'))
        return NULL;
    if (!path[len])
        return path;
    for (uint64_t i = 0; i < len; i++)
        r->answer[i] = path[i];
    r->answer[len] = '\0';
    return r->answer;
}

enum seen resolver_judge(uint16_t machine, const struct seen_head *head)
{
    if (head->class != ELFCLASS64)
        return SEEN_FOREIGN;
    /* Debian's loader passes over some of these, if they are another machine's; others end */
    if (head->data != ELFDATA2LSB || head->version != EV_CURRENT || head->type != ET_DYN ||
        (head->osabi != ELFOSABI_SYSV && head->osabi != ELFOSABI_GNU))
        return SEEN_UNSURE;
    return head->machine == machine ? SEEN_THERE : SEEN_FOREIGN;
}

/* `=PATH` and `?DIRECTORY`, from left to right; others are passed over. */
static const char *take(struct resolver *r, const char *list, const char *name)
{
    while (*list) {
        enum seen seen = SEEN_ABSENT;
        uint64_t len = 0;
        const char *path;

        while (list[len] && list[len] != ':')
            len++;
        if (*list == '?' && hint_may_have(r, list + 1, len - 1, name))
            return NULL;
        path = *list == '=' ? exact(r, list + 1, len - 1) : NULL;
        if (path)
            seen = r->look(r->data, path, true);
        if (seen == SEEN_THERE)
            return path;
        if (seen == SEEN_UNSURE)
            return NULL;
        list += len;
        list += *list == ':';
    }
    return NULL;
}

/* ---- the order of it all */

static const char *find_list(struct resolver *r, const struct asker *asker, const char *name)
{
    const char *list = rows_find(&r->closure.rows, asker->path, name);

    return list || !asker->is_program ? list : rows_find(&r->own, NULL, name);
}

const char *resolver_answer(struct resolver *r, const struct asker *asker, const char *name)
{
    const char *list;

    if (r->off || !*name || has(name, text_len(name), '/'))
        return NULL;
    list = find_list(r, asker, name);
    if (!list)
        return NULL;
    if (asker->rpath && !asker->runpath) /* before LD_LIBRARY_PATH */
        return take(r, list, name);
    if (!asker->runpath && r->inherits) /* somebody's RPATH may come first */
        return NULL;
    return library_path_may_have(r, name) ? NULL : take(r, list, name);
}
