/* Starts and ends the daemon: makes, connects and frees its parts. */

#include "serve/daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/api-pages.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/message.h"
#include "base/thread.h"
#include "history/pods-summary.h"
#include "serve/daemon-internal.h"
#include "version.h"

/* For files, epoll, listeners, signals, and connections that are being closed. */
#define SPARE_DESCRIPTORS 640u

#define BUNDLE_BUDGET ((size_t)16 * 1024 * 1024) /* for its pages */

/* --- the current view ---------------------------------------------------------- */

View *daemon_view(Daemon *daemon) {
    return current_view(&daemon->current);
}

int daemon_write_bundle(Daemon *daemon, Buf *out) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUNDLE_BUDGET);
    const HttpRequest request = {.arena = arena};

    return arena && bundle_page(&daemon->api, &request, out) == 200 && !buf_error(out) ? 0
                                                                                       : -ENOMEM;
}

int daemon_publish(Daemon *daemon, Snapshot *snapshot) {
    return current_set_snapshot(&daemon->current, snapshot);
}

void daemon_note_deleted(Daemon *daemon, Str uid, Str namespace, Str name) {
    recent_pods_note_end(daemon->api.recent_pods, uid, namespace, name, /* is_deleted= */ true);
}

static void note_exceeded(void *context, const char *message) {
    files_note_exceeded(&((Daemon *)context)->files, message);
}

static void note_view(void *context, const View *before, const View *after) {
    Daemon *daemon = context;

    if (daemon->live)
        live_note_view(daemon->live, before, after);
}

/* --- transport -------------------------------------------------------------------------------- */

/* Allows plain HTTP on loopback; elsewhere only with --insecure-http. */
static int check_plain(const DaemonOptions *options, const char *address, const char *danger,
    const char *warning, char *error) {
    if (!address || server_is_loopback(address))
        return 0;
    if (!options->insecure_http) {
        (void)snprintf(error, DAEMON_ERROR_MAX, "plain HTTP on %s %s", address, danger);
        return -EPERM;
    }
    log_warn(warning, LOG_CSTR("address", address), LOG_CSTR("flag", "--insecure-http"));
    return 0;
}

static int check_transport(const DaemonOptions *options, char *error) {
    int r;

    if (options->tls.certificate)
        return 0;
    r = check_plain(options, options->server.address,
        "would let any client that reaches it influence scheduling: set --tls-cert and --tls-key "
        "(and --client-ca), listen on 127.0.0.1, or set --insecure-http",
        "INSECURE: plain HTTP on an address that others can reach", error);
    /* Without a token the pages show only health, which plain HTTP may carry. */
    if (r < 0 || !(options->pages.token_path || options->pages.viewer_token_path))
        return r;
    return check_plain(options, options->pages.address,
        "would expose the token of the pages on the network: set --tls-cert and "
        "--tls-key, or --insecure-http",
        "INSECURE: a token over plain HTTP on an address that others can reach", error);
}

#define NAME_MAX_LEN 253

/* The name of this replica: its pod or host, and a random part, because a container that is
 * restarted in the same pod is another replica. */
static void make_identity(char ret[static REPLICA_NAME_MAX]) {
    const char *pod = getenv("POD_NAME");
    char host[NAME_MAX_LEN + 1] = "";
    uint64_t number;

    /* It must be unique, not secret: without random bytes the clock is enough. */
    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
        number = (uint64_t)clock_wall_nsec() ^ ((uint64_t)getpid() << 48);
    if (!pod || !pod[0]) {
        (void)gethostname(host, sizeof(host) - 1);
        pod = host[0] ? host : "berth";
    }
    (void)snprintf(ret, REPLICA_NAME_MAX, "%.*s_%016" PRIx64, NAME_MAX_LEN, pod, number);
}

/* --- records -------------------------------------------------------------------------------- */

