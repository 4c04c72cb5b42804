/*
 * One row for each fault: the check that should find it, its state, a part of the cause and of the
 * fix, and the statements that break the Scene @s.
 *
 *     CASE(code, name, state, cause, fix, statements)
 */

/* clang-format off */

/* For cases about one configuration only. */
#define ONE_CONFIG s->facts.n_configs = 1
#define ONE_BERTH s->facts.n_berths = 1
#define OWN s->extenders[0][0]
#define NO_BERTHS s->facts.n_berths = 0
#define ON_LOOPBACK ONE_CONFIG; OWN.url_prefix = STR("http://127.0.0.1:8080"); OWN.is_https = false; \
    OWN.tls = (ExtenderTls){.is_given = false}

CASE(B101, no_config, WARNED, "none was found\nlook in kube-system", "berth check --live --scheduler-config FILE",
    s->facts.n_configs = 0; s->facts.config_hint = STR("look in kube-system\n"))
CASE(B101, unreadable_config, FAILED, "berth.yaml: Permission denied", "berth check --offline FILE",
    s->facts.is_offline = true; s->configs[0].error = STR("Permission denied"))
CASE(B101, invalid_is_found, PASSED, "berth.yaml\ndefault.yaml", "",
    s->configs[0].error = STR("x"); s->configs[0].is_invalid = true)

CASE(B102, invalid_config, FAILED, "berth.yaml: kube-scheduler refuses it\nberth.yaml:3:1: error: x", "berth config --format v1",
    s->configs[0].error = STR("berth.yaml:3:1: error: x\n"); s->configs[0].is_invalid = true)
CASE(B102, only_unreadable, SKIPPED, "B101", "", ONE_CONFIG; s->configs[0].error = STR("x"))

CASE(B103, not_listed, FAILED, "no extender is berth\nberth.yaml: extender 1 is https://berth", "berth config --format v1",
    ONE_CONFIG; s->configs[0].berth_index = SIZE_MAX)
CASE(B103, no_extenders, FAILED, "it has no extenders", "berth config", ONE_CONFIG; s->configs[0].config.n_extenders = 0)
CASE(B103, listed_in_one, PASSED, "berth.yaml:12: extender 1, https://berth.berth-system.svc:8443", "", s->configs[1].berth_index = SIZE_MAX)
CASE(B103, policy_elsewhere, SKIPPED, "berth.yaml: its extenders are in the Policy /etc/policy.json: name that file, too", "", ONE_CONFIG;
    s->configs[0].berth_index = SIZE_MAX; s->configs[0].config.n_extenders = 0; s->configs[0].config.policy_file = STR("/etc/policy.json"))
CASE(B103, policy_in_a_map, SKIPPED, "ConfigMap kube-system/policy (policy.cfg)", "", ONE_CONFIG; s->configs[0].berth_index = SIZE_MAX;
    s->configs[0].config.n_extenders = 0; s->configs[0].config.policy_map_namespace = STR("kube-system");
    s->configs[0].config.policy_map_name = STR("policy"))
CASE(B103, none_readable, SKIPPED, "B102", "", ONE_CONFIG; s->configs[0].is_invalid = true)

CASE(B104, beta_too_old, FAILED, "v1beta3 is for Kubernetes 1.23 to 1.28; the cluster is v1.36.4", "apiVersion: kubescheduler.config.k8s.io/v1",
    s->configs[0].config.api_version = STR("kubescheduler.config.k8s.io/v1beta3"))
CASE(B104, alpha_too_old, FAILED, "v1alpha2 is for Kubernetes 1.18; the cluster is v1.36.4", "apiVersion: kubescheduler.config.k8s.io/v1",
    s->configs[0].config.api_version = STR("kubescheduler.config.k8s.io/v1alpha2"))
CASE(B104, first_alpha_too_old, FAILED, "v1alpha1 is for Kubernetes 1.16 to 1.18; the cluster is v1.36.4", "apiVersion: kubescheduler.config.k8s.io/v1",
    s->configs[0].config.api_version = STR("kubescheduler.config.k8s.io/v1alpha1"))
CASE(B104, first_alpha_in_time, PASSED, "", "", s->facts.cluster_version = STR("v1.16.15"); ONE_CONFIG;
    s->configs[0].config.api_version = STR("kubescheduler.config.k8s.io/v1alpha1"))
CASE(B104, policy_too_old, FAILED, "kind Policy, v1 is for Kubernetes 1.16 to 1.22", "apiVersion",
    s->configs[0].config.format = WIRING_POLICY; s->configs[0].config.api_version = STR("v1"))
CASE(B104, too_new, FAILED, "v1 is for Kubernetes 1.25 and later; the cluster is v1.24.0", "v1beta3", s->facts.cluster_version = STR("v1.24.0"))
CASE(B104, much_too_new, FAILED, "1.25 and later", "berth config --format v1alpha1", s->facts.cluster_version = STR("v1.18.20"))
CASE(B104, beta_in_time, PASSED, "", "", s->facts.cluster_version = STR("v1.28.9-eks-1");
    s->configs[0].config.api_version = STR("kubescheduler.config.k8s.io/v1beta3"))
CASE(B104, first_release, PASSED, "", "", s->facts.cluster_version = STR("1.25+"))
CASE(B104, beta_for_old, FAILED, "1.25 and later", "v1beta1", s->facts.cluster_version = STR("v1.19.0"))
CASE(B104, beta_before_v1, FAILED, "1.25 and later", "v1beta3", s->facts.cluster_version = STR("v1.23.17"))
CASE(B104, none_to_compare, SKIPPED, "B102", "", ONE_CONFIG; s->configs[0].is_invalid = true)
CASE(B104, release_unknown, SKIPPED, "not known", "", s->facts.cluster_version = STR(""))

