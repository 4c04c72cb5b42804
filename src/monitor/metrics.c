/* Counters of requests and decisions, and the page /metrics. */

#include "monitor/metrics.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/nsec.h"
#include "monitor/metrics-internal.h"
#include "version.h"

/* Statuses that berth sends; 0: the connection broke before the reply. */
static const unsigned codes[] = {
    200, 304, 400, 401, 403, 404, 405, 408, 413, 415, 431, 500, 503, 0};
#define N_CODES (sizeof(codes) / sizeof(codes[0]))

/* Upper bounds of durations in microseconds, up to kube-scheduler's timeout of 5 s. */
static const int64_t bucket_usec[] = {
    50, 100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 1000000, 5000000};
#define N_BUCKETS (sizeof(bucket_usec) / sizeof(bucket_usec[0]))

typedef struct RequestFigures {
    _Atomic uint64_t requests[N_CODES];
    _Atomic uint64_t buckets[N_BUCKETS + 1]; /* not cumulative; added up when printed */
    _Atomic uint64_t nsec;
    _Atomic uint64_t bytes_in, bytes_out;
    _Atomic uint64_t nodes_in;
    _Atomic uint64_t errors, late_requests, late_nodes;
} RequestFigures;

struct Metrics {
    RequestFigures requests[_REQUEST_KINDS];
    _Atomic uint64_t nodes_unknown, nodes_narrowed;
    _Atomic uint64_t none_eligible; /* filters */
    _Atomic uint64_t late_rejected;
    _Atomic uint64_t reviews[_REVIEW_RESULTS];
    RuleFigures *rules;
};

Metrics *metrics_new(void) {
    Metrics *metrics = calloc(1, sizeof(*metrics));

    if (!metrics)
        return NULL;
    metrics->rules = rule_figures_new();
    return metrics->rules ? metrics : metrics_free(metrics);
}

Metrics *metrics_free(Metrics *metrics) {
    if (!metrics)
        return NULL;
    rule_figures_free(metrics->rules);
    free(metrics);
    return NULL;
}

/* --- counting ---------------------------------------------------------------- */

