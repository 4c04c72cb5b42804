/*
 * One node: every rule that applies, its result and values, and its score compared with the best.
 */

#include <inttypes.h>

#include "base/visible.h"
#include "commands/explain-internal.h"

#define INDENT "      "

static void print_outcome(ExplainPrinter *printer, const NodeExplanation *node) {
    const Explanation *explanation = printer->explanation;

    buf_append(printer->out, str_from_c(printer->paint.bold));
    (void)visible_append(printer->out, node->node);
    buf_printf(printer->out, "%s: %s", printer->paint.off,
        node->outcome == NODE_PASSED     ? "passes"
        : node->outcome == NODE_NARROWED ? "passed"
        : node->verdict->is_unresolvable ? "rejected; preemption cannot help"
                                         : "rejected");
    if (node->outcome != NODE_REJECTED && node->is_scored)
        buf_printf(
            printer->out, ", rank %s of %s", GROUPED(node->rank), GROUPED(explanation->n_passed));
    if (node->outcome == NODE_NARROWED)
        buf_printf(printer->out, ", not returned: the best %s are (narrow)",
            GROUPED(explanation->narrow_to));
    buf_append_char(printer->out, '\n');
}

/* Prints the tree of an expression, indented. */
static void print_tree(
    ExplainPrinter *printer, const NodeExplanation *node, const Expression *expression) {
    _cleanup_(buf_done) Buf tree = BUF_INIT((size_t)1024 * 1024);
    Str rest, line;

    arena_reset(printer->scratch);
    (void)terminal_check(explain_expression(printer->explanation, node, expression, printer->colour,
                             printer->scratch, &tree),
        EXPLAIN_MEMORY_FOR, printer->scratch);
    rest = buf_str(&tree);
    while (rest.len > 0 && str_split(&rest, '\n', &line))
        buf_printf(printer->out, INDENT "%.*s\n", STR_FMT(line));
}

static void print_failure(
    ExplainPrinter *printer, const NodeExplanation *node, const FailedRule *failed) {
    const Filter *filter = failed->filter;
    const FailureDetails *details = explain_print_details(printer, node, failed);

    buf_printf(printer->out, "  %s✗%s %.*s/%.*s", printer->paint.bad, printer->paint.off,
        STR_FMT(filter->policy->name), STR_FMT(filter->name));
    visible_print(printer->out, ": {}", filter->reason);
    if (filter->policy->is_observed)
        buf_append(printer->out, STR(" (Observe: not acted upon)"));
    if (failed->is_error)
        buf_append(printer->out, STR(" (its expression failed, onError: reject)"));
    if (failed->is_missing)
        buf_append(printer->out, STR(" (onMissing: reject)"));
    buf_append(printer->out, STR("\n" INDENT));
    explain_print_why(printer, failed, details);
    buf_append_char(printer->out, '\n');
    explain_print_needs(printer, details, INDENT);
    print_tree(printer, node, &filter->test);
}

static void print_rules(ExplainPrinter *printer, const NodeExplanation *node, bool failing) {
    const Explanation *explanation = printer->explanation;

    for (size_t i = 0; i < explanation->n_policies; i++) {
        const Policy *policy = explanation->policies[i].policy;

        if (explanation->policies[i].fit != FIT_APPLIES)
            continue;
        for (size_t j = 0; j < policy->n_filters; j++) {
            const Filter *filter = &policy->filters[j];
            const FailedRule *failed = explain_failed_rule(node, filter);

            if (failing && failed)
                print_failure(printer, node, failed);
            else if (!failing && !failed)
                buf_printf(printer->out, "  %s✓%s %.*s/%.*s\n", printer->paint.good,
                    printer->paint.off, STR_FMT(policy->name), STR_FMT(filter->name));
        }
    }
}

/* Prints one sentence for all filters with the same exactness. */
static void print_exactness(ExplainPrinter *printer) {
    const Explanation *explanation = printer->explanation;

    for (Exactness exactness = EXACT_NOTHING + 1; exactness < _EXACTNESSES; exactness++) {
        const char *before = "  counts of ";

        for (size_t i = 0; i < explanation->n_policies; i++)
            if (explanation->policies[i].fit == FIT_APPLIES &&
                counting_rules_print((CountingPolicy){.policy = explanation->policies[i].policy},
                    printer->bind, exactness, before, printer->out))
                before = ", ";
        if (before[0] == ',')
            buf_printf(printer->out, ":\n" INDENT "%s\n", exactness_text(exactness));
    }
}

