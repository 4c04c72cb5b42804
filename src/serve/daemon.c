#include "serve/daemon.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "extender/verbs.h"
#include "input/dumpfile.h"
#include "input/file.h"
#include "input/objects.h"
#include "input/policies.h"
#include "input/zones.h"
#include "serve/decisions-page.h"
#include "serve/decisions.h"
#include "serve/health.h"
#include "serve/metrics.h"
#include "serve/reload.h"
#include "serve/routes.h"
#include "serve/verbreply.h"
#include "serve/warnings.h"
#include "version.h"

#define TICK_MSEC 250
#define RELOAD_NSEC NSEC_PER_SEC
#define DRAIN_NSEC (4 * NSEC_PER_SEC) /* the rest of the promised 5 s is for the way out */
#define STOP_NSEC (NSEC_PER_SEC / 2)  /* of the mirror's thread */
#define DESCRIPTORS_SPARE 128u        /* files, epoll, the listener, signals */
#define PAGE_MAX ((size_t)8 * 1024 * 1024)
#define DIAGS_BUDGET ((size_t)16 * 1024 * 1024)

/* Refused requests are logged, but a peer must not be able to fill a disk. */
#define LOG_PER_SEC 10

struct Daemon {
    const DaemonOptions *options;
    char url[96];
    int64_t started_at_sec;
    int signal_fd, stop_fd;

    pthread_mutex_t lock; /* guards view: held for a pointer and a reference only */
    View *view;
    pthread_mutex_t publish_lock; /* one new view at a time: cluster and policy both make them */

    TlsStore *tls;
    Server *server;
    Live *live; /* NULL: the cluster is not watched */
    Metrics *metrics;
    Warnings *warnings;
    Decisions *decisions; /* NULL: none are remembered */
    Zones *zones;         /* what expressions may ask the time in */
    Reloads reloads;
    uint64_t fingerprints[_RELOAD_MAX];
    _Atomic bool is_draining;
    _Atomic int64_t log_second;
    _Atomic unsigned n_logged;
};

/* --- the current view ---------------------------------------------------------- */

View *daemon_view(Daemon *daemon) {
    View *view;

    (void)pthread_mutex_lock(&daemon->lock);
    view = view_ref(daemon->view);
    (void)pthread_mutex_unlock(&daemon->lock);
    return view;
}

static void exchange_view(Daemon *daemon, View *view) {
    View *old;

    (void)pthread_mutex_lock(&daemon->lock);
    old = daemon->view;
    daemon->view = view;
    (void)pthread_mutex_unlock(&daemon->lock);
    view_unref(old);
}

/* A view of the new part and the old rest. Either may be NULL: keep it. */
static int renew_view_locked(Daemon *daemon, Snapshot *snapshot, Program *program) {
    _cleanup_(view_unrefp) View *before = view_ref(daemon->view);
    View *view = NULL;
    int r = view_new(snapshot ? snapshot : before->snapshot,
        program ? program : before->program,
        before->zones,
        before,
        &view);

    if (r < 0)
        return error_trace(r);
    view->awaits_cluster = !view->snapshot && live_is_wanted(&daemon->options->live);
    view->generation = before->generation + (snapshot ? 1 : 0);
    exchange_view(daemon, view);
    if (daemon->live) /* only who holds the lock puts another view in its place */
        live_note_view(daemon->live, before, daemon->view);
    return 0;
}

static int renew_view(Daemon *daemon, Snapshot *snapshot, Program *program) {
    int r;

    (void)pthread_mutex_lock(&daemon->publish_lock);
    r = renew_view_locked(daemon, snapshot, program);
    (void)pthread_mutex_unlock(&daemon->publish_lock);
    return error_trace(r);
}

int daemon_publish(Daemon *daemon, Snapshot *snapshot) {
    return error_trace(renew_view(daemon, snapshot, /* program= */ NULL));
}

/* --- answering ------------------------------------------------------------------ */

