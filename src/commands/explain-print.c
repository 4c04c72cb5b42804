/*
 * Shared by all forms of an explanation: the pod and its policies, why a rule fails, the
 * suggestion, how much scores count.
 */

#include "commands/explain-internal.h"

#include "base/visible.h"

size_t explain_name_columns(size_t columns, Str name) {
    size_t width = visible_width(name);

    width = width > NAME_COLUMNS_MAX ? NAME_COLUMNS_MAX : width;
    return width > columns ? width : columns;
}

void explain_print_values(ExplainPrinter *printer, const CelLeaf *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(4096);

        probe_leaf_print(&values[i], &text);
        visible_print(printer->out, i > 0 ? ", {}" : "{}", buf_str(&text));
    }
}

void explain_print_why(
    ExplainPrinter *printer, const FailedRule *failed, const FailureDetails *details) {
    if (!str_is_empty(failed->detail))
        (void)visible_append(printer->out, failed->detail);
    else
        explain_print_values(printer, details->values, details->n_values);
}

void explain_print_needs(
    ExplainPrinter *printer, const FailureDetails *details, const char *indent) {
    for (size_t i = 0; i < details->n_remedies; i++) {
        buf_printf(printer->out, "%s%s", i == 0 ? indent : "", i == 0 ? "needs " : " and ");
        (void)visible_append(printer->out, details->remedies[i].text);
    }
    buf_append(printer->out, details->n_remedies > 0 ? STR("\n") : STR_NULL);
}

const FailureDetails *explain_print_details(
    ExplainPrinter *printer, const NodeExplanation *node, const FailedRule *failed) {
    FailureDetails *details;

    arena_reset(printer->scratch);
    details = ARENA_NEW(printer->scratch, FailureDetails);
    (void)terminal_check(
        explain_failure(printer->explanation, node, failed, printer->scratch, details),
        EXPLAIN_MEMORY_FOR, printer->scratch);
    return details;
}

const FailedRule *explain_failed_rule(const NodeExplanation *node, const Filter *filter) {
    for (size_t i = 0; i < node->n_failed; i++)
        if (node->failed[i].filter == filter)
            return &node->failed[i];
    return NULL;
}

Str explain_fallback(const RuleErrors *errors) {
    Fallback fallback = errors->is_missing ? errors->filter->on_missing : errors->filter->on_error;

    return fallback == FALLBACK_ALLOW ? STR("allow") : STR("reject");
}

const NodeExplanation *explain_print_find(const ExplainPrinter *printer, Str name) {
    for (size_t i = 0; i < printer->explanation->n_nodes; i++)
        if (str_eq(printer->explanation->nodes[i].node, name))
            return &printer->explanation->nodes[i];
    return NULL;
}

void explain_print_share(ExplainPrinter *printer) {
    buf_append(printer->out, str_from_c(printer->paint.dim));
    score_share_print(printer->explanation->wire_max, printer->weight, printer->out);
    buf_printf(printer->out, "%s\n", printer->paint.off);
}

void explain_print_requests(ExplainPrinter *printer) {
    const Pod *pod = printer->pod;

    for (size_t i = 0; i < pod->requests.n; i++) {
        buf_append(printer->out, i ? STR(", ") : STR("  requests "));
        visible_print(printer->out, "{} ", pod->requests.items[i].name);
        resource_amount_print(
            pod->requests.items[i].name, pod->requests.items[i].amount, printer->out);
    }
}

/* Prints the policies that do not apply to the pod for the reason @fit. */
static void print_others(ExplainPrinter *printer, PolicyFit fit) {
    static const char *const words[] = {
        [FIT_OTHER_NAMESPACE] = "another namespace",
        [FIT_OTHER_NAMESPACE_LABELS] = "other labels of its namespace",
        [FIT_OTHER_LABELS] = "other labels",
        [FIT_EXPRESSION_FALSE] = "match.expression is false",
        [FIT_NAMESPACE_FAILED] = "match.namespaceSelector failed",
        [FIT_EXPRESSION_FAILED] = "match.expression failed",
    };
    const Explanation *explanation = printer->explanation;
    size_t n = 0;

    for (size_t i = 0; i < explanation->n_policies; i++) {
        const PolicyExplanation *policy = &explanation->policies[i];

        if (policy->fit != fit)
            continue;
        if (n++ == 0)
            buf_printf(printer->out, "%snot       ", printer->paint.dim);
        else
            buf_append(printer->out, fit >= FIT_NAMESPACE_FAILED ? STR("; ") : STR(", "));
        buf_append(printer->out, policy->policy->name);
        if (fit >= FIT_NAMESPACE_FAILED)
            visible_print(printer->out, ": {}", policy->error);
    }
    if (n > 0)
        buf_printf(printer->out, "  (%s)%s\n", words[fit], printer->paint.off);
}

void explain_print_policies(ExplainPrinter *printer) {
    const Explanation *explanation = printer->explanation;
    size_t n = 0;

    buf_append(printer->out, STR("policies  "));
    if (explanation->n_applying == 0)
        buf_append(printer->out, STR("none applies to this pod"));
    for (size_t i = 0; i < explanation->n_policies; i++) {
        const PolicyExplanation *policy = &explanation->policies[i];

        if (policy->fit != FIT_APPLIES)
            continue;
        buf_printf(printer->out, "%s%.*s%s", n++ ? ", " : "", STR_FMT(policy->policy->name),
            policy->policy->is_observed ? " (Observe)" : "");
    }
    buf_append_char(printer->out, '\n');
    for (PolicyFit fit = FIT_OTHER_NAMESPACE; fit <= FIT_EXPRESSION_FAILED; fit++)
        print_others(printer, fit);
}
