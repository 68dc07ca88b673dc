/*
 * Constants of an object that loads others by name: what it might ask for.
 */
#include "scanner/elf_view.h"

#include <string.h>

/*
 * Linkers merge an object's strings where the first of them stood, so they lie ahead of most tables.
 * Of 154 objects of a store of 1,679 packages that have such constants, the last one of each lies
 * in the first MiB, also where tables of up to 13 MiB follow: four times that is searched.
 */
enum {
    CONTENT_MAX = 4 << 20,   /* bytes of one object's read-only data searched */
    CONTENT_STEP = 64 << 10, /* at a time */
    CONSTANT_MAX = 255,      /* longest constant kept: a file name */
    CONSTANTS_KEPT = 512,
    COMPARED_MAX = 1 << 26, /* names compared with, needed ones and those that are kept */
};

static bool is_name_byte(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '+' || c == '.' || c == '/' || c == '@';
}

static bool constant_known(struct elf_view *view, const char *text, size_t len)
{
    const struct object *o = view->object;

    view->n_compared += o->n_dlopen_strings + o->n_needs;
    for (size_t i = 0; i < o->n_dlopen_strings; i++)
        if (strncmp(o->dlopen_string[i], text, len) == 0 && o->dlopen_string[i][len] == '\0')
            return true;
    for (size_t i = 0; i < o->n_needs; i++)
        if (strncmp(o->need[i].name, text, len) == 0 && o->need[i].name[len] == '\0')
            return true;
    return false;
}

/* ".so" was found at `at`: keep the whole constant around it if it looks like a soname. */
static void add_constant(struct elf_view *view, const unsigned char *bytes, size_t len, size_t at)
{
    struct object *o = view->object;
    size_t first = at, end = at + 3;

    while (first > 0 && at - first < CONSTANT_MAX && is_name_byte(bytes[first - 1]))
        first--;
    if (first == at || (first > 0 && bytes[first - 1] != '\0'))
        return;
    while (end < len && end - first <= CONSTANT_MAX && is_name_byte(bytes[end]))
        end++;
    if (end == len || bytes[end] != '\0' || (bytes[at + 3] != '\0' && bytes[at + 3] != '.'))
        return;
    if (end - first > CONSTANT_MAX || bytes[at - 1] == '/' || bytes[first] == '.')
        return;
    if (o->n_dlopen_strings == CONSTANTS_KEPT || view->n_compared > COMPARED_MAX ||
        constant_known(view, (const char *)bytes + first, end - first))
        return;
    o->dlopen_string =
        arena_grow(view->arena, o->dlopen_string, o->n_dlopen_strings, sizeof(*o->dlopen_string));
    o->dlopen_string[o->n_dlopen_strings++] =
        arena_strndup(view->arena, (const char *)bytes + first, end - first);
}

/* Both marks begin with bytes that are rare in what is no text, and memchr() is fast. */
static void search_block(struct elf_view *view, const unsigned char *bytes, size_t len)
{
    static const char origin[] = "$ORIGIN";
    const unsigned char *end = bytes + len, *at = bytes;

    while ((at = memchr(at, '.', (size_t)(end - at))) != NULL) {
        if (end - at >= 3 && at[1] == 's' && at[2] == 'o')
            add_constant(view, bytes, len, (size_t)(at - bytes));
        at++;
    }
    if (view->object->origin_string)
        return;
    for (at = bytes; (at = memchr(at, '$', (size_t)(end - at))) != NULL; at++)
        if ((size_t)(end - at) >= sizeof(origin) - 1 &&
            memcmp(at, origin, sizeof(origin) - 1) == 0) {
            view->object->origin_string = true;
            return;
        }
}

/*
 * Search [offset, offset + size) in overlapping blocks, so that no constant is cut. `left` is what
 * may still be searched of the object, bytes.
 */
static void search_range(struct elf_view *view, uint64_t offset, uint64_t size, uint64_t *left)
{
    const size_t overlap = CONSTANT_MAX + 2;

    if (size > *left)
        size = *left;
    *left -= size;
    while (size) {
        const size_t len = size < CONTENT_STEP ? (size_t)size : CONTENT_STEP;
        const unsigned char *bytes = view_peek(view, SLOT_CONTENT, offset, len, len);

        if (!bytes)
            return;
        search_block(view, bytes, len);
        if (len == size)
            return;
        offset += len - overlap;
        size -= len - overlap;
    }
}

/* The parts of [from, to) that are not the dynamic string table, whose names are no constants. */
static void search_around_strings(struct elf_view *view, uint64_t from, uint64_t to, uint64_t *left)
{
    const uint64_t first = view->strings, last = view->strings + view->strings_size;

    if (view->strings_size && first >= from && last <= to) {
        search_range(view, from, first - from, left);
        search_range(view, last, to - last, left);
    } else {
        search_range(view, from, to - from, left);
    }
}

static void search_part(struct elf_view *view, uint64_t offset, uint64_t size, uint64_t *left)
{
    uint64_t end;

    if (__builtin_add_overflow(offset, size, &end) || end > view->source->size)
        end = view->source->size;
    if (offset < end)
        search_around_strings(view, offset, end, left);
}

/* Without section headers: segments that are only read; else those with the code; else all. */
static void search_segments(struct elf_view *view, uint64_t *left)
{
    static const uint32_t refused[] = {PF_W | PF_X, PF_W, 0};
    bool searched = false;

    for (size_t pass = 0; pass < ARRAY_LEN(refused) && !searched; pass++)
        for (size_t i = 0; i < view->n_loads; i++) {
            if ((view->load[i].flags & refused[pass]) || view->load[i].filesz == 0)
                continue;
            searched = true;
            search_part(view, view->load[i].offset, view->load[i].filesz, left);
        }
}

void elf_read_constants(struct elf_view *view)
{
    uint64_t left = CONTENT_MAX;

    for (size_t i = 0; i < view->n_constants; i++)
        search_part(view, view->constant[i].offset, view->constant[i].size, &left);
    if (view->n_constants == 0)
        search_segments(view, &left);
}
