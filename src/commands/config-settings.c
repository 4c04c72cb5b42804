#include "commands/config-settings.h"

#include <getopt.h>
#include <stdio.h>

#include "base/nsec.h"
#include "base/origin.h"
#include "cli/command.h"
#include "cli/usage.h"
#include "cli/values.h"

#define WHO "berth config"
#define WEIGHT_MAX 1000000000
#define TIMEOUT_MAX (600 * NSEC_PER_SEC)

enum {
    OPT_FORMAT = 256,
    OPT_POLICY,
    OPT_BIND,
    OPT_MANAGED,
    OPT_URL,
    OPT_TLS_CA,
    OPT_SERVER_NAME,
    OPT_CLIENT_CERT,
    OPT_CLIENT_KEY,
    OPT_INSECURE_HTTP,
    OPT_TIMEOUT,
    OPT_WEIGHT,
    OPT_IGNORABLE,
    OPT_PERCENTAGE,
    OPT_SCHEDULER_NAME,
    OPT_LEADER_ELECT,
    OPT_NO_LEADER_ELECT,
    OPT_LEASE_NAMESPACE,
    OPT_LEASE_NAME,
    OPT_KUBECONFIG,
};

static void print_help(FILE *out) {
    (void)fprintf(out,
        "usage: %s config [--server URL | --policy FILE-OR-DIR...] [OPTIONS]\n"
        "\n"
        "Prints what kube-scheduler is told of berth, each line explained: the file for its\n"
        "--config (1.25 and later), or for its --policy-config-file (1.16 to 1.22).\n"
        "\n"
        "  --format v1|policy     KubeSchedulerConfiguration, or the legacy Policy   [v1]\n"
        "\n"
        "Which verbs berth answers\n"
        "  --server URL           those of the berth that runs there\n"
        "  --ca FILE              who may have signed its certificate (PEM)\n"
        "  --cert FILE --key FILE  our own, where it asks for one\n"
        "  --policy FILE-OR-DIR   or: those that these policies need; may be repeated\n"
        "  --bind                 and bind, as in `berth serve --bind`\n"
        "  --managed-resource NAME[:ignored]  only pods that request it are asked about; may be\n"
        "                         repeated; ignored: nodes need not offer it\n"
        "\n"
        "How kube-scheduler reaches it\n"
        "  --url URL              as it sees it                   [" SERVER_SOURCE_DEFAULT "]\n"
        "  --tls-ca FILE          who signed berth's certificate (PEM); written into the file;\n"
        "                         needed for https\n"
        "  --tls-server-name NAME  what the certificate is for, if not the URL's host\n"
        "  --client-cert PATH --client-key PATH  its own, as paths where it runs\n"
        "  --timeout TIME         for one call                 [1s; 15s when berth binds]\n"
        "  --insecure-http        allow plain HTTP to an address that is not loopback\n"
        "\n"
        "What berth may decide\n"
        "  --weight N             of its scores; 5 is at most 29 %% of a node's total  [5]\n"
        "  --ignorable            place pods without berth when it does not answer; else\n"
        "                         they wait\n"
        "  --percentage N         of nodes that are looked at; 0: its own choice    [100]\n"
        "\n"
        "Which kube-scheduler it is\n"
        "  --scheduler-name NAME  a second one, for pods with this spec.schedulerName\n"
        "                         [the default scheduler]\n"
        "  --leader-elect         a second one that has replicas: one of them works; the default\n"
        "                         scheduler is always told so\n"
        "  --no-leader-elect      ... unless there is only one of it, ever\n"
        "  --lease-namespace NAME --lease-name NAME  by this Lease\n"
        "                         [of a second one: " CONFIG_LEASE_NAMESPACE "/its name]\n"
        "  --scheduler-kubeconfig PATH  its own, where it runs in no pod, or a static one\n",
        program_name);
}

static int misused(const char *what) {
    return usage_error("config", what, print_help);
}

/* --- options -------------------------------------------------------------------------------- */

static int add_managed(ConfigSettings *settings, const char *value) {
    Str name = str_from_c(value), ignored = STR(":ignored");
    bool is_ignored = str_has_suffix(name, ignored);

    if (settings->n_managed == WIRING_RESOURCES_MAX)
        return misused("too many of --managed-resource");
    if (is_ignored)
        name = str_take(name, name.len - ignored.len);
    settings->managed[settings->n_managed++] =
        (ManagedResource){.name = name, .is_ignored_by_scheduler = is_ignored};
    return 0;
}

static int set_format(ConfigSettings *settings, const char *value) {
    unsigned choice = 0;
    int r = value_choice("config", "format", value, "v1|policy", &choice);

    settings->is_policy = choice == 1;
    return r;
}

/* Where a plain text goes; NULL: the option is none of those. */
static const char **text_of(ConfigSettings *settings, int option) {
    switch (option) {
    case OPT_URL:
        return &settings->url;
    case OPT_TLS_CA:
        return &settings->tls_ca;
    case OPT_SERVER_NAME:
        return &settings->server_name;
    case OPT_CLIENT_CERT:
        return &settings->client_cert;
    case OPT_CLIENT_KEY:
        return &settings->client_key;
    case OPT_SCHEDULER_NAME:
        return &settings->scheduler_name;
    case OPT_LEASE_NAMESPACE:
        return &settings->lease_namespace;
    case OPT_LEASE_NAME:
        return &settings->lease_name;
    case OPT_KUBECONFIG:
        return &settings->kubeconfig;
    default:
        return NULL;
    }
}