static bool may_log(Daemon *daemon) {
    int64_t second = clock_monotonic_nsec() / NSEC_PER_SEC;

    if (atomic_exchange(&daemon->log_second, second) != second)
        atomic_store(&daemon->n_logged, 0);
    return atomic_fetch_add(&daemon->n_logged, 1) < LOG_PER_SEC;
}

static void log_decision(Daemon *daemon, Verb verb, const Decision *decision) {
    if (!str_is_empty(decision->error) && may_log(daemon))
        log_warn("request answered with an error",
            LOG_CSTR("verb", verb_name(verb)),
            LOG_STR("namespace", decision->pod_namespace),
            LOG_STR("pod", decision->pod_name),
            LOG_STR("error", decision->error));
    else
        log_debug("decision",
            LOG_CSTR("verb", verb_name(verb)),
            LOG_STR("namespace", decision->pod_namespace),
            LOG_STR("pod", decision->pod_name),
            LOG_STR("uid", decision->pod_uid),
            LOG_INT("nodes_in", decision->n_in),
            LOG_INT("nodes_out", decision->n_out),
            LOG_INT("nodes_unknown", decision->n_unknown));
}

/* @since_nsec: when answering it began, monotonic; -1: not known. */
static void note_decision(
    Daemon *daemon, Verb verb, const View *view, const Decision *decision, int64_t since_nsec) {
    PastTimes times = {
        .at_nsec = clock_wall_nsec(),
        .duration_nsec = since_nsec < 0 ? -1 : clock_monotonic_nsec() - since_nsec,
    };

    metrics_note_decision(daemon->metrics, verb, view->program, decision);
    decisions_note(daemon->decisions, view, verb, decision, times);
    if (!daemon->options->quiet)
        log_decision(daemon, verb, decision);
}

static void answer_bind(Daemon *daemon, Str body, Arena *arena, Answer *answer) {
    char error[512] = "";
    BindArgs args;

    if (!extender_bind_request(body, arena, &args, answer))
        return;
    if (daemon->options->bind_hook)
        daemon->options->bind_hook->bind(
            daemon->options->bind_hook->context, &args, error, sizeof(error));
    else
        (void)snprintf(error,
            sizeof(error),
            "berth: cannot bind: it has no API server to talk to; remove bindVerb from the "
            "extender's configuration, or start it with --kubeconfig or --in-cluster, and --bind");
    extender_bind_reply(&args, str_from_c(error), arena, answer);
}

/* The time to evaluate policies in. It begins when it is first asked for: large bodies take their
 * time to be read, and that is not the policies'. */
typedef struct Allowance {
    int64_t limit_nsec;
    int64_t end_nsec; /* monotonic; 0: it has not begun */
} Allowance;

static bool is_over(void *context) {
    Allowance *allowance = context;
    int64_t now = clock_monotonic_nsec();

    if (allowance->end_nsec == 0)
        allowance->end_nsec = now + allowance->limit_nsec;
    return now >= allowance->end_nsec;
}

/* What one evaluation by the scalar machine may take. */
#define VERB_SCRATCH_BUDGET ((size_t)64 * 1024 * 1024)

static void answer_verb(Daemon *daemon, Verb verb, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(view_unrefp) View *view = daemon_view(daemon);
    _cleanup_(arena_freep) Arena *scratch = arena_new(VERB_SCRATCH_BUDGET);
    int64_t begin = clock_monotonic_nsec();
    int64_t limit = daemon->options->deadline_nsec;
    Allowance allowance = {.limit_nsec = limit > 0 ? limit : DAEMON_DEADLINE_DEFAULT};
    Moment moment = {
        .now_nsec = clock_wall_nsec(),
        .is_over = is_over,
        .context = &allowance,
        .scratch = scratch,
    };
    Answer answer;

    switch (verb) {
    case VERB_FILTER:
        extender_filter(view, &moment, request->body, request->arena, &answer);
        if (daemon->live)
            live_note_filter(daemon->live, view, &answer.decision);
        break;
    case VERB_PRIORITIZE:
        extender_prioritize(view, &moment, request->body, request->arena, &answer);
        break;
    case VERB_PREEMPT:
        extender_preempt(view, &moment, request->body, request->arena, &answer);
        break;
    default:
        answer_bind(daemon, request->body, request->arena, &answer);
        break;
    }
    note_decision(daemon, verb, view, &answer.decision, begin);
    if (!daemon->options->quiet)
        warnings_note(daemon->warnings,
            view,
            verb,
            &answer.decision,
            &moment,
            request->arena,
            clock_monotonic_nsec());
    reply_with(reply, &answer);
}

