/*
 * Interned tables of the index: what is in memory, and what is written of it.
 */
#include "scanner/index_private.h"

#include <errno.h>
#include <string.h>

int64_t dictionary_id_n(struct dictionary *d, const char *text, size_t len)
{
    return (int64_t)intern_n(d->names, text, len)->id + 1;
}

int64_t dictionary_id(struct dictionary *dictionary, const char *text)
{
    return text ? dictionary_id_n(dictionary, text, strlen(text)) : 0;
}

int dictionary_store(struct index *index, struct dictionary *dictionary, struct err *err)
{
    const uint32_t n = dictionary->names ? intern_count(dictionary->names) : 0;
    struct stmt *s;
    int r = 0;

    if (dictionary->stored == n)
        return 0;
    s = index_prepare(index, dictionary->add, err);
    if (!s)
        return -err->code;
    for (; dictionary->stored < n && r == 0; dictionary->stored += r == 0) {
        const struct name *name = intern_name(dictionary->names, dictionary->stored);

        stmt_bind_int(s, 1, (int64_t)name->id + 1);
        stmt_bind_text_n(s, 2, name->text, name->len);
        r = stmt_run(s, err);
    }
    return r;
}

int dictionary_load(struct index *index, struct dictionary *dictionary, enum sql_id all,
                    enum sql_id add, struct err *err)
{
    struct stmt *s = index_prepare(index, all, err);
    int r;

    dictionary->names = intern_new();
    dictionary->add = add;
    if (!s)
        return -err->code;
    while ((r = stmt_step(s, err)) > 0) {
        const char *text = stmt_text(s, 0);

        if (!text || dictionary_id_n(dictionary, text, stmt_size(s, 0)) != stmt_int(s, 1)) {
            stmt_reset(s);
            return err_set(err, EINVAL, "the index is damaged: table '%s' has gaps or doubles",
                           index_sql[all].name);
        }
    }
    dictionary->stored = dictionary->opened = intern_count(dictionary->names);
    return r;
}
