/* Reads the metric sources and runs their poller. One lock guards the sources and the pointer to
 * the poller, which has its own locks; no lock of Measuring is held during its callbacks. */

#include "live/measuring.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "base/message.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "input/sources.h"
#include "kube/access.h"
#include "live/current.h"

#define SOURCES_BUDGET ((size_t)4 * 1024 * 1024)
#define HASTENED_BUDGET ((size_t)16 * 1024 * 1024) /* for a short-lived list of gauges */
#define URL_SHOWN_MAX 512u
#define QUERY_SHOWN_MAX 160u /* bytes of a query in a log line */

/* The operator's configuration. */
typedef struct Configured {
    Arena *arena; /* of the fields below */
    MetricSources sources;
} Configured;

struct Measuring {
    MeasuringOptions options;
    Current *current;
    bool has_warned; /* that no series can be matched to nodes */

    pthread_mutex_t lock; /* protects the fields below */
    Configured configured;
    Poller *poller;                 /* NULL: no gauge needed it so far */
    char api_server[URL_SHOWN_MAX]; /* of the API server that the poller queries; empty: none */
};

static void configured_done(Configured *configured) {
    configured->arena = arena_free(configured->arena);
}

static int read_sources(
    const MeasuringOptions *options, Configured *ret, char *error, size_t size) {
    _cleanup_(configured_done) Configured configured = {.arena = arena_new(SOURCES_BUDGET)};
    _cleanup_(buf_done) Buf text = BUF_INIT(SOURCES_BUDGET); /* all problems */
    DiagList diags = DIAG_LIST_IN(configured.arena);
    int r;

    if (!configured.arena)
        return message_no_memory(error, size, "the metric sources", NULL);
    r = sources_gather(options->prometheus_url, options->sources_path, configured.arena, &diags,
        &configured.sources);
    if (r > 0) {
        diag_list_print(&diags, /* colour= */ false, &text);
        (void)snprintf(error, size, "%.*s", STR_FMT(str_trim(buf_str(&text))));
        return r == FILE_E_UNREADABLE ? -ENOENT : -EINVAL;
    }
    if (r < 0)
        return message_failed(error, size, "the metric sources", r, configured.arena);
    log_warnings("warning about a metrics source", &diags);
    *ret = configured;
    configured.arena = NULL;
    return 0;
}

/* Exchanges the sources for *configured. Warns about unsafe settings. */
static void exchange(Measuring *measuring, Configured *configured) {
    Configured before;

    for (size_t i = 0; i < configured->sources.n; i++)
        if (configured->sources.items[i].server.is_insecure)
            log_warn("THE CERTIFICATE OF A METRICS SOURCE IS NOT VERIFIED: an impostor would be "
                     "believed and would get the credentials",
                LOG_STR("source", configured->sources.items[i].name));
    (void)pthread_mutex_lock(&measuring->lock);
    before = measuring->configured;
    measuring->configured = *configured;
    (void)pthread_mutex_unlock(&measuring->lock);
    *configured = before;
}

int measuring_reload(Measuring *measuring, char *error, size_t size) {
    _cleanup_(configured_done) Configured configured = {0};
    char text[ACCESS_ERROR_MAX];
    int r = read_sources(&measuring->options, &configured, error, size);

    if (r < 0)
        return r;
    if (measuring->poller) { /* only measuring_follow() sets it, and is not running */
        r = poller_configure(measuring->poller, &configured.sources, text);
        if (r < 0) {
            (void)snprintf(error, size, "%s", text);
            return r;
        }
    }
    exchange(measuring, &configured);
    return 0;
}

size_t measuring_n_sources(Measuring *measuring) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&measuring->lock);

    return measuring->configured.sources.n;
}

static Snapshot *snapshot_of(void *context) {
    _cleanup_(view_unrefp) View *view = current_view(((Measuring *)context)->current);

    return view->snapshot ? snapshot_ref(view->snapshot) : NULL;
}

static void publish(void *context, Measurements *measurements) {
    if (current_set_measured(((Measuring *)context)->current, measurements) < 0)
        log_error("out of memory for a view of new metric values: the previous ones stay in force");
}

