/* Reads and writes Lease objects. */

#include "kube/lease-record.h"

#include <stdio.h>

#include "base/arena.h"
#include "kube/api-objects.h"
#include "json/read.h"
#include "json/write.h"

#define READ_BUDGET ((size_t)256 * 1024)

/* The fields that are read, as slices of the object. */
typedef struct LeaseFields {
    Str metadata, holder;
    ObjectMeta meta;
    int64_t duration_sec, transitions;
} LeaseFields;

void lease_record_done(LeaseRecord *record) {
    buf_done(&record->metadata);
}

void lease_record_clear(LeaseRecord *record) {
    buf_reset(&record->metadata);
    record->exists = false;
    record->holder[0] = record->version[0] = '\0';
    record->duration_sec = record->transitions = 0;
}

/* --- reading ------------------------------------------------------------------------- */

static void read_spec(JsonReader *reader, Arena *arena, LeaseFields *ret) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("holderIdentity")))
            json_string(reader, arena, &ret->holder);
        else if (json_key_is(reader, key, STR("leaseDurationSeconds")))
            json_int64(reader, &ret->duration_sec);
        else if (json_key_is(reader, key, STR("leaseTransitions")))
            json_int64(reader, &ret->transitions);
        else
            json_skip(reader, NULL);
    }
}

static bool read_fields(Str text, Arena *arena, LeaseFields *ret) {
    JsonReader reader;
    Str key;

    *ret = (LeaseFields){0};
    json_reader_init(&reader, text);
    json_object(&reader);
    while (json_key(&reader, &key)) {
        if (json_key_is(&reader, key, STR("metadata")))
            json_skip(&reader, &ret->metadata);
        else if (json_key_is(&reader, key, STR("spec")))
            read_spec(&reader, arena, ret);
        else
            json_skip(&reader, NULL);
    }
    json_end(&reader);
    return json_error(&reader) == JSON_OK && ret->metadata.len <= LEASE_METADATA_MAX &&
           object_meta_read(text, arena, /* with_annotations= */ false, &ret->meta) &&
           ret->meta.version.len <= LEASE_VERSION_MAX;
}

static int64_t clamp(int64_t value, int64_t least, int64_t most) {
    return value < least ? least : value > most ? most : value;
}

bool lease_record_read(LeaseRecord *record, Str text, int default_sec) {
    _cleanup_(arena_freep) Arena *arena = arena_new(READ_BUDGET);
    _cleanup_(buf_done) Buf metadata = BUF_INIT(LEASE_METADATA_MAX);
    LeaseFields fields;

    if (!arena || !read_fields(text, arena, &fields))
        return false;
    buf_append(&metadata, fields.metadata);
    if (buf_error(&metadata))
        return false;
    buf_done(&record->metadata);
    record->metadata = metadata;
    metadata = BUF_INIT(LEASE_METADATA_MAX);
    record->exists = true;
    (void)snprintf(record->holder, sizeof(record->holder), "%.*s", STR_FMT(fields.holder));
    (void)snprintf(record->version, sizeof(record->version), "%.*s", STR_FMT(fields.meta.version));
    record->duration_sec =
        fields.duration_sec > 0 ? clamp(fields.duration_sec, 1, LEASE_OTHERS_MAX_SEC) : default_sec;
    record->transitions = clamp(fields.transitions, 0, INT32_MAX - 1);
    return true;
}

/* --- writing ------------------------------------------------------------------------- */

static void write_metadata(const LeaseRecord *record, const LeaseClaim *claim, JsonWriter *writer) {
    json_write_key(writer, STR("metadata"));
    if (record->exists) {
        json_write_raw(writer, buf_str(&record->metadata));
        return;
    }
    json_write_object(writer);
    json_write_member(writer, STR("name"), claim->name);
    json_write_member(writer, STR("namespace"), claim->namespace);
    json_write_end_object(writer);
}

static void write_spec(const LeaseClaim *claim, JsonWriter *writer) {
    json_write_key(writer, STR("spec"));
    json_write_object(writer);
    json_write_member(writer, STR("holderIdentity"), claim->holder);
    json_write_key(writer, STR("leaseDurationSeconds"));
    json_write_int(writer, claim->duration_sec);
    micro_time_write(writer, STR("acquireTime"), claim->acquired_nsec);
    micro_time_write(writer, STR("renewTime"), claim->renewed_nsec);
    json_write_key(writer, STR("leaseTransitions"));
    json_write_int(writer, claim->transitions);
    json_write_end_object(writer);
}

void lease_record_write(const LeaseRecord *record, const LeaseClaim *claim, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write_object(&writer);
    json_write_member(&writer, STR("apiVersion"), STR("coordination.k8s.io/v1"));
    json_write_member(&writer, STR("kind"), STR("Lease"));
    write_metadata(record, claim, &writer);
    write_spec(claim, &writer);
    json_write_end_object(&writer);
}
