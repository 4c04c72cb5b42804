/*
 * berth serve: the extender.
 */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "cli/values.h"
#include "serve/daemon.h"
#include "serve/decisions.h"

#define POLICIES_MAX 16u
#define CLIENT_NAMES_MAX 64u

/* kube-scheduler gives an extender 5 s unless it is told otherwise. */
#define DEADLINE_MIN_NSEC (INT64_C(1) * 1000 * 1000)
#define DEADLINE_MAX_NSEC (INT64_C(60) * 1000 * 1000 * 1000)

/* What the options are collected into; the daemon borrows from it. */
typedef struct Settings {
    DaemonOptions daemon;
    const char *policies[POLICIES_MAX];
    Str client_names[CLIENT_NAMES_MAX];
    Str managed[LIVE_MANAGED_RESOURCES_MAX];
    Listen listen;
    LogLevel log_level;
    LogFormat log_format;
} Settings;

/* --- values -------------------------------------------------------------------- */

static int usage_error(const char *option, const char *value, const char *wanted) {
    return value_error("serve", option, value, wanted);
}

static int set_listen(Settings *settings, const char *value) {
    int r = value_listen("serve", value, &settings->listen);

    settings->daemon.server.address = settings->listen.address;
    settings->daemon.server.port = settings->listen.port;
    return r;
}

static int set_size(const char *option, const char *value, size_t *ret) {
    return value_size("serve", option, value, ret);
}

static int set_number(
    const char *option, const char *value, int64_t min, int64_t max, unsigned *ret) {
    int64_t number = 0;
    int r = value_number("serve", option, value, min, max, &number);

    if (r == 0)
        *ret = (unsigned)number;
    return r;
}

static int set_decisions(Settings *settings, const char *option, const char *value) {
    unsigned n = 0;
    int r = set_number(option, value, 0, DECISIONS_MAX, &n);

    settings->daemon.n_decisions = n;
    return r;
}

static int add_policy(Settings *settings, const char *value) {
    if (settings->daemon.n_policy_paths == POLICIES_MAX)
        return usage_error("policy", value, "too many; put them into one folder");
    settings->policies[settings->daemon.n_policy_paths++] = value;
    return 0;
}

static int add_client_name(Settings *settings, const char *value) {
    if (settings->daemon.tls.n_client_names == CLIENT_NAMES_MAX)
        return usage_error("client-name", value, "too many names");
    settings->client_names[settings->daemon.tls.n_client_names++] = str_from_c(value);
    return 0;
}

static int add_managed(Settings *settings, const char *value) {
    if (settings->daemon.live.n_managed == LIVE_MANAGED_RESOURCES_MAX)
        return usage_error("managed-resource", value, "too many names");
    settings->managed[settings->daemon.live.n_managed++] = str_from_c(value);
    return 0;
}

/* --- options ------------------------------------------------------------------- */

enum {
    OPTION_LISTEN = 256,
    OPTION_POLICY,
    OPTION_CLUSTER,
    OPTION_KUBECONFIG,
    OPTION_CONTEXT,
    OPTION_IN_CLUSTER,
    OPTION_WATCH_SILENCE,
    OPTION_BIND,
    OPTION_BIND_WINDOW,
    OPTION_WAKE_UP,
    OPTION_MANAGED_RESOURCE,
    OPTION_DUMP_FILE,
    OPTION_PROMETHEUS,
    OPTION_SOURCES,
    OPTION_TLS_CERT,
    OPTION_TLS_KEY,
    OPTION_CLIENT_CA,
    OPTION_CLIENT_NAME,
    OPTION_INSECURE_HTTP,
    OPTION_WORKERS,
    OPTION_MAX_HEADER,
    OPTION_MAX_BODY,
    OPTION_MAX_MEMORY,
    OPTION_HEADER_TIMEOUT,
    OPTION_BODY_GRACE,
    OPTION_BODY_MIN_RATE,
    OPTION_WRITE_TIMEOUT,
    OPTION_IDLE_TIMEOUT,
    OPTION_MAX_CONNECTIONS,
    OPTION_MAX_CONNECTIONS_PER_ADDRESS,
    OPTION_DEADLINE,
    OPTION_DECISIONS,
    OPTION_DECISIONS_MEMORY,
    OPTION_LOG_LEVEL,
    OPTION_LOG_FORMAT,
};

