/*
 * What the ways to tell an explanation have in common: the pod and its policies, why a rule fails,
 * what it would take, what scores count for.
 */

#include "commands/explain-print.h"
#include "base/visible.h"
#include "extender/score.h"

void telling_count(Telling *t, uint64_t n) {
    buf_append_grouped(t->out, n);
}

void telling_values(Telling *t, const CelLeaf *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        Buf text = BUF_INIT(4096);

        probe_leaf_print(&values[i], &text);
        buf_append(t->out, i > 0 ? STR(", ") : STR_NULL);
        (void)visible_append(t->out, buf_str(&text));
        buf_done(&text);
    }
}

void telling_why(Telling *t, const FailedRule *failed, const FailureDetails *details) {
    if (!str_is_empty(failed->detail)) {
        (void)visible_append(t->out, failed->detail);
        return;
    }
    telling_values(t, details->values, details->n_values);
}

void telling_needs(Telling *t, const FailureDetails *details, const char *indent) {
    for (size_t i = 0; i < details->n_remedies; i++) {
        if (i == 0)
            buf_printf(t->out, "%sneeds ", indent);
        else
            buf_append(t->out, STR(" and "));
        (void)visible_append(t->out, details->remedies[i].text);
    }
    if (details->n_remedies > 0)
        buf_append_char(t->out, '\n');
}

const FailureDetails *telling_details(
    Telling *t, const NodeExplanation *node, const FailedRule *failed) {
    static const FailureDetails none;
    FailureDetails *details;
    int r;

    arena_reset(t->scratch);
    details = ARENA_NEW(t->scratch, FailureDetails);
    r = details ? explain_failure(t->explanation, node, failed, t->scratch, details) : -1;
    if (r < 0)
        t->error = r;
    return r < 0 ? &none : details;
}

int64_t telling_points(const Telling *t, unsigned wire) {
    return score_points(wire, t->weight);
}

const NodeExplanation *telling_find(const Telling *t, Str name) {
    for (size_t i = 0; i < t->explanation->n_nodes; i++)
        if (str_eq(t->explanation->nodes[i].node, name))
            return &t->explanation->nodes[i];
    return NULL;
}

void telling_share(Telling *t) {
    buf_append(t->out, str_from_c(t->paint.dim));
    score_share_print(t->explanation->wire_max, t->weight, t->out);
    buf_printf(t->out, "%s\n", t->paint.off);
}

/* --- head --------------------------------------------------------------------------------- */

void telling_asks(Telling *t) {
    const Pod *pod = t->pod;

    for (size_t i = 0; i < pod->requests.n; i++) {
        buf_append(t->out, i ? STR(", ") : STR("  asks "));
        (void)visible_append(t->out, pod->requests.items[i].name);
        buf_append_char(t->out, ' ');
        resource_amount_print(pod->requests.items[i].name, pod->requests.items[i].amount, t->out);
    }
}

static const char *fit_words(PolicyFit fit) {
    switch (fit) {
    case FIT_OTHER_NAMESPACE:
        return "another namespace";
    case FIT_OTHER_LABELS:
        return "other labels";
    case FIT_EXPRESSION_FALSE:
        return "match.expression is false";
    default:
        return "match.expression failed";
    }
}

/* Those that are not for the pod, by why not. */
static void print_others(Telling *t, PolicyFit fit) {
    const Explanation *explanation = t->explanation;
    size_t n = 0;

    for (size_t i = 0; i < explanation->n_policies; i++) {
        const PolicyExplanation *policy = &explanation->policies[i];

        if (policy->fit != fit)
            continue;
        if (n++ == 0)
            buf_printf(t->out, "%snot       ", t->paint.dim);
        else
            buf_append(t->out, fit == FIT_EXPRESSION_FAILED ? STR("; ") : STR(", "));
        buf_append(t->out, policy->policy->name);
        if (fit == FIT_EXPRESSION_FAILED) {
            buf_append(t->out, STR(": "));
            (void)visible_append(t->out, policy->error);
        }
    }
    if (n > 0)
        buf_printf(t->out, "  (%s)%s\n", fit_words(fit), t->paint.off);
}

void telling_policies(Telling *t) {
    const Explanation *explanation = t->explanation;
    size_t n = 0;

    buf_append(t->out, STR("policies  "));
    if (explanation->n_applying == 0)
        buf_append(t->out, STR("none applies to this pod"));
    for (size_t i = 0; i < explanation->n_policies; i++) {
        const PolicyExplanation *policy = &explanation->policies[i];

        if (policy->fit != FIT_APPLIES)
            continue;
        buf_append(t->out, n++ ? STR(", ") : STR_NULL);
        buf_append(t->out, policy->policy->name);
        buf_append(t->out, policy->policy->is_observed ? STR(" (Observe)") : STR_NULL);
    }
    buf_append_char(t->out, '\n');
    for (PolicyFit fit = FIT_OTHER_NAMESPACE; fit <= FIT_EXPRESSION_FAILED; fit++)
        print_others(t, fit);
}

void telling_head(Telling *t) {
    buf_append(t->out, STR("pod       "));
    (void)visible_append(t->out, t->pod->namespace);
    buf_append_char(t->out, '/');
    (void)visible_append(t->out, t->pod->name);
    telling_asks(t);
    buf_append_char(t->out, '\n');
    telling_policies(t);
    buf_append_char(t->out, '\n');
}
