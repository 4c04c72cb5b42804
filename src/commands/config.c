/*
 * berth config: the kube-scheduler side of an installation, on standard output.
 *
 * The output is first read back by kube-scheduler's rules; a configuration that it would reject is
 * not printed.
 */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

#include "base/base64.h"
#include "base/label.h"
#include "base/nsec.h"
#include "base/origin.h"
#include "cli/policy-files.h"
#include "cli/progress.h"
#include "cli/server-source.h"
#include "cli/terminal.h"
#include "collect/collect.h"
#include "commands/commands.h"
#include "commands/counting-rules.h"
#include "model/node.h"
#include "policy/admission.h"
#include "wiring/scheduler-config.h"

#define CONFIG_LEASE_NAMESPACE "berth-system"

#define POLICY_FILE_DEFAULT "/etc/kubernetes/berth/policy.json"

typedef enum ConfigFormat { FORMAT_V1, FORMAT_V1ALPHA1, FORMAT_POLICY } ConfigFormat;

typedef struct ConfigSettings {
    ConfigFormat format;
    ServerSource source; /* a running berth; without a server: none */
    PolicyPaths policies;
    bool is_admission;                 /* print admission policies instead */
    bool is_kyverno;                   /* those of Kyverno */
    AdmissionFormat admission_version; /* without --kyverno */
    const char *node_overlay;          /* print NodeOverlays for this NodePool instead */
    bool may_bind;
    ManagedResource managed[WIRING_RESOURCES_MAX];
    size_t n_managed;

    const char *url;
    const char *tls_ca;
    const char *server_name;
    const char *client_cert, *client_key;
    bool insecure_http;
    int64_t timeout_nsec; /* 0: not given */

    int64_t weight;
    bool is_ignorable;
    int64_t percentage; /* -1: not given */

    const char *scheduler_name;
    bool has_leader_election;    /* --leader-elect; the default scheduler has it anyway */
    bool has_no_leader_election; /* --no-leader-elect */
    const char *lease_namespace, *lease_name;
    const char *kubeconfig;
    const char *policy_file, *policy_map; /* of v1alpha1; the latter is NAMESPACE/NAME */
} ConfigSettings;

#define WEIGHT_MAX 1000000000
#define TIMEOUT_MAX (600 * NSEC_PER_SEC)

static const char *add_managed(void *context, const char *value) {
    ConfigSettings *settings = context;
    Str name = str_from_c(value), ignored = STR(":ignored");
    bool is_ignored = str_has_suffix(name, ignored);

    if (settings->n_managed == WIRING_RESOURCES_MAX)
        return "too many";
    if (is_ignored)
        name = str_take(name, name.len - ignored.len);
    settings->managed[settings->n_managed++] =
        (ManagedResource){.name = name, .is_ignored_by_scheduler = is_ignored};
    return NULL;
}

#define AT(member) OPTION_AT(ConfigSettings, member), .check = value_check_given

