/*
 * Takes and holds a Lease, one call at a time: read, take (or renew), create, release. Every write
 * has the resourceVersion that was read before, so of two writers one fails and reads again.
 *
 * Our own hold counts from the time when a write was *sent*, that of another replica from the time
 * when its record was *received*. A write is committed between the two, so we stop before another
 * replica may begin, however long messages take. A write with an unknown result does not count: the
 * lease is read, and written again.
 */

#include "kube/lease.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/url.h"
#include "kube/api-objects.h"
#include "json/fields.h"
#include "json/write.h"

#define LEASE_VERSION_MAX 256u /* a resourceVersion */
#define LEASE_METADATA_MAX ((size_t)64 * 1024)
#define LEASE_OTHERS_MAX_SEC 3600 /* the longest duration of another holder that is honoured */
#define PATH_MAX_BYTES ((size_t)4 * 1024)
#define BODY_MAX_BYTES (LEASE_METADATA_MAX + 4096)
#define ANSWER_MAX_BYTES ((size_t)256 * 1024)
#define ANSWER_BUDGET ((size_t)256 * 1024)

typedef enum LeaseStep {
    STEP_NONE,
    STEP_GET,
    STEP_CREATE,
    STEP_HOLD, /* takes it, or renews it */
    STEP_RELEASE,
} LeaseStep;

static const struct {
    const char *method, *verb; /* HTTP method; verb in RBAC */
} requests[] = {
    [STEP_GET] = {"GET", "get"},
    [STEP_CREATE] = {"POST", "create"},
    [STEP_HOLD] = {"PUT", "update"},
    [STEP_RELEASE] = {"PUT", "update"},
};

/* The object on the API server. Its metadata is sent back unchanged, to keep its labels, and so
 * that a write fails if the resourceVersion has changed. */
typedef struct LeaseRecord {
    bool exists;
    char holder[LEASE_HOLDER_MAX]; /* empty: none */
    char version[LEASE_VERSION_MAX + 1];
    int64_t duration_sec; /* 1 to LEASE_OTHERS_MAX_SEC; default LEASE_DURATION_SEC */
    int64_t transitions;
    Buf metadata; /* raw JSON */
} LeaseRecord;

#define LEASE_RECORD_INIT ((LeaseRecord){.metadata = BUF_INIT(LEASE_METADATA_MAX)})

struct Lease {
    LeaseOptions options;
    char identity[LEASE_HOLDER_MAX];

    LeaseRecord record; /* last read or written */
    bool is_known;      /* no write with unknown result may have changed @record */
    int64_t seen_at;    /* when this version of the record was first seen */

    int64_t wanted_until;
    int64_t held_until;                      /* 0: not held */
    int64_t claimed_at;                      /* our last write to hold it; 0: none, or given up */
    int64_t acquired_nsec;                   /* wall time of taking it */
    char own_version[LEASE_VERSION_MAX + 1]; /* of our last successful write */
    uint64_t term;
    bool is_ending; /* release it, and never take it again */

    Call *call;
    LeaseStep step;                           /* what @call does */
    int64_t sent_at;                          /* when @call was started */
    char sent_version[LEASE_VERSION_MAX + 1]; /* of the record that @call replaces */
    Buf answer;
    int64_t due_at;       /* no step before this */
    unsigned n_conflicts; /* in a row */

    char error[LEASE_TEXT_MAX];
    LeaseStatus reported;
};

/* --- life ----------------------------------------------------------------------------------- */

Lease *lease_new(const LeaseOptions *options) {
    Lease *lease = calloc(1, sizeof(*lease));

    if (!lease)
        return NULL;
    lease->options = *options;
    lease->record = LEASE_RECORD_INIT;
    lease->answer = BUF_INIT(ANSWER_MAX_BYTES);
    (void)snprintf(lease->identity, sizeof(lease->identity), "%s", options->identity);
    return lease;
}

Lease *lease_free(Lease *lease) {
    if (!lease)
        return NULL;
    call_cancel(lease->call);
    buf_done(&lease->record.metadata);
    buf_done(&lease->answer);
    free(lease);
    return NULL;
}

/* --- state ---------------------------------------------------------------------------------- */

static bool is_wanted(const Lease *lease, int64_t now) {
    return now < lease->wanted_until && !lease->is_ending;
}

static bool is_ours(const Lease *lease) {
    return lease->record.exists && strcmp(lease->record.holder, lease->identity) == 0;
}

