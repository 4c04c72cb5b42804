/*
 * The list of all checks: one row each, in the order in which they are shown. Included wherever
 * every row is needed (declarations, the table, tests).
 *
 *     CHECK(code, group, scope, name, title, meaning)
 *
 * @name is the function that judges a subject of @scope, judge_NAME(); @title is true when the
 * check passes; @meaning is what a failure means to you. The code of a retired check is never used
 * again.
 */

/* clang-format off */

/* --- kube-scheduler's configuration: found, read, fitting */
CHECK(B101, SCHEDULER, ALL, config_found,
    "kube-scheduler's configuration was found",
    "How kube-scheduler calls berth cannot be checked.")
CHECK(B102, SCHEDULER, ALL, config_valid,
    "kube-scheduler can start with it",
    "kube-scheduler rejects the file: it does not start, or does not restart.")
CHECK(B103, SCHEDULER, ALL, config_lists_berth,
    "it lists berth as an extender",
    "kube-scheduler never calls berth: policies have no effect.")
CHECK(B104, SCHEDULER, ALL, config_version,
    "its apiVersion is one of the cluster's release",
    "kube-scheduler of this release cannot read the file.")

/* --- how kube-scheduler reaches berth */
CHECK(B105, SCHEDULER, HTTPS, server_verified,
    "kube-scheduler verifies berth's certificate",
    "Without a CA verification is off, silently: any server at that address decides where pods go.")
CHECK(B107, SCHEDULER, ENTRIES, scheme_agrees,
    "the URL's scheme agrees with enableHTTPS",
    "The scheme alone decides: enableHTTPS does not make an http:// URL speak TLS.")
CHECK(B108, SCHEDULER, ENTRIES, plain_on_loopback,
    "plain HTTP stays on loopback",
    "Anyone on the network can read pods and change answers.")
CHECK(B109, SCHEDULER, CLIENTS, client_certificate,
    "kube-scheduler has a client certificate if berth requires one",
    "berth rejects kube-scheduler's requests.")
CHECK(B110, SCHEDULER, CLIENTS, client_name,
    "a name in that certificate is one that berth accepts",
    "berth answers kube-scheduler with 403.")
CHECK(B111, SCHEDULER, ALL, client_certificate_lasts,
    "kube-scheduler's client certificate is valid for 30 days",
    "When it expires, berth rejects kube-scheduler's requests.")
CHECK(B112, SCHEDULER, ENTRIES, host_resolves,
    "the URL's host can be resolved where kube-scheduler runs",
    "A static pod uses the host's DNS, which usually has no Services: berth is never reached.")

/* --- verbs and scope */
CHECK(B113, SCHEDULER, ENTRIES, filter_verb,
    "filterVerb is set if policies filter",
    "Filters are never called: pods land on nodes that policies forbid.")
CHECK(B114, SCHEDULER, ALL, prioritize_verb,
    "prioritizeVerb is set if policies score, and only then",
    "Scores are never requested; or each pod waits for a request that changes nothing.")
CHECK(B115, SCHEDULER, ENTRIES, preempt_verb,
    "preemptVerb is set along with filterVerb",
    "Preemption evicts pods on nodes that berth rejects afterwards.")
CHECK(B116, SCHEDULER, ENTRIES, bind_verb,
    "bindVerb is set if berth binds, and only then",
    "Binds fail, or berth's ledger and annotations are not used.")
CHECK(B117, SCHEDULER, ENTRIES, sole_binder,
    "no other extender binds",
    "kube-scheduler allows one binder: it rejects the file, or the other one bypasses berth.")
CHECK(B118, SCHEDULER, ALL, weight,
    "berth's weight is neither negligible nor dominant",
    "Scores hardly count, or nothing else does.")
CHECK(B119, SCHEDULER, ALL, timeout_deadline,
    "httpTimeout is longer than berth's deadline",
    "kube-scheduler gives up on answers that are on their way.")
CHECK(B120, SCHEDULER, ENTRIES, timeout_verbs,
    "httpTimeout suits the verbs",
    "A berth that hangs stops scheduling for that long; or a bind that is on its way counts as failed.")
