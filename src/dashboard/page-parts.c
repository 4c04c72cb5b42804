/* Parts that several pages share. */

#include "dashboard/page-parts.h"

#include <math.h>

#include "base/nsec.h"
#include "dashboard/widgets.h"

#define REASON_MAX ((size_t)64 * 1024)

static void draw_reason(Html *html, const PastDecision *past) {
    _cleanup_(buf_done) Buf reason = BUF_INIT(REASON_MAX);

    past_print_reason(past, &reason);
    html_text(html, buf_str(&reason));
}

static void draw_filter(Html *html, const PastDecision *past) {
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
        draw_reason(html, past);
    } else if (past->summary.n_late > 0) {
        html_write(html, "; deadline exceeded");
    }
}

static void draw_result(Html *html, const PastDecision *past) {
    if (!str_is_empty(past->error)) {
        html_write(html, "<strong class='bad'>✗ error: </strong>%.*s", STR_FMT(past->error));
        return;
    }
    switch (past->verb) {
    case VERB_FILTER:
        draw_filter(html, past);
        break;
    case VERB_PRIORITIZE:
        html_write(html, "scored");
        break;
    case VERB_PREEMPT:
        html_text(
            html, past->summary.n_out > 0 ? STR("candidates kept") : STR("no candidate kept"));
        break;
    default:
        html_write(html, "<span class='good'>✓ bound to </span>" NODE_LINK, NODE_FMT(past->node));
        break;
    }
}

const PastDecision *attempt_first(const PodAttempt *attempt) {
    size_t verb = 0;

    while (verb + 1 < _VERB_MAX && !attempt->verbs[verb].past)
        verb++;
    return attempt->verbs[verb].past;
}

static void draw_verbs(Html *html, const PodAttempt *attempt) {
    const char *separator = "";

    for (Verb verb = 0; verb < _VERB_MAX; verb++) {
        if (!attempt->verbs[verb].past)
            continue;
        html_write(html, "%s%s", separator, verb_name(verb));
        separator = ", ";
    }
}

void attempt_cells(Html *html, const PodAttempt *attempt) {
    const PastDecision *filter = attempt->verbs[VERB_FILTER].past;
    const PastDecision *bind = attempt->verbs[VERB_BIND].past;

    html_write(html, "<td class='number'>");
    if (filter)
        html_write(html, "%zu → %zu", filter->summary.n_in, filter->summary.n_out);
    html_write(html, "</td><td>");
    draw_verbs(html, attempt);
    html_write(html, "</td><td>");
    /* A bind says more than a filter. */
    draw_result(html, bind ? bind : attempt_first(attempt));
    html_close(html);
}

void decision_open_link(Html *html, const PastDecision *past) {
    html_write(html, "<a href='/pod?namespace=%.*s&name=%.*s&id=%zu'>",
        STR_FMT(past->pod_namespace), STR_FMT(past->pod_name), past->id);
}

/* --- the last hour ---------------------------------------------------------------------------- */

const LatencySlot *last_hour_read(const PageContext *context) {
    LatencySlot *slots = ARENA_RAW(context->arena, LatencySlot, LATENCY_SLOTS);

    if (slots)
        latency_slots(context->api->latency, context->now_nsec, slots);
    return slots;
}

bool last_hour_covers(const PageContext *context, const LatencySlot *slot) {
    return slot->ago_sec * NSEC_PER_SEC <= context->now_nsec - context->api->fixed.started_at_nsec;
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

/* The shortest in which all of its life fits; of a longer one the last hour. */
unsigned last_hour_span_min(const PageContext *context) {
    static const unsigned spans_min[] = {10, 30, 60};
    int64_t uptime_nsec = context->now_nsec - context->api->fixed.started_at_nsec;
    size_t i = 0;

    while (i + 1 < ELEMENTS_OF(spans_min) && uptime_nsec > spans_min[i] * 60 * NSEC_PER_SEC)
        i++;
    return spans_min[i];
}

static void draw_chart(
    const PageContext *context, Html *html, const LatencySlot *slots, const HourChart *chart) {
    size_t first = LATENCY_SLOTS - last_hour_span_min(context) * 60 / LATENCY_SLOT_SEC;
    double *values = ARENA_RAW(context->arena, double, LAST_HOUR_SLOTS);
    LineChart line = {
        .label = chart->label,
        .unit = chart->unit,
        .values = values,
        .n = LAST_HOUR_SLOTS - first,
    };

    if (!values)
        return;
    for (size_t i = 0; i < line.n; i++) {
        const LatencySlot *slot = &slots[first + i];

        values[i] = last_hour_covers(context, slot) ? chart->of(slot) : (double)NAN;
    }
    widget_line(html, &line);
}

void last_hour_draw(const PageContext *context, Html *html, const HourChart *charts, size_t n) {
    unsigned span_min = last_hour_span_min(context);
    const LatencySlot *slots = last_hour_read(context);

    html_write(html, "<section id='hour' data-live><h2>");
    if (span_min < 60)
        html_write(html, "Last %u minutes", span_min);
    else
        html_write(html, "Last hour");
    html_write(html, "</h2><div class='charts'>");
    for (size_t i = 0; slots && i < n; i++)
        draw_chart(context, html, slots, &charts[i]);
    html_write(html, "</div></section>");
}
