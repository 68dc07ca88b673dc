#include "server/archive.h"

#include "base/log.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ID_LEN = 16 };

static const char SUFFIX[] = ".audit.ndjson";

struct archived {
    char id[20];
    json_t *summary;   /* what lists say; never changed */
    char *time;        /* of the audit: what lists are sorted by */
    struct held *held; /* NULL: not in memory; one reference */
    uint64_t used;
};

struct archive {
    char *dir;
    pthread_mutex_t lock;  /* of what follows */
    struct archived *item; /* the newest first */
    size_t n;
    uint64_t uses;
    unsigned revision; /* atomic: every request asks for it */
};

/* ---- what lists say */

static json_t *summary_json(const char *id, const struct audit *a)
{
    json_t *json = json_object();

    json_put_text(json, "id", id);
    json_put_text(json, "name", a->name);
    json_put_text(json, "source", a->source);
    json_put_text(json, "time", a->time);
    json_put_text(json, "cpu", a->cpu);
    json_put_text(json, "version", a->version);
    json_put_int(json, "model", a->model);
    json_put(json, "roots", json_texts(a->root, a->n_roots));
    json_put(json, "incomplete", json_boolean(a->incomplete));
    json_put_int(json, "packages", (int64_t)a->n_packages);
    json_put_int(json, "programs", (int64_t)a->n_programs);
    json_put_int(json, "findings", (int64_t)a->n_findings);
    json_put_int(json, "errors", (int64_t)audit_count(a, SEVERITY_ERROR));
    json_put_int(json, "warnings", (int64_t)audit_count(a, SEVERITY_WARNING));
    json_put_int(json, "notes", (int64_t)audit_count(a, SEVERITY_NOTE));
    json_put_int(json, "failed", (int64_t)audit_failed(a));
    json_put_int(json, "failed_after", (int64_t)audit_failed_after(a));
    return json;
}

/* ---- reading */

static void held_free(struct held *held)
{
    arena_release(&held->arena);
    free(held);
}

static int held_read(const char *path, const char *id, struct held **ret_held, struct err *err)
{
    struct held *held = calloc(1, sizeof(*held));
    int r;

    if (!held)
        abort();
    (void)snprintf(held->id, sizeof(held->id), "%s", id);
    held->references = 1;
    r = audit_read(path, &held->arena, &held->audit, err);
    if (r < 0) {
        held_free(held);
        return r;
    }
    *ret_held = held;
    return 0;
}

/* 64 bits over a file's bytes. */
static int hash_file(const char *path, uint64_t *ret_hash, struct err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    unsigned char block[16384];
    uint64_t hash = 14695981039346656037u;
    ssize_t n = 0;

    if (fd < 0)
        return err_set(err, errno, "the audit cannot be read: %s", strerror(errno));
    while ((n = read(fd, block, sizeof(block))) > 0)
        for (ssize_t i = 0; i < n; i++)
            hash = (hash ^ block[i]) * 1099511628211u;
    (void)close(fd);
    if (n < 0)
        return err_set(err, EIO, "the audit cannot be read");
    *ret_hash = hash;
    return 0;
}

static char *path_of(const struct archive *archive, const char *id)
{
    char *path;

    if (asprintf(&path, "%s/%s%s", archive->dir, id, SUFFIX) < 0)
        abort();
    return path;
}

/* With the lock held. */
static struct archived *find(struct archive *archive, const char *id)
{
    if (!strcmp(id, "latest"))
        return archive->n ? &archive->item[0] : NULL;
    for (size_t i = 0; i < archive->n; i++)
        if (!strcmp(archive->item[i].id, id))
            return &archive->item[i];
    return NULL;
}

/* With the lock held: the list stays sorted, the newest first, by the audits' own times. */
static void insert(struct archive *archive, const struct held *held)
{
    struct archived fresh = {.summary = summary_json(held->id, &held->audit),
                             .time = strdup(held->audit.time ? held->audit.time : "")};
    size_t at = 0;

    memcpy(fresh.id, held->id, sizeof(fresh.id));
    if (!fresh.time)
        abort();
    while (at < archive->n && strcmp(archive->item[at].time, fresh.time) > 0)
        at++;
    archive->item = realloc(archive->item, (archive->n + 1) * sizeof(*archive->item));
    if (!archive->item)
        abort();
    memmove(archive->item + at + 1, archive->item + at, (archive->n - at) * sizeof(fresh));
    archive->item[at] = fresh;
    archive->n++;
    __atomic_add_fetch(&archive->revision, 1, __ATOMIC_RELEASE);
}

