/*
 * Fetching from a server that misbehaves by script: one connection, one line of the script.
 */
#include "base/str.h"
#include "scanner/fetch.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SCRIPT_MAX = 8 };

struct server {
    const char *answer[SCRIPT_MAX]; /* raw; NULL: the end of the script */
    char request[SCRIPT_MAX][2048];
    size_t n; /* connections answered */
    int fd;
    uint16_t port;
    pthread_t thread;
};

static const char RESET[] = "reset";
static const char SILENCE[] = "silence";

static void read_request(int fd, char *text, size_t size)
{
    size_t n = 0;

    while (n + 1 < size && !strstr(text, "\r\n\r\n")) {
        const ssize_t got = read(fd, text + n, size - 1 - n);

        if (got <= 0)
            break;
        n += (size_t)got;
        text[n] = '\0';
    }
}

static void answer(const char *text, int fd)
{
    const struct linger linger = {1, 0};

    if (text == RESET)
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    else if (text == SILENCE)
        (void)usleep(1500000);
    else
        (void)!write(fd, text, strlen(text));
    (void)close(fd);
}

static void *serve(void *data)
{
    struct server *s = data;

    while (s->n < SCRIPT_MAX && s->answer[s->n]) {
        const int fd = accept(s->fd, NULL, NULL);

        if (fd < 0)
            break;
        read_request(fd, s->request[s->n], sizeof(s->request[0]));
        answer(s->answer[s->n], fd);
        s->n++;
    }
    (void)close(s->fd);
    return NULL;
}

static void start(struct server *s)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);

    s->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(s->fd, 8), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &len), 0);
    s->port = ntohs(a.sin_port);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void end(struct server *s)
{
    (void)shutdown(s->fd, SHUT_RDWR);
    (void)pthread_join(s->thread, NULL);
}

#define OK           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
#define BROKEN       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhe"
#define STATUS(line) "HTTP/1.1 " line "\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"

/* What the sink of a test sees. */
struct seen {
    struct arena arena;
    struct str text;
    int restarts, answer;
    unsigned pauses;
};

static int keep(void *data, const void *bytes, size_t n, struct err *err UNUSED)
{
    struct seen *s = data;

    str_add_n(&s->text, bytes, n);
    return s->answer;
}

static void restart(void *data)
{
    struct seen *s = data;

    s->restarts++;
    s->text.len = 0;
}

static void pausing(void *data, const char *why UNUSED, unsigned ms UNUSED)
{
    ((struct seen *)data)->pauses++;
}

static int fetch(struct server *server, struct seen *seen, struct fetch f,
                 struct fetch_answer *ret_answer, struct err *err)
{
    const struct fetch_policy policy = {
        .tries = 3, .pause_ms = 2, .pause_max_ms = 2000, .pausing = pausing, .data = seen};
    struct fetcher *fetcher = fetcher_new(&policy);
    char url[64];
    int r;

    start(server);
    (void)snprintf(url, sizeof(url), "http://me:secret@127.0.0.1:%u/x", server->port);
    f.url = url;
    f.sink = keep;
    f.data = seen;
    seen->text.arena = &seen->arena;
    r = fetch_run(fetcher, &f, ret_answer, err);
    end(server);
    fetcher_free(fetcher);
    return r;
}

