/*
 * The table: the best nodes with the parts of their scores, then who was rejected by what, counted,
 * with one node of each group as an example. --all shows every node in its place.
 */

#include <stdio.h>

#include "base/visible.h"
#include "commands/explain-print.h"

#define BEST_SHOWN 10u
#define NAME_COLUMNS_MAX 60u
#define PART_COLUMNS_MIN 5u

/* --- nodes that pass -------------------------------------------------------------------------- */

static size_t name_width(const NodeExplanation *const *nodes, size_t n) {
    size_t widest = strlen("NODE");

    for (size_t i = 0; i < n; i++) {
        size_t width = visible_width(nodes[i]->node);

        widest = width > widest ? width : widest;
    }
    return widest > NAME_COLUMNS_MAX ? NAME_COLUMNS_MAX : widest;
}

/* Whether another rule has the same name, in another policy. */
static bool is_ambiguous(const Explanation *explanation, size_t score) {
    for (size_t i = 0; i < explanation->n_scores; i++)
        if (i != score && str_eq(explanation->scores[i]->name, explanation->scores[score]->name))
            return true;
    return false;
}

/* "pack ×3"; how many columns that takes. */
static size_t print_part_name(ExplainPrinter *printer, size_t score, Buf *out) {
    const Score *rule = printer->explanation->scores[score];
    size_t begin = out->len;

    if (is_ambiguous(printer->explanation, score))
        buf_printf(out, "%.*s/", STR_FMT(rule->policy->name));
    buf_printf(out, "%.*s", STR_FMT(rule->name));
    if (printer->explanation->n_scores > 1)
        buf_printf(out, " ×%g", rule->weight);
    return visible_width(str_skip(buf_str(out), begin));
}

static size_t part_width(ExplainPrinter *printer, size_t score) {
    Buf name = BUF_INIT(1024);
    size_t width = print_part_name(printer, score, &name);

    buf_done(&name);
    return width < PART_COLUMNS_MIN ? PART_COLUMNS_MIN : width;
}

static void print_ranking_head(ExplainPrinter *printer, size_t width) {
    buf_append(printer->out, STR("RANK  "));
    visible_append_padded(printer->out, STR("NODE"), width);
    buf_append(printer->out, STR("  SENT  SCORE"));
    for (size_t i = 0; i < printer->explanation->n_scores; i++) {
        Buf name = BUF_INIT(1024);
        size_t columns = print_part_name(printer, i, &name), needed = part_width(printer, i);

        buf_append(printer->out, i == 0 ? STR("  =  ") : STR("  "));
        buf_append_repeat(printer->out, ' ', needed - columns);
        buf_append(printer->out, buf_str(&name));
        buf_done(&name);
    }
    buf_append_char(printer->out, '\n');
}

/* onError or onMissing counts for it. */
static bool has_failed(const ScorePart *part) {
    return part->is_error || part->is_missing;
}

static void print_ranked(ExplainPrinter *printer, const NodeExplanation *node, size_t width) {
    bool is_offered = node->outcome == NODE_PASSED;

    buf_printf(printer->out, "%s%4u%s  ", is_offered ? printer->paint.good : printer->paint.dim,
        node->rank, printer->paint.off);
    visible_append_padded(printer->out, node->node, width);
    if (is_offered)
        buf_printf(printer->out, "  %4u  %5.1f", node->wire_score, node->score);
    else
        buf_printf(printer->out, "     -  %5.1f", node->score);
    for (size_t i = 0; i < printer->explanation->n_scores; i++)
        buf_printf(printer->out, "%s%*.1f%s", i == 0 ? "     " : "  ",
            (int)part_width(printer, i) - (has_failed(&node->parts[i]) ? 1 : 0),
            node->parts[i].value, has_failed(&node->parts[i]) ? "!" : "");
    if (!is_offered)
        buf_printf(printer->out, "  %snot returned%s", printer->paint.dim, printer->paint.off);
    buf_append_char(printer->out, '\n');
}

static void print_more(ExplainPrinter *printer, size_t n) {
    buf_printf(printer->out, "%s      … ", printer->paint.dim);
    explain_print_count(printer, n);
    buf_printf(printer->out, " more; --all shows them%s\n", printer->paint.off);
}

/* Nothing to rank them by: only who they are. */
static void print_names(ExplainPrinter *printer, size_t shown) {
    buf_append(printer->out, STR("NODE\n"));
    for (size_t i = 0; i < shown; i++) {
        visible_print(printer->out, "{}\n", printer->explanation->ranking[i]->node);
    }
}