static void take_notice(void *context, const PollerNotice *notice) {
    static const struct {
        LogLevel level;
        const char *text;
    } lines[] = {
        [POLL_OK] = {LOG_INFO, "metrics source answers"},
        [POLL_FAILING] = {LOG_WARN, "metrics source fails; values stay in force until they expire"},
        [POLL_UNJOINED] = {LOG_WARN, "metrics source answers, but no series matches a node"},
        [POLL_NO_SOURCE] = {LOG_WARN, "metric has no source: no values"},
    };
    static const JoinReport no_report;
    const JoinReport *report = notice->report ? notice->report : &no_report;
    bool is_ok = notice->is == POLL_OK, is_unjoined = notice->is == POLL_UNJOINED;

    LOG_AT(lines[notice->is].level, lines[notice->is].text, LOG_STR("metric", notice->gauge),
        LOG_STR("source", notice->source),
        LOG_STR(notice->is == POLL_NO_SOURCE ? NULL : "query",
            utf8_take(notice->query, QUERY_SHOWN_MAX)),
        LOG_INT(is_unjoined ? "series" : NULL, report->n_series),
        LOG_INT(is_ok ? "nodes_covered" : NULL, report->n_covered),
        LOG_INT(is_ok || is_unjoined ? "nodes" : NULL, report->n_nodes),
        LOG_CSTR(is_ok ? "join" : NULL, report->how),
        LOG_CSTR(is_ok ? NULL : "error", notice->error),
        LOG_INT(notice->down_nsec > 0 ? "down_ms" : NULL, notice->down_nsec / NSEC_PER_MSEC));
}

/* Opens the source of metrics.k8s.io. *ret is NULL if there is no API server. */
static int find_access(const MeasuringOptions *options, Access **ret, char *error, size_t size) {
    const LiveOptions *live = options->live;
    const MetricSource instead = {
        .name = STR("metrics.k8s.io"), .server.url = options->resource_metrics_url};
    char text[ACCESS_ERROR_MAX] = "";
    int r;

    *ret = NULL;
    if (!instead.server.url && !live_is_wanted(live))
        return 0;
    r = instead.server.url ? source_access(&instead, ret, text)
                           : access_find(live->kubeconfig, live->context, ret, text);
    if (r < 0)
        (void)snprintf(error, size, "%s", text);
    return r;
}

static int start_poller(Measuring *measuring, char *error, size_t size) {
    const PollerCallbacks callbacks = {
        .context = measuring, .snapshot = snapshot_of, .publish = publish, .notice = take_notice};
    PollerOptions options = {.sources = &measuring->configured.sources};
    char text[ACCESS_ERROR_MAX], server[URL_SHOWN_MAX] = "";
    Poller *poller = NULL;
    int r = find_access(&measuring->options, &options.access, error, size);

    if (r < 0)
        return r;
    if (getrandom(&options.seed, sizeof(options.seed), GRND_NONBLOCK) != sizeof(options.seed))
        options.seed = (uint64_t)clock_monotonic_nsec();
    if (options.access)
        (void)snprintf(server, sizeof(server), "%s", access_server(options.access));
    r = poller_new(&options, &callbacks, &poller, text);
    if (r < 0) {
        (void)snprintf(error, size, "%s", text);
        return r;
    }
    (void)pthread_mutex_lock(&measuring->lock);
    measuring->poller = poller;
    memcpy(measuring->api_server, server, sizeof(server));
    (void)pthread_mutex_unlock(&measuring->lock);
    return 0;
}

int measuring_new(
    const MeasuringOptions *options, Current *current, Measuring **ret, char *error, size_t size) {
    _cleanup_(measuring_freep) Measuring *measuring = calloc(1, sizeof(*measuring));
    Configured configured = {0};
    int r;

    if (!measuring)
        return message_no_memory(error, size, "the metric sources", NULL);
    measuring->options = *options;
    measuring->current = current;
    (void)pthread_mutex_init(&measuring->lock, NULL);
    r = read_sources(options, &configured, error, size);
    if (r < 0)
        return r;
    exchange(measuring, &configured);
    *ret = TAKE_PTR(measuring);
    return 0;
}

bool measuring_stop(Measuring *measuring, int64_t timeout_nsec) {
    return !measuring->poller || poller_stop(measuring->poller, timeout_nsec);
}

