/* /api/v1/status: version, settings and state of this berth. */

#include "api/status-page.h"

#include "api/page-field.h"
#include "base/nsec.h"
#include "cluster/fingerprint.h"
#include "policy/admission.h"
#include "policy/exactness.h"
#include "version.h"

/* --- policies --------------------------------------------------------------------------------- */

/* Filters that count pods, and what makes them exact where berth does not bind. */
static void write_counting(JsonWriter *writer, const Policy *policy) {
    json_member_array(writer, "counting");
    for (size_t i = 0; i < policy->n_filters; i++) {
        Exactness exactness = exactness_of(&policy->filters[i], BIND_BY_SCHEDULER);

        if (exactness == EXACT_NOTHING)
            continue;
        json_write_object(writer);
        json_write_member(writer, STR("rule"), policy->filters[i].name);
        json_write_member(writer, STR("withoutBind"), str_from_c(exactness_word(exactness)));
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_policy(JsonWriter *writer, const StatusState *state, const Policy *policy) {
    PolicyFigure figure = metrics_of_policy(state->metrics, policy->name);

    json_write_object(writer);
    json_write_member(writer, STR("name"), policy->name);
    json_write_member(writer, STR("mode"), policy->is_observed ? STR("Observe") : STR("Enforce"));
    json_member_int(writer, "matched", figure.n_matched);
    json_member_int(writer, "rejectedAll", figure.n_rejected_all);
    write_counting(writer, policy);
    json_write_end_object(writer);
}

/* Why the newest of its kind was rejected; empty: it was not. */
static Str refusal_of(Reloads *reloads, ReloadKind kind, ReloadState *room) {
    reloads_get(reloads, kind, room);
    return room->is_used && !room->is_good ? str_from_c(room->error) : STR_NULL;
}

static void write_policies(JsonWriter *writer, const StatusState *state) {
    const Program *program = state->view->program;
    ReloadState reload;

    json_member_object(writer, "policy");
    field_digest(writer, "digest", program->digest);
    json_member_int(writer, "policies", program->n_policies);
    json_member_int(writer, "filters", program->n_filters);
    json_member_int(writer, "scores", program->n_scores);
    json_write_member(writer, STR("rejected"), refusal_of(state->reloads, RELOAD_POLICY, &reload));
    json_write_member(writer, STR("waiting"), str_from_c(reload.waiting));
    json_member_array(writer, "list");
    for (size_t i = 0; i < program->n_policies; i++)
        write_policy(writer, state, &program->policies[i]);
    json_write_end_array(writer);
    json_write_end_object(writer);
}

/* --- the cluster ------------------------------------------------------------------------------ */

static size_t count_pods(const NodeTable *table) {
    size_t n = 0;

    for (size_t i = 0; i < table->n_rows; i++)
        n += table_chunk(table, (uint32_t)i)->n_pods[table_slot((uint32_t)i)];
    return n;
}

/* The worse of nodes and pods. */
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
    json_member_bool(writer, "synced", live->is_synced);
    json_member_bool(writer, "connected", is_connected);
    field_seconds(writer, "stalenessSeconds",
        updated_at == 0 ? -NSEC_PER_SEC : now_nsec - updated_at,
        /* is_known= */ true);
    json_write_member(writer, STR("error"), str_from_c(error));
    json_write_member(writer, STR("server"), str_from_c(live->watcher.server));
}

static void write_kind(JsonWriter *writer, WatcherKind kind, const WatcherKindStatus *status) {
    json_write_object(writer);
    json_write_member(writer, STR("resource"), str_from_c(watcher_kind_name(kind)));
    json_member_bool(writer, "synced", status->is_synced);
    json_write_member(writer, STR("error"), str_from_c(status->last_error));
    json_write_end_object(writer);
}

/* Those besides nodes and pods, which policies in force, or policies that wait for them, read; and
 * policies of the cluster. */
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

    json_member_bool(writer, "synced", is_there);
    json_member_bool(writer, "connected", is_there);
    field_seconds(writer, "stalenessSeconds", 0, /* is_known= */ true);
    json_write_member(writer, STR("error"), refusal_of(state->reloads, RELOAD_CLUSTER, &reload));
    json_write_member(writer, STR("server"), STR_NULL);
}

