/*
 * stormlint serve: the index over HTTP: JSON, metrics, pages.
 */
#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/options.h"
#include "server/http.h"
#include "server/listen.h"
#include "server/service.h"

#include <argp.h>
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

enum {
    OPT_DB = 0x300,
    OPT_CPU,
    OPT_LISTEN,
    OPT_POLICY,
    OPT_TOKEN,
    OPT_PUBLIC,
    OPT_STATE,
    OPT_WEB,
    OPT_CORS,
    OPT_LOG,
    OPT_NO_PLANS,

    STOP_MS = 15000, /* for requests in flight */
};

static const struct argp_option rows[] = {
    {"db", OPT_DB, "FILE", 0, "The index; else $STORMLINT_DB, else the cache directory's", 0},
    {"listen", OPT_LISTEN, "ADDRESS", 0,
     "ADDRESS:PORT or unix:PATH (default: 127.0.0.1:8417); a socket handed over by systemd wins",
     0},
    {"cpu", OPT_CPU, "NAME", 0, "Whose numbers are shown (default: " CPU_POLICY ")", 0},
    {"policy", OPT_POLICY, "FILE", 0, "What plans must not break (JSON)", 0},
    {"token-file", OPT_TOKEN, "FILE", 0,
     "Writing needs the token that is FILE's first line; without, nothing can be written", 0},
    {"public-read-only", OPT_PUBLIC, NULL, 0,
     "Listen on an address that other machines reach, although there is no token", 0},
    {"state", OPT_STATE, "DIR", 0,
     "Where jobs are kept (default: $STATE_DIRECTORY, else the index's name with .d behind it)", 0},
    {"web", OPT_WEB, "DIR", 0, "Take the pages' files from DIR, not from the program", 0},
    {"cors", OPT_CORS, "ORIGIN", 0, "Let pages of ORIGIN ('*': any) read answers", 0},
    {"access-log", OPT_LOG, "FILE", 0, "A JSON object for each request ('-': standard output)", 0},
    {"no-plans", OPT_NO_PLANS, NULL, 0, "Make plans only when they are asked for", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct serve_options *o = state->input;

    switch (key) {
    case OPT_DB:
        o->common.db = arg;
        break;
    case OPT_CPU:
        o->common.cpu = arg;
        break;
    case OPT_LISTEN:
        o->listen = arg;
        break;
    case OPT_POLICY:
        o->policy = arg;
        break;
    case OPT_TOKEN:
        o->service.token_file = arg;
        break;
    case OPT_PUBLIC:
        o->public_read_only = true;
        break;
    case OPT_STATE:
        o->service.state = arg;
        break;
    case OPT_WEB:
        o->service.web = arg;
        break;
    case OPT_CORS:
        o->service.cors = arg;
        break;
    case OPT_LOG:
        o->service.access_log = arg;
        break;
    case OPT_NO_PLANS:
        o->service.without_plans = true;
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s': there are no arguments", arg);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp argp = {
    .options = rows,
    .parser = parse,
    .doc = "Serve the index over HTTP: JSON under /api/v1 (/openapi.json describes it), metrics, "
           "health, and pages.\v"
           "The index is only read; a new state of it is picked up by itself. SIGTERM ends when "
           "requests in flight are answered, SIGHUP reads the token and opens the log again. "
           "Exit code: 0; 2, an option or address is wrong; 4, the service cannot run.",
};

/* ---- setting up */

static void choose_state(struct serve_options *o)
{
    struct service_options *s = &o->service;
    const char *given = getenv("STATE_DIRECTORY");

    if (!s->state && given && *given)
        s->state = given;
    else if (!s->state)
        s->state = arena_printf(&o->common.arena, "%s.d", s->index);
    s->state = options_absolute(&o->common.arena, s->state);
}

static int check_options(struct serve_options *o, struct policy *policy, struct err *err)
{
    struct service_options *s = &o->service;
    struct cpu cpu;
    int r = cpu_find(o->common.cpu ? o->common.cpu : CPU_POLICY, &cpu, err);

    if (r == 0 && o->policy)
        r = policy_read(o->policy, &o->common.arena, policy, err);
    if (r < 0)
        return r;
    s->cpu = arena_strdup(&o->common.arena, cpu.name);
    s->policy = policy;
    s->policy_file = o->policy ? options_absolute(&o->common.arena, o->policy) : NULL;
    s->index = options_absolute(&o->common.arena, options_db(&o->common));
    s->program = "/proc/self/exe";
    choose_state(o);
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

static int serve(struct serve_options *o, struct err *err)
{
    struct policy policy = *policy_default();
    struct listener listener = {.fd = -1};
    struct service *service = NULL;
    struct http *http = NULL;
    sigset_t signals;
    int r = check_options(o, &policy, err);

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

static int run(int argc, char **argv)
{
    struct serve_options o = {0};
    struct err err = {0};
    int r;

    options_parse(&argp, argc, argv, &o);
    r = serve(&o, &err);
    if (r < 0) {
        CLEANUP(arena_release) struct arena scratch = {0};

        log_error("%s", str_escape(&scratch, err.text));
    }
    options_release(&o.common);
    return r == 0 ? EXIT_FINE : r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

const struct command cmd_serve = {"serve", SUMMARY_SERVE, run};
