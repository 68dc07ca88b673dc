#include "server/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024, FIRST_FD = 3, PORT_DEFAULT = 8417 };

/* ---- addresses */

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_UNIX)
        return true;
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;

        memcpy(&in, address, sizeof(in));
        return ntohl(in.sin_addr.s_addr) >> 24 == 127;
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in;

        memcpy(&in, address, sizeof(in));
        return IN6_IS_ADDR_LOOPBACK(&in.sin6_addr);
    }
    return false;
}

/* What the socket is bound to, in words. */
static int describe(struct listener *listener, struct err *err)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof(address);
    char host[64] = "?", port[16] = "?";

    if (getsockname(listener->fd, (struct sockaddr *)&address, &len) < 0)
        return err_set(err, errno, "the socket to listen on: %s", strerror(errno));
    listener->is_public = !is_loopback((struct sockaddr *)&address);
    if (address.ss_family == AF_UNIX) {
        const struct sockaddr_un *un = (const struct sockaddr_un *)&address;

        (void)snprintf(listener->name, sizeof(listener->name), "unix:%.*s",
                       (int)sizeof(un->sun_path), un->sun_path);
        return 0;
    }
    (void)getnameinfo((struct sockaddr *)&address, len, host, sizeof(host), port, sizeof(port),
                      NI_NUMERICHOST | NI_NUMERICSERV);
    (void)snprintf(listener->name, sizeof(listener->name),
                   address.ss_family == AF_INET6 ? "http://[%s]:%s" : "http://%s:%s", host, port);
    return 0;
}

/* "HOST:PORT" taken apart. False: it is none. */
static bool split(const char *where, char *host, size_t size, const char **ret_port)
{
    const char *colon = strrchr(where, ':'), *from = where, *to = colon;
    char *end;
    unsigned long port;

    if (!colon || !colon[1])
        return false;
    port = strtoul(colon + 1, &end, 10);
    if (*end || port > 65535 || colon[1] == '-' || colon[1] == '+' || colon[1] == ' ')
        return false;
    if (*from == '[' && to > from && to[-1] == ']') {
        from++;
        to--;
    } else if (memchr(from, ':', (size_t)(to - from))) {
        return false; /* an address of IPv6 without brackets: which colon is the port's? */
    }
    if ((size_t)(to - from) >= size)
        return false;
    (void)snprintf(host, size, "%.*s", (int)(to - from), from);
    if (!*host)
        (void)snprintf(host, size, "127.0.0.1");
    *ret_port = colon + 1;
    return true;
}

static int listen_tcp(const char *where, struct listener *listener, struct err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found;
    const char *port;
    const int on = 1;
    char host[80];
    int r;

    if (!split(where, host, sizeof(host), &port))
        return err_set(err, EINVAL,
                       "'%s' is nothing to listen on: ADDRESS:PORT or unix:PATH is wanted", where);
    r = getaddrinfo(!strcmp(host, "localhost") ? "127.0.0.1" : host, port, &hints, &found);
    if (r)
        return err_set(err, EINVAL, "'%s': %s (an address in numbers is wanted)", where,
                       gai_strerror(r));
    listener->fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd >= 0)
        (void)setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    r = listener->fd < 0 || bind(listener->fd, found->ai_addr, found->ai_addrlen) < 0 ||
        listen(listener->fd, BACKLOG) < 0;
    freeaddrinfo(found);
    return r ? err_set(err, errno, "cannot listen on '%s': %s", where, strerror(errno)) : 0;
}

/* A socket file that nobody answers on is a leftover: it is replaced. */
static bool is_leftover(const struct sockaddr_un *address)
{
    struct stat st;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool dead;

    if (fd < 0)
        return false;
    dead = stat(address->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
           connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
           errno == ECONNREFUSED;
    (void)close(fd);
    return dead;
}

static int listen_unix(const char *path, struct listener *listener, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (!*path || strlen(path) >= sizeof(address.sun_path))
        return err_set(err, EINVAL, "'unix:%s': a path of 1 to %zu bytes is wanted", path,
                       sizeof(address.sun_path) - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (is_leftover(&address))
        (void)unlink(path);
    listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd < 0 || bind(listener->fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(listener->fd, BACKLOG) < 0)
        return err_set(err, errno, "cannot listen on 'unix:%s': %s", path, strerror(errno));
    return 0;
}

/* The one socket that systemd opened for us. */
static bool handed_over(void)
{
    const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");

    return pid && n && strtol(pid, NULL, 10) == getpid() && !strcmp(n, "1");
}

int listen_open(const char *where, struct listener *ret_listener, struct err *err)
{
    struct listener listener = {.fd = -1};
    char usual[32];
    int r;

    (void)snprintf(usual, sizeof(usual), "127.0.0.1:%d", PORT_DEFAULT);
    if (!where)
        where = usual;
    if (handed_over()) {
        listener.fd = FIRST_FD;
        (void)fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC);
        (void)fcntl(FIRST_FD, F_SETFL, O_NONBLOCK);
        r = 0;
    } else if (!strncmp(where, "unix:", 5)) {
        r = listen_unix(where + 5, &listener, err);
    } else {
        r = listen_tcp(where, &listener, err);
    }
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    if (r == 0)
        r = describe(&listener, err);
    if (r < 0) {
        if (listener.fd >= 0)
            (void)close(listener.fd);
        return r;
    }
    *ret_listener = listener;
    return 0;
}

/* ---- the service manager */

void notify_manager(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    if (!path || (*path != '/' && *path != '@') || strlen(path) >= sizeof(address.sun_path))
        return;
    memcpy(address.sun_path, path, strlen(path));
    if (*path == '@')
        address.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
    (void)close(fd);
}

uint64_t notify_watchdog_us(void)
{
    const char *text = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

    if (!text || (pid && strtol(pid, NULL, 10) != getpid()))
        return 0;
    return strtoull(text, NULL, 10);
}