CASE(B105, no_ca, FAILED, "berth.yaml:12: enableHTTPS without a CA", "caFile: ca.crt",
    OWN.tls = (ExtenderTls){.is_given = false})
CASE(B105, certificate_without_ca, FAILED, "client certificate or not", "caFile", OWN.tls.ca_file = STR(""))
CASE(B105, ca_data_is_enough, PASSED, "", "", OWN.tls.ca_file = STR(""); OWN.tls.ca_data = STR("QQ=="))
CASE(B105, system_roots, WARNED, "one that the system trusts", "caFile", OWN.tls.ca_file = STR(""); OWN.is_https = false)
CASE(B105, plain, SKIPPED, "plain HTTP", "", ON_LOOPBACK)

CASE(B105, insecure_without_https, FAILED, "insecure: true without a CA: nothing verifies the server", "caFile",
    OWN.tls = (ExtenderTls){.is_given = true, .is_insecure = true}; OWN.is_https = false)
CASE(B107, https_over_http, FAILED, "enableHTTPS with http://berth:8443: plain HTTP", "urlPrefix: https://berth:8443",
    OWN.url_prefix = STR("http://berth:8443"))
CASE(B107, no_scheme, FAILED, "neither http:// nor https://", "urlPrefix: https://berth:8443", OWN.url_prefix = STR("berth:8443"))
CASE(B108, plain_over_network, FAILED, "plain HTTP to http://10.0.0.1:8080", "urlPrefix: https://10.0.0.1:8080",
    OWN.url_prefix = STR("http://10.0.0.1:8080"))
CASE(B108, plain_on_loopback, PASSED, "", "", ON_LOOPBACK)
CASE(B108, plain_on_loopback_v6, PASSED, "", "", ON_LOOPBACK; OWN.url_prefix = STR("http://[::1]:8080"))
CASE(B108, like_loopback, FAILED, "127.0.0.1.example", "https://", ON_LOOPBACK; OWN.url_prefix = STR("http://127.0.0.1.example:80"))

CASE(B108, capitals, PASSED, "", "", OWN.url_prefix = STR("HTTP://127.0.0.1:8080"))
CASE(B109, no_client_certificate, FAILED, "berth.yaml:12: no certFile or certData, and https://10.0.0.1:8443 requires", "certFile",
    OWN.tls.cert_file = STR(""))
CASE(B109, certificate_not_required, SKIPPED, "no berth requires", "", s->berths[0].n_client_names = s->berths[1].n_client_names = 0)
CASE(B110, wrong_name, FAILED, "the certificate is kubelet's; https://10.0.0.1:8443 accepts system:kube-scheduler", "--client-name kubelet ...",
    static Str own[] = {STR("kubelet")}; s->configs[0].client_names = own; s->configs[0].n_client_names = 1)
CASE(B110, wrong_names, FAILED, "the certificate is O'Neill's (and 1 more name)", "--client-name 'O'\\''Neill' ...",
    static Str own[] = {STR("O'Neill"), STR("kubelet")}; s->configs[0].client_names = own; s->configs[0].n_client_names = 2)
CASE(B110, alternative_name, PASSED, "", "",
    static Str own[] = {STR("CN"), STR("system:kube-scheduler")}; s->configs[0].client_names = own; s->configs[0].n_client_names = 2)
CASE(B110, no_name, FAILED, "berth.yaml:12: the certificate has no name that berth could know", "berth certs", s->configs[0].n_client_names = 0)
CASE(B110, other_list, FAILED, "accepts a and others", "--client-name", static Str names[] = {STR("a"), STR("b")};
    s->berths[0].client_names = names; s->berths[0].n_client_names = 2)
CASE(B110, name_unknown, SKIPPED, "default.yaml:12: its client certificate cannot be read", "", s->configs[1].client_certificate_sec = 0)
CASE(B111, client_ends_soon, WARNED, "berth.yaml:12: it expires in 12 days", "berth certs --renew", s->configs[0].client_certificate_sec = 12.5 * DAY)
CASE(B111, client_ends_very_soon, FAILED, "it expires in 6 days", "berth certs --renew", s->configs[0].client_certificate_sec = 6.9 * DAY)
CASE(B111, client_thirty_days, PASSED, "it expires in 30 days", "", s->configs[0].client_certificate_sec = 30 * DAY)
CASE(B111, client_seven_days, WARNED, "it expires in 7 days", "renew", s->configs[0].client_certificate_sec = 7 * DAY)
CASE(B111, client_ended, FAILED, "it expired 3 hours ago", "berth certs --renew", s->configs[0].client_certificate_sec = -3 * 3600.0)
CASE(B111, client_end_unknown, SKIPPED, "default.yaml:12: its client certificate cannot be read", "", s->configs[1].client_certificate_sec = 0)
CASE(B111, client_none, SKIPPED, "has no client certificate", "", ON_LOOPBACK)
CASE(B112, service_on_host, WARNED, "kubeconfig /etc/kubernetes/scheduler.conf", "clusterIP",
    s->configs[0].config.kubeconfig = STR("/etc/kubernetes/scheduler.conf"))
CASE(B112, address_on_host, PASSED, "", "", OWN.url_prefix = STR("https://10.96.0.9:8443");
    s->configs[0].config.kubeconfig = STR("/etc/kubernetes/scheduler.conf"))

CASE(B113, no_filter_verb, FAILED, "no filterVerb, and there are filters", "filterVerb: filter", OWN.filter_verb = OWN.bind_verb = STR(""))
CASE(B113, bind_without_filter, FAILED, "bindVerb without filterVerb", "filterVerb: filter", NO_BERTHS; OWN.filter_verb = STR(""))
CASE(B113, nothing_to_filter, PASSED, "", "", OWN.filter_verb = OWN.bind_verb = STR("");
    s->berths[0].has_filters = s->berths[1].has_filters = false)