/* A page of text, copied to where the reply may point. */
static void reply_text(
    const HttpRequest *request, HttpReply *reply, unsigned status, const char *type, Str text) {
    Str *slice = ARENA_ARRAY(request->arena, Str, 1);

    reply->status = status;
    reply->content_type = type;
    if (slice)
        *slice = arena_copy(request->arena, text);
    reply->slices = slice;
    reply->n_slices = slice && slice->ptr ? 1 : 0;
}

static void reply_error(const HttpRequest *request, HttpReply *reply, unsigned status, Str text) {
    Answer answer = {0};

    answer_error(&answer, request->arena, status, text);
    reply_with(reply, &answer);
}

/* NULL when there is none. */
static const LiveStatus *live_status_of(Daemon *daemon, LiveStatus *ret) {
    if (!daemon->live)
        return NULL;
    live_status(daemon->live, ret);
    return ret;
}

static void answer_health(
    Daemon *daemon, HealthProbe probe, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(buf_done) Buf page = BUF_INIT(PAGE_MAX);
    LiveStatus live;
    HealthState state = {
        .is_draining = atomic_load(&daemon->is_draining),
        .reloads = &daemon->reloads,
        .live = live_status_of(daemon, &live),
        .now_nsec = clock_monotonic_nsec(),
    };
    unsigned status = health_page(probe, request->query, &state, &page);

    reply_text(request, reply, status, "text/plain; charset=utf-8", buf_str(&page));
}

static void answer_metrics(Daemon *daemon, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(buf_done) Buf page = BUF_INIT(PAGE_MAX);
    _cleanup_(view_unrefp) View *view = daemon_view(daemon);
    DecisionsFigures decisions = {0};
    LiveStatus live;
    MetricsState state = {
        .view = view,
        .live = live_status_of(daemon, &live),
        .decisions = &decisions,
        .now_nsec = clock_monotonic_nsec(),
        .server = daemon->server,
        .reloads = &daemon->reloads,
        .certificate_expiry_sec = daemon->tls ? tls_store_expiry(daemon->tls) : 0,
        .started_at_sec = daemon->started_at_sec,
    };

    if (daemon->decisions)
        decisions_figures(daemon->decisions, &decisions);
    metrics_page(daemon->metrics, &state, &page);
    reply_text(request, reply, 200, "text/plain; version=0.0.4; charset=utf-8", buf_str(&page));
}

static void answer_decisions(Daemon *daemon, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(buf_done) Buf page = BUF_INIT(DECISIONS_PAGE_MAX);
    Str id = route_rest(request->path);
    unsigned status =
        str_is_empty(id)
            ? decisions_list_page(daemon->decisions, request->query, request->arena, &page)
            : decisions_one_page(daemon->decisions, id, request->query, request->arena, &page);

    if (buf_error(&page))
        reply_error(request, reply, 500, STR("berth: the page needs more memory than it may have"));
    else
        reply_text(request, reply, status, "application/json", buf_str(&page));
}

static const char index_text[] =
    "berth " BERTH_VERSION ", a Kubernetes scheduler extender\n"
    "\n"
    "POST  .../filter  .../prioritize  .../preempt  .../bind   the scheduler's verbs\n"
    "GET   /readyz?verbose  /livez  /healthz                   health\n"
    "GET   /metrics                                            figures for Prometheus\n"
    "GET   /api/v1/decisions  /api/v1/decisions/ID             what was decided lately\n"
    "GET   /version                                            version\n";

