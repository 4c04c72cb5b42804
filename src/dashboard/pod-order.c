/* Why a node was chosen: the nodes that passed, by berth's score, and the rank of the chosen one.
 * kube-scheduler adds scores that berth does not know: only a lower bound of these is shown. */

#include <stdlib.h>

#include "dashboard/pod-internal.h"
#include "extender/score.h"

#define BEST_SHOWN 10u
#define PARTS_MAX 64u

/* The configured weight is not known here: 1 is the lowest that kube-scheduler accepts. */
#define WEIGHT 1

typedef struct RankedNode {
    Str node;
    const NodeExplanation *explained; /* NULL: score parts are no longer known */
    int wire;                         /* the score sent to kube-scheduler; -1: none, or not kept */
    bool is_narrowed;
    size_t rank; /* from 1; equal nodes share the first rank */
} RankedNode;

typedef struct Order {
    RankedNode *items; /* the best first */
    size_t n;
    const RankedNode *chosen; /* NULL: not known */
} Order;

/* Sorts by berth's exact score, if known, else by the score sent; narrowed nodes come last. */
static int compare_ranked(const void *a, const void *b) {
    const RankedNode *x = a, *y = b;

    if (x->is_narrowed != y->is_narrowed)
        return x->is_narrowed ? 1 : -1;
    if (x->explained && y->explained && x->explained->score != y->explained->score)
        return x->explained->score > y->explained->score ? -1 : 1;
    if (x->wire != y->wire)
        return x->wire > y->wire ? -1 : 1;
    return str_cmp(x->node, y->node);
}

static size_t collect(const PodPage *page, RankedNode *ret) {
    const Outcomes *asked = page->attempt->verbs[VERB_PRIORITIZE].outcomes;
    size_t size = outcomes_size(page->outcomes), n = 0;

    for (size_t i = 0; i < size; i++) {
        uint32_t number;
        Outcome outcome = outcomes_at(page->outcomes, i, &number), sent = {0};
        const NodeExplanation *explained;
        Str name;

        if (outcome.kind != OUTCOME_PASSED && outcome.kind != OUTCOME_NARROWED)
            continue;
        name = page->names[number - 1];
        explained = pod_explained(page, name);
        explained = explained && explained->is_scored ? explained : NULL;
        if (asked)
            sent =
                outcomes_find(asked, decisions_number(page->context->api->decisions, asked, name));
        ret[n++] = (RankedNode){
            .node = name,
            .explained = explained,
            .wire = sent.has_score ? (int)sent.score
                    : explained    ? (int)explained->wire_score
                                   : -1,
            .is_narrowed = outcome.kind == OUTCOME_NARROWED,
        };
    }
    return n;
}

static bool make_order(const PodPage *page, Order *ret) {
    Str chosen = pod_chosen(page);

    *ret = (Order){
        .items = ARENA_ARRAY(page->context->arena, RankedNode, outcomes_size(page->outcomes) + 1)};
    if (!ret->items)
        return false;
    ret->n = collect(page, ret->items);
    qsort(ret->items, ret->n, sizeof(*ret->items), compare_ranked);
    for (size_t i = 0; i < ret->n; i++) {
        RankedNode *item = &ret->items[i];
        const RankedNode *before = i > 0 ? item - 1 : NULL;
        bool is_equal = before && before->is_narrowed == item->is_narrowed &&
                        (before->explained && item->explained
                                ? before->explained->score == item->explained->score
                                : before->wire == item->wire);

        item->rank = is_equal ? before->rank : i + 1;
        if (chosen.len > 0 && str_eq(item->node, chosen))
            ret->chosen = item;
    }
    return true;
}

/* "node-1: 87.0 = 50.0 spread + …, rank 1 of 312" */
static void draw_score_line(const PodPage *page, const Order *order, const RankedNode *ranked) {
    Html *html = page->html;

    html_write(html, NODE_LINK ": ", NODE_FMT(ranked->node));
    if (ranked->explained) {
        html_write(html, "%.1f = ", ranked->explained->score);
        pod_draw_sum(page, ranked->explained);
    } else if (ranked->wire >= 0) {
        html_write(html, "%d sent to kube-scheduler", ranked->wire);
    } else {
        html_write(html, "no score");
    }
    html_write(html, ", rank %zu of %zu", ranked->rank, order->n);
}