static bool *flag_of(ConfigSettings *settings, int option) {
    switch (option) {
    case OPT_BIND:
        return &settings->may_bind;
    case OPT_INSECURE_HTTP:
        return &settings->insecure_http;
    case OPT_IGNORABLE:
        return &settings->is_ignorable;
    case OPT_LEADER_ELECT:
        return &settings->has_leader_election;
    case OPT_NO_LEADER_ELECT:
        return &settings->has_no_leader_election;
    default:
        return NULL;
    }
}

static int set_option(ConfigSettings *settings, int option, const char *value) {
    const char **text = text_of(settings, option);
    bool *flag = flag_of(settings, option);

    if (text)
        *text = value;
    if (text || server_source_set(&settings->source, option, value))
        return value[0] ? 0 : misused("an option's value is empty");
    if (flag) {
        *flag = true;
        return 0;
    }
    switch (option) {
    case OPT_FORMAT:
        return set_format(settings, value);
    case OPT_POLICY:
        return policy_paths_add(&settings->policies, "config", value);
    case OPT_MANAGED:
        return add_managed(settings, value);
    case OPT_TIMEOUT:
        return value_duration(
            "config", "timeout", value, NSEC_PER_MSEC, TIMEOUT_MAX, &settings->timeout_nsec);
    case OPT_WEIGHT:
        return value_number("config", "weight", value, 1, WEIGHT_MAX, &settings->weight);
    case OPT_PERCENTAGE:
        return value_number("config", "percentage", value, 0, 100, &settings->percentage);
    default:
        return misused(NULL);
    }
}

/* --- what goes together ----------------------------------------------------------------------- */

static const char *check_tls(const ConfigSettings *settings, const Origin *origin) {
    if (!origin->is_tls && (settings->tls_ca || settings->client_cert || settings->server_name))
        return "certificates are for https: give --url https://…";
    if (!origin->is_tls && !origin_is_loopback(origin) && !settings->insecure_http)
        return "--url is plain HTTP to another machine: anybody between could place pods. Use "
               "https with --tls-ca (certificates: berth certs), or give --insecure-http";
    if (origin->is_tls && !settings->tls_ca)
        return "https needs --tls-ca FILE: without a CA kube-scheduler trusts anybody who answers, "
               "and says nothing. `berth certs` makes one (ca.crt)";
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

/* A Policy holds extenders and nothing else of what can be said here. */
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

static const char *check_settings(const ConfigSettings *settings) {
    const char *wrong = check_format(settings);

    if (wrong)
        return wrong;
    if (settings->source.access.server && (settings->policies.n > 0 || settings->may_bind))
        return "--server asks a berth that runs, which knows its policies and whether it binds";
    if (!settings->source.access.server && server_source_is_given(&settings->source))
        return "--ca, --cert and --key go with --server; what kube-scheduler uses is --tls-ca, "
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

int config_settings_read(int argc, char *argv[], ConfigSettings *ret, bool *ret_is_done) {
    static const struct option options[] = {
        {"format", required_argument, NULL, OPT_FORMAT},
        {"server", required_argument, NULL, SERVER_SOURCE_SERVER},
        {"ca", required_argument, NULL, SERVER_SOURCE_CA},
        {"cert", required_argument, NULL, SERVER_SOURCE_CERT},
        {"key", required_argument, NULL, SERVER_SOURCE_KEY},
        {"policy", required_argument, NULL, OPT_POLICY},
        {"bind", no_argument, NULL, OPT_BIND},
        {"managed-resource", required_argument, NULL, OPT_MANAGED},
        {"url", required_argument, NULL, OPT_URL},
        {"tls-ca", required_argument, NULL, OPT_TLS_CA},
        {"tls-server-name", required_argument, NULL, OPT_SERVER_NAME},
        {"client-cert", required_argument, NULL, OPT_CLIENT_CERT},
        {"client-key", required_argument, NULL, OPT_CLIENT_KEY},
        {"insecure-http", no_argument, NULL, OPT_INSECURE_HTTP},
        {"timeout", required_argument, NULL, OPT_TIMEOUT},
        {"weight", required_argument, NULL, OPT_WEIGHT},
        {"ignorable", no_argument, NULL, OPT_IGNORABLE},
        {"percentage", required_argument, NULL, OPT_PERCENTAGE},
        {"scheduler-name", required_argument, NULL, OPT_SCHEDULER_NAME},
        {"leader-elect", no_argument, NULL, OPT_LEADER_ELECT},
        {"no-leader-elect", no_argument, NULL, OPT_NO_LEADER_ELECT},
        {"lease-namespace", required_argument, NULL, OPT_LEASE_NAMESPACE},
        {"lease-name", required_argument, NULL, OPT_LEASE_NAME},
        {"scheduler-kubeconfig", required_argument, NULL, OPT_KUBECONFIG},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    const char *wrong;
    int option, r;

    *ret = (ConfigSettings){.url = SERVER_SOURCE_DEFAULT, .weight = 5, .percentage = -1};
    *ret_is_done = false;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            print_help(stdout);
            *ret_is_done = true;
            return 0;
        }
        r = set_option(ret, option, optarg);
        if (r != 0)
            return r;
    }
    if (optind < argc)
        return misused("it takes options only");
    wrong = check_settings(ret);
    return wrong ? misused(wrong) : 0;
}
