/*
 * One node: every rule it was asked about, what each said and from which values, and where its
 * score comes from beside that of the best.
 */

#include <inttypes.h>

#include "base/visible.h"
#include "commands/explain-print.h"

#define INDENT "      "

static void print_outcome(Telling *t, const NodeExplanation *node) {
    const Explanation *explanation = t->explanation;

    buf_append(t->out, str_from_c(t->paint.bold));
    (void)visible_append(t->out, node->node);
    buf_printf(t->out, "%s: ", t->paint.off);
    if (node->outcome == NODE_REJECTED) {
        buf_append(t->out,
            node->verdict->is_unresolvable ? STR("rejected; preemption cannot help\n")
                                           : STR("rejected\n"));
        return;
    }
    buf_append(t->out, node->outcome == NODE_PASSED ? STR("passes") : STR("passed"));
    if (node->is_scored) {
        buf_append(t->out, STR(", rank "));
        telling_count(t, node->rank);
        buf_append(t->out, STR(" of "));
        telling_count(t, explanation->n_passed);
    }
    if (node->outcome == NODE_NARROWED) {
        buf_append(t->out, STR(", not offered back: the best "));
        telling_count(t, explanation->narrow_to);
        buf_append(t->out, STR(" are (narrow)"));
    }
    buf_append_char(t->out, '\n');
}

/* --- rules -------------------------------------------------------------------------------- */

static const FailedRule *failure_of(const NodeExplanation *node, const Filter *filter) {
    for (size_t i = 0; i < node->n_failed; i++)
        if (node->failed[i].filter == filter)
            return &node->failed[i];
    return NULL;
}

/* The tree of an expression, moved to the right. */
static void print_tree(Telling *t, const NodeExplanation *node, const Expression *expression) {
    Buf tree = BUF_INIT((size_t)1024 * 1024);
    Str rest, line;
    int r;

    arena_reset(t->scratch);
    r = explain_expression(t->explanation, node, expression, t->colour, t->scratch, &tree);
    if (r < 0)
        t->error = r;
    rest = buf_str(&tree);
    while (rest.len > 0 && str_split(&rest, '\n', &line)) {
        buf_append(t->out, STR(INDENT));
        buf_append(t->out, line);
        buf_append_char(t->out, '\n');
    }
    buf_done(&tree);
}

static void print_rule_name(Telling *t, const Filter *filter) {
    buf_printf(t->out, "%.*s/%.*s", STR_FMT(filter->policy->name), STR_FMT(filter->name));
}

static void print_failure(Telling *t, const NodeExplanation *node, const FailedRule *failed) {
    const Filter *filter = failed->filter;
    const FailureDetails *details = telling_details(t, node, failed);

    buf_printf(t->out, "  %s✗%s ", t->paint.bad, t->paint.off);
    print_rule_name(t, filter);
    buf_append(t->out, STR(": "));
    (void)visible_append(t->out, filter->reason);
    if (filter->policy->is_observed)
        buf_append(t->out, STR(" (Observe: not acted upon)"));
    if (failed->is_error)
        buf_append(t->out, STR(" (its expression failed, onError: reject)"));
    if (failed->is_missing)
        buf_append(t->out, STR(" (onMissing: reject)"));
    buf_append(t->out, STR("\n" INDENT));
    telling_why(t, failed, details);
    buf_append_char(t->out, '\n');
    telling_needs(t, details, INDENT);
    print_tree(t, node, &filter->test);
}

static void print_rules(Telling *t, const NodeExplanation *node, bool failing) {
    const Explanation *explanation = t->explanation;

    for (size_t i = 0; i < explanation->n_policies; i++) {
        const Policy *policy = explanation->policies[i].policy;

        if (explanation->policies[i].fit != FIT_APPLIES)
            continue;
        for (size_t j = 0; j < policy->n_filters; j++) {
            const FailedRule *failed = failure_of(node, &policy->filters[j]);

            if (failing && failed) {
                print_failure(t, node, failed);
            } else if (!failing && !failed) {
                buf_printf(t->out, "  %s✓%s ", t->paint.good, t->paint.off);
                print_rule_name(t, &policy->filters[j]);
                buf_append_char(t->out, '\n');
            }
        }
    }
}

/* --- score ------------------------------------------------------------------------------------ */

