/*
 * stormlint serve: the index over HTTP: JSON, metrics, pages.
 */
#include "base/log.h"
#include "cli/meta.h"
#include "cli/options.h"
#include "server/http.h"
#include "server/listen.h"
#include "server/service.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct serve_options {
    struct options common; /* of these only --db and --cpu */
    const char *listen;    /* NULL: the usual place */
    const char *policy;
    bool public_read_only;
    struct service_options service;
};

enum { STOP_MS = 15000 }; /* for requests in flight */

static int refuse(void *into UNUSED, const char *text, struct arena *arena UNUSED, struct err *err)
{
    return err_set(err, EINVAL, "'%s': there are no arguments", text);
}

static const struct flag rows[] = {
    {ROWS(struct serve_options, common, db_rows)},
    {"listen", "ADDRESS",
     "ADDRESS:PORT or unix:PATH (default: 127.0.0.1:8417); a socket handed over by systemd wins",
     INTO(struct serve_options, listen)},
    {"cpu", "NAME", "Whose numbers are shown (default: " CPU_POLICY ")",
     INTO(struct serve_options, common.cpu)},
    {"policy", "FILE", "What plans must not break (JSON)", INTO(struct serve_options, policy)},
    {ROWS(struct serve_options, service.meta, meta_rows)},
    {"token-file", "FILE",
     "Writing needs the token that is FILE's first line; without, nothing can be written",
     INTO(struct serve_options, service.token_file)},
    {"public-read-only", NULL,
     "Listen on an address that other machines reach, although there is no token",
     INTO(struct serve_options, public_read_only)},
    {"state", "DIR",
     "Where jobs are kept (default: $STATE_DIRECTORY, else the index's name with .d behind it)",
     INTO(struct serve_options, service.state)},
    {"web", "DIR", "Take the pages' files from DIR, not from the program",
     INTO(struct serve_options, service.web)},
    {"cors", "ORIGIN", "Let pages of ORIGIN ('*': any) read answers",
     INTO(struct serve_options, service.cors)},
    {"access-log", "FILE", "A JSON object for each request ('-': standard output)",
     INTO(struct serve_options, service.access_log)},
    {"no-plans", NULL, "Make plans only when they are asked for",
     INTO(struct serve_options, service.without_plans)},
    {NULL, "ARG", NULL, CALL(refuse)},
    {0},
};

static const struct flags flags = {
    .row = rows,
    .doc = "Serve the index over HTTP: JSON under /api/v1 (/openapi.json describes it), metrics, "
           "health, and pages.\v"
           "The index is only read; a new state of it is picked up by itself. SIGTERM ends when "
           "requests in flight are answered, SIGHUP reads the token and opens the log again. "
           "Exit code: 0; 2, an option or address is wrong; 4, the service cannot run.",
};

/* ---- setting up */

static void choose_state(struct serve_options *o, struct arena *arena)
{
    struct service_options *s = &o->service;
    const char *given = getenv("STATE_DIRECTORY");

    if (!s->state && given && *given)
        s->state = given;
    else if (!s->state)
        s->state = arena_printf(arena, "%s.d", s->index);
    s->state = options_absolute(arena, s->state);
}

static int check_options(struct serve_options *o, struct policy *policy, struct arena *arena,
                         struct err *err)
{
    struct service_options *s = &o->service;
    struct cpu cpu;
    int r = cpu_find(o->common.cpu ? o->common.cpu : CPU_POLICY, &cpu, err);

    if (r == 0 && o->policy)
        r = policy_read(o->policy, arena, policy, err);
    if (r < 0)
        return r;
    s->cpu = arena_strdup(arena, cpu.name);
    s->policy = policy;
    s->policy_file = o->policy ? options_absolute(arena, o->policy) : NULL;
    if (s->meta) {
        s->meta = options_absolute(arena, s->meta);
        if (access(s->meta, R_OK) < 0)
            return err_set(err, errno, "'%s': %s", s->meta, strerror(errno));
    }
    s->index = options_absolute(arena, options_db(&o->common, arena));
    s->program = "/proc/self/exe";
    choose_state(o, arena);
    return 0;
}

static int check_address(const struct serve_options *o, const struct listener *listener,
                         struct err *err)
{
    if (!listener->is_public || o->service.token_file || o->public_read_only)
        return 0;
    return err_set(err, EINVAL,
                   "%s can be reached from other machines: give --token-file, or "
                   "--public-read-only",
                   listener->name);
}

/* ---- running */

static void block_signals(sigset_t *ret_signals)
{
    (void)sigemptyset(ret_signals);
    (void)sigaddset(ret_signals, SIGTERM);
    (void)sigaddset(ret_signals, SIGINT);
    (void)sigaddset(ret_signals, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, ret_signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

static void reload(struct service *service)
{
    struct err err;

    notify_manager("RELOADING=1");
    if (service_reload(service, &err) < 0)
        log_error("%s; what was read before stays", err.text);
    else
        log_info("token and log are read again");
    notify_manager("READY=1");
}

/* Until a signal ends it. */
static void run_service(struct service *service, const sigset_t *signals)
{
    const bool watchdog = notify_watchdog_us() != 0;
    const struct timespec second = {.tv_sec = 1};
    int got = 0;

    while (got != SIGTERM && got != SIGINT) {
        service_tick(service);
        if (watchdog)
            notify_manager("WATCHDOG=1");
        got = sigtimedwait(signals, NULL, &second);
        if (got == SIGHUP)
            reload(service);
    }
}

static int serve(struct serve_options *o, struct arena *arena, struct err *err)
{
    struct policy policy = *policy_default();
    struct listener listener = {.fd = -1};
    struct service *service = NULL;
    struct http *http = NULL;
    sigset_t signals;
    int r = check_options(o, &policy, arena, err);

    if (r == 0)
        r = listen_open(o->listen, &listener, err);
    if (r == 0)
        r = check_address(o, &listener, err);
    if (r < 0)
        return r;
    block_signals(&signals); /* before there are threads: all of them inherit it */
    r = service_new(&o->service, &service, err);
    if (r == 0)
        r = service_start(service, err);
    if (r == 0)
        r = http_start(
            &(struct http_options){.fd = listener.fd, .ops = &service_ops, .data = service}, &http,
            err);
    if (r == 0) {
        service_set_http(service, http);
        log_info("listening on %s", listener.name);
        notify_manager("READY=1");
        run_service(service, &signals);
        notify_manager("STOPPING=1");
        log_info("ending");
    }
    if (service)
        service_stop(service);
    if (http)
        http_stop(http, STOP_MS);
    service_free(service);
    return r;
}

static int run_serve(void *into, struct arena *arena, struct err *err)
{
    const int r = serve(into, arena, err);

    return r == 0 ? EXIT_FINE : command_failed(r == -EINVAL ? EXIT_USAGE : EXIT_FAILED, err);
}

const struct command cmd_serve = {
    .name = "serve",
    .summary = SUMMARY_SERVE,
    .flags = &flags,
    WORK(run_serve, struct serve_options),
};
