/* Parts that several pages share. */

#include "dashboard/page-parts.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "dashboard/widgets.h"

void decision_counts(Html *html, const PastDecision *past) {
    if (past->verb == VERB_BIND)
        return;
    html_write(html, "%zu → %zu", past->summary.n_in, past->summary.n_out);
}

#define REASON_MAX ((size_t)64 * 1024)

static void draw_reason(Html *html, const PastDecision *past) {
    _cleanup_(buf_done) Buf reason = BUF_INIT(REASON_MAX);

    past_print_reason(past, &reason);
    html_text(html, buf_str(&reason));
}

/* Which nodes are left, and why others are not. */
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

void decision_result(Html *html, const PastDecision *past) {
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
        html_write(html, "<span class='good'>✓ bound to </span>");
        widget_node(html, past->node);
        break;
    }
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
