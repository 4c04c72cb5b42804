/*
 * The table: the best nodes with the parts of their scores, then who was rejected by what, counted,
 * with one node of each group as an example. --all shows every node in its place.
 */

#include <stdio.h>
#include <string.h>

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
static size_t print_part_name(Telling *t, size_t score, Buf *out) {
    const Score *rule = t->explanation->scores[score];
    size_t begin = out->len;

    if (is_ambiguous(t->explanation, score))
        buf_printf(out, "%.*s/", STR_FMT(rule->policy->name));
    buf_printf(out, "%.*s", STR_FMT(rule->name));
    if (t->explanation->n_scores > 1)
        buf_printf(out, " ×%g", rule->weight);
    return visible_width(str_skip(buf_str(out), begin));
}

static size_t part_width(Telling *t, size_t score) {
    Buf name = BUF_INIT(1024);
    size_t width = print_part_name(t, score, &name);

    buf_done(&name);
    return width < PART_COLUMNS_MIN ? PART_COLUMNS_MIN : width;
}

static void print_ranking_head(Telling *t, size_t width) {
    buf_append(t->out, STR("RANK  "));
    visible_append_padded(t->out, STR("NODE"), width);
    buf_append(t->out, STR("  WIRE  SCORE"));
    for (size_t i = 0; i < t->explanation->n_scores; i++) {
        Buf name = BUF_INIT(1024);
        size_t columns = print_part_name(t, i, &name), needed = part_width(t, i);

        buf_append(t->out, i == 0 ? STR("  =  ") : STR("  "));
        buf_append_repeat(t->out, ' ', needed - columns);
        buf_append(t->out, buf_str(&name));
        buf_done(&name);
    }
    buf_append_char(t->out, '\n');
}

/* onError or onMissing counts for it. */
static bool has_failed(const ScorePart *part) {
    return part->is_error || part->is_missing;
}

static void print_ranked(Telling *t, const NodeExplanation *node, size_t width) {
    bool is_offered = node->outcome == NODE_PASSED;

    buf_printf(
        t->out, "%s%4u%s  ", is_offered ? t->paint.good : t->paint.dim, node->rank, t->paint.off);
    visible_append_padded(t->out, node->node, width);
    if (is_offered)
        buf_printf(t->out, "  %4u  %5.1f", node->wire_score, node->score);
    else
        buf_printf(t->out, "     -  %5.1f", node->score);
    for (size_t i = 0; i < t->explanation->n_scores; i++)
        buf_printf(t->out,
            "%s%*.1f%s",
            i == 0 ? "     " : "  ",
            (int)part_width(t, i) - (has_failed(&node->parts[i]) ? 1 : 0),
            node->parts[i].value,
            has_failed(&node->parts[i]) ? "!" : "");
    if (!is_offered)
        buf_printf(t->out, "  %snot offered back%s", t->paint.dim, t->paint.off);
    buf_append_char(t->out, '\n');
}

static void print_more(Telling *t, size_t n) {
    buf_printf(t->out, "%s      … ", t->paint.dim);
    telling_count(t, n);
    buf_printf(t->out, " more; --all shows them%s\n", t->paint.off);
}

/* Nothing to rank them by: only who they are. */
static void print_names(Telling *t, size_t shown) {
    buf_append(t->out, STR("NODE\n"));
    for (size_t i = 0; i < shown; i++) {
        (void)visible_append(t->out, t->explanation->ranking[i]->node);
        buf_append_char(t->out, '\n');
    }
}

static void print_ranking(Telling *t) {
    const Explanation *explanation = t->explanation;
    size_t n = explanation->n_passed;
    size_t shown = t->all || n <= BEST_SHOWN ? n : BEST_SHOWN;
    size_t width = name_width(explanation->ranking, shown);

    if (n == 0)
        return;
    buf_append_char(t->out, '\n');
    if (explanation->n_scores == 0) {
        print_names(t, shown);
    } else {
        print_ranking_head(t, width);
        for (size_t i = 0; i < shown; i++)
            print_ranked(t, explanation->ranking[i], width);
    }
    if (shown < n)
        print_more(t, n - shown);
}

