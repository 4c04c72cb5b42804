/* Prints the report of `berth what-if` as text. */

#include "commands/recorded.h"

#include <assert.h>
#include <inttypes.h>

#include "base/nsec.h"
#include "base/visible.h"
#include "extender/score.h"
#include "model/time.h"

#define ROWS_SHOWN 10u
#define NAME_COLUMNS_MAX 48u

static void heading(WhatIfPrinter *printer, const char *text) {
    buf_printf(printer->out, "\n%s%s%s\n", printer->paint.bold, text, printer->paint.off);
}

static void more(WhatIfPrinter *printer, size_t n) {
    if (n > 0)
        buf_printf(printer->out, "  %s… and %s more; --all shows them%s\n", printer->paint.dim,
            GROUPED(n), printer->paint.off);
}

static void padded(WhatIfPrinter *printer, Str text, size_t width) {
    visible_append_padded(printer->out, visible_take(text, width), width);
}

/* Prints the times of the oldest and newest decision in the report. */
static void print_span(WhatIfPrinter *printer) {
    const Recording *recording = &printer->recorded->recording;
    size_t left = printer->report->n;
    int64_t from = 0, to = 0;

    for (size_t i = recording->n; i-- > 0 && left > 0;) {
        if (!recorded_is_filter_or_score(&recording->decisions[i]))
            continue;
        from = recording->decisions[i].now_nsec;
        to = to ? to : from;
        left--;
    }
    if (from == 0)
        return;
    buf_append(printer->out, STR(", "));
    time_print(from / NSEC_PER_SEC, printer->out);
    buf_append(printer->out, STR(" to "));
    time_print(to / NSEC_PER_SEC, printer->out);
}

/* Counts decisions that other policies made than those in the bundle. */
static size_t count_others(const WhatIfPrinter *printer) {
    const Recording *recording = &printer->recorded->recording;
    Digest policy = recorded_policy_digest(&printer->recorded->bundles[0]);
    size_t n = 0;

    for (size_t i = 0; i < recording->n; i++) {
        const RecordedDecision *decision = &recording->decisions[i];

        n += recorded_is_filter_or_score(decision) && !recorded_obstacle(decision) &&
             !digest_equal(decision->policy, policy);
    }
    return n;
}

static void print_head(WhatIfPrinter *printer) {
    const WhatIfReport *report = printer->report;
    size_t n_others = count_others(printer);

    buf_printf(printer->out, "%s decision%s about %s pod%s", GROUPED(report->n), PLURAL(report->n),
        GROUPED(report->n_pods), PLURAL(report->n_pods));
    print_span(printer);
    visible_print(printer->out, "\nreplayed with {}\n", printer->with);
    if (n_others > 0)
        buf_printf(printer->out,
            "%s %s made by other policies than those in force at the end, which may explain "
            "differences\n",
            GROUPED(n_others), n_others == 1 ? "was" : "were");
    if (!report->is_whole)
        buf_append(printer->out, STR("time was up: the oldest decisions are not in it\n"));
    if (report->n_changes[WHAT_IF_SKIPPED] > 0)
        buf_printf(printer->out, "%s cannot be replayed: %s\n",
            GROUPED(report->n_changes[WHAT_IF_SKIPPED]),
            report->skipped_why ? report->skipped_why : "not all is kept");
}

static const struct {
    WhatIfChange change;
    const char *what, *about;
    bool is_bad;
} lines[] = {
    {WHAT_IF_NEWLY_REJECTED, "newly rejected", "some nodes passed, now none passes", true},
    {WHAT_IF_NEWLY_PASSING, "newly passing", "no node passed, now some pass", false},
    {WHAT_IF_NODES, "other nodes", "other nodes pass; some do before and after", false},
    {WHAT_IF_REASONS, "other reasons", "the same nodes pass; others are rejected by another rule",
        false},
    {WHAT_IF_BEST, "other best", "prioritize has another best node", false},
    {WHAT_IF_SCORES, "other scores", "the same best node, with other scores", false},
};

