/*
 * Why it went where it went: our order of the nodes that passed, with the parts of their scores,
 * and where in it the chosen one is. The last word is kube-scheduler's, which adds its own scores;
 * what can be said of those is how much they outweighed ours at least.
 */

#include <stdlib.h>

#include "dashboard/pod-internal.h"
#include "extender/score.h"

#define BEST_SHOWN 10u
#define PARTS_MAX 64u

/* kube-scheduler's default weight of an extender. */
#define WEIGHT 1

typedef struct RankedNode {
    Str node;
    const NodeExplanation *explained; /* NULL: score parts are no longer known */
    int wire;                         /* the score sent; -1: none, or not kept */
    bool is_narrowed;
    size_t rank; /* from 1; of equals the first */
} RankedNode;

typedef struct Order {
    RankedNode *items; /* the best first */
    size_t n;
    const RankedNode *chosen; /* NULL: not known */
} Order;

/* --- nodes that passed ------------------------------------------------------------------------ */

/* By our own score, if known, else by the score in the reply; narrowed nodes come last. */
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

static bool is_equal(const RankedNode *a, const RankedNode *b) {
    if (a->is_narrowed != b->is_narrowed)
        return false;
    return a->explained && b->explained ? a->explained->score == b->explained->score
                                        : a->wire == b->wire;
}

static int wire_of(const PodPage *page, Str node, const NodeExplanation *explained) {
    const Outcomes *asked = page->attempt->verbs[VERB_PRIORITIZE].outcomes;
    Decisions *decisions = page->context->api->decisions;
    Outcome outcome = {0};

    if (asked)
        outcome = outcomes_find(asked, decisions_number(decisions, asked, node));
    if (outcome.has_score)
        return outcome.score;
    return explained && explained->is_scored ? (int)explained->wire_score : -1;
}

static size_t collect(const PodPage *page, RankedNode *ret) {
    size_t size = outcomes_size(page->outcomes), n = 0;

    for (size_t i = 0; i < size; i++) {
        uint32_t number;
        Outcome outcome = outcomes_at(page->outcomes, i, &number);
        const NodeExplanation *explained;
        Str name;

        if (outcome.kind != OUTCOME_PASSED && outcome.kind != OUTCOME_NARROWED)
            continue;
        name = page->names[number - 1];
        explained = pod_explained(page, name);
        ret[n++] = (RankedNode){
            .node = name,
            .explained = explained && explained->is_scored ? explained : NULL,
            .wire = wire_of(page, name, explained),
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

        item->rank = i > 0 && is_equal(item, item - 1) ? (item - 1)->rank : i + 1;
        if (chosen.len > 0 && str_eq(item->node, chosen))
            ret->chosen = item;
    }
    return true;
}

/* --- one node's score ------------------------------------------------------------------------- */

static size_t make_parts(const PodPage *page, const NodeExplanation *node, BarPart *ret) {
    const Explanation *explanation = &page->explanation;
    size_t n = 0;

    for (; n < explanation->n_scores && n < PARTS_MAX; n++)
        ret[n] = (BarPart){
            .label = explanation->scores[n]->name,
            .value = node->parts[n].contribution,
            .colour = (unsigned)(n % WIDGET_COLOURS) + 1,
        };
    return n;
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

/* --- the chosen node -------------------------------------------------------------------------- */

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

static void draw_chosen(const PodPage *page, const Order *order) {
    html_write(page->html, "<p class='answer'>Chosen: ");
    draw_score_line(page, order, order->chosen);
    html_write(page->html, "%s</p>", order->chosen->rank == 1 ? ": berth's first choice." : ".");
    if (order->chosen->rank > 1)
        draw_outweighed(page, &order->items[0], order->chosen);
}

static void draw_verdict(const PodPage *page, const Order *order) {
    Str chosen = pod_chosen(page);
    Html *html = page->html;

    if (order->chosen) {
        draw_chosen(page, order);
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

static void draw_share(const PodPage *page) {
    _cleanup_(buf_done) Buf text = BUF_INIT(512);

    if (!page->view || page->explanation.n_scores == 0)
        return;
    score_share_print(page->explanation.wire_max, WEIGHT, &text);
    html_write(page->html, "<p class='quiet'>berth's share of the total score: %.*s.</p>",
        STR_FMT(buf_str(&text)));
}

/* --- the table -------------------------------------------------------------------------------- */

static void draw_ranked(const PodPage *page, const Order *order, const RankedNode *ranked) {
    BarPart parts[PARTS_MAX];
    Html *html = page->html;

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
    if (ranked->explained)
        widget_bar(html, parts, make_parts(page, ranked->explained, parts), 100);
    html_write(html, "</td></tr>");
}

static void draw_table(const PodPage *page, const Order *order) {
    widget_table(page->html, "order-table", "Nodes by berth's score",
        "#Rank|Node|#Score sent|#Score of 100|Parts");
    for (size_t i = 0; i < order->n && i < BEST_SHOWN; i++)
        draw_ranked(page, order, &order->items[i]);
    if (order->chosen && order->chosen >= order->items + BEST_SHOWN)
        draw_ranked(page, order, order->chosen);
    widget_table_end(page->html);
    if (order->n > BEST_SHOWN)
        html_write(page->html, "<p>The best %u of %zu that passed.</p>", BEST_SHOWN, order->n);
}

void pod_order(const PodPage *page) {
    Html *html = page->html;
    Order order;

    if (!page->filter || page->filter->summary.n_out == 0)
        return;
    widget_section(html, "order", "Why was this node chosen?");
    if (!page->outcomes || !make_order(page, &order)) {
        html_write(html, "<p>The nodes that passed are no longer kept.</p>");
    } else {
        draw_verdict(page, &order);
        draw_share(page);
        draw_table(page, &order);
    }
    html_close(html);
}
