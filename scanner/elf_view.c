#include "scanner/elf_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STRINGS_WHOLE = 2 << 20,  /* a string table up to this size is read at once */
    STRING_WINDOW = 64 << 10, /* of a larger one: this much at a time */
    AHEAD_MIN = 4096,         /* bytes of one system call that cost no more than fewer */
    AHEAD_MAX = 2 << 20,      /* read ahead of what is asked for: a size in the file may be a lie */
};

struct elf_scratch *elf_scratch_new(void)
{
    struct elf_scratch *scratch = calloc(1, sizeof(*scratch));

    if (!scratch)
        abort();
    return scratch;
}

void elf_scratch_free(struct elf_scratch *scratch)
{
    if (!scratch)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        free(scratch->window[i].bytes);
    free(scratch->load);
    free(scratch);
}

void view_problem(struct elf_view *view, const char *fmt, ...)
{
    va_list ap;

    if (view->object->problem)
        return;
    va_start(ap, fmt);
    view->object->problem = arena_vprintf(view->arena, fmt, ap);
    va_end(ap);
}

/* ---- bytes */

static void window_fit(struct window *window, size_t size)
{
    if (window->size >= size)
        return;
    free(window->bytes);
    window->size = size < 4096 ? 4096 : size;
    window->bytes = malloc(window->size);
    if (!window->bytes)
        abort();
}

/* Fill the window with up to `len` bytes from `offset`; what the file has is window->len. */
static void window_fill(struct elf_view *view, struct window *window, uint64_t offset, size_t len)
{
    window_fit(window, len);
    window->at = offset;
    window->len = 0;
    while (window->len < len) {
        const ssize_t n = pread(view->source->fd, window->bytes + window->len, len - window->len,
                                (off_t)(offset + window->len));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            view->error = errno;
        if (n <= 0)
            return;
        window->len += (size_t)n;
    }
}

const unsigned char *view_peek(struct elf_view *view, enum slot slot, uint64_t offset, size_t len,
                               size_t ahead)
{
    const struct elf_source *source = view->source;
    const struct window *windows = view->scratch->window;
    struct window *window = &view->scratch->window[slot];
    uint64_t end;

    if (__builtin_add_overflow(offset, len, &end) || end > source->size || offset > INT64_MAX)
        return NULL;
    if (source->fd < 0)
        return source->bytes + offset;
    if (end <= source->head_len)
        return source->head + offset;
    for (size_t i = 0; i < SLOTS; i++) /* linkers and editors keep tables together */
        if (offset >= windows[i].at && end <= windows[i].at + windows[i].len)
            return windows[i].bytes + (offset - windows[i].at);
    if (ahead < len)
        ahead = len;
    if (ahead < AHEAD_MIN)
        ahead = AHEAD_MIN;
    if (ahead > len + AHEAD_MAX)
        ahead = len + AHEAD_MAX;
    if (ahead > source->size - offset)
        ahead = (size_t)(source->size - offset);
    window_fill(view, window, offset, ahead);
    return window->len >= len ? window->bytes : NULL;
}

/* File bytes from `load` on: into the segments that continue it, in the file and in memory. */
static uint64_t segment_left(const struct elf_view *view, const struct segment *load)
{
    uint64_t left = load->filesz;

    for (size_t i = 0, hops = 0; i < view->n_loads && hops < view->n_loads; i++) {
        const struct segment *next = &view->load[i];

        if (next->filesz == 0 || next->vaddr != load->vaddr + left ||
            next->offset != load->offset + left ||
            __builtin_add_overflow(left, next->filesz, &left))
            continue;
        i = SIZE_MAX; /* look again from the first */
        hops++;
    }
    return left;
}

bool view_offset(const struct elf_view *view, uint64_t vaddr, uint64_t *ret_offset,
                 uint64_t *ret_left)
{
    for (size_t i = 0; i < view->n_loads; i++) {
        const struct segment *load = &view->load[i];

        if (vaddr < load->vaddr || vaddr - load->vaddr >= load->filesz)
            continue;
        *ret_offset = load->offset + (vaddr - load->vaddr);
        *ret_left = segment_left(view, load) - (vaddr - load->vaddr);
        return *ret_offset >= load->offset;
    }
    return false;
}

/* Up to the end of the table or one window: the bytes from string `offset` on. */
static const char *string_peek(struct elf_view *view, uint64_t offset, size_t max, size_t *ret_len)
{
    const bool whole = view->strings_size <= STRINGS_WHOLE;
    const uint64_t left = offset < view->strings_size ? view->strings_size - offset : 0;
    const unsigned char *bytes;
    size_t len = left < max ? (size_t)left : max;

    if (left == 0)
        return NULL;
    if (whole) {
        bytes = view_peek(view, SLOT_STRINGS, view->strings, (size_t)view->strings_size,
                          (size_t)view->strings_size);
        if (!bytes)
            return NULL;
        bytes += offset;
        len = (size_t)left;
    } else {
        bytes = view_peek(view, SLOT_NAME, view->strings + offset, len, len);
    }
    *ret_len = len;
    return (const char *)bytes;
}

/* Entries may all name one long string: what they cost together is limited, found or not. */
const char *view_string(struct elf_view *view, uint64_t offset)
{
    size_t len;
    const char *text = string_peek(view, offset, STRING_WINDOW, &len), *end;

    if (!text)
        return NULL;
    if (len > view->text_left)
        len = view->text_left;
    end = memchr(text, '\0', len);
    view->text_left -= end ? (size_t)(end - text) + 1 : len;
    if (!end && view->text_left == 0)
        view_problem(view, "its names are longer than %d bytes together", TEXT_MAX);
    return end ? arena_strndup(view->arena, text, (size_t)(end - text)) : NULL;
}

int view_string_find(struct elf_view *view, uint64_t offset, const char *const *names,
                     size_t n_names)
{
    size_t len;
    const char *text = string_peek(view, offset, 32, &len);

    for (size_t i = 0; text && i < n_names; i++) {
        const size_t want = strlen(names[i]) + 1;

        if (want <= len && text[0] == names[i][0] && memcmp(text, names[i], want) == 0)
            return (int)i;
    }
    return -1;
}
