/*
 * The option table of `berth config`, and which options go together.
 */

#include "commands/config-settings.h"

#include <stdio.h>

#include "base/nsec.h"
#include "base/origin.h"
#include "cli/command.h"

#define WHO "berth config"
#define WEIGHT_MAX 1000000000
#define TIMEOUT_MAX (600 * NSEC_PER_SEC)

/* --- options -------------------------------------------------------------------------------- */

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
const Option config_options[] = {
    {"format", OPTION_CHOICE, .argument = "v1|policy", OPTION_AT(ConfigSettings, is_policy), .initial = "v1",
        .help = "KubeSchedulerConfiguration, or the legacy Policy"},

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
        .initial = "100", .help = "percentageOfNodesToScore; 0: kube-scheduler's own choice"},

    OPTION_GROUP("Which kube-scheduler it is"),
    {"scheduler-name", OPTION_TEXT, .argument = "NAME", AT(scheduler_name), .initial = "the default scheduler",
        .help = "a second one, for pods with this spec.schedulerName"},
    {"leader-elect", OPTION_FLAG, OPTION_AT(ConfigSettings, has_leader_election),
        .help = "leader election for the replicas of a second one; the default scheduler always has it"},
    {"no-leader-elect", OPTION_FLAG, OPTION_AT(ConfigSettings, has_no_leader_election),
        .help = "... unless it never has more than one replica"},
    {"lease-namespace", OPTION_TEXT, .argument = "NAME", AT(lease_namespace),
        .initial = "of a second one: " CONFIG_LEASE_NAMESPACE, .help = "namespace of the Lease"},
    {"lease-name", OPTION_TEXT, .argument = "NAME", AT(lease_name), .initial = "of a second one: its name",
        .help = "name of the Lease"},
    {"scheduler-kubeconfig", OPTION_FILE, .argument = "PATH", AT(kubeconfig),
        .help = "its own kubeconfig, if it runs outside a pod or in a static one"},
    {0},
};
/* clang-format on */

/* --- which options go together
 * ----------------------------------------------------------------------- */

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
        (void)fprintf(stderr, WHO ": --url %s: it %s\n", settings->url, complaint);
        return "expected a URL like https://berth.berth-system.svc:8443";
    }
    return origin_parse(str_from_c(settings->url), &origin) ? check_tls(settings, &origin) : NULL;
}

/* A Policy holds extenders only. */
static const char *check_format(const ConfigSettings *settings) {
    if (!settings->is_policy)
        return NULL;
    if (settings->scheduler_name || settings->has_leader_election ||
        settings->has_no_leader_election || settings->kubeconfig || settings->percentage >= 0)
        return "a Policy holds extenders only; --scheduler-name, --leader-elect and --kubeconfig "
               "are flags of kube-scheduler 1.16 to 1.22 itself, and percentageOfNodesToScore is "
               "in the file of its --config";
    return NULL;
}

const char *config_settings_check(void *context, const Arguments *arguments) {
    const ConfigSettings *settings = context;
    const char *wrong = check_format(settings);

    if (wrong)
        return wrong;
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
