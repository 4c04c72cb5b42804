/* /api/v1/policies: rejections, only-blocker counts and cost of each policy. */

#include "api/api-pages.h"

#include "api/context.h"
#include "api/page-field.h"
#include "api/policies-summary.h"
#include "api/query.h"
#include "api/rule-evaluation.h"
#include "base/clock.h"
#include "json/write.h"

static void write_rule(JsonWriter *writer, const RuleSummary *rule) {
    json_write_object(writer);
    json_write_member(writer, STR("name"), rule->name);
    json_write_member(writer, STR("kind"), rule->kind);
    if (rule->is_filter) {
        json_write_member(writer, STR("reason"), rule->reason);
        json_member_int(writer, "rejected", rule->n_rejected);
        json_member_int(writer, "observed", rule->n_observed);
        json_member_int(writer, "onlyBlocker", rule->n_only_blocker);
    } else {
        json_member_double(writer, "weight", rule->weight);
    }
    json_member_int(writer, "failed", rule->n_failed);
    json_member_int(writer, "missing", rule->n_missing);
    json_member_double(writer, "nanosecondsPerNode", rule->cost_nsec);
    json_write_end_object(writer);
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
    json_write_object(writer);
    json_write_member(writer, STR("name"), policy->name);
    json_write_member(writer, STR("file"), policy->file);
    json_member_int(writer, "line", policy->line);
    json_write_member(writer, STR("mode"), policy->is_observed ? STR("Observe") : STR("Enforce"));
    json_member_int(writer, "matched", policy->n_matched);
    json_member_int(writer, "rejectedAll", policy->n_rejected_all);
    json_member_int(writer, "rejected", policy->n_rejected);
    json_member_int(writer, "onlyBlocker", policy->n_only_blocker);
    json_member_double(writer, "nanosecondsPerNode", policy->cost_nsec);
    field_time(writer, "lastMatch", policy->matched_nsec);
    write_rules(writer, policy, "filters", /* filters= */ true);
    write_rules(writer, policy, "scores", /* filters= */ false);
    json_write_end_object(writer);
}

static void write_page(const PoliciesSummary *summary, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write_object(&writer);
    json_member_object(&writer, "waiting");
    json_member_int(&writer, "pods", summary->n_waiting);
    json_member_int(&writer, "lookedAt", summary->n_looked_at);
    json_member_bool(&writer, "whole", summary->is_whole);
    json_write_end_object(&writer);
    json_member_array(&writer, "policies");
    for (size_t i = 0; i < summary->n; i++)
        write_policy(&writer, &summary->policies[i]);
    json_write_end_array(&writer);
    (void)page_write_end(&writer);
}

unsigned policies_page(ApiContext *api, const HttpRequest *request, Buf *out) {
    int64_t end_nsec = clock_thread_cpu_nsec() + POLICIES_SUMMARY_CPU_NSEC;
    char error[QUERY_ERROR_MAX];
    PoliciesSummary summary;
    Query query;

    if (!query_parse(request->query, NULL, 0, request->arena, &query, error))
        return page_write_error(out, 400, error);
    if (policies_summary_make(api, cpu_time_is_over, &end_nsec, request->arena, &summary) < 0)
        return page_write_no_memory(out, "the list of policies", request->arena);
    write_page(&summary, out);
    return 200;
}
