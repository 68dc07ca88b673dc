/*
 * Fetching: the one door to libcurl. http, https and file; what others send is streamed to a
 * function and never trusted with more than it was allowed.
 *
 *	struct fetcher *fetcher = fetcher_new(&(struct fetch_policy){0});
 *	struct fetch f = {.url = "http://cache/nix-cache-info", .sink = keep, .data = &buffer,
 *	                  .max_bytes = 65536};
 *	r = fetch_run(fetcher, &f, &answer, &err);
 *	fetcher_free(fetcher);
 *
 * A fetcher keeps connections, so fetch many things with one; it belongs to one thread at a time.
 * What may pass (lost connections, time-outs, 408, 425, 429, 5xx) is tried again, each time after a
 * longer pause and never before the server's Retry-After. Proxies are the environment's, as curl(1)
 * takes them (http_proxy, https_proxy, all_proxy, no_proxy), and so are certificates
 * (NIX_SSL_CERT_FILE, SSL_CERT_FILE). Redirections go to http and https only.
 */
#pragma once

#include "base/str.h"

struct fetcher;

/* How patient a fetcher is; 0 anywhere: the default. */
struct fetch_policy {
    unsigned tries;        /* of one fetch, the first included; default 5 */
    unsigned connect_ms;   /* until a connection stands; default 15000 */
    unsigned idle_ms;      /* without a byte; whole seconds; default 30000 */
    unsigned whole_ms;     /* of one try; default: no limit */
    unsigned pause_ms;     /* before the second try, doubled each time, jittered; default 500 */
    unsigned pause_max_ms; /* longest pause, Retry-After's too: more is a failure; default 60000 */
    const char *unix_socket; /* connect to this socket instead; NULL: to the URL's host */
    bool direct;        /* no proxy, whatever the environment says; a unix socket has none anyway */
    const char *bearer; /* token of requests, not sent on to other hosts; NULL: none */
    void (*pausing)(void *data, const char *why,
                    unsigned ms); /* told before a pause; may be NULL */
    void *data;
};

struct fetch {
    const char *url;
    /*
     * Takes what arrives. 0: go on; 1: enough, the fetch ends well; negative errno with `err` set:
     * it ends with that. Then nothing more is given to it. May be NULL.
     */
    int (*sink)(void *data, const void *bytes, size_t n, struct err *err);
    /*
     * What the sink was given is void, it starts anew. NULL: once the sink was given something, a
     * fetch that breaks is not tried again.
     */
    void (*restart)(void *data);
    void *data;
    uint64_t max_bytes;  /* more is a failure, -EFBIG; 0: no limit */
    uint64_t from, size; /* only these bytes; size 0: everything */
    bool decode;         /* undo the Content-Encodings that libcurl knows; not with a range */
    const char *accept;  /* media type asked for; NULL: any */
    const char *body;    /* POST this text; NULL: GET */
    const char *type;    /* media type of the body */
};

struct fetch_answer {
    long status;    /* of HTTP; 200 and 206 for files; 0: none came */
    uint64_t bytes; /* given to the sink in the last try */
    unsigned tries;
};

struct fetcher *fetcher_new(const struct fetch_policy *policy);
void fetcher_free(struct fetcher *fetcher);

/*
 * 0, or: -ENOENT there is none (404, 410), -EACCES not for us (401, 403; S3 says that of what is
 * not there, too), -EFBIG more than max_bytes, -ERANGE a server that gives no ranges, -ETIMEDOUT,
 * -ECONNREFUSED, -EHOSTUNREACH no such host, -ECONNRESET cut off, -EAGAIN asked to come again later than pause_max_ms, -EINVAL
 * no URL that can be fetched, -EIO anything else. The sentence names the URL, without its password.
 * `ret_answer` is filled in any case.
 */
MUST_CHECK int fetch_run(struct fetcher *fetcher, const struct fetch *fetch,
                         struct fetch_answer *ret_answer, struct err *err);

/*
 * The whole of a URL of at most `max_bytes`, ended by a zero, in the arena of `ret_text`. `accept`:
 * as above.
 */
MUST_CHECK int fetch_text(struct fetcher *fetcher, const char *url, const char *accept,
                          uint64_t max_bytes, struct str *ret_text, struct err *err);
