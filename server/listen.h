/*
 * Sockets: where the service listens, and what it tells the service manager.
 *
 * `ADDR:PORT` ("127.0.0.1:8080", "[::1]:8080", ":8080" on loopback), `unix:PATH`, or the socket
 * that systemd hands over (LISTEN_FDS), which wins over both.
 */
#pragma once

#include "base/base.h"

struct listener {
    int fd;
    bool is_public; /* others than this machine can reach it */
    char name[160]; /* as told: "http://127.0.0.1:8080", "unix:/run/x.sock" */
};

/* `where` NULL: the default. -EINVAL: it cannot be understood. */
MUST_CHECK int listen_open(const char *where, struct listener *ret_listener, struct err *err);

/* Tell the service manager ("READY=1"), if there is one. */
void notify_manager(const char *state);

/* How often it wants to hear WATCHDOG=1, in microseconds; 0: it does not. */
uint64_t notify_watchdog_us(void);
