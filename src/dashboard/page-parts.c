/* Parts that several pages share. */

#include "dashboard/page-parts.h"

#include <math.h>
#include <stdio.h>

#include "base/nsec.h"

#define REASON_MAX ((size_t)64 * 1024)

static void draw_filter(Html *html, const PastDecision *past) {
    _cleanup_(buf_done) Buf reason = BUF_INIT(REASON_MAX);
    const RuleName *rule = past_main_rule(past);

    if (past->summary.n_out == 0)
        html_write(html, "<strong class='bad'>✗ no node passed</strong>");
    else if (past->is_exempt)
        html_write(html, "exempt: all nodes pass");
    else
        html_write(html, "<span class='good'>✓ passed</span>");
    if (past->summary.n_narrowed > 0)
        html_write(html, ", only the best returned");
    if (rule) {
        html_write(html, past->summary.n_out == 0 ? "; main reason: "
                                                  : "; most frequent reason of rejections: ");
        past_print_reason(past, &reason);
        html_text(html, buf_str(&reason));
    } else if (past->summary.n_late > 0) {
        html_write(html, "; deadline exceeded");
    }
}

static void draw_result(Html *html, const PastDecision *past) {
    if (!str_is_empty(past->error))
        html_write(html, "<strong class='bad'>✗ error: </strong>%.*s", STR_FMT(past->error));
    else if (past->verb == VERB_FILTER)
        draw_filter(html, past);
    else if (past->verb == VERB_PRIORITIZE)
        html_write(html, "scored");
    else if (past->verb == VERB_PREEMPT)
        html_write(html, past->summary.n_out > 0 ? "candidates kept" : "no candidate kept");
    else
        html_write(html, "<span class='good'>✓ bound to </span>" NODE_LINK, NODE_FMT(past->node));
}

const PastDecision *attempt_first(const PodAttempt *attempt) {
    size_t verb = 0;

    while (verb + 1 < _VERB_MAX && !attempt->verbs[verb].past)
        verb++;
    return attempt->verbs[verb].past;
}

void attempt_cells(Html *html, const PodAttempt *attempt) {
    const PastDecision *filter = attempt->verbs[VERB_FILTER].past;
    const PastDecision *bind = attempt->verbs[VERB_BIND].past;
    size_t n = 0;

    html_write(html, "<td class='number'>");
    if (filter)
        html_write(html, "%zu → %zu", filter->summary.n_in, filter->summary.n_out);
    html_write(html, "</td><td>");
    for (Verb verb = 0; verb < _VERB_MAX; verb++)
        if (attempt->verbs[verb].past)
            html_write(html, "%s%s", n++ > 0 ? ", " : "", verb_name(verb));
    html_write(html, "</td><td>");
    /* The result of a bind is more important than that of a filter. */
    draw_result(html, bind ? bind : attempt_first(attempt));
    html_close(html);
}

void decision_open_link(Html *html, const PastDecision *past) {
    html_write(html, "<a href='/pod?namespace=%.*s&name=%.*s&id=%zu'>",
        STR_FMT(past->pod_namespace), STR_FMT(past->pod_name), past->id);
}

void page_links_draw(Html *html, const char *path, HtmlParameter *parameters, size_t n_parameters,
    size_t page, unsigned rows, size_t n) {
    for (unsigned is_next = 0; is_next < 2; is_next++) {
        char number[24], text[24];

        if (is_next ? page * rows >= n : page == 1)
            continue;
        (void)snprintf(number, sizeof(number), "%zu", is_next ? page + 1 : page - 1);
        (void)snprintf(text, sizeof(text), "%s %u", is_next ? "Next" : "Previous", rows);
        parameters[n_parameters - 1].value = str_from_c(number);
        html_link(html, path, parameters, n_parameters, str_from_c(text));
        html_write(html, " ");
    }
}

const LatencySlot *last_hour_read(const PageContext *context) {
    LatencySlot *slots = ARENA_RAW(context->arena, LatencySlot, LATENCY_SLOTS);

    if (slots)
        latency_slots(context->api->latency, context->now_nsec, slots);
    return slots;
}

double slot_p99_msec(const LatencySlot *slot) {
    return slot->n[VERB_FILTER] > 0 ? (double)slot->p99_nsec[VERB_FILTER] / (double)NSEC_PER_MSEC
                                    : (double)NAN;
}

double slot_requests(const LatencySlot *slot) {
    double n = 0;

    for (size_t verb = 0; verb < _VERB_MAX; verb++)
        n += slot->n[verb];
    return n / LATENCY_SLOT_SEC;
}

double slot_pending(const LatencySlot *slot) {
    return slot->n_pending >= 0 ? (double)slot->n_pending : (double)NAN;
}

/* The shortest span that covers berth's uptime; at most an hour. */
unsigned last_hour_span_min(const PageContext *context) {
    static const unsigned spans_min[] = {10, 30, 60};
    int64_t uptime_nsec = context->now_nsec - context->api->fixed.started_at_nsec;
    size_t i = 0;

    while (i + 1 < ELEMENTS_OF(spans_min) && uptime_nsec > spans_min[i] * 60 * NSEC_PER_SEC)
        i++;
    return spans_min[i];
}

/* Leaves out the last slot, which is not over yet. NULL: out of memory. */
static const double *read_values(const PageContext *context, const LatencySlot *slots, size_t n,
    double (*of)(const LatencySlot *slot)) {
    int64_t uptime_nsec = context->now_nsec - context->api->fixed.started_at_nsec;
    double *values = ARENA_RAW(context->arena, double, n);

    for (size_t i = 0; values && i < n; i++) {
        const LatencySlot *slot = &slots[LATENCY_SLOTS - 1 - n + i];

        values[i] = slot->ago_sec * NSEC_PER_SEC <= uptime_nsec ? of(slot) : (double)NAN;
    }
    return values;
}

void last_hour_draw(const PageContext *context, Html *html, const HourChart *charts, size_t n,
    const ChartMark *marks, size_t n_marks) {
    unsigned span_min = last_hour_span_min(context);
    const LatencySlot *slots = last_hour_read(context);
    size_t n_slots = span_min * 60 / LATENCY_SLOT_SEC - 1;

    html_write(html, "<section id='hour' data-live><h2>");
    if (span_min < 60)
        html_write(html, "Last %u minutes", span_min);
    else
        html_write(html, "Last hour");
    html_write(html, "</h2><div class='charts'>");
    for (size_t i = 0; slots && i < n; i++) {
        LineChart line = {
            .label = charts[i].label,
            .unit = charts[i].unit,
            .values = read_values(context, slots, n_slots, charts[i].of),
            .n = n_slots,
            .marks = marks,
            .n_marks = n_marks,
        };

        if (line.values)
            widget_line(html, &line);
    }
    html_write(html, "</div></section>");
}
