/*
 * The smallest change that would make a node eligible: for each rule that rejects, the node with
 * the smallest change, among the nodes closest to eligible (judge/main-reason.h). Remedies are
 * verified before they are shown (judge/remedy.h), which takes time: berth tries as many nodes as
 * the deadline allows.
 */

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "dashboard/pod-internal.h"

#define SUGGESTIONS_MAX 8u
#define SUGGESTIONS_NSEC (50 * NSEC_PER_MSEC)

typedef struct Suggestion {
    const Filter *filter; /* the filter that rejects it */
    const NodeExplanation *node;
    size_t n_remedies;
    double size; /* sum over remedies: the relative change of a number; 1 for others */
    Str text;
} Suggestion;

typedef struct Suggestions {
    Suggestion items[SUGGESTIONS_MAX];
    size_t n;
    size_t n_looked_at, n_nodes;
} Suggestions;

static bool is_rejected(const PodPage *page, const NodeExplanation *node) {
    return node->outcome == NODE_REJECTED && node->n_acting > 0 &&
           page->kinds[node - page->explanation.nodes] == OUTCOME_REJECTED;
}

/* NaN: not a number. */
static double as_number(CelValue value) {
    return value.kind == CEL_INT      ? (double)value.i
           : value.kind == CEL_UINT   ? (double)value.u
           : value.kind == CEL_DOUBLE ? value.d
                                      : (double)NAN;
}

static double remedy_size(const Remedy *remedy) {
    double has = as_number(remedy->has), wanted = as_number(remedy->value);
    double larger = fmax(fabs(has), fabs(wanted));

    if (isnan(has) || isnan(wanted))
        return 1;
    return larger > 0 ? fmin(fabs(wanted - has) / larger, 1) : 0;
}

/* The changes for @node to pass all rules in force. Returns false if they are unknown. */
static bool find_suggestion(
    const PodPage *page, const NodeExplanation *node, Suggestion *ret, Buf *text) {
    *ret = (Suggestion){.filter = node->verdict, .node = node};
    buf_reset(text);
    for (size_t i = 0; i < node->n_failed; i++) {
        FailureDetails details = {0};

        if (node->failed[i].filter->policy->is_observed)
            continue;
        arena_reset(page->scratch);
        if (explain_failure(&page->explanation, node, &node->failed[i], page->scratch, &details) <
                0 ||
            details.n_remedies == 0)
            return false;
        for (size_t j = 0; j < details.n_remedies; j++) {
            buf_append(text, text->len > 0 ? STR(" and ") : STR_NULL);
            buf_append(text, details.remedies[j].text);
            ret->size += remedy_size(&details.remedies[j]);
            ret->n_remedies++;
        }
    }
    return ret->n_remedies > 0;
}

static bool is_smaller(const Suggestion *a, const Suggestion *b) {
    return a->n_remedies != b->n_remedies ? a->n_remedies < b->n_remedies : a->size < b->size;
}

static void consider(
    const PodPage *page, Suggestions *found, const NodeExplanation *node, Buf *text) {
    size_t place = 0; /* index of this filter's suggestion; found->n: it has none yet */
    Suggestion suggestion;

    while (place < found->n && found->items[place].filter != node->verdict)
        place++;
    found->n_looked_at++;
    if (place == SUGGESTIONS_MAX || !find_suggestion(page, node, &suggestion, text))
        return;
    if (place < found->n && !is_smaller(&suggestion, &found->items[place]))
        return;
    suggestion.text = arena_copy(page->context->arena, buf_str(text));
    if (!suggestion.text.ptr)
        return;
    found->items[place] = suggestion;
    found->n += place == found->n;
}

static int compare_suggestions(const void *a, const void *b) {
    return is_smaller(b, a) - is_smaller(a, b);
}

static void find_suggestions(const PodPage *page, Suggestions *found) {
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)64 * 1024);
    const Explanation *explanation = &page->explanation;
    int64_t end = clock_monotonic_nsec() + SUGGESTIONS_NSEC;
    uint32_t least = UINT32_MAX;

    for (size_t i = 0; i < explanation->n_nodes; i++)
        if (explanation->nodes[i].distance < least && is_rejected(page, &explanation->nodes[i]))
            least = explanation->nodes[i].distance;
    for (size_t i = 0; i < explanation->n_nodes; i++) {
        const NodeExplanation *node = &explanation->nodes[i];

        if (node->distance != least || !is_rejected(page, node))
            continue;
        found->n_nodes++;
        if (clock_monotonic_nsec() < end)
            consider(page, found, node, &text);
    }
    qsort(found->items, found->n, sizeof(*found->items), compare_suggestions);
}

static void draw_suggestions(const PodPage *page, const Suggestions *found) {
    html_write(page->html, "<p>Any one of these, with everything else unchanged:</p><ul>");
    for (size_t i = 0; i < found->n; i++) {
        const Filter *filter = found->items[i].filter;

        html_write(page->html,
            "<li><strong>%.*s</strong>: then " NODE_LINK " passes " RULE_NOTE "</li>",
            STR_FMT(found->items[i].text), NODE_FMT(found->items[i].node->node),
            RULE_FMT(filter->policy->name, filter->name));
    }
    html_close(page->html);
    if (found->n_looked_at < found->n_nodes)
        html_write(page->html,
            "<p class='quiet'>Checked %zu of the %zu nodes closest to eligible before time "
            "ran out.</p>",
            found->n_looked_at, found->n_nodes);
}

void pod_suggestions(const PodPage *page) {
    Suggestions found = {0};
    Html *html = page->html;

    if (!page->view || !page->kinds || page->filter->summary.n_out > 0)
        return;
    find_suggestions(page, &found);
    widget_section(html, "suggestions", "The smallest change that would make a node eligible");
    if (found.n > 0)
        draw_suggestions(page, &found);
    else
        html_write(html,
            "<p>No suggestion: no single number, label or taint would make a node pass. Check one "
            "node below.</p>");
    html_close(html);
}
