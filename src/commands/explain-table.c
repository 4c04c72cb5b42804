/* Prints an explanation as a table: the best nodes with the parts of their scores, then rejected
 * nodes, counted by reason, with one node of each group as an example. --all shows every node. */

#include "base/visible.h"
#include "commands/explain-internal.h"

#define PART_COLUMNS_MIN 5u

/* Whether another rule has the same name, in another policy. */
static bool is_ambiguous(const Explanation *explanation, size_t score) {
    for (size_t i = 0; i < explanation->n_scores; i++)
        if (i != score && str_eq(explanation->scores[i]->name, explanation->scores[score]->name))
            return true;
    return false;
}

/* Prints "pack ×3". Returns its width in columns. */
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
    _cleanup_(buf_done) Buf name = BUF_INIT(1024);
    size_t width = print_part_name(printer, score, &name);

    return width < PART_COLUMNS_MIN ? PART_COLUMNS_MIN : width;
}

static void print_ranking_head(ExplainPrinter *printer, size_t width) {
    buf_append(printer->out, STR("RANK  "));
    visible_append_padded(printer->out, STR("NODE"), width);
    buf_append(printer->out, STR("  SENT  SCORE"));
    for (size_t i = 0; i < printer->explanation->n_scores; i++) {
        _cleanup_(buf_done) Buf name = BUF_INIT(1024);
        size_t columns = print_part_name(printer, i, &name), needed = part_width(printer, i);

        buf_printf(printer->out, "%s%*s%.*s", i == 0 ? "  =  " : "  ", (int)(needed - columns), "",
            STR_FMT(buf_str(&name)));
    }
    buf_append_char(printer->out, '\n');
}

/* Whether onError or onMissing gave the value. */
static bool has_failed(const ScorePart *part) {
    return part->is_error || part->is_missing;
}

static void print_ranked(ExplainPrinter *printer, const NodeExplanation *node, size_t width) {
    bool is_returned = node->outcome == NODE_PASSED;

    buf_printf(printer->out, "%s%4u%s  ", is_returned ? printer->paint.good : printer->paint.dim,
        node->rank, printer->paint.off);
    visible_append_padded(printer->out, node->node, width);
    if (is_returned)
        buf_printf(printer->out, "  %4u  %5.1f", node->wire_score, node->score);
    else
        buf_printf(printer->out, "     -  %5.1f", node->score);
    for (size_t i = 0; i < printer->explanation->n_scores; i++)
        buf_printf(printer->out, "%s%*.1f%s", i == 0 ? "     " : "  ",
            (int)part_width(printer, i) - (has_failed(&node->parts[i]) ? 1 : 0),
            node->parts[i].value, has_failed(&node->parts[i]) ? "!" : "");
    if (!is_returned)
        buf_printf(printer->out, "  %snot returned%s", printer->paint.dim, printer->paint.off);
    buf_append_char(printer->out, '\n');
}

static void print_ranking(ExplainPrinter *printer) {
    const Explanation *explanation = printer->explanation;
    size_t n = explanation->n_passed;
    size_t shown = printer->all || n <= BEST_SHOWN ? n : BEST_SHOWN;
    size_t width = strlen("NODE");

    if (n == 0)
        return;
    for (size_t i = 0; i < shown; i++)
        width = explain_name_columns(width, explanation->ranking[i]->node);
    buf_append_char(printer->out, '\n');
    if (explanation->n_scores == 0) /* nothing to rank them by: only their names */
        buf_append(printer->out, STR("NODE\n"));
    else
        print_ranking_head(printer, width);
    for (size_t i = 0; i < shown; i++)
        if (explanation->n_scores == 0)
            visible_print(printer->out, "{}\n", explanation->ranking[i]->node);
        else
            print_ranked(printer, explanation->ranking[i], width);
    if (shown < n)
        buf_printf(printer->out, "%s      … %s more; --all shows them%s\n", printer->paint.dim,
            GROUPED(n - shown), printer->paint.off);
}

void explain_print_summary(ExplainPrinter *printer) {
    const Explanation *explanation = printer->explanation;

    buf_printf(printer->out, "%s%s of %s nodes pass%s", printer->paint.bold,
        GROUPED(explanation->n_passed), GROUPED(explanation->n_nodes), printer->paint.off);
    if (explanation->n_narrowed > 0)
        buf_printf(printer->out, "; the best %s are returned (narrow), %s are not",
            GROUPED(explanation->n_passed - explanation->n_narrowed),
            GROUPED(explanation->n_narrowed));
    buf_append_char(printer->out, '\n');
}

