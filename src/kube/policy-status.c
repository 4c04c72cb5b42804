/* Writes the conditions and counts of a PlacementPolicy. */

#include "kube/policy-status.h"

#include <inttypes.h>

#include "base/url.h"
#include "base/utf8.h"
#include "json/write.h"

#define MESSAGE_MAX ((size_t)32 * 1024)
#define MESSAGE_SHOWN ((size_t)16 * 1024)

void policy_status_path(Str name, Buf *out) {
    buf_append(out, STR(POLICY_OBJECTS_PATH "/"));
    url_escape(out, name);
    buf_append(out, STR("/status"));
}

/* A true condition has the time since which the version is in force; a false one the current
 * time. */
static void write_condition(JsonWriter *writer, const PolicyStatus *status, int64_t wall_nsec,
    const char *type, bool is_true, const char *reason, Str message) {
    json_write(writer,
        "{type: %s, status: %s, reason: %s, message: %.*s, observedGeneration: %jd, "
        "lastTransitionTime: %.0td}",
        type, is_true ? "True" : "False", reason, STR_FMT(utf8_take(message, MESSAGE_SHOWN)),
        status->generation, is_true ? status->since_nsec : wall_nsec);
}

static void write_conditions(JsonWriter *writer, const PolicyStatus *status, int64_t wall_nsec) {
    _cleanup_(buf_done) Buf message = BUF_INIT(MESSAGE_MAX);
    bool is_good = str_is_empty(status->error);
    bool is_newest = status->in_force == status->generation;

    if (status->in_force > 0)
        buf_printf(&message, "generation %" PRId64 " is in force, by replica %.*s",
            status->in_force, STR_FMT(status->replica));
    else
        buf_append(&message, STR("no version was good"));
    if (!str_is_empty(status->note))
        buf_printf(&message, "; %.*s", STR_FMT(status->note));
    json_member_array(writer, "conditions");
    write_condition(writer, status, wall_nsec, "Accepted", is_good, is_good ? "Valid" : "Invalid",
        is_good ? STR("no mistakes") : status->error);
    write_condition(writer, status, wall_nsec, "InForce", is_newest,
        is_newest              ? "InForce"
        : status->in_force > 0 ? "LastGoodVersion"
                               : "NoGoodVersion",
        buf_str(&message));
    json_write_end_array(writer);
}

static void write_versions(JsonWriter *writer, const PolicyStatus *status) {
    json_member_array(writer, "versions");
    for (size_t i = 0; i < status->n_versions; i++) {
        const PolicyVersion *version = &status->versions[i];

        json_write(
            writer, "{generation: %jd, since: %.0td", version->generation, version->since_nsec);
        if (!str_is_empty(version->spec)) {
            json_write_key(writer, STR("spec"));
            json_write_raw(writer, version->spec);
        }
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

void policy_status_body(const PolicyStatus *status, int64_t wall_nsec, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write(&writer, "{status: {observedGeneration: %jd", status->generation);
    write_conditions(&writer, status, wall_nsec);
    if (status->in_force > 0)
        json_write(&writer, "inForceGeneration: %jd, mode: %s", status->in_force,
            status->is_observed ? "Observe" : "Enforce");
    else
        json_write(&writer, "inForceGeneration: null, mode: null");
    if (status->n_versions > 0)
        write_versions(&writer, status);
    json_write(&writer, "pods: %zu, rejected: %zu, pending: %zu, errors: %zu}}",
        status->counts.n_pods, status->counts.n_rejected, status->counts.n_pending,
        status->counts.n_errors);
}