CASE(B113, filters_unknown, SKIPPED, "B201", "", NO_BERTHS; OWN.filter_verb = OWN.bind_verb = STR(""))
CASE(B114, no_prioritize_verb, FAILED, "no prioritizeVerb, and there are scores", "prioritizeVerb: prioritize", OWN.prioritize_verb = STR(""))
CASE(B114, nothing_to_score, WARNED, "no policy scores", "leave prioritizeVerb out",
    s->berths[0].has_scores = s->berths[1].has_scores = false)
CASE(B115, no_preempt_verb, WARNED, "filterVerb without preemptVerb", "preemptVerb: preempt", OWN.preempt_verb = STR(""))
CASE(B116, berth_does_not_bind, FAILED, "bindVerb is set, and https://10.0.0.2:8443 does not bind", "berth serve --bind", s->berths[1].answers_bind = false)
CASE(B116, no_bind_verb, WARNED, "would bind, and bindVerb is not set", "bindVerb: bind", OWN.bind_verb = STR(""))
CASE(B117, two_binders, FAILED, "so does extender 2, http://127.0.0.1:9999", "leave bindVerb out", s->extenders[0][1].bind_verb = STR("bind"))
CASE(B117, another_binder, PASSED, "", "", ONE_CONFIG; OWN.bind_verb = STR(""); s->extenders[0][1].bind_verb = STR("bind");
    s->berths[0].answers_bind = s->berths[1].answers_bind = false)

CASE(B118, weight_reported, PASSED, "berth.yaml:12: weight 5 is at most 29 % of a node's total", "", ONE_CONFIG)
CASE(B118, no_weight, FAILED, "weight 0 with prioritizeVerb", "weight: 5", OWN.weight = 0)
CASE(B118, small_weight, WARNED, "weight 1 is at most 8 % of a node's total\na hint at best", "weight: 5   # at most 29 %", OWN.weight = 1)
CASE(B118, most_weight, PASSED, "weight 12 is at most 50 %", "", s->extenders[1][0].weight = OWN.weight = 12)
CASE(B118, large_weight, WARNED, "weight 13 is at most 52 % of a node's total\nmore than all", "weight: 5", OWN.weight = 13)
CASE(B118, wide_scores, WARNED, "weight 2 is at most 62 % of a node's total, as scores go beyond 10", "weight: 5",
    ONE_CONFIG; OWN.weight = 2; s->berths[1].max_score = 100)
CASE(B118, huge_weight, WARNED, "100 %", "weight: 5", OWN.weight = INT64_MAX; s->berths[0].max_score = 100)
CASE(B118, no_scores, SKIPPED, "no weight counts", "", ONE_CONFIG; OWN.prioritize_verb = STR(""))

CASE(B119, timeout_too_short, FAILED, "httpTimeout 50 ms; berth may take 100 ms", "httpTimeout: 1s", OWN.timeout_nsec = SEC / 20)
CASE(B119, timeout_equal, FAILED, "httpTimeout 100 ms; berth may take 100 ms", "httpTimeout", OWN.timeout_nsec = SEC / 10)
CASE(B119, deadline_too_long, FAILED, "httpTimeout 15 s; berth may take 20 s", "--deadline", s->berths[1].deadline_sec = 20)
CASE(B119, timeout_offline, FAILED, "the default, 100 ms\nberth.yaml:12: httpTimeout 1 ns; berth may take 100 ms", "httpTimeout", NO_BERTHS; OWN.timeout_nsec = 1)
CASE(B120, no_timeout, FAILED, "negative httpTimeout is none", "httpTimeout: 15s", OWN.timeout_nsec = -1)
CASE(B120, short_for_bind, WARNED, "httpTimeout 5 s (kube-scheduler's default), and a bind may take 10 s", "httpTimeout: 15s", OWN.timeout_nsec = 0)
CASE(B120, long_without_bind, WARNED, "httpTimeout 15 s: a berth that hangs", "httpTimeout: 1s", OWN.bind_verb = STR(""))
CASE(B120, least_for_bind, PASSED, "", "", OWN.timeout_nsec = 12 * SEC)
CASE(B120, most_without_bind, PASSED, "", "", OWN.bind_verb = STR(""); OWN.timeout_nsec = 2 * SEC)
CASE(B120, good_without_bind, PASSED, "", "", ONE_CONFIG; OWN.bind_verb = STR(""); OWN.timeout_nsec = SEC)

CASE(B121, whole_nodes, FAILED, "v1.36.4 takes every node for empty", "nodeCacheCapable: true", OWN.is_node_cache_capable = false)
CASE(B121, whole_nodes_before, WARNED, "whole Node objects", "nodeCacheCapable: true", OWN.is_node_cache_capable = false;
    s->facts.cluster_version = STR("v1.32.0"))
CASE(B121, whole_nodes_since, FAILED, "v1.33.0 takes", "nodeCacheCapable: true", OWN.is_node_cache_capable = false;
    s->facts.cluster_version = STR("v1.33.0"))
CASE(B121, no_cluster, FAILED, "https://10.0.0.2:8443 knows no cluster", "--in-cluster", s->berths[1].knows_cluster = false)
CASE(B122, ignorable_binder, FAILED, "ignorable with bindVerb", "ignorable: false", OWN.is_ignorable = true)
CASE(B122, ignorable_reported, PASSED, "pods are placed without its policies", "", OWN.is_ignorable = true; OWN.bind_verb = STR(""))
CASE(B123, unmanaged_in_config, FAILED, "runs with example.com/slot; managedResources at berth.yaml:12 do not have it", "managedResources: [{name: example.com/slot}]",
    OWN.n_managed = 0)
