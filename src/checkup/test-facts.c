#include "checkup/test-facts.h"

#include "base/cleanup.h"

static const ExtenderEntry own_entry = {
    .place = {.line = 12, .column = 5},
    .url_prefix = STR("https://berth.berth-system.svc:8443"),
    .filter_verb = STR("filter"),
    .prioritize_verb = STR("prioritize"),
    .preempt_verb = STR("preempt"),
    .bind_verb = STR("bind"),
    .weight = 5,
    .is_https = true,
    .tls =
        {
            .is_given = true,
            .ca_file = STR("/etc/berth/ca.crt"),
            .cert_file = STR("/etc/berth/client.crt"),
            .key_file = STR("/etc/berth/client.key"),
        },
    .timeout_nsec = 15 * SEC,
    .is_node_cache_capable = true,
    .n_managed = 1,
};

static const ExtenderEntry other_entry = {
    .url_prefix = STR("http://127.0.0.1:9999"),
    .filter_verb = STR("filter"),
    .timeout_nsec = SEC,
    .is_node_cache_capable = true,
};

static Str scheduler_names[] = {STR("system:kube-scheduler")};

static void init_config(Scene *scene, size_t i) {
    scene->managed[i][0] = (ManagedResource){.name = STR("example.com/slot")};
    scene->extenders[i][0] = own_entry;
    scene->extenders[i][0].managed = scene->managed[i];
    scene->extenders[i][1] = other_entry;
    scene->scheduler_names[i] = i == 0 ? STR("berth") : STR("default-scheduler");
    scene->configs[i] = (SchedulerConfigFact){
        .origin = i == 0 ? STR("berth.yaml") : STR("default.yaml"),
        .config =
            {
                .format = WIRING_V1,
                .api_version = STR("kubescheduler.config.k8s.io/v1"),
                .scheduler_names = &scene->scheduler_names[i],
                .n_scheduler_names = 1,
                .percentage = 100,
                .has_leader_election = true,
                .extenders = scene->extenders[i],
                .n_extenders = 2,
            },
        .client_names = scheduler_names,
        .n_client_names = ELEMENTS_OF(scheduler_names),
        .client_certificate_sec = 300 * DAY,
    };
}

static const BerthFact a_berth = {
    .is_ready = true,
    .version = STR("0.1.0"),
    .uptime_sec = 2 * DAY,
    .answers_bind = true,
    .knows_cluster = true,
    .deadline_sec = 0.1,
    .max_score = 10,
    .has_filters = true,
    .has_scores = true,
    .policy_digest = STR("p1"),
    .is_synced = true,
    .is_connected = true,
    .staleness_sec = 1,
    .n_nodes = 5000,
    .n_pods = 150000,
    .cluster_digest = STR("c1"),
    .n_managed = 1,
    .has_tls = true,
    .certificate_sec = 300 * DAY,
    .n_client_names = 1,
    .lease_holder = STR("berth-0"),
    .sandbox_active = STR("no_new_privs, no core dumps, landlock v3, seccomp"),
    .has_lease = true,
    .n_exempt = 1,
    .n_policies = 2,
    .n_sources = 1,
    .n_schedulers = 1,
    .was_probed = true,
};

static void init_berth(Scene *scene, size_t i) {
    BerthFact *berth = &scene->berths[i];

    *berth = a_berth;
    berth->url = i == 0 ? STR("https://10.0.0.1:8443") : STR("https://10.0.0.2:8443");
    berth->holds_lease = i == 0;
    berth->has_publish = berth->is_publish_writer = i == 0;
    berth->n_published = i == 0;
    berth->has_cluster_policies = true;
    berth->definition = STR("d1");
    berth->answers_reviews = true;
    berth->managed = scene->berth_managed;
    berth->client_names = scene->client_names;
    berth->exempt = scene->exempt;
    scene->policies[i][0] =
        (PolicyFact){.name = STR("pools"), .n_matched = 90, .n_rejected_all = 2};
    scene->policies[i][1] = (PolicyFact){.name = STR("cool"), .n_matched = 7};
    berth->policies = scene->policies[i];
    scene->sources[i][0] = (SourceFact){
        .metric = STR("load"),
        .source = STR("default"),
        .state = STR("ok"),
        .n_nodes = 5000,
        .n_covered = 5000,
    };
    berth->sources = scene->sources[i];
    scene->schedulers[i][0] =
        (SchedulerFact){.name = STR("berth"), .n_requests = 97, .last_request_sec = 5};
    berth->schedulers = scene->schedulers[i];
}