/* The better one to compare with; NULL: it is the best. */
static const NodeExplanation *best_beside(const Telling *t, const NodeExplanation *node) {
    const NodeExplanation *best = t->explanation->ranking[0];

    return best == node ? NULL : best;
}

static size_t rule_width(const Explanation *explanation) {
    size_t widest = sizeof("RULE") - 1;

    for (size_t i = 0; i < explanation->n_scores; i++) {
        const Score *score = explanation->scores[i];
        size_t width = score->policy->name.len + 1 + score->name.len;

        widest = width > widest ? width : widest;
    }
    return widest;
}

static void print_part(Telling *t, const NodeExplanation *node, size_t number, size_t width) {
    const Score *score = t->explanation->scores[number];
    const ScorePart *part = &node->parts[number];
    const NodeExplanation *best = best_beside(t, node);
    size_t length = score->policy->name.len + 1 + score->name.len;

    buf_printf(t->out, "    %.*s/%.*s", STR_FMT(score->policy->name), STR_FMT(score->name));
    buf_append_repeat(t->out, ' ', width - length);
    if (part->is_error)
        buf_append(t->out, STR("     error"));
    else if (part->is_missing)
        buf_append(t->out, STR("   missing"));
    else
        buf_printf(t->out, "  %8.6g", part->raw);
    buf_printf(t->out, "  %5.1f  %6g  %5.1f", part->value, score->weight, part->contribution);
    if (best)
        buf_printf(t->out, "  %5.1f", best->parts[number].contribution);
    buf_append_char(t->out, '\n');
}

/* What a built-in rule read; its expression is for machines. */
static void print_read(Telling *t, const NodeExplanation *node, const Expression *expression) {
    CelLeaf values[PROBE_VALUES_MAX];
    size_t n = 0;
    int r;

    arena_reset(t->scratch);
    r = explain_values(t->explanation, node, expression, t->scratch, values, &n);
    if (r < 0)
        t->error = r;
    if (n == 0)
        return;
    buf_append(t->out, STR(INDENT));
    telling_values(t, values, n);
    buf_append_char(t->out, '\n');
}

static void print_score_rule(Telling *t, const NodeExplanation *node, const Score *score) {
    buf_printf(t->out, "  %.*s/%.*s", STR_FMT(score->policy->name), STR_FMT(score->name));
    if (score->kind)
        buf_printf(t->out, ": %.*s", STR_FMT(score->kind->field));
    if (score->normalize != NORMALIZE_NONE)
        buf_printf(t->out,
            ", normalize: %s over the nodes that pass",
            score->normalize == NORMALIZE_RANK ? "rank" : "minMax");
    buf_append_char(t->out, '\n');
    if (score->value.is_built_in)
        print_read(t, node, &score->value);
    else
        print_tree(t, node, &score->value);
}

static void print_score(Telling *t, const NodeExplanation *node) {
    const Explanation *explanation = t->explanation;
    const NodeExplanation *best = best_beside(t, node);
    size_t width = rule_width(explanation);

    buf_printf(t->out, "  score %.1f of 100", node->score);
    if (node->outcome == NODE_PASSED)
        buf_printf(t->out,
            ", %u of %u on the wire, +%" PRId64 " in kube-scheduler",
            node->wire_score,
            explanation->wire_max,
            telling_points(t, node->wire_score));
    if (best) {
        buf_printf(t->out, "; rank 1 is ");
        (void)visible_append(t->out, best->node);
        buf_printf(t->out, " with %.1f", best->score);
    }
    buf_append(t->out, STR("\n    "));
    visible_append_padded(t->out, STR("RULE"), width);
    buf_printf(t->out, "       RAW  VALUE  WEIGHT   ADDS%s\n", best ? "   BEST" : "");
    for (size_t i = 0; i < explanation->n_scores; i++)
        print_part(t, node, i, width);
    buf_append(t->out, STR("  "));
    telling_share(t);
    for (size_t i = 0; i < explanation->n_scores; i++)
        print_score_rule(t, node, explanation->scores[i]);
}

void telling_node(Telling *t, const NodeExplanation *node) {
    telling_head(t);
    telling_one(t, node);
}

void telling_one(Telling *t, const NodeExplanation *node) {
    print_outcome(t, node);
    print_rules(t, node, /* failing= */ true);
    print_rules(t, node, /* failing= */ false);
    if (node->is_scored)
        print_score(t, node);
}