static void print_summary(Telling *t) {
    const Explanation *explanation = t->explanation;

    buf_append(t->out, str_from_c(t->paint.bold));
    telling_count(t, explanation->n_passed);
    buf_append(t->out, STR(" of "));
    telling_count(t, explanation->n_nodes);
    buf_printf(t->out, " nodes pass%s", t->paint.off);
    if (explanation->n_narrowed > 0) {
        buf_append(t->out, STR("; the best "));
        telling_count(t, explanation->n_passed - explanation->n_narrowed);
        buf_append(t->out, STR(" are offered back (narrow), "));
        telling_count(t, explanation->n_narrowed);
        buf_append(t->out, STR(" are not"));
    }
    buf_append_char(t->out, '\n');
}

/* --- nodes that do not ------------------------------------------------------------------------ */

typedef struct Group {
    const Filter *filter;
    bool is_observed;
    size_t n;                       /* nodes */
    size_t n_more;                  /* of those, the ones that fail other rules, too */
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
        group.n_more += !group.is_observed && n_others > 0;
        if (!group.example || (group.example->n_acting > 1 && n_others == 0))
            group.example = node;
    }
    return group;
}

#define GROUP_INDENT "           "

static void print_group_head(Telling *t, const Group *group) {
    char digits[24];

    (void)snprintf(digits, sizeof(digits), "%zu", group->n);
    buf_append_repeat(t->out, ' ', 9 - (strlen(digits) + (strlen(digits) - 1) / 3));
    buf_append(t->out, str_from_c(t->paint.bad));
    telling_count(t, group->n);
    buf_printf(t->out,
        "%s  %.*s/%.*s: ",
        t->paint.off,
        STR_FMT(group->filter->policy->name),
        STR_FMT(group->filter->name));
    (void)visible_append(t->out, group->filter->reason);
    if (group->filter->is_unresolvable)
        buf_printf(t->out, " %s(preemption cannot help)%s", t->paint.dim, t->paint.off);
    buf_append_char(t->out, '\n');
}

static void print_more_rules(Telling *t, const Group *group) {
    buf_printf(t->out, GROUP_INDENT "%s", t->paint.dim);
    if (group->n == 1) {
        buf_append(t->out, STR("it fails"));
    } else if (group->n_more == group->n) {
        buf_append(t->out, STR("all of them fail"));
    } else {
        telling_count(t, group->n_more);
        buf_append(t->out, STR(" of them fail"));
    }
    buf_printf(t->out, " other rules, too%s\n", t->paint.off);
}

static void print_example(Telling *t, const Group *group) {
    const NodeExplanation *node = group->example;
    const FailedRule *failed = failure_in(node, group);
    const FailureDetails *details = telling_details(t, node, failed);

    buf_append(t->out, STR(GROUP_INDENT));
    buf_append(t->out, group->n > 1 ? STR("e.g. ") : STR_NULL);
    (void)visible_append(t->out, node->node);
    buf_append(t->out, STR(": "));
    telling_why(t, failed, details);
    buf_append_char(t->out, '\n');
    telling_needs(t, details, GROUP_INDENT);
    if (group->n_more > 0)
        print_more_rules(t, group);
}

/* --all: each node of the group. */
static void print_members(Telling *t, const Group *group) {
    for (size_t i = 0; i < t->explanation->n_nodes; i++) {
        const NodeExplanation *node = &t->explanation->nodes[i];
        const FailedRule *failed = failure_in(node, group);
        size_t n_others = node->n_acting - (group->is_observed ? 0 : 1);

        if (!failed)
            continue;
        buf_append(t->out, STR(GROUP_INDENT));
        (void)visible_append(t->out, node->node);
        buf_append(t->out, STR(": "));
        telling_why(t, failed, telling_details(t, node, failed));
        if (!group->is_observed && n_others > 0)
            buf_printf(t->out, " %s+%zu more%s", t->paint.dim, n_others, t->paint.off);
        buf_append_char(t->out, '\n');
    }
}

