/* Bodies of answers: shared, compressed once, sealed with their headers. */
#include "server/gzip.h"
#include "server/http.h"

#include <stdlib.h>
#include <string.h>

struct http_body *http_body(char *bytes, size_t len)
{
    struct http_body *body = calloc(1, sizeof(*body));

    if (!body)
        abort();
    body->bytes = bytes;
    body->len = len;
    body->references = 1;
    pthread_mutex_init(&body->lock, NULL);
    return body;
}

struct http_body *http_body_ref(struct http_body *body)
{
    __atomic_add_fetch(&body->references, 1, __ATOMIC_RELAXED);
    return body;
}

/* The texts of an answer, one after the other; NULL: there are no more. */
static const char **text_of(struct http_answer *a, size_t i)
{
    const char **text[] = {&a->type,         &a->etag,           &a->cache_control,
                           &a->location,     &a->link,           &a->allow,
                           &a->authenticate, &a->content_policy, &a->allow_origin};

    return i < ARRAY_LEN(text) ? text[i] : NULL;
}

/* The answer and its texts are one piece of memory. */
void http_body_seal(struct http_body *body, const struct http_answer *answer)
{
    struct http_answer copy = *answer;
    const char **text;
    size_t size = sizeof(copy);
    char *at;

    copy.body = NULL;
    for (size_t i = 0; (text = text_of(&copy, i)); i++)
        size += *text ? strlen(*text) + 1 : 0;
    body->sealed = malloc(size);
    if (!body->sealed)
        abort();
    at = (char *)(body->sealed + 1);
    for (size_t i = 0; (text = text_of(&copy, i)); i++)
        if (*text) {
            char *const end = stpcpy(at, *text);

            *text = at;
            at = end + 1;
        }
    *body->sealed = copy;
}

const struct http_answer *http_body_sealed(const struct http_body *body)
{
    return body->sealed;
}

static void unseal(struct http_body *body)
{
    void **ready;

    for_each (ready, body->ready)
        if (*ready)
            body->drop(*ready);
    free(body->sealed);
}

void http_body_unref(struct http_body *body)
{
    if (!body || __atomic_sub_fetch(&body->references, 1, __ATOMIC_ACQ_REL))
        return;
    unseal(body);
    free(body->bytes);
    free(body->gzip);
    pthread_mutex_destroy(&body->lock);
    free(body);
}

bool http_body_pack(struct http_body *body)
{
    bool packed;

    pthread_mutex_lock(&body->lock);
    if (!body->tried)
        body->gzip = gzip_pack(body->bytes, body->len, &body->gzip_len);
    body->tried = true;
    packed = body->gzip != NULL;
    pthread_mutex_unlock(&body->lock);
    return packed;
}