/* When the current holder's lease expires, unless it is renewed. */
static int64_t expires_at(const Lease *lease) {
    return lease->seen_at + lease->record.duration_sec * NSEC_PER_SEC;
}

static bool is_free(const Lease *lease, int64_t now) {
    return lease->record.holder[0] == '\0' || now >= expires_at(lease);
}

bool lease_is_held(const Lease *lease, int64_t now_nsec) {
    return now_nsec < lease->held_until && !lease->is_ending;
}

uint64_t lease_term(const Lease *lease) {
    return lease->term;
}

void lease_want(Lease *lease, int64_t now_nsec) {
    lease->wanted_until = now_nsec + LEASE_IDLE_SEC * NSEC_PER_SEC;
}

static LeaseStep next_step(const Lease *lease, int64_t now) {
    bool wants = is_wanted(lease, now);
    /* Whether other replicas may have to wait for us. */
    bool may_be_ours =
        lease->claimed_at != 0 && now < lease->claimed_at + LEASE_DURATION_SEC * NSEC_PER_SEC;

    if (!wants && !may_be_ours)
        return STEP_NONE;
    if (!lease->is_known)
        return STEP_GET;
    if (is_ours(lease))
        return wants ? STEP_HOLD : STEP_RELEASE;
    if (!wants)
        return STEP_NONE;
    if (!lease->record.exists)
        return STEP_CREATE;
    return is_free(lease, now) ? STEP_HOLD : STEP_GET;
}

/* --- the object --------------------------------------------------------------------------- */

typedef struct LeaseFields {
    Str metadata, holder;
    ObjectMeta meta;
    int64_t duration_sec, transitions;
} LeaseFields;

static const JsonField lease_fields[] = {
    JSON_MEMBER("metadata", RAW, LeaseFields, metadata),
    JSON_MEMBER("spec.holderIdentity", TEXT, LeaseFields, holder),
    JSON_MEMBER("spec.leaseDurationSeconds", INT, LeaseFields, duration_sec),
    JSON_MEMBER("spec.leaseTransitions", INT, LeaseFields, transitions),
};

static int64_t clamp(int64_t value, int64_t least, int64_t most) {
    return value < least ? least : value > most ? most : value;
}

/* False, without changes, if @text is no Lease or too large, or out of memory. */
static bool read_record(LeaseRecord *record, Str text) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ANSWER_BUDGET);
    LeaseRecord read = LEASE_RECORD_INIT;
    LeaseFields fields = {.duration_sec = 0};

    if (!arena || !JSON_READ_DOCUMENT(text, arena, lease_fields, &fields) ||
        fields.metadata.len > LEASE_METADATA_MAX ||
        !object_meta_read(text, arena, /* with_annotations= */ false, &fields.meta) ||
        fields.meta.version.len > LEASE_VERSION_MAX)
        return false;
    buf_append(&read.metadata, fields.metadata);
    if (buf_error(&read.metadata))
        return false;
    read.exists = true;
    (void)snprintf(read.holder, sizeof(read.holder), "%.*s", STR_FMT(fields.holder));
    (void)snprintf(read.version, sizeof(read.version), "%.*s", STR_FMT(fields.meta.version));
    read.duration_sec = fields.duration_sec > 0
                            ? clamp(fields.duration_sec, 1, LEASE_OTHERS_MAX_SEC)
                            : LEASE_DURATION_SEC;
    read.transitions = clamp(fields.transitions, 0, INT32_MAX - 1);
    buf_done(&record->metadata);
    *record = read;
    return true;
}

/* Writes the same fields as client-go's leader election, for its tools. */
static void write_body(Lease *lease, LeaseStep step, Buf *out) {
    const LeaseRecord *record = &lease->record;
    JsonWriter writer = JSON_WRITER(out);
    int64_t wall = clock_wall_nsec();
    bool is_release = step == STEP_RELEASE;

    if (is_release || !is_ours(lease))
        lease->acquired_nsec = wall;
    json_write(&writer, "{apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: ");
    if (record->exists)
        json_write_raw(&writer, buf_str(&record->metadata));
    else
        json_write(&writer, "{name: %s, namespace: %s}", lease->options.object.name,
            lease->options.object.namespace);
    json_write(&writer, "spec: {holderIdentity: %s, leaseDurationSeconds: %d",
        is_release ? "" : lease->identity, is_release ? 1 : LEASE_DURATION_SEC);
    micro_time_write(&writer, STR("acquireTime"), lease->acquired_nsec);
    micro_time_write(&writer, STR("renewTime"), wall);
    json_write(&writer, "leaseTransitions: %jd}}",
        record->transitions + (record->exists && !is_ours(lease)));
}

