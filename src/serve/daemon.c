#include "serve/daemon.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "input/dumpfile.h"
#include "input/file.h"
#include "input/zones.h"
#include "serve/answers.h"
#include "serve/callers.h"
#include "serve/current.h"
#include "serve/decisions.h"
#include "serve/descriptors.h"
#include "serve/expiry.h"
#include "serve/files.h"
#include "serve/gauge-state.h"
#include "serve/measuring.h"
#include "serve/metrics.h"
#include "serve/pages.h"
#include "serve/replica-name.h"
#include "serve/signals.h"
#include "serve/transport.h"
#include "serve/warnings.h"

#define TICK_MSEC 250
#define RELOAD_NSEC NSEC_PER_SEC
#define DRAIN_NSEC (4 * NSEC_PER_SEC) /* the rest of the promised 5 s is for the way out */
#define STOP_NSEC (NSEC_PER_SEC / 2)  /* of the mirror's thread, and the poller's */

struct Daemon {
    const DaemonOptions *options;
    char url[SERVER_URL_MAX];
    char identity[REPLICA_NAME_MAX];
    int64_t started_at_sec;  /* since 1970, and ... */
    int64_t started_at_nsec; /* ... monotonic */
    int signal_fd, stop_fd;

    Current current;
    Files files;
    Server *server;
    Pages *pages; /* NULL: there is no second listener */
    Live *live;   /* NULL: the cluster is not watched */
    Measuring *measuring;
    Expiry *expiry;     /* of the daemon's thread */
    int64_t refresh_at; /* not before: making a view because of its age has just failed */
    Metrics *metrics;
    Warnings *warnings;
    Callers *callers;
    Decisions *decisions; /* NULL: none are remembered */
    Zones *zones;         /* what expressions may ask the time in */
    Answers answers;      /* what workers use of all this */
};

/* --- the current view ---------------------------------------------------------- */

View *daemon_view(Daemon *daemon) {
    return current_view(&daemon->current);
}

static View *view_of(void *context) {
    return daemon_view(context);
}

int daemon_publish(Daemon *daemon, Snapshot *snapshot) {
    return error_trace(current_set_snapshot(&daemon->current, snapshot));
}

static void note_view(void *context, const View *before, const View *after) {
    Daemon *daemon = context;

    if (daemon->live)
        live_note_view(daemon->live, before, after);
}

/* A new view when something in the one in force has grown too old. */
static void tick_loads(Daemon *daemon, int64_t now) {
    if (now < daemon->refresh_at || current_refresh(&daemon->current, now) == 0)
        return;
    daemon->refresh_at = now + RELOAD_NSEC;
    log_error("out of memory: values that are too old stay in force");
}

static void tell_expired(void *context, const View *view, size_t gauge, ExpiryChange change) {
    Daemon *daemon = context;
    const Gauge *about = &view->program->gauges[gauge];

    expiry_log(context, view, gauge, change);
    if (daemon->live && change == EXPIRY_GONE)
        live_note_stale(daemon->live,
            gauge_policy(view->program, gauge),
            about->name,
            gauge_source_name(about));
}

static void look_for_expired(Daemon *daemon) {
    _cleanup_(view_unrefp) View *view = daemon_view(daemon);

    expiry_look(daemon->expiry, view, tell_expired, daemon);
}

/* --- start ------------------------------------------------------------------------ */

static int load_configuration(Daemon *daemon, char *error) {
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    int r = files_load(&daemon->files, &program, &snapshot, error);

    if (r < 0)
        return error_trace(r);
    daemon->zones = zones_new();
    if (!daemon->zones)
        return error_origin(-ENOMEM);
    return error_trace(
        current_begin(&daemon->current, snapshot, program, zones_finder(daemon->zones)));
}

static void publish_measured(void *context, Measurements *measurements) {
    Daemon *daemon = context;

    if (current_set_measured(&daemon->current, measurements) < 0)
        log_error("out of memory: what was measured before stays in force");
}