static bool is_id(const char *name, char id[20])
{
    if (strlen(name) != ID_LEN + strlen(SUFFIX) || strcmp(name + ID_LEN, SUFFIX) != 0 ||
        strspn(name, "0123456789abcdef") != ID_LEN)
        return false;
    (void)snprintf(id, 20, "%.16s", name);
    return true;
}

/* ---- opening */

static void load(struct archive *archive, const char *id)
{
    char *path = path_of(archive, id);
    struct held *held;
    struct err err;

    if (held_read(path, id, &held, &err) < 0) {
        log_warn("%s, skipping", err.text);
    } else {
        insert(archive, held);
        held_free(held);
    }
    free(path);
}

int archive_open(const char *dir, bool writable, struct archive **ret_archive, struct err *err)
{
    struct archive *archive = calloc(1, sizeof(*archive));
    const struct dirent *entry;
    char id[20];
    DIR *folder;

    if (!archive || !(archive->dir = strdup(dir)))
        abort();
    pthread_mutex_init(&archive->lock, NULL);
    if (writable && mkdir(dir, 0750) < 0 && errno != EEXIST) {
        const int r = err_set(err, errno, "state directory '%s': %s", dir, strerror(errno));

        archive_close(archive);
        return r;
    }
    folder = opendir(dir);
    while (folder && (entry = readdir(folder)))
        if (is_id(entry->d_name, id))
            load(archive, id);
        else if (writable && str_starts(entry->d_name, "draft-"))
            (void)unlinkat(dirfd(folder), entry->d_name, 0); /* nobody is at it any more */
    if (folder)
        (void)closedir(folder);
    *ret_archive = archive;
    return 0;
}

static void let_go(struct held *held)
{
    if (held && __atomic_sub_fetch(&held->references, 1, __ATOMIC_ACQ_REL) == 0)
        held_free(held);
}

static void forget(struct archived *item)
{
    let_go(item->held);
    json_decref(item->summary);
    free(item->time);
}

void archive_close(struct archive *archive)
{
    if (!archive)
        return;
    for (size_t i = 0; i < archive->n; i++)
        forget(&archive->item[i]);
    pthread_mutex_destroy(&archive->lock);
    free(archive->item);
    free(archive->dir);
    free(archive);
}

/* ---- adding and removing */

char *archive_draft(const struct archive *archive, const char *name)
{
    char *path;

    if (asprintf(&path, "%s/draft-%s%s", archive->dir, name, SUFFIX) < 0)
        abort();
    return path;
}

/* Read it outside the lock: it may be large. */
static int check(const char *path, struct held **ret_held, struct err *err)
{
    char id[20];
    uint64_t hash;
    int r = hash_file(path, &hash, err);

    if (r < 0)
        return r;
    (void)snprintf(id, sizeof(id), "%016" PRIx64, hash);
    r = held_read(path, id, ret_held, err);
    if (r < 0) { /* what is wrong, without where the file lies */
        const char *why = strstr(err->text, "': ");
        struct err copy = *err;

        why = why ? copy.text + (why - err->text) + 3 : copy.text;
        return err_set(err, EBADMSG, "this is no whole audit: %s", why);
    }
    return 0;
}

int archive_add(struct archive *archive, const char *path, char ret_id[20], bool *ret_is_new,
                struct err *err)
{
    struct held *held = NULL;
    char *to;
    int r = check(path, &held, err);