/* clang-format off */
static const Option config_options[] = {
    {"format", OPTION_CHOICE, .argument = "v1|v1alpha1|policy", OPTION_AT(ConfigSettings, format), .initial = "v1",
        .help = "KubeSchedulerConfiguration; for 1.16 to 1.18 one that names a Policy, and that Policy; or the "
                "legacy Policy alone"},

    {"admission", OPTION_FLAG, OPTION_AT(ConfigSettings, is_admission),
        .help = "print MutatingAdmissionPolicies instead: for the slots and labels that policies of --policy publish, and with "
                "--scheduler-name one that sets schedulerName of pods in namespaces with the label " OPT_IN_LABEL "=NAME"},
    {"admission-version", OPTION_CHOICE, .argument = "v1|v1beta1", OPTION_AT(ConfigSettings, admission_version),
        .initial = "v1", .help = "version of these objects: v1beta1 for Kubernetes 1.34 and 1.35, where it is off by default"},
    {"kyverno", OPTION_FLAG, OPTION_AT(ConfigSettings, is_kyverno),
        .help = "with --admission: MutatingPolicies of Kyverno 1.17 and later, for Kubernetes before 1.36"},
    {"node-overlay", OPTION_TEXT, .argument = "NODEPOOL", AT(node_overlay),
        .help = "print NodeOverlays of Karpenter instead, for the slots that policies of --policy publish"},

    OPTION_GROUP("Which verbs berth answers"),
    {"server", OPTION_TEXT, .argument = "URL", AT(source.access.server),
        .help = "those of the berth that runs there"},
    {"ca", OPTION_FILE, .argument = "FILE", AT(source.access.ca),
        .help = "CA that signed its certificate (PEM)"},
    {"cert", OPTION_FILE, .argument = "FILE", AT(source.access.cert),
        .help = "client certificate for it (PEM), with --key"},
    {"key", OPTION_FILE, .argument = "FILE", AT(source.access.key),
        .help = "private key of --cert (PEM)"},
    POLICY_PATHS_OPTION(ConfigSettings, policies,
        .help = "or: those that these policies need; may be repeated"),
    {"bind", OPTION_FLAG, OPTION_AT(ConfigSettings, may_bind),
        .help = "and bind, as in `berth serve --bind`"},
    {"managed-resource", OPTION_CUSTOM, .argument = "NAME[:ignored]", .set = add_managed,
        .help = "send only pods that request this resource to berth; may be repeated; ignored: nodes "
                "need not offer it"},

    OPTION_GROUP("How kube-scheduler reaches it"),
    {"url", OPTION_TEXT, .argument = "URL", AT(url), .initial = SERVER_SOURCE_DEFAULT,
        .help = "berth's URL for kube-scheduler"},
    {"tls-ca", OPTION_FILE, .argument = "FILE", AT(tls_ca),
        .help = "CA that signed berth's certificate (PEM); it is written into the configuration; "
                "required for https"},
    {"tls-server-name", OPTION_TEXT, .argument = "NAME", AT(server_name),
        .help = "name in berth's certificate, if it is not the host of the URL"},
    {"client-cert", OPTION_FILE, .argument = "PATH", AT(client_cert),
        .help = "client certificate of kube-scheduler: a path where it runs"},
    {"client-key", OPTION_FILE, .argument = "PATH", AT(client_key),
        .help = "private key of --client-cert: a path where it runs"},
    {"timeout", OPTION_DURATION, .argument = "TIME", OPTION_AT(ConfigSettings, timeout_nsec),
        .min = NSEC_PER_MSEC, .max = TIMEOUT_MAX, .initial = "1s; 15s when berth binds",
        .help = "for one call"},
    {"insecure-http", OPTION_FLAG, OPTION_AT(ConfigSettings, insecure_http),
        .help = "allow plain HTTP to an address that is not loopback"},

    OPTION_GROUP("What berth may decide"),
    {"weight", OPTION_NUMBER, .argument = "N", OPTION_AT(ConfigSettings, weight), .min = 1, .max = WEIGHT_MAX,
        .initial = "5", .help = "weight of its scores; 5 is at most 29 % of a node's total"},
    {"ignorable", OPTION_FLAG, OPTION_AT(ConfigSettings, is_ignorable),
        .help = "place pods without berth when it does not answer; otherwise they stay pending"},
    {"percentage", OPTION_NUMBER, .argument = "N", OPTION_AT(ConfigSettings, percentage), .max = 100,
        .initial = "100", .help = "value of percentageOfNodesToScore; 0: kube-scheduler's own choice"},

    OPTION_GROUP("Which kube-scheduler it is"),
    {"scheduler-name", OPTION_TEXT, .argument = "NAME", AT(scheduler_name), .initial = "the default scheduler",
        .help = "a second scheduler, for pods with this spec.schedulerName"},
    {"leader-elect", OPTION_FLAG, OPTION_AT(ConfigSettings, has_leader_election),
        .help = "leader election for the replicas of a second scheduler; the default scheduler has it"},
    {"no-leader-elect", OPTION_FLAG, OPTION_AT(ConfigSettings, has_no_leader_election),
        .help = "no leader election for the default scheduler, if it never has more than one replica"},
    {"lease-namespace", OPTION_TEXT, .argument = "NAME", AT(lease_namespace),
        .initial = CONFIG_LEASE_NAMESPACE " for a second scheduler", .help = "namespace of the Lease"},
    {"lease-name", OPTION_TEXT, .argument = "NAME", AT(lease_name), .initial = "the name of a second scheduler",
        .help = "name of the Lease"},
    {"scheduler-kubeconfig", OPTION_FILE, .argument = "PATH", AT(kubeconfig),
        .help = "its own kubeconfig, if it runs outside a pod or in a static one"},
    {"policy-config-file", OPTION_FILE, .argument = "PATH", AT(policy_file), .initial = POLICY_FILE_DEFAULT,
        .help = "with v1alpha1: where kube-scheduler finds the Policy"},
    {"policy-configmap", OPTION_TEXT, .argument = "NAMESPACE/NAME", AT(policy_map),
        .help = "or the ConfigMap that has the Policy, under the key policy.cfg"},
    {0},
};
/* clang-format on */

