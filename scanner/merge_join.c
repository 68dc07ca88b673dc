/*
 * What any input knows of packages, whichever input their edition is from.
 */
#include "scanner/merge_private.h"
#include "scanner/origin.h"

#include <stdlib.h>
#include <string.h>

/* A package of an input. */
struct joining {
    struct input *input;
    int64_t their_id, id; /* there, in the new index */
    bool places;          /* its store was read at more than one place */
};

/* Directories without objects that some run path made this input keep. */
static int join_directories(const struct joining *m, struct err *err)
{
    struct index *index = m->input->merge->index;
    struct stmt *s = input_prepare(m->input, MERGE_EMPTY_DIRECTORIES, err), *to;
    bool has = false;
    int r;

    if (!s)
        return -err->code;
    stmt_bind_int(s, 1, m->their_id);
    while ((r = stmt_step(s, err)) > 0) {
        r = index_has_directory(index, m->id, stmt_text(s, 0), &has, err);
        if (r == 0 && has)
            continue;
        to = r == 0 ? index_prepare(index, SQL_DIRECTORY_ADD, err) : NULL;
        if (!to) {
            stmt_reset(s);
            return -err->code;
        }
        stmt_bind_int(to, 1, index->next_directory++);
        stmt_bind_int(to, 2, m->id);
        stmt_bind_column(to, 3, s, 0);
        stmt_bind_int(to, 4, index->next_object);
        stmt_bind_int(to, 5, 0);
        stmt_bind_column(to, 6, s, 1);
        stmt_bind_blob(to, 7, "", 0);
        stmt_bind_int(to, 8, m->places ? 0 : stmt_int(s, 2));
        if ((r = stmt_run(to, err)) < 0) {
            stmt_reset(s);
            return r;
        }
    }
    return r;
}

static int join_package(struct input *input, struct stmt *row, uint32_t number, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct merge *merge = input->merge;
    const struct merged_package *p = &merge->package[number];
    const struct merged_store *store = merge_store(merge, stmt_text(row, P_STORE));
    const struct edition edition = edition_of(input, row, &a);
    const struct joining m = {input, edition.id, p->id, store && store->places};
    int r = index_begin(merge->index, err);

    if (edition.id <= 0 || edition.id >= IDS_MAX)
        return input_damaged(input, err);
    if ((size_t)edition.id >= input->n_packages) {
        const size_t n = (size_t)edition.id * 2 + 256;

        input->package = realloc(input->package, n * sizeof(*input->package));
        if (!input->package)
            abort();
        memset(input->package + input->n_packages, 0,
               (n - input->n_packages) * sizeof(*input->package));
        input->n_packages = n;
    }
    input->package[edition.id] = (struct joined){p->id, edition_agrees(&edition, &p->edition)};
    if (r < 0 || !input->package[edition.id].agrees || p->edition.in == input->number)
        return r;
    return join_directories(&m, err);
}

static int join_references(struct input *input, struct err *err)
{
    struct stmt *s = input_prepare(input, MERGE_REFERENCES, err);
    int r;

    if (!s)
        return -err->code;
    while ((r = stmt_step(s, err)) > 0) {
        const int64_t from = stmt_int(s, 0), to = stmt_int(s, 1);

        if (from <= 0 || to <= 0 || (size_t)from >= input->n_packages ||
            (size_t)to >= input->n_packages || !input->package[from].agrees ||
            !input->package[to].id)
            continue;
        r = index_add_reference(input->merge->index, input->package[from].id, input->package[to].id,
                                err);
        if (r < 0) {
            stmt_reset(s);
            return r;
        }
    }
    return r;
}

static int join_origins(struct input *input, struct err *err)
{
    struct stmt *s = input_prepare(input, MERGE_ORIGINS, err);
    int r = s ? 0 : -err->code;

    while (s && (r = stmt_step(s, err)) > 0) {
        r = origin_join(input->merge->db, s, err);
        if (r < 0) {
            stmt_reset(s);
            return r;
        }
    }
    return r;
}

int merge_join(struct input *input, struct err *err)
{
    int r = input_packages(input, join_package, err);

    if (r == 0)
        r = join_references(input, err);
    if (r == 0)
        r = index_begin(input->merge->index, err);
    if (r == 0)
        r = join_origins(input, err);
    return r < 0 ? r : index_tick(input->merge->index, err);
}
