/* Conditions and counts of a PlacementPolicy. */

#include "kube/policy-status.h"

#include <inttypes.h>

#include "base/calendar.h"
#include "base/nsec.h"
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

static void write_time(JsonWriter *writer, const char *key, int64_t nsec) {
    _cleanup_(buf_done) Buf time = BUF_INIT(64);

    calendar_print(nsec / NSEC_PER_SEC, 0, &time);
    json_write_member(writer, str_from_c(key), buf_str(&time));
}

/* As it is now: since the version in force is, or since this moment if it is false. */
static void write_condition(JsonWriter *writer, const PolicyStatus *status, int64_t wall_nsec,
    const char *type, bool is_true, const char *reason, Str message) {
    json_write_object(writer);
    json_write_member(writer, STR("type"), str_from_c(type));
    json_write_member(writer, STR("status"), is_true ? STR("True") : STR("False"));
    json_write_member(writer, STR("reason"), str_from_c(reason));
    json_write_member(writer, STR("message"), utf8_take(message, MESSAGE_SHOWN));
    json_member_int(writer, "observedGeneration", status->generation);
    write_time(writer, "lastTransitionTime", is_true ? status->since_nsec : wall_nsec);
    json_write_end_object(writer);
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

        json_write_object(writer);
        json_member_int(writer, "generation", version->generation);
        write_time(writer, "since", version->since_nsec);
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

    json_write_object(&writer);
    json_member_object(&writer, "status");
    json_member_int(&writer, "observedGeneration", status->generation);
    write_conditions(&writer, status, wall_nsec);
    if (status->in_force > 0) {
        json_member_int(&writer, "inForceGeneration", status->in_force);
        json_write_member(
            &writer, STR("mode"), status->is_observed ? STR("Observe") : STR("Enforce"));
    } else {
        json_member_null(&writer, "inForceGeneration");
        json_member_null(&writer, "mode");
    }
    if (status->n_versions > 0)
        write_versions(&writer, status);
    json_member_int(&writer, "pods", (int64_t)status->counts.n_pods);
    json_member_int(&writer, "rejected", (int64_t)status->counts.n_rejected);
    json_member_int(&writer, "pending", (int64_t)status->counts.n_pending);
    json_member_int(&writer, "errors", (int64_t)status->counts.n_errors);
    json_write_end_object(&writer);
    json_write_end_object(&writer);
}
