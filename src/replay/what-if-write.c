/* The report as JSON. Keys and their order stay. */

#include "replay/what-if.h"
#include "json/write.h"

static void write_changes(JsonWriter *writer, const WhatIfReport *report) {
    json_member_object(writer, "changes");
    for (unsigned i = 0; i < _WHAT_IF_MAX; i++)
        json_write(writer, "%s: %zu", what_if_change_name((WhatIfChange)i), report->n_changes[i]);
    json_write_end_object(writer);
}

static void write_rules(JsonWriter *writer, const WhatIfReport *report) {
    json_member_array(writer, "rules");
    for (size_t i = 0; i < report->n_rules; i++) {
        const WhatIfRule *rule = &report->rules[i];

        json_write(writer,
            "{policy: %.*s, rule: %.*s, rejectedBefore: %zu, rejectedAfter: %zu, "
            "newlyRejected: %zu, newlyPassing: %zu}",
            STR_FMT(rule->policy), STR_FMT(rule->name), rule->n_rejected_before,
            rule->n_rejected_after, rule->n_newly_rejected, rule->n_newly_passing);
    }
    json_write_end_array(writer);
}

static void write_nodes(JsonWriter *writer, const WhatIfReport *report) {
    json_member_array(writer, "nodes");
    for (size_t i = 0; i < report->n_nodes; i++)
        json_write(writer, "{node: %.*s, bestBefore: %zu, bestAfter: %zu}",
            STR_FMT(report->nodes[i].name), report->nodes[i].n_best_before,
            report->nodes[i].n_best_after);
    json_write_end_array(writer);
}

static void write_case(JsonWriter *writer, const WhatIfCase *one) {
    const RecordedDecision *decision = one->decision;

    json_write(writer,
        "{id: %zu, time: %.6td, verb: %s, pod: {namespace: %.*s, name: %.*s, uid: %.*s}, "
        "change: %s",
        decision->id, decision->now_nsec, verb_name(decision->verb),
        STR_FMT(decision->pod_namespace), STR_FMT(decision->pod_name), STR_FMT(decision->pod_uid),
        what_if_change_name(one->change));
    if (decision->verb == VERB_FILTER)
        json_write(writer, "passedBefore: %zu, passedAfter: %zu, rule: %.*s", one->n_before,
            one->n_after, STR_FMT(one->rule));
    else
        json_write(writer, "bestBefore: %.*s, bestAfter: %.*s", STR_FMT(one->best_before),
            STR_FMT(one->best_after));
    if (one->was_chosen)
        json_write(writer, "chosen: %.*s, chosenLost: %i", STR_FMT(one->chosen), one->chosen_lost);
    json_write_end_object(writer);
}

void what_if_write(const WhatIfReport *report, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write(&writer, "{decisions: %zu, pods: %zu, moved: %zu, whole: %i, unmeasured: %zu",
        report->n, report->n_pods, report->n_moved, report->is_whole, report->n_unmeasured);
    write_changes(&writer, report);
    if (report->skipped_why)
        json_write_member(&writer, STR("skippedWhy"), str_from_c(report->skipped_why));
    write_rules(&writer, report);
    write_nodes(&writer, report);
    json_member_array(&writer, "cases");
    for (size_t i = 0; i < report->n_cases; i++)
        write_case(&writer, &report->cases[i]);
    json_write(&writer, "]}\n");
}