/* --- which options go together ------------------------------------------------------------- */

static const char *check_tls(const ConfigSettings *settings, const Origin *origin) {
    if (!origin->is_tls && (settings->tls_ca || settings->client_cert || settings->server_name))
        return "certificates are for https: give --url https://…";
    if (!origin->is_tls && !origin_is_loopback(origin) && !settings->insecure_http)
        return "--url is plain HTTP to another machine: anyone on the network could place pods. "
               "Use "
               "https with --tls-ca (certificates: berth certs), or give --insecure-http";
    if (origin->is_tls && !settings->tls_ca)
        return "https needs --tls-ca FILE: without a CA kube-scheduler trusts any server, without "
               "a warning. `berth certs` creates one (ca.crt)";
    return NULL;
}

static const char *check_url(const ConfigSettings *settings) {
    const char *complaint = origin_complaint(str_from_c(settings->url));
    Origin origin;

    if (complaint) {
        terminal_warn("--url %s: it %s", settings->url, complaint);
        return "expected a URL like https://berth.berth-system.svc:8443";
    }
    return origin_parse(str_from_c(settings->url), &origin) ? check_tls(settings, &origin) : NULL;
}

/* Rejects options that the format has no place for: a Policy holds extenders only. */
static const char *check_format(const ConfigSettings *settings) {
    Str map = str_from_c(settings->policy_map), namespace;

    if (settings->format != FORMAT_V1ALPHA1 && (settings->policy_file || settings->policy_map))
        return "--policy-config-file and --policy-configmap go with --format v1alpha1";
    if (settings->policy_file && settings->policy_map)
        return "--policy-config-file or --policy-configmap, not both";
    if (settings->policy_map && (!str_split(&map, '/', &namespace) || str_is_empty(namespace) ||
                                    str_is_empty(map) || str_find(map, '/') != SIZE_MAX))
        return "--policy-configmap: expected NAMESPACE/NAME";
    if (settings->format != FORMAT_POLICY)
        return NULL;
    if (settings->scheduler_name || settings->has_leader_election ||
        settings->has_no_leader_election || settings->kubeconfig || settings->percentage >= 0)
        return "a Policy holds extenders only; --scheduler-name, --leader-elect and --kubeconfig "
               "are flags of kube-scheduler 1.16 to 1.22 itself, and percentageOfNodesToScore is "
               "in the file of its --config";
    return NULL;
}

/* The name becomes the value of a label, and a part of an object's name. */
static const char *check_opt_in(const char *scheduler_name) {
    Str name = str_from_c(scheduler_name);

    if (str_eq(name, STR("default-scheduler")))
        return "--admission: --scheduler-name is a second scheduler; pods are the default "
               "scheduler's anyway";
    if (!node_name_is_valid(name) || !label_is_name(name))
        return "--scheduler-name: with --admission it has at most 63 characters: a to z, 0 to 9, "
               "- and .";
    return NULL;
}

static const char *check_published(const ConfigSettings *settings) {
    if (settings->is_admission && settings->scheduler_name)
        return check_opt_in(settings->scheduler_name);
    if (settings->policies.n == 0)
        return settings->is_admission ? "--admission needs --policy or --scheduler-name"
                                      : "--node-overlay needs --policy";
    if (settings->node_overlay && !node_name_is_valid(str_from_c(settings->node_overlay)))
        return "--node-overlay: expected the name of a NodePool";
    return NULL;
}

