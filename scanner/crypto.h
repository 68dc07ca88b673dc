/*
 * Hashes and signatures of what others send: the one door to libsodium.
 *
 *	struct digest *d = digest_new();
 *	digest_start(d); digest_add(d, bytes, n); digest_text(d, &arena);	"sha256:<base16>"
 *
 * Keys and signatures are Nix's: "<name>:<base64>", Ed25519. Safe in several threads.
 */
#pragma once

#include "base/arena.h"

/* SHA-256, bit by bit. One thread at a time. */
struct digest;
struct digest *digest_new(void);
void digest_free(struct digest *digest);
void digest_start(struct digest *digest);
void digest_add(struct digest *digest, const void *bytes, size_t n);
/* Of all that was added, in the form that Nix's database has; afterwards it has to be started. */
const char *digest_text(struct digest *digest, struct arena *arena);

enum { PUBLIC_KEY_BYTES = 32 };

struct public_key {
    const char *name;
    unsigned char bytes[PUBLIC_KEY_BYTES];
};

/* Read "<name>:<base64>"; -EINVAL when it is none. The name is the arena's. */
MUST_CHECK int public_key_read(const char *text, struct arena *arena, struct public_key *ret_key,
                               struct err *err);

/* Is `signature` one of `message`, made with one of the keys? */
bool signature_is_good(const char *signature, const char *message, const struct public_key *key,
                       size_t n_keys);
