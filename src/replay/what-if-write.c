/* The report as JSON. Keys and their order stay. */

#include "base/calendar.h"
#include "replay/what-if.h"
#include "json/write.h"

static void write_time(JsonWriter *writer, int64_t at_nsec) {
    _cleanup_(buf_done) Buf text = BUF_INIT(64);
    int64_t usec = at_nsec / 1000;

    calendar_print(usec / 1000000, (uint32_t)(usec % 1000000) * 1000, &text);
    json_write_member(writer, STR("time"), buf_str(&text));
}

static void write_changes(JsonWriter *writer, const WhatIfReport *report) {
    json_member_object(writer, "changes");
    for (unsigned i = 0; i < _WHAT_IF_MAX; i++)
        json_member_int(
            writer, what_if_change_name((WhatIfChange)i), (int64_t)report->n_changes[i]);
    json_write_end_object(writer);
}

static void write_rules(JsonWriter *writer, const WhatIfReport *report) {
    json_member_array(writer, "rules");
    for (size_t i = 0; i < report->n_rules; i++) {
        const WhatIfRule *rule = &report->rules[i];

        json_write_object(writer);
        json_write_member(writer, STR("policy"), rule->policy);
        json_write_member(writer, STR("rule"), rule->name);
        json_member_int(writer, "rejectedBefore", (int64_t)rule->n_rejected_before);
        json_member_int(writer, "rejectedAfter", (int64_t)rule->n_rejected_after);
        json_member_int(writer, "newlyRejected", (int64_t)rule->n_newly_rejected);
        json_member_int(writer, "newlyPassing", (int64_t)rule->n_newly_passing);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_nodes(JsonWriter *writer, const WhatIfReport *report) {
    json_member_array(writer, "nodes");
    for (size_t i = 0; i < report->n_nodes; i++) {
        json_write_object(writer);
        json_write_member(writer, STR("node"), report->nodes[i].name);
        json_member_int(writer, "bestBefore", (int64_t)report->nodes[i].n_best_before);
        json_member_int(writer, "bestAfter", (int64_t)report->nodes[i].n_best_after);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_case(JsonWriter *writer, const WhatIfCase *one) {
    const RecordedDecision *decision = one->decision;

    json_write_object(writer);
    json_member_int(writer, "id", (int64_t)decision->id);
    write_time(writer, decision->now_nsec);
    json_write_member(writer, STR("verb"), str_from_c(verb_name(decision->verb)));
    json_member_object(writer, "pod");
    json_write_member(writer, STR("namespace"), decision->pod_namespace);
    json_write_member(writer, STR("name"), decision->pod_name);
    json_write_member(writer, STR("uid"), decision->pod_uid);
    json_write_end_object(writer);
    json_write_member(writer, STR("change"), str_from_c(what_if_change_name(one->change)));
    if (decision->verb == VERB_FILTER) {
        json_member_int(writer, "passedBefore", (int64_t)one->n_before);
        json_member_int(writer, "passedAfter", (int64_t)one->n_after);
        json_write_member(writer, STR("rule"), one->rule);
    } else {
        json_write_member(writer, STR("bestBefore"), one->best_before);
        json_write_member(writer, STR("bestAfter"), one->best_after);
    }
    if (one->was_chosen) {
        json_write_member(writer, STR("chosen"), one->chosen);
        json_member_bool(writer, "chosenLost", one->chosen_lost);
    }
    json_write_end_object(writer);
}

void what_if_write(const WhatIfReport *report, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write_object(&writer);
    json_member_int(&writer, "decisions", (int64_t)report->n);
    json_member_int(&writer, "pods", (int64_t)report->n_pods);
    json_member_int(&writer, "moved", (int64_t)report->n_moved);
    json_member_bool(&writer, "whole", report->is_whole);
    json_member_int(&writer, "unmeasured", (int64_t)report->n_unmeasured);
    write_changes(&writer, report);
    if (report->skipped_why)
        json_write_member(&writer, STR("skippedWhy"), str_from_c(report->skipped_why));
    write_rules(&writer, report);
    write_nodes(&writer, report);
    json_member_array(&writer, "cases");
    for (size_t i = 0; i < report->n_cases; i++)
        write_case(&writer, &report->cases[i]);
    json_write_end_array(&writer);
    json_write_end_object(&writer);
    buf_append_char(out, '\n');
}