static const char *config_settings_check(void *context, const Arguments *arguments) {
    const ConfigSettings *settings = context;
    const char *wrong = check_format(settings);

    if (wrong)
        return wrong;
    if (settings->is_admission && settings->node_overlay)
        return "--admission or --node-overlay, not both";
    if (settings->is_kyverno && !settings->is_admission)
        return "--kyverno goes with --admission";
    if (settings->admission_version != ADMISSION_V1 &&
        (settings->is_kyverno || !settings->is_admission))
        return "--admission-version goes with --admission, and not with --kyverno";
    if (settings->is_admission || settings->node_overlay)
        return check_published(settings);
    if (settings->source.access.server && (settings->policies.n > 0 || settings->may_bind))
        return "--server queries a running berth, which knows its policies and whether it binds";
    if (!settings->source.access.server && server_source_is_given(&settings->source))
        return "--ca, --cert and --key go with --server; kube-scheduler uses --tls-ca, "
               "--client-cert and --client-key";
    wrong = server_source_check(&settings->source);
    if (wrong)
        return wrong;
    if (!settings->client_cert != !settings->client_key)
        return "--client-cert and --client-key go together";
    if (settings->has_leader_election && settings->has_no_leader_election)
        return "--leader-elect or --no-leader-elect, not both";
    if ((settings->lease_namespace || settings->lease_name) && !settings->has_leader_election)
        return "--lease-namespace and --lease-name go with --leader-elect";
    return check_url(settings);
}

#define TEXT_MAX ((size_t)8 * 1024 * 1024)
#define PEM_MAX ((size_t)1024 * 1024)
#define NOTES_MAX ((size_t)64 * 1024)
#define DEADLINE_MAX_SEC 3600.0

/* Warns about policies of @program, or else of @berth, whose counts are exact only with --bind. */
static void recommend_bind(const Program *program, const BerthFact *berth) {
    _cleanup_(buf_done) Buf names = BUF_INIT(NOTES_MAX);
    size_t n;

    assert(program || berth);
    n = program ? program->n_policies : berth->n_policies;
    for (size_t i = 0; i < n; i++)
        (void)counting_rules_print(
            (CountingPolicy){.policy = program ? &program->policies[i] : NULL,
                .fact = program ? NULL : &berth->policies[i]},
            BIND_BY_SCHEDULER, EXACT_NOT, names.len > 0 ? ", " : "", &names);
    if (names.len > 0)
        terminal_warn(
            "note: counts of %.*s are %s", STR_FMT(buf_str(&names)), exactness_text(EXACT_NOT));
}

static BerthFact fetch_features(const BerthAccess *access, Arena *arena) {
    BerthFact berth;

    progress_begin("asking berth");
    collect_berth(access, arena, &berth);
    progress_end();
    if (!str_is_empty(berth.error))
        terminal_fail("%s", arena_copy(arena, berth.error).ptr);
    if (!berth.answers_bind)
        recommend_bind(NULL, &berth);
    return berth;
}

static BerthFact load_features(const ConfigSettings *settings, Arena *arena) {
    _cleanup_(program_unrefp) Program *program = NULL;

    if (settings->policies.n == 0) {
        terminal_warn(
            "note: no --policy and no --server: written for policies with filters and scores");
        return (BerthFact){.has_filters = true,
            .has_scores = true,
            .knows_cluster = true,
            .answers_bind = settings->may_bind};
    }
    program = policy_files_load(&settings->policies, arena);
    if (!settings->may_bind)
        recommend_bind(program, NULL);
    return (BerthFact){
        .has_filters = program->n_filters > 0,
        .has_scores = program->n_scores > 0,
        .knows_cluster = true,
        .max_score = (int)program_wire_max(program),
        .answers_bind = settings->may_bind,
    };
}

static void check_berth(
    const ConfigSettings *settings, const BerthFact *berth, int64_t timeout_nsec) {
    if (!berth->knows_cluster)
        terminal_exit(EXIT_USAGE,
            "that berth has no cluster, so kube-scheduler would have to send whole "
            "nodes with every call (and from 1.33 on score them as if they were "
            "empty). Start it with --kubeconfig or --in-cluster");
    if (berth->answers_bind && settings->is_ignorable)
        terminal_exit(EXIT_USAGE,
            "--ignorable with a berth that binds: while it does not answer, "
            "kube-scheduler 1.30 and later binds pods itself, bypassing berth. "
            "Leave out one of the two");
    if (berth->deadline_sec > 0 && berth->deadline_sec < DEADLINE_MAX_SEC &&
        timeout_nsec <= (int64_t)(berth->deadline_sec * NSEC_PER_SEC))
        terminal_exit(EXIT_USAGE,
            "--timeout is not longer than berth's own --deadline: kube-scheduler "
            "would time out first, and the pod would wait in vain");
    if (berth->n_client_names > 0 && !settings->client_cert)
        terminal_warn("note: that berth requires a client certificate: give "
                      "--client-cert and --client-key (berth certs makes them)");
}

