#include "scanner/fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    TRIES = 5,
    CONNECT_MS = 15000,
    IDLE_MS = 30000,
    PAUSE_MS = 500,
    PAUSE_MAX_MS = 60000,
    REDIRECTIONS = 5,
    URL_MAX_BYTES = 8192,
    REST_MAX = 64 * 1024, /* bytes: to let them come costs less than another connection */
};

struct fetcher {
    struct fetch_policy policy;
    CURL *curl;
    unsigned random;
};

/* One fetch while it goes on. */
struct transfer {
    const struct fetch *fetch;
    CURL *curl;
    struct fetch_answer *answer;
    struct err *err;
    const char *url; /* as shown */
    int stopped;     /* by the sink: 1 or negative errno */
    bool bad_range;  /* a range was asked for, and is not what comes */
    bool given;      /* the sink has had something, in any try */
    bool enough;     /* what still comes is ignored */
    uint64_t rest;   /* of the range, when it was enough */
};

static unsigned or_default(unsigned value, unsigned fallback)
{
    return value ? value : fallback;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start_library(void)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        abort();
}

struct fetcher *fetcher_new(const struct fetch_policy *policy)
{
    struct fetcher *f = calloc(1, sizeof(*f));
    struct timespec now;

    (void)pthread_once(&once, start_library);
    if (!f || !(f->curl = curl_easy_init()))
        abort();
    f->policy = *policy;
    f->policy.tries = or_default(policy->tries, TRIES);
    f->policy.connect_ms = or_default(policy->connect_ms, CONNECT_MS);
    f->policy.idle_ms = or_default(policy->idle_ms, IDLE_MS);
    f->policy.pause_ms = or_default(policy->pause_ms, PAUSE_MS);
    f->policy.pause_max_ms = or_default(policy->pause_max_ms, PAUSE_MAX_MS);
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    f->random = (unsigned)now.tv_nsec ^ (unsigned)(uintptr_t)f;
    return f;
}

void fetcher_free(struct fetcher *f)
{
    if (!f)
        return;
    curl_easy_cleanup(f->curl);
    free(f);
}

/* A URL as it may be shown: no name and password before its host, nothing unprintable. */
static const char *shown(struct arena *arena, const char *url)
{
    const char *host = strstr(url, "://"), *at;

    if (!host)
        return str_escape(arena, url);
    host += 3;
    at = memchr(host, '@', strcspn(host, "/?#"));
    if (!at)
        return str_escape(arena, url);
    return str_escape(arena, arena_printf(arena, "%.*s%s", (int)(host - url), url, at + 1));
}

/* ---- what arrives */

static size_t stop(struct transfer *t, int why)
{
    t->stopped = why;
    return 0; /* other than what came: libcurl ends the transfer */
}

/* Is the answer's body what was asked for? Bodies of refusals are not. */
static bool is_wanted(struct transfer *t)
{
    const struct fetch *fetch = t->fetch;
    long status = 0;

    (void)curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status == 0) /* a file: libcurl has done the range */
        return true;
    if (fetch->size && status == 200 && fetch->from)
        t->bad_range = true;
    return status >= 200 && status < 300 && !t->bad_range;
}

/* The rest of a range that nobody needs: its end leaves a connection for the next one. */
static size_t pass_by(struct transfer *t, size_t n)
{
    if (n > t->rest)
        return stop(t, 1);
    t->rest -= n;
    return n;
}

static size_t take(char *bytes, size_t one UNUSED, size_t n, void *data)
{
    struct transfer *t = data;
    const struct fetch *fetch = t->fetch;
    size_t take = n;
    int r;

    if (!is_wanted(t))
        return t->bad_range ? 0 : n;
    if (t->enough)
        return pass_by(t, n);
    if (fetch->size && take > fetch->size - t->answer->bytes)
        take = (size_t)(fetch->size - t->answer->bytes);
    if (fetch->max_bytes && take > fetch->max_bytes - t->answer->bytes)
        return stop(t, err_set(t->err, EFBIG, "'%s': more than the %llu bytes allowed", t->url,
                               (unsigned long long)fetch->max_bytes));
    t->given = true;
    t->answer->bytes += take;
    r = fetch->sink && take ? fetch->sink(fetch->data, bytes, take, t->err) : 0;
    if (r == 0 && fetch->size && t->answer->bytes == fetch->size && take < n)
        r = 1; /* a server that ignores ranges goes on */
    t->rest = fetch->size - t->answer->bytes;
    t->enough = r == 1 && fetch->size && take == n && t->rest <= REST_MAX;
    return r && !t->enough ? stop(t, r) : n;
}

/* ---- one try */

#define SET(option, value) (void)curl_easy_setopt(t->curl, option, value)