static const struct option long_options[] = {
    {"listen", required_argument, NULL, OPTION_LISTEN},
    {"policy", required_argument, NULL, OPTION_POLICY},
    {"cluster", required_argument, NULL, OPTION_CLUSTER},
    {"kubeconfig", required_argument, NULL, OPTION_KUBECONFIG},
    {"context", required_argument, NULL, OPTION_CONTEXT},
    {"in-cluster", no_argument, NULL, OPTION_IN_CLUSTER},
    {"watch-silence", required_argument, NULL, OPTION_WATCH_SILENCE},
    {"bind", no_argument, NULL, OPTION_BIND},
    {"bind-window", required_argument, NULL, OPTION_BIND_WINDOW},
    {"wake-up", no_argument, NULL, OPTION_WAKE_UP},
    {"managed-resource", required_argument, NULL, OPTION_MANAGED_RESOURCE},
    {"dump-file", required_argument, NULL, OPTION_DUMP_FILE},
    {"prometheus", required_argument, NULL, OPTION_PROMETHEUS},
    {"sources", required_argument, NULL, OPTION_SOURCES},
    {"tls-cert", required_argument, NULL, OPTION_TLS_CERT},
    {"tls-key", required_argument, NULL, OPTION_TLS_KEY},
    {"client-ca", required_argument, NULL, OPTION_CLIENT_CA},
    {"client-name", required_argument, NULL, OPTION_CLIENT_NAME},
    {"insecure-http", no_argument, NULL, OPTION_INSECURE_HTTP},
    {"workers", required_argument, NULL, OPTION_WORKERS},
    {"max-header", required_argument, NULL, OPTION_MAX_HEADER},
    {"max-body", required_argument, NULL, OPTION_MAX_BODY},
    {"max-memory", required_argument, NULL, OPTION_MAX_MEMORY},
    {"header-timeout", required_argument, NULL, OPTION_HEADER_TIMEOUT},
    {"body-grace", required_argument, NULL, OPTION_BODY_GRACE},
    {"body-min-rate", required_argument, NULL, OPTION_BODY_MIN_RATE},
    {"write-timeout", required_argument, NULL, OPTION_WRITE_TIMEOUT},
    {"idle-timeout", required_argument, NULL, OPTION_IDLE_TIMEOUT},
    {"max-connections", required_argument, NULL, OPTION_MAX_CONNECTIONS},
    {"max-connections-per-address", required_argument, NULL, OPTION_MAX_CONNECTIONS_PER_ADDRESS},
    {"deadline", required_argument, NULL, OPTION_DEADLINE},
    {"decisions", required_argument, NULL, OPTION_DECISIONS},
    {"decisions-memory", required_argument, NULL, OPTION_DECISIONS_MEMORY},
    {"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
    {"log-format", required_argument, NULL, OPTION_LOG_FORMAT},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static void print_help(FILE *out) {
    (void)fprintf(out,
        "usage: %s serve [OPTIONS]\n"
        "\n"
        "Answers kube-scheduler's filter, prioritize, preempt and bind calls.\n"
        "Prints \"listening on URL\" once it serves. SIGHUP reads policies, cluster, sources\n"
        "and certificates again (changed files are noticed anyway); SIGUSR2 writes the\n"
        "cluster as berth sees it to --dump-file; SIGTERM ends it in order.\n"
        "\n"
        "  --listen ADDR:PORT     where to listen; port 0 picks one      [127.0.0.1:8080]\n"
        "  --policy FILE-OR-DIR   placement policies; may be repeated    [all nodes pass]\n"
        "\n"
        "The cluster, one of these; needed when kube-scheduler sends names only\n"
        "  --kubeconfig FILE      watch the API server that this file names\n"
        "  --context NAME         with another of its contexts than the current one\n"
        "  --in-cluster           watch with the service account of the pod berth runs in\n"
        "  --cluster FILE         nodes and pods, as `kubectl get nodes,pods -A -o json`\n"
        "                         prints them\n"
        "\n"
        "With a cluster that is watched\n"
        "  --bind                 answer the bind verb (needs the right to create\n"
        "                         pods/binding)\n"
        "  --bind-window SEC      how long after its filter a pod may be bound      [900]\n"
        "  --wake-up              annotate nodes that would pass now, so that\n"
        "                         kube-scheduler tries again (needs the right to patch nodes)\n"
        "  --managed-resource NAME  as in the scheduler's managedResources: other pods are\n"
        "                         not missed when they are bound without us; may be repeated\n"
        "  --watch-silence SEC    give up a watch that says nothing for so long     [150]\n"
        "  --dump-file FILE       where SIGUSR2 writes                  [berth-dump.json]\n"
        "\n"
        "What policies measure (metrics:)\n"
        "  --prometheus URL       the server that is asked unless a metric names another\n"
        "                         source: Prometheus, Thanos, VictoriaMetrics, Mimir ...\n"
        "  --sources FILE         such servers by name, with credentials and certificates\n"
        "\n"
        "Security\n"
        "  --tls-cert FILE --tls-key FILE   serve HTTPS (PEM)\n"
        "  --client-ca FILE       ask for client certificates of this CA\n"
        "  --client-name NAME     whose subject CN or SAN is this; may be repeated\n"
        "                                                         [system:kube-scheduler]\n"
        "  --insecure-http        allow plain HTTP on an address that is not loopback\n"
        "\n"
        "Limits\n"
        "  --workers N            threads that answer                                 [2]\n"
        "  --deadline TIME        to evaluate policies for one request; onTimeout says\n"
        "                         what counts for nodes that were not reached     [100ms]\n"
        "  --max-header SIZE      request line and headers                         [32Ki]\n"
        "  --max-body SIZE        one request body                                [128Mi]\n"
        "  --max-memory SIZE      bodies and replies of all requests together     [512Mi]\n"
        "  --header-timeout SEC   to send the headers                                 [5]\n"
        "  --body-grace SEC       after which a body must have come at ...            [2]\n"
        "  --body-min-rate SIZE   ... so many bytes a second                       [64Ki]\n"
        "  --write-timeout SEC    in which the reply must go on at that rate         [5]\n"
        "  --idle-timeout SEC     between two requests                              [120]\n"
        "  --max-connections N    in all                                           [1024]\n"
        "  --max-connections-per-address N                                          [512]\n"
        "\n"
        "  --decisions N          how many are remembered, for /api/v1/decisions and\n"
        "                         `berth explain`; 0: none                        [10000]\n"
        "  --decisions-memory SIZE  in how much memory                              [64Mi]\n"
        "\n"
        "  --log-level LEVEL      debug, info, warn or error                       [info]\n"
        "  --log-format FORMAT    logfmt or json                                 [logfmt]\n",
        program_name);
}

static int set_limit(Settings *settings, int option, const char *name, const char *value) {
    ServerOptions *server = &settings->daemon.server;

    switch (option) {
    case OPTION_WORKERS:
        return set_number(name, value, 1, 256, &server->n_workers);
    case OPTION_MAX_HEADER:
        return set_size(name, value, &server->header_max);
    case OPTION_MAX_BODY:
        return set_size(name, value, &server->body_max);
    case OPTION_MAX_MEMORY:
        return set_size(name, value, &server->memory_max);
    case OPTION_HEADER_TIMEOUT:
        return set_number(name, value, 1, 3600, &server->header_sec);
    case OPTION_BODY_GRACE:
        return set_number(name, value, 1, 3600, &server->body_grace_sec);
    case OPTION_BODY_MIN_RATE:
        return set_size(name, value, &server->body_rate);
    case OPTION_WRITE_TIMEOUT:
        return set_number(name, value, 1, 3600, &server->write_sec);
    case OPTION_IDLE_TIMEOUT:
        return set_number(name, value, 1, 86400, &server->idle_sec);
    case OPTION_MAX_CONNECTIONS:
        return set_number(name, value, 1, 100000, &server->connections_max);
    default:
        return set_number(name, value, 1, 100000, &server->connections_per_address_max);
    }
}

static int set_option(Settings *settings, int option, const char *name, const char *value) {
    DaemonOptions *daemon = &settings->daemon;

    switch (option) {
    case OPTION_LISTEN:
        return set_listen(settings, value);
    case OPTION_POLICY:
        return add_policy(settings, value);
    case OPTION_CLUSTER:
        daemon->cluster_path = value;
        return 0;
    case OPTION_KUBECONFIG:
        daemon->live.kubeconfig = value;
        return 0;
    case OPTION_CONTEXT:
        daemon->live.context = value;
        return 0;
    case OPTION_IN_CLUSTER:
        daemon->live.is_in_cluster = true;
        return 0;
    case OPTION_WATCH_SILENCE:
        return set_number(name, value, 1, 3600, &daemon->live.mirror.silence_sec);
    case OPTION_BIND:
        daemon->live.may_bind = true;
        return 0;
    case OPTION_BIND_WINDOW:
        return set_number(name, value, 1, 86400, &daemon->live.bind_window_sec);
    case OPTION_WAKE_UP:
        daemon->live.may_touch = true;
        return 0;
    case OPTION_MANAGED_RESOURCE:
        return add_managed(settings, value);
    case OPTION_DUMP_FILE:
        daemon->dump_path = value;
        return 0;
    case OPTION_PROMETHEUS:
        daemon->prometheus_url = value;
        return 0;
    case OPTION_SOURCES:
        daemon->sources_path = value;
        return 0;
    case OPTION_TLS_CERT:
        daemon->tls.certificate = value;
        return 0;
    case OPTION_TLS_KEY:
        daemon->tls.key = value;
        return 0;
    case OPTION_CLIENT_CA:
        daemon->tls.client_ca = value;
        return 0;
    case OPTION_CLIENT_NAME:
        return add_client_name(settings, value);
    case OPTION_INSECURE_HTTP:
        daemon->insecure_http = true;
        return 0;
    case OPTION_DEADLINE:
        return value_duration(
            "serve", name, value, DEADLINE_MIN_NSEC, DEADLINE_MAX_NSEC, &daemon->deadline_nsec);
    case OPTION_DECISIONS:
        return set_decisions(settings, name, value);
    case OPTION_DECISIONS_MEMORY:
        return set_size(name, value, &daemon->decisions_bytes);
    case OPTION_LOG_LEVEL:
        return log_level_parse(str_from_c(value), &settings->log_level)
                   ? 0
                   : usage_error(name, value, "expected debug, info, warn or error");
    case OPTION_LOG_FORMAT:
        return log_format_parse(str_from_c(value), &settings->log_format)
                   ? 0
                   : usage_error(name, value, "expected logfmt or json");
    default:
        return set_limit(settings, option, name, value);
    }
}

/* Options that only make sense together. */
static const char *check_cluster(const DaemonOptions *daemon) {
    const LiveOptions *live = &daemon->live;
    int n_sources =
        (live->kubeconfig != NULL) + live->is_in_cluster + (daemon->cluster_path != NULL);

    if (n_sources > 1)
        return "--kubeconfig, --in-cluster and --cluster exclude each other";
    if (live->context && !live->kubeconfig)
        return "--context needs --kubeconfig";
    if (live->may_bind && !live_is_wanted(live))
        return "--bind needs --kubeconfig or --in-cluster: something to bind through";
    if (live->may_touch && !live_is_wanted(live))
        return "--wake-up needs --kubeconfig or --in-cluster";
    return NULL;
}

static int check_settings(const Settings *settings) {
    const TlsFiles *tls = &settings->daemon.tls;
    const char *wrong = check_cluster(&settings->daemon);

    if (wrong)
        ; /* first things first */
    else if (!tls->certificate != !tls->key)
        wrong = "--tls-cert and --tls-key go together";
    else if (tls->client_ca && !tls->certificate)
        wrong = "--client-ca needs --tls-cert and --tls-key";
    else if (tls->n_client_names > 0 && !tls->client_ca)
        wrong = "--client-name needs --client-ca";
    else if (settings->daemon.server.body_max > WIRE_BODY_MAX)
        wrong = "--max-body must be below 4Gi";
    else if (settings->daemon.server.body_max > settings->daemon.server.memory_max)
        wrong = "--max-memory must be at least --max-body";
    if (!wrong)
        return 0;
    (void)fprintf(stderr, "berth serve: %s\n", wrong);
    return EXIT_USAGE;
}

static int parse_options(Settings *settings, int argc, char *argv[], bool *ret_is_over) {
    int index = 0, option, r;

    *ret_is_over = true;
    while ((option = getopt_long(argc, argv, "h", long_options, &index)) != -1) {
        if (option == 'h') {
            print_help(stdout);
            return EXIT_FINE;
        }
        if (option == '?') {
            (void)fprintf(stderr, "Try: %s serve --help\n", program_name);
            return EXIT_USAGE;
        }
        r = set_option(settings, option, long_options[index].name, optarg);
        if (r != 0)
            return r;
    }
    if (optind < argc) {
        (void)fprintf(stderr, "berth serve: \"%s\" is not an option\n", argv[optind]);
        return EXIT_USAGE;
    }
    r = check_settings(settings);
    *ret_is_over = r != 0;
    return r;
}

/* A broken policy or certificate is for the person to mend (1); a port or file
 * that cannot be had is the world's (3). */
static int exit_code_of(int r) {
    return r == -EINVAL || r == -EPERM ? EXIT_FAILED : EXIT_UNREACHABLE;
}

int cmd_serve(int argc, char *argv[]) {
    Settings settings = {
        .daemon = {.server = server_default_options(),
            .live = {.bind_window_sec = LIVE_BIND_WINDOW_SEC},
            .dump_path = "berth-dump.json",
            .n_decisions = DECISIONS_DEFAULT,
            .decisions_bytes = DECISIONS_BYTES_DEFAULT},
        .log_level = LOG_INFO,
        .log_format = LOG_LOGFMT,
    };
    _cleanup_(daemon_freep) Daemon *daemon = NULL;
    char error[DAEMON_ERROR_MAX];
    bool is_over;
    int r = parse_options(&settings, argc, argv, &is_over);

    if (is_over)
        return r;
    settings.daemon.policy_paths = settings.policies;
    settings.daemon.tls.client_names = settings.client_names;
    settings.daemon.live.managed = settings.managed;
    log_setup(settings.log_level, settings.log_format);
    daemon_block_signals();
    r = daemon_new(&settings.daemon, &daemon, error);
    if (r < 0) {
        terminal_complain("berth serve", error);
        return exit_code_of(r);
    }
    (void)printf("listening on %s\n", daemon_url(daemon));
    (void)fflush(stdout);
    if (!daemon_run(daemon)) {
        /* A worker may be busy for long, and daemon_free() would wait for it. */
        (void)fflush(stdout);
        _exit(EXIT_FINE);
    }
    return EXIT_FINE;
}