/* A pod counts as pending as long as the page of pods shows it. */
static RecentPods *open_recent_pods(const DaemonOptions *options) {
    bool may_bind = live_is_wanted(&options->live) && options->live.may_bind;

    return recent_pods_new(&(RecentPodsOptions){
        .max = RECENT_PODS_MAX,
        .bytes_max = may_bind ? RECENT_PODS_BYTES_MAX : 0,
        .window_nsec = (int64_t)options->live.bind_window_sec * NSEC_PER_SEC,
        .pending_within = options->n_decisions < PODS_SUMMARY_DECISIONS_MAX
                              ? options->n_decisions
                              : PODS_SUMMARY_DECISIONS_MAX,
        .now_nsec = clock_monotonic_nsec(),
    });
}

/* Makes the parts for pages and verbs that have no thread. False: out of memory. */
static bool open_contexts(Daemon *daemon) {
    const DaemonOptions *options = daemon->options;
    bool has_dashboard = options->dashboard && !options->no_dashboard;
    bool nominates = options->live.watcher.nominates;
    ApiContext *api = &daemon->api;

    *api = (ApiContext){
        .current = &daemon->current,
        .fixed =
            {
                .identity = daemon->identity,
                .started_at_sec = clock_wall_nsec() / NSEC_PER_SEC,
                .started_at_nsec = clock_monotonic_nsec(),
                .deadline_nsec =
                    options->deadline_nsec > 0 ? options->deadline_nsec : DAEMON_DEADLINE_DEFAULT,
                .health =
                    options->health.errors_percent > 0 ? options->health : HEALTH_LIMITS_DEFAULT,
                .source = live_is_wanted(&options->live) ? CLUSTER_WATCHED
                          : options->cluster_path        ? CLUSTER_FILE
                          : options->is_published        ? CLUSTER_PUBLISHED
                                                         : CLUSTER_NONE,
                .may_bind = options->live.may_bind || options->bind_hook,
                .may_touch = options->live.may_touch,
                .answers_reviews = options->admission.address != NULL,
                .managed = options->live.managed,
                .n_managed = options->live.n_managed,
                .exempt = &options->exempt,
                .sandbox = options->sandbox,
            },
        .metrics = metrics_new(),
        .decisions = options->n_decisions > 0
                         ? decisions_new(options->n_decisions, options->decisions_bytes)
                         : NULL,
        .recent_pods = open_recent_pods(options),
        .nominated = nominates ? nomination_log_new() : NULL,
        .changes = changes_new(),
        .latency = latency_new(),
        .reloads = &daemon->files.reloads,
        .dashboard = options->dashboard,
        /* Only on loopback; a listener with client certificates is only for kube-scheduler. */
        .dashboard_on_verbs =
            has_dashboard && !options->tls.client_ca && server_is_loopback(options->server.address),
        .dashboard_on_pages = has_dashboard,
        .updates = updates_new(),
    };
    daemon->answers = (Answers){
        .api = api,
        .is_quiet = options->quiet,
        .bind_hook = options->bind_hook,
        .warnings = WARNINGS_INIT,
    };
    return api->metrics && api->recent_pods && api->changes && api->latency && api->updates &&
           (options->n_decisions == 0 || api->decisions) && (!nominates || api->nominated);
}

static void free_records(Daemon *daemon) {
    kept_pods_done(&daemon->answers.kept_pods);
    warnings_done(&daemon->answers.warnings);
    metrics_free(daemon->api.metrics);
    changes_free(daemon->api.changes);
    latency_free(daemon->api.latency);
    recent_pods_free(daemon->api.recent_pods);
    decisions_free(daemon->api.decisions);
    nomination_log_free(daemon->api.nominated);
}

/* --- start ------------------------------------------------------------------------ */

static int load_all(Daemon *daemon, char *error) {
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    PolicyLoad load;
    int r = files_load(&daemon->files, &program, &snapshot, &load, error);

    if (r < 0)
        return r;
    daemon->zones = zones_new();
    if (!daemon->zones)
        return message_no_memory(error, DAEMON_ERROR_MAX, "time zones", NULL);
    return current_begin(&daemon->current, snapshot, program, zones_finder(daemon->zones), &load,
        error, DAEMON_ERROR_MAX);
}