#define LEASES STR("coordination.k8s.io"), STR("leases"), STR(""), STR("berth-system")

static const RightFact some_rights[] = {
    {STR("list"), STR(""), STR("nodes"), STR(""), STR(""), STR(""), "to know the cluster",
        RIGHT_NEEDED, RIGHT_ALLOWED, STR("")},
    {STR("create"), STR(""), STR("pods"), STR("binding"), STR(""), STR(""), "to bind pods (--bind)",
        RIGHT_NEEDED, RIGHT_ALLOWED, STR("")},
    {STR("create"), LEASES, STR(""), "to agree on who binds (--lease)", RIGHT_NEEDED, RIGHT_ALLOWED,
        STR("")},
    {STR("update"), LEASES, STR("berth"), "to agree on who binds (--lease)", RIGHT_NEEDED,
        RIGHT_ALLOWED, STR("")},
    {STR("get"), STR(""), STR("secrets"), STR(""), STR(""), STR(""), "berth never needs it",
        RIGHT_FORBIDDEN, RIGHT_DENIED, STR("")},
    {STR("delete"), STR(""), STR("pods"), STR(""), STR(""), STR(""), "berth never needs it",
        RIGHT_FORBIDDEN, RIGHT_DENIED, STR("")},
};

/* One policy publishes slots; admission is Kubernetes' own. */
static void init_published(Scene *scene) {
    const AdmissionFact object = {STR("berth-slots.pools"), STR("d1")};

    scene->wanted[0] = object;
    scene->berths[0].admission = scene->wanted;
    scene->berths[0].n_admission = 1;
    for (size_t i = 0; i < _ADMISSION_SOURCES; i++) {
        scene->objects[i][0] = object;
        scene->facts.admission[i] = (ObjectsFact){.is_known = true,
            .has_kind = i != ADMISSION_BY_KYVERNO,
            .items = scene->objects[i],
            .n = i != ADMISSION_BY_KYVERNO};
    }
    scene->slots[0] = scene->overlay[0] = (SlotFact){STR("berth.dev/slots.pools"), 4};
    scene->berths[0].slots = scene->slots;
    scene->berths[0].n_slots = 1;
    scene->definition[0].digest = STR("d1");
    scene->facts.definition =
        (ObjectsFact){.is_known = true, .has_kind = true, .items = scene->definition, .n = 1};
    scene->facts.overlays = (OverlaysFact){
        .objects = {.is_known = true, .has_kind = true}, .slots = scene->overlay, .n_slots = 1};
}

static void init_cluster(Scene *scene) {
    _Static_assert(sizeof(some_rights) == sizeof(scene->rights), "as many as there is room for");
    memcpy(scene->rights, some_rights, sizeof(some_rights));
    for (size_t i = 0; i < ELEMENTS_OF(scene->pods); i++)
        scene->pods[i] = (PodFact){
            .namespace = STR("berth-system"),
            .name = i == 0 ? STR("berth-0") : STR("berth-1"),
            .scheduler_name = STR("default-scheduler"),
            .node = i == 0 ? STR("node-a") : STR("node-b"),
            .is_ready = true,
        };
}

void scene_init(Scene *scene) {
    *scene = (Scene){
        .client_names = {STR("system:kube-scheduler")},
        .berth_managed = {STR("example.com/slot")},
        .exempt = {STR("berth-system/app.kubernetes.io/name=berth")},
    };
    for (size_t i = 0; i < 2; i++) {
        init_config(scene, i);
        init_berth(scene, i);
    }
    init_cluster(scene);
    scene->facts = (InstallationFacts){
        .configs = scene->configs,
        .n_configs = ELEMENTS_OF(scene->configs),
        .berths = scene->berths,
        .n_berths = ELEMENTS_OF(scene->berths),
        .was_cluster_asked = true,
        .cluster_version = STR("v1.36.4"),
        .is_skew_known = true,
        .cluster_skew_sec = 0.4,
        .subject = STR("system:serviceaccount:berth-system:berth"),
        .rights = scene->rights,
        .n_rights = ELEMENTS_OF(scene->rights),
        .pods = scene->pods,
        .n_pods = ELEMENTS_OF(scene->pods),
        .are_pods_known = true,
    };
    init_published(scene);
    scene->facts.trial = (TrialFact){.result = TRIAL_DENIED};
}
