/* /api/v1/status: version, settings and state of this berth. */

#include "api/api-pages.h"

#include "api/page-field.h"
#include "base/nsec.h"
#include "cluster/fingerprint.h"
#include "policy/admission.h"
#include "policy/exactness.h"
#include "version.h"

/* Filters that count pods, and what makes them exact without bind. */
static void write_counting(JsonWriter *writer, const Policy *policy) {
    json_member_array(writer, "counting");
    for (size_t i = 0; i < policy->n_filters; i++) {
        Exactness exactness = exactness_of(&policy->filters[i], BIND_BY_SCHEDULER);

        if (exactness != EXACT_NOTHING)
            json_write(writer, "{rule: %.*s, withoutBind: %s}", STR_FMT(policy->filters[i].name),
                exactness_word(exactness));
    }
    json_write_end_array(writer);
}

static void write_policy(JsonWriter *writer, const StatusState *state, const Policy *policy) {
    PolicyFigure figure = metrics_of_policy(state->api->metrics, policy->name);

    json_write(writer, "{name: %.*s, mode: %s, matched: %zu, rejectedAll: %zu",
        STR_FMT(policy->name), policy->is_observed ? "Observe" : "Enforce", figure.n_matched,
        figure.n_rejected_all);
    write_counting(writer, policy);
    json_write_end_object(writer);
}

/* Why the newest of @kind was rejected; empty: it was not. */
static const char *refusal_of(Reloads *reloads, ReloadKind kind, ReloadState *room) {
    reloads_get(reloads, kind, room);
    return room->is_used && !room->is_good ? room->error : "";
}

static void write_policies(JsonWriter *writer, const StatusState *state) {
    const Program *program = state->view->program;
    ReloadState reload;
    const char *refusal = refusal_of(state->api->reloads, RELOAD_POLICY, &reload);

    json_member_object(writer, "policy");
    field_digest(writer, "digest", program->digest);
    json_write(writer,
        "policies: %zu, filters: %zu, scores: %zu, rejected: %s, waiting: %s, list: [",
        program->n_policies, program->n_filters, program->n_scores, refusal, reload.waiting);
    for (size_t i = 0; i < program->n_policies; i++)
        write_policy(writer, state, &program->policies[i]);
    json_write(writer, "]}");
}

static size_t count_pods(const NodeTable *table) {
    size_t n = 0;

    for (size_t i = 0; i < table->n_rows; i++)
        n += table_chunk(table, (uint32_t)i)->n_pods[table_slot((uint32_t)i)];
    return n;
}

/* Writes the worse state of nodes and pods. */
static void write_watch(JsonWriter *writer, const LiveStatus *live, int64_t now_nsec) {
    const WatcherKindStatus *kinds = live->watcher.kinds;
    int64_t updated_at = now_nsec;
    bool is_connected = true;
    const char *error = "";

    for (size_t i = 0; i < _WATCHER_KINDS; i++) {
        updated_at = kinds[i].updated_at_nsec < updated_at ? kinds[i].updated_at_nsec : updated_at;
        is_connected &= kinds[i].is_connected;
        error = error[0] ? error : kinds[i].last_error;
    }
    json_write(writer, "synced: %i, connected: %i, stalenessSeconds: %g, error: %s, server: %s",
        live->is_synced, is_connected,
        page_seconds(updated_at == 0 ? -NSEC_PER_SEC : now_nsec - updated_at, true), error,
        live->watcher.server);
}

static void write_kind(JsonWriter *writer, WatcherKind kind, const WatcherKindStatus *status) {
    json_write(writer, "{resource: %s, synced: %i, error: %s}", watcher_kind_name(kind),
        status->is_synced, status->last_error);
}

/* Other kinds than nodes and pods: those read by policies in force, or by policies that wait for
 * them; and policies of the cluster. */
static void write_related(JsonWriter *writer, const LiveStatus *live) {
    json_member_array(writer, "watches");
    for (unsigned i = 0; live && i < _RELATED_KINDS; i++)
        if (live->watcher.related_wanted & RELATED_BIT(i))
            write_kind(writer, (WatcherKind)(_WATCHER_KINDS + i),
                &live->watcher.kinds[_WATCHER_KINDS + i]);
    if (live && live->watcher.watches_policies)
        write_kind(writer, WATCHER_POLICIES, &live->watcher.kinds[WATCHER_POLICIES]);
    json_write_end_array(writer);
}