static void run_first_load(void *context, unsigned wanted) {
    Daemon *daemon = context;

    daemon->load_result = load_all(daemon, daemon->load_error);
    daemon_stop(daemon); /* wakes await_load() */
}

/* Whether the first load ended before a signal to stop. */
static bool await_load(const Daemon *daemon, int end_fd) {
    struct pollfd fds[] = {
        {.fd = daemon->stop_fd, .events = POLLIN},
        {.fd = end_fd, .events = POLLIN},
    };

    while (!((fds[0].revents | fds[1].revents) & POLLIN))
        (void)poll(fds, ELEMENTS_OF(fds), -1);
    return fds[0].revents & POLLIN;
}

static int cannot_start(const char *what, int r, char *error) {
    if (r == -ENOMEM)
        return message_no_memory(error, DAEMON_ERROR_MAX, what, NULL);
    (void)snprintf(error, DAEMON_ERROR_MAX, "cannot start %s: %s", what, strerror(-r));
    return r;
}

/* Runs the first load on another thread, so that this one can wait for signals. */
static int load_configuration(Daemon *daemon, char *error) {
    _cleanup_(fd_closep) int end_fd = daemon_open_signals(/* only_end= */ true);
    Task *task = NULL;
    bool has_ended;
    uint64_t n;
    int r = end_fd < 0 ? -errno : task_new("berth-load", run_first_load, daemon, &task);

    if (r < 0)
        return cannot_start("a thread", r, error);
    task_request(task, 1);
    has_ended = await_load(daemon, end_fd);
    if (!has_ended)
        files_cancel(&daemon->files);
    if (task_stop(task, DRAIN_NSEC))
        task_free(task); /* else the thread still uses its memory */
    (void)snprintf(error, DAEMON_ERROR_MAX, "%s",
        has_ended ? daemon->load_error : "stopped by a signal while policies were loaded");
    (void)!read(daemon->stop_fd, &n, sizeof(n));
    return has_ended ? daemon->load_result : -ECANCELED;
}

static int start_tasks(Daemon *daemon, char *error) {
    int r = files_start(&daemon->files);

    if (r == 0)
        r = task_new("berth-refresh", daemon_refresh, daemon, &daemon->refresh);
    return r < 0 ? cannot_start("a thread", r, error) : 0;
}

static int start_journal(Daemon *daemon, char *error) {
    const DaemonOptions *options = daemon->options;
    int r;

    if (!options->state_dir || !daemon->api.decisions)
        return 0;
    r = journal_open(
        options->state_dir, options->state_bytes, daemon->api.decisions, &daemon->journal, error);
    if (r < 0)
        return r;
    r = task_new("berth-journal", daemon_write_journal, daemon, &daemon->journaling);
    return r < 0 ? cannot_start("a thread", r, error) : 0;
}

static int start_measuring(Daemon *daemon, char *error) {
    MeasuringOptions options = daemon->options->measuring;
    int r;

    options.live = &daemon->options->live;
    options.has_cluster = daemon->api.fixed.source != CLUSTER_NONE;
    r = measuring_new(&options, &daemon->current, &daemon->measuring, error, DAEMON_ERROR_MAX);
    if (r < 0)
        return r;
    if (options.sources_path)
        reloads_note_good(&daemon->files.reloads, RELOAD_SOURCES, clock_wall_nsec() / NSEC_PER_SEC);
    daemon->files.measuring = daemon->measuring;
    daemon->current.measuring = daemon->measuring;
    daemon->api.measuring = daemon->measuring;
    return current_set_program(
        &daemon->current, daemon->current.view->program, /* load= */ NULL, error, DAEMON_ERROR_MAX);
}

/* --- the watched cluster ------------------------------------------------------------ */

