/*
 * Shared by joins of nodes and of pods: the age of a series, which values count, and the report.
 */

#include "load/join.h"

#include <errno.h>
#include <math.h>

#include "base/message.h"
#include "base/nsec.h"
#include "load/join-internal.h"

/* A Date has whole seconds, and an answer takes its time. */
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

/* --- time ------------------------------------------------------------------ */

static int64_t newest_msec(const Vector *vector) {
    int64_t newest = 0;

    for (size_t i = 0; i < vector->n; i++)
        if (vector->items[i].at_msec > newest)
            newest = vector->items[i].at_msec;
    return newest;
}

static void set_time(Join *join, const JoinTime *time) {
    if (time->server_sec > 0 && time->server_sec < INT64_MAX / 1000) {
        join->now_msec = time->server_sec * 1000;
        join->slack_msec = DATE_SLACK_MSEC;
    } else {
        join->now_msec = newest_msec(join->vector);
    }
}

/* How much older than the answer a series is. */
static int64_t lag_nsec(const Join *join, const Series *series) {
    int64_t msec = join->now_msec - series->at_msec, nsec;

    if (series->at_msec <= 0 || msec <= join->slack_msec)
        return 0;
    return __builtin_mul_overflow(msec, NSEC_PER_MSEC, &nsec) ? INT64_MAX : nsec;
}

/* --- values ---------------------------------------------------------------- */

bool join_admit(Join *join, const Series *series, int64_t *ret_lag_nsec) {
    size_t *dropped = join->report->n_dropped;

    *ret_lag_nsec = lag_nsec(join, series);
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

/* --- the report ------------------------------------------------------------ */

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

/* Some nodes without a value. */
static void tell_uncovered(Join *join) {
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

static int join_all(Join *join) {
    if (join->vector->n == 0) {
        explain_empty(join);
        return 0;
    }
    return join->gauge->is_of_pods ? join_pods(join) : join_nodes(join);
}

int join_vector(const Gauge *gauge, const Vector *vector, const NodeTable *table,
    const JoinTime *time, JoinMemory *memory, Arena *scratch, JoinReport *report,
    Measurement **ret) {
    NodeNames *names = (NodeNames *)(uintptr_t)table->names; /* to be counted */
    _cleanup_(join_memory_freep) JoinMemory *own = memory ? NULL : join_memory_new();
    _cleanup_(measurement_unrefp) Measurement *measurement =
        measurement_new(names, time->asked_nsec, time->uptime_nsec);
    Join join = {
        .gauge = gauge,
        .vector = vector,
        .table = table,
        .memory = memory ? memory : own,
        .scratch = scratch,
        .report = report,
        .measurement = measurement,
        .work = JOIN_PATTERN_WORK,
    };
    int r;

    *ret = NULL;
    *report = (JoinReport){.n_series = vector->n, .n_nodes = table->names->n_nodes};
    if (!measurement || !join.memory)
        return -ENOMEM;
    set_time(&join, time);
    r = join_all(&join);
    if (r < 0)
        return r;
    tell_uncovered(&join);
    *ret = TAKE_PTR(measurement);
    return 0;
}
