/* The explanation as JSON: everything, by the schema in docs/policy.md. */

#include <math.h>

#include "base/calendar.h"
#include "base/nsec.h"
#include "commands/explain-internal.h"
#include "json/write.h"

#define VALUE_MAX 4096u /* bytes of a value that is printed as CEL */

static void write_text(JsonWriter *writer, const char *key, Str text) {
    json_write_member(writer, str_from_c(key), text);
}

/* Plain values as JSON has them; others as CEL writes them. */
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

        json_write_object(writer);
        write_text(writer, "name", policy->policy->name);
        write_text(writer, "mode", policy->policy->is_observed ? STR("Observe") : STR("Enforce"));
        json_member_bool(writer, "applies", policy->fit == FIT_APPLIES);
        if (policy->fit != FIT_APPLIES)
            write_text(writer, "whyNot", str_from_c(why[policy->fit]));
        if (policy->fit >= FIT_NAMESPACE_FAILED)
            write_text(writer, "error", policy->error);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_rule(JsonWriter *writer, const Policy *policy, Str name) {
    write_text(writer, "policy", policy->name);
    write_text(writer, "rule", name);
}

/* The fallback where the rule failed. */
static void write_fallback(const RuleErrors *errors, JsonWriter *writer) {
    const char *name = errors->is_missing ? "onMissing" : "onError";

    if (errors->score)
        json_member_double(
            writer, name, errors->is_missing ? errors->score->on_missing : errors->score->on_error);
    else
        write_text(writer, name, explain_fallback(errors));
}