CASE(B123, unmanaged_in_berth, FAILED, "berth.yaml:12: example.com/slot is managed; https://10.0.0.1:8443 runs without it", "--managed-resource example.com/slot",
    s->berths[0].n_managed = 0)
CASE(B125, default_sample, WARNED, "of 5000 nodes berth gets 500 at most (percentageOfNodesToScore is not set)", "percentageOfNodesToScore: 100",
    s->configs[0].config.percentage = -1)
CASE(B125, peak_sample, WARNED, "of 3125 nodes berth gets 781 at most", "100", s->configs[0].config.percentage = 0;
    s->berths[0].n_nodes = s->berths[1].n_nodes = 3125)
CASE(B125, least_sample, WARNED, "of 5625 nodes berth gets 281 at most", "100", s->configs[0].config.percentage = 0;
    s->berths[0].n_nodes = s->berths[1].n_nodes = 5625)
CASE(B125, floor_of_101, WARNED, "of 101 nodes berth gets 100 at most", "100", s->configs[0].config.percentage = 0;
    s->berths[0].n_nodes = 100; s->berths[1].n_nodes = 101)
CASE(B125, large_sample, WARNED, "of 15000 nodes berth gets 750 at most", "100", s->configs[0].config.percentage = 0;
    s->berths[0].n_nodes = s->berths[1].n_nodes = 15000)
CASE(B125, chosen_sample, WARNED, "of 5000 nodes berth gets 1000 at most (percentageOfNodesToScore is lower than 100)", "100",
    s->configs[0].config.percentage = 20)
CASE(B125, floor_sample, PASSED, "", "", s->configs[0].config.percentage = 1; s->berths[0].n_nodes = s->berths[1].n_nodes = 100)
CASE(B125, small_cluster, PASSED, "", "", s->configs[0].config.percentage = -1; s->berths[0].n_nodes = s->berths[1].n_nodes = 99)
CASE(B125, unknown_size, WARNED, "a sample, 500 of 5,000", "100", NO_BERTHS; s->configs[0].config.percentage = -1)
CASE(B126, self_deadlock, FAILED, "default.yaml:12: default-scheduler places pod berth-system/berth-0, and calls berth for it", "managedResources",
    s->extenders[1][0].n_managed = 0)
CASE(B126, self_default_name, FAILED, "default-scheduler places", "ignorable: true", s->extenders[1][0].n_managed = 0;
    s->configs[1].config.n_scheduler_names = 0)
CASE(B126, self_static, PASSED, "", "", s->extenders[1][0].n_managed = 0; s->pods[0].is_static = s->pods[1].is_static = true)
CASE(B126, self_ignorable, PASSED, "", "", s->extenders[1][0].n_managed = 0; s->extenders[1][0].is_ignorable = true)
CASE(B126, self_scores_only, PASSED, "", "", s->extenders[1][0].n_managed = 0;
    s->extenders[1][0].filter_verb = s->extenders[1][0].bind_verb = STR(""))
CASE(B126, self_not_asked, PASSED, "", "", ONE_CONFIG)
CASE(B126, self_asked, SKIPPED, "default-scheduler places pod berth-system/berth-0 and calls berth", "", ONE_CONFIG;
    s->schedulers[0][0].name = STR("default-scheduler"))
CASE(B126, self_unknown, SKIPPED, "not known which scheduler", "", s->facts.are_pods_known = false)
CASE(B128, two_leaders, FAILED, "berth.yaml: leaderElect: false, and there are 2 pods", "leaderElect: true", ON_LOOPBACK;
    s->configs[0].config.has_leader_election = false)
CASE(B128, one_leader, PASSED, "", "", ON_LOOPBACK; s->facts.n_pods = 1; s->configs[0].config.has_leader_election = false)
CASE(B128, leaders_unknown, SKIPPED, "as long as there is one", "", s->configs[0].config.has_leader_election = false)

CASE(B129, no_such_verb, FAILED, "berth.yaml:12: filterVerb: filters: berth answers 404 there", "filterVerb: filter", OWN.filter_verb = STR("filters"))
CASE(B129, the_other_verb, FAILED, "berth.yaml:12: filterVerb: priority: berth takes that for prioritize", "filterVerb: filter",
    OWN.filter_verb = STR("priority"))
CASE(B129, other_names, PASSED, "", "", OWN.filter_verb = STR("scheduler/predicates/x?timeout=1s"); OWN.prioritize_verb = STR("/priorities/"))
CASE(B129, name_after_prefix, PASSED, "", "", OWN.filter_verb = STR("always"); OWN.prioritize_verb = OWN.preempt_verb = OWN.bind_verb = STR("");
    OWN.url_prefix = STR("https://berth.berth-system.svc:8443/predicates/"))
CASE(B129, misspelt_bind, FAILED, "bindVerb: binding: berth answers 404", "bindVerb: bind", OWN.bind_verb = STR("binding"))
CASE(B129, verbs_not_listed, SKIPPED, "B103", "", ONE_CONFIG; s->configs[0].berth_index = SIZE_MAX)

CASE(B201, no_berth, SKIPPED, "none was named", "", NO_BERTHS)
CASE(B201, berth_down, FAILED, "https://10.0.0.1:8443: connection refused", "curl 'https://10.0.0.1:8443/readyz", s->berths[0].error = STR("connection refused"))
CASE(B201, berth_forbids, FAILED, "https://10.0.0.1:8443: 403", "--pages-client-name", s->berths[0].error = STR("https://10.0.0.1:8443: 403");
    s->berths[0].is_forbidden = true)
