/* Writes a configuration with a comment for each choice: other people read it later, and
 * kube-scheduler does not report its choices. */

#include <assert.h>
#include <inttypes.h>

#include "wiring/read-internal.h"
#include "yaml/write.h"
#include "json/write.h"

#define MAX_SCORE 10 /* maximum score that kube-scheduler expects */

static bool has_ca(const ExtenderTls *tls) {
    return tls->ca_data.len + tls->ca_file.len > 0;
}

/* The strings of a tlsConfig, in the order in which they are written. */
static const struct {
    const char *key;
    size_t offset;
} tls_texts[] = {
    {"caData", offsetof(ExtenderTls, ca_data)},
    {"caFile", offsetof(ExtenderTls, ca_file)},
    {"serverName", offsetof(ExtenderTls, server_name)},
    {"certData", offsetof(ExtenderTls, cert_data)},
    {"certFile", offsetof(ExtenderTls, cert_file)},
    {"keyData", offsetof(ExtenderTls, key_data)},
    {"keyFile", offsetof(ExtenderTls, key_file)},
};
#define TLS_CERT_DATA 3u

static Str tls_text(const ExtenderTls *tls, size_t i) {
    return *(const Str *)(const void *)((const char *)tls + tls_texts[i].offset);
}

static bool has_nothing(const ExtenderTls *tls) {
    size_t len = 0;

    for (size_t i = 0; i < ELEMENTS_OF(tls_texts); i++)
        len += tls_text(tls, i).len;
    return !tls->is_insecure && len == 0;
}

static bool is_default_profile(const SchedulerConfig *config) {
    return config->n_scheduler_names == 0 ||
           (config->n_scheduler_names == 1 &&
               str_is(config->scheduler_names[0], "default-scheduler"));
}

static bool is_alpha1(const SchedulerConfig *config) {
    return str_is(config->api_version, "kubescheduler.config.k8s.io/v1alpha1");
}

static void put_value(Buf *out, Str value) {
    if (yaml_is_plain(value))
        buf_append(out, value);
    else
        json_quote(out, value);
    buf_append_char(out, '\n');
}

static void put_string(Buf *out, const char *indent, const char *key, Str value) {
    if (str_is_empty(value))
        return;
    buf_printf(out, "%s%s: ", indent, key);
    put_value(out, value);
}

static void put_bool(Buf *out, const char *indent, const char *key, bool value) {
    buf_printf(out, "%s%s: %s\n", indent, key, value ? "true" : "false");
}

static void put_leader_election(const SchedulerConfig *config, Buf *out) {
    bool is_own = config->lease_namespace.len + config->lease_name.len > 0;

    buf_append(out, STR("leaderElection:\n"));
    if (!config->has_leader_election)
        buf_append(out, STR("  # One process only: two would place the same pods twice.\n"));
    else if (is_own)
        buf_append(out,
            STR("  # One of its replicas schedules, the others wait. The Lease is its own: with "
                "that\n"
                "  # of the default scheduler only one of the two would ever work.\n"));
    else
        buf_append(out, STR("  # One of its replicas schedules, the others wait: by the Lease\n"
                            "  # kube-system/kube-scheduler, which is the default scheduler's.\n"));
    put_bool(out, "  ", "leaderElect", config->has_leader_election);
    put_string(out, "  ", is_alpha1(config) ? "lockObjectNamespace" : "resourceNamespace",
        config->lease_namespace);
    put_string(
        out, "  ", is_alpha1(config) ? "lockObjectName" : "resourceName", config->lease_name);
}