static void set_method(const struct transfer *t)
{
    const struct fetch *fetch = t->fetch;

    if (!fetch->body)
        return;
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_POSTFIELDS, fetch->body);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(fetch->body));
}

static struct curl_slist *set_headers(const struct fetcher *f, const struct transfer *t,
                                      struct arena *arena)
{
    const struct fetch *fetch = t->fetch;
    struct curl_slist *list = NULL;

    if (fetch->accept)
        list = curl_slist_append(list, arena_printf(arena, "Accept: %s", fetch->accept));
    if (fetch->type)
        list = curl_slist_append(list, arena_printf(arena, "Content-Type: %s", fetch->type));
    if (fetch->body)
        list = curl_slist_append(list, "Expect:"); /* bodies are small: no question first */
    if (f->policy.bearer)
        list = curl_slist_append(list,
                                 arena_printf(arena, "Authorization: Bearer %s", f->policy.bearer));
    SET(CURLOPT_HTTPHEADER, list);
    return list;
}

static void set_certificates(const struct transfer *t)
{
    const char *file = getenv("NIX_SSL_CERT_FILE");

    if (!file || !*file)
        file = getenv("SSL_CERT_FILE");
    if (file && *file)
        SET(CURLOPT_CAINFO, file);
}

static void set_options(const struct fetcher *f, struct transfer *t, struct arena *arena)
{
    const struct fetch *fetch = t->fetch;
    const struct fetch_policy *p = &f->policy;

    curl_easy_reset(t->curl); /* connections stay */
    SET(CURLOPT_URL, fetch->url);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_USERAGENT, "stormlint/" VERSION);
    SET(CURLOPT_PROTOCOLS_STR, "http,https,file");
    SET(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 1L);
    SET(CURLOPT_MAXREDIRS, (long)REDIRECTIONS);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)p->connect_ms);
    SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
    SET(CURLOPT_LOW_SPEED_TIME, (long)(p->idle_ms + 999) / 1000);
    SET(CURLOPT_TIMEOUT_MS, (long)p->whole_ms);
    SET(CURLOPT_WRITEFUNCTION, take);
    SET(CURLOPT_WRITEDATA, t);
    if (p->unix_socket)
        SET(CURLOPT_UNIX_SOCKET_PATH, p->unix_socket);
    if (p->unix_socket || p->direct)
        SET(CURLOPT_NOPROXY, "*");
    if (fetch->size)
        SET(CURLOPT_RANGE, arena_printf(arena, "%llu-%llu", (unsigned long long)fetch->from,
                                        (unsigned long long)(fetch->from + fetch->size - 1)));
    else if (fetch->decode)
        SET(CURLOPT_ACCEPT_ENCODING, "");
    set_method(t);
    set_certificates(t);
}

/* ---- what came of it */

/* What libcurl says, in our terms. */
static int code_of(CURLcode code)
{
    switch ((int)code) {
    case CURLE_OPERATION_TIMEDOUT:
        return ETIMEDOUT;
    case CURLE_COULDNT_CONNECT:
        return ECONNREFUSED;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return EHOSTUNREACH;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return ECONNRESET;
    case CURLE_FILE_COULDNT_READ_FILE:
        return ENOENT;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return EINVAL;
    case CURLE_RANGE_ERROR:
    case CURLE_BAD_DOWNLOAD_RESUME:
        return ERANGE;
    default:
        return EIO;
    }
}

static int judge_status(const struct transfer *t)
{
    const long status = t->answer->status;

    if (status < 300)
        return 0;
    switch (status) {
    case 404:
    case 410:
        return err_set(t->err, ENOENT, "'%s': not there (HTTP status %ld)", t->url, status);
    case 401:
    case 403:
        return err_set(t->err, EACCES, "'%s': refused (HTTP status %ld)", t->url, status);
    case 416:
        return err_set(t->err, ERANGE, "'%s': has no such range (HTTP status 416)", t->url);
    default:
        return err_set(t->err, EIO, "'%s': HTTP status %ld", t->url, status);
    }
}

static int judge(const struct transfer *t, CURLcode code, const char *detail)
{
    if (t->enough || t->stopped)
        return t->stopped < 0 ? t->stopped : 0;
    if (t->bad_range)
        return err_set(t->err, ERANGE, "'%s': the server gives no ranges", t->url);
    if (code != CURLE_OK)
        return err_set(t->err, code_of(code), "'%s': %s", t->url,
                       *detail ? detail : curl_easy_strerror(code));
    return judge_status(t);
}