static void write_cluster(JsonWriter *writer, const StatusState *state, Digest digest) {
    static const Str sources[] = {
        [CLUSTER_NONE] = STR("none"),
        [CLUSTER_WATCHED] = STR("watch"),
        [CLUSTER_FILE] = STR("file"),
        [CLUSTER_PUBLISHED] = STR("published"),
    };
    const View *view = state->view;

    json_member_object(writer, "cluster");
    json_write_member(writer, STR("source"), sources[state->fixed->source]);
    if (state->live)
        write_watch(writer, state->live, state->now_nsec);
    else
        write_no_watch(writer, state);
    write_related(writer, state->live);
    json_member_int(writer, "nodes", view->table->names->n_nodes);
    json_member_int(writer, "pods", count_pods(view->table));
    json_member_int(writer, "generation", view->generation);
    field_digest(writer, "digest", digest);
    json_write_end_object(writer);
}

/* --- bind, certificates, schedulers ----------------------------------------------------------- */

/* The object that is begun has to be ended. False: it is null. */
static bool begin_lease(JsonWriter *writer, LeaseName lease) {
    json_write_key(writer, STR("lease"));
    if (!lease.name) {
        json_write_null(writer);
        return false;
    }
    json_write_object(writer);
    json_write_member(writer, STR("namespace"), str_from_c(lease.namespace));
    json_write_member(writer, STR("name"), str_from_c(lease.name));
    return true;
}

static void write_lease(JsonWriter *writer, LeaseName lease) {
    if (begin_lease(writer, lease))
        json_write_end_object(writer);
}

static void write_bind_lease(JsonWriter *writer, const LiveStatus *live) {
    if (!begin_lease(writer, live && live->watcher.has_lease ? live->lease : (LeaseName){0}))
        return;
    json_write_member(writer, STR("holder"), str_from_c(live->watcher.lease.holder));
    json_member_bool(writer, "held", live->watcher.lease.is_held);
    json_write_member(writer, STR("error"), str_from_c(live->watcher.lease.error));
    json_write_end_object(writer);
}

static void write_tls(JsonWriter *writer, const TlsStore *tls) {
    const Str *names = NULL;
    size_t n_names = 0;

    if (tls)
        names = tls_store_client_names(tls, &n_names);
    json_member_object(writer, "tls");
    json_member_bool(writer, "enabled", tls != NULL);
    if (tls)
        field_second(writer, "notAfter", tls_store_expiry(tls));
    else
        json_write_member(writer, STR("notAfter"), STR_NULL);
    json_member_texts(writer, "clientNames", names, n_names);
    json_write_end_object(writer);
}

static void write_sandbox(JsonWriter *writer, const Sandbox *sandbox) {
    json_write_key(writer, STR("sandbox"));
    if (!sandbox) {
        json_write_null(writer);
        return;
    }
    json_write_object(writer);
    json_write_member(writer, STR("active"), str_from_c(sandbox->active));
    json_write_member(writer, STR("missing"), str_from_c(sandbox->missing));
    json_write_end_object(writer);
}

