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
        field_count(writer, STR("rejected"), rule->n_rejected);
        field_count(writer, STR("observed"), rule->n_observed);
        field_count(writer, STR("onlyBlocker"), rule->n_only_blocker);
    } else {
        field_double(writer, STR("weight"), rule->weight);
    }
    field_count(writer, STR("failed"), rule->n_failed);
    field_count(writer, STR("missing"), rule->n_missing);
    field_double(writer, STR("nanosecondsPerNode"), rule->cost_nsec);
    json_write_end_object(writer);
}

static void write_rules(JsonWriter *writer, const PolicySummary *policy, Str key, bool filters) {
    field_array(writer, key);
    for (size_t i = 0; i < policy->n_rules; i++)
        if (policy->rules[i].is_filter == filters)
            write_rule(writer, &policy->rules[i]);
    json_write_end_array(writer);
}

static void write_policy(JsonWriter *writer, const PolicySummary *policy) {
    json_write_object(writer);
    json_write_member(writer, STR("name"), policy->name);
    json_write_member(writer, STR("file"), policy->file);
    field_count(writer, STR("line"), policy->line);
    json_write_member(writer, STR("mode"), policy->is_observed ? STR("Observe") : STR("Enforce"));
    field_count(writer, STR("matched"), policy->n_matched);
    field_count(writer, STR("rejectedAll"), policy->n_rejected_all);
    field_count(writer, STR("rejected"), policy->n_rejected);
    field_count(writer, STR("onlyBlocker"), policy->n_only_blocker);
    field_double(writer, STR("nanosecondsPerNode"), policy->cost_nsec);
    field_time(writer, STR("lastMatch"), policy->matched_nsec);
    write_rules(writer, policy, STR("filters"), /* filters= */ true);
    write_rules(writer, policy, STR("scores"), /* filters= */ false);
    json_write_end_object(writer);
}

static void write_page(const PoliciesSummary *summary, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write_object(&writer);
    field_object(&writer, STR("waiting"));
    field_count(&writer, STR("pods"), summary->n_waiting);
    field_count(&writer, STR("lookedAt"), summary->n_looked_at);
    field_bool(&writer, STR("whole"), summary->is_whole);
    json_write_end_object(&writer);
    field_array(&writer, STR("policies"));
    for (size_t i = 0; i < summary->n; i++)
        write_policy(&writer, &summary->policies[i]);
    json_write_end_array(&writer);
    json_write_end_object(&writer);
    buf_append_char(out, '\n');
}

unsigned policies_page(ApiContext *api, const HttpRequest *request, Buf *out) {
    int64_t end_nsec = clock_thread_cpu_nsec() + POLICIES_SUMMARY_CPU_NSEC;
    char error[QUERY_ERROR_MAX];
    PoliciesSummary summary;
    Query query;

    if (!query_parse(request->query, NULL, 0, request->arena, &query, error))
        return page_write_error(out, 400, error);
    if (policies_summary_make(api, cpu_time_is_over, &end_nsec, request->arena, &summary) < 0)
        return page_write_error(out, 500, "out of memory");
    write_page(&summary, out);
    return buf_error(out) ? page_write_error(out, 500, "out of memory") : 200;
}