/* Holds the lock because live's thread publishes at once, and reads fields of the daemon. */
static int start_live(Daemon *daemon, char *error) {
    const LiveCallbacks callbacks = {
        .context = &daemon->answers, .bound = answers_note_bind, .filter = answers_filter};
    LiveOptions options = daemon->options->live;
    int r;

    if (!live_is_wanted(&options))
        return 0;
    options.watcher.identity = daemon->identity;
    options.nominated = daemon->api.nominated;
    options.exempt = &daemon->options->exempt;
    options.watcher.policies = daemon->files.objects;
    options.watcher.needs = &daemon->current.view->program->needs;
    options.watcher.related = daemon->current.view->program->related;
    (void)pthread_mutex_lock(&daemon->current.publish_lock);
    r = live_new(
        &options, &daemon->current, daemon->api.recent_pods, &callbacks, &daemon->live, error);
    (void)pthread_mutex_unlock(&daemon->current.publish_lock);
    daemon->files.live = daemon->live;
    daemon->api.live = daemon->live;
    return r;
}

/* Ends the start of a server, which returned @r. */
static int note_listening(Daemon *daemon, DaemonListener listener, const char *address,
    unsigned port, int r, char *error) {
    if (r == 0)
        (void)server_url(daemon->servers[listener], daemon->urls[listener]);
    else
        (void)snprintf(error, DAEMON_ERROR_MAX, "cannot listen on %s port %u: %s", address, port,
            strerror(-r));
    return r;
}

/* Each connection needs a descriptor, and the usual soft limit of 1,024 would leave none for files
 * and epoll. The kernel decides beyond the hard limit. */