/* May it pass? Only what a later try could find otherwise. */
static bool may_pass(const struct transfer *t, int r)
{
    const long status = t->answer->status;

    if (t->stopped || t->bad_range)
        return false;
    if (r == -EIO && status >= 300)
        return status == 408 || status == 425 || status == 429 || status >= 500;
    return r == -ETIMEDOUT || r == -ECONNREFUSED || r == -ECONNRESET || r == -EHOSTUNREACH;
}

static int try_once(struct fetcher *f, struct transfer *t)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char detail[CURL_ERROR_SIZE] = "";
    struct curl_slist *headers;
    CURLcode code;

    set_options(f, t, &arena);
    SET(CURLOPT_ERRORBUFFER, detail);
    headers = set_headers(f, t, &arena);
    t->answer->bytes = 0;
    t->answer->status = 0;
    t->answer->tries++;
    code = curl_easy_perform(t->curl);
    (void)curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &t->answer->status);
    if (code == CURLE_OK && t->answer->status == 0)
        t->answer->status = t->fetch->size ? 206 : 200;
    curl_slist_free_all(headers);
    return judge(t, code, detail);
}

/* ---- patience */

/* Half of it, and up to as much again: many who were refused together do not come back together. */
static unsigned jitter(struct fetcher *f, unsigned ms)
{
    return ms / 2 + (unsigned)rand_r(&f->random) % (ms / 2 + 1);
}

/* How long to wait before the next try, ms; negative errno: it asks for more than we have. */
static int64_t pause_of(struct fetcher *f, const struct transfer *t)
{
    const struct fetch_policy *p = &f->policy;
    const unsigned doublings = t->answer->tries > 16 ? 16 : t->answer->tries - 1;
    uint64_t ms = (uint64_t)p->pause_ms << doublings;
    curl_off_t seconds = 0;

    if (ms > p->pause_max_ms)
        ms = p->pause_max_ms;
    ms = jitter(f, (unsigned)ms);
    (void)curl_easy_getinfo(t->curl, CURLINFO_RETRY_AFTER, &seconds);
    if (seconds > 0 && (uint64_t)seconds > p->pause_max_ms / 1000)
        return err_set(t->err, EAGAIN,
                       "'%s': HTTP status %ld, and it asks to come again in %lld s, which is "
                       "longer than the %u s of patience",
                       t->url, t->answer->status, (long long)seconds, p->pause_max_ms / 1000);
    if (seconds > 0 && (uint64_t)seconds * 1000 > ms)
        ms = (uint64_t)seconds * 1000;
    return (int64_t)ms;
}

static void sleep_ms(unsigned ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        continue;
}

static int check(const struct fetch *fetch, const char *url, struct err *err)
{
    if (strlen(fetch->url) > URL_MAX_BYTES)
        return err_set(err, EINVAL, "a URL of more than %d bytes is not fetched", URL_MAX_BYTES);
    if (fetch->size && fetch->from > UINT64_MAX - fetch->size)
        return err_set(err, EINVAL, "'%s': no such range", url);
    return 0;
}

int fetch_run(struct fetcher *f, const struct fetch *fetch, struct fetch_answer *ret_answer,
              struct err *err)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct transfer t = {.fetch = fetch, .curl = f->curl, .answer = ret_answer, .err = err};
    int r;

    *ret_answer = (struct fetch_answer){0};
    t.url = shown(&arena, fetch->url);
    r = check(fetch, t.url, err);
    while (r == 0) {
        int64_t ms;

        t.stopped = 0;
        r = try_once(f, &t);
        if (r == 0 || !may_pass(&t, r) || ret_answer->tries >= f->policy.tries ||
            (t.given && !fetch->restart))
            break;
        ms = pause_of(f, &t);
        if (ms < 0)
            return (int)ms;
        if (f->policy.pausing)
            f->policy.pausing(f->policy.data, err->text, (unsigned)ms);
        sleep_ms((unsigned)ms);
        if (t.given)
            fetch->restart(fetch->data);
        r = 0;
    }
    return r;
}

/* ---- the whole as text */

static int add_text(void *data, const void *bytes, size_t n, struct err *err UNUSED)
{
    str_add_n(data, bytes, n);
    return 0;
}

static void empty_text(void *data)
{
    struct str *text = data;

    text->len = 0;
}

int fetch_text(struct fetcher *f, const char *url, const char *accept, uint64_t max_bytes,
               struct str *ret_text, struct err *err)
{
    struct str text = {.arena = ret_text->arena};
    struct fetch fetch = {.url = url,
                          .accept = accept,
                          .sink = add_text,
                          .restart = empty_text,
                          .data = &text,
                          .max_bytes = max_bytes,
                          .decode = true};
    struct fetch_answer answer;
    const int r = fetch_run(f, &fetch, &answer, err);

    if (r < 0)
        return r;
    str_add_n(&text, "", 0);
    *ret_text = text;
    return 0;
}