/* The best node, to compare with; NULL: that is @node. */
static const NodeExplanation *best_beside(
    const ExplainPrinter *printer, const NodeExplanation *node) {
    const NodeExplanation *best = printer->explanation->ranking[0];

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

static void print_part(
    ExplainPrinter *printer, const NodeExplanation *node, size_t number, size_t width) {
    const Score *score = printer->explanation->scores[number];
    const ScorePart *part = &node->parts[number];
    const NodeExplanation *best = best_beside(printer, node);
    size_t length = score->policy->name.len + 1 + score->name.len;

    buf_printf(printer->out, "    %.*s/%.*s%*s", STR_FMT(score->policy->name), STR_FMT(score->name),
        (int)(width - length), "");
    if (part->is_error)
        buf_append(printer->out, STR("     error"));
    else if (part->is_missing)
        buf_append(printer->out, STR("   missing"));
    else
        buf_printf(printer->out, "  %8.6g", part->raw);
    buf_printf(printer->out, "  %5.1f  %6g  %5.1f", part->value, score->weight, part->contribution);
    if (best)
        buf_printf(printer->out, "  %5.1f", best->parts[number].contribution);
    buf_append_char(printer->out, '\n');
}

/* Prints the inputs of a built-in rule, whose expression users did not write. */
static void print_read(
    ExplainPrinter *printer, const NodeExplanation *node, const Expression *expression) {
    CelLeaf values[PROBE_VALUES_MAX];
    size_t n = 0;

    arena_reset(printer->scratch);
    (void)terminal_check(
        explain_values(printer->explanation, node, expression, printer->scratch, values, &n),
        EXPLAIN_MEMORY_FOR, printer->scratch);
    if (n == 0)
        return;
    buf_append(printer->out, STR(INDENT));
    explain_print_values(printer, values, n);
    buf_append_char(printer->out, '\n');
}

static void print_score_rule(
    ExplainPrinter *printer, const NodeExplanation *node, const Score *score) {
    buf_printf(printer->out, "  %.*s/%.*s", STR_FMT(score->policy->name), STR_FMT(score->name));
    if (score->kind)
        buf_printf(printer->out, ": %.*s", STR_FMT(score->kind->field));
    if (score->normalize != NORMALIZE_NONE)
        buf_printf(printer->out, ", normalize: %s over the nodes that pass",
            score->normalize == NORMALIZE_RANK ? "rank" : "minMax");
    buf_append_char(printer->out, '\n');
    if (score->value.is_built_in)
        print_read(printer, node, &score->value);
    else
        print_tree(printer, node, &score->value);
}

static void print_score(ExplainPrinter *printer, const NodeExplanation *node) {
    const Explanation *explanation = printer->explanation;
    const NodeExplanation *best = best_beside(printer, node);
    size_t width = rule_width(explanation);

    buf_printf(printer->out, "  score %.1f of 100", node->score);
    if (node->outcome == NODE_PASSED)
        buf_printf(printer->out, ", %u of %u sent, +%" PRId64 " in kube-scheduler",
            node->wire_score, explanation->wire_max,
            score_points(node->wire_score, printer->weight));
    if (best) {
        visible_print(printer->out, "; rank 1 is {}", best->node);
        buf_printf(printer->out, " with %.1f", best->score);
    }
    buf_append(printer->out, STR("\n    "));
    visible_append_padded(printer->out, STR("RULE"), width);
    buf_printf(printer->out, "       RAW  VALUE  WEIGHT   ADDS%s\n", best ? "   BEST" : "");
    for (size_t i = 0; i < explanation->n_scores; i++)
        print_part(printer, node, i, width);
    buf_append(printer->out, STR("  "));
    explain_print_share(printer);
    for (size_t i = 0; i < explanation->n_scores; i++)
        print_score_rule(printer, node, explanation->scores[i]);
}

static void print_annotation(ExplainPrinter *printer, const BindValue *value, size_t width) {
    buf_append(printer->out, STR("    "));
    visible_append_padded(printer->out, value->annotation->key, width);
    buf_append(printer->out, STR("  "));
    if (value->error)
        visible_print(printer->out,
            value->annotation->on_error == BIND_FAIL ? "the bind fails: {}" : "left out: {}",
            value->error->text);
    else
        (void)visible_append(printer->out, value->value);
    buf_append_char(printer->out, '\n');
}

static void print_annotations(ExplainPrinter *printer, const NodeExplanation *node) {
    size_t n = 0, width = 0;
    BindValue *values = NULL;

    arena_reset(printer->scratch);
    (void)terminal_check(explain_bind(printer->explanation, node, printer->scratch, &values, &n),
        EXPLAIN_MEMORY_FOR, printer->scratch);
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        width = values[i].annotation->key.len > width ? values[i].annotation->key.len : width;
    buf_append(printer->out, STR("  annotations that a bind sets (--bind)\n"));
    for (size_t i = 0; i < n; i++)
        print_annotation(printer, &values[i], width);
}

void explain_print_one(ExplainPrinter *printer, const NodeExplanation *node) {
    print_outcome(printer, node);
    print_rules(printer, node, /* failing= */ true);
    print_rules(printer, node, /* failing= */ false);
    print_exactness(printer);
    if (node->is_scored)
        print_score(printer, node);
    if (node->outcome != NODE_REJECTED)
        print_annotations(printer, node);
}