static void handle(void *context, const HttpRequest *request, HttpReply *reply) {
    Daemon *daemon = context;
    Route route = route_find(request->path);

    reply->tag = (int)route;
    switch (route) {
    case ROUTE_BIND:
        if (daemon->live)
            live_bind(daemon->live, request, (int)route, reply);
        else
            answer_verb(daemon, VERB_BIND, request, reply);
        break;
    case ROUTE_FILTER:
    case ROUTE_PRIORITIZE:
    case ROUTE_PREEMPT:
        answer_verb(daemon, (Verb)route, request, reply);
        break;
    case ROUTE_LIVEZ:
        answer_health(daemon, HEALTH_LIVEZ, request, reply);
        break;
    case ROUTE_READYZ:
        answer_health(daemon, HEALTH_READYZ, request, reply);
        break;
    case ROUTE_HEALTHZ:
        answer_health(daemon, HEALTH_HEALTHZ, request, reply);
        break;
    case ROUTE_METRICS:
        answer_metrics(daemon, request, reply);
        break;
    case ROUTE_DECISIONS:
        answer_decisions(daemon, request, reply);
        break;
    case ROUTE_VERSION:
        reply_text(
            request, reply, 200, "application/json", STR("{\"version\":\"" BERTH_VERSION "\"}\n"));
        break;
    case ROUTE_INDEX:
        reply_text(request, reply, 200, "text/plain; charset=utf-8", STR(index_text));
        break;
    case ROUTE_NONE:
    case _ROUTE_MAX:
        reply_error(request, reply, 404, STR("berth: no such path"));
        break;
    }
}

/* Before the body is read: who may ask, and is there anything to ask here? Health
 * is open to all, because a kubelet's probe has no client certificate. */
static bool admit(void *context, const HttpRequest *request, HttpReply *reply) {
    Route route = route_find(request->path);
    bool is_health = route == ROUTE_LIVEZ || route == ROUTE_READYZ || route == ROUTE_HEALTHZ;

    (void)context;
    reply->tag = (int)route;
    if (!request->is_authenticated && !is_health) {
        reply_error(request,
            reply,
            403,
            STR("berth: a client certificate with an allowed name is needed (--client-ca, "
                "--client-name)"));
        return false;
    }
    if (route == ROUTE_NONE) {
        reply_error(request,
            reply,
            404,
            STR("berth: no such path; verbs are filter, prioritize, preempt and bind"));
        return false;
    }
    if (!str_is(request->method, route_method(route)) &&
        !(str_is(request->method, "HEAD") && route > ROUTE_BIND)) {
        reply_error(request, reply, 405, STR("berth: wrong method for this path"));
        reply->allow = route <= ROUTE_BIND ? "POST" : "GET, HEAD";
        return false;
    }
    if (request->has_body && route > ROUTE_BIND) {
        reply_error(request, reply, 413, STR("berth: no body is taken here"));
        return false;
    }
    return true;
}

static void finished(void *context, const HttpOutcome *outcome) {
    Daemon *daemon = context;
    Route route = outcome->tag >= 0 && outcome->tag < _ROUTE_MAX ? (Route)outcome->tag : ROUTE_NONE;

    metrics_note_request(daemon->metrics, route, outcome);
}

/* --- configuration ---------------------------------------------------------------- */

static int64_t now_sec(void) {
    return clock_wall_nsec() / NSEC_PER_SEC;
}

static uint64_t policy_fingerprint(const DaemonOptions *options) {
    uint64_t sum = 0;

    for (size_t i = 0; i < options->n_policy_paths; i++)
        sum = sum * 31 + file_fingerprint(options->policy_paths[i]);
    return sum;
}

static uint64_t tls_fingerprint(const TlsFiles *files) {
    return file_fingerprint(files->certificate) * 961 + file_fingerprint(files->key) * 31 +
           (files->client_ca ? file_fingerprint(files->client_ca) : 0);
}