CASE(B202, not_ready, FAILED, "https://10.0.0.2:8443 is not ready\n[-]sync failed", "/readyz?verbose", s->berths[1].is_ready = false;
    s->berths[1].readiness = STR("[-]sync failed"))
CASE(B203, verbs_dead, FAILED, "https://10.0.0.1:8443/filter: 404", "urlPrefix",
    s->berths[0].probe_error = STR("https://10.0.0.1:8443/filter: 404"))
CASE(B203, verbs_unprobed, SKIPPED, "not tried", "", s->berths[0].was_probed = s->berths[1].was_probed = false)
CASE(B204, two_versions, WARNED, "https://10.0.0.1:8443: 0.1.0\nhttps://10.0.0.2:8443: 0.2.0", "rollout status", s->berths[1].version = STR("0.2.0"))
CASE(B204, version_alone, SKIPPED, "one berth", "", ONE_BERTH)
CASE(B205, berth_plain, FAILED, "https://10.0.0.1:8443 uses plain HTTP", "--tls-cert", s->berths[0].has_tls = false)
CASE(B205, berth_plain_local, PASSED, "", "", s->berths[0].has_tls = false; s->berths[0].url = STR("http://localhost:8080"))
CASE(B205, berth_beside, SKIPPED, "on loopback", "", ON_LOOPBACK)
CASE(B206, berth_ends_soon, WARNED, "https://10.0.0.1:8443: it expires in 29 days", "berth certs --renew", s->berths[0].certificate_sec = 29.5 * DAY)
CASE(B206, berth_ended, FAILED, "it expired 2 days ago", "berth certs --renew", s->berths[0].certificate_sec = -2 * DAY)
CASE(B206, berth_end_unknown, SKIPPED, "https://10.0.0.2:8443 does not report", "", s->berths[1].certificate_sec = 0)
CASE(B206, berth_no_certificate, SKIPPED, "no berth has", "", s->berths[0].has_tls = s->berths[1].has_tls = false)
CASE(B207, berth_open, FAILED, "https://10.0.0.1:8443 answers any client, and binds for them", "--client-ca", s->berths[0].n_client_names = 0)
CASE(B207, berth_open_beside, SKIPPED, "on loopback", "", ON_LOOPBACK; s->berths[0].n_client_names = 0)
CASE(B208, policy_rejected, FAILED, "the last valid one is in force\np.yaml:3:1: error: x", "berth check FILE", s->berths[0].policy_rejected = STR("p.yaml:3:1: error: x"))
CASE(B209, no_lease, FAILED, "https://10.0.0.2:8443 binds, and has no lease", "--lease", s->berths[1].has_lease = false)
CASE(B209, lease_one, SKIPPED, "one berth binds", "", s->berths[1].answers_bind = false)
CASE(B209, lease_none, SKIPPED, "no berth binds", "", s->berths[0].answers_bind = s->berths[1].answers_bind = false)
CASE(B210, lease_fails, FAILED, "https://10.0.0.1:8443: 403", "--only rights", s->berths[0].lease_error = STR("403"))
CASE(B210, lease_twice, FAILED, "2 berths hold a lease", "the same for all", s->berths[1].holds_lease = true)
CASE(B210, lease_idle, WARNED, "no replica holds it", "get lease", s->berths[0].holds_lease = false;
    s->berths[0].lease_holder = s->berths[1].lease_holder = STR(""))
CASE(B210, lease_not_wanted, PASSED, "", "", s->berths[0].holds_lease = false; s->berths[0].lease_holder = s->berths[1].lease_holder = STR("");
    s->schedulers[0][0].last_request_sec = s->schedulers[1][0].last_request_sec = 60)
CASE(B210, lease_absent, SKIPPED, "no berth has a lease", "", s->berths[0].has_lease = s->berths[1].has_lease = false)
CASE(B212, publish_none, SKIPPED, "no policy publishes a filter", "", s->berths[0].n_published = 0)
CASE(B212, publish_off, FAILED, "no berth runs with --publish", "--publish", s->berths[0].has_publish = s->berths[0].is_publish_writer = false)
CASE(B212, publish_lease, WARNED, "no replica holds the lease", "get lease", s->berths[0].is_publish_writer = false)
CASE(B212, publish_twice, WARNED, "2 berths write", "--publish-lease", s->berths[1].is_publish_writer = true)

#define ADMISSION(source) s->facts.admission[ADMISSION_##source]
#define OVERLAYS s->facts.overlays

CASE(B213, admission_not_wanted, SKIPPED, "no policy publishes a filter", "", s->berths[0].n_admission = 0)
CASE(B213, admission_unknown, SKIPPED, "needs an API server", "", s->facts.was_cluster_asked = false)
CASE(B213, admission_missing, WARNED, "berth-slots.pools is missing", "berth config --admission", ADMISSION(POLICIES).n = 0)
CASE(B213, admission_unbound, FAILED, "berth-slots.pools has no MutatingAdmissionPolicyBinding", "berth config --admission",
    ADMISSION(BINDINGS).n = 0)
CASE(B213, admission_old, FAILED, "berth-slots.pools was made for other policies", "publish.objects",
    s->objects[ADMISSION_POLICIES][0].digest = STR("d0"))
CASE(B213, admission_by_kyverno, PASSED, "", "",
    ADMISSION(POLICIES).n = ADMISSION(BINDINGS).n = 0; ADMISSION(BY_KYVERNO).n = 1)
CASE(B213, admission_by_old_kyverno, FAILED, "berth-slots.pools was made for other policies", "berth config --admission",
    ADMISSION(POLICIES).n = 0; ADMISSION(BY_KYVERNO).n = 1; s->objects[ADMISSION_BY_KYVERNO][0].digest = STR(""))
CASE(B213, admission_forbidden, SKIPPED, "they cannot be listed: forbidden", "",
    ADMISSION(POLICIES) = (ObjectsFact){.error = STR("forbidden")})
