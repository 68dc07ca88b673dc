#include "scanner/crypto.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

struct digest {
    crypto_hash_sha256_state state;
};

static void start_library(void)
{
    if (sodium_init() < 0) /* may be called again, by any thread */
        abort();
}

struct digest *digest_new(void)
{
    struct digest *d = malloc(sizeof(*d));

    start_library();
    if (!d)
        abort();
    digest_start(d);
    return d;
}

void digest_free(struct digest *d)
{
    free(d);
}

void digest_start(struct digest *d)
{
    (void)crypto_hash_sha256_init(&d->state);
}

void digest_add(struct digest *d, const void *bytes, size_t n)
{
    (void)crypto_hash_sha256_update(&d->state, bytes, n);
}

const char *digest_text(struct digest *d, struct arena *arena)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof(hash) + 1];

    (void)crypto_hash_sha256_final(&d->state, hash);
    (void)sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
    return arena_printf(arena, "sha256:%s", hex);
}

/* The bytes behind the colon of "<name>:<base64>"; the name's length, 0 when it is not that. */
static size_t read_named(const char *text, unsigned char *bytes, size_t size)
{
    const char *colon = strchr(text, ':');
    size_t n = 0;

    if (!colon || colon == text ||
        sodium_base642bin(bytes, size, colon + 1, strlen(colon + 1), NULL, &n, NULL,
                          sodium_base64_VARIANT_ORIGINAL) < 0 ||
        n != size)
        return 0;
    return (size_t)(colon - text);
}

int public_key_read(const char *text, struct arena *arena, struct public_key *ret_key,
                    struct err *err)
{
    size_t len;

    _Static_assert(PUBLIC_KEY_BYTES == crypto_sign_PUBLICKEYBYTES, "Ed25519");
    start_library();
    len = read_named(text, ret_key->bytes, sizeof(ret_key->bytes));
    if (len == 0)
        return err_set(err, EINVAL, "'%s' is no public key: it is written NAME:BASE64", text);
    ret_key->name = arena_strndup(arena, text, len);
    return 0;
}

bool signature_is_good(const char *signature, const char *message, const struct public_key *key,
                       size_t n_keys)
{
    unsigned char bytes[crypto_sign_BYTES];
    const size_t len = read_named(signature, bytes, sizeof(bytes));

    for (size_t i = 0; i < n_keys && len; i++)
        if (strlen(key[i].name) == len && memcmp(key[i].name, signature, len) == 0 &&
            crypto_sign_verify_detached(bytes, (const unsigned char *)message, strlen(message),
                                        key[i].bytes) == 0)
            return true;
    return false;
}