/* Without a watch there is no connection to lose. */
static void write_no_watch(JsonWriter *writer, const StatusState *state) {
    bool is_there = state->view->snapshot != NULL;
    ReloadState reload;

    json_write(writer, "synced: %i, connected: %i, stalenessSeconds: %g, error: %s, server: %s",
        is_there, is_there, 0.0, refusal_of(state->api->reloads, RELOAD_CLUSTER, &reload), "");
}

static void write_cluster(JsonWriter *writer, const StatusState *state, Digest digest) {
    static const char *const sources[] = {
        [CLUSTER_NONE] = "none",
        [CLUSTER_WATCHED] = "watch",
        [CLUSTER_FILE] = "file",
        [CLUSTER_PUBLISHED] = "published",
    };
    const View *view = state->view;

    json_write(writer, "cluster: {source: %s", sources[state->api->fixed.source]);
    if (state->live)
        write_watch(writer, state->live, state->now_nsec);
    else
        write_no_watch(writer, state);
    write_related(writer, state->live);
    json_write(writer, "nodes: %zu, pods: %zu, generation: %zu", view->table->names->n_nodes,
        count_pods(view->table), view->generation);
    field_digest(writer, "digest", digest);
    json_write_end_object(writer);
}

/* Writes null without a name. */
static void write_lease(JsonWriter *writer, LeaseObject lease) {
    if (lease.name)
        json_write(writer, "lease: {namespace: %s, name: %s}", lease.namespace, lease.name);
    else
        json_write(writer, "lease: null");
}

static void write_bind_lease(JsonWriter *writer, const LiveStatus *live) {
    if (!live || !live->watcher.has_lease)
        json_write(writer, "lease: null");
    else
        json_write(writer, "lease: {namespace: %s, name: %s, holder: %s, held: %i, error: %s}",
            live->options->lease.namespace, live->options->lease.name, live->watcher.lease.holder,
            live->watcher.lease.is_held, live->watcher.lease.error);
}

static void write_tls(JsonWriter *writer, const TlsStore *tls) {
    const Str *names = NULL;
    size_t n_names = 0;

    if (tls)
        names = tls_store_client_names(tls, &n_names);
    json_write(writer, "tls: {enabled: %i", tls != NULL);
    if (tls)
        field_second(writer, "notAfter", tls_store_expiry(tls));
    else
        json_write_member(writer, STR("notAfter"), STR_NULL);
    json_member_texts(writer, "clientNames", names, n_names);
    json_write_end_object(writer);
}

static void write_schedulers(JsonWriter *writer, RecentPods *pods) {
    RecentScheduler list[RECENT_SCHEDULERS_MAX + 1];
    size_t n = recent_pods_schedulers(pods, list);

    json_member_array(writer, "schedulers");
    for (size_t i = 0; i < n; i++)
        json_write(writer, "{name: %.*s, asked: %zu, lastAskedTime: %td}", STR_FMT(list[i].name),
            list[i].n_filters, list[i].last_wall_nsec);
    json_write_end_array(writer);
}

static void write_itself(JsonWriter *writer, const StatusState *state) {
    const Str verbs[] = {STR("filter"), STR("prioritize"), STR("preempt"), STR("bind")};
    const StatusFixed *fixed = &state->api->fixed;

    json_write(writer, "version: %s, identity: %s, startTime: %td, time: %td, uptimeSeconds: %g",
        BERTH_VERSION, fixed->identity, fixed->started_at_sec * NSEC_PER_SEC, state->wall_nsec,
        page_seconds(state->now_nsec - fixed->started_at_nsec, true));
    json_member_texts(writer, "verbs", verbs, fixed->may_bind ? 4 : 3);
    json_write(writer, "nodeCacheCapable: %i, deadlineSeconds: %g, maxScore: %u",
        fixed->source != CLUSTER_NONE, page_seconds(fixed->deadline_nsec, true),
        program_wire_max(state->view->program));
}

/* The objects that policies need for new pods (policy/admission.h). */
static void write_admission(JsonWriter *writer, const Program *program) {
    json_member_array(writer, "admission");
    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];

        for (AdmissionKind kind = 0; kind < _ADMISSION_KINDS; kind++) {
            _cleanup_(buf_done) Buf name = BUF_INIT(ADMISSION_NAME_MAX);
            Digest digest;

            if (!admission_is_needed(policy, kind) ||
                expression_is_given(&policy->match.expression) ||
                admission_digest(policy, kind, &digest) < 0)
                continue;
            admission_name(policy, kind, &name);
            json_write(writer, "{name: %.*s", STR_FMT(buf_str(&name)));
            field_digest(writer, "digest", digest);
            json_write_end_object(writer);
        }
    }
    json_write_end_array(writer);
}