Measuring *measuring_free(Measuring *measuring) {
    if (!measuring)
        return NULL;
    poller_free(measuring->poller);
    configured_done(&measuring->configured);
    (void)pthread_mutex_destroy(&measuring->lock);
    free(measuring);
    return NULL;
}

/* Passes the gauges to the poller, with intervals of at most poll_nsec_max. */
static int follow(
    Measuring *measuring, const Program *program, uint64_t owner, Measurements **ret) {
    int64_t most_nsec = measuring->options.poll_nsec_max;
    _cleanup_(arena_freep) Arena *arena = most_nsec > 0 ? arena_new(HASTENED_BUDGET) : NULL;
    Gauge *gauges = arena ? ARENA_ARRAY(arena, Gauge, program->n_gauges) : NULL;

    if (most_nsec > 0 && !gauges)
        return -ENOMEM;
    for (size_t i = 0; gauges && i < program->n_gauges; i++) {
        gauges[i] = program->gauges[i];
        gauges[i].interval_nsec = clock_earlier(gauges[i].interval_nsec, most_nsec);
    }
    return poller_follow(
        measuring->poller, gauges ? gauges : program->gauges, program->n_gauges, owner, ret);
}

/* Starts the poller with the first gauge or source. */
int measuring_follow(Measuring *measuring, const Program *program, uint64_t owner,
    Measurements **ret, char *error, size_t size) {
    int r = 0;

    *ret = NULL;
    if (!measuring->poller && program->n_gauges == 0 && measuring->configured.sources.n == 0)
        return 0;
    if (program->n_gauges > 0 && !measuring->options.has_cluster && !measuring->has_warned) {
        measuring->has_warned = true;
        log_warn("metrics cannot be matched to nodes, because berth has no cluster of its own "
                 "(--kubeconfig, --in-cluster or --cluster)");
    }
    if (!measuring->poller)
        r = start_poller(measuring, error, size);
    if (r < 0)
        return r;
    r = follow(measuring, program, owner, ret);
    return r < 0 ? message_failed(error, size, "the metric queries", r, NULL) : 0;
}

/* Keeps scheme, host, port and path; removes users, passwords and parameters. */
static Str strip_url(Str url, Arena *arena) {
    size_t scheme = str_find(url, ':'), start = scheme == SIZE_MAX ? 0 : scheme + 3;
    Str rest = str_skip(url, start), host;

    rest = str_take(rest, str_find(rest, '?'));
    host = str_take(rest, str_find(rest, '/'));
    rest = str_skip(rest, str_find_last(host, '@') + 1);
    return arena_printf(arena, "%.*s%.*s", STR_FMT(str_take(url, start)), STR_FMT(rest));
}

static void copy_sources(const MetricSources *sources, Arena *arena, MeasuringStatus *ret) {
    SourceNote *notes = ARENA_ARRAY(arena, SourceNote, sources->n);

    for (size_t i = 0; notes && i < sources->n; i++)
        notes[i] = (SourceNote){
            .name = arena_copy(arena, sources->items[i].name),
            .url = strip_url(str_from_c(sources->items[i].server.url), arena),
        };
    ret->sources = notes;
    ret->n_sources = sources->n;
}

bool measuring_status(Measuring *measuring, const View *view, Arena *arena, MeasuringStatus *ret) {
    size_t n = view->program->n_gauges;
    PollStatus *items;
    uint64_t owner = 0;
    Poller *poller;

    *ret = (MeasuringStatus){0};
    if (n > MEASURING_SHOWN_MAX)
        n = MEASURING_SHOWN_MAX;
    items = ARENA_ARRAY(arena, PollStatus, n);
    (void)pthread_mutex_lock(&measuring->lock);
    copy_sources(&measuring->configured.sources, arena, ret);
    ret->api_server = arena_copy(arena, str_from_c(measuring->api_server));
    poller = measuring->poller;
    (void)pthread_mutex_unlock(&measuring->lock);
    if (arena_has_failed(arena) || !items) {
        *ret = (MeasuringStatus){0};
        return false;
    }
    ret->items = items;
    if (poller && n > 0 && poller_status(poller, items, n, &owner) >= n && view->measurements &&
        view->measurements->owner == owner)
        ret->n = n;
    return true;
}
