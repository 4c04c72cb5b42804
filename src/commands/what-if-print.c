#include "commands/what-if-print.h"

#include <assert.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/visible.h"
#include "extender/score.h"
#include "model/time.h"

#define ROWS_SHOWN 10u
#define NAME_COLUMNS_MAX 48u

/* --- words ------------------------------------------------------------------------------- */

static void count(WhatIfTelling *t, uint64_t n, const char *one, const char *many) {
    buf_append_grouped(t->out, n);
    buf_printf(t->out, " %s", n == 1 ? one : many);
}

/* Numbers right-aligned in @width columns. */
static void number(WhatIfTelling *t, uint64_t n, size_t width) {
    _cleanup_(buf_done) Buf text = BUF_INIT(32);

    buf_append_grouped(&text, n);
    if (text.len < width)
        buf_append_repeat(t->out, ' ', width - text.len);
    buf_append(t->out, buf_str(&text));
}

static void heading(WhatIfTelling *t, const char *text) {
    buf_printf(t->out, "\n%s%s%s\n", t->paint.bold, text, t->paint.off);
}

static void more(WhatIfTelling *t, size_t n) {
    if (n == 0)
        return;
    buf_printf(t->out, "  %s… and ", t->paint.dim);
    buf_append_grouped(t->out, n);
    buf_printf(t->out, " more; --all shows them%s\n", t->paint.off);
}

static void padded(WhatIfTelling *t, Str text, size_t width) {
    visible_append_padded(t->out, visible_take(text, width), width);
}

/* --- the head ---------------------------------------------------------------------------- */

static bool is_asked(const RecordedDecision *decision) {
    return decision->verb == VERB_FILTER || decision->verb == VERB_PRIORITIZE;
}

/* The oldest and the newest that are in the report. */
static void print_span(WhatIfTelling *t) {
    const Recording *recording = t->recording;
    size_t left = t->report->n;
    int64_t from = 0, to = 0;

    for (size_t i = recording->n; i-- > 0 && left > 0;) {
        if (!is_asked(&recording->decisions[i]))
            continue;
        from = recording->decisions[i].now_nsec;
        to = to ? to : from;
        left--;
    }
    if (from == 0)
        return;
    buf_append(t->out, STR(", "));
    time_print(from / NSEC_PER_SEC, t->out);
    buf_append(t->out, STR(" to "));
    time_print(to / NSEC_PER_SEC, t->out);
}

/* How many were made by other policies than those that are in the bundle. */
static size_t count_others(const WhatIfTelling *t) {
    size_t n = 0;

    for (size_t i = 0; i < t->recording->n; i++) {
        const RecordedDecision *decision = &t->recording->decisions[i];

        n += is_asked(decision) && !recorded_obstacle(decision) &&
             !digest_equal(decision->policy, t->policy);
    }
    return n;
}

static void print_head(WhatIfTelling *t) {
    size_t n_others = count_others(t);

    count(t, t->report->n, "decision", "decisions");
    buf_append(t->out, STR(" about "));
    count(t, t->report->n_pods, "pod", "pods");
    print_span(t);
    buf_append(t->out, STR("\nmade again with "));
    (void)visible_append(t->out, t->with);
    buf_append_char(t->out, '\n');
    if (n_others > 0) {
        count(t, n_others, "was", "were");
        buf_append(t->out,
            STR(" made by other policies than were in force at the end: what differs in these may "
                "be\n  due to that\n"));
    }
    if (!t->report->is_whole)
        buf_append(t->out, STR("time was up: the oldest decisions are not in it\n"));
    if (t->report->n_changes[WHAT_IF_SKIPPED] > 0) {
        count(t, t->report->n_changes[WHAT_IF_SKIPPED], "cannot", "cannot");
        buf_printf(t->out,
            " be made again: %s\n",
            t->report->skipped_why ? t->report->skipped_why : "not all is kept");
    }
}

/* --- counts ------------------------------------------------------------------------------ */

