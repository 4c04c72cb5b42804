/*
 * The daemon's thread: signals, deadlines of connections, changed files, expired values, removal of
 * secrets, event streams; and the shutdown.
 */

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "input/dump-file.h"
#include "live/gauge-state.h"
#include "serve/daemon-internal.h"

#define TICK_MSEC 250
#define RELOAD_NSEC NSEC_PER_SEC

static sigset_t signals_of_interest(bool only_end) {
    sigset_t signals;

    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    if (!only_end) {
        (void)sigaddset(&signals, SIGHUP);
        (void)sigaddset(&signals, SIGUSR2);
    }
    return signals;
}

void daemon_block_signals(void) {
    const sigset_t signals = signals_of_interest(/* only_end= */ false);

    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

int daemon_open_signals(bool only_end) {
    const sigset_t signals = signals_of_interest(only_end);

    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Replaces the view when a value in it has expired. On the task's thread. */
void daemon_refresh(void *context, unsigned wanted) {
    Daemon *daemon = context;
    int64_t now = clock_monotonic_nsec();

    if (current_refresh(&daemon->current, now) == 0)
        return;
    atomic_store(&daemon->refresh_at, now + RELOAD_NSEC);
    log_error("out of memory for a new view: expired values stay in force");
}

void daemon_stop(Daemon *daemon) {
    uint64_t one = 1;

    (void)!write(daemon->stop_fd, &one, sizeof(one));
}

/* Writes the cluster as decisions see it, for `--cluster` and for users. */
static void dump(Daemon *daemon) {
    _cleanup_(view_unrefp) View *view = daemon_view(daemon);
    const char *path = daemon->options->dump_path;
    char error[DUMP_FILE_ERROR_MAX];

    if (!path || !view->snapshot)
        log_warn("cannot dump: there is no cluster");
    else if (dump_file_write(path, view->snapshot, error) < 0)
        log_error("no dump", LOG_CSTR("error", error));
    else
        log_info("cluster dumped", LOG_CSTR("file", path));
}

/* Handles signals. True: one of them ends the daemon. */
static bool read_signals(Daemon *daemon) {
    struct signalfd_siginfo info;
    bool is_over = false;

    while (read(daemon->signal_fd, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGHUP) {
            log_info("reloading", LOG_CSTR("signal", "SIGHUP"));
            files_reload(&daemon->files, /* force= */ true);
        } else if (info.ssi_signo == SIGUSR2) {
            dump(daemon);
        } else {
            is_over = true; /* SIGTERM, SIGINT */
        }
    }
    return is_over;
}

/* --- policies of the cluster: counts, and metrics without a source, for their status ---------- */

#define REPORT_BUDGET ((size_t)64 * 1024 * 1024)

typedef struct PolicyFacts {
    Daemon *daemon;
    View *view;
    MeasuringStatus measuring;
    bool is_measured;
    PendingFigures pending;
} PolicyFacts;

static const Policy *find_policy(const Program *program, Str name) {
    for (size_t i = 0; i < program->n_policies; i++)
        if (str_eq(program->policies[i].name, name))
            return &program->policies[i];
    return NULL;
}

static void count_rule(PolicyFacts *facts, const Policy *policy, Str rule, PolicyCounts *ret) {
    RuleFigure figure = metrics_of_rule(facts->daemon->api.metrics, policy->name, rule);

    ret->n_rejected += policy->is_observed ? figure.n_observed : figure.n_rejected;
    ret->n_errors += figure.n_failed;
}

static void count(PolicyFacts *facts, const Policy *policy, PolicyCounts *ret) {
    ret->n_pods = metrics_of_policy(facts->daemon->api.metrics, policy->name).n_matched;
    for (size_t i = 0; i < policy->n_filters; i++)
        count_rule(facts, policy, policy->filters[i].name, ret);
    for (size_t i = 0; i < policy->n_scores; i++)
        count_rule(facts, policy, policy->scores[i].name, ret);
    for (size_t i = 0; i < facts->pending.n_policies; i++)
        if (str_eq(facts->pending.policies[i].policy, policy->name))
            ret->n_pending = facts->pending.policies[i].n;
}

/* Describes the first metric of the policy whose source is not configured. */
static Str find_missing_source(PolicyFacts *facts, Str policy, Arena *arena) {
    const Program *program = facts->view->program;

    for (size_t i = 0; facts->is_measured && i < facts->measuring.n; i++)
        if (facts->measuring.items[i].state == POLL_NO_SOURCE &&
            str_eq(gauge_policy(program, i), policy))
            return arena_printf(arena, "metric %.*s: %s", STR_FMT(program->gauges[i].name),
                facts->measuring.items[i].error);
    return STR_NULL;
}

static void fill(void *context, Arena *arena, PolicyStatus *status) {
    PolicyFacts *facts = context;
    const Policy *policy = find_policy(facts->view->program, status->name);

    if (!policy || status->in_force == 0)
        return;
    count(facts, policy, &status->counts);
    status->note = find_missing_source(facts, status->name, arena);
}

static void report_policies(Daemon *daemon, int64_t now_nsec) {
    _cleanup_(arena_freep) Arena *arena = arena_new(REPORT_BUDGET);
    _cleanup_(view_unrefp) View *view = daemon_view(daemon);
    PolicyFacts facts = {.daemon = daemon, .view = view};
    ReloadState reload;

    if (!daemon->files.cluster || !arena)
        return;
    reloads_get(&daemon->files.reloads, RELOAD_POLICY, &reload);
    recent_pods_pending(daemon->api.recent_pods, &facts.pending);
    if (view->program->n_gauges > 0)
        facts.is_measured = measuring_status(daemon->measuring, view, arena, &facts.measuring);
    live_report_policies(daemon->live,
        &(PolicyReport){.policies = daemon->files.cluster,
            .replica = str_from_c(daemon->identity),
            .error = str_from_c(reload.is_good ? "" : reload.error),
            .context = &facts,
            .fill = fill},
        now_nsec);
}

/* --- ticks ------------------------------------------------------------------------------------ */

static void tick_live(Daemon *daemon, int64_t now) {
    ReloadState policy;
    LiveStatus live;

    if (!daemon->live)
        return;
    reloads_get(&daemon->files.reloads, RELOAD_POLICY, &policy);
    live_note_policy(daemon->live, str_from_c(policy.is_good ? "" : policy.error));
    /* If a view is being made, which may take long, try again at the next tick. */
    if (pthread_mutex_trylock(&daemon->current.publish_lock) == 0) {
        live_tick(daemon->live, now);
        (void)pthread_mutex_unlock(&daemon->current.publish_lock);
    }
    report_policies(daemon, now);
    live_status(daemon->live, &live);
    watch_changes_look(&daemon->watch, &live, daemon->api.changes, clock_wall_nsec(), now);
}

static int64_t time_until(int64_t deadline) {
    int64_t left = deadline - clock_monotonic_nsec();

    return left > 0 ? left : 0;
}

/* Stops both threads before it waits for either: the poller may hang, and a held Lease must be
 * released anyway. False: a thread has not ended in time. */
static bool stop_threads(Daemon *daemon) {
    int64_t deadline = clock_monotonic_nsec() + STOP_NSEC;
    bool has_stopped = true;

    (void)measuring_stop(daemon->measuring, 0);
    if (daemon->live)
        has_stopped = live_stop(daemon->live, STOP_NSEC);
    return measuring_stop(daemon->measuring, time_until(deadline)) && has_stopped;
}

void daemon_write_journal(void *context, unsigned wanted) {
    Daemon *daemon = context;

    journal_write(daemon->journal, daemon->api.decisions);
}

/* Writes the last decisions. False: a write hangs. */
static bool end_journal(Daemon *daemon, int64_t deadline) {
    if (!daemon->journaling)
        return true;
    if (!task_stop(daemon->journaling, time_until(deadline)))
        return false;
    journal_write(daemon->journal, daemon->api.decisions);
    return true;
}

static void tick_listeners(Daemon *daemon, int64_t now) {
    for (size_t i = 0; i < _LISTENERS; i++)
        if (daemon->servers[i])
            server_tick(daemon->servers[i], now);
}

/* Returns the number of connections left. */
static unsigned drain_listeners(Daemon *daemon) {
    unsigned n = 0;

    for (size_t i = 0; i < _LISTENERS; i++)
        n += daemon->servers[i] ? server_drain(daemon->servers[i]) : 0;
    return n;
}

/* False: not all have ended in time. */
static bool drain(Daemon *daemon) {
    int64_t deadline = clock_monotonic_nsec() + DRAIN_NSEC;
    bool has_stopped;
    unsigned n;

    log_info("shutting down after running requests finish");
    (void)files_stop(&daemon->files, 0);
    (void)task_stop(daemon->refresh, 0);
    while ((n = drain_listeners(daemon)) > 0 && clock_monotonic_nsec() < deadline) {
        (void)poll(NULL, 0, 10);
        tick_listeners(daemon, clock_monotonic_nsec());
    }
    if (n > 0)
        log_warn("connections closed at the end of the drain", LOG_INT("connections", n));
    /* Also with open connections: a held Lease must be released. */
    has_stopped = stop_threads(daemon);
    has_stopped &= files_stop(&daemon->files, time_until(deadline));
    has_stopped &= task_stop(daemon->refresh, time_until(deadline));
    has_stopped &= end_journal(daemon, deadline);
    return has_stopped && n == 0;
}

/* Called about four times a second. */
static void tick(Daemon *daemon, int64_t now) {
    _cleanup_(view_unrefp) View *view = daemon_view(daemon);

    tick_listeners(daemon, now);
    /* Before updates_tick(), which sends the reasons. */
    (void)decisions_find_reasons(daemon->api.decisions, view, daemon->api.recent_pods);
    updates_tick(daemon->api.updates, &daemon->api, now);
    (void)decisions_remove_secrets(daemon->api.decisions);
    kept_pods_forget(&daemon->answers.kept_pods);
    if (daemon->journaling)
        task_request(daemon->journaling, 1);
    if (now >= atomic_load(&daemon->refresh_at) && current_is_due(view, now))
        task_request(daemon->refresh, 1);
    files_reload_objects(&daemon->files);
}

/* Called about once a second. */
static void tick_slowly(Daemon *daemon, int64_t now) {
    _cleanup_(view_unrefp) View *view = NULL;
    PendingFigures pending;

    files_reload(&daemon->files, /* force= */ false);
    tick_live(daemon, now);
    view = daemon_view(daemon);
    expiry_look(&daemon->expiry, view, daemon->api.changes, daemon->live);
    recent_pods_pending(daemon->api.recent_pods, &pending);
    latency_note_pending(daemon->api.latency, pending.n, now);
}

/* Serves until @until_nsec, a signal that ends the daemon, or daemon_stop(). */
static void serve_until(Daemon *daemon, int64_t until_nsec) {
    struct pollfd fds[] = {
        {.fd = daemon->signal_fd, .events = POLLIN},
        {.fd = daemon->stop_fd, .events = POLLIN},
    };
    int64_t next_reload = clock_monotonic_nsec() + RELOAD_NSEC;

    for (int64_t now = clock_monotonic_nsec(); now < until_nsec; now = clock_monotonic_nsec()) {
        (void)poll(fds, ELEMENTS_OF(fds), TICK_MSEC);
        if ((fds[1].revents & POLLIN) || read_signals(daemon))
            return;
        now = clock_monotonic_nsec();
        tick(daemon, now);
        if (now >= next_reload) {
            tick_slowly(daemon, now);
            next_reload = now + RELOAD_NSEC;
        }
    }
}

/* After SIGTERM /readyz fails, but requests are served until Endpoints and schedulers notice. */
static void retire(Daemon *daemon) {
    unsigned delay_sec = daemon->options->drain_delay_sec;

    atomic_store(&daemon->api.is_draining, true);
    for (size_t i = 0; i < _LISTENERS; i++)
        if (daemon->servers[i])
            server_retire(daemon->servers[i]);
    if (delay_sec == 0)
        return;
    log_info("no longer ready, still accepting requests", LOG_INT("seconds", delay_sec));
    serve_until(daemon, clock_monotonic_nsec() + (int64_t)delay_sec * NSEC_PER_SEC);
}

bool daemon_run(Daemon *daemon) {
    serve_until(daemon, INT64_MAX);
    retire(daemon);
    return drain(daemon);
}