static void put_percentage(const SchedulerConfig *config, Buf *out) {
    if (config->percentage < 0)
        return;
    if (config->percentage == 100)
        buf_append(out,
            STR("# Every node is a candidate. Without this, kube-scheduler stops at a share of "
                "them (50 "
                "%\n"
                "# at 100 nodes, 42 % at 1,000, 10 % at 5,000, 5 % from 5,625 on; never below 100\n"
                "# nodes), and extenders get only these: if they reject them all,\n"
                "# the pod stays pending although other nodes are eligible.\n"));
    else
        buf_append(out,
            STR("# Once so many nodes passed its own filters, kube-scheduler stops looking (0: 5 "
                "to\n"
                "# 50 %, by the size of the cluster) and sends only these to extenders: if they\n"
                "# reject them all, the pod stays pending although others are eligible. 100: all "
                "nodes.\n"));
    buf_printf(out, "percentageOfNodesToScore: %d\n", config->percentage);
}

static void put_profiles(const SchedulerConfig *config, Buf *out) {
    if (is_default_profile(config)) {
        buf_append(
            out, STR("# No profiles: it is the default scheduler, for pods that name none.\n"));
        return;
    }
    buf_append(out, STR("# For pods with this name as their spec.schedulerName, and no others.\n"));
    buf_append(out, STR("profiles:\n"));
    for (size_t i = 0; i < config->n_scheduler_names; i++)
        put_string(out, "  - ", "schedulerName", config->scheduler_names[i]);
}

#define IN "    "

static void put_weight(const ExtenderEntry *entry, Buf *out) {
    int max_score = entry->max_score > MAX_SCORE ? entry->max_score : MAX_SCORE;
    double share = wiring_weight_share(entry->weight), wide;
    int64_t scaled;

    buf_printf(out,
        IN "# At most %.0f %% of a node's total: kube-scheduler's default plugins give up to "
           "1,200\n" IN
           "# points, each 1 of weight adds up to 100. 1 is a hint; from 13 on this one decides.\n",
        100 * share);
    if (max_score > MAX_SCORE &&
        !__builtin_mul_overflow(entry->weight, (int64_t)max_score, &scaled)) {
        wide = wiring_weight_share(scaled / MAX_SCORE);
        buf_printf(out,
            IN "# But these policies answer up to %d instead of 10, and nothing is cut off: at "
               "most\n" IN "# %.0f %%.\n",
            max_score, 100 * wide);
    }
    buf_printf(out, IN "weight: %" PRId64 "\n", entry->weight);
}

static void put_verbs(const ExtenderEntry *entry, Buf *out) {
    put_string(out, IN, "filterVerb", entry->filter_verb);
    if (entry->preempt_verb.len > 0)
        buf_append(out, STR(IN "# Prevents evictions on nodes that policies reject anyway.\n"));
    put_string(out, IN, "preemptVerb", entry->preempt_verb);
    if (entry->prioritize_verb.len > 0) {
        put_string(out, IN, "prioritizeVerb", entry->prioritize_verb);
        put_weight(entry, out);
    } else {
        buf_append(out, STR(IN "# No prioritizeVerb: policies have no scores.\n"));
    }
    if (entry->bind_verb.len > 0)
        buf_append(out,
            STR(IN
                "# berth creates the Bindings. Only one of all extenders may have this verb.\n"));
    put_string(out, IN, "bindVerb", entry->bind_verb);
}

static void put_tls(const ExtenderEntry *entry, Buf *out) {
    const ExtenderTls *tls = &entry->tls;

    if (entry->is_https)
        put_bool(out, IN, "enableHTTPS", true);
    if (!tls->is_given)
        return;
    buf_append(out, has_nothing(tls) ? STR(IN "tlsConfig: {}\n") : STR(IN "tlsConfig:\n"));
    if (has_ca(tls))
        buf_append(out,
            STR(IN
                "  # The CA of berth's certificate. Never leave it out: with enableHTTPS and\n" IN
                "  # without a CA kube-scheduler verifies nothing, without a warning.\n"));
    if (tls->is_insecure)
        put_bool(out, IN "  ", "insecure", true);
    for (size_t i = 0; i < ELEMENTS_OF(tls_texts); i++) {
        if (i == TLS_CERT_DATA && tls->cert_file.len + tls->cert_data.len > 0)
            buf_append(out,
                STR(IN "  # kube-scheduler's client certificate; paths are as it sees them.\n"));
        put_string(out, IN "  ", tls_texts[i].key, tls_text(tls, i));
    }
}

