#include "scanner/cache.h"

#include "base/str.h"
#include "scanner/listing.h"
#include "scanner/unpack.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    INFO_MAX = 64 * 1024, /* bytes of nix-cache-info */
    HASH_LEN = 32,
};

struct cache {
    struct arena arena;
    struct cache_options options;
    const char *url; /* without a slash at the end */
};

struct cache_reader {
    const struct cache *cache;
    struct fetcher *fetcher;
    struct unpack *unpack;
    struct nar *nar;
    struct nar_walk *walk;
    struct digest *digest;
    struct arena arena; /* of the package at hand */

    /* of the archive at hand */
    const struct narinfo *info;
    const struct nar_only *only;
    uint64_t nar_bytes;
    struct cache_walk *result;
};

/* ---- the cache */

/* What `key` has in a text of lines "Key: value"; NULL: nothing. */
static const char *value_of(struct arena *arena, const char *text, const char *key)
{
    const size_t len = strlen(key);

    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        if (strncmp(text, key, len) == 0 && text[len] == ':') {
            const char *value = text + len + 1 + strspn(text + len + 1, " ");

            return arena_strndup(arena, value, strcspn(value, "\n"));
        }
    return NULL;
}

static int check_cache(struct cache *cache, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    struct fetcher *fetcher = fetcher_new(&cache->options.fetch);
    const char *store;
    struct err why;
    struct str text = {.arena = &a};
    int r = fetch_text(fetcher, arena_printf(&a, "%s/nix-cache-info", cache->url), NULL, INFO_MAX,
                       &text, &why);

    fetcher_free(fetcher);
    if (r == -ENOENT)
        return err_set(err, EINVAL, "'%s' is no binary cache: it has no nix-cache-info",
                       cache->url);
    if (r < 0) {
        *err = why;
        return r;
    }
    store = value_of(&a, text.text, "StoreDir");
    if (store && strcmp(store, cache->options.store) != 0)
        return err_set(err, EINVAL, "'%s' is a cache of store '%s', not of '%s'; see --store",
                       cache->url, store, cache->options.store);
    return 0;
}

int cache_open(const struct cache_options *options, struct cache **ret_cache, struct err *err)
{
    struct cache *cache = calloc(1, sizeof(*cache));
    char *url;
    size_t len;
    int r;

    if (!cache)
        abort();
    cache->options = *options;
    url = options->url[0] == '/' ? arena_printf(&cache->arena, "file://%s", options->url)
                                 : arena_strdup(&cache->arena, options->url);
    url[strcspn(url, "?#")] = '\0'; /* Nix writes its own settings behind it */
    for (len = strlen(url); len && url[len - 1] == '/';)
        url[--len] = '\0';
    cache->url = url;
    r = check_cache(cache, err);
    if (r < 0)
        cache_close(cache);
    else
        *ret_cache = cache;
    return r;
}

void cache_close(struct cache *cache)
{
    if (!cache)
        return;
    arena_release(&cache->arena);
    free(cache);
}

const char *cache_url(const struct cache *cache)
{
    return cache->url;
}

int cache_list(const struct cache *cache, void (*each)(void *data, const char *hash), void *data,
               struct err *err)
{
    struct dirent *e;
    DIR *dir;

    if (!str_starts(cache->url, "file://"))
        return err_set(err, ENOTSUP,
                       "'%s' cannot be asked for all that it has: name paths, or give a closure "
                       "file",
                       cache->url);
    dir = opendir(cache->url + strlen("file://"));
    if (!dir)
        return err_set(err, errno, "'%s': %s", cache->url, strerror(errno));
    while ((errno = 0, e = readdir(dir)))
        if (strlen(e->d_name) == HASH_LEN + strlen(".narinfo") && str_ends(e->d_name, ".narinfo")) {
            e->d_name[HASH_LEN] = '\0';
            each(data, e->d_name);
        }
    if (errno) {
        const int error = errno;

        (void)closedir(dir);
        return err_set(err, error, "'%s': %s", cache->url, strerror(error));
    }
    (void)closedir(dir);
    return 0;
}

/* ---- readers */

struct cache_reader *cache_reader_new(const struct cache *cache)
{
    struct cache_reader *reader = calloc(1, sizeof(*reader));

    if (!reader)
        abort();
    reader->cache = cache;
    reader->fetcher = fetcher_new(&cache->options.fetch);
    reader->unpack = unpack_new();
    reader->walk = nar_walk_new(cache->options.store);
    reader->nar = nar_new(&nar_walk_sink, reader->walk);
    reader->digest = digest_new();
    return reader;
}