CHECK(B121, SCHEDULER, ENTRIES, node_cache,
    "names of nodes are sent, and berth knows the nodes",
    "Whole Node objects are slow, and from 1.33 on make nodes look empty to kube-scheduler's scores; names "
    "alone are no use to a berth without a cluster.")
CHECK(B122, SCHEDULER, ENTRIES, ignorable,
    "ignorable suits the verbs",
    "kube-scheduler (1.30 and later) binds by itself when berth does not answer, bypassing the ledger.")
CHECK(B123, SCHEDULER, ENTRIES, managed_resources,
    "managedResources are berth's --managed-resource",
    "berth counts pods as bypassed that are never sent to it, or misses some that bypassed it.")
CHECK(B125, SCHEDULER, ENTRIES, sample,
    "every node is a candidate for berth",
    "kube-scheduler sends a sample: if berth rejects all of it the pod stays pending, though other nodes are eligible.")
CHECK(B126, SCHEDULER, ALL, self_deadlock,
    "berth cannot block its own pods",
    "When berth is down its pods cannot be scheduled, and it stays down.")
CHECK(B128, SCHEDULER, ENTRIES, leader_election,
    "of several kube-schedulers one is active",
    "Each places the same pods by its own cache of the cluster: nodes are filled twice.")

CHECK(B129, SCHEDULER, ENTRIES, verb_names,
    "each verb has a name that berth answers",
    "berth answers 404, or to another verb: pods stay pending, or scores do not count.")

/* --- berths that run */
CHECK(B201, BERTH, ALL, berths_answer,
    "every berth answers",
    "It cannot be checked, and may be down.")
CHECK(B202, BERTH, BERTHS, berths_ready,
    "every berth is ready",
    "It answers filters with an error: pods stay pending.")
CHECK(B203, BERTH, ALL, verbs_answer,
    "the verbs answer at the URL in kube-scheduler's configuration",
    "kube-scheduler does not reach berth: pods stay pending, or are placed without it (ignorable).")
CHECK(B204, BERTH, ALL, versions_equal,
    "all berths have the same version",
    "An upgrade is under way, or has stopped half-way.")
CHECK(B205, BERTH, OUTSIDE, berth_tls,
    "berth uses TLS, unless on loopback",
    "Anyone on the network can read pods and change answers.")
CHECK(B206, BERTH, ALL, berth_certificate_lasts,
    "berth's certificate is valid for 30 days",
    "When it expires, kube-scheduler no longer connects to berth.")
CHECK(B207, BERTH, OUTSIDE, berth_asks_names,
    "berth requires client certificates, unless on loopback",
    "Any client that reaches the port may call the verbs, and bind if berth binds.")
CHECK(B208, BERTH, BERTHS, policies_in_force,
    "policies on disk are in force",
    "The newest was rejected: the last valid one is still in force.")
CHECK(B209, BERTH, ALL, lease_given,
    "several berths that bind share a lease",
    "Two berths that bind do not see each other's ledger: a node can be filled twice.")
CHECK(B210, BERTH, ALL, lease_works,
    "the lease can be acquired",
    "No replica may bind, so pods stay pending; or two bind at once.")
CHECK(B211, BERTH, BERTHS, berth_sandboxed,
    "berth runs in its sandbox",
    "A fault in berth would give an intruder more of the machine.")

CHECK(B212, BERTH, ALL, publish_works,
    "one berth writes what policies publish",
    "Nodes do not show the published filters, or not as they are now.")

CHECK(B213, BERTH, ALL, admission_matches,
    "new pods use what policies publish",
    "They request no slot, or may be placed on closed nodes.")
CHECK(B214, BERTH, ALL, overlays_match,
    "Karpenter knows the slots of new nodes",
    "It makes no node, or too many, for pods that request them.")

/* --- rights */
CHECK(B301, RIGHTS, ALL, server_reached,
    "the API server answers",
    "Permissions, pods and clocks cannot be checked.")
