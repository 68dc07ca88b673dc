#include "cli/check_programs.h"

#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/term.h"
#include "cli/check_plan.h"
#include "cli/check_text.h"
#include "cli/check_time.h"
#include "cli/command.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

/* One program to check, and what came of it. */
struct task {
    const char *program;
    const struct planned *planned; /* NULL: no plan speaks of it */
    bool named;                    /* on the command line, not found in a directory */
    bool done;
    enum check_result result;
    bool unmeasured, untimed;
    char *text;   /* to be printed; NULL: nothing */
    json_t *json; /* NULL unless asked for */
};

/* Threads take tasks in order; the main thread prints them in order. */
struct work {
    const struct programs_options *options;
    struct task *task;
    size_t n, next;
    size_t n_others; /* libraries and plugins of a plan: not run */
    struct err err;  /* code 0: none; why nothing more is done */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct term term;
    struct arena arena; /* the list of tasks */
};

static void render(const struct work *work, struct task *task, const struct checked *checked,
                   const struct times *times)
{
    const struct programs_options *o = work->options;
    size_t size;
    FILE *to;

    task->result = checked->result;
    task->unmeasured = checked->unmeasured;
    task->untimed = times->failed != NULL;
    if (o->json) {
        task->json = check_json(checked);
        if (o->rounds)
            json_put(task->json, "time", check_time_json(times));
        return;
    }
    if (o->quiet && checked->result == CHECK_AGREES && !o->rounds)
        return;
    to = open_memstream(&task->text, &size);
    if (to) {
        check_text(to, &work->term, checked);
        if (o->rounds)
            check_time_text(to, times);
        (void)fclose(to);
    }
}

/* The calls are as predicted; is the prediction what the plan promises? */
static void hold_against_plan(const struct task *task, struct checked *checked, struct arena *arena)
{
    const char *note = NULL, *why;

    if (checked->result != CHECK_AGREES)
        return;
    why = check_plan_holds(task->planned, arena, &note);
    if (why) {
        checked->result = CHECK_DIFFERS;
        checked->has_trace = false; /* there is no first call that differs */
        checked->reason = why;
    } else {
        checked->note = checked->note ? arena_printf(arena, "%s; %s", note, checked->note) : note;
    }
}

/* Beside the unedited program, if there is one. */
static int measure(const struct programs_options *o, const struct task *task, const char *program,
                   struct arena *arena, struct times *ret_times, struct err *err)
{
    int r;
    struct time_options options = {
        .check = o->check,
        .program = program,
        .before = o->before,
        .alone = "no unedited program was given (--before FILE)",
        .rounds = o->rounds,
    };

    if (task->planned)
        options.before = check_plan_unedited(task->planned, o->before, arena, &options.alone);
    r = check_time(&options, arena, ret_times, err);
    if (r < 0 && r != -EINTR) { /* the others can be timed */
        ret_times->failed = arena_strdup(arena, err->text);
        r = 0;
    }
    return r;
}

static struct task *next_task(struct work *work)
{
    struct task *task = NULL;

    pthread_mutex_lock(&work->lock);
    if (!work->err.code && work->next < work->n)
        task = &work->task[work->next++];
    pthread_mutex_unlock(&work->lock);
    return task;
}

static void finish_task(struct work *work, struct task *task, const struct err *err)
{
    pthread_mutex_lock(&work->lock);
    if (err->code && !work->err.code)
        work->err = *err;
    task->done = true;
    pthread_cond_signal(&work->changed);
    pthread_mutex_unlock(&work->lock);
}

static void *worker(void *data)
{
    struct work *work = data;
    struct checker *checker = NULL;
    struct err none = {0};
    struct task *task;

    while ((task = next_task(work))) {
        CLEANUP(arena_release) struct arena arena = {0};
        struct times times = {0};
        struct checked checked;
        struct err err = none;
        int r = checker ? 0 : checker_new(work->options->check, &checker, &err);

        if (r == 0)
            r = check_program(checker, task->program, &arena, &checked, &err);
        if (r == 0 && task->planned)
            hold_against_plan(task, &checked, &arena);
        if (r == 0 && work->options->rounds)
            r = measure(work->options, task, checked.program, &arena, &times, &err);
        if (r == 0)
            render(work, task, &checked, &times);
        finish_task(work, task, r < 0 ? &err : &none);
    }
    checker_free(checker);
    return NULL;
}

static bool wait_for(struct work *work, const struct task *task)
{
    bool done;

    pthread_mutex_lock(&work->lock);
    while (!task->done && !work->err.code)
        pthread_cond_wait(&work->changed, &work->lock);
    done = task->done && !work->err.code;
    pthread_mutex_unlock(&work->lock);
    return done;
}

struct counts {
    size_t result[3];  /* by enum check_result */
    size_t incomplete; /* not measured, not timed, or named and nothing to compare */
};

static void print_task(const struct work *work, struct task *task, struct progress_line *line,
                       json_t *programs)
{
    if (task->text && *task->text) {
        progress_line_end(line);
        fputs(task->text, stdout);
        fflush(stdout);
    }
    if (work->options->json)
        json_push(programs, task->json);
    free(task->text);
    task->text = NULL;
}

