/*
 * Any bytes on a connection to the service: it answers or closes, and answers the next one.
 *
 * There is no index and nothing can be written. What is under test are heads, paths, queries and
 * conditions as libmicrohttpd hands them over, and that nothing of an answer is forgotten (asan).
 */
#include "server/service.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    WAIT_MS = 15000, /* less than the search allows one input */
    SILENCE_MS = 5,  /* what waits for more is closed by the client */
};

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t address_len;

static int listener(void)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "stormlint-fuzz-%d",
                   getpid());
    address_len = (socklen_t)(sizeof(sa_family_t) + 1 + strlen(address.sun_path + 1));
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, address_len) < 0 || listen(fd, 64) < 0)
        abort();
    return fd;
}

static void start(void)
{
    static const char *stores[] = {"/nix/store"};
    static struct policy policy = {.name = "fuzz", .store = stores, .n_stores = 1};
    static struct service_options options = {
        .index = "/nowhere/index.db", .cpu = "x86-64-v3", .policy = &policy, .cors = "*"};
    struct service *service;
    struct http *http;
    struct err err;

    (void)signal(SIGPIPE, SIG_IGN);
    if (service_new(&options, &service, &err) < 0 ||
        http_start(&(struct http_options){.fd = listener(),
                                          .ops = &service_ops,
                                          .data = service,
                                          .timeout_s = 10}, /* for what is never completed */
                   &http, &err) < 0)
        abort();
    service_set_http(service, http);
    if (service_start(service, &err) < 0)
        abort();
}

static int64_t now_ms(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The search has an alarm every few seconds, which interrupts connect() and poll(). */
static void join(int fd)
{
    while (connect(fd, (struct sockaddr *)&address, address_len) < 0)
        if (errno != EINTR)
            abort();
}

/* Is there something to read, or the end, within that time? */
static bool comes(int fd, int wait_ms)
{
    const int64_t until = now_ms() + wait_ms;
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int64_t left = wait_ms;
    int n;

    do
        n = poll(&poll_fd, 1, (int)left);
    while (n < 0 && errno == EINTR && (left = until - now_ms()) > 0);
    return n > 0;
}

/* Send, and keep what comes until the other side closes (true) or is silent. */
static bool exchange(const void *bytes, size_t size, char *answer, size_t max, int wait_ms,
                     size_t *ret_got)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t got = 0;
    ssize_t n = 1;

    if (fd < 0)
        abort();
    join(fd);
    /* the other side may have had enough before all is sent */
    (void)!send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)!send(fd, "\r\n\r\n", 4, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n > 0 && comes(fd, wait_ms)) {
        char rest[4096];

        n = got < max ? read(fd, answer + got, max - got) : read(fd, rest, sizeof(rest));
        got += n > 0 && got < max ? (size_t)n : 0;
    }
    close(fd);
    *ret_got = got;
    return n <= 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char alive[] = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    static bool started;
    char answer[4096];
    size_t n;
    bool closed;

    if (!started)
        start();
    started = true;
    (void)exchange(data, size, answer, sizeof(answer), SILENCE_MS, &n);
    if (n && (n < 9 || memcmp(answer, "HTTP/1.", 7) != 0))
        abort();
    closed = exchange(alive, sizeof(alive) - 1, answer, sizeof(answer), WAIT_MS, &n);
    if (n < 15 || memcmp(answer, "HTTP/1.1 200 OK", 15) != 0) {
        (void)fprintf(stderr, "it does not answer any more: %s after %zu bytes: %.*s\n",
                      closed ? "closed" : "silent", n, (int)n, answer);
        abort();
    }
    return 0;
}