/* --- the reported status ---------------------------------------------------------------- */

/* Updates the reported status; calls changed() if it differs. */
static void report_changes(Lease *lease, int64_t now) {
    const LeaseStatus before = lease->reported;
    LeaseStatus *status = &lease->reported;

    status->is_held = lease_is_held(lease, now);
    status->is_wanted = is_wanted(lease, now);
    (void)snprintf(status->holder, sizeof(status->holder), "%s", lease->record.holder);
    (void)snprintf(status->error, sizeof(status->error), "%s", lease->error);
    status->n_taken += status->is_held && !before.is_held;
    if (lease->options.changed &&
        (before.is_held != status->is_held || strcmp(before.holder, status->holder) != 0 ||
            strcmp(before.error, status->error) != 0))
        lease->options.changed(lease->options.context);
}

void lease_status(const Lease *lease, LeaseStatus *ret) {
    *ret = lease->reported;
}

/* --- how a step ends --------------------------------------------------------------------- */

static void lose(Lease *lease) {
    if (lease->held_until != 0)
        lease->reported.n_lost++;
    lease->held_until = 0;
}

/* After a failure: the next step is due after a pause. */
static void pause_after(Lease *lease, int64_t now) {
    lease->due_at = now + LEASE_PAUSE_MSEC * NSEC_PER_MSEC;
}

static void explain(Lease *lease, const CallResult *result) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ANSWER_BUDGET);
    ApiStatus status = {0};

    if (result->outcome != CALL_DONE) {
        message_set(lease->error, sizeof(lease->error), "%s", result->error);
        return;
    }
    if (result->status == 403) {
        message_set(lease->error, sizeof(lease->error),
            "HTTP 403: it needs the right %s on leases.coordination.k8s.io in namespace %s "
            "(Role berth-lease)",
            requests[lease->step].verb, lease->options.object.namespace);
        return;
    }
    if (arena)
        (void)api_status_read(buf_str(&lease->answer), arena, &status);
    message_set(lease->error, sizeof(lease->error), "HTTP %u%s%.*s", result->status,
        str_is_empty(status.message) ? "" : ": ",
        STR_FMT(str_take(status.message, LEASE_TEXT_MAX)));
}

/* Parses the answer as the current Lease. Returns false if it is not a Lease. */
static bool take_record(Lease *lease, int64_t now) {
    char before[LEASE_VERSION_MAX + 1];

    (void)snprintf(before, sizeof(before), "%s", lease->record.version);
    if (!read_record(&lease->record, buf_str(&lease->answer))) {
        message_set(lease->error, sizeof(lease->error), "the API server's answer is no Lease");
        lease->is_known = false;
        pause_after(lease, now);
        return false;
    }
    if (strcmp(before, lease->record.version) != 0)
        lease->seen_at = now;
    lease->is_known = true;
    return true;
}

static void on_looked(Lease *lease, int64_t now) {
    int64_t at = now + LEASE_RETRY_SEC * NSEC_PER_SEC;

    if (!take_record(lease, now))
        return;
    lease->due_at = now;
    if (is_ours(lease))
        return;
    lose(lease); /* another client has taken it by force */
    lease->claimed_at = 0;
    if (is_free(lease, now))
        return;
    lease->error[0] = '\0'; /* waiting is no error */
    lease->due_at = at < expires_at(lease) ? at : expires_at(lease);
}

/* Our write succeeded: it took, renewed or released the lease. */
static void on_written(Lease *lease, int64_t now) {
    if (!take_record(lease, now))
        return;
    if (lease->step == STEP_RELEASE) {
        lease->claimed_at = 0;
        lease->due_at = now;
    } else {
        if (lease->step == STEP_CREATE || strcmp(lease->sent_version, lease->own_version) != 0)
            lease->term++;
        lease->held_until = lease->sent_at + LEASE_RENEW_SEC * NSEC_PER_SEC;
        lease->due_at = lease->sent_at + LEASE_RETRY_SEC * NSEC_PER_SEC;
    }
    (void)snprintf(lease->own_version, sizeof(lease->own_version), "%s", lease->record.version);
    lease->n_conflicts = 0;
    lease->error[0] = '\0';
}