/* --- the configuration ------------------------------------------------------------------- */

/* The CA as base64; empty: none was given. */
static Str read_ca(const ConfigSettings *settings, Arena *arena) {
    _cleanup_(buf_done) Buf pem = BUF_INIT(PEM_MAX), text = BUF_INIT(2 * PEM_MAX);

    if (!settings->tls_ca)
        return STR_NULL;
    terminal_read_file(settings->tls_ca, &pem);
    if (!pem.data || pem.len == 0 || !memmem(pem.data, pem.len, "-----BEGIN CERTIFICATE-----", 27))
        terminal_exit(EXIT_FAILED, "%s holds no certificate (PEM)", settings->tls_ca);
    if (memmem(pem.data, pem.len, "PRIVATE KEY-----", 16))
        terminal_exit(EXIT_FAILED,
            "%s holds a private key, which must not get into kube-scheduler's "
            "configuration; --tls-ca takes the CA's certificate (ca.crt)",
            settings->tls_ca);
    base64_encode(buf_str(&pem), &text);
    return arena_copy(arena, buf_str(&text));
}

/* Sets the resources of --managed-resource, or with --server those of the running berth: then the
 * options can only add ":ignored" to them. */
static void set_managed(
    const ConfigSettings *settings, const BerthFact *berth, Arena *arena, ExtenderEntry *entry) {
    size_t n = settings->source.access.server ? berth->n_managed : settings->n_managed;

    entry->managed = ARENA_ARRAY(arena, ManagedResource, n);
    for (size_t i = 0; i < n; i++)
        entry->managed[i] = settings->source.access.server
                                ? (ManagedResource){.name = berth->managed[i]}
                                : settings->managed[i];
    entry->n_managed = n;
    for (size_t i = 0; settings->source.access.server && i < settings->n_managed; i++) {
        size_t j = 0;

        while (j < n && !str_eq(entry->managed[j].name, settings->managed[i].name))
            j++;
        if (j == n)
            terminal_exit(EXIT_USAGE, "that berth runs without --managed-resource %.*s",
                STR_FMT(settings->managed[i].name));
        entry->managed[j] = settings->managed[i];
    }
}

/* filterVerb is always set: from filters berth knows which pods were placed or bypassed it. */
static void set_verbs(
    const ConfigSettings *settings, const BerthFact *berth, ExtenderEntry *entry) {
    entry->filter_verb = STR("filter");
    if (berth->has_filters)
        entry->preempt_verb = STR("preempt");
    if (berth->has_scores) {
        entry->prioritize_verb = STR("prioritize");
        entry->weight = settings->weight;
        entry->max_score = berth->max_score;
    }
    if (berth->answers_bind)
        entry->bind_verb = STR("bind");
}

static void set_policy_source(const ConfigSettings *settings, SchedulerConfig *config) {
    Str map = str_from_c(settings->policy_map);

    config->api_version = STR("kubescheduler.config.k8s.io/v1alpha1");
    if (settings->policy_map && str_split(&map, '/', &config->policy_map_namespace))
        config->policy_map_name = map;
    else
        config->policy_file =
            settings->policy_file ? str_from_c(settings->policy_file) : STR(POLICY_FILE_DEFAULT);
}