static void put_resources(const ExtenderEntry *entry, Buf *out) {
    if (entry->n_managed == 0)
        return;
    buf_append(
        out, STR(IN "# Only pods that request one of these are sent to berth. ignoredByScheduler: "
                    "nodes\n" IN "# need not offer it, only berth counts it.\n" IN
                    "managedResources:\n"));
    for (size_t i = 0; i < entry->n_managed; i++) {
        put_string(out, IN "  - ", "name", entry->managed[i].name);
        if (entry->managed[i].is_ignored_by_scheduler)
            put_bool(out, IN "    ", "ignoredByScheduler", true);
    }
}

static void put_ignorable(const ExtenderEntry *entry, Buf *out) {
    if (!entry->is_ignorable)
        buf_append(
            out, STR(IN "# While berth does not answer, pods stay pending and are retried; none is "
                        "placed\n" IN "# against a policy.\n"));
    else
        buf_append(out,
            STR(IN "# While berth does not answer, pods are placed as if there were no policies, "
                   "and\n" IN
                   "# no event says so: watch the count of bypassed pods (berth check --live).\n"));
    if (entry->is_ignorable && entry->bind_verb.len > 0)
        buf_append(out,
            STR(IN "# And from 1.30 on kube-scheduler binds such pods itself, bypassing berth.\n"));
    put_bool(out, IN, "ignorable", entry->is_ignorable);
}

static void put_timeout(const ExtenderEntry *entry, Buf *out) {
    int64_t nsec = entry->timeout_nsec;

    if (nsec == 0)
        return;
    buf_append(out,
        STR(IN "# For one call, including the connection. kube-scheduler is blocked meanwhile, "
               "except for "
               "bind.\n" IN "httpTimeout: "));
    wiring_print_time(out, nsec);
    buf_append_char(out, '\n');
}

static void put_node_cache(const ExtenderEntry *entry, Buf *out) {
    if (entry->is_node_cache_capable)
        buf_append(out, STR(IN "# Nodes are sent by name: berth watches the cluster itself.\n"));
    else
        buf_append(out,
            STR(IN "# Whole Node objects are sent with each call: megabytes, and from 1.33 on\n" IN
                   "# kube-scheduler then scores all nodes as if they were empty.\n"));
    put_bool(out, IN, "nodeCacheCapable", entry->is_node_cache_capable);
}

static void put_extender(const ExtenderEntry *entry, Buf *out) {
    buf_append(out, STR("  - urlPrefix: "));
    put_value(out, entry->url_prefix);
    put_tls(entry, out);
    put_verbs(entry, out);
    put_node_cache(entry, out);
    put_timeout(entry, out);
    put_ignorable(entry, out);
    put_resources(entry, out);
}

static void put_head(const SchedulerConfig *config, Str api_version, Buf *out) {
    put_string(out, "", "apiVersion", api_version);
    buf_append(out, STR("kind: KubeSchedulerConfiguration\n"));
    if (config->kubeconfig.len > 0)
        buf_append(out, STR("clientConnection:\n"));
    put_string(out, "  ", "kubeconfig", config->kubeconfig);
    put_leader_election(config, out);
    put_percentage(config, out);
}

static void write_v1(const SchedulerConfig *config, Buf *out) {
    /* v1 unless it is one of the betas, which have the same fields. */
    bool is_beta = str_has_prefix(config->api_version, STR("kubescheduler.config.k8s.io/v1beta"));

    put_head(config, is_beta ? config->api_version : STR("kubescheduler.config.k8s.io/v1"), out);
    put_profiles(config, out);
    if (config->n_extenders > 0)
        buf_append(out, STR("extenders:\n"));
    for (size_t i = 0; i < config->n_extenders; i++)
        put_extender(&config->extenders[i], out);
}