    if (r < 0) {
        (void)unlink(path);
        return r;
    }
    to = path_of(archive, held->id);
    pthread_mutex_lock(&archive->lock);
    *ret_is_new = !find(archive, held->id);
    if (*ret_is_new && archive->n >= ARCHIVE_MAX)
        r = err_set(err, EMSGSIZE, "there are %d audits: remove some", (int)ARCHIVE_MAX);
    else if (*ret_is_new && rename(path, to) < 0)
        r = err_set(err, errno, "the audit cannot be kept: %s", strerror(errno));
    else if (*ret_is_new)
        insert(archive, held);
    pthread_mutex_unlock(&archive->lock);
    if (r < 0 || !*ret_is_new)
        (void)unlink(path);
    if (r == 0)
        memcpy(ret_id, held->id, sizeof(held->id));
    free(to);
    held_free(held);
    return r;
}

int archive_remove(struct archive *archive, const char *id, struct err *err)
{
    struct archived *item;
    char *path;
    int r = 0;

    pthread_mutex_lock(&archive->lock);
    item = strcmp(id, "latest") != 0 ? find(archive, id) : NULL;
    if (!item) {
        r = err_set(err, ENOENT, "there is no such audit");
    } else {
        const size_t at = (size_t)(item - archive->item);

        path = path_of(archive, item->id);
        (void)unlink(path);
        free(path);
        forget(item);
        archive->n--;
        memmove(item, item + 1, (archive->n - at) * sizeof(*item));
        __atomic_add_fetch(&archive->revision, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&archive->lock);
    return r;
}

/* ---- looking */

/* With the lock held: the ones used longest ago leave the memory. */
static void make_room(struct archive *archive)
{
    struct archived *oldest = NULL;
    size_t held = 0;

    for (size_t i = 0; i < archive->n; i++) {
        struct archived *item = &archive->item[i];

        if (!item->held)
            continue;
        held++;
        if (!oldest || item->used < oldest->used)
            oldest = item;
    }
    if (held > ARCHIVE_HELD && oldest) {
        let_go(oldest->held);
        oldest->held = NULL;
    }
}

int archive_take(struct archive *archive, const char *id, struct held **ret_held, struct err *err)
{
    struct archived *item;
    struct held *held = NULL;
    char name[20] = "", *path;
    int r;

    pthread_mutex_lock(&archive->lock);
    item = find(archive, id);
    if (item) {
        memcpy(name, item->id, sizeof(name));
        item->used = ++archive->uses;
        held = item->held;
        if (held)
            __atomic_add_fetch(&held->references, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&archive->lock);
    if (!item)
        return err_set(err, ENOENT, "there is no audit '%.40s'", id);
    if (!held) {
        path = path_of(archive, name);
        r = held_read(path, name, &held, err);
        free(path);
        if (r < 0)
            return err_set(err, EIO, "the audit cannot be read any more");
        pthread_mutex_lock(&archive->lock);
        item = find(archive, name);
        if (item && !item->held) {
            item->held = held;
            __atomic_add_fetch(&held->references, 1, __ATOMIC_RELAXED);
            make_room(archive);
        }
        pthread_mutex_unlock(&archive->lock);
    }
    *ret_held = held;
    return 0;
}

void archive_give(struct archive *archive, struct held *held)
{
    (void)archive;
    let_go(held);
}

json_t *archive_list(struct archive *archive)
{
    json_t *list = json_array();

    pthread_mutex_lock(&archive->lock);
    for (size_t i = 0; i < archive->n; i++)
        json_push(list, json_deep_copy(archive->item[i].summary));
    pthread_mutex_unlock(&archive->lock);
    return list;
}

json_t *archive_one(struct archive *archive, const char *id)
{
    const struct archived *item;
    json_t *json;

    pthread_mutex_lock(&archive->lock);
    item = find(archive, id);
    json = item ? json_deep_copy(item->summary) : NULL;
    pthread_mutex_unlock(&archive->lock);
    return json;
}

char *archive_file(struct archive *archive, const char *id)
{
    const struct archived *item;
    char *path;

    pthread_mutex_lock(&archive->lock);
    item = find(archive, id);
    path = item ? path_of(archive, item->id) : NULL;
    pthread_mutex_unlock(&archive->lock);
    return path;
}

unsigned archive_revision(struct archive *archive)
{
    return __atomic_load_n(&archive->revision, __ATOMIC_ACQUIRE);
}