static void allow_descriptors(unsigned n_connections) {
    rlim_t wanted = (rlim_t)n_connections + SPARE_DESCRIPTORS;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int start_server(Daemon *daemon, char *error) {
    ServerOptions options = daemon->options->server;
    int r;

    options.tls = daemon->files.tls;
    if (options.tls)
        options.client_names = tls_store_client_names(options.tls, &options.n_client_names);
    daemon->api.tls = daemon->files.tls;
    daemon->api.policies = daemon->files.cluster;
    r = page_workers_new(&daemon->api, &daemon->api.workers);
    if (r < 0)
        return cannot_start("the page workers", r, error);
    allow_descriptors(options.connections_max + PAGES_CONNECTIONS_MAX + ADMISSION_CONNECTIONS_MAX);
    r = server_new(&options,
        &(ServerCallbacks){.context = &daemon->answers,
            .admit = answers_admit,
            .handle = answers_handle,
            .finished = answers_finished},
        &daemon->servers[LISTEN_VERBS]);
    /* Workers answer already: metrics have no figures of the server until this is set. */
    atomic_store(&daemon->api.server, daemon->servers[LISTEN_VERBS]);
    return note_listening(daemon, LISTEN_VERBS, options.address, options.port, r, error);
}

static int start_pages(Daemon *daemon, char *error) {
    const PagesOptions *options = &daemon->options->pages;
    int r;

    if (!options->address)
        return 0;
    daemon->pages = (Pages){.options = options,
        .api = &daemon->api,
        .tokens = &daemon->files.tokens,
        .verbs_url = daemon->urls[LISTEN_VERBS]};
    r = pages_listen(&daemon->pages, daemon->files.tls, &daemon->servers[LISTEN_PAGES]);
    return note_listening(daemon, LISTEN_PAGES, options->address, options->port, r, error);
}

static int start_admission(Daemon *daemon, char *error) {
    const AdmissionOptions *options = &daemon->options->admission;
    int r;

    if (!options->address)
        return 0;
    r = admission_listen(
        options, &daemon->api, daemon->files.tls, &daemon->servers[LISTEN_REVIEWS]);
    atomic_store(&daemon->api.admission, daemon->servers[LISTEN_REVIEWS]);
    return note_listening(daemon, LISTEN_REVIEWS, options->address, options->port, r, error);
}

/* In this order: each needs those before it. */
static int (*const starts[])(Daemon *daemon, char *error) = {
    start_journal,
    start_tasks,
    start_measuring,
    start_live,
    start_server,
    start_pages,
    start_admission,
};

int daemon_new(const DaemonOptions *options, Daemon **ret, char *error) {
    _cleanup_(daemon_freep) Daemon *daemon = calloc(1, sizeof(*daemon));
    int r;

    if (!daemon)
        return message_no_memory(error, DAEMON_ERROR_MAX, "the daemon", NULL);
    daemon->options = options;
    daemon->files =
        (Files){.options = options, .current = &daemon->current, .reloads = RELOADS_INIT};
    daemon->current = CURRENT_INIT;
    daemon->current.may_await_cluster = live_is_wanted(&options->live);
    daemon->current.exemptions = &options->exempt;
    daemon->current.context = daemon;
    daemon->current.changed = note_view;
    daemon->current.exceeded = note_exceeded;
    daemon->current.limits = (ViewLimits){
        .cpu_nsec = options->load_nsec > 0 ? options->load_nsec : DAEMON_LOAD_TIME_DEFAULT,
        .bytes = options->load_bytes > 0 ? options->load_bytes : DAEMON_LOAD_MEMORY_DEFAULT,
    };
    daemon->signal_fd = daemon_open_signals(/* only_end= */ false);
    daemon->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    make_identity(daemon->identity);
    if (daemon->signal_fd < 0 || daemon->stop_fd < 0)
        return cannot_start("waiting for signals", -errno, error);
    if (!open_contexts(daemon))
        return message_no_memory(error, DAEMON_ERROR_MAX, "recorded decisions", NULL);
    daemon->files.changes = daemon->api.changes;

    r = check_transport(options, error);
    if (r == 0)
        r = load_configuration(daemon, error);
    if (r == -ECANCELED) {
        (void)TAKE_PTR(daemon); /* the load may still use it, so leak it */
        return r;
    }
    for (size_t i = 0; r == 0 && i < ELEMENTS_OF(starts); i++)
        r = starts[i](daemon, error);
    if (r < 0)
        return r;
    for (size_t i = 0; i < options->exempt.n; i++)
        log_info("pods exempt from policies", LOG_STR("pods", options->exempt.items[i].text));
    changes_note(daemon->api.changes, CHANGE_STARTED,
        daemon->api.fixed.started_at_sec * NSEC_PER_SEC, STR("berth " BERTH_VERSION),
        str_from_c(daemon_url(daemon, LISTEN_VERBS)));
    *ret = TAKE_PTR(daemon);
    return 0;
}

Daemon *daemon_free(Daemon *daemon) {
    if (!daemon)
        return NULL;
    for (size_t i = 0; i < _LISTENERS; i++)
        server_free(daemon->servers[i]);
    page_workers_free(daemon->api.workers); /* its requests ended with the servers */
    updates_free(daemon->api.updates);
    files_cancel(&daemon->files);
    task_free(daemon->files.task); /* it uses the parts below */
    daemon->files.task = NULL;
    task_free(daemon->refresh);
    task_free(daemon->journaling);
    journal_free(daemon->journal);
    measuring_free(daemon->measuring); /* its thread makes views for live */
    live_free(daemon->live);
    files_done(&daemon->files);
    current_done(&daemon->current);
    expiry_done(&daemon->expiry);
    free_records(daemon);
    zones_free(daemon->zones);
    fd_closep(&daemon->signal_fd);
    fd_closep(&daemon->stop_fd);
    free(daemon);
    return NULL;
}

const char *daemon_url(const Daemon *daemon, DaemonListener listener) {
    return daemon->servers[listener] ? daemon->urls[listener] : NULL;
}

const char *daemon_dashboard_url(const Daemon *daemon) {
    if (daemon->servers[LISTEN_PAGES] && daemon->api.dashboard_on_pages &&
        pages_are_seen(&daemon->pages))
        return daemon_url(daemon, LISTEN_PAGES);
    return daemon->api.dashboard_on_verbs ? daemon_url(daemon, LISTEN_VERBS) : NULL;
}
