/*
 * Shared by joins of nodes and of pods: the age of a series, which values count, the report, and
 * why series could not be joined, for the author of the query.
 */

#include "load/join.h"

#include <errno.h>
#include <math.h>

#include "base/nsec.h"
#include "load/join-internal.h"

/* A Date has whole seconds, and an answer takes some time. */
#define DATE_SLACK_MSEC 2000

const char *join_drop_name(JoinDrop drop) {
    static const char *const names[_JOIN_DROPS] = {
        [JOIN_NO_LABEL] = "no_label",
        [JOIN_NO_NODE] = "no_node",
        [JOIN_DUPLICATE] = "duplicate",
        [JOIN_NAN] = "nan",
        [JOIN_INFINITE] = "infinite",
        [JOIN_TOO_OLD] = "too_old",
    };

    return names[drop];
}

static void set_time(Join *join, const JoinTime *time) {
    const Vector *vector = join->vector;

    if (time->server_sec > 0 && time->server_sec < INT64_MAX / 1000) {
        join->now_msec = time->server_sec * 1000;
        join->slack_msec = DATE_SLACK_MSEC;
        return;
    }
    for (size_t i = 0; i < vector->n; i++)
        if (vector->items[i].at_msec > join->now_msec)
            join->now_msec = vector->items[i].at_msec;
}

bool join_admit(Join *join, const Series *series, int64_t *ret_lag_nsec) {
    int64_t msec = join->now_msec - series->at_msec; /* its age at the answer */
    size_t *dropped = join->report->n_dropped;

    if (series->at_msec <= 0 || msec <= join->slack_msec)
        *ret_lag_nsec = 0;
    else if (__builtin_mul_overflow(msec, NSEC_PER_MSEC, ret_lag_nsec))
        *ret_lag_nsec = INT64_MAX;
    if (isnan(series->value))
        dropped[JOIN_NAN]++;
    else if (isinf(series->value))
        dropped[JOIN_INFINITE]++;
    else if (*ret_lag_nsec > join->gauge->max_age_nsec)
        dropped[JOIN_TOO_OLD]++;
    else
        return true;
    return false;
}

int join_set(Join *join, uint32_t row, double value, int64_t lag) {
    int r = measurement_set(join->measurement, row, value, lag);

    if (r < 0)
        return r;
    join->report->n_covered++;
    return 0;
}

void join_count_unmatched(Join *join, Str before, Str text) {
    Message message;

    join->report->n_dropped[JOIN_NO_NODE]++;
    if (join->n_unmatched == JOIN_EXAMPLES_MAX)
        return;
    message = message_begin(join->report->unmatched[join->n_unmatched++], JOIN_TEXT_MAX);
    if (!str_is_empty(before)) {
        message_show(&message, before, MESSAGE_QUOTE_MAX);
        message_add(&message, "/");
    }
    message_show(&message, text, MESSAGE_QUOTE_MAX);
}

/* Adds some nodes without a value to the report. */
static void list_uncovered(Join *join) {
    const NodeNames *names = join->table->names;
    JoinReport *report = join->report;
    size_t n = 0;

    if (report->n_covered >= report->n_nodes)
        return;
    for (size_t row = 0; row < names->n_rows && n < JOIN_EXAMPLES_MAX; row++) {
        Message message;

        if (str_is_empty(names->names[row]) || !isnan(join->measurement->values[row]))
            continue;
        message = message_begin(report->uncovered[n++], JOIN_TEXT_MAX);
        message_show(&message, names->names[row], MESSAGE_QUOTE_MAX);
    }
}

static void explain_empty(Join *join) {
    Message message = message_begin(join->report->error, JOIN_TEXT_MAX);

    if (join->gauge->source == GAUGE_RESOURCES)
        message_add(&message,
            "the answer has no usage of any %s: metrics-server may have just started",
            join->gauge->is_of_pods ? "pod" : "node");
    else if (join->gauge->source == GAUGE_CUSTOM)
        message_add(&message, "the answer has no value of any node");
    else if (join->vector->n_histograms > 0)
        message_add(&message,
            "the answer has histograms (%zu series), not numbers: take one number of each, as with "
            "histogram_quantile()",
            join->vector->n_histograms);
    else
        message_add(&message,
            "the answer has no series: nothing was measured yet, or no metric has the name and the "
            "labels that the query asks for");
}

int join_vector(const Gauge *gauge, const Vector *vector, const NodeTable *table,
    const JoinTime *time, JoinIndex *index, JoinMemory *memory, Arena *scratch, JoinReport *report,
    Measurement **ret) {
    NodeNames *names = (NodeNames *)(uintptr_t)table->names; /* its reference count changes */
    _cleanup_(join_memory_done) JoinMemory own = {0};
    _cleanup_(measurement_unrefp) Measurement *measurement =
        measurement_new(names, time->asked_nsec, time->uptime_nsec);
    Join join = {
        .gauge = gauge,
        .vector = vector,
        .table = table,
        .index = index,
        .memory = memory ? memory : &own,
        .scratch = scratch,
        .report = report,
        .measurement = measurement,
        .work = JOIN_PATTERN_WORK,
    };
    int r = 0;

    *ret = NULL;
    *report = (JoinReport){.n_series = vector->n, .n_nodes = table->names->n_nodes};
    if (!measurement)
        return -ENOMEM;
    set_time(&join, time);
    if (vector->n == 0)
        explain_empty(&join);
    else
        r = gauge->is_of_pods ? join_pods(&join) : join_nodes(&join);
    if (r < 0)
        return r;
    list_uncovered(&join);
    *ret = TAKE_PTR(measurement);
    return 0;
}