void cache_reader_free(struct cache_reader *reader)
{
    if (!reader)
        return;
    fetcher_free(reader->fetcher);
    unpack_free(reader->unpack);
    nar_free(reader->nar);
    nar_walk_free(reader->walk);
    digest_free(reader->digest);
    arena_release(&reader->arena);
    free(reader);
}

static int add_text(void *data, const void *bytes, size_t n, struct err *err UNUSED)
{
    str_add_n(data, bytes, n);
    return 0;
}

/* A small text of the cache, unpacked if it is packed: caches keep them as they were stored. */
static int read_text(struct cache_reader *reader, const char *url, uint64_t max,
                     struct str *ret_text, struct err *err)
{
    struct str plain = {.arena = ret_text->arena};
    enum packing packing;
    int r = fetch_text(reader->fetcher, url, NULL, max, ret_text, err);

    if (r < 0 || (packing = packing_by_magic(ret_text->text, ret_text->len)) == PACKING_NONE)
        return r;
    r = unpack_start(reader->unpack, packing, max, err);
    if (r == 0)
        r = unpack_add(reader->unpack, ret_text->text, ret_text->len, add_text, &plain, err);
    if (r == 0)
        r = unpack_end(reader->unpack, err);
    str_add_n(&plain, "", 0);
    *ret_text = plain;
    return r;
}

int cache_info(struct cache_reader *reader, const char *hash, struct arena *arena,
               struct narinfo *ret_info, struct err *err)
{
    CLEANUP(arena_release) struct arena a = {0};
    const struct cache_options *o = &reader->cache->options;
    const char *url = arena_printf(&a, "%s/%s.narinfo", reader->cache->url, hash);
    struct str text = {.arena = &a};
    int r = read_text(reader, url, NARINFO_MAX, &text, err);

    if (r == -EACCES) /* what some stores answer instead of 404 */
        return err_set(err, ENOENT, "'%s': not there, or not for us", url);
    if (r == 0)
        r = narinfo_read(text.text, text.len, o->store, arena, ret_info, err);
    if (r == 0 && (strncmp(ret_info->base, hash, HASH_LEN) != 0 || ret_info->base[HASH_LEN] != '-'))
        r = err_set(err, EINVAL, "'%s' is about another path, '%s'", url, ret_info->base);
    if (r == 0 && o->n_keys && !narinfo_is_signed(ret_info, o->store, o->key, o->n_keys))
        r = err_set(err, EKEYREJECTED, "'%s' is not signed by any of the keys given", url);
    return r;
}

static const char *archive_url(struct cache_reader *reader)
{
    const char *url = reader->info->url;

    return str_starts(url, "http://") || str_starts(url, "https://")
               ? url
               : arena_printf(&reader->arena, "%s/%s", reader->cache->url, url);
}

/* ---- a whole archive */

static int take_unpacked(void *data, const void *bytes, size_t n, struct err *err)
{
    struct cache_reader *reader = data;

    reader->nar_bytes += n;
    digest_add(reader->digest, bytes, n);
    return nar_add(reader->nar, bytes, n, err);
}

static int take_packed(void *data, const void *bytes, size_t n, struct err *err)
{
    struct cache_reader *reader = data;

    reader->result->bytes += n;
    return unpack_add(reader->unpack, bytes, n, take_unpacked, reader, err);
}

/* Begin with the archive, or again. */
static int start_archive(struct cache_reader *reader, struct err *err)
{
    reader->nar_bytes = 0;
    digest_start(reader->digest);
    nar_start(reader->nar);
    nar_walk_begin(reader->walk, reader->info->base, reader->only);
    return unpack_start(reader->unpack, packing_by_name(reader->info->compression),
                        reader->info->nar_size, err);
}

static void restart_archive(void *data)
{
    struct err err;

    (void)start_archive(data, &err); /* what went once goes again */
}

static int check_archive(struct cache_reader *reader, struct err *err)
{
    const struct narinfo *info = reader->info;
    const char *hash;
    int r = unpack_end(reader->unpack, err);

    if (r == 0)
        r = nar_end(reader->nar, err);
    if (r < 0)
        return r;
    hash = digest_text(reader->digest, &reader->arena);
    if (reader->nar_bytes != info->nar_size || strcmp(hash, info->nar_hash) != 0)
        return err_set(err, EBADMSG, "the archive's hash is %s, its narinfo says %s", hash,
                       info->nar_hash);
    return 0;
}

