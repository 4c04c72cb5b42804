/* The report as JSON. Keys and their order stay. */

#include <inttypes.h>

#include "base/calendar.h"
#include "replay/what-if.h"
#include "json/write.h"

static void write_count(JsonWriter *writer, Str key, uint64_t n) {
    json_write_key(writer, key);
    json_write_int(writer, n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

static void write_flag(JsonWriter *writer, Str key, bool is_set) {
    json_write_key(writer, key);
    json_write_bool(writer, is_set);
}

static void write_time(JsonWriter *writer, int64_t at_nsec) {
    _cleanup_(buf_done) Buf text = BUF_INIT(64);
    int64_t usec = at_nsec / 1000;

    calendar_print(usec / 1000000, (uint32_t)(usec % 1000000) * 1000, &text);
    json_write_member(writer, STR("time"), buf_str(&text));
}

static void write_changes(JsonWriter *writer, const WhatIfReport *report) {
    json_write_key(writer, STR("changes"));
    json_write_object(writer);
    for (unsigned i = 0; i < _WHAT_IF_MAX; i++)
        write_count(writer, str_from_c(what_if_change_name((WhatIfChange)i)), report->n_changes[i]);
    json_write_end_object(writer);
}

static void write_rules(JsonWriter *writer, const WhatIfReport *report) {
    json_write_key(writer, STR("rules"));
    json_write_array(writer);
    for (size_t i = 0; i < report->n_rules; i++) {
        const WhatIfRule *rule = &report->rules[i];

        json_write_object(writer);
        json_write_member(writer, STR("policy"), rule->policy);
        json_write_member(writer, STR("rule"), rule->name);
        write_count(writer, STR("rejectedBefore"), rule->n_rejected_before);
        write_count(writer, STR("rejectedAfter"), rule->n_rejected_after);
        write_count(writer, STR("newlyRejected"), rule->n_newly_rejected);
        write_count(writer, STR("newlyPassing"), rule->n_newly_passing);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_nodes(JsonWriter *writer, const WhatIfReport *report) {
    json_write_key(writer, STR("nodes"));
    json_write_array(writer);
    for (size_t i = 0; i < report->n_nodes; i++) {
        json_write_object(writer);
        json_write_member(writer, STR("node"), report->nodes[i].name);
        write_count(writer, STR("bestBefore"), report->nodes[i].n_best_before);
        write_count(writer, STR("bestAfter"), report->nodes[i].n_best_after);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_case(JsonWriter *writer, const WhatIfCase *one) {
    const RecordedDecision *decision = one->decision;

    json_write_object(writer);
    write_count(writer, STR("id"), decision->id);
    write_time(writer, decision->now_nsec);
    json_write_member(writer, STR("verb"), str_from_c(verb_name(decision->verb)));
    json_write_key(writer, STR("pod"));
    json_write_object(writer);
    json_write_member(writer, STR("namespace"), decision->pod_namespace);
    json_write_member(writer, STR("name"), decision->pod_name);
    json_write_member(writer, STR("uid"), decision->pod_uid);
    json_write_end_object(writer);
    json_write_member(writer, STR("change"), str_from_c(what_if_change_name(one->change)));
    if (decision->verb == VERB_FILTER) {
        write_count(writer, STR("passedBefore"), one->n_before);
        write_count(writer, STR("passedAfter"), one->n_after);
        json_write_member(writer, STR("rule"), one->rule);
    } else {
        json_write_member(writer, STR("bestBefore"), one->best_before);
        json_write_member(writer, STR("bestAfter"), one->best_after);
    }
    if (one->was_chosen) {
        json_write_member(writer, STR("chosen"), one->chosen);
        write_flag(writer, STR("chosenLost"), one->chosen_lost);
    }
    json_write_end_object(writer);
}

void what_if_write(const WhatIfReport *report, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write_object(&writer);
    write_count(&writer, STR("decisions"), report->n);
    write_count(&writer, STR("pods"), report->n_pods);
    write_count(&writer, STR("moved"), report->n_moved);
    write_flag(&writer, STR("whole"), report->is_whole);
    write_count(&writer, STR("unmeasured"), report->n_unmeasured);
    write_changes(&writer, report);
    if (report->skipped_why)
        json_write_member(&writer, STR("skippedWhy"), str_from_c(report->skipped_why));
    write_rules(&writer, report);
    write_nodes(&writer, report);
    json_write_key(&writer, STR("cases"));
    json_write_array(&writer);
    for (size_t i = 0; i < report->n_cases; i++)
        write_case(&writer, &report->cases[i]);
    json_write_end_array(&writer);
    json_write_end_object(&writer);
    buf_append_char(out, '\n');
}