CASE(B213, admission_of_kyverno_forbidden, PASSED, "", "", ADMISSION(BY_KYVERNO) = (ObjectsFact){.error = STR("forbidden")})
CASE(B213, admission_reported_once, WARNED, "berth-slots.pools is missing: pods must do by themselves what it does", "",
    ADMISSION(POLICIES).n = 0; s->berths[1].admission = s->wanted; s->berths[1].n_admission = 1)

CASE(B214, overlay_not_wanted, SKIPPED, "no policy publishes slots", "", s->berths[0].n_slots = 0)
CASE(B214, overlay_unknown, SKIPPED, "needs an API server", "", s->facts.cluster_error = STR("down"))
CASE(B214, overlay_no_karpenter, SKIPPED, "no NodeOverlays of Karpenter", "", OVERLAYS.objects.has_kind = false)
CASE(B214, overlay_forbidden, SKIPPED, "they cannot be listed: no", "", OVERLAYS.objects = (ObjectsFact){.error = STR("no")})
CASE(B214, overlay_missing, WARNED, "no NodeOverlay has berth.dev/slots.pools", "berth config --node-overlay", OVERLAYS.n_slots = 0)
CASE(B214, overlay_of_another, WARNED, "no NodeOverlay has", "", s->overlay[0].resource = STR("berth.dev/slots.x"))
CASE(B214, overlay_old, FAILED, "another number of berth.dev/slots.pools than the limit, 4", "--node-overlay", s->overlay[0].limit = 5)
CASE(B211, sandbox_part, WARNED, "https://10.0.0.2:8443: not active: landlock (ENOSYS)", "--sandbox", s->berths[1].sandbox_missing = STR("landlock (ENOSYS)"))
CASE(B211, sandbox_off, WARNED, "https://10.0.0.1:8443: not active: off", "--sandbox", s->berths[0].sandbox_active = STR("");
    s->berths[0].sandbox_missing = STR("off"))

CASE(B301, server_down, FAILED, "connection refused", "kubectl get --raw '/readyz", s->facts.cluster_error = STR("connection refused"))
CASE(B301, server_unnamed, SKIPPED, "--kubeconfig", "", s->facts.was_cluster_asked = false)
CASE(B302, right_missing, FAILED, "system:serviceaccount:berth-system:berth may not create pods/binding, to bind pods (--bind)",
    "kubectl create clusterrole berth-bind --verb=create --resource=pods/binding\n"
    "kubectl create clusterrolebinding berth-bind --clusterrole=berth-bind --serviceaccount=berth-system:berth",
    s->rights[1].answer = RIGHT_DENIED)
CASE(B302, right_missing_user, FAILED, "berth may not list nodes", "--user=berth", s->rights[0].answer = RIGHT_DENIED; s->facts.subject = STR("berth"))
CASE(B302, lease_right_missing, FAILED, "update leases.coordination.k8s.io berth in namespace berth-system",
    "kubectl -n berth-system create role berth-lease --verb=get,update --resource=leases.coordination.k8s.io --resource-name=berth",
    s->rights[3].answer = RIGHT_DENIED)
CASE(B302, other_lease_right_missing, FAILED, "update leases.coordination.k8s.io berth-publish in namespace berth-system",
    "kubectl -n berth-system create role berth-publish-lease --verb=get,update --resource=leases.coordination.k8s.io --resource-name=berth-publish",
    s->rights[3].answer = RIGHT_DENIED; s->rights[3].name = STR("berth-publish"))
CASE(B302, strange_right_missing, FAILED, "may not list things", "kubectl auth can-i list things --as=", s->rights[0].answer = RIGHT_DENIED;
    s->rights[0].resource = STR("things"))
CASE(B302, nominate_right_missing, FAILED, "may not patch pods/status", "create clusterrole berth-nominate --verb=patch --resource=pods/status\n",
    s->rights[1].answer = RIGHT_DENIED; s->rights[1].verb = STR("patch"); s->rights[1].subresource = STR("status"))
CASE(B302, nominate_read_right_missing, FAILED, "may not list services",
    "create clusterrole berth-nominate-read --verb=get,list,watch --resource=services,namespaces\n", s->rights[0].answer = RIGHT_DENIED;
    s->rights[0].resource = STR("services"))
CASE(B302, publish_right_missing, FAILED, "may not patch nodes/status", "create clusterrole berth-publish --verb=patch --resource=nodes/status\n",
    s->rights[0].answer = RIGHT_DENIED; s->rights[0].verb = STR("patch"); s->rights[0].subresource = STR("status"))
CASE(B302, one_right_unknown, SKIPPED, "not known of 1: list nodes: timeout", "", s->rights[0].answer = RIGHT_UNKNOWN; s->rights[0].error = STR("timeout"))
CASE(B302, missing_and_unknown, FAILED, "not known of 1", "berth-bind", s->rights[0].answer = RIGHT_UNKNOWN; s->rights[1].answer = RIGHT_DENIED)
CASE(B302, rights_unknown, SKIPPED, "does not report", "", s->facts.n_rights = 0)
CASE(B303, right_extra, FAILED, "may get secrets: berth never needs it", "grep 'berth'", s->rights[4].answer = RIGHT_ALLOWED)
CASE(B303, extra_unknown, SKIPPED, "not known of 2", "", s->rights[4].answer = s->rights[5].answer = RIGHT_UNKNOWN)

CASE(B401, not_listed_yet, FAILED, "https://10.0.0.1:8443 has not yet\n403 Forbidden", "--only rights", s->berths[0].is_synced = false;
    s->berths[0].cluster_error = STR("403 Forbidden"))