static void print_line(
    WhatIfPrinter *printer, const char *what, uint64_t n, const char *about, const char *colour) {
    buf_printf(printer->out, "  %-15s%s%9s%s  %s%s%s\n", what, n > 0 ? colour : "", GROUPED(n),
        n > 0 && colour[0] ? printer->paint.off : "", printer->paint.dim, about,
        printer->paint.off);
}

static void print_counts(WhatIfPrinter *printer) {
    const WhatIfReport *report = printer->report;
    uint64_t n_equal = report->n_changes[WHAT_IF_EQUAL];
    uint64_t n_again = report->n - report->n_changes[WHAT_IF_SKIPPED];

    if (n_again == 0) {
        buf_append(printer->out, printer->report->n == 0 ? STR("\nno decisions yet\n")
                                                         : STR("\nnone of them can be replayed\n"));
        return;
    }
    buf_printf(printer->out, "\n%sequal: %s of %s%s\n",
        n_equal == n_again ? printer->paint.good : printer->paint.bold, GROUPED(n_equal),
        GROUPED(n_again), printer->paint.off);
    if (n_equal == n_again)
        return;
    for (size_t i = 0; i < ELEMENTS_OF(lines); i++)
        print_line(printer, lines[i].what, report->n_changes[lines[i].change], lines[i].about,
            lines[i].is_bad ? printer->paint.bad : "");
    if (report->n_changes[WHAT_IF_NOMINATED] > 0)
        print_line(printer, "nominated", report->n_changes[WHAT_IF_NOMINATED],
            "the nominated node was the only candidate; if rejected, others are tried", "");
    print_line(printer, "moved", report->n_moved, "pods whose node is rejected, or no longer best",
        printer->paint.bold);
}

static size_t shown(const WhatIfPrinter *printer, size_t n) {
    return printer->all || n < ROWS_SHOWN ? n : ROWS_SHOWN;
}

static void print_rules(WhatIfPrinter *printer) {
    size_t n = shown(printer, printer->report->n_rules);

    if (printer->report->n_rules == 0)
        return;
    heading(printer, "rules that caused it, in pairs of pod and node");
    buf_printf(printer->out, "  %-48s %11s %11s\n", "RULE", "BEFORE", "AFTER");
    for (size_t i = 0; i < n; i++) {
        const WhatIfRule *rule = &printer->report->rules[i];
        _cleanup_(buf_done) Buf name = BUF_INIT(1024);

        buf_printf(&name, "%.*s/%.*s", STR_FMT(rule->policy), STR_FMT(rule->name));
        buf_append(printer->out, STR("  "));
        padded(printer, buf_str(&name), NAME_COLUMNS_MAX);
        buf_printf(printer->out, "%12s%12s", GROUPED(rule->n_rejected_before),
            GROUPED(rule->n_rejected_after));
        if (rule->n_newly_rejected > 0)
            buf_printf(printer->out, "  %s pod%s newly rejected", GROUPED(rule->n_newly_rejected),
                PLURAL(rule->n_newly_rejected));
        if (rule->n_newly_passing > 0)
            buf_printf(printer->out, "  %s pod%s newly passing", GROUPED(rule->n_newly_passing),
                PLURAL(rule->n_newly_passing));
        buf_append_char(printer->out, '\n');
    }
    more(printer, printer->report->n_rules - n);
}

static void print_best(WhatIfPrinter *printer, const WhatIfCase *one) {
    if (str_eq(one->best_before, one->best_after)) {
        visible_print(printer->out, "still {}", one->best_after);
        return;
    }
    visible_print(printer->out, "{} → {}",
        str_is_empty(one->best_before) ? STR("none") : one->best_before,
        str_is_empty(one->best_after) ? STR("none") : one->best_after);
}