static void set_scheduler(const ConfigSettings *settings, Str *name, SchedulerConfig *config) {
    bool is_second = settings->scheduler_name != NULL;

    *name = is_second ? str_from_c(settings->scheduler_name) : STR("default-scheduler");
    config->scheduler_names = name;
    config->n_scheduler_names = 1;
    config->percentage = -1;
    if (settings->format == FORMAT_POLICY)
        return;
    if (settings->format == FORMAT_V1ALPHA1)
        set_policy_source(settings, config);
    config->percentage = settings->percentage < 0 ? 100 : (int)settings->percentage;
    config->kubeconfig = str_from_c(settings->kubeconfig);
    config->has_leader_election =
        settings->has_leader_election || (!is_second && !settings->has_no_leader_election);
    config->lease_namespace = str_from_c(settings->lease_namespace);
    config->lease_name = str_from_c(settings->lease_name);
    if (!is_second || !settings->has_leader_election)
        return;
    if (!settings->lease_namespace)
        config->lease_namespace = STR(CONFIG_LEASE_NAMESPACE);
    if (!settings->lease_name)
        config->lease_name = *name;
}

/* Validates the output by kube-scheduler's rules. @is_old: the user chose an old version, so the
 * warnings about it are left out. */
static void check_text(Str text, bool is_old, Arena *arena) {
    DiagList diags = DIAG_LIST_IN(arena);
    SchedulerConfig back;
    int r = scheduler_config_read(STR("kube-scheduler would say"), text, arena, &diags, &back);

    if (r == -ENOMEM)
        terminal_out_of_memory("kube-scheduler's configuration", arena);
    if (r != 0)
        terminal_exit_for(EXIT_USAGE, &diags);
    if (!is_old)
        terminal_print_diags(&diags);
}

static void print_head(const SchedulerConfig *config, const BerthFact *berth, Buf *out) {
    bool has_policy = config->policy_file.len + config->policy_map_name.len > 0;

    buf_printf(out,
        "# kube-scheduler with berth as its extender: kube-scheduler --config=FILE, 1.%s\n"
        "# %s. Generated by `berth config` for policies with %s. If that\n"
        "# changes, generate it again and restart kube-scheduler, which reads it once.\n",
        has_policy ? "16 to" : "25 and", has_policy ? "1.18" : "later",
        berth->has_filters && berth->has_scores ? "filters and scores"
        : berth->has_filters                    ? "filters and no scores"
        : berth->has_scores                     ? "scores and no filters"
                                                : "neither filters nor scores");
    if (config->policy_file.len > 0)
        buf_printf(out, "#\n# Two files: this one, and after the line --- the Policy, for %.*s.\n",
            STR_FMT(config->policy_file));
    else if (has_policy)
        buf_printf(out,
            "#\n# Two files: this one, and after the line --- the Policy, for the key policy.cfg "
            "of\n# ConfigMap %.*s/%.*s.\n",
            STR_FMT(config->policy_map_namespace), STR_FMT(config->policy_map_name));
}

static void make_config(const ConfigSettings *settings, Arena *arena) {
    ExtenderEntry entry = {.url_prefix = str_from_c(settings->url),
        .is_node_cache_capable = true,
        .is_ignorable = settings->is_ignorable};
    SchedulerConfig config = {
        .format = settings->format == FORMAT_POLICY ? WIRING_POLICY : WIRING_V1,
        .extenders = &entry,
        .n_extenders = 1,
    };
    BerthFact berth = settings->source.access.server
                          ? fetch_features(&settings->source.access, arena)
                          : load_features(settings, arena);
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    Str ca, name;

    entry.timeout_nsec = settings->timeout_nsec ? settings->timeout_nsec
                                                : (berth.answers_bind ? 15 : 1) * NSEC_PER_SEC;
    check_berth(settings, &berth, entry.timeout_nsec);
    ca = read_ca(settings, arena);
    set_managed(settings, &berth, arena, &entry);
    entry.is_https = !str_is_empty(ca);
    if (entry.is_https)
        entry.tls = (ExtenderTls){
            .is_given = true,
            .ca_data = ca,
            .server_name = str_from_c(settings->server_name),
            .cert_file = str_from_c(settings->client_cert),
            .key_file = str_from_c(settings->client_key),
        };
    set_verbs(settings, &berth, &entry);
    set_scheduler(settings, &name, &config);
    if (config.format == WIRING_V1)
        print_head(&config, &berth, &out);
    scheduler_config_write(&config, &out);
    if (buf_error(&out) < 0)
        terminal_text_failed("kube-scheduler's configuration", &out);
    check_text(buf_str(&out), config.api_version.len > 0, arena);
    terminal_output(buf_str(&out));
}