static const struct {
    WhatIfChange change;
    const char *what, *about;
    bool is_bad;
} lines[] = {
    {WHAT_IF_NEWLY_REJECTED, "newly rejected", "some node could take the pod, now none can", true},
    {WHAT_IF_NEWLY_PASSING, "newly passing", "no node could take the pod, now some can", false},
    {WHAT_IF_NODES, "other nodes", "other nodes pass; some do before and after", false},
    {WHAT_IF_REASONS,
        "other reasons",
        "the same nodes pass; others are rejected by another rule",
        false},
    {WHAT_IF_BEST, "other best", "prioritize has another best node", false},
    {WHAT_IF_SCORES, "other scores", "the same best node, with other scores", false},
};

static void print_line(
    WhatIfTelling *t, const char *what, uint64_t n, const char *about, const char *colour) {
    buf_printf(t->out, "  %-15s%s", what, n > 0 ? colour : "");
    number(t, n, 9);
    buf_printf(t->out,
        "%s  %s%s%s\n",
        n > 0 && colour[0] ? t->paint.off : "",
        t->paint.dim,
        about,
        t->paint.off);
}

static void print_counts(WhatIfTelling *t) {
    const WhatIfReport *report = t->report;
    uint64_t n_equal = report->n_changes[WHAT_IF_EQUAL];
    uint64_t n_again = report->n - report->n_changes[WHAT_IF_SKIPPED];

    if (n_again == 0) {
        buf_append(t->out,
            t->report->n == 0 ? STR("\nnothing has been decided yet\n")
                              : STR("\nnone of them can be made again\n"));
        return;
    }
    buf_printf(t->out, "\n%sequal: ", n_equal == n_again ? t->paint.good : t->paint.bold);
    buf_append_grouped(t->out, n_equal);
    buf_append(t->out, STR(" of "));
    buf_append_grouped(t->out, n_again);
    buf_printf(t->out, "%s\n", t->paint.off);
    if (n_equal == n_again)
        return;
    for (size_t i = 0; i < ELEMENTS_OF(lines); i++)
        print_line(t,
            lines[i].what,
            report->n_changes[lines[i].change],
            lines[i].about,
            lines[i].is_bad ? t->paint.bad : "");
    print_line(t,
        "moved",
        report->n_moved,
        "pods whose node is lost, or no longer our best",
        t->paint.bold);
}

/* --- who did it -------------------------------------------------------------------------- */

static size_t shown(const WhatIfTelling *t, size_t n) {
    return t->all || n < ROWS_SHOWN ? n : ROWS_SHOWN;
}

static void print_rules(WhatIfTelling *t) {
    size_t n = shown(t, t->report->n_rules);

    if (t->report->n_rules == 0)
        return;
    heading(t, "rules that did it, in pairs of pod and node");
    buf_printf(t->out, "  %-48s %11s %11s\n", "RULE", "BEFORE", "AFTER");
    for (size_t i = 0; i < n; i++) {
        const WhatIfRule *rule = &t->report->rules[i];
        _cleanup_(buf_done) Buf name = BUF_INIT(1024);

        buf_printf(&name, "%.*s/%.*s", STR_FMT(rule->policy), STR_FMT(rule->name));
        buf_append(t->out, STR("  "));
        padded(t, buf_str(&name), NAME_COLUMNS_MAX);
        number(t, rule->n_rejected_before, 12);
        number(t, rule->n_rejected_after, 12);
        if (rule->n_newly_rejected > 0) {
            buf_append(t->out, STR("  "));
            count(t, rule->n_newly_rejected, "pod newly rejected", "pods newly rejected");
        }
        if (rule->n_newly_passing > 0) {
            buf_append(t->out, STR("  "));
            count(t, rule->n_newly_passing, "pod newly passing", "pods newly passing");
        }
        buf_append_char(t->out, '\n');
    }
    more(t, t->report->n_rules - n);
}

/* --- cases ------------------------------------------------------------------------------- */

static void print_filter(WhatIfTelling *t, const WhatIfCase *one) {
    buf_append_grouped(t->out, one->n_before);
    buf_append(t->out, STR(" nodes passed, now "));
    buf_append_grouped(t->out, one->n_after);
    if (!str_is_empty(one->rule)) {
        buf_append(t->out, STR(" ("));
        (void)visible_append(t->out, one->rule);
        buf_append_char(t->out, ')');
    }
}

