#include "resolver/note.h"

uint64_t text_len(const char *text)
{
    uint64_t n = 0;

    while (text[n])
        n++;
    return n;
}

bool text_same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

const char *text_next(const char *text, const char *end)
{
    const char *next = text + text_len(text) + 1;

    return next < end ? next : NULL;
}

/* Two zero bytes at the end: then every string that starts before `end` ends before it. */
static bool is_closed(const char *at, uint64_t size)
{
    return at && size > 2 && size <= NOTE_SIZE_MAX && !at[size - 1] && !at[size - 2];
}

bool closure_open(struct closure_note *ret_closure, const void *descriptor, uint64_t size)
{
    const char *at = descriptor, *end = at + size, *run_path, *needed;

    if (!is_closed(at, size) || !text_same(at, CLOSURE_VERSION))
        return false;
    run_path = text_next(at, end);
    needed = run_path ? text_next(run_path, end) : NULL;
    for (at = needed; at && *at;)
        at = text_next(at, end);
    if (at)
        at = text_next(at, end);
    if (!at)
        return false;
    *ret_closure = (struct closure_note){
        .run_path = run_path,
        .needed = needed,
        .rows = {.at = at, .end = end, .cursor = at, .width = 3},
    };
    return true;
}

bool closure_is_for(const struct closure_note *closure, const char *run_path,
                    const char *(*next)(void *data), void *data)
{
    const char *noted = closure->needed, *name;

    if (!text_same(closure->run_path, run_path ? run_path : ""))
        return false;
    for (; *noted; noted = text_next(noted, closure->rows.end)) {
        name = next(data);
        if (!name || !text_same(noted, name))
            return false;
    }
    return !next(data);
}

bool resolution_open(struct rows *ret_rows, const void *descriptor, uint64_t size)
{
    const char *at = descriptor;

    if (!is_closed(at, size))
        return false;
    *ret_rows = (struct rows){.at = at, .end = at + size, .cursor = at, .width = 2};
    return true;
}

/* One row. False: there is none any more. */
static bool row_read(const struct rows *rows, const char **at, const char **field)
{
    if (!*at || !**at)
        return false;
    for (unsigned i = 0; i < rows->width; i++) {
        if (!*at)
            return false;
        field[i] = *at;
        *at = text_next(*at, rows->end);
    }
    return true;
}

/* Requests come in the order in which the note was written, so the next row is usually the one. */
const char *rows_find(struct rows *rows, const char *requester, const char *name)
{
    const char *at = rows->cursor, *stop = NULL, *field[3] = {0};

    for (int turn = 0; rows->at && turn < 2; turn++) {
        while (at != stop && row_read(rows, &at, field)) {
            const char *list = field[rows->width - 1];

            if (!text_same(field[rows->width - 2], name) ||
                (rows->width == 3 && !text_same(field[0], requester)))
                continue;
            rows->cursor = at ? at : rows->at;
            return *list ? list : NULL;
        }
        stop = rows->cursor;
        at = rows->at;
    }
    return NULL;
}