/* --- objects for published filters ----------------------------------------------------------- */

static void write_policy(const Policy *policy, AdmissionFormat format, Buf *out) {
    for (AdmissionKind kind = 0; kind < _ADMISSION_KINDS; kind++) {
        if (!admission_is_needed(policy, kind))
            continue;
        if (expression_is_given(&policy->match.expression))
            terminal_exit(EXIT_FAILED,
                "the policy %.*s has a match.expression: admission selects pods by labels and "
                "namespaces only",
                STR_FMT(policy->name));
        if (admission_write(policy, kind, format, out) < 0)
            terminal_out_of_memory("the admission policies", NULL);
    }
}

/* Writes admission policies for all policies of @program (or NULL) that publish something, and for
 * namespaces that opt in to @scheduler (or empty). */
static void write_admission(
    const Program *program, Str scheduler, AdmissionFormat format, Buf *out) {
    for (size_t i = 0; program && i < program->n_policies; i++)
        write_policy(&program->policies[i], format, out);
    if (!str_is_empty(scheduler) && opt_in_write(scheduler, format, out) < 0)
        terminal_out_of_memory("the admission policies", NULL);
    if (out->len == 0 && buf_error(out) == 0)
        terminal_exit(EXIT_FAILED,
            "no policy publishes anything: add `publish: slots` to a maxPods filter, or `publish: "
            "label` to one that reads only the node");
}

/* Writes a NodeOverlay of Karpenter's NodePool @pool for each policy that publishes slots. */
static void write_node_overlays(const Program *program, const char *pool, Buf *out) {
    assert(program);
    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];
        const SlotRule *slots = policy->is_observed ? NULL : policy_slots(policy);

        if (!slots)
            continue;
        if (out->len > 0)
            buf_append(out, STR("---\n"));
        buf_printf(out,
            "# What new nodes of Karpenter's NodePool %s offer. Needs its feature gate "
            "NodeOverlay.\n"
            "apiVersion: karpenter.sh/v1alpha1\n"
            "kind: NodeOverlay\n"
            "metadata: {name: berth-slots.%.*s.%s}\n"
            "spec:\n"
            "  requirements: [{key: karpenter.sh/nodepool, operator: In, values: [%s]}]\n"
            "  capacity: {%.*s: \"%" PRId64 "\"}\n",
            pool, STR_FMT(policy->name), pool, pool, STR_FMT(slots->resource), slots->limit);
    }
    if (out->len == 0 && buf_error(out) == 0)
        terminal_exit(EXIT_FAILED, "no policy publishes slots");
}

static void make_published(const ConfigSettings *settings, Arena *arena) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    _cleanup_(program_unrefp) Program *program =
        settings->policies.n > 0 ? policy_files_load(&settings->policies, arena) : NULL;

    if (settings->is_admission)
        write_admission(program, str_from_c(settings->scheduler_name),
            settings->is_kyverno ? ADMISSION_KYVERNO : settings->admission_version, &out);
    else
        write_node_overlays(program, settings->node_overlay, &out);
    if (buf_error(&out) < 0)
        terminal_text_failed("what is published", &out);
    terminal_output(buf_str(&out));
}

static int run(void *settings, const Arguments *arguments) {
    const ConfigSettings *given = settings;

    if (given->is_admission || given->node_overlay)
        make_published(given, arguments->arena);
    else
        make_config(given, arguments->arena);
    return EXIT_FINE;
}

const Command config_command = {
    .name = "config",
    .summary = "print kube-scheduler's configuration for berth",
    .usage = "[--server URL | --policy FILE-OR-DIR...] [OPTIONS]",
    .about =
        "Prints kube-scheduler's configuration for berth, with a comment for each line: the file "
        "for its --config (1.25 and later), both files of 1.16 to 1.18 with a line --- between "
        "them, or the "
        "file for its --policy-config-file (1.16 to 1.22).",
    .options = config_options,
    .budget = (size_t)256 * 1024 * 1024,
    .memory_for = "kube-scheduler's configuration",
    .settings_size = sizeof(ConfigSettings),
    .defaults =
        &(const ConfigSettings){.url = SERVER_SOURCE_DEFAULT, .weight = 5, .percentage = -1},
    .check = config_settings_check,
    .run = run,
};