static void settle(Lease *lease, const CallResult *result, int64_t now) {
    bool is_answered = result->outcome == CALL_DONE;
    unsigned status = result->status;

    if (is_answered && status == 404 && lease->step != STEP_CREATE) { /* no such Lease */
        buf_done(&lease->record.metadata);
        lease->record = LEASE_RECORD_INIT;
        lease->is_known = true;
        lose(lease);
        lease->due_at = now;
    } else if (is_answered && status == 409) {
        /* Another replica wrote first. Pauses if that happens repeatedly. */
        lease->is_known = false;
        lease->due_at = now;
        if (lease->n_conflicts++ > 0)
            pause_after(lease, now);
    } else if (!is_answered || (status != 200 && status != 201)) {
        explain(lease, result);
        if (lease->step != STEP_GET)
            lease->is_known = false;
        pause_after(lease, now);
    } else if (lease->step == STEP_GET)
        on_looked(lease, now);
    else
        on_written(lease, now);
}

/* --- calls ---------------------------------------------------------------------------------- */

static void on_done(void *context, const CallResult *result) {
    Lease *lease = context;
    int64_t now = clock_monotonic_nsec();

    lease->call = NULL;
    settle(lease, result, now);
    buf_done(&lease->answer);
    report_changes(lease, now);
}

static void start(Lease *lease, LeaseStep step, int64_t now) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_BYTES);
    _cleanup_(buf_done) Buf body = BUF_INIT(BODY_MAX_BYTES);
    const CallHandler handler = {.context = lease, .done = on_done};
    bool is_write = step != STEP_GET;
    CallOptions call = {
        .method = requests[step].method,
        .content_type = is_write ? "application/json" : NULL,
        .total_sec = LEASE_CALL_SEC,
        .bytes_max = ANSWER_MAX_BYTES,
        .answer = &lease->answer,
    };

    buf_append(&path, STR("/apis/coordination.k8s.io/v1/namespaces/"));
    url_escape(&path, str_from_c(lease->options.object.namespace));
    buf_append(&path, STR("/leases"));
    if (step != STEP_CREATE) {
        buf_append_char(&path, '/');
        url_escape(&path, str_from_c(lease->options.object.name));
    }
    if (is_write)
        write_body(lease, step, &body);
    call.path = url_text(&path);
    call.body = buf_str(&body);
    lease->step = step;
    lease->sent_at = now;
    (void)snprintf(lease->sent_version, sizeof(lease->sent_version), "%s", lease->record.version);
    if (step == STEP_RELEASE) /* other replicas may take it once this is sent */
        lease->held_until = 0;
    else if (is_write)
        lease->claimed_at = now;
    if (call.path && !buf_error(&body))
        lease->call = client_call(lease->options.client, &call, &handler);
    if (!lease->call) {
        message_set(lease->error, sizeof(lease->error), "out of memory for the request");
        pause_after(lease, now);
    }
}

/* --- time ----------------------------------------------------------------------------------- */

/* The next time at which lease_tick() has work: the hold or the wish ends, or a step is due. */
static int64_t next_time(const Lease *lease, int64_t now) {
    int64_t at = INT64_MAX;

    if (lease->held_until != 0)
        at = lease->held_until;
    if (is_wanted(lease, now))
        at = clock_earlier(at, lease->wanted_until);
    if (!lease->call && next_step(lease, now) != STEP_NONE)
        at = clock_earlier(at, lease->due_at);
    return at;
}

int64_t lease_tick(Lease *lease, int64_t now_nsec) {
    LeaseStep step = next_step(lease, now_nsec);
    bool is_due = now_nsec >= lease->due_at;

    if (lease->held_until != 0 && now_nsec >= lease->held_until)
        lose(lease);
    /* A release does not wait for the time of the next renewal. */
    if (step == STEP_RELEASE && lease->held_until != 0)
        is_due = true;
    if (!lease->call && step != STEP_NONE && is_due)
        start(lease, step, now_nsec);
    report_changes(lease, now_nsec);
    return next_time(lease, now_nsec);
}

bool lease_release(Lease *lease) {
    int64_t now = clock_monotonic_nsec();

    lease->is_ending = true;
    (void)lease_tick(lease, now);
    return !lease->call && next_step(lease, now) == STEP_NONE;
}