static void print_ranking(ExplainPrinter *printer) {
    const Explanation *explanation = printer->explanation;
    size_t n = explanation->n_passed;
    size_t shown = printer->all || n <= BEST_SHOWN ? n : BEST_SHOWN;
    size_t width = name_width(explanation->ranking, shown);

    if (n == 0)
        return;
    buf_append_char(printer->out, '\n');
    if (explanation->n_scores == 0) {
        print_names(printer, shown);
    } else {
        print_ranking_head(printer, width);
        for (size_t i = 0; i < shown; i++)
            print_ranked(printer, explanation->ranking[i], width);
    }
    if (shown < n)
        print_more(printer, n - shown);
}

static void print_summary(ExplainPrinter *printer) {
    const Explanation *explanation = printer->explanation;

    buf_append(printer->out, str_from_c(printer->paint.bold));
    explain_print_count(printer, explanation->n_passed);
    buf_append(printer->out, STR(" of "));
    explain_print_count(printer, explanation->n_nodes);
    buf_printf(printer->out, " nodes pass%s", printer->paint.off);
    if (explanation->n_narrowed > 0) {
        buf_append(printer->out, STR("; the best "));
        explain_print_count(printer, explanation->n_passed - explanation->n_narrowed);
        buf_append(printer->out, STR(" are returned (narrow), "));
        explain_print_count(printer, explanation->n_narrowed);
        buf_append(printer->out, STR(" are not"));
    }
    buf_append_char(printer->out, '\n');
}

/* --- nodes that do not ------------------------------------------------------------------------ */

typedef struct Group {
    const Filter *filter;
    bool is_observed;
    size_t n;                       /* nodes */
    size_t n_more;                  /* of those, the ones that also fail other rules */
    bool is_closest;                /* no node passes, and one of these is closest to eligible */
    const NodeExplanation *example; /* one that fails nothing else, if there is one */
} Group;

static const FailedRule *failure_in(const NodeExplanation *node, const Group *group) {
    if (!group->is_observed && node->verdict != group->filter)
        return NULL;
    for (size_t i = 0; i < node->n_failed; i++)
        if (node->failed[i].filter == group->filter)
            return &node->failed[i];
    return NULL;
}

static Group find_group(const Explanation *explanation, const Filter *filter) {
    Group group = {.filter = filter, .is_observed = filter->policy->is_observed};

    for (size_t i = 0; i < explanation->n_nodes; i++) {
        const NodeExplanation *node = &explanation->nodes[i];
        size_t n_others = node->n_acting - !group.is_observed;

        if (!failure_in(node, &group))
            continue;
        group.n++;
        group.is_closest |= explanation->n_passed == 0 && node->distance == explanation->closest;
        group.n_more += !group.is_observed && n_others > 0;
        if (!group.example || (group.example->n_acting > 1 && n_others == 0))
            group.example = node;
    }
    return group;
}

#define GROUP_INDENT "           "

static void print_group_head(ExplainPrinter *printer, const Group *group) {
    char digits[24];

    (void)snprintf(digits, sizeof(digits), "%zu", group->n);
    buf_append_repeat(printer->out, ' ', 9 - (strlen(digits) + (strlen(digits) - 1) / 3));
    buf_append(printer->out, str_from_c(printer->paint.bad));
    explain_print_count(printer, group->n);
    buf_printf(printer->out, "%s  %.*s/%.*s: ", printer->paint.off,
        STR_FMT(group->filter->policy->name), STR_FMT(group->filter->name));
    (void)visible_append(printer->out, group->filter->reason);
    if (group->filter->is_unresolvable)
        buf_printf(
            printer->out, " %s(preemption cannot help)%s", printer->paint.dim, printer->paint.off);
    buf_append_char(printer->out, '\n');
}

static void print_more_rules(ExplainPrinter *printer, const Group *group) {
    buf_printf(printer->out, GROUP_INDENT "%s", printer->paint.dim);
    if (group->n == 1) {
        buf_append(printer->out, STR("it fails"));
    } else if (group->n_more == group->n) {
        buf_append(printer->out, STR("all of them fail"));
    } else {
        explain_print_count(printer, group->n_more);
        buf_append(printer->out, STR(" of them fail"));
    }
    buf_printf(printer->out, " other rules, too%s\n", printer->paint.off);
}

static void print_example(ExplainPrinter *printer, const Group *group) {
    const NodeExplanation *node = group->example;
    const FailedRule *failed = failure_in(node, group);
    const FailureDetails *details = explain_print_details(printer, node, failed);

    buf_append(printer->out, STR(GROUP_INDENT));
    buf_append(printer->out, group->n > 1 ? STR("e.g. ") : STR_NULL);
    visible_print(printer->out, "{}: ", node->node);
    explain_print_why(printer, failed, details);
    buf_append_char(printer->out, '\n');
    explain_print_needs(printer, details, GROUP_INDENT);
    if (group->n_more > 0)
        print_more_rules(printer, group);
}