CASE(B401, no_watchers, SKIPPED, "no berth has a cluster", "", s->berths[0].knows_cluster = s->berths[1].knows_cluster = false)
CASE(B402, not_connected, WARNED, "https://10.0.0.1:8443 is not\nrefused", "/readyz?verbose", s->berths[0].is_connected = false;
    s->berths[0].cluster_error = STR("refused"))
CASE(B403, stale, WARNED, "https://10.0.0.1:8443: last update from the API server 3 minutes ago", "/readyz", s->berths[0].staleness_sec = 200)
CASE(B403, very_stale, FAILED, "10 minutes ago", "/readyz", s->berths[0].staleness_sec = 601)
CASE(B403, five_minutes, WARNED, "5 minutes ago", "/readyz", s->berths[0].staleness_sec = 300)
CASE(B403, stale_nan, FAILED, "last update", "/readyz", s->berths[0].staleness_sec = NAN)
CASE(B403, never_updated, FAILED, "no update from the API server yet", "/readyz", s->berths[0].staleness_sec = -1)
CASE(B403, quiet, PASSED, "", "", s->berths[0].staleness_sec = 130)
CASE(B404, no_nodes, FAILED, "https://10.0.0.1:8443 knows none", "kubectl get nodes", s->berths[0].n_nodes = 0)
CASE(B406, clock_ahead, WARNED, "https://10.0.0.1:8443 is 5 s ahead of the API server", "timedatectl", s->berths[0].clock_skew_sec = 5.4)
CASE(B406, clock_behind, FAILED, "https://10.0.0.1:8443 is 5 minutes behind the API server", "timedatectl", s->berths[0].clock_skew_sec = -300)
CASE(B406, clock_one_minute, WARNED, "60 s ahead", "timedatectl", s->berths[0].clock_skew_sec = 60; s->facts.cluster_skew_sec = 0)
CASE(B406, clock_ours, PASSED, "", "", s->berths[0].clock_skew_sec = s->berths[1].clock_skew_sec = s->facts.cluster_skew_sec = 3600)
CASE(B406, clock_by_us, WARNED, "ahead of this machine", "timedatectl", s->berths[0].clock_skew_sec = 5; s->facts.is_skew_known = false)

CASE(B501, no_policy, WARNED, "https://10.0.0.1:8443 has none: every node passes", "--policy", s->berths[0].n_policies = 0)
CASE(B502, never_matched, WARNED, "cool has applied to no pod yet", "berth explain", s->policies[0][1].n_matched = s->policies[1][1].n_matched = 0)
CASE(B502, matched_by_one, PASSED, "", "", s->policies[0][1].n_matched = 0)
CASE(B502, match_young, SKIPPED, "up for 5 minutes only", "", s->berths[0].uptime_sec = s->berths[1].uptime_sec = 300)
CASE(B502, match_unasked, SKIPPED, "no scheduler has sent", "", s->berths[0].n_schedulers = s->berths[1].n_schedulers = 0)
CASE(B503, rejects_all, FAILED, "cool rejected every node for each of 14 pods", "berth explain --last",
    s->policies[0][1].n_rejected_all = s->policies[1][1].n_rejected_all = 7)
CASE(B503, would_reject_all, WARNED, "cool would have rejected every node for each of 14 pods", "berth explain --last",
    s->policies[0][1].n_rejected_all = s->policies[1][1].n_rejected_all = 7; s->policies[0][1].is_observing = true)
CASE(B503, rejects_five, FAILED, "each of 5 pods", "berth explain", s->policies[0][1] = (PolicyFact){STR("cool"), false, 5, 5};
    s->policies[1][1] = (PolicyFact){STR("cool"), false, 0, 0})
CASE(B503, rejects_few, PASSED, "", "", s->policies[0][1] = s->policies[1][1] = (PolicyFact){STR("cool"), false, 2, 2})
CASE(B504, observing, WARNED, "cool only observes", "mode: Enforce", s->policies[0][1].is_observing = s->policies[1][1].is_observing = true)
CASE(B505, metric_absent, FAILED, "load of source default is failing: 503", "/api/v1/sources", s->sources[0][0].state = STR("failing");
    s->sources[0][0].error = STR("503"); s->sources[0][0].n_covered = 0)
CASE(B505, metric_failing, WARNED, "its last values count: 503", "/api/v1/sources", s->sources[0][0].state = STR("failing"); s->sources[0][0].error = STR("503"))
CASE(B505, metric_waiting, SKIPPED, "no answer yet", "", s->sources[0][0].state = STR("waiting"); s->berths[0].uptime_sec = 5)
CASE(B505, metric_waits_long, FAILED, "is waiting: no node has a value", "/api/v1/sources", s->sources[0][0].state = STR("waiting"); s->sources[0][0].n_covered = 0)
CASE(B505, no_metrics, SKIPPED, "no policy reads a metric", "", s->berths[0].n_sources = s->berths[1].n_sources = 0)
CASE(B507, definition_not_wanted, SKIPPED, "no berth runs with --policies-from-cluster", "",
    s->berths[0].has_cluster_policies = s->berths[1].has_cluster_policies = false)
CASE(B507, definition_unknown, SKIPPED, "needs an API server", "", s->facts.was_cluster_asked = false)
CASE(B507, definition_forbidden, SKIPPED, "it cannot be read: forbidden", "",
    s->facts.definition = (ObjectsFact){.error = STR("forbidden")})