typedef struct Group {
    const Filter *filter;
    bool is_observed;
    size_t n;                       /* nodes */
    size_t n_more;                  /* of those, the ones that also fail other rules */
    bool is_closest;                /* no node passes, and one of these is closest to eligible */
    const NodeExplanation *example; /* one that fails nothing else, if there is one */
} Group;

static const FailedRule *failure_in(const NodeExplanation *node, const Group *group) {
    return group->is_observed || node->verdict == group->filter
               ? explain_failed_rule(node, group->filter)
               : NULL;
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
    const char *number = GROUPED(group->n);

    buf_printf(printer->out, "%*s%s%s%s  %.*s/%.*s: ", 9 - (int)strlen(number), "",
        printer->paint.bad, number, printer->paint.off, STR_FMT(group->filter->policy->name),
        STR_FMT(group->filter->name));
    (void)visible_append(printer->out, group->filter->reason);
    if (group->filter->is_unresolvable)
        buf_printf(
            printer->out, " %s(preemption cannot help)%s", printer->paint.dim, printer->paint.off);
    buf_append_char(printer->out, '\n');
}

static void print_more_rules(ExplainPrinter *printer, const Group *group) {
    bool are_all = group->n_more == group->n;

    buf_printf(printer->out, GROUP_INDENT "%s%s%s other rules, too%s\n", printer->paint.dim,
        group->n == 1 ? ""
        : are_all     ? "all"
                      : GROUPED(group->n_more),
        group->n == 1 ? "it fails" : " of them fail", printer->paint.off);
}

static void print_example(ExplainPrinter *printer, const Group *group) {
    const NodeExplanation *node = group->example;
    const FailedRule *failed = failure_in(node, group);
    const FailureDetails *details = explain_print_details(printer, node, failed);

    visible_print(
        printer->out, group->n > 1 ? GROUP_INDENT "e.g. {}: " : GROUP_INDENT "{}: ", node->node);
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
        visible_print(printer->out, GROUP_INDENT "{}: ", node->node);
        explain_print_why(printer, failed, explain_print_details(printer, node, failed));
        if (!group->is_observed && n_others > 0)
            buf_printf(
                printer->out, " %s+%zu more%s", printer->paint.dim, n_others, printer->paint.off);
        buf_append_char(printer->out, '\n');
    }
}

/* Prints the groups of one policy: those with a node closest to eligible, or the others. */
static void print_groups_of(
    ExplainPrinter *printer, const Policy *policy, bool is_closest, const char **title) {
    for (size_t i = 0; i < policy->n_filters; i++) {
        Group group = find_group(printer->explanation, &policy->filters[i]);

        if (group.n == 0 || group.is_closest != is_closest)
            continue;
        if (*title)
            buf_printf(printer->out, "\n%s\n", *title);
        *title = NULL;
        print_group_head(printer, &group);
        if (printer->all)
            print_members(printer, &group);
        else
            print_example(printer, &group);
    }
}

/* Prints the rejections of policies in mode Enforce, or Observe. If no node passes, the reason of
 * the nodes closest to eligible comes first, like everywhere. */
static void print_groups(ExplainPrinter *printer, bool observed, const char *title) {
    const Explanation *explanation = printer->explanation;

    for (int is_closest = 1; is_closest >= 0; is_closest--)
        for (size_t i = 0; i < explanation->n_policies; i++)
            if (explanation->policies[i].fit == FIT_APPLIES &&
                explanation->policies[i].policy->is_observed == observed)
                print_groups_of(printer, explanation->policies[i].policy, is_closest > 0, &title);
}

static void print_rule_errors(ExplainPrinter *printer, const RuleErrors *errors) {
    const Policy *policy = errors->filter ? errors->filter->policy : errors->score->policy;
    Str name = errors->filter ? errors->filter->name : errors->score->name;

    buf_printf(printer->out, "  %s%.*s/%.*s%s on %s node%s", printer->paint.bad,
        STR_FMT(policy->name), STR_FMT(name), printer->paint.off, GROUPED(errors->n),
        PLURAL(errors->n));
    /* how those nodes counted */
    buf_printf(printer->out, " (%s: ", errors->is_missing ? "onMissing" : "onError");
    if (errors->score)
        buf_printf(printer->out, "%g)",
            errors->is_missing ? errors->score->on_missing : errors->score->on_error);
    else
        buf_printf(printer->out, "%.*s)", STR_FMT(explain_fallback(errors)));
    visible_print(
        printer->out, errors->n > 1 ? ": e.g. {}: {}\n" : ": {}: {}\n", errors->node, errors->text);
}

/* Prints the errors that a missing metric caused, or the others. */
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