/* --all: each node of the group. */
static void print_members(ExplainPrinter *printer, const Group *group) {
    for (size_t i = 0; i < printer->explanation->n_nodes; i++) {
        const NodeExplanation *node = &printer->explanation->nodes[i];
        const FailedRule *failed = failure_in(node, group);
        size_t n_others = node->n_acting - (group->is_observed ? 0 : 1);

        if (!failed)
            continue;
        buf_append(printer->out, STR(GROUP_INDENT));
        visible_print(printer->out, "{}: ", node->node);
        explain_print_why(printer, failed, explain_print_details(printer, node, failed));
        if (!group->is_observed && n_others > 0)
            buf_printf(
                printer->out, " %s+%zu more%s", printer->paint.dim, n_others, printer->paint.off);
        buf_append_char(printer->out, '\n');
    }
}

static void print_group(ExplainPrinter *printer, const Group *group) {
    print_group_head(printer, group);
    if (printer->all)
        print_members(printer, group);
    else
        print_example(printer, group);
}

/* The groups of one policy: those with a node closest to eligible, or the others. */
static void print_groups_of(
    ExplainPrinter *printer, const Policy *policy, bool is_closest, const char **title) {
    for (size_t i = 0; i < policy->n_filters; i++) {
        Group group = find_group(printer->explanation, &policy->filters[i]);

        if (group.n == 0 || group.is_closest != is_closest)
            continue;
        if (*title)
            buf_printf(printer->out, "\n%s\n", *title);
        *title = NULL;
        print_group(printer, &group);
    }
}

/* Those that act, or those that are only watched. Where no node passes, the reason of the nodes
 * closest to eligible comes first, as everywhere else. */
static void print_groups(ExplainPrinter *printer, bool observed, const char *title) {
    const Explanation *explanation = printer->explanation;

    for (int is_closest = 1; is_closest >= 0; is_closest--)
        for (size_t i = 0; i < explanation->n_policies; i++)
            if (explanation->policies[i].fit == FIT_APPLIES &&
                explanation->policies[i].policy->is_observed == observed)
                print_groups_of(printer, explanation->policies[i].policy, is_closest > 0, &title);
}

/* --- errors and their effect ------------------------------------------------------------------ */

/* "(onMissing: allow)": what counts where it failed. */
static void print_fallback(ExplainPrinter *printer, const RuleErrors *errors) {
    Fallback fallback;

    buf_printf(printer->out, " (%s: ", errors->is_missing ? "onMissing" : "onError");
    if (errors->score) {
        buf_printf(printer->out, "%g)",
            errors->is_missing ? errors->score->on_missing : errors->score->on_error);
        return;
    }
    fallback = errors->is_missing ? errors->filter->on_missing : errors->filter->on_error;
    buf_append(printer->out, fallback == FALLBACK_ALLOW ? STR("allow)") : STR("reject)"));
}

static void print_rule_errors(ExplainPrinter *printer, const RuleErrors *errors) {
    const Policy *policy = errors->filter ? errors->filter->policy : errors->score->policy;
    Str name = errors->filter ? errors->filter->name : errors->score->name;

    buf_printf(printer->out, "  %s%.*s/%.*s%s on ", printer->paint.bad, STR_FMT(policy->name),
        STR_FMT(name), printer->paint.off);
    explain_print_count(printer, errors->n);
    buf_printf(printer->out, " node%s", errors->n == 1 ? "" : "s");
    print_fallback(printer, errors);
    buf_append(printer->out, errors->n > 1 ? STR(": e.g. ") : STR(": "));
    visible_print(printer->out, "{}: {}\n", errors->node, errors->text);
}

/* Those caused by a missing metric, or the others. */
static void print_errors(ExplainPrinter *printer, bool is_missing, const char *title) {
    bool is_first = true;

    for (size_t i = 0; i < printer->explanation->n_errors; i++) {
        const RuleErrors *errors = &printer->explanation->errors[i];

        if (errors->is_missing != is_missing)
            continue;
        if (is_first)
            buf_printf(printer->out, "\n%s\n", title);
        is_first = false;
        print_rule_errors(printer, errors);
    }
}

void explain_print_table(ExplainPrinter *printer) {
    explain_print_head(printer);
    print_summary(printer);
    explain_print_nodes(printer);
}

void explain_print_nodes(ExplainPrinter *printer) {
    print_ranking(printer);
    if (printer->explanation->n_scores > 0 && printer->explanation->n_passed > 0)
        explain_print_share(printer);
    print_groups(printer, /* observed= */ false, "rejected by");
    print_groups(
        printer, /* observed= */ true, "would be rejected by (mode Observe, not acted upon)");
    print_errors(printer, /* is_missing= */ false, "expressions that failed");
    print_errors(printer, /* is_missing= */ true, "metrics that are missing");
}