static void print_group(Telling *t, const Group *group) {
    print_group_head(t, group);
    if (t->all)
        print_members(t, group);
    else
        print_example(t, group);
}

/* Those that act, or those that are only watched. */
static void print_groups(Telling *t, bool observed, const char *title) {
    const Explanation *explanation = t->explanation;
    bool is_first = true;

    for (size_t i = 0; i < explanation->n_policies; i++) {
        const Policy *policy = explanation->policies[i].policy;

        if (explanation->policies[i].fit != FIT_APPLIES || policy->is_observed != observed)
            continue;
        for (size_t j = 0; j < policy->n_filters; j++) {
            Group group = find_group(explanation, &policy->filters[j]);

            if (group.n == 0)
                continue;
            if (is_first)
                buf_printf(t->out, "\n%s\n", title);
            is_first = false;
            print_group(t, &group);
        }
    }
}

/* --- what went wrong, and what it counts for -------------------------------------------------- */

/* "(onMissing: allow)": what counts where it failed. */
static void print_fallback(Telling *t, const RuleErrors *errors) {
    Fallback fallback;

    buf_printf(t->out, " (%s: ", errors->is_missing ? "onMissing" : "onError");
    if (errors->score) {
        buf_printf(t->out,
            "%g)",
            errors->is_missing ? errors->score->on_missing : errors->score->on_error);
        return;
    }
    fallback = errors->is_missing ? errors->filter->on_missing : errors->filter->on_error;
    buf_append(t->out, fallback == FALLBACK_ALLOW ? STR("allow)") : STR("reject)"));
}

static void print_rule_errors(Telling *t, const RuleErrors *errors) {
    const Policy *policy = errors->filter ? errors->filter->policy : errors->score->policy;
    Str name = errors->filter ? errors->filter->name : errors->score->name;

    buf_printf(t->out,
        "  %s%.*s/%.*s%s on ",
        t->paint.bad,
        STR_FMT(policy->name),
        STR_FMT(name),
        t->paint.off);
    telling_count(t, errors->n);
    buf_printf(t->out, " node%s", errors->n == 1 ? "" : "s");
    print_fallback(t, errors);
    buf_append(t->out, errors->n > 1 ? STR(": e.g. ") : STR(": "));
    (void)visible_append(t->out, errors->node);
    buf_append(t->out, STR(": "));
    (void)visible_append(t->out, errors->text);
    buf_append_char(t->out, '\n');
}

/* Those for want of a metric, or the others. */
static void print_errors(Telling *t, bool is_missing, const char *title) {
    bool is_first = true;

    for (size_t i = 0; i < t->explanation->n_errors; i++) {
        const RuleErrors *errors = &t->explanation->errors[i];

        if (errors->is_missing != is_missing)
            continue;
        if (is_first)
            buf_printf(t->out, "\n%s\n", title);
        is_first = false;
        print_rule_errors(t, errors);
    }
}

void telling_table(Telling *t) {
    telling_head(t);
    print_summary(t);
    telling_nodes(t);
}

void telling_nodes(Telling *t) {
    print_ranking(t);
    if (t->explanation->n_scores > 0 && t->explanation->n_passed > 0)
        telling_share(t);
    print_groups(t, /* observed= */ false, "rejected by");
    print_groups(t, /* observed= */ true, "would be rejected by (mode Observe, not acted upon)");
    print_errors(t, /* is_missing= */ false, "expressions that failed");
    print_errors(t, /* is_missing= */ true, "metrics that are missing");
}
