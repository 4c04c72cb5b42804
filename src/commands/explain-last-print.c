/* Prints the last decisions about a pod for users. */

#include "commands/explain-internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/visible.h"

static void print_rule(Buf *out, const ApiRule *rule) {
    visible_print(out, "{}/{}: {}", rule->policy, rule->name, rule->reason);
    if (rule->is_unresolvable)
        buf_append(out, STR(" (preemption cannot help)"));
}

/* Prints berth's nomination, unless it was for an earlier pod of that name; else that of another
 * component. */
static void print_nomination(const PodDecisions *decisions, Buf *out) {
    const ApiNomination *nomination = &decisions->nomination;
    const ApiDecision *filter = &decisions->filter;

    if (!str_is_empty(nomination->raw) &&
        (filter->id == 0 || str_eq(filter->uid, nomination->uid))) {
        visible_print(
            out, "\nnominated {} by berth at {}, best of ", nomination->node, nomination->time);
        buf_printf(
            out, "%s node%s", GROUPED_COUNT(nomination->feasible), PLURAL(nomination->feasible));
        if (nomination->best > 1)
            buf_printf(out, " (%" PRId64 " are equal)", nomination->best);
        buf_append(out, STR(" that can take the pod, by the model of kube-scheduler and the scores "
                            "of policies; "));
        (void)visible_append(out, nomination->text);
    } else if (!str_is_empty(filter->nominated)) {
        visible_print(
            out, "\nnominated {}, not by this berth (status.nominatedNodeName)", filter->nominated);
    }
}

static void print_head(const PodDecisions *decisions, Buf *out) {
    const ApiDecision *filter = &decisions->filter;

    visible_print(out, "pod       {}", str_from_c(decisions->options->pod));
    if (!str_is_empty(filter->uid))
        visible_print(out, "  uid {}", filter->uid);
    if (decisions->printer)
        explain_print_requests(decisions->printer);
    print_nomination(decisions, out);
    if (filter->id == 0) {
        buf_append(out, STR("\nfilter    none: kube-scheduler has not sent this pod to berth\n"));
        return;
    }
    visible_print(out, "\nfilter    {}", filter->time);
    if (filter->duration >= 0.001)
        buf_printf(out, ", in %.1f ms", filter->duration * 1e3);
    else if (filter->duration >= 0)
        buf_printf(out, ", in %.0f µs", filter->duration * 1e6);
    buf_printf(out, ", decision %" PRId64, filter->id);
    if (decisions->replicas->is_cluster)
        visible_print(out, " of {}", str_from_c(decisions->replicas->names[filter->replica]));
    visible_print(out, "\npolicy    {}\n", filter->policy_digest);
    buf_printf(out, "cluster   generation %" PRId64 ", %s node%s\n", filter->generation,
        GROUPED_COUNT(filter->known), PLURAL(filter->known));
    if (decisions->printer)
        explain_print_policies(decisions->printer);
    buf_append_char(out, '\n');
}

static void print_line(Buf *out, int64_t n, const char *text) {
    if (n > 0)
        buf_printf(out, "  %7s  %s\n", GROUPED_COUNT(n), text);
}

static void print_rules(const ApiDecision *filter, bool observed, Buf *out) {
    for (size_t i = 0; i < filter->n_rules; i++) {
        const ApiRule *rule = &filter->rules[i];
        int64_t n = observed ? rule->observed : rule->rejected;

        if (n == 0)
            continue;
        buf_printf(out, "  %7s  ", GROUPED_COUNT(n));
        print_rule(out, rule);
        buf_append(out, observed ? STR(" (Observe: not acted upon)\n") : STR("\n"));
    }
}

/* Prints a rule that could not be evaluated on @n nodes. */
static void print_failure(const ApiRule *rule, int64_t n, const char *how, Buf *out) {
    if (n == 0)
        return;
    buf_printf(out, "  %7s", GROUPED_COUNT(n));
    visible_print(out, "  {}/{} {}\n", rule->policy, rule->name, str_from_c(how));
}

static const char *not_evaluated_text(const ApiDecision *filter) {
    return str_is_empty(filter->nominated)
               ? "not evaluated by berth: filtered out or not sampled by kube-scheduler"
               : "not evaluated by berth: kube-scheduler tries the nominated node alone, and "
                 "others only if it is rejected";
}