static void write_schedulers(JsonWriter *writer, RecentPods *pods) {
    RecentScheduler list[RECENT_SCHEDULERS_MAX + 1];
    size_t n = recent_pods_schedulers(pods, list);

    json_member_array(writer, "schedulers");
    for (size_t i = 0; i < n; i++) {
        json_write_object(writer);
        json_write_member(writer, STR("name"), list[i].name);
        json_member_int(writer, "asked", list[i].n_filters);
        field_time(writer, "lastAskedTime", list[i].last_wall_nsec);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

/* --- the page --------------------------------------------------------------------------------- */

static void write_itself(JsonWriter *writer, const StatusState *state) {
    const Str verbs[] = {STR("filter"), STR("prioritize"), STR("preempt"), STR("bind")};
    const StatusFixed *fixed = state->fixed;

    json_write_member(writer, STR("version"), STR(BERTH_VERSION));
    json_write_member(writer, STR("identity"), str_from_c(fixed->identity));
    field_time(writer, "startTime", fixed->started_at_sec * NSEC_PER_SEC);
    field_time(writer, "time", state->wall_nsec);
    field_seconds(writer, "uptimeSeconds", state->now_nsec - fixed->started_at_nsec,
        /* is_known= */ true);
    json_member_texts(writer, "verbs", verbs, fixed->may_bind ? 4 : 3);
    json_member_bool(writer, "nodeCacheCapable", fixed->source != CLUSTER_NONE);
    field_seconds(writer, "deadlineSeconds", fixed->deadline_nsec, /* is_known= */ true);
    json_member_int(writer, "maxScore", program_wire_max(state->view->program));
}

/* The objects that its policies need for new pods (policy/admission.h). */
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
            json_write_object(writer);
            json_write_member(writer, STR("name"), buf_str(&name));
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

        if (!slots || policy->is_observed)
            continue;
        json_write_object(writer);
        json_write_member(writer, STR("resource"), slots->resource);
        json_member_int(writer, "limit", slots->limit);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_publish(JsonWriter *writer, const Program *program, const LiveStatus *live) {
    size_t n_labels, n = program_count_published(program, &n_labels);

    json_member_object(writer, "publish");
    json_member_int(writer, "filters", (int64_t)n);
    json_member_int(writer, "labels", (int64_t)n_labels);
    json_member_bool(writer, "enabled", live && live->publishes);
    if (live && live->publishes) {
        json_member_bool(writer, "isWriter", live->watcher.publishes);
        json_member_int(writer, "pendingNodes", (int64_t)live->n_unpublished);
        write_lease(writer, live->publish_lease);
    }
    write_admission(writer, program);
    write_slots(writer, program);
    json_write_end_object(writer);
}

static void write_nominate(JsonWriter *writer, const LiveStatus *live) {
    const NominationFigures *pods = live ? &live->nominator.pods : NULL;
    bool is_enabled = live && live->has_nominator;

    json_member_object(writer, "nominate");
    json_member_bool(writer, "enabled", is_enabled);
    if (is_enabled) {
        json_member_bool(writer, "isNominator", live->nominates);
        json_write_key(writer, STR("state"));
        json_write_string(writer, str_from_c(nominator_state_name(pods->state)));
        json_member_int(writer, "outstanding", (int64_t)pods->n_outstanding);
        json_member_int(writer, "used", (int64_t)pods->n_used);
        json_member_int(writer, "unused", (int64_t)pods->n_unused);
        json_member_int(writer, "expired", (int64_t)pods->n_expired);
        write_lease(writer, live->nominate_lease);
    }
    json_write_end_object(writer);
}

/* The certificate is for the API server to verify (`berth check --live`). */
static void write_webhook(JsonWriter *writer, const StatusState *state) {
    _cleanup_(buf_done) Buf chain = BUF_INIT(TLS_FILE_MAX);

    json_write_key(writer, STR("admission"));
    if (!state->fixed->answers_reviews) {
        json_write_null(writer);
        return;
    }
    if (state->tls)
        tls_store_print_chain(state->tls, &chain);
    json_write_object(writer);
    json_write_member(writer, STR("certificate"), buf_str(&chain));
    json_write_end_object(writer);
}

static void write_cluster_policies(JsonWriter *writer, const StatusState *state) {
    const LiveStatus *live = state->live;
    bool is_enabled = live && live->watcher.watches_policies;

    json_member_object(writer, "policiesFromCluster");
    json_member_bool(writer, "enabled", is_enabled);
    if (is_enabled) {
        json_member_bool(writer, "isWriter", live->writes_policy_status);
        field_digest(writer, "definition", policy_crd_digest());
        write_lease(writer, live->policies_lease);
        write_webhook(writer, state);
    }
    json_write_end_object(writer);
}

void status_page(const StatusState *state, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);
    const StatusFixed *fixed = state->fixed;
    Digest digest;

    if (table_fingerprint(state->view->table, &digest) < 0)
        return;
    json_write_object(&writer);
    write_itself(&writer, state);
    field_health(&writer, "health", state->health);
    write_policies(&writer, state);
    write_cluster(&writer, state, digest);
    json_member_object(&writer, "bind");
    json_member_bool(&writer, "enabled", fixed->may_bind);
    write_bind_lease(&writer, state->live);
    json_write_end_object(&writer);
    json_member_bool(&writer, "wakeUp", fixed->may_touch);
    write_publish(&writer, state->view->program, state->live);
    write_nominate(&writer, state->live);
    write_cluster_policies(&writer, state);
    json_member_bool(&writer, "events", state->live && state->live->writes_events);
    json_member_texts(&writer, "managedResources", fixed->managed, fixed->n_managed);
    json_member_array(&writer, "exempt");
    for (size_t i = 0; i < fixed->exempt->n; i++)
        json_write_string(&writer, fixed->exempt->items[i].text);
    json_write_end_array(&writer);
    write_tls(&writer, state->tls);
    write_sandbox(&writer, fixed->sandbox);
    json_member_int(&writer, "bypassed", state->live ? state->live->n_bypassed : 0);
    write_schedulers(&writer, state->recent_pods);
    (void)page_write_end(&writer);
}