static void write_slots(JsonWriter *writer, const Program *program) {
    json_member_array(writer, "slots");
    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];
        const SlotRule *slots = policy_slots(policy);

        if (slots && !policy->is_observed)
            json_write(writer, "{resource: %.*s, limit: %jd}", STR_FMT(slots->resource),
                (intmax_t)slots->limit);
    }
    json_write_end_array(writer);
}

static void write_publish(JsonWriter *writer, const Program *program, const LiveStatus *live) {
    size_t n_labels, n = program_count_published(program, &n_labels);

    json_write(writer, "publish: {filters: %zu, labels: %zu, enabled: %i", n, n_labels,
        live && live->publishes);
    if (live && live->publishes) {
        json_write(writer, "isWriter: %i, pendingNodes: %zu", live->watcher.publishes,
            live->n_unpublished);
        write_lease(writer, live->options->publish_lease);
    }
    write_admission(writer, program);
    write_slots(writer, program);
    json_write_end_object(writer);
}

static void write_nominate(JsonWriter *writer, const LiveStatus *live) {
    const NominationFigures *pods = live ? &live->nominator.pods : NULL;
    bool is_enabled = live && live->has_nominator;

    json_write(writer, "nominate: {enabled: %i", is_enabled);
    if (is_enabled) {
        json_write(writer,
            "isNominator: %i, state: %s, outstanding: %zu, used: %zu, unused: %zu, expired: %zu",
            live->watcher.nominates, nominator_state_name(pods->state), pods->n_outstanding,
            pods->n_used, pods->n_unused, pods->n_expired);
        write_lease(writer, live->options->nominate_lease);
    }
    json_write_end_object(writer);
}

/* `berth check --live` checks that the API server can verify the certificate. */
static void write_webhook(JsonWriter *writer, const StatusState *state) {
    _cleanup_(buf_done) Buf chain = BUF_INIT(TLS_FILE_MAX);

    if (!state->api->fixed.answers_reviews) {
        json_write(writer, "admission: null");
        return;
    }
    if (state->api->tls)
        tls_store_print_chain(state->api->tls, &chain);
    json_write(writer, "admission: {certificate: %.*s}", STR_FMT(buf_str(&chain)));
}

static void write_cluster_policies(JsonWriter *writer, const StatusState *state) {
    const LiveStatus *live = state->live;
    bool is_enabled = live && live->watcher.watches_policies;

    json_write(writer, "policiesFromCluster: {enabled: %i", is_enabled);
    if (is_enabled) {
        json_member_bool(writer, "isWriter", live->writes_policy_status);
        field_digest(writer, "definition", policy_crd_digest());
        write_lease(writer, live->options->policies_lease);
        write_webhook(writer, state);
    }
    json_write_end_object(writer);
}

void status_page(const StatusState *state, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);
    const StatusFixed *fixed = &state->api->fixed;
    Digest digest;

    if (table_fingerprint(state->view->table, &digest) < 0)
        return;
    json_write_object(&writer);
    write_itself(&writer, state);
    field_health(&writer, "health", state->health);
    write_policies(&writer, state);
    write_cluster(&writer, state, digest);
    json_write(&writer, "bind: {enabled: %i", fixed->may_bind);
    write_bind_lease(&writer, state->live);
    json_write(&writer, "}, wakeUp: %i", fixed->may_touch);
    write_publish(&writer, state->view->program, state->live);
    write_nominate(&writer, state->live);
    write_cluster_policies(&writer, state);
    json_member_bool(&writer, "events", state->live && state->live->writes_events);
    json_member_texts(&writer, "managedResources", fixed->managed, fixed->n_managed);
    json_member_array(&writer, "exempt");
    for (size_t i = 0; i < fixed->exempt->n; i++)
        json_write_string(&writer, fixed->exempt->items[i].text);
    json_write_end_array(&writer);
    write_tls(&writer, state->api->tls);
    if (fixed->sandbox)
        json_write(&writer, "sandbox: {active: %s, missing: %s}", fixed->sandbox->active,
            fixed->sandbox->missing);
    else
        json_write(&writer, "sandbox: null");
    json_member_int(&writer, "bypassed", state->live ? state->live->n_bypassed : 0);
    write_schedulers(&writer, state->api->recent_pods);
    json_write(&writer, "}\n");
}