/* Leaves the rules to the replay, which has values, if there is one. */
static void print_counts(const PodDecisions *decisions, Buf *out) {
    const ApiDecision *filter = &decisions->filter;

    buf_printf(out, "%s of %s node%s passed\n", GROUPED_COUNT(filter->passed + filter->narrowed),
        GROUPED_COUNT(filter->asked), PLURAL(filter->asked));
    if (!str_is_empty(filter->main_reason))
        visible_print(out, "  main reason: {}\n", filter->main_reason);
    if (filter->is_exempt)
        buf_append(
            out, STR("  no policy applies to this pod: it is exempt (--exempt of berth serve)\n"));
    if (!decisions->printer)
        print_rules(filter, /* observed= */ false, out);
    print_line(out, filter->unknown, "not known to berth");
    print_line(out, filter->late, "not evaluated in time: rejected");
    print_line(out, filter->unjudged - filter->late, "not evaluated in time: passed");
    print_line(out, filter->narrowed, "passed, but not returned: narrowed, or near a limit");
    if (filter->known > 0)
        print_line(
            out, filter->known - (filter->asked - filter->unknown), not_evaluated_text(filter));
    if (decisions->printer)
        return;
    print_rules(filter, /* observed= */ true, out);
    for (size_t i = 0; i < filter->n_rules; i++) {
        const ApiRule *rule = &filter->rules[i];

        print_failure(rule, rule->failed, "failed with an error, and its onError decided", out);
        print_failure(rule, rule->missing, "had no metric, and its onMissing decided", out);
    }
}

/* Nodes that passed come first, then narrowed ones, then others; by score, rank and position. */
static int class_of(const ApiNode *node) {
    return str_is(node->outcome, "passed") ? 0 : str_is(node->outcome, "narrowed") ? 1 : 2;
}

static int compare_nodes(const void *a, const void *b) {
    const ApiNode *x = *(const ApiNode *const *)a, *y = *(const ApiNode *const *)b;
    int order = class_of(x) - class_of(y);

    if (order != 0)
        return order;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x > y) - (x < y);
}

static const ApiNode **sorted_nodes(const PodDecisions *decisions) {
    size_t n = decisions->filter.nodes.n;
    const ApiNode **nodes = ARENA_RAW(decisions->arena, const ApiNode *, n);

    for (size_t i = 0; i < n; i++)
        nodes[i] = &decisions->filter.nodes.items[i];
    if (n > 0)
        qsort(nodes, n, sizeof(*nodes), compare_nodes);
    return nodes;
}

static void print_why(const PodDecisions *decisions, const ApiNode *node, Buf *out) {
    if (str_is(node->outcome, "rejected")) {
        if (str_is_empty(node->rule.name)) /* too many rules rejected nodes to keep each */
            buf_append(out, STR("one of many rules"));
        else
            print_rule(out, &node->rule);
    } else if (str_is(node->outcome, "unknown")) {
        buf_append(out, STR("berth did not know this node"));
    } else if (str_is(node->outcome, "late")) {
        buf_append(out, STR("it was not evaluated in time"));
    } else if (node->rank > 0) {
        buf_printf(out, "rank %s of %s", GROUPED_COUNT(node->rank),
            GROUPED_COUNT(decisions->filter.passed + decisions->filter.narrowed));
        if (str_is(node->outcome, "narrowed"))
            buf_append(out, STR(", not returned"));
    } else if (str_is(node->outcome, "narrowed")) {
        buf_append(out, STR("not returned"));
    }
}

static void print_table(
    const PodDecisions *decisions, const ApiNode *const *nodes, size_t n, Buf *out) {
    size_t width = strlen("NODE");

    for (size_t i = 0; i < n; i++)
        width = explain_name_columns(width, nodes[i]->name);
    buf_append_char(out, '\n');
    visible_append_padded(out, STR("NODE"), width);
    buf_append(out, STR("  OUTCOME   SCORE  WHY\n"));
    for (size_t i = 0; i < n; i++) {
        char score[24] = "-";

        if (nodes[i]->score >= 0)
            (void)snprintf(score, sizeof(score), "%" PRId64, nodes[i]->score);
        visible_append_padded(out, nodes[i]->name, width);
        buf_append(out, STR("  "));
        visible_append_padded(out, nodes[i]->outcome, 8);
        buf_printf(out, "  %5s  ", score);
        print_why(decisions, nodes[i], out);
        while (out->len > 0 && out->data[out->len - 1] == ' ')
            out->len--;
        buf_append_char(out, '\n');
    }
}

/* The best passing nodes, or with --all every node. */
static void print_some_nodes(const PodDecisions *decisions, Buf *out) {
    size_t n = 0, n_shown;
    const ApiNode **nodes;

    if (!decisions->filter.has_nodes) {
        buf_append(out, STR("\nWhat became of each node is not remembered any more.\n"));
        return;
    }
    nodes = sorted_nodes(decisions);
    while (n < decisions->filter.nodes.n && (decisions->options->all || class_of(nodes[n]) == 0))
        n++;
    n_shown = decisions->options->all || n <= BEST_SHOWN ? n : BEST_SHOWN;
    if (n_shown > 0)
        print_table(decisions, nodes, n_shown, out);
    if (n_shown < n)
        buf_printf(out, "… %zu more passed; --all shows them\n", n - n_shown);
}

/* --all: names of nodes that berth did not know. */
static void print_unknown(const PodDecisions *decisions, Buf *out) {
    if (!decisions->options->all || decisions->filter.unknown == 0)
        return;
    buf_append(out, STR("\nnot known to berth\n"));
    for (size_t i = 0; i < decisions->filter.nodes.n; i++) {
        const ApiNode *node = &decisions->filter.nodes.items[i];

        if (str_is(node->outcome, "unknown"))
            visible_print(out, "           {}\n", node->name);
    }
}