static void write_errors(const Explanation *explanation, JsonWriter *writer) {
    json_member_array(writer, "errors");
    for (size_t i = 0; i < explanation->n_errors; i++) {
        const RuleErrors *errors = &explanation->errors[i];

        json_write_object(writer);
        if (errors->filter)
            write_rule(writer, errors->filter->policy, errors->filter->name);
        else
            write_rule(writer, errors->score->policy, errors->score->name);
        json_member_int(writer, "nodes", (int64_t)errors->n);
        write_text(writer, "node", errors->node);
        write_text(writer, errors->is_missing ? "missing" : "error", errors->text);
        write_fallback(errors, writer);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_counting(const Policy *policy, BindWiring bind, JsonWriter *writer) {
    for (size_t i = 0; i < policy->n_filters; i++) {
        Exactness exactness = exactness_of(&policy->filters[i], bind);

        if (exactness == EXACT_NOTHING)
            continue;
        json_write_object(writer);
        write_rule(writer, policy, policy->filters[i].name);
        counting_rules_write(exactness, writer);
        json_write_end_object(writer);
    }
}

static void write_remedies(const FailureDetails *details, JsonWriter *writer) {
    json_member_array(writer, "needs");
    for (size_t i = 0; i < details->n_remedies; i++) {
        const Remedy *remedy = &details->remedies[i];

        json_write_object(writer);
        write_text(writer, "subject", remedy->subject);
        write_text(writer, "relation", remedy->relation);
        write_value(writer, "value", remedy->value);
        write_value(writer, "has", remedy->has);
        write_text(writer, "text", remedy->text);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_failed(ExplainPrinter *printer, const NodeExplanation *node, JsonWriter *writer) {
    json_member_array(writer, "failed");
    for (size_t i = 0; i < node->n_failed; i++) {
        const FailedRule *failed = &node->failed[i];
        const FailureDetails *details = explain_print_details(printer, node, failed);

        json_write_object(writer);
        write_rule(writer, failed->filter->policy, failed->filter->name);
        write_text(writer, "reason", failed->filter->reason);
        write_text(writer,
            failed->is_error     ? "error"
            : failed->is_missing ? "missing"
                                 : "detail",
            failed->detail);
        json_member_bool(writer, "unresolvable", failed->filter->is_unresolvable);
        json_member_bool(writer, "observed", failed->filter->policy->is_observed);
        json_member_array(writer, "values");
        for (size_t k = 0; k < details->n_values; k++) {
            json_write_object(writer);
            write_text(writer, "expression", details->values[k].text);
            write_value(writer, "value", details->values[k].value);
            json_write_end_object(writer);
        }
        json_write_end_array(writer);
        write_remedies(details, writer);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_score(
    const ExplainPrinter *printer, const NodeExplanation *node, JsonWriter *writer) {
    json_member_double(writer, "score", node->score);
    if (node->outcome == NODE_PASSED) {
        json_member_int(writer, "wireScore", node->wire_score);
        json_member_int(writer, "added", score_points(node->wire_score, printer->weight));
    }
    json_member_array(writer, "parts");
    for (size_t i = 0; i < printer->explanation->n_scores; i++) {
        const Score *score = printer->explanation->scores[i];
        const ScorePart *part = &node->parts[i];

        json_write_object(writer);
        write_rule(writer, score->policy, score->name);
        json_member_double(writer, "raw", part->is_error || part->is_missing ? NAN : part->raw);
        json_member_double(writer, "value", part->value);
        json_member_double(writer, "weight", score->weight);
        json_member_double(writer, "contribution", part->contribution);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_bind(ExplainPrinter *printer, const NodeExplanation *node, JsonWriter *writer) {
    BindValue *values = NULL;
    size_t n = 0;
    int r;

    arena_reset(printer->scratch);
    r = explain_bind(printer->explanation, node, printer->scratch, &values, &n);
    if (r < 0)
        printer->error = r;
    json_member_array(writer, "bindAnnotations");
    for (size_t i = 0; r == 0 && i < n; i++) {
        const BindValue *value = &values[i];

        json_write_object(writer);
        write_text(writer, "policy", value->policy->name);
        write_text(writer, "key", value->annotation->key);
        if (value->error) {
            write_text(writer, "error", value->error->text);
            write_text(writer, "onError",
                value->annotation->on_error == BIND_FAIL ? STR("fail") : STR("skip"));
        } else {
            write_text(writer, "value", value->value);
        }
        json_write_end_object(writer);
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

    json_write_object(writer);
    write_text(writer, "node", node->node);
    write_text(writer, "outcome", str_from_c(outcomes[node->outcome]));
    if (node->verdict) {
        write_rule(writer, node->verdict->policy, node->verdict->name);
        write_text(writer, "reason", node->verdict->reason);
        json_member_bool(writer, "unresolvable", node->verdict->is_unresolvable);
    }
    if (node->rank > 0)
        json_member_int(writer, "rank", node->rank);
    write_failed(printer, node, writer);
    if (node->is_scored)
        write_score(printer, node, writer);
    if (node->outcome != NODE_REJECTED && has_annotations(printer->explanation))
        write_bind(printer, node, writer);
    json_write_end_object(writer);
}

void explain_print_json(ExplainPrinter *printer, const NodeExplanation *only, JsonWriter *writer) {
    const Explanation *explanation = printer->explanation;
    _cleanup_(buf_done) Buf time = BUF_INIT(64);

    calendar_print(
        printer->now_nsec / NSEC_PER_SEC, (uint32_t)(printer->now_nsec % NSEC_PER_SEC), &time);
    json_write_object(writer);
    json_member_object(writer, "pod");
    write_text(writer, "namespace", printer->pod->namespace);
    write_text(writer, "name", printer->pod->name);
    json_write_end_object(writer);
    write_text(writer, "time", buf_str(&time));
    write_policies(explanation, writer);
    json_member_object(writer, "counts");
    json_member_int(writer, "nodes", (int64_t)explanation->n_nodes);
    json_member_int(writer, "passed", (int64_t)(explanation->n_passed - explanation->n_narrowed));
    json_member_int(writer, "narrowed", (int64_t)explanation->n_narrowed);
    json_member_int(writer, "rejected", (int64_t)(explanation->n_nodes - explanation->n_passed));
    json_write_end_object(writer);
    json_member_int(writer, "narrowTo", explanation->narrow_to);
    json_member_int(writer, "wireMax", explanation->wire_max);
    json_member_int(writer, "weight", printer->weight);
    write_errors(explanation, writer);
    json_member_array(writer, "counting");
    for (size_t i = 0; i < explanation->n_policies; i++)
        if (explanation->policies[i].fit == FIT_APPLIES)
            write_counting(explanation->policies[i].policy, printer->bind, writer);
    json_write_end_array(writer);
    json_member_array(writer, "nodes");
    for (size_t i = 0; i < explanation->n_nodes; i++)
        if (!only || only == &explanation->nodes[i])
            write_node(printer, &explanation->nodes[i], writer);
    json_write_end_array(writer);
    json_write_end_object(writer);
}
