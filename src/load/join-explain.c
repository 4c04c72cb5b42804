/* Why series could not be joined, and how to fix it, for the author of the query. */

#include "base/message.h"
#include "load/join-internal.h"

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

static void show_node(Message *message, const Join *join) {
    message_add(message, "; a node is called \"");
    message_show(message, some_node(join), VALUE_SHOWN);
    message_add(message, "\"");
}

/* A series that has @label, which may be empty: any. */
static const Series *some_series(const Join *join, Str label) {
    const Vector *vector = join->vector;

    for (size_t i = 0; i < vector->n && !str_is_empty(label); i++)
        if (!str_is_empty(series_label(&vector->items[i], label)))
            return &vector->items[i];
    return &vector->items[0];
}

/* Errors before any label is looked at. */
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

void join_explain_unmatched(Join *join, Str label) {
    Message message = message_begin(join->report->error, JOIN_TEXT_MAX);
    const Series *series = some_series(join, label);

    if (explain_basics(join, series, &message))
        return;
    if (!str_is_empty(label) && str_is_empty(series_label(series, label))) {
        join_explain_no_label(join, label);
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
    if (!join->gauge->is_of_pods)
        show_node(&message, join);
}

void join_explain_no_label(Join *join, Str label) {
    Message message = message_begin(join->report->error, JOIN_TEXT_MAX);
    const Series *series = &join->vector->items[0];

    if (explain_basics(join, series, &message))
        return;
    message_quote(&message, "no series has the label ", label, "; the first has ");
    show_labels(&message, series);
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

/* The cause that most series share. */
static JoinDrop main_cause(const JoinReport *report) {
    JoinDrop cause = JOIN_NO_LABEL;

    for (unsigned i = 0; i < _JOIN_DROPS; i++)
        if (report->n_dropped[i] > report->n_dropped[cause])
            cause = (JoinDrop)i;
    return cause;
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
    JoinDrop cause = main_cause(join->report);

    if (join->report->n_dropped[cause] == 0) {
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
        join_explain_no_label(join, label);
    } else if (n_matched == 0) {
        join_explain_unmatched(join, label);
    } else {
        explain_duplicates(join, by);
        if (join->report->n_covered == 0)
            explain_unused(join, by);
    }
}
