#include "dashboard/headline.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "dashboard/piece.h"

void headline_counts(Html *html, const PastDecision *past) {
    if (past->verb == VERB_BIND)
        return;
    html_count(html, past->summary.n_in);
    html_text(html, STR(" → "));
    html_count(html, past->summary.n_out);
}

/* Which nodes are left, and why others are not. */
static void draw_filter(Html *html, const PastDecision *past) {
    const RuleNote *rule = past_main_rule(past);

    if (past->summary.n_out == 0)
        html_element_c(html, "strong", "bad", "✗ no node passed");
    else if (past->is_exempt)
        html_text(html, STR("exempt: every node passes"));
    else
        html_element_c(html, "span", "good", "✓ passed");
    if (past->summary.n_narrowed > 0)
        html_text(html, STR(", the best offered back"));
    if (rule) {
        html_text(html, STR("; mostly: "));
        html_text(html, rule->reason);
    } else if (past->summary.n_late > 0) {
        html_text(html, STR("; time was up"));
    }
}

void headline_said(Html *html, const PastDecision *past) {
    if (!str_is_empty(past->error)) {
        html_element_c(html, "strong", "bad", "✗ error: ");
        html_text(html, past->error);
        return;
    }
    switch (past->verb) {
    case VERB_FILTER:
        draw_filter(html, past);
        break;
    case VERB_PRIORITIZE:
        html_text(html, STR("scored"));
        break;
    case VERB_PREEMPT:
        html_text(
            html, past->summary.n_out > 0 ? STR("candidates kept") : STR("no candidate kept"));
        break;
    default:
        html_element_c(html, "span", "good", "✓ bound to ");
        piece_node(html, past->node);
        break;
    }
}

void headline_open_link(Html *html, const PastDecision *past) {
    char id[24];
    const HtmlParameter parameters[] = {
        {"namespace", past->pod_namespace},
        {"name", past->pod_name},
        {"id", (Str){id, (size_t)snprintf(id, sizeof(id), "%" PRIu64, past->id)}},
    };

    html_open_link(html, "/pod", parameters, ELEMENTS_OF(parameters));
}