static void print_best(WhatIfTelling *t, const WhatIfCase *one) {
    if (str_eq(one->best_before, one->best_after)) {
        buf_append(t->out, STR("still "));
        (void)visible_append(t->out, one->best_after);
        return;
    }
    (void)visible_append(t->out, str_is_empty(one->best_before) ? STR("none") : one->best_before);
    buf_append(t->out, STR(" → "));
    (void)visible_append(t->out, str_is_empty(one->best_after) ? STR("none") : one->best_after);
}

static void print_case(WhatIfTelling *t, const WhatIfCase *one) {
    const RecordedDecision *decision = one->decision;
    bool is_bad = one->change == WHAT_IF_NEWLY_REJECTED;
    _cleanup_(buf_done) Buf pod = BUF_INIT(2048);

    buf_printf(&pod, "%.*s/%.*s", STR_FMT(decision->pod_namespace), STR_FMT(decision->pod_name));
    buf_printf(t->out,
        "  %s%-15s%s ",
        is_bad ? t->paint.bad : "",
        what_if_change_name(one->change),
        is_bad ? t->paint.off : "");
    padded(t, buf_str(&pod), 32);
    buf_append(t->out, STR("  "));
    if (decision->verb == VERB_FILTER)
        print_filter(t, one);
    else
        print_best(t, one);
    if (one->was_chosen && one->chosen_lost) {
        buf_append(t->out, STR("; it got "));
        (void)visible_append(t->out, one->chosen);
        buf_append(t->out, STR(", which is lost"));
    }
    buf_append_char(t->out, '\n');
}

/* What matters most first. */
static void print_cases(WhatIfTelling *t) {
    size_t max = shown(t, t->report->n_cases), n = 0;

    if (t->report->n_cases == 0)
        return;
    heading(t,
        t->all ? "decisions that changed, the newest first of each kind"
               : "decisions that changed");
    for (size_t kind = 0; kind < ELEMENTS_OF(lines); kind++) {
        for (size_t i = 0; n < max && i < t->report->n_cases; i++) {
            if (t->report->cases[i].change != lines[kind].change)
                continue;
            print_case(t, &t->report->cases[i]);
            n++;
        }
    }
    more(t, t->report->n_cases - n);
}

static void print_nodes(WhatIfTelling *t) {
    size_t n = shown(t, t->report->n_nodes);

    if (t->report->n_nodes == 0)
        return;
    heading(t, "how often a node was our best");
    buf_printf(t->out, "  %-48s %11s %11s\n", "NODE", "BEFORE", "AFTER");
    for (size_t i = 0; i < n; i++) {
        const WhatIfNode *node = &t->report->nodes[i];

        buf_append(t->out, STR("  "));
        padded(t, node->name, NAME_COLUMNS_MAX);
        number(t, node->n_best_before, 12);
        number(t, node->n_best_after, 12);
        buf_append_char(t->out, '\n');
    }
    more(t, t->report->n_nodes - n);
}

/* --- what is not said -------------------------------------------------------------------- */

static void print_bounds(WhatIfTelling *t) {
    int64_t points = score_points(program_wire_max(t->program), t->weight);

    if (t->report->n_unmeasured > 0) {
        buf_append_char(t->out, '\n');
        count(t, t->report->n_unmeasured, "metric", "metrics");
        buf_append(t->out,
            STR(" of these policies nobody had asked for then: absent here, so onMissing "
                "decides\n"));
    }
    if (t->is_anonymous)
        buf_append(t->out,
            STR("\nnames are hashed in this bundle: rules that take names apart may decide "
                "otherwise\n"));
    if (t->is_check)
        return;
    buf_printf(t->out,
        "\n%sExact for our part. Not modelled: which node kube-scheduler takes in the end. Its own "
        "scores go\nto 1,200 by default, ours add 0 to ",
        t->paint.dim);
    buf_append_grouped(t->out, (uint64_t)points);
    buf_printf(t->out,
        " (at weight %" PRId64 "): another best changes the outcome\n"
        "only where its own scores differ by less. And a pod on another node would have changed "
        "the\ndecisions after it.%s\n",
        t->weight,
        t->paint.off);
    static_assert(SCORE_IN_TREE_MAX == 1200, "the text above says so");
}

void what_if_print(WhatIfTelling *t) {
    print_head(t);
    print_counts(t);
    print_rules(t);
    print_cases(t);
    print_nodes(t);
    print_bounds(t);
}