static void draw_outweighed(
    const PodPage *page, const RankedNode *first, const RankedNode *chosen) {
    Html *html = page->html;

    html_write(html, "<p>berth's first choice was " NODE_LINK ". ", NODE_FMT(first->node));
    if (first->wire < 0 || chosen->wire < 0)
        html_write(html, "The scores sent for the two nodes are no longer kept.");
    else if (first->wire == chosen->wire)
        html_write(html,
            "berth sent the same score %d for both: kube-scheduler's own scores decided.",
            first->wire);
    else if (first->wire > chosen->wire)
        html_write(html,
            "kube-scheduler's own scores outweighed berth's by at least %d points (at weight %d).",
            (int)score_points((unsigned)(first->wire - chosen->wire), WEIGHT), WEIGHT);
    else
        html_write(html, "The score sent for the chosen node was higher.");
    html_close(html);
}

static void draw_verdict(const PodPage *page, const Order *order) {
    Str chosen = pod_chosen(page);
    Html *html = page->html;

    if (order->chosen) {
        html_write(html, "<p class='answer'>Chosen: ");
        draw_score_line(page, order, order->chosen);
        html_write(html, "%s</p>", order->chosen->rank == 1 ? ": berth's first choice." : ".");
        if (order->chosen->rank > 1)
            draw_outweighed(page, &order->items[0], order->chosen);
    } else if (chosen.len > 0) {
        html_write(html,
            "<p>The pod went to " NODE_LINK
            ", which is not among the nodes that passed this attempt.</p>",
            NODE_FMT(chosen));
    } else {
        html_write(html, "<p>berth has not seen which of these nodes kube-scheduler chose.</p>");
    }
    if (order->n == 1)
        html_write(html,
            "<p>Only one node passed: kube-scheduler takes it without requesting scores.</p>");
}

static void draw_ranked(const PodPage *page, const Order *order, const RankedNode *ranked) {
    BarPart parts[PARTS_MAX];
    Html *html = page->html;
    size_t n = 0;

    html_open(html, "tr");
    if (ranked == order->chosen)
        html_attr(html, "class", STR("chosen"));
    html_write(html,
        "<td class='number'>%zu</td><th scope='row'>" NODE_LINK "%s%s</th><td class='number'>",
        ranked->rank, NODE_FMT(ranked->node), ranked == order->chosen ? " ← chosen" : "",
        ranked->is_narrowed ? " (not returned)" : "");
    if (ranked->wire >= 0)
        html_count(html, (uint64_t)ranked->wire);
    html_write(html, "</td><td class='number'>");
    if (ranked->explained)
        html_write(html, "%.1f", ranked->explained->score);
    html_write(html, "</td><td>");
    for (; ranked->explained && n < page->explanation.n_scores && n < PARTS_MAX; n++)
        parts[n] = (BarPart){
            .label = page->explanation.scores[n]->name,
            .value = ranked->explained->parts[n].contribution,
            .colour = (unsigned)n + 1,
        };
    if (ranked->explained)
        widget_bar(html, parts, n, 100);
    html_write(html, "</td></tr>");
}

void pod_order(const PodPage *page) {
    _cleanup_(buf_done) Buf share = BUF_INIT(512);
    Html *html = page->html;
    Order order;

    if (!page->filter || page->filter->summary.n_out == 0)
        return;
    widget_section(html, "order", "Why was this node chosen?");
    if (!page->outcomes || !make_order(page, &order)) {
        html_write(html, "<p>The nodes that passed are no longer kept.</p>");
    } else {
        draw_verdict(page, &order);
        if (page->view && page->explanation.n_scores > 0) {
            score_share_print(page->explanation.wire_max, WEIGHT, &share);
            html_write(html, "<p class='quiet'>berth's share of the total score: %.*s.</p>",
                STR_FMT(buf_str(&share)));
        }
        widget_table(html, "order-table", "Nodes by berth's score",
            "#Rank|Node|#Score sent|#Score of 100|Parts");
        for (size_t i = 0; i < order.n && i < BEST_SHOWN; i++)
            draw_ranked(page, &order, &order.items[i]);
        if (order.chosen && order.chosen >= order.items + BEST_SHOWN)
            draw_ranked(page, &order, order.chosen);
        widget_table_end(html);
        if (order.n > BEST_SHOWN)
            html_write(html, "<p>The best %u of %zu that passed.</p>", BEST_SHOWN, order.n);
    }
    html_close(html);
}