static int start_measuring(Daemon *daemon, char *error) {
    const DaemonOptions *options = daemon->options;
    const MeasuringOptions measuring = {
        .prometheus_url = options->prometheus_url,
        .sources_path = options->sources_path,
        .live = &options->live,
        .resource_metrics_url = options->resource_metrics_url,
        .poll_nsec_max = options->poll_nsec_max,
        .has_cluster =
            options->cluster_path || options->is_published || live_is_wanted(&options->live),
    };
    const MeasuringCallbacks callbacks = {
        .context = daemon, .view = view_of, .publish = publish_measured};
    uint64_t fingerprint = 0;
    int r;

    if (options->sources_path)
        fingerprint = file_fingerprint(options->sources_path);
    r = measuring_new(&measuring, &callbacks, &daemon->measuring, error, DAEMON_ERROR_MAX);
    if (r < 0)
        return error_trace(r);
    if (options->sources_path)
        files_note_sources(&daemon->files, fingerprint);
    daemon->files.measuring = daemon->measuring;
    daemon->current.measuring = daemon->measuring;
    return error_trace(current_set_program(
        &daemon->current, daemon->current.view->program, error, DAEMON_ERROR_MAX));
}

/* --- the cluster that is watched ---------------------------------------------------- */

static bool publish_live(void *context, Snapshot *snapshot) {
    if (daemon_publish(context, snapshot) == 0)
        return true;
    log_error("out of memory: the cluster as it was stays in force");
    return false;
}

static void note_bind(void *context, const Decision *decision) {
    Daemon *daemon = context;

    answers_note_bind(&daemon->answers, decision);
}

/* Its thread begins to publish at once, and finds itself in the daemon: that is what the
 * lock is for. */
static int start_live(Daemon *daemon, char *error) {
    const LiveCallbacks callbacks = {
        .context = daemon, .publish = publish_live, .view = view_of, .bound = note_bind};
    LiveOptions options = daemon->options->live;
    int r;

    if (!live_is_wanted(&options))
        return 0;
    options.mirror.identity = daemon->identity;
    options.exempt = &daemon->options->exempt;
    (void)pthread_mutex_lock(&daemon->current.publish_lock);
    r = live_new(&options, &callbacks, &daemon->live, error, DAEMON_ERROR_MAX);
    (void)pthread_mutex_unlock(&daemon->current.publish_lock);
    return error_trace(r);
}

static ClusterSource cluster_source(const DaemonOptions *options) {
    if (live_is_wanted(&options->live))
        return CLUSTER_WATCHED;
    if (options->cluster_path)
        return CLUSTER_FILE;
    return options->is_published ? CLUSTER_PUBLISHED : CLUSTER_NONE;
}

static StatusFixed describe(const Daemon *daemon) {
    const DaemonOptions *options = daemon->options;

    return (StatusFixed){
        .identity = daemon->identity,
        .started_at_sec = daemon->started_at_sec,
        .started_at_nsec = daemon->started_at_nsec,
        .source = cluster_source(options),
        .may_bind = options->live.may_bind || options->bind_hook,
        .may_touch = options->live.may_touch,
        .managed = options->live.managed,
        .n_managed = options->live.n_managed,
        .exempt = &options->exempt,
    };
}

static void fill_answers(Daemon *daemon) {
    const DaemonOptions *options = daemon->options;

    daemon->answers = (Answers){
        .context = daemon,
        .view = view_of,
        .deadline_nsec =
            options->deadline_nsec > 0 ? options->deadline_nsec : DAEMON_DEADLINE_DEFAULT,
        .is_quiet = options->quiet,
        .bind_hook = options->bind_hook,
        .fixed = describe(daemon),
        .metrics = daemon->metrics,
        .warnings = daemon->warnings,
        .decisions = daemon->decisions,
        .reloads = &daemon->files.reloads,
        .tls = daemon->files.tls,
        .measuring = daemon->measuring,
        .live = daemon->live,
        .callers = daemon->callers,
    };
    daemon->answers.fixed.deadline_nsec = daemon->answers.deadline_nsec;
}

static int cannot_listen(const char *address, unsigned port, int r, char *error) {
    (void)snprintf(
        error, DAEMON_ERROR_MAX, "cannot listen on %s port %u: %s", address, port, strerror(-r));
    return error_trace(r);
}