CHECK(B302, RIGHTS, ALL, rights_complete,
    "berth has every permission it needs",
    "The feature that needs the permission does not work.")
CHECK(B303, RIGHTS, ALL, rights_minimal,
    "berth has no permission it does not need",
    "A client with berth's token can do that, too.")

/* --- what berth knows of the cluster */
CHECK(B401, CLUSTER, WATCHERS, cluster_listed,
    "every berth has listed nodes and pods",
    "It answers filters with an error until it has.")
CHECK(B402, CLUSTER, WATCHERS, cluster_connected,
    "every berth receives changes",
    "It decides by its last state of the cluster.")
CHECK(B403, CLUSTER, WATCHERS, cluster_fresh,
    "the cluster state of every berth is at most 3 minutes old",
    "It decides by an old state: newer pods and nodes are not counted.")
CHECK(B404, CLUSTER, WATCHERS, cluster_has_nodes,
    "every berth knows some node",
    "Nodes that berth does not know are rejected: nothing is scheduled.")
CHECK(B406, CLUSTER, BERTHS, berth_clock,
    "berth's clock agrees with the API server's",
    "Ages of nodes, pods and annotations are wrong, and certificates seem expired or not yet valid.")

/* --- policies, metrics */
CHECK(B501, POLICIES, BERTHS, policy_exists,
    "every berth has a policy",
    "All nodes pass: berth changes nothing.")
CHECK(B502, POLICIES, ALL, policy_matches,
    "every policy has applied to some pod",
    "It may select other pods than you expect: check its match.")
CHECK(B503, POLICIES, ALL, policy_lets_pass,
    "no policy rejects every node every time",
    "Its pods stay pending.")
CHECK(B504, POLICIES, ALL, policy_enforced,
    "every policy is enforced",
    "In mode Observe it only records.")
CHECK(B505, POLICIES, ALL, metrics_answered,
    "every metric has an answer",
    "Its last values count until they are stale; then onMissing of each rule decides.")
CHECK(B506, POLICIES, ALL, metrics_cover,
    "every metric has a value for every node",
    "onMissing of the rules that read it decides about the others.")

CHECK(B507, POLICIES, ALL, definition_matches,
    "the CustomResourceDefinition of PlacementPolicies is berth's",
    "The API server drops or rejects fields that this berth knows; without one, berth is not ready.")

CHECK(B508, POLICIES, ALL, webhook_answered,
    "berth answers the webhook that checks policies",
    "Policies with mistakes are stored; or no policy can be created or changed (failurePolicy: Fail).")

/* --- the installation as a whole */
CHECK(B601, INSTALLATION, OTHERS, policies_equal,
    "all berths have the same policies",
    "The answer depends on the replica that gets the request.")
CHECK(B602, INSTALLATION, OTHER_WATCHERS, clusters_equal,
    "all berths see the same cluster",
    "The answer depends on the replica that gets the request.")
CHECK(B603, INSTALLATION, ALL, pods_found,
    "berth's pods were found",
    "Their placement cannot be checked.")
CHECK(B604, INSTALLATION, PODS, pods_ready,
    "berth's pods are ready",
    "Those that are not get no requests.")
CHECK(B605, INSTALLATION, PODS, pods_two,
    "there are at least two of them",
    "While the only one is replaced nothing is scheduled, or pods bypass berth (ignorable).")
CHECK(B606, INSTALLATION, PODS, pods_apart,
    "no two of them are on one node",
    "If that node fails, all of them are gone.")
CHECK(B607, INSTALLATION, ALL, pods_exempt,
    "no policy applies to berth's own pods",
    "A policy can keep berth itself from being placed.")
CHECK(B608, INSTALLATION, BERTHS, no_bypass,
    "no pod bypassed berth",
    "Pods were placed without berth: policies did not apply to them.")
CHECK(B609, INSTALLATION, ALL, asked_lately,
    "a scheduler has sent a request within a day",
    "Perhaps there were no pods to place; perhaps no scheduler calls berth.")

/* clang-format on */