static int walk_archive(struct cache_reader *reader, struct err *err)
{
    const struct narinfo *info = reader->info;
    struct fetch fetch = {.url = archive_url(reader),
                          .sink = take_packed,
                          .restart = restart_archive,
                          .data = reader,
                          .max_bytes = info->file_size};
    struct fetch_answer answer;
    int r = start_archive(reader, err);

    if (r == 0 && strcmp(info->compression, "none") == 0)
        fetch.max_bytes = info->nar_size;
    if (r == 0)
        r = fetch_run(reader->fetcher, &fetch, &answer, err);
    return r < 0 ? r : check_archive(reader, err);
}

/* ---- by the listing */

/* The content of the file at hand, as far as it is needed. */
static int take_content(void *data, const void *bytes, size_t n, struct err *err)
{
    struct cache_reader *reader = data;
    const int r = nar_walk_sink.content(reader->walk, bytes, n, err);

    reader->result->bytes += n;
    return r < 0 ? r : nar_walk_has_enough(reader->walk);
}

static void restart_content(void *data)
{
    nar_walk_again(((struct cache_reader *)data)->walk);
}

static int list_enter(void *data, const char *name, struct err *err)
{
    return nar_walk_sink.enter(((struct cache_reader *)data)->walk, name, err);
}

static int list_leave(void *data, struct err *err)
{
    return nar_walk_sink.leave(((struct cache_reader *)data)->walk, err);
}

static int list_link(void *data, const char *name, const char *target, struct err *err)
{
    return nar_walk_sink.link(((struct cache_reader *)data)->walk, name, target, err);
}

static int list_file(void *data, const char *name, bool executable, uint64_t size, uint64_t offset,
                     struct err *err)
{
    struct cache_reader *reader = data;
    const bool wanted = listing_may_be_elf(name, executable, size) && reader->result->ranged;
    const struct fetch fetch = {.url = archive_url(reader),
                                .sink = take_content,
                                .restart = restart_content,
                                .data = reader,
                                .from = offset,
                                .size = size};
    struct fetch_answer answer;
    int r;

    if (!wanted)
        nar_walk_pass(reader->walk);
    r = nar_walk_sink.file(reader->walk, name, executable, size, offset, err);
    return r < 0 || !wanted ? r : fetch_run(reader->fetcher, &fetch, &answer, err);
}

static int list_file_end(void *data, struct err *err)
{
    return nar_walk_sink.file_end(((struct cache_reader *)data)->walk, err);
}

static const struct nar_sink list_sink = {.enter = list_enter,
                                          .leave = list_leave,
                                          .link = list_link,
                                          .file = list_file,
                                          .file_end = list_file_end};

/* Does the listing tell enough, with the ranges of the archive that may be read? 1: it did. */
static int walk_listing(struct cache_reader *reader, struct err *err)
{
    const struct cache_options *o = &reader->cache->options;
    const char *url = arena_printf(&reader->arena, "%s/%.*s.ls", reader->cache->url, HASH_LEN,
                                   reader->info->base);
    struct listing_sum sum;
    struct err why;
    struct str text = {.arena = &reader->arena};
    int r = read_text(reader, url, LISTING_MAX, &text, &why);

    if (r == 0)
        r = listing_sum(text.text, text.len, &sum, &why);
    if (r < 0) /* many caches have none: the archive has everything */
        return 0;
    reader->result->bytes += text.len;
    reader->result->ranged = sum.candidates && o->ranges && sum.has_all_offsets && !reader->only &&
                             strcmp(reader->info->compression, "none") == 0;
    /* what is wanted besides has no objects */
    if (sum.candidates && !reader->result->ranged && !reader->only)
        return 0;
    nar_walk_begin(reader->walk, reader->info->base, reader->only);
    r = listing_read(text.text, text.len, &list_sink, reader, err);
    if (r < 0 && reader->result->ranged && r != -ERANGE)
        return r;
    reader->result->listed = r == 0 && !reader->result->ranged;
    return r == 0;
}

struct package_facts *cache_walk(struct cache_reader *reader, const struct narinfo *info,
                                 const struct nar_only *only, struct cache_walk *ret_walk)
{
    struct package_facts *f;
    struct err err;
    int r = 0;

    *ret_walk = (struct cache_walk){0};
    reader->info = info;
    reader->only = only;
    reader->result = ret_walk;
    if (!reader->cache->options.no_listings)
        r = walk_listing(reader, &err);
    if (r == 0) {
        ret_walk->ranged = false;
        r = walk_archive(reader, &err);
    }
    f = nar_walk_end(reader->walk);
    if (r < 0) { /* what was seen of it may be anything */
        package_facts_free(f);
        f = facts_new(info->base);
        facts_add_problem(f, "", "", true, err.text);
        ret_walk->error = r;
    }
    arena_release(&reader->arena);
    return f;
}