static int start_server(Daemon *daemon, char *error) {
    ServerOptions options = daemon->options->server;
    int r;

    options.tls = daemon->files.tls;
    if (options.tls)
        options.client_names = tls_store_client_names(options.tls, &options.n_client_names);
    fill_answers(daemon);
    descriptors_make_room(options.connections_max + PAGES_CONNECTIONS_MAX);
    /* Workers may answer before server_new() returns. Who takes a view waits for the
     * lock, and so finds the server. */
    (void)pthread_mutex_lock(&daemon->current.lock);
    r = server_new(&options,
        &(ServerCallbacks){.context = &daemon->answers,
            .admit = answers_admit,
            .handle = answers_handle,
            .finished = answers_finished},
        &daemon->server);
    daemon->answers.server = daemon->server;
    (void)pthread_mutex_unlock(&daemon->current.lock);
    if (r < 0)
        return cannot_listen(options.address, options.port, r, error);
    (void)server_url(daemon->server, daemon->url);
    return 0;
}

static int start_pages(Daemon *daemon, char *error) {
    const PagesOptions *options = &daemon->options->pages;
    int r;

    if (!options->address)
        return 0;
    r = pages_new(options,
        &daemon->answers,
        daemon->files.tls,
        daemon->files.token,
        daemon->url,
        &daemon->pages);
    return r < 0 ? cannot_listen(options->address, options->port, r, error) : 0;
}

static void tell_exempt(const Exemptions *exempt) {
    for (size_t i = 0; i < exempt->n; i++)
        log_info("no policy is for these pods", LOG_STR("pods", exempt->items[i].text));
}

void daemon_block_signals(void) {
    signals_block();
}

int daemon_new(const DaemonOptions *options, Daemon **ret, char *error) {
    _cleanup_(daemon_freep) Daemon *daemon = calloc(1, sizeof(*daemon));
    int r;

    (void)snprintf(error, DAEMON_ERROR_MAX, "out of memory");
    if (!daemon)
        return error_origin(-ENOMEM);
    daemon->options = options;
    daemon->started_at_sec = clock_wall_nsec() / NSEC_PER_SEC;
    daemon->started_at_nsec = clock_monotonic_nsec();
    daemon->files =
        (Files){.options = options, .current = &daemon->current, .reloads = RELOADS_INIT};
    daemon->current = CURRENT_INIT;
    daemon->current.may_await_cluster = live_is_wanted(&options->live);
    daemon->current.exemptions = &options->exempt;
    daemon->current.context = daemon;
    daemon->current.changed = note_view;
    daemon->signal_fd = signals_open();
    daemon->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    daemon->metrics = metrics_new();
    daemon->warnings = warnings_new();
    daemon->callers = callers_new();
    (void)replica_name_make(daemon->identity);
    daemon->expiry = expiry_new();
    if (options->n_decisions > 0)
        daemon->decisions = decisions_new(options->n_decisions, options->decisions_bytes);
    if (daemon->signal_fd < 0 || daemon->stop_fd < 0 || !daemon->metrics || !daemon->warnings ||
        !daemon->callers || !daemon->expiry || (options->n_decisions > 0 && !daemon->decisions))
        return error_origin(-ENOMEM);

    r = transport_check(options, error);
    if (r == 0)
        r = load_configuration(daemon, error);
    if (r == 0)
        r = start_measuring(daemon, error);
    if (r == 0)
        r = start_live(daemon, error);
    if (r == 0)
        r = start_server(daemon, error);
    if (r == 0)
        r = start_pages(daemon, error);
    if (r < 0)
        return error_trace(r);
    tell_exempt(&options->exempt);
    *ret = TAKE_PTR(daemon);
    return 0;
}

Daemon *daemon_free(Daemon *daemon) {
    if (!daemon)
        return NULL;
    pages_free(daemon->pages);
    server_free(daemon->server);
    measuring_free(daemon->measuring); /* its thread makes views, of which live is told */
    live_free(daemon->live);
    files_done(&daemon->files);
    current_done(&daemon->current);
    metrics_free(daemon->metrics);
    warnings_free(daemon->warnings);
    callers_free(daemon->callers);
    expiry_free(daemon->expiry);
    decisions_free(daemon->decisions);
    zones_free(daemon->zones);
    if (daemon->signal_fd > 0)
        (void)close(daemon->signal_fd);
    if (daemon->stop_fd > 0)
        (void)close(daemon->stop_fd);
    free(daemon);
    return NULL;
}

const char *daemon_url(const Daemon *daemon) {
    return daemon->url;
}

const char *daemon_pages_url(const Daemon *daemon) {
    return daemon->pages ? pages_url(daemon->pages) : NULL;
}

/* --- the loop ------------------------------------------------------------------------ */