#define LABELS_SHOWN 3u
#define VALUE_SHOWN 32u

static Str some_node(const Join *join) {
    const NodeNames *names = join->table->names;

    for (size_t row = 0; row < names->n_rows; row++)
        if (!str_is_empty(names->names[row]))
            return names->names[row];
    return STR_NULL;
}

/* instance="10.0.0.7:9100", job="node", … */
static void show_labels(Message *message, const Series *series) {
    size_t n = series->n_labels < LABELS_SHOWN ? series->n_labels : LABELS_SHOWN;

    for (size_t i = 0; i < n; i++) {
        message_add(message, "%s", i > 0 ? ", " : "");
        message_show(message, series->labels[i].name, VALUE_SHOWN);
        message_add(message, "=\"");
        message_show(message, series->labels[i].value, VALUE_SHOWN);
        message_add(message, "\"");
    }
    message_add(message, "%s", series->n_labels > n ? ", …" : "");
}

/* A series that has @label; any series if none has it, or @label is empty. */
static const Series *some_series(const Join *join, Str label) {
    const Vector *vector = join->vector;

    for (size_t i = 0; i < vector->n && !str_is_empty(label); i++)
        if (!str_is_empty(series_label(&vector->items[i], label)))
            return &vector->items[i];
    return &vector->items[0];
}

/* Explains errors that do not depend on labels. Returns false if there is none. */
static bool explain_basics(Join *join, const Series *series, Message *message) {
    const char *by = join->gauge->is_of_pods ? "namespace, pod" : "node";

    if (join->report->n_nodes == 0)
        message_add(message, "no node of the cluster is known");
    else if (series->n_labels == 0)
        message_add(
            message, "the series has no labels, so it names no node: add by (%s) to the query", by);
    else
        return false;
    return true;
}

/* Writes into the report that no series has the label. */
static void explain_no_label(Join *join, Str label) {
    Message message = message_begin(join->report->error, JOIN_TEXT_MAX);
    const Series *series = &join->vector->items[0];

    if (explain_basics(join, series, &message))
        return;
    message_quote(&message, "no series has the label ", label, "; the first has ");
    show_labels(&message, series);
}

void join_explain_unmatched(Join *join, Str label) {
    Message message = message_begin(join->report->error, JOIN_TEXT_MAX);
    const Series *series = some_series(join, label);

    if (explain_basics(join, series, &message))
        return;
    if (!str_is_empty(label) && str_is_empty(series_label(series, label))) {
        explain_no_label(join, label);
        return;
    }
    if (str_is_empty(label)) {
        message_add(&message, "no label that all series have is a node's name or address: ");
        show_labels(&message, series);
    } else {
        message_add(&message, "no %s has the value of label ",
            join->gauge->is_of_pods ? "pod on a node" : "node");
        message_quote(&message, "", label, "");
        message_add(&message, ": \"");
        message_show(&message, series_label(series, label), VALUE_SHOWN);
        message_add(&message, "\"");
    }
    if (join->gauge->is_of_pods)
        return;
    message_add(&message, "; a node is called \"");
    message_show(&message, some_node(join), VALUE_SHOWN);
    message_add(&message, "\"");
}

static void explain_duplicates(Join *join, Str by) {
    JoinReport *report = join->report;
    Message message = {.text = report->how, .len = strlen(report->how), .size = JOIN_TEXT_MAX};
    bool is_of_pods = join->gauge->is_of_pods;

    if (report->n_dropped[JOIN_DUPLICATE] == 0)
        return;
    message_add(&message, "; %zu series are not used, since their %s has several: %s by (",
        report->n_dropped[JOIN_DUPLICATE], is_of_pods ? "pod" : "node",
        is_of_pods ? "sum" : "aggregate");
    message_show(&message, by, MESSAGE_QUOTE_MAX);
    message_add(&message, ")");
}

static void explain_unused(Join *join, Str by) {
    static const char *const texts[_JOIN_DROPS] = {
        [JOIN_NO_LABEL] = "most series have no label that names a node or pod",
        [JOIN_NO_NODE] = "most series are of nodes or pods that the cluster does not have",
        [JOIN_NAN] = "the values are NaN: zero divided by zero, or nothing to calculate with",
        [JOIN_INFINITE] = "the values are infinite: a division by zero",
        [JOIN_TOO_OLD] = "the series are older than maxAge, by the server's own clock",
    };
    Message message = message_begin(join->report->error, JOIN_TEXT_MAX);
    const size_t *n_dropped = join->report->n_dropped;
    JoinDrop cause = JOIN_NO_LABEL; /* the most frequent one */

    for (unsigned i = 0; i < _JOIN_DROPS; i++)
        if (n_dropped[i] > n_dropped[cause])
            cause = (JoinDrop)i;
    if (n_dropped[cause] == 0) {
        message_add(&message,
            "none of the pods that have series is one that counts: see the metric's namespaces and "
            "selector");
        return;
    }
    if (cause != JOIN_DUPLICATE) {
        message_add(&message, "%s", texts[cause]);
        return;
    }
    message_add(&message, "every %s has several series: %s by (",
        join->gauge->is_of_pods ? "pod" : "node", join->gauge->is_of_pods ? "sum" : "aggregate");
    message_show(&message, by, MESSAGE_QUOTE_MAX);
    message_add(&message, ")");
}

void join_explain_end(Join *join, size_t n_labelled, size_t n_matched, Str label, Str by) {
    if (n_labelled == 0) {
        explain_no_label(join, label);
    } else if (n_matched == 0) {
        join_explain_unmatched(join, label);
    } else {
        explain_duplicates(join, by);
        if (join->report->n_covered == 0)
            explain_unused(join, by);
    }
}