static const struct row {
    const char *name;
    const char *answer[SCRIPT_MAX];
    struct fetch fetch;
    int result;
    long status;
    unsigned tries;
    const char *text; /* what the sink has in the end; NULL: not asked */
    const char *says; /* in the error */
} rows[] = {
    {"plain", {OK}, {0}, 0, 200, 1, "hello", NULL},
    {"503, then well", {STATUS("503 Busy"), OK}, {0}, 0, 200, 2, "hello", NULL},
    {"reset, then well", {RESET, OK}, {0}, 0, 200, 2, "hello", NULL},
    {"cut off, then well", {BROKEN, OK}, {.restart = restart}, 0, 200, 2, "hello", NULL},
    {"cut off, no way back", {BROKEN, OK}, {0}, -ECONNRESET, 200, 1, "he", "127.0.0.1"},
    {"always busy",
     {STATUS("429 Slow"), STATUS("502 Bad"), STATUS("500 Worse"), OK},
     {0},
     -EIO,
     500,
     3,
     NULL,
     "HTTP status 500"},
    {"not there", {STATUS("404 No"), OK}, {0}, -ENOENT, 404, 1, NULL, "not there"},
    {"gone", {STATUS("410 No"), OK}, {0}, -ENOENT, 410, 1, NULL, "not there"},
    {"refused", {STATUS("403 No"), OK}, {0}, -EACCES, 403, 1, NULL, "refused"},
    {"too much", {OK}, {.max_bytes = 4}, -EFBIG, 200, 1, NULL, "4 bytes allowed"},
    {"just enough", {OK}, {.max_bytes = 5}, 0, 200, 1, "hello", NULL},
    {"retry-after",
     {"HTTP/1.1 503 No\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", OK},
     {0},
     0,
     200,
     2,
     "hello",
     NULL},
    {"retry-after, too late",
     {"HTTP/1.1 503 No\r\nRetry-After: 86400\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
     {0},
     -EAGAIN,
     503,
     1,
     NULL,
     "86400 s"},
    {"range",
     {"HTTP/1.1 206 Part\r\nContent-Range: bytes 1-3/5\r\nContent-Length: 3\r\n"
      "Connection: close\r\n\r\nell"},
     {.from = 1, .size = 3},
     0,
     206,
     1,
     "ell",
     NULL},
    {"range ignored", {OK}, {.from = 1, .size = 3}, -ERANGE, 200, 1, NULL, "no ranges"},
    {"range ignored, from the start", {OK}, {.size = 3}, 0, 200, 1, "hel", NULL},
    {"redirected to a file",
     {"HTTP/1.1 302 Go\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n"
      "Connection: close\r\n\r\n"},
     {0},
     -EINVAL,
     302,
     1,
     NULL,
     NULL},
    {"posted",
     {STATUS("202 Fine")},
     {.body = "{}", .type = "application/json"},
     0,
     202,
     1,
     "no",
     NULL},
};

static void test_script(void **state UNUSED)
{
    const struct row *row;

    for_each (row, rows) {
        struct server server = {0};
        struct seen seen = {0};
        struct fetch_answer got;
        struct err err = {0};
        int r;

        memcpy(server.answer, row->answer, sizeof(server.answer));
        r = fetch(&server, &seen, row->fetch, &got, &err);
        if (r != row->result || got.status != row->status || got.tries != row->tries)
            fail_msg("%s: %d (%s), status %ld after %u tries", row->name, r, err.text, got.status,
                     got.tries);
        assert_int_equal(seen.pauses, got.tries - 1);
        if (row->text)
            assert_string_equal(seen.text.text, row->text);
        if (row->says && !strstr(err.text, row->says))
            fail_msg("%s: '%s'", row->name, err.text);
        assert_null(strstr(err.text, "secret"));
        arena_release(&seen.arena);
    }
}

/* What is asked for is what was meant: the range, the body, the token. */
static void test_request(void **state UNUSED)
{
    struct server server = {.answer = {OK}};
    const struct fetch_policy policy = {.bearer = "t0k3n"};
    struct fetcher *fetcher = fetcher_new(&policy);
    struct fetch_answer got;
    struct err err;
    char url[64];

    start(&server);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/x", server.port);
    assert_int_equal(fetch_run(fetcher,
                               &(struct fetch){.url = url,
                                               .body = "{\"a\":1}",
                                               .type = "application/json",
                                               .accept = "text/plain"},
                               &got, &err),
                     0);
    end(&server);
    fetcher_free(fetcher);
    assert_non_null(strstr(server.request[0], "POST /x HTTP/1.1\r\n"));
    assert_non_null(strstr(server.request[0], "Authorization: Bearer t0k3n\r\n"));
    assert_non_null(strstr(server.request[0], "Content-Type: application/json\r\n"));
    assert_non_null(strstr(server.request[0], "Accept: text/plain\r\n"));
    assert_non_null(strstr(server.request[0], "User-Agent: stormlint/"));
}

static void test_enough(void **state UNUSED)
{
    struct server server = {.answer = {BROKEN}};
    struct seen seen = {.answer = 1};
    struct fetch_answer got;
    struct err err;

    assert_int_equal(fetch(&server, &seen, (struct fetch){0}, &got, &err), 0);
    assert_int_equal(got.tries, 1);
    arena_release(&seen.arena);
}

/* A server that says nothing does not hold us for ever. */
static void test_silence(void **state UNUSED)
{
    struct server server = {.answer = {SILENCE}};
    struct fetcher *fetcher = fetcher_new(&(struct fetch_policy){.tries = 1, .whole_ms = 200});
    struct fetch_answer got;
    struct err err;
    char url[64];

    start(&server);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/x", server.port);
    assert_int_equal(fetch_run(fetcher, &(struct fetch){.url = url}, &got, &err), -ETIMEDOUT);
    end(&server);
    fetcher_free(fetcher);
}

static void test_files(void **state UNUSED)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char path[] = "/tmp/stormlint-fetch-XXXXXX", url[64];
    const int fd = mkstemp(path);
    struct fetcher *fetcher = fetcher_new(&(struct fetch_policy){0});
    struct seen seen = {.text.arena = &seen.arena};
    struct str text = {.arena = &arena};
    struct fetch_answer got;
    struct err err;

    assert_int_equal(write(fd, "0123456789", 10), 10);
    (void)close(fd);
    (void)snprintf(url, sizeof(url), "file://%s", path);
    assert_int_equal(fetch_text(fetcher, url, NULL, 10, &text, &err), 0);
    assert_string_equal(text.text, "0123456789");
    assert_int_equal(fetch_text(fetcher, url, NULL, 9, &text, &err), -EFBIG);
    assert_int_equal(
        fetch_run(fetcher,
                  &(struct fetch){.url = url, .from = 2, .size = 3, .sink = keep, .data = &seen},
                  &got, &err),
        0);
    assert_string_equal(seen.text.text, "234");
    arena_release(&seen.arena);
    (void)unlink(path);
    assert_int_equal(fetch_text(fetcher, url, NULL, 10, &text, &err), -ENOENT);
    assert_int_equal(fetch_text(fetcher, "gopher://x/", NULL, 10, &text, &err), -EINVAL);
    assert_int_equal(fetch_text(fetcher, "", NULL, 10, &text, &err), -EINVAL);
    fetcher_free(fetcher);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_script), cmocka_unit_test(test_request),
        cmocka_unit_test(test_enough), cmocka_unit_test(test_silence),
        cmocka_unit_test(test_files),
    };

    /* a machine's proxies are no part of the tests */
    (void)setenv("no_proxy", "*", 1);
    return UNIT_RUN(tests);
}