void daemon_stop(Daemon *daemon) {
    uint64_t one = 1;

    (void)!write(daemon->stop_fd, &one, sizeof(one));
}

/* The cluster as decisions see it now, for `--cluster` and for people. */
static void dump(Daemon *daemon) {
    _cleanup_(view_unrefp) View *view = daemon_view(daemon);
    const char *path = daemon->options->dump_path;
    char error[DUMP_FILE_ERROR_MAX];

    if (!path || !view->snapshot)
        log_warn("no dump: there is no cluster");
    else if (dump_file_write(path, view->snapshot, error) < 0)
        log_error("no dump", LOG_CSTR("error", error));
    else
        log_info("the cluster as berth sees it was written", LOG_CSTR("file", path));
}

/* True when it is time to go. */
static bool read_signals(Daemon *daemon) {
    bool is_over = false;
    SignalWish wish;

    while (signals_read(daemon->signal_fd, &wish)) {
        switch (wish) {
        case SIGNAL_RELOAD:
            log_info("reloading", LOG_CSTR("signal", "SIGHUP"));
            files_reload(&daemon->files, /* force= */ true);
            break;
        case SIGNAL_DUMP:
            dump(daemon);
            break;
        case SIGNAL_END:
            is_over = true;
            break;
        }
    }
    return is_over;
}

static void tick_live(Daemon *daemon, int64_t now) {
    ReloadState policy;

    if (!daemon->live)
        return;
    reloads_get(&daemon->files.reloads, RELOAD_POLICY, &policy);
    live_note_policy(daemon->live, str_from_c(policy.is_good ? "" : policy.error));
    (void)pthread_mutex_lock(&daemon->current.publish_lock);
    live_tick(daemon->live, now);
    (void)pthread_mutex_unlock(&daemon->current.publish_lock);
}

/* Both are told, then waited for: who measures may be held up, and a lease that is held is to be
 * given up all the same. False: one of the threads has not ended in time. */
static bool stop_threads(Daemon *daemon) {
    int64_t deadline = clock_monotonic_nsec() + STOP_NSEC;
    bool has_stopped = true;
    int64_t left;

    (void)measuring_stop(daemon->measuring, 0);
    if (daemon->live)
        has_stopped = live_stop(daemon->live, STOP_NSEC);
    left = deadline - clock_monotonic_nsec();
    return measuring_stop(daemon->measuring, left > 0 ? left : 0) && has_stopped;
}

/* False: not all have ended in time. */
static bool drain(Daemon *daemon) {
    int64_t deadline = clock_monotonic_nsec() + DRAIN_NSEC;
    unsigned n;

    log_info("shutting down, running requests may finish");
    while ((n = server_drain(daemon->server) + pages_drain(daemon->pages)) > 0 &&
           clock_monotonic_nsec() < deadline) {
        (void)poll(NULL, 0, 10);
        server_tick(daemon->server, clock_monotonic_nsec());
        pages_tick(daemon->pages, clock_monotonic_nsec());
    }
    if (n > 0)
        log_warn("connections cut at the end of the drain", LOG_INT("connections", n));
    /* Also with connections left: a lease that is held is to be given up. */
    return stop_threads(daemon) && n == 0;
}

/* Until @until_nsec, or a signal or daemon_stop() that comes before. */
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
        server_tick(daemon->server, now);
        pages_tick(daemon->pages, now);
        tick_loads(daemon, now);
        if (now >= next_reload) {
            files_reload(&daemon->files, /* force= */ false);
            tick_live(daemon, now);
            look_for_expired(daemon);
            next_reload = now + RELOAD_NSEC;
        }
    }
}

/* It is told to end: nobody should come any more, but whoever does, because endpoints and
 * schedulers take their time to notice, is answered as before. */
static void retire(Daemon *daemon) {
    unsigned delay_sec = daemon->options->drain_delay_sec;

    atomic_store(&daemon->answers.is_draining, true);
    if (delay_sec == 0)
        return;
    log_info("not ready any more, requests are still taken", LOG_INT("seconds", delay_sec));
    server_retire(daemon->server);
    pages_retire(daemon->pages);
    serve_until(daemon, clock_monotonic_nsec() + (int64_t)delay_sec * NSEC_PER_SEC);
}

bool daemon_run(Daemon *daemon) {
    serve_until(daemon, INT64_MAX);
    retire(daemon);
    return drain(daemon);
}
