/* Compares the status of each policy with the last written one. */

#include "live/policy-reporter.h"

#include "base/hash.h"
#include "base/nsec.h"

#define REPORT_BUDGET ((size_t)256 * 1024 * 1024)
#define PATH_MAX_BYTES ((size_t)1024)
#define BODY_MAX_BYTES ((size_t)512 * 1024)

/* The status of one policy as it was last written. */
struct WrittenStatus {
    Str name, uid;
    uint64_t state;    /* hash of the versions and the error; 0: not written yet */
    uint64_t rest;     /* hash of counts and note */
    uint64_t rejected; /* hash of the last reported rejection: generation and error */
    int64_t at_nsec;   /* monotonic: the last write */
};

void policy_reporter_reset(PolicyReporter *reporter) {
    reporter->arena = arena_free(reporter->arena);
    reporter->items = NULL;
    reporter->n = 0;
}

static uint64_t hash_state(const PolicyStatus *status) {
    const int64_t numbers[] = {status->generation, status->in_force, status->is_observed};

    return (hash_str(str_of((const char *)numbers, sizeof(numbers))) * 31 +
               hash_str(status->error)) |
           1;
}

/* The last written status of @object. Both lists are sorted by name: the search starts at *@at. */
static WrittenStatus find_written(
    const PolicyReporter *reporter, const PolicyObject *object, size_t *at) {
    while (*at < reporter->n && str_cmp(reporter->items[*at].name, object->name) < 0)
        (*at)++;
    if (*at < reporter->n && str_eq(reporter->items[*at].name, object->name) &&
        str_eq(reporter->items[*at].uid, object->uid))
        return reporter->items[*at];
    return (WrittenStatus){0};
}

static bool write_status(
    const PolicyReporter *reporter, const PolicyStatus *status, int64_t wall_nsec) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_BYTES), body = BUF_INIT(BODY_MAX_BYTES);

    policy_status_path(status->name, &path);
    policy_status_body(status, wall_nsec, &body);
    return reporter->write(reporter->context, &path, &body);
}

static void report_rejected(
    const PolicyReporter *reporter, const ClusterPolicy *policy, WrittenStatus *written) {
    uint64_t rejected = hash_str(policy->error) * 31 + (uint64_t)policy->newest.generation;

    if (str_is_empty(policy->error) || rejected == written->rejected)
        return;
    written->rejected = rejected;
    reporter->rejected(reporter->context, policy);
}

static void report_policy(const PolicyReporter *reporter, const PolicyReport *report,
    const ClusterPolicy *policy, Arena *arena, WrittenStatus *written, int64_t now_nsec,
    int64_t wall_nsec) {
    PolicyStatus status = {
        .name = policy->newest.name,
        .generation = policy->newest.generation,
        .error = policy->error,
        .in_force = policy->in_force,
        .since_nsec = policy->since_nsec,
        .is_observed = policy->is_observed,
        .replica = report->replica,
    };
    bool is_due =
        written->at_nsec == 0 || now_nsec - written->at_nsec >= POLICY_REPORT_SEC * NSEC_PER_SEC;
    PolicyVersion versions[POLICY_VERSIONS_MAX];
    uint64_t state, rest;

    if (status.in_force != status.generation && str_is_empty(status.error)) {
        if (str_is_empty(report->error))
            return; /* it is being loaded */
        status.error = report->error;
    }
    report_rejected(reporter, policy, written);
    state = hash_state(&status);
    if (state == written->state && !is_due)
        return;
    if (state != written->state) {
        status.n_versions =
            cluster_policies_versions(report->policies, status.name, arena, versions);
        status.versions = versions;
        if (status.in_force > 0 && status.n_versions == 0)
            return; /* out of memory: the next run has more */
    }
    report->fill(report->context, arena, &status);
    rest = hash_str(str_of((const char *)&status.counts, sizeof(status.counts))) * 31 +
           hash_str(status.note);
    if ((state == written->state && rest == written->rest) ||
        !write_status(reporter, &status, wall_nsec))
        return;
    written->state = state;
    written->rest = rest;
    written->at_nsec = now_nsec;
}

void policy_reporter_run(
    PolicyReporter *reporter, const PolicyReport *report, int64_t now_nsec, int64_t wall_nsec) {
    _cleanup_(arena_freep) Arena *arena = arena_new(REPORT_BUDGET);
    ClusterPolicy *policies;
    WrittenStatus *items;
    size_t n, at = 0;

    if (!arena || cluster_policies_copy(report->policies, arena, &policies, &n) < 0)
        return;
    items = ARENA_ARRAY(arena, WrittenStatus, n);
    for (size_t i = 0; items && i < n; i++) {
        items[i] = find_written(reporter, &policies[i].newest, &at);
        items[i].name = policies[i].newest.name;
        items[i].uid = policies[i].newest.uid;
        report_policy(reporter, report, &policies[i], arena, &items[i], now_nsec, wall_nsec);
    }
    if (!items)
        return;
    policy_reporter_reset(reporter);
    reporter->arena = TAKE_PTR(arena);
    reporter->items = items;
    reporter->n = n;
}