/* All problems as text, for the log and for the person at the terminal. */
static void describe_diags(const DiagList *diags, char *text, size_t size) {
    _cleanup_(buf_done) Buf out = BUF_INIT(PAGE_MAX);

    diag_list_print(diags, /* colour= */ false, &out);
    (void)snprintf(text, size, "%.*s", STR_FMT(str_trim(buf_str(&out))));
}

static int load_policy(const DaemonOptions *options, Program **ret, char *error, size_t size) {
    _cleanup_(arena_freep) Arena *arena = arena_new(DIAGS_BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);
    int r;

    (void)snprintf(error, size, "out of memory");
    if (!arena)
        return error_origin(-ENOMEM);
    r = policies_load(options->policy_paths, options->n_policy_paths, &diags, ret);
    if (r > 0) {
        describe_diags(&diags, error, size);
        return error_origin(r == POLICIES_E_UNREADABLE ? -ENOENT : -EINVAL);
    }
    for (size_t i = 0; r == 0 && i < diags.diags.n; i++)
        log_warn("policy warning",
            LOG_STR("file", diags.diags.items[i].place.file),
            LOG_INT("line", diags.diags.items[i].place.line),
            LOG_STR("warning", diags.diags.items[i].text));
    return error_fold(r);
}

/* Where the last error of this thread came from, for whoever debugs berth itself. */
static void log_error_trace(void) {
    char trace[1024];

    error_describe(trace, sizeof(trace));
    log_debug("error trace", LOG_CSTR("trace", trace));
}

static void refuse_reload(Daemon *daemon, ReloadKind kind, const char *error) {
    reloads_note_bad(&daemon->reloads, kind, error);
    log_error("new configuration refused, the last good one stays in force",
        LOG_CSTR("config", reload_kind_name(kind)),
        LOG_CSTR("error", error));
    log_error_trace();
}

static void reload_policy(Daemon *daemon) {
    _cleanup_(program_unrefp) Program *program = NULL;
    char error[DAEMON_ERROR_MAX];

    if (load_policy(daemon->options, &program, error, sizeof(error)) < 0) {
        refuse_reload(daemon, RELOAD_POLICY, error);
        return;
    }
    assert(program);
    if (renew_view(daemon, /* snapshot= */ NULL, program) < 0) {
        refuse_reload(daemon, RELOAD_POLICY, "out of memory");
        return;
    }
    reloads_note_good(&daemon->reloads, RELOAD_POLICY, now_sec());
    log_info("policy reloaded",
        LOG_INT("policies", program->n_policies),
        LOG_INT("filters", program->n_filters),
        LOG_INT("scores", program->n_scores));
}

static void reload_cluster(Daemon *daemon) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    char error[OBJECTS_ERROR_MAX];

    if (cluster_load(daemon->options->cluster_path, &snapshot, error) < 0) {
        refuse_reload(daemon, RELOAD_CLUSTER, error);
        return;
    }
    if (renew_view(daemon, snapshot, /* program= */ NULL) < 0) {
        refuse_reload(daemon, RELOAD_CLUSTER, "out of memory");
        return;
    }
    reloads_note_good(&daemon->reloads, RELOAD_CLUSTER, now_sec());
    log_info("cluster reloaded", LOG_INT("nodes", snapshot_table(snapshot)->names->n_nodes));
}

/* A refused file was put back as it was: nothing to load, but nothing wrong any more. */
static void note_restored(Daemon *daemon, ReloadKind kind) {
    ReloadState state;

    reloads_get(&daemon->reloads, kind, &state);
    if (state.is_good)
        return;
    reloads_note_good(&daemon->reloads, kind, state.good_at_sec);
    log_info("what is on disk is in force again", LOG_CSTR("config", reload_kind_name(kind)));
}

