/* /api/v1/policies: rejections, only-blocker counts and cost of each policy. */

#include "api/api-pages.h"

#include "api/page-field.h"
#include "api/policies-summary.h"
#include "api/query.h"

static void write_rule(JsonWriter *writer, const RuleSummary *rule) {
    json_write(writer, "{name: %.*s, kind: %.*s", STR_FMT(rule->name), STR_FMT(rule->kind));
    if (rule->is_filter)
        json_write(writer, "reason: %.*s, rejected: %zu, observed: %zu, onlyBlocker: %zu",
            STR_FMT(rule->reason), rule->n_rejected, rule->n_observed, rule->n_only_blocker);
    else
        json_write(writer, "weight: %g", rule->weight);
    json_write(writer, "failed: %zu, missing: %zu, nanosecondsPerNode: %g}", rule->n_failed,
        rule->n_missing, rule->cost_nsec);
}

static void write_rules(
    JsonWriter *writer, const PolicySummary *policy, const char *key, bool filters) {
    json_member_array(writer, key);
    for (size_t i = 0; i < policy->n_rules; i++)
        if (policy->rules[i].is_filter == filters)
            write_rule(writer, &policy->rules[i]);
    json_write_end_array(writer);
}

static void write_policy(JsonWriter *writer, const PolicySummary *policy) {
    json_write(writer,
        "{name: %.*s, file: %.*s, line: %u, mode: %s, matched: %zu, rejectedAll: %zu, rejected: "
        "%zu, onlyBlocker: %zu, nanosecondsPerNode: %g, lastMatch: %td",
        STR_FMT(policy->name), STR_FMT(policy->file), policy->line,
        policy->is_observed ? "Observe" : "Enforce", policy->n_matched, policy->n_rejected_all,
        policy->n_rejected, policy->n_only_blocker, policy->cost_nsec, policy->matched_nsec);
    write_rules(writer, policy, "filters", /* filters= */ true);
    write_rules(writer, policy, "scores", /* filters= */ false);
    json_write_end_object(writer);
}

static void write_page(const PoliciesSummary *summary, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write(&writer, "{waiting: {pods: %zu, lookedAt: %zu, whole: %i}, policies: [",
        summary->n_waiting, summary->n_looked_at, summary->is_whole);
    for (size_t i = 0; i < summary->n; i++)
        write_policy(&writer, &summary->policies[i]);
    json_write(&writer, "]}\n");
}

unsigned policies_page(ApiContext *api, const HttpRequest *request, Buf *out) {
    char error[QUERY_ERROR_MAX];
    PoliciesSummary summary;
    Query query;

    if (!query_parse(request->query, NULL, 0, request->arena, &query, error))
        return page_write_error(out, 400, error);
    if (policies_summary_make(api, POLICIES_SUMMARY_CPU_NSEC, request->arena, &summary) < 0)
        return page_write_no_memory(out, "the list of policies", request->arena);
    write_page(&summary, out);
    return 200;
}