/* Print results as they come, in order. False: the work was given up. */
static bool collect(struct work *work, struct counts *counts, json_t *programs)
{
    struct progress_line line = progress_line(stderr);

    for (size_t i = 0; i < work->n; i++) {
        struct task *task = &work->task[i];

        progress_update(&line.progress, "checking", i, work->n);
        if (!wait_for(work, task)) {
            progress_line_end(&line);
            return false;
        }
        print_task(work, task, &line, programs);
        counts->result[task->result]++;
        counts->incomplete += task->untimed || (task->result == CHECK_NOT_COMPARABLE &&
                                                (task->unmeasured || task->named));
    }
    progress_line_end(&line);
    return true;
}

static bool run_work(struct work *work, struct counts *counts, json_t *programs)
{
    pthread_t thread[CHECK_MAX_JOBS];
    unsigned n = 0, jobs = work->options->jobs ? work->options->jobs : 1;
    bool complete;

    pthread_mutex_init(&work->lock, NULL);
    pthread_cond_init(&work->changed, NULL);
    while (n < jobs && n < work->n && pthread_create(&thread[n], NULL, worker, work) == 0)
        n++;
    complete = (n || !work->n) && collect(work, counts, programs);
    while (n)
        pthread_join(thread[--n], NULL);
    pthread_cond_destroy(&work->changed);
    pthread_mutex_destroy(&work->lock);
    return complete;
}

static int plan_tasks(struct work *work, struct err *err)
{
    const struct programs_options *o = work->options;
    struct planned_list list;
    int r = check_plan_read(o->plan, o->output, &work->arena, &list, err);

    if (r < 0)
        return r;
    work->n_others = list.n_others;
    work->task = arena_calloc(&work->arena, list.n + 1, sizeof(*work->task));
    for (size_t i = 0; i < list.n; i++)
        work->task[work->n++] =
            (struct task){.program = list.item[i].program, .planned = &list.item[i], .named = true};
    return 0;
}

/* Programs and the contents of directories, in the order given. */
static int make_tasks(struct work *work, struct err *err)
{
    const struct programs_options *o = work->options;
    struct checker *checker = NULL;
    int r;

    if (o->plan)
        return plan_tasks(work, err);
    r = checker_new(o->check, &checker, err);
    for (size_t i = 0; i < o->n_programs && r == 0; i++) {
        const char **path = NULL;
        size_t n = 0;
        bool directory = false;

        r = checker_expand(checker, o->program[i], &work->arena, &path, &n, &directory, err);
        for (size_t k = 0; k < n; k++) {
            work->task = arena_grow(&work->arena, work->task, work->n, sizeof(*work->task));
            work->task[work->n++] = (struct task){.program = path[k], .named = !directory};
        }
    }
    checker_free(checker);
    return r;
}

static void print_summary(const struct counts *c, const struct work *work)
{
    if (work->n > 1)
        printf("%zu programs: %zu agree, %zu differ, %zu cannot be compared\n", work->n,
               c->result[CHECK_AGREES], c->result[CHECK_DIFFERS], c->result[CHECK_NOT_COMPARABLE]);
    if (work->n_others && !work->options->quiet)
        printf("%s%zu libraries and plugins of the plan were not run: no loader starts them\n",
               work->n ? "" : "no program; ", work->n_others);
}

static int print_summary_json(const struct counts *c, const struct work *work, json_t *programs,
                              struct err *err)
{
    json_t *object = json_object(), *summary = json_object();
    int r;

    json_put_int(summary, "ok", (int64_t)c->result[CHECK_AGREES]);
    json_put_int(summary, "differs", (int64_t)c->result[CHECK_DIFFERS]);
    json_put_int(summary, "not_comparable", (int64_t)c->result[CHECK_NOT_COMPARABLE]);
    if (work->options->plan)
        json_put_int(summary, "not_run", (int64_t)work->n_others);
    json_put(object, "programs", json_incref(programs));
    json_put(object, "summary", summary);
    r = json_print(object, stdout, term_of(stdout).is_terminal, err);
    json_decref(object);
    return r;
}

int check_programs(const struct programs_options *o)
{
    struct work work = {.options = o, .term = term_of(stdout)};
    struct counts counts = {0};
    json_t *programs = json_array();
    struct err err = {0};
    int code = EXIT_FAILED;

    if (make_tasks(&work, &err) < 0) {
        log_error("%s", err.text);
    } else if (!run_work(&work, &counts, programs)) {
        log_error("%s", work.err.code ? work.err.text : "no thread could be started");
    } else if (o->json && print_summary_json(&counts, &work, programs, &err) < 0) {
        log_error("%s", err.text);
    } else {
        if (!o->json)
            print_summary(&counts, &work);
        code = counts.result[CHECK_DIFFERS] ? EXIT_FINDINGS
               : counts.incomplete          ? EXIT_INCOMPLETE
                                            : EXIT_FINE;
    }
    json_decref(programs);
    arena_release(&work.arena);
    return code;
}