static void reload_tls(Daemon *daemon) {
    char error[DAEMON_ERROR_MAX];

    switch (tls_store_reload(daemon->tls, error, sizeof(error))) {
    case TLS_UNCHANGED:
        note_restored(daemon, RELOAD_CERTIFICATES);
        break;
    case TLS_RELOADED:
        reloads_note_good(&daemon->reloads, RELOAD_CERTIFICATES, now_sec());
        log_info("certificates reloaded", LOG_INT("expiry_sec", tls_store_expiry(daemon->tls)));
        break;
    case TLS_REFUSED:
        refuse_reload(daemon, RELOAD_CERTIFICATES, error);
        break;
    }
}

/* Reads again what has changed on disk, or everything when @force. */
static void reload(Daemon *daemon, bool force) {
    const DaemonOptions *options = daemon->options;
    uint64_t now[_RELOAD_MAX] = {0};
    bool changed[_RELOAD_MAX];

    if (options->n_policy_paths > 0)
        now[RELOAD_POLICY] = policy_fingerprint(options);
    if (options->cluster_path)
        now[RELOAD_CLUSTER] = file_fingerprint(options->cluster_path);
    if (daemon->tls)
        now[RELOAD_CERTIFICATES] = tls_fingerprint(&options->tls);
    for (size_t i = 0; i < _RELOAD_MAX; i++) {
        changed[i] = force || now[i] != daemon->fingerprints[i];
        daemon->fingerprints[i] = now[i];
    }
    if (changed[RELOAD_POLICY] && options->n_policy_paths > 0)
        reload_policy(daemon);
    if (changed[RELOAD_CLUSTER] && options->cluster_path)
        reload_cluster(daemon);
    if (changed[RELOAD_CERTIFICATES] && daemon->tls)
        reload_tls(daemon);
}

/* --- start ------------------------------------------------------------------------ */

static bool is_loopback(const char *address) {
    return str_has_prefix(str_from_c(address), STR("127.")) || str_is(str_from_c(address), "::1");
}

static int check_transport(const DaemonOptions *options, char *error) {
    if (options->tls.certificate || is_loopback(options->server.address))
        return 0;
    if (!options->insecure_http) {
        (void)snprintf(error,
            DAEMON_ERROR_MAX,
            "plain HTTP on %s would let anyone who reaches it steer pods: give --tls-cert and "
            "--tls-key (and --client-ca), listen on 127.0.0.1, or say --insecure-http",
            options->server.address);
        return error_origin(-EPERM);
    }
    log_warn("INSECURE: plain HTTP on an address that others can reach",
        LOG_CSTR("address", options->server.address),
        LOG_CSTR("flag", "--insecure-http"));
    return 0;
}

static int load_configuration(Daemon *daemon, char *error) {
    const DaemonOptions *options = daemon->options;
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    int r;

    daemon->fingerprints[RELOAD_POLICY] = policy_fingerprint(options);
    r = load_policy(options, &program, error, DAEMON_ERROR_MAX);
    if (r < 0)
        return error_trace(r);
    if (options->n_policy_paths > 0)
        reloads_note_good(&daemon->reloads, RELOAD_POLICY, now_sec());

    if (options->cluster_path) {
        daemon->fingerprints[RELOAD_CLUSTER] = file_fingerprint(options->cluster_path);
        r = cluster_load(options->cluster_path, &snapshot, error);
        if (r < 0)
            return error_trace(r);
        reloads_note_good(&daemon->reloads, RELOAD_CLUSTER, now_sec());
    }
    if (options->tls.certificate) {
        daemon->fingerprints[RELOAD_CERTIFICATES] = tls_fingerprint(&options->tls);
        r = tls_store_new(&options->tls, &daemon->tls, error, DAEMON_ERROR_MAX);
        if (r < 0)
            return error_trace(r);
        reloads_note_good(&daemon->reloads, RELOAD_CERTIFICATES, now_sec());
    }
    daemon->zones = zones_new();
    if (!daemon->zones)
        return error_origin(-ENOMEM);
    r = view_new(snapshot, program, zones_finder(daemon->zones), /* before= */ NULL, &daemon->view);
    if (r == 0)
        daemon->view->awaits_cluster = live_is_wanted(&options->live);
    if (r == 0)
        daemon->view->generation = snapshot ? 1 : 0;
    return error_trace(r);
}