CASE(B507, definition_missing, FAILED, "there is none", "berth check --crd | kubectl apply", s->facts.definition.n = 0)
CASE(B507, definition_old, WARNED, "of another version of berth", "berth check --crd", s->definition[0].digest = STR("other"))
CASE(B507, definition_not_berths, WARNED, "or was changed", "berth check --crd", s->definition[0].digest = STR_NULL)
CASE(B508, trial_no_cluster, SKIPPED, "needs an API server", "", s->facts.was_cluster_asked = false)
CASE(B508, trial_not_wanted, SKIPPED, "no berth runs with --policies-from-cluster", "",
    s->berths[0].has_cluster_policies = s->berths[1].has_cluster_policies = false)
CASE(B508, trial_forbidden, SKIPPED, "a policy cannot be tried: forbidden", "", s->facts.trial = (TrialFact){.text = STR("forbidden")})
CASE(B508, mistake_stored, WARNED, "the API server stores a policy with a mistake", "kubectl get validatingwebhookconfigurations",
    s->facts.trial.result = TRIAL_STORED)
CASE(B508, no_webhook, SKIPPED, "no webhook checks policies", "", s->facts.trial.result = TRIAL_STORED;
    s->berths[0].answers_reviews = s->berths[1].answers_reviews = false)
CASE(B508, webhook_blocks, FAILED, "no policy can be created or changed: failed calling webhook \"policies.berth.dev\"",
    "kubectl delete validatingwebhookconfiguration berth-policies",
    s->facts.trial = (TrialFact){TRIAL_BLOCKED, STR("failed calling webhook \"policies.berth.dev\": connection refused")})
CASE(B506, metric_some, WARNED, "load has a value for 4000 of 5000 nodes", "uncovered", s->sources[0][0].n_covered = 4000)
CASE(B506, metric_cover_waits, SKIPPED, "load: no answer yet", "", s->sources[0][0].state = STR("waiting"); s->berths[0].uptime_sec = 5)
CASE(B506, metric_no_nodes, SKIPPED, "load: no nodes are known", "", s->sources[0][0].n_nodes = 0)
CASE(B506, metric_none, FAILED, "load has a value for none of 5000 nodes", "uncovered", s->sources[0][0].n_covered = 0)

CASE(B601, policies_differ, FAILED, "https://10.0.0.1:8443 has p1, https://10.0.0.2:8443 has p2", "--only B601", s->berths[1].policy_digest = STR("p2"))
CASE(B601, policies_alone, SKIPPED, "one berth", "", ONE_BERTH)
CASE(B602, clusters_differ, WARNED, "differ (5000 and 5000 nodes, 150000 and 149999 pods)", "--only B602", s->berths[1].cluster_digest = STR("c2");
    s->berths[1].n_pods = 149999)
CASE(B602, cluster_of_one_unreported, SKIPPED, "https://10.0.0.1:8443 does not report", "", s->berths[0].cluster_digest = STR(""))
CASE(B602, clusters_one, SKIPPED, "only one of the berths has a cluster", "", s->berths[1].knows_cluster = false)
CASE(B602, clusters_unreported, SKIPPED, "does not report", "", s->berths[0].cluster_digest = s->berths[1].cluster_digest = STR(""))
CASE(B603, no_pods, WARNED, "app.kubernetes.io/name=berth", "berth install plan", s->facts.n_pods = 0)
CASE(B603, pods_unknown, SKIPPED, "does not show them", "", s->facts.are_pods_known = false)
CASE(B604, pod_unready, FAILED, "berth-system/berth-1 is not, and has no node", "kubectl -n berth-system describe pod berth-1",
    s->pods[1].is_ready = false; s->pods[1].node = STR(""))
CASE(B605, one_pod, WARNED, "berth-system/berth-0 is the only one", "--replicas=2", s->facts.n_pods = 1)
CASE(B605, one_static_pod, SKIPPED, "static pod", "", s->facts.n_pods = 1; s->pods[0].is_static = true)
CASE(B606, same_node, WARNED, "berth-0 and berth-1 are both on node-a", "delete pod berth-1", s->pods[1].node = STR("node-a"))
CASE(B606, pod_alone, SKIPPED, "there is one", "", s->facts.n_pods = 1)
CASE(B606, pending_both, PASSED, "", "", s->pods[0].node = s->pods[1].node = STR(""))
CASE(B607, not_exempt, WARNED, "https://10.0.0.1:8443: policies apply to berth-system/berth-0, too", "--exempt berth-system/app.kubernetes.io/name=berth",
    s->exempt[0] = STR("kube-system"))
CASE(B607, exempt_otherwise, WARNED, "policies apply", "--exempt", s->exempt[0] = STR("berth-system/app=other"))
CASE(B607, namespace_exempt, PASSED, "", "", s->exempt[0] = STR("berth-system"))
CASE(B608, bypass, FAILED, "https://10.0.0.1:8443: 3 since its start", "ignorable: false", ONE_BERTH; s->berths[0].n_bypassed = 3)
CASE(B608, bypass_perhaps, WARNED, "other berths may have decided", "bypassed", s->berths[0].n_bypassed = 3)
CASE(B609, never_asked, WARNED, "no scheduler has sent a request", "--only scheduler", s->berths[0].n_schedulers = s->berths[1].n_schedulers = 0)
CASE(B609, long_ago, WARNED, "the last time was 3 days ago", "--only scheduler",
    s->schedulers[0][0].last_request_sec = s->schedulers[1][0].last_request_sec = 3 * DAY)
CASE(B609, asked_one, PASSED, "https://10.0.0.1:8443: berth, 5 s ago", "", s->schedulers[1][0].last_request_sec = 3 * DAY)
CASE(B609, just_started, SKIPPED, "has just started", "", s->berths[0].n_schedulers = s->berths[1].n_schedulers = 0;
    s->berths[0].uptime_sec = s->berths[1].uptime_sec = 60)

#undef ONE_CONFIG
#undef ONE_BERTH
#undef OWN
#undef NO_BERTHS
#undef ON_LOOPBACK

/* clang-format on */