/* kube-scheduler may have scored fewer nodes than passed the filter. */
static void print_scored(const PodDecisions *decisions, Buf *out) {
    const ApiDecision *prioritize = &decisions->prioritize;

    if (!decisions->printer || prioritize->id == 0 || prioritize->asked == decisions->filter.passed)
        return;
    buf_printf(out,
        "\nprioritize was called for %s node%s: scores that are normalised were so among these.\n",
        GROUPED_COUNT(prioritize->asked), PLURAL(prioritize->asked));
}

static void print_rank(const PodDecisions *decisions, Str name, Buf *out) {
    const NodeExplanation *node =
        decisions->printer ? explain_print_find(decisions->printer, name) : NULL;

    if (node && node->is_scored)
        buf_printf(out, ", rank %" PRIu32 " of %s", node->rank,
            GROUPED(decisions->printer->explanation->n_passed));
}

static void print_followers(const PodDecisions *decisions, Buf *out) {
    print_scored(decisions, out);
    if (decisions->prioritize.id == 0 && decisions->filter.passed == 1)
        buf_append(
            out, STR("\nNo scores: kube-scheduler does not request them when one node is left.\n"));
    else if (decisions->prioritize.id == 0 && decisions->filter.passed > 1)
        buf_append(out, STR("\nNo scores: prioritize has not been called.\n"));
    if (decisions->preempt.id != 0) {
        visible_print(out, "\npreempt   {}: eviction on ", decisions->preempt.time);
        buf_printf(out, "%s of %s node%s would help\n", GROUPED_COUNT(decisions->preempt.passed),
            GROUPED_COUNT(decisions->preempt.asked), PLURAL(decisions->preempt.asked));
    }
    if (decisions->bind.id == 0)
        return;
    visible_print(out,
        str_is_empty(decisions->bind.error) ? "\nbind      {}: bound to {}"
                                            : "\nbind      {}: not bound to {}",
        decisions->bind.time, decisions->bind.target);
    print_rank(decisions, decisions->bind.target, out);
    if (!str_is_empty(decisions->bind.error))
        visible_print(out, ": {}", decisions->bind.error);
    buf_append_char(out, '\n');
}

/* --node: every rule, with all values. */
static void print_node_in_full(
    const PodDecisions *decisions, const NodeExplanation *node, Buf *out) {
    const ApiNode *asked = decisions->filter.nodes.n > 0 ? &decisions->filter.nodes.items[0] : NULL;

    if (!asked || str_is(asked->outcome, "not-asked")) {
        visible_print(out, "{}: {}\n\nThe policies' verdict on it:\n", node->node,
            str_from_c(not_evaluated_text(&decisions->filter)));
    }
    explain_print_one(decisions->printer, node);
}

/* --node without a replay: its result, and why. */
static void print_node(const PodDecisions *decisions, Buf *out) {
    const ApiNode *node = decisions->filter.nodes.n > 0 ? &decisions->filter.nodes.items[0] : NULL;

    (void)visible_append(out, str_from_c(decisions->options->node));
    if (!decisions->filter.has_nodes) {
        buf_append(out, STR(": the results of single nodes are no longer remembered\n"));
        return;
    }
    if (!node || str_is(node->outcome, "not-asked")) {
        buf_printf(out, ": %s\n", not_evaluated_text(&decisions->filter));
        return;
    }
    if (class_of(node) == 2) {
        buf_append(
            out, str_is(node->outcome, "rejected") ? STR(": rejected by ") : STR(": rejected: "));
    } else {
        buf_append(out, STR(": passed"));
        if (node->score >= 0)
            buf_printf(out, ", score %" PRId64, node->score);
        if (node->rank > 0 || class_of(node) == 1)
            buf_append(out, STR(", "));
    }
    print_why(decisions, node, out);
    buf_append_char(out, '\n');
}

void pod_decisions_print(const PodDecisions *decisions, Buf *out) {
    const NodeExplanation *only = NULL;

    if (decisions->printer && decisions->options->node)
        only = explain_print_find(decisions->printer, str_from_c(decisions->options->node));
    print_head(decisions, out);
    if (decisions->filter.id == 0)
        return;
    if (!str_is_empty(decisions->filter.error)) {
        visible_print(out, "berth replied with an error: {}\n", decisions->filter.error);
    } else if (only) {
        print_node_in_full(decisions, only, out);
    } else if (decisions->options->node) {
        print_node(decisions, out);
    } else {
        print_counts(decisions, out);
        if (decisions->printer) {
            explain_print_nodes(decisions->printer);
            print_unknown(decisions, out);
        } else
            print_some_nodes(decisions, out);
        print_followers(decisions, out);
    }
    if (decisions->obstacle[0])
        visible_print(out, "\nValues and parts of scores are not available: {}\n",
            str_from_c(decisions->obstacle));
}
