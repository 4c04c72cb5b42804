/* The explanation as JSON: everything, by the schema in docs/policy.md. */

#include <math.h>

#include "commands/explain-internal.h"
#include "json/write.h"

#define VALUE_MAX 4096u /* bytes of a value that is printed as CEL */

/* Writes simple values as JSON, others as CEL text. */
static void write_value(JsonWriter *writer, const char *key, CelValue value) {
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)2 * VALUE_MAX);

    json_write_key(writer, str_from_c(key));
    switch (value.kind) {
    case CEL_ABSENT:
    case CEL_ERROR:
    case CEL_NULL:
        json_write_null(writer);
        break;
    case CEL_BOOL:
        json_write_bool(writer, value.boolean);
        break;
    case CEL_INT:
        json_write_int(writer, value.i);
        break;
    case CEL_DOUBLE:
        json_write_double(writer, value.d);
        break;
    case CEL_STRING:
        json_write_string(writer, cel_str(value));
        break;
    default:
        cel_value_print(value, NULL, VALUE_MAX, &text);
        json_write_string(writer, buf_str(&text));
    }
}

static void write_policies(const Explanation *explanation, JsonWriter *writer) {
    static const char *const why[] = {
        [FIT_APPLIES] = "",
        [FIT_OTHER_NAMESPACE] = "namespaces",
        [FIT_OTHER_NAMESPACE_LABELS] = "namespaceSelector",
        [FIT_OTHER_LABELS] = "podSelector",
        [FIT_EXPRESSION_FALSE] = "expression",
        [FIT_NAMESPACE_FAILED] = "error",
        [FIT_EXPRESSION_FAILED] = "error",
    };

    json_member_array(writer, "policies");
    for (size_t i = 0; i < explanation->n_policies; i++) {
        const PolicyExplanation *policy = &explanation->policies[i];

        json_write(writer, "{name: %.*s, mode: %s, applies: %i", STR_FMT(policy->policy->name),
            policy->policy->is_observed ? "Observe" : "Enforce", policy->fit == FIT_APPLIES);
        if (policy->fit != FIT_APPLIES)
            json_write(writer, "whyNot: %s", why[policy->fit]);
        if (policy->fit >= FIT_NAMESPACE_FAILED)
            json_write(writer, "error: %.*s", STR_FMT(policy->error));
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void begin_rule(JsonWriter *writer, const Policy *policy, Str name) {
    json_write(writer, "{policy: %.*s, rule: %.*s", STR_FMT(policy->name), STR_FMT(name));
}

static void write_fallback(const RuleErrors *errors, JsonWriter *writer) {
    const char *name = errors->is_missing ? "onMissing" : "onError";

    if (errors->score)
        json_write(writer, "%s: %g}", name,
            errors->is_missing ? errors->score->on_missing : errors->score->on_error);
    else
        json_write(writer, "%s: %.*s}", name, STR_FMT(explain_fallback(errors)));
}

static void write_errors(const Explanation *explanation, JsonWriter *writer) {
    json_member_array(writer, "errors");
    for (size_t i = 0; i < explanation->n_errors; i++) {
        const RuleErrors *errors = &explanation->errors[i];

        if (errors->filter)
            begin_rule(writer, errors->filter->policy, errors->filter->name);
        else
            begin_rule(writer, errors->score->policy, errors->score->name);
        json_write(writer, "nodes: %zu, node: %.*s, %s: %.*s", errors->n, STR_FMT(errors->node),
            errors->is_missing ? "missing" : "error", STR_FMT(errors->text));
        write_fallback(errors, writer);
    }
    json_write_end_array(writer);
}

static void write_counting(const Policy *policy, BindWiring bind, JsonWriter *writer) {
    for (size_t i = 0; i < policy->n_filters; i++) {
        Exactness exactness = exactness_of(&policy->filters[i], bind);

        if (exactness == EXACT_NOTHING)
            continue;
        begin_rule(writer, policy, policy->filters[i].name);
        counting_rules_write(exactness, writer);
        json_write_end_object(writer);
    }
}

static void write_remedies(const FailureDetails *details, JsonWriter *writer) {
    for (size_t i = 0; i < details->n_remedies; i++) {
        const Remedy *remedy = &details->remedies[i];

        json_write(writer, "{subject: %.*s, relation: %.*s", STR_FMT(remedy->subject),
            STR_FMT(remedy->relation));
        write_value(writer, "value", remedy->value);
        write_value(writer, "has", remedy->has);
        json_write(writer, "text: %.*s}", STR_FMT(remedy->text));
    }
}

static void write_failed(ExplainPrinter *printer, const NodeExplanation *node, JsonWriter *writer) {
    json_member_array(writer, "failed");
    for (size_t i = 0; i < node->n_failed; i++) {
        const FailedRule *failed = &node->failed[i];
        const FailureDetails *details = explain_print_details(printer, node, failed);

        begin_rule(writer, failed->filter->policy, failed->filter->name);
        json_write(writer, "reason: %.*s, %s: %.*s, unresolvable: %i, observed: %i, values: [",
            STR_FMT(failed->filter->reason),
            failed->is_error     ? "error"
            : failed->is_missing ? "missing"
                                 : "detail",
            STR_FMT(failed->detail), failed->filter->is_unresolvable,
            failed->filter->policy->is_observed);
        for (size_t k = 0; k < details->n_values; k++) {
            json_write(writer, "{expression: %.*s", STR_FMT(details->values[k].text));
            write_value(writer, "value", details->values[k].value);
            json_write_end_object(writer);
        }
        json_write(writer, "], needs: [");
        write_remedies(details, writer);
        json_write(writer, "]}");
    }
    json_write_end_array(writer);
}

static void write_score(
    const ExplainPrinter *printer, const NodeExplanation *node, JsonWriter *writer) {
    json_write(writer, "score: %g", node->score);
    if (node->outcome == NODE_PASSED)
        json_write(writer, "wireScore: %u, added: %jd", node->wire_score,
            score_points(node->wire_score, printer->weight));
    json_write(writer, "parts: [");
    for (size_t i = 0; i < printer->explanation->n_scores; i++) {
        const Score *score = printer->explanation->scores[i];
        const ScorePart *part = &node->parts[i];

        begin_rule(writer, score->policy, score->name);
        json_write(writer, "raw: %g, value: %g, weight: %g, contribution: %g}",
            part->is_error || part->is_missing ? NAN : part->raw, part->value, score->weight,
            part->contribution);
    }
    json_write_end_array(writer);
}

static void write_bind(ExplainPrinter *printer, const NodeExplanation *node, JsonWriter *writer) {
    BindValue *values = NULL;
    size_t n = 0;

    arena_reset(printer->scratch);
    (void)terminal_check(explain_bind(printer->explanation, node, printer->scratch, &values, &n),
        EXPLAIN_MEMORY_FOR, printer->scratch);
    json_member_array(writer, "bindAnnotations");
    for (size_t i = 0; i < n; i++) {
        const BindValue *value = &values[i];

        json_write(writer, "{policy: %.*s, key: %.*s", STR_FMT(value->policy->name),
            STR_FMT(value->annotation->key));
        if (value->error)
            json_write(writer, "error: %.*s, onError: %s}", STR_FMT(value->error->text),
                value->annotation->on_error == BIND_FAIL ? "fail" : "skip");
        else
            json_write(writer, "value: %.*s}", STR_FMT(value->value));
    }
    json_write_end_array(writer);
}

static bool has_annotations(const Explanation *explanation) {
    for (size_t i = 0; i < explanation->n_policies; i++)
        if (explanation->policies[i].fit == FIT_APPLIES &&
            explanation->policies[i].policy->n_bind_annotations > 0)
            return true;
    return false;
}

static void write_node(ExplainPrinter *printer, const NodeExplanation *node, JsonWriter *writer) {
    static const char *const outcomes[] = {
        [NODE_PASSED] = "passed",
        [NODE_NARROWED] = "narrowed",
        [NODE_REJECTED] = "rejected",
    };

    json_write(writer, "{node: %.*s, outcome: %s", STR_FMT(node->node), outcomes[node->outcome]);
    if (node->verdict)
        json_write(writer, "policy: %.*s, rule: %.*s, reason: %.*s, unresolvable: %i",
            STR_FMT(node->verdict->policy->name), STR_FMT(node->verdict->name),
            STR_FMT(node->verdict->reason), node->verdict->is_unresolvable);
    json_write(writer, "rank?: %u", node->rank);
    write_failed(printer, node, writer);
    if (node->is_scored)
        write_score(printer, node, writer);
    if (node->outcome != NODE_REJECTED && has_annotations(printer->explanation))
        write_bind(printer, node, writer);
    json_write_end_object(writer);
}

void explain_print_json(ExplainPrinter *printer, const NodeExplanation *only, JsonWriter *writer) {
    const Explanation *explanation = printer->explanation;

    json_write(writer, "{pod: {namespace: %.*s, name: %.*s}, time: %.9td",
        STR_FMT(printer->pod->namespace), STR_FMT(printer->pod->name), printer->now_nsec);
    write_policies(explanation, writer);
    json_write(writer,
        "counts: {nodes: %zu, passed: %zu, narrowed: %zu, rejected: %zu}, "
        "narrowTo: %u, wireMax: %u, weight: %jd",
        explanation->n_nodes, explanation->n_passed - explanation->n_narrowed,
        explanation->n_narrowed, explanation->n_nodes - explanation->n_passed,
        explanation->narrow_to, explanation->wire_max, printer->weight);
    write_errors(explanation, writer);
    json_member_array(writer, "counting");
    for (size_t i = 0; i < explanation->n_policies; i++)
        if (explanation->policies[i].fit == FIT_APPLIES)
            write_counting(explanation->policies[i].policy, printer->bind, writer);
    json_write(writer, "], nodes: [");
    for (size_t i = 0; i < explanation->n_nodes; i++)
        if (!only || only == &explanation->nodes[i])
            write_node(printer, &explanation->nodes[i], writer);
    json_write(writer, "]}");
}