static void count(_Atomic uint64_t *counter, uint64_t n) {
    if (n > 0)
        atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static uint64_t load(const _Atomic uint64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void metrics_note_request(Metrics *metrics, RequestKind kind, const HttpOutcome *outcome) {
    RequestFigures *figures = &metrics->requests[kind];
    size_t bucket = 0, code = 0;

    while (bucket < N_BUCKETS && outcome->duration_nsec > bucket_usec[bucket] * 1000)
        bucket++;
    while (code < N_CODES - 1 && codes[code] != outcome->status)
        code++;
    count(&figures->requests[code], 1);
    count(&figures->buckets[bucket], 1);
    count(&figures->nsec, (uint64_t)outcome->duration_nsec);
    count(&figures->bytes_in, outcome->bytes_in);
    count(&figures->bytes_out, outcome->bytes_out);
}

void metrics_note_review(Metrics *metrics, ReviewResult result) {
    count(&metrics->reviews[result], 1);
}

void metrics_note_decision(
    Metrics *metrics, Verb verb, Program *program, const Decision *decision, int64_t at_nsec) {
    const DecisionSummary *summary = &decision->summary;
    RequestFigures *figures = &metrics->requests[verb];

    count(&figures->nodes_in, summary->n_in);
    count(&figures->errors, !str_is_empty(decision->error));
    count(&figures->late_requests, summary->n_unjudged > 0);
    count(&figures->late_nodes, summary->n_unjudged);
    count(&metrics->none_eligible,
        verb == VERB_FILTER && decision->args && summary->n_in > 0 && summary->n_out == 0);
    count(&metrics->nodes_unknown, summary->n_unknown);
    count(&metrics->nodes_narrowed, summary->n_narrowed);
    count(&metrics->late_rejected, summary->n_late);
    rule_figures_note(metrics->rules, program, decision, at_nsec);
}

PolicyFigure metrics_of_policy(Metrics *metrics, Str policy) {
    return rule_figures_of_policy(metrics->rules, policy);
}

RuleFigure metrics_of_rule(Metrics *metrics, Str policy, Str rule) {
    return rule_figures_of_rule(metrics->rules, policy, rule);
}

/* --- Prometheus' text format ------------------------------------------------------------------ */

void exposition_head(Buf *out, const char *name, const char *type, const char *help) {
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void exposition_count(Buf *out, const char *name, const char *help, uint64_t n) {
    exposition_head(out, name, "counter", help);
    buf_printf(out, "%s %" PRIu64 "\n", name, n);
}

void exposition_gauge(Buf *out, const char *name, const char *help, double value) {
    exposition_head(out, name, "gauge", help);
    buf_printf(out, "%s %.17g\n", name, value);
}

void exposition_value(Buf *out, Str text) {
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c == '"' || c == '\\')
            buf_append_char(out, '\\');
        if (c == '\n')
            buf_append(out, STR("\\n"));
        else
            buf_append_char(out, c);
    }
}

/* --- the process ------------------------------------------------------------------------------ */

static double count_fds(void) {
    DIR *folder = opendir("/proc/self/fd");
    double n = -3; /* ".", ".." and the folder itself */

    if (!folder)
        return 0;
    while (readdir(folder))
        n++;
    (void)closedir(folder);
    return n;
}

static void print_memory(Buf *out) {
    long pages[2] = {0, 0};
    FILE *file = fopen("/proc/self/statm", "re");
    double page = (double)sysconf(_SC_PAGESIZE);

    if (file) {
        if (fscanf(file, "%ld %ld", &pages[0], &pages[1]) != 2)
            pages[0] = pages[1] = 0;
        (void)fclose(file);
    }
    exposition_gauge(
        out, "process_virtual_memory_bytes", "Virtual memory size.", (double)pages[0] * page);
    exposition_gauge(
        out, "process_resident_memory_bytes", "Resident memory size.", (double)pages[1] * page);
}

static void print_process(int64_t started_at_sec, Buf *out) {
    struct rusage usage = {0};
    struct rlimit files = {0};

    (void)getrusage(RUSAGE_SELF, &usage);
    (void)getrlimit(RLIMIT_NOFILE, &files);
    exposition_head(out, "process_cpu_seconds_total", "counter", "User and system CPU time spent.");
    buf_printf(out, "process_cpu_seconds_total %.6f\n",
        (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
            (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    print_memory(out);
    exposition_gauge(out, "process_open_fds", "Open file descriptors.", count_fds());
    exposition_gauge(out, "process_max_fds", "File descriptors allowed.", (double)files.rlim_cur);
    exposition_gauge(out, "process_start_time_seconds", "When the process started, since 1970.",
        (double)started_at_sec);
}

/* --- the page ------------------------------------------------------------------ */

static const char *const kind_names[_REQUEST_KINDS] = {
    [REQUEST_FILTER] = "filter",
    [REQUEST_PRIORITIZE] = "prioritize",
    [REQUEST_PREEMPT] = "preempt",
    [REQUEST_BIND] = "bind",
    [REQUEST_DRY_RUN] = "dry-run",
    [REQUEST_HEALTH] = "health",
    [REQUEST_METRICS] = "metrics",
    [REQUEST_DECISIONS] = "decisions",
    [REQUEST_SOURCES] = "sources",
    [REQUEST_STATUS] = "status",
    [REQUEST_PAGES] = "pages",
    [REQUEST_EVENTS] = "events",
    [REQUEST_DASHBOARD] = "dashboard",
    [REQUEST_ADMISSION] = "admission",
    [REQUEST_OTHER] = "other",
};

static void print_requests(const Metrics *metrics, Buf *out) {
    exposition_head(
        out, "berth_requests_total", "counter", "Requests answered, by verb or page and status.");
    for (size_t i = 0; i < _REQUEST_KINDS; i++)
        for (size_t c = 0; c < N_CODES; c++) {
            uint64_t n = load(&metrics->requests[i].requests[c]);

            if (n == 0 && !(i < _VERB_MAX && codes[c] == 200))
                continue; /* other series exist when first counted */
            buf_printf(out, "berth_requests_total{verb=\"%s\",code=\"%u\"} %" PRIu64 "\n",
                kind_names[i], codes[c], n);
        }
}

static void print_durations(const Metrics *metrics, Buf *out) {
    exposition_head(out, "berth_request_duration_seconds", "histogram",
        "Time from complete headers to the reply sent.");
    for (size_t i = 0; i < _VERB_MAX; i++) {
        const RequestFigures *figures = &metrics->requests[i];
        uint64_t n = 0;

        for (size_t b = 0; b < N_BUCKETS; b++) {
            n += load(&figures->buckets[b]);
            buf_printf(out,
                "berth_request_duration_seconds_bucket{verb=\"%s\",le=\"%g\"} %" PRIu64 "\n",
                verb_name((Verb)i), (double)bucket_usec[b] / 1e6, n);
        }
        n += load(&figures->buckets[N_BUCKETS]);
        buf_printf(out,
            "berth_request_duration_seconds_bucket{verb=\"%s\",le=\"+Inf\"} %" PRIu64 "\n"
            "berth_request_duration_seconds_sum{verb=\"%s\"} %.9f\n"
            "berth_request_duration_seconds_count{verb=\"%s\"} %" PRIu64 "\n",
            verb_name((Verb)i), n, verb_name((Verb)i), (double)load(&figures->nsec) / 1e9,
            verb_name((Verb)i), n);
    }
}

static void print_by_verb(
    const Metrics *metrics, Buf *out, const char *name, const char *help, size_t offset) {
    exposition_head(out, name, "counter", help);
    for (size_t i = 0; i < _VERB_MAX; i++)
        buf_printf(out, "%s{verb=\"%s\"} %" PRIu64 "\n", name, verb_name((Verb)i),
            load((const _Atomic uint64_t *)(const void *)((const char *)&metrics->requests[i] +
                                                          offset)));
}

/* Outcomes of nodes that do not come from a rule. */
static void print_nodes(const Metrics *metrics, Buf *out) {
    exposition_count(out, "berth_no_eligible_node_total",
        "Filters in which no node passed, for whatever reasons together.",
        load(&metrics->none_eligible));
    exposition_count(out, "berth_nodes_unknown_total",
        "Nodes rejected because berth does not know them.", load(&metrics->nodes_unknown));
    exposition_count(out, "berth_narrowed_nodes_total",
        "Nodes that passed but were not returned, because other nodes scored higher (narrow).",
        load(&metrics->nodes_narrowed));
    print_by_verb(metrics, out, "berth_late_requests_total",
        "Requests that exceeded the deadline (--deadline), by verb.",
        offsetof(RequestFigures, late_requests));
    print_by_verb(metrics, out, "berth_late_nodes_total",
        "Nodes not evaluated or scored before the deadline, by verb.",
        offsetof(RequestFigures, late_nodes));
    exposition_count(out, "berth_late_rejected_nodes_total",
        "Nodes rejected because the deadline was exceeded (onTimeout: reject).",
        load(&metrics->late_rejected));
}

static void print_pending_policy(Buf *out, Str policy, size_t n) {
    buf_append(out, STR("berth_pending_pods{policy=\""));
    exposition_value(out, policy);
    buf_printf(out, "\"} %zu\n", n);
}

/* Policies in force always have their series; others while they keep pods pending. */
static void print_pending(const MetricsState *state, Buf *out) {
    const PendingFigures *pending = state->pending;
    const Program *program = state->view->program;
    bool is_printed[RECENT_POLICIES_MAX + 1] = {false};
    int64_t age_nsec = pending->n > 0 ? state->now_nsec - pending->oldest_nsec : 0;

    exposition_head(out, "berth_pending_pods", "gauge",
        "Pods for which no node passed the last filter, by the policy of the main reason.");
    for (size_t i = 0; i < program->n_policies; i++) {
        size_t k = 1;

        while (k < pending->n_policies &&
               !str_eq(pending->policies[k].policy, program->policies[i].name))
            k++;
        print_pending_policy(
            out, program->policies[i].name, k < pending->n_policies ? pending->policies[k].n : 0);
        if (k < pending->n_policies)
            is_printed[k] = true;
    }
    for (size_t k = 0; k < pending->n_policies; k++)
        if (pending->policies[k].n > 0 && !is_printed[k])
            print_pending_policy(out, pending->policies[k].policy, pending->policies[k].n);
    exposition_gauge(out, "berth_pending_pod_age_seconds",
        "How long the pod that is pending longest has been pending; 0: none is.",
        (double)age_nsec / (double)NSEC_PER_SEC);
}

static void print_reloads(const MetricsState *state, Buf *out) {
    ReloadState reloads[_RELOAD_MAX];

    for (size_t i = 0; i < _RELOAD_MAX; i++)
        reloads_get(state->reloads, (ReloadKind)i, &reloads[i]);
    exposition_head(out, "berth_config_last_reload_success", "gauge",
        "1 when the configuration on disk is in force, 0 when the newest was rejected.");
    for (size_t i = 0; i < _RELOAD_MAX; i++)
        if (reloads[i].is_used)
            buf_printf(out, "berth_config_last_reload_success{config=\"%s\"} %d\n",
                reload_kind_names[i], reloads[i].is_good);
    exposition_head(out, "berth_config_last_reload_success_timestamp_seconds", "gauge",
        "When the configuration in force was read.");
    for (size_t i = 0; i < _RELOAD_MAX; i++)
        if (reloads[i].is_used)
            buf_printf(out,
                "berth_config_last_reload_success_timestamp_seconds{config=\"%s\"} %" PRId64 "\n",
                reload_kind_names[i], reloads[i].good_at_sec);
    exposition_head(
        out, "berth_config_reloads_total", "counter", "Reads of configuration, by result.");
    for (size_t i = 0; i < _RELOAD_MAX; i++)
        if (reloads[i].is_used)
            buf_printf(out,
                "berth_config_reloads_total{config=\"%s\",result=\"good\"} %" PRIu64 "\n"
                "berth_config_reloads_total{config=\"%s\",result=\"rejected\"} %" PRIu64 "\n",
                reload_kind_names[i], reloads[i].n_good, reload_kind_names[i], reloads[i].n_bad);
}

static void print_refused(const ServerFigures *figures, const char *name, Buf *out) {
    for (size_t i = 0; i < _SERVER_REFUSED_MAX; i++)
        buf_printf(out, "%s{cause=\"%s\"} %" PRIu64 "\n", name, server_refusal_names[i],
            figures->refused[i]);
}

static void print_admission(const Metrics *metrics, const Server *server, Buf *out) {
    static const char *const results[_REVIEW_RESULTS] = {
        [REVIEW_ALLOWED] = "allowed",
        [REVIEW_REJECTED] = "rejected",
        [REVIEW_ERROR] = "error",
    };
    ServerFigures figures;

    server_figures(server, &figures);
    exposition_head(out, "berth_admission_reviews_total", "counter",
        "AdmissionReviews of policies, by result.");
    for (size_t i = 0; i < _REVIEW_RESULTS; i++)
        buf_printf(out, "berth_admission_reviews_total{result=\"%s\"} %" PRIu64 "\n", results[i],
            load(&metrics->reviews[i]));
    exposition_head(out, "berth_admission_refused_total", "counter",
        "Requests and connections of AdmissionReviews refused by a limit.");
    print_refused(&figures, "berth_admission_refused_total", out);
}

static void print_server(const MetricsState *state, Buf *out) {
    ServerFigures figures = {0};

    if (state->server)
        server_figures(state->server, &figures);
    exposition_gauge(out, "berth_connections", "Connections that are open.", figures.connections);
    exposition_count(
        out, "berth_connections_total", "Connections accepted.", figures.connections_total);
    exposition_gauge(out, "berth_request_memory_bytes",
        "Memory held by requests: bodies and replies.", (double)figures.memory);
    exposition_head(
        out, "berth_refused_total", "counter", "Requests and connections refused by a limit.");
    print_refused(&figures, "berth_refused_total", out);
}

static void print_state(const MetricsState *state, Buf *out) {
    char digest[DIGEST_TEXT_MAX];

    exposition_head(out, "berth_build_info", "gauge", "The build; always 1.");
    buf_printf(out, "berth_build_info{version=\"%s\"} 1\n", BERTH_VERSION);
    exposition_head(
        out, "berth_policy_info", "gauge", "The policies in force, by digest; always 1.");
    buf_printf(out, "berth_policy_info{digest=\"%s\"} 1\n",
        digest_print(state->view->program->digest, digest));
    exposition_gauge(
        out, "berth_policies", "Policies in force.", (double)state->view->program->n_policies);
    exposition_gauge(out, "berth_cluster_nodes", "Nodes berth knows.",
        (double)state->view->table->names->n_nodes);
    if (state->certificate_expiry_sec != 0)
        exposition_gauge(out, "berth_certificate_expiry_timestamp_seconds",
            "When the server certificate in use expires.", (double)state->certificate_expiry_sec);
    if (state->crl_expiry_sec != 0)
        exposition_gauge(out, "berth_client_crl_expiry_timestamp_seconds",
            "When a newer CRL of --client-crl is due.", (double)state->crl_expiry_sec);
}

static void print_decisions(const DecisionsFigures *figures, Buf *out) {
    exposition_gauge(out, "berth_decisions_kept", "Decisions that are kept.", (double)figures->n);
    exposition_gauge(out, "berth_decisions_with_nodes",
        "Kept decisions that also have the verdict of each node.",
        (double)figures->n_with_outcomes);
    exposition_gauge(
        out, "berth_decisions_bytes", "Memory used by kept decisions.", (double)figures->bytes);
    exposition_count(out, "berth_decisions_nodes_dropped_total",
        "Decisions whose node verdicts were dropped early, because of the memory limit.",
        figures->n_outcomes_dropped);
    exposition_count(out, "berth_decisions_dropped_total",
        "Decisions dropped early, because of the memory limit.", figures->n_dropped);
}

void metrics_page(Metrics *metrics, const MetricsState *state, Buf *out) {
    print_requests(metrics, out);
    print_durations(metrics, out);
    print_by_verb(metrics, out, "berth_request_bytes_total", "Bytes of request bodies.",
        offsetof(RequestFigures, bytes_in));
    print_by_verb(metrics, out, "berth_reply_bytes_total", "Bytes of reply bodies.",
        offsetof(RequestFigures, bytes_out));
    print_by_verb(metrics, out, "berth_nodes_in_total", "Candidate nodes.",
        offsetof(RequestFigures, nodes_in));
    print_by_verb(metrics, out, "berth_errors_total", "Answers with an error, by verb.",
        offsetof(RequestFigures, errors));
    rule_figures_print(metrics->rules, state->view->program, out);
    print_nodes(metrics, out);
    print_pending(state, out);
    print_server(state, out);
    if (state->admission)
        print_admission(metrics, state->admission, out);
    print_reloads(state, out);
    print_state(state, out);
    print_decisions(state->decisions, out);
    if (state->live)
        live_figures_print(state->live, state->now_nsec, out);
    source_figures_print(state->view, state->measuring,
        (GaugeTime){.now_nsec = state->wall_nsec, .uptime_nsec = state->now_nsec}, state->arena,
        out);
    print_process(state->started_at_sec, out);
}