static void print_case(WhatIfPrinter *printer, const WhatIfCase *one) {
    const RecordedDecision *decision = one->decision;
    bool is_bad = one->change == WHAT_IF_NEWLY_REJECTED;
    _cleanup_(buf_done) Buf pod = BUF_INIT(2048);

    buf_printf(&pod, "%.*s/%.*s", STR_FMT(decision->pod_namespace), STR_FMT(decision->pod_name));
    buf_printf(printer->out, "  %s%-15s%s ", is_bad ? printer->paint.bad : "",
        what_if_change_name(one->change), is_bad ? printer->paint.off : "");
    padded(printer, buf_str(&pod), 32);
    buf_append(printer->out, STR("  "));
    if (decision->verb == VERB_FILTER)
        buf_printf(
            printer->out, "%s nodes passed, now %s", GROUPED(one->n_before), GROUPED(one->n_after));
    else
        print_best(printer, one);
    if (decision->verb == VERB_FILTER && !str_is_empty(one->rule))
        visible_print(printer->out, " ({})", one->rule);
    if (one->was_chosen && one->chosen_lost)
        visible_print(printer->out, "; it got {}, which is lost", one->chosen);
    buf_append_char(printer->out, '\n');
}

/* Prints the most important kind first. */
static void print_cases(WhatIfPrinter *printer) {
    size_t max = shown(printer, printer->report->n_cases), n = 0;

    if (printer->report->n_cases == 0)
        return;
    heading(printer, printer->all ? "decisions that changed, the newest first of each kind"
                                  : "decisions that changed");
    for (size_t kind = 0; kind < ELEMENTS_OF(lines); kind++) {
        for (size_t i = 0; n < max && i < printer->report->n_cases; i++) {
            if (printer->report->cases[i].change != lines[kind].change)
                continue;
            print_case(printer, &printer->report->cases[i]);
            n++;
        }
    }
    more(printer, printer->report->n_cases - n);
}

static void print_nodes(WhatIfPrinter *printer) {
    size_t n = shown(printer, printer->report->n_nodes);

    if (printer->report->n_nodes == 0)
        return;
    heading(printer, "how often a node was best");
    buf_printf(printer->out, "  %-48s %11s %11s\n", "NODE", "BEFORE", "AFTER");
    for (size_t i = 0; i < n; i++) {
        const WhatIfNode *node = &printer->report->nodes[i];

        buf_append(printer->out, STR("  "));
        padded(printer, node->name, NAME_COLUMNS_MAX);
        buf_printf(
            printer->out, "%12s%12s\n", GROUPED(node->n_best_before), GROUPED(node->n_best_after));
    }
    more(printer, printer->report->n_nodes - n);
}

static void print_bounds(WhatIfPrinter *printer) {
    int64_t points = score_points(program_wire_max(printer->program), printer->weight);

    if (printer->report->n_unmeasured > 0)
        buf_printf(printer->out,
            "\n%s metric%s of these policies were not measured then: absent here, so onMissing "
            "decides\n",
            GROUPED(printer->report->n_unmeasured), PLURAL(printer->report->n_unmeasured));
    if (printer->recorded->bundles[0].is_anonymous)
        buf_append(printer->out,
            STR("\nthis bundle is anonymized: rules that match parts of names may decide "
                "otherwise\n"));
    if (printer->is_check)
        return;
    buf_printf(printer->out,
        "\n%sExact for berth's verdicts and scores. kube-scheduler's final choice is not replayed: "
        "its own\nscores go to 1,200 by default, berth's add 0 to %s (at weight %" PRId64
        "); another best node\n"
        "changes the outcome only where its own scores differ by less. A pod on another node "
        "would\n"
        "also have changed the decisions after it.%s\n",
        printer->paint.dim, GROUPED((uint64_t)points), printer->weight, printer->paint.off);
    static_assert(SCORE_IN_TREE_MAX == 1200, "the text above says so");
}

void what_if_print(WhatIfPrinter *printer) {
    print_head(printer);
    print_counts(printer);
    print_rules(printer);
    print_cases(printer);
    print_nodes(printer);
    print_bounds(printer);
}