/* --- the cluster that is watched ---------------------------------------------------- */

static bool publish_live(void *context, Snapshot *snapshot) {
    if (daemon_publish(context, snapshot) == 0)
        return true;
    log_error("out of memory: the cluster as it was stays in force");
    return false;
}

static View *view_of(void *context) {
    return daemon_view(context);
}

static void note_bind(void *context, const Decision *decision) {
    Daemon *daemon = context;
    _cleanup_(view_unrefp) View *view = daemon_view(daemon);

    note_decision(daemon, VERB_BIND, view, decision, /* since_nsec= */ -1);
}

/* Its thread begins to publish at once, and finds itself in the daemon: that is what the
 * lock is for. */
static int start_live(Daemon *daemon, char *error) {
    const LiveCallbacks callbacks = {
        .context = daemon, .publish = publish_live, .view = view_of, .bound = note_bind};
    int r;

    if (!live_is_wanted(&daemon->options->live))
        return 0;
    (void)pthread_mutex_lock(&daemon->publish_lock);
    r = live_new(&daemon->options->live, &callbacks, &daemon->live, error, DAEMON_ERROR_MAX);
    (void)pthread_mutex_unlock(&daemon->publish_lock);
    return error_trace(r);
}

/* Each connection is a descriptor; the usual soft limit of 1,024 leaves none for
 * files and epoll. What the hard limit does not allow is left to the kernel. */