static void write_tls(JsonWriter *writer, const ExtenderTls *tls) {
    json_write(writer, "tlsConfig: {insecure?: %i", tls->is_insecure);
    for (size_t i = 0; i < ELEMENTS_OF(tls_texts); i++)
        json_write(writer, "%s?: %.*s", tls_texts[i].key, STR_FMT(tls_text(tls, i)));
    json_write_end_object(writer);
}

static void write_resources(JsonWriter *writer, const ExtenderEntry *entry) {
    json_member_array(writer, "managedResources");
    for (size_t i = 0; i < entry->n_managed; i++)
        json_write(writer, "{name?: %.*s, ignoredByScheduler: %i}", STR_FMT(entry->managed[i].name),
            entry->managed[i].is_ignored_by_scheduler);
    json_write_end_array(writer);
}

static void write_extender(JsonWriter *writer, const ExtenderEntry *entry) {
    json_write(
        writer, "{urlPrefix?: %.*s, enableHttps?: %i", STR_FMT(entry->url_prefix), entry->is_https);
    if (entry->tls.is_given)
        write_tls(writer, &entry->tls);
    json_write(writer,
        "filterVerb?: %.*s, preemptVerb?: %.*s, prioritizeVerb?: %.*s, weight?: %jd, "
        "bindVerb?: %.*s, nodeCacheCapable: %i, httpTimeout?: %jd, ignorable: %i",
        STR_FMT(entry->filter_verb), STR_FMT(entry->preempt_verb), STR_FMT(entry->prioritize_verb),
        entry->weight, STR_FMT(entry->bind_verb), entry->is_node_cache_capable, entry->timeout_nsec,
        entry->is_ignorable);
    if (entry->n_managed > 0)
        write_resources(writer, entry);
    json_write_end_object(writer);
}

static void write_policy(const SchedulerConfig *config, Buf *out) {
    JsonWriter writer = {.out = out, .indent = 2};

    json_write(&writer, "{kind: 'Policy', apiVersion: %.*s, extenders: [",
        STR_FMT(config->api_version.len > 0 ? config->api_version : STR("v1")));
    for (size_t i = 0; i < config->n_extenders; i++)
        write_extender(&writer, &config->extenders[i]);
    json_write(&writer, "]}\n");
}

static void put_policy_source(const SchedulerConfig *config, Buf *out) {
    buf_append(out, STR("# The Policy has the extenders, which this version has no field for.\n"
                        "algorithmSource:\n  policy:\n"));
    if (config->policy_file.len > 0) {
        buf_append(out, STR("    file:\n"));
        put_string(out, "      ", "path", config->policy_file);
        return;
    }
    buf_append(out, STR("    # Its key is policy.cfg.\n    configMap:\n"));
    put_string(out, "      ", "namespace", config->policy_map_namespace);
    put_string(out, "      ", "name", config->policy_map_name);
}

static void write_alpha1(const SchedulerConfig *config, Buf *out) {
    SchedulerConfig policy = *config;

    policy.api_version = STR_NULL;
    put_head(config, config->api_version, out);
    if (!is_default_profile(config)) {
        buf_append(out, STR("# For pods with this name as their spec.schedulerName.\n"));
        put_string(out, "", "schedulerName", config->scheduler_names[0]);
    }
    put_policy_source(config, out);
    if (config->n_extenders == 0)
        return;
    buf_append(out, STR("---\n"));
    write_policy(&policy, out);
}

void scheduler_config_write(const SchedulerConfig *config, Buf *out) {
    for (size_t i = 0; i < config->n_extenders; i++)
        assert(!address_is_https(config->extenders[i].url_prefix) ||
               has_ca(&config->extenders[i].tls));
    if (config->format == WIRING_POLICY)
        write_policy(config, out);
    else if (is_alpha1(config))
        write_alpha1(config, out);
    else
        write_v1(config, out);
}