static void raise_descriptor_limit(unsigned n_connections) {
    struct rlimit limit;
    rlim_t wanted = (rlim_t)n_connections + DESCRIPTORS_SPARE;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int start_server(Daemon *daemon, char *error) {
    ServerOptions options = daemon->options->server;
    bool is_ipv6 = str_find(str_from_c(options.address), ':') != SIZE_MAX;
    int r;

    options.tls = daemon->tls;
    raise_descriptor_limit(options.connections_max);
    /* Workers may answer before server_new() returns. Who takes a view waits for the
     * lock, and so finds the server. */
    (void)pthread_mutex_lock(&daemon->lock);
    r = server_new(&options,
        &(ServerCallbacks){
            .context = daemon, .admit = admit, .handle = handle, .finished = finished},
        &daemon->server);
    (void)pthread_mutex_unlock(&daemon->lock);
    if (r < 0) {
        (void)snprintf(error,
            DAEMON_ERROR_MAX,
            "cannot listen on %s port %u: %s",
            options.address,
            options.port,
            strerror(-r));
        return error_trace(r);
    }
    (void)snprintf(daemon->url,
        sizeof(daemon->url),
        "%s://%s%s%s:%u",
        daemon->tls ? "https" : "http",
        is_ipv6 ? "[" : "",
        options.address,
        is_ipv6 ? "]" : "",
        server_port(daemon->server));
    return 0;
}

static void signals_of_interest(sigset_t *ret) {
    (void)sigemptyset(ret);
    (void)sigaddset(ret, SIGTERM);
    (void)sigaddset(ret, SIGINT);
    (void)sigaddset(ret, SIGHUP);
    (void)sigaddset(ret, SIGUSR2);
}

void daemon_block_signals(void) {
    sigset_t signals;

    signals_of_interest(&signals);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

int daemon_new(const DaemonOptions *options, Daemon **ret, char *error) {
    _cleanup_(daemon_freep) Daemon *daemon = calloc(1, sizeof(*daemon));
    sigset_t signals;
    int r;

    (void)snprintf(error, DAEMON_ERROR_MAX, "out of memory");
    if (!daemon)
        return error_origin(-ENOMEM);
    daemon->options = options;
    daemon->started_at_sec = now_sec();
    daemon->reloads = RELOADS_INIT;
    (void)pthread_mutex_init(&daemon->lock, NULL);
    (void)pthread_mutex_init(&daemon->publish_lock, NULL);
    signals_of_interest(&signals);
    daemon->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    daemon->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    daemon->metrics = metrics_new();
    daemon->warnings = warnings_new();
    if (options->n_decisions > 0)
        daemon->decisions = decisions_new(options->n_decisions, options->decisions_bytes);
    if (daemon->signal_fd < 0 || daemon->stop_fd < 0 || !daemon->metrics || !daemon->warnings ||
        (options->n_decisions > 0 && !daemon->decisions))
        return error_origin(-ENOMEM);

    r = check_transport(options, error);
    if (r == 0)
        r = load_configuration(daemon, error);
    if (r == 0)
        r = start_live(daemon, error);
    if (r == 0)
        r = start_server(daemon, error);
    if (r < 0)
        return error_trace(r);
    *ret = TAKE_PTR(daemon);
    return 0;
}

Daemon *daemon_free(Daemon *daemon) {
    if (!daemon)
        return NULL;
    server_free(daemon->server);
    live_free(daemon->live);
    tls_store_free(daemon->tls);
    view_unref(daemon->view);
    metrics_free(daemon->metrics);
    warnings_free(daemon->warnings);
    decisions_free(daemon->decisions);
    zones_free(daemon->zones);
    if (daemon->signal_fd > 0)
        (void)close(daemon->signal_fd);
    if (daemon->stop_fd > 0)
        (void)close(daemon->stop_fd);
    (void)pthread_mutex_destroy(&daemon->lock);
    (void)pthread_mutex_destroy(&daemon->publish_lock);
    free(daemon);
    return NULL;
}

const char *daemon_url(const Daemon *daemon) {
    return daemon->url;
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
    struct signalfd_siginfo info;
    bool is_over = false;

    while (read(daemon->signal_fd, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGHUP) {
            log_info("reloading", LOG_CSTR("signal", "SIGHUP"));
            reload(daemon, /* force= */ true);
        } else if (info.ssi_signo == SIGUSR2) {
            dump(daemon);
        } else {
            is_over = true;
        }
    }
    return is_over;
}

static void tick_live(Daemon *daemon, int64_t now) {
    if (!daemon->live)
        return;
    (void)pthread_mutex_lock(&daemon->publish_lock);
    live_tick(daemon->live, now);
    (void)pthread_mutex_unlock(&daemon->publish_lock);
}

static bool stop_live(Daemon *daemon) {
    return !daemon->live || live_stop(daemon->live, STOP_NSEC);
}

/* False: not all have ended in time. */
static bool drain(Daemon *daemon) {
    int64_t deadline = clock_monotonic_nsec() + DRAIN_NSEC;
    unsigned n;

    log_info("shutting down, running requests may finish");
    atomic_store(&daemon->is_draining, true);
    while ((n = server_drain(daemon->server)) > 0 && clock_monotonic_nsec() < deadline) {
        (void)poll(NULL, 0, 10);
        server_tick(daemon->server, clock_monotonic_nsec());
    }
    if (n > 0)
        log_warn("connections cut at the end of the drain", LOG_INT("connections", n));
    return n == 0 && stop_live(daemon);
}

bool daemon_run(Daemon *daemon) {
    struct pollfd fds[] = {
        {.fd = daemon->signal_fd, .events = POLLIN},
        {.fd = daemon->stop_fd, .events = POLLIN},
    };
    int64_t next_reload = clock_monotonic_nsec() + RELOAD_NSEC;

    for (;;) {
        int64_t now;

        (void)poll(fds, ELEMENTS_OF(fds), TICK_MSEC);
        if ((fds[1].revents & POLLIN) || read_signals(daemon))
            break;
        now = clock_monotonic_nsec();
        server_tick(daemon->server, now);
        if (now >= next_reload) {
            reload(daemon, /* force= */ false);
            tick_live(daemon, now);
            next_reload = now + RELOAD_NSEC;
        }
    }
    return drain(daemon);
}
