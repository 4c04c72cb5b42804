/* berth serve: the extender. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/nsec.h"
#include "base/vec.h"
#include "cli/policy-files.h"
#include "cli/terminal.h"
#include "commands/commands.h"
#include "dashboard/dashboard.h"
#include "history/decisions.h"
#include "history/journal.h"
#include "input/file.h"
#include "input/sources.h"
#include "kube/access.h"
#include "model/node.h"
#include "policy/exemption.h"
#include "sandbox/sandbox.h"
#include "serve/daemon.h"

#define SERVE_CLIENT_NAMES_MAX 64u
#define SERVE_HOSTS_MAX 16u
#define OWN_NAMESPACE_MAX 64u /* a DNS label and a NUL */

/* Lives as long as the daemon, which points into it. */
typedef struct ServeSettings {
    DaemonOptions daemon;
    PolicyPaths policies;
    Str client_names[SERVE_CLIENT_NAMES_MAX];
    Str pages_client_names[SERVE_CLIENT_NAMES_MAX], admission_client_names[SERVE_CLIENT_NAMES_MAX];
    Str hosts[SERVE_HOSTS_MAX];
    size_t n_hosts;
    Str managed[LIVE_MANAGED_RESOURCES_MAX];
    Exemption exempt[EXEMPTIONS_MAX + 1]; /* plus berth's own pods */
    size_t n_exempt;
    char own_pods[OWN_NAMESPACE_MAX + sizeof("/" EXEMPTION_OWN)];
    char namespaces[4][OWN_NAMESPACE_MAX]; /* of Leases */
    Listen listen, pages_listen, admission_listen;
    bool is_unconfined; /* --sandbox=off */
    Sandbox sandbox;
    LogLevel log_level;
    LogFormat log_format;
} ServeSettings;

/* kube-scheduler waits 5 s for an extender by default. */
#define DEADLINE_MIN_NSEC NSEC_PER_MSEC
#define DEADLINE_MAX_NSEC (60 * NSEC_PER_SEC)

#define DRAIN_DELAY_MAX_SEC 300
#define NAMESPACE_FILE "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

static void serve_settings_init(void *context) {
    ServeSettings *settings = context;

    *settings = (ServeSettings){
        .daemon = {.server = server_default_options(),
            .live = {.bind_window_sec = LIVE_BIND_WINDOW_SEC, .nominate_weight = 1},
            .dashboard = &dashboard_hook,
            .dump_path = "berth-dump.json",
            .health = HEALTH_LIMITS_DEFAULT,
            .n_decisions = DECISIONS_DEFAULT,
            .decisions_bytes = DECISIONS_BYTES_DEFAULT,
            .state_bytes = JOURNAL_BYTES_DEFAULT},
        .log_level = LOG_INFO,
        .log_format = LOG_LOGFMT,
    };
}

/* A name in a Host header: no port, no scheme. */
static const char *check_host(const char *value) {
    return node_name_is_valid(str_from_c(value)) ? NULL
                                                 : "expected a host name, like berth.example.org";
}

static const char *add_exempt(void *context, const char *value) {
    ServeSettings *settings = context;

    if (settings->n_exempt == EXEMPTIONS_MAX)
        return "at most 64 are possible";
    if (!exemption_parse(str_from_c(value), &settings->exempt[settings->n_exempt]))
        return "expected NAMESPACE or NAMESPACE/KEY=VALUE, like kube-system/k8s-app=kube-dns";
    settings->n_exempt++;
    return NULL;
}

/* [NAMESPACE/]NAME; place_leases() splits it, as the default namespace depends on other options. */
static const char *check_lease(const char *value) {
    Str name = str_from_c(value), namespace = STR("default");

    if (strchr(value, '/'))
        (void)str_split(&name, '/', &namespace);
    return node_name_is_valid(name) && node_name_is_valid(namespace) &&
                   namespace.len < OWN_NAMESPACE_MAX
               ? NULL
               : "expected NAMESPACE/NAME or NAME, like berth-system/berth";
}

#define AT(member) OPTION_AT(ServeSettings, member)
#define NAMES(items, n) OPTION_LIST_AT(ServeSettings, items, n)

/* clang-format off */
static const Option serve_options[] = {
    {"listen", OPTION_LISTEN, .argument = "ADDR:PORT", AT(listen), .initial = "127.0.0.1:8080",
        .help = "address to listen on; port 0 picks one"},
    POLICY_PATHS_OPTION(ServeSettings, policies, .initial = "all nodes pass",
        .help = "placement policies; may be repeated"),
    {"exempt", OPTION_CUSTOM, .argument = "NAMESPACE[/KEY=VALUE]", .set = add_exempt,
        .help = "pods that no policy applies to; may be repeated. In a cluster berth's own pods are "
                "always exempt"},

    OPTION_GROUP("The cluster, one of these; required if kube-scheduler sends only node names"),
    {"kubeconfig", OPTION_FILE, .argument = "FILE", AT(daemon.live.kubeconfig),
        .help = "watch the API server of this kubeconfig"},
    {"context", OPTION_TEXT, .argument = "NAME", AT(daemon.live.context), .complete = COMPLETE_CONTEXTS,
        .help = "a context of it other than the current one"},
    {"in-cluster", OPTION_FLAG, AT(daemon.live.is_in_cluster),
        .help = "watch with the service account of berth's pod"},
    {"cluster", OPTION_FILE, .argument = "FILE", AT(daemon.cluster_path),
        .help = "nodes and pods, from `kubectl get nodes,pods -A -o json`"},

    OPTION_GROUP("With a cluster that is watched"),
    {"bind", OPTION_FLAG, AT(daemon.live.may_bind),
        .help = "answer the bind verb (needs permission to create pods/binding)"},
    {"bind-window", OPTION_NUMBER, .argument = "SEC", AT(daemon.live.bind_window_sec), .min = 1, .max = 86400,
        .initial = "900", .help = "how long after its filter a pod may be bound"},
    {"lease", OPTION_TEXT, .argument = "[NAMESPACE/]NAME", AT(daemon.live.watcher.lease.name),
        .check = check_lease,
        .help = "the Lease that decides which of several replicas binds (needs permission to create, "
                "get and update it)"},
    {"wake-up", OPTION_FLAG, AT(daemon.live.may_touch),
        .help = "annotate nodes that have become eligible, so that kube-scheduler retries (needs "
                "permission to patch nodes)"},
    {"publish", OPTION_FLAG, AT(daemon.live.watcher.publishes),
        .help = "write what policies publish to nodes (needs permission to patch nodes/status, and nodes for labels)"},
    {"publish-lease", OPTION_TEXT, .argument = "[NAMESPACE/]NAME", AT(daemon.live.watcher.publish_lease.name),
        .check = check_lease,
        .help = "the Lease that decides which of several replicas publishes (permissions as for --lease)"},
    {"nominate", OPTION_FLAG, AT(daemon.live.watcher.nominates),
        .help = "when many pods are pending, choose nodes ahead and nominate them for pods that kube-scheduler has not "
                "tried yet (needs permission to patch pods/status, and to list and watch services and namespaces)"},
    {"nominate-weight", OPTION_NUMBER, .argument = "N", AT(daemon.live.nominate_weight), .min = 1, .max = 1000000,
        .initial = "1", .help = "berth's weight in kube-scheduler's configuration"},
    {"nominate-lease", OPTION_TEXT, .argument = "[NAMESPACE/]NAME", AT(daemon.live.watcher.nominate_lease.name),
        .check = check_lease,
        .help = "the Lease that decides which of several replicas nominates (permissions as for --lease)"},
    {"events", OPTION_FLAG, AT(daemon.live.watcher.posts_events),
        .help = "write Kubernetes Events: no node passed, a pod bypassed berth, a policy was rejected, "
                "a metric is stale (needs permission to create events)"},
    {"managed-resource", OPTION_NAMES, .argument = "NAME", NAMES(managed, daemon.live.n_managed),
        .help = "as in kube-scheduler's managedResources: pods without it are not expected to pass "
                "through berth; may be repeated"},
    {"policies-from-cluster", OPTION_FLAG, AT(daemon.policies_from_cluster),
        .help = "besides --policy, the PlacementPolicies of the API server (needs permission to get, list "
                "and watch them, and to patch their status)"},
    {"policies-lease", OPTION_TEXT, .argument = "[NAMESPACE/]NAME", AT(daemon.live.watcher.policies_lease.name),
        .check = check_lease,
        .help = "the Lease that decides which of several replicas writes their status (permissions as for --lease)"},
    {"admission-listen", OPTION_LISTEN, .argument = "ADDR:PORT", AT(admission_listen), .initial = "none",
        .help = "with --policies-from-cluster and HTTPS: answer a validating webhook's AdmissionReviews on this "
                "address (POST /admission/validate), so that the API server rejects policies with mistakes"},
    {"admission-client-name", OPTION_NAMES, .argument = "NAME", NAMES(admission_client_names, daemon.admission.n_client_names),
        .initial = "any client", .help = "answer clients with a certificate of --client-ca for this name only; may be repeated"},
    {"watch-silence", OPTION_NUMBER, .argument = "SEC", AT(daemon.live.watcher.silence_sec), .min = 1, .max = 3600,
        .initial = "150", .help = "reconnect a watch that sends nothing for this long"},
    {"dump-file", OPTION_FILE, .argument = "FILE", AT(daemon.dump_path), .initial = "berth-dump.json",
        .help = "file that SIGUSR2 writes"},

    OPTION_GROUP("Metrics of policies (metrics:)"),
    {"prometheus", OPTION_TEXT, .argument = "URL", AT(daemon.measuring.prometheus_url),
        .help = "server to query for metrics that name no other source: Prometheus, Thanos, "
                "VictoriaMetrics, Mimir ..."},
    {"sources", OPTION_FILE, .argument = "FILE", AT(daemon.measuring.sources_path),
        .help = "such servers by name, with credentials and certificates"},

    OPTION_GROUP("Security"),
    {"tls-cert", OPTION_FILE, .argument = "FILE", AT(daemon.tls.certificate),
        .help = "serve HTTPS with this certificate (PEM)"},
    {"tls-key", OPTION_FILE, .argument = "FILE", AT(daemon.tls.key),
        .help = "private key of --tls-cert (PEM)"},
    {"client-ca", OPTION_FILE, .argument = "FILE", AT(daemon.tls.client_ca),
        .help = "require client certificates of this CA (PEM)"},
    {"client-crl", OPTION_FILE, .argument = "FILE", AT(daemon.tls.client_crl),
        .help = "refuse client certificates that these CRLs of --client-ca revoke (PEM)"},
    {"client-name", OPTION_NAMES, .argument = "NAME", NAMES(client_names, daemon.tls.n_client_names), .initial = "system:kube-scheduler",
        .help = "subject CN, or DNS or URI SAN, that may call the verbs; may be repeated"},
    {"insecure-http", OPTION_FLAG, AT(daemon.insecure_http),
        .help = "allow plain HTTP on an address that is not loopback"},

    {"sandbox", OPTION_CHOICE, .argument = "on|off", AT(is_unconfined), .initial = "on",
        .help = "give up rights at the start: only the needed system calls and files"},

    OPTION_GROUP("Pages: health, /metrics, /api/v1 and the dashboard"),
    {"no-dashboard", OPTION_FLAG, AT(daemon.no_dashboard),
        .help = "do not serve the dashboard. On the listener of the verbs it is served on loopback "
                "only, and not with --client-ca"},
    {"pages-host", OPTION_NAMES, .argument = "NAME", NAMES(hosts, n_hosts), .check = check_host,
        .initial = "localhost and addresses",
        .help = "another host name for pages on loopback, if a proxy terminates TLS; may be repeated"},

    OPTION_GROUP("Pages on a listener of their own, without verbs"),
    {"pages-listen", OPTION_LISTEN, .argument = "ADDR:PORT", AT(pages_listen), .initial = "none",
        .help = "address; HTTPS if there is a certificate. Health is open to all clients; without the "
                "options below the other pages are served on loopback only"},
    {"pages-token-file", OPTION_FILE, .argument = "FILE", AT(daemon.pages.token_path),
        .help = "serve pages to clients that send the token in this file (Authorization: Bearer "
                "TOKEN, or as the password in a browser, with any user name; or Berth-Token: TOKEN)"},
    {"pages-viewer-token-file", OPTION_FILE, .argument = "FILE", AT(daemon.pages.viewer_token_path),
        .help = "the same with another token, for viewers: no what-if, and no bundles"},
    {"pages-client-name", OPTION_NAMES, .argument = "NAME", NAMES(pages_client_names, daemon.pages.n_client_names),
        .help = "serve pages to clients with a certificate of --client-ca for this name; may be "
                "repeated"},

    OPTION_GROUP("Limits"),
    {"workers", OPTION_NUMBER, .argument = "N", AT(daemon.server.n_workers), .min = 1, .max = 256,
        .initial = "2", .help = "threads that answer"},
    {"deadline", OPTION_DURATION, .argument = "TIME", AT(daemon.deadline_nsec),
        .min = DEADLINE_MIN_NSEC, .max = DEADLINE_MAX_NSEC, .initial = "100ms",
        .help = "to evaluate policies for one request; onTimeout applies to nodes that were not "
                "reached"},
    {"load-time", OPTION_DURATION, .argument = "TIME", AT(daemon.load_nsec),
        .min = DAEMON_LOAD_TIME_MIN, .max = DAEMON_LOAD_TIME_MAX, .initial = "10s",
        .help = "processor time to load policies, or to evaluate them anew for all nodes"},
    {"load-memory", OPTION_SIZE, .argument = "SIZE", AT(daemon.load_bytes), .initial = "512Mi",
        .help = "results of policies for all nodes"},
    {"max-header", OPTION_SIZE, .argument = "SIZE", AT(daemon.server.header_max), .initial = "32Ki",
        .help = "request line and headers"},
    {"max-body", OPTION_SIZE, .argument = "SIZE", AT(daemon.server.body_max), .initial = "128Mi",
        .help = "one request body"},
    {"max-memory", OPTION_SIZE, .argument = "SIZE", AT(daemon.server.memory_max), .initial = "512Mi",
        .help = "bodies and replies of all requests together"},
    {"header-timeout", OPTION_NUMBER, .argument = "SEC", AT(daemon.server.header_sec), .min = 1, .max = 3600,
        .initial = "5", .help = "to send the headers"},
    {"body-grace", OPTION_NUMBER, .argument = "SEC", AT(daemon.server.body_grace_sec), .min = 1, .max = 3600,
        .initial = "2", .help = "before --body-min-rate applies"},
    {"body-min-rate", OPTION_SIZE, .argument = "SIZE", AT(daemon.server.body_rate), .initial = "64Ki",
        .help = "bytes per second at which a body must arrive"},
    {"write-timeout", OPTION_NUMBER, .argument = "SEC", AT(daemon.server.write_sec), .min = 1, .max = 3600,
        .initial = "5", .help = "in which a reply must progress at that rate"},
    {"idle-timeout", OPTION_NUMBER, .argument = "SEC", AT(daemon.server.idle_sec), .min = 1, .max = 86400,
        .initial = "120", .help = "between two requests"},
    {"max-connections", OPTION_NUMBER, .argument = "N", AT(daemon.server.connections_max), .min = 1, .max = 100000,
        .initial = "1024", .help = "in all"},
    {"max-connections-per-address", OPTION_NUMBER, .argument = "N", AT(daemon.server.connections_per_address_max),
        .min = 1, .max = 100000, .initial = "512", .help = "from one address"},

    OPTION_GROUP("Health: when berth reports that it is degraded"),
    {"health-pending", OPTION_NUMBER, .argument = "N", AT(daemon.health.pending), .max = 1000000, .initial = "1",
        .help = "pods that are pending because of policies, from this number on; 0: never"},
    {"health-errors", OPTION_NUMBER, .argument = "PERCENT", AT(daemon.health.errors_percent), .min = 1, .max = 100,
        .initial = "1", .help = "more of the requests of the last 5 minutes failed, or exceeded the deadline"},
    {"health-latency", OPTION_NUMBER, .argument = "PERCENT", AT(daemon.health.latency_percent), .min = 1, .max = 1000,
        .initial = "50", .help = "p99 latency of filter is over this share of --deadline"},
    {"health-silence", OPTION_DURATION, .argument = "TIME", AT(daemon.health.silence_nsec), .min = NSEC_PER_SEC,
        .max = 3600 * NSEC_PER_SEC, .initial = "4s", .help = "no connection to the API server for longer"},
    {"health-certificate", OPTION_NUMBER, .argument = "DAYS", AT(daemon.health.certificate_days), .min = 1, .max = 3650,
        .initial = "7", .help = "the certificate expires in fewer"},

    OPTION_GROUP("Shutdown"),
    {"drain-delay", OPTION_NUMBER, .argument = "SEC", AT(daemon.drain_delay_sec), .max = DRAIN_DELAY_MAX_SEC,
        .initial = "0", .help = "after SIGTERM: keep answering for this long while readiness is off"},

    OPTION_GROUP("Remembered decisions, and the log"),
    {"decisions", OPTION_NUMBER, .argument = "N", AT(daemon.n_decisions), .max = DECISIONS_MAX, .initial = "20000",
        .help = "how many are remembered for /api/v1/decisions and `berth explain`; 0: none"},
    {"decisions-memory", OPTION_SIZE, .argument = "SIZE", AT(daemon.decisions_bytes), .initial = "64Mi",
        .help = "memory for them"},
    {"state-dir", OPTION_FILE, .argument = "DIR", AT(daemon.state_dir),
        .help = "also keep them in this folder, so that a restart does not forget them; created unless it exists"},
    {"state-size", OPTION_SIZE, .argument = "SIZE", AT(daemon.state_bytes), .initial = "256Mi",
        .help = "of the files in --state-dir"},
    {"log-level", OPTION_CHOICE, .argument = "LEVEL", .values = "debug|info|warn|error", AT(log_level),
        .initial = "info", .help = "debug, info, warn or error"},
    {"log-format", OPTION_CHOICE, .argument = "FORMAT", .values = "logfmt|json", AT(log_format),
        .initial = "logfmt", .help = "logfmt or json"},
    {0},
};
/* clang-format on */

/* $POD_NAMESPACE, else that of the mounted service account. Returns false without either. */
static bool find_namespace(bool is_in_cluster, char ret[static OWN_NAMESPACE_MAX]) {
    _cleanup_(buf_done) Buf text = BUF_INIT(1024);
    Str found = str_from_c(getenv("POD_NAMESPACE"));
    char error[FILE_ERROR_MAX];

    if (str_is_empty(str_trim(found)) && is_in_cluster &&
        file_read(NAMESPACE_FILE, &text, error) == 0)
        found = buf_str(&text);
    found = str_trim(found);
    if (str_is_empty(found) || found.len >= OWN_NAMESPACE_MAX)
        return false;
    (void)snprintf(ret, OWN_NAMESPACE_MAX, "%.*s", STR_FMT(found));
    return true;
}

/* Policies must not block berth's own pods: without berth no pod could be placed. */
static void add_own_pods(ServeSettings *settings) {
    char namespace[OWN_NAMESPACE_MAX];

    if (!find_namespace(settings->daemon.live.is_in_cluster, namespace))
        return;
    (void)snprintf(
        settings->own_pods, sizeof(settings->own_pods), "%s/%s", namespace, EXEMPTION_OWN);
    if (exemption_parse(str_from_c(settings->own_pods), &settings->exempt[settings->n_exempt]))
        settings->n_exempt++;
}

/* Splits the names of Leases, which are [NAMESPACE/]NAME or NULL. By default they are in berth's
 * own namespace. */
static void place_leases(ServeSettings *settings, WatcherOptions *watcher) {
    LeaseObject *const leases[] = {&watcher->lease, &watcher->publish_lease,
        &watcher->policies_lease, &watcher->nominate_lease};

    for (size_t i = 0; i < ELEMENTS_OF(leases); i++) {
        const char *name = leases[i]->name, *slash = name ? strchr(name, '/') : NULL;
        char *namespace = settings->namespaces[i];

        if (slash) {
            (void)snprintf(namespace, OWN_NAMESPACE_MAX, "%.*s", (int)(slash - name), name);
            leases[i]->name = slash + 1;
        } else if (!find_namespace(settings->daemon.live.is_in_cluster, namespace))
            (void)snprintf(namespace, OWN_NAMESPACE_MAX, "default");
        leases[i]->namespace = namespace;
    }
}

static void use_listen(const Listen *listen, const char **address, uint16_t *port) {
    if (listen->address[0] == '\0')
        return;
    *address = listen->address;
    *port = listen->port;
}

/* --- which options go together --------------------------------------------------- */

typedef struct SettingRule {
    bool is_broken;
    const char *text;
} SettingRule;

static const char *first_broken(const SettingRule *rules, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (rules[i].is_broken)
            return rules[i].text;
    return NULL;
}

/* clang-format off */
static const char *check_cluster(const DaemonOptions *daemon) {
    const LiveOptions *live = &daemon->live;
    const WatcherOptions *watcher = &live->watcher;
    bool is_live = live_is_wanted(live);
    int n_sources = (live->kubeconfig != NULL) + live->is_in_cluster + (daemon->cluster_path != NULL);
    const SettingRule rules[] = {
        {n_sources > 1, "--kubeconfig, --in-cluster and --cluster exclude each other"},
        {live->context && !live->kubeconfig, "--context needs --kubeconfig"},
        {live->may_bind && !is_live,
            "--bind needs --kubeconfig or --in-cluster: an API server to bind through"},
        {watcher->lease.name && !live->may_bind,
            "--lease needs --bind: it decides which of several replicas binds"},
        {watcher->posts_events && !is_live,
            "--events needs --kubeconfig or --in-cluster: an API server to write them to"},
        {live->may_touch && !is_live, "--wake-up needs --kubeconfig or --in-cluster"},
        {watcher->publishes && !is_live, "--publish needs --kubeconfig or --in-cluster"},
        {daemon->policies_from_cluster && !is_live,
            "--policies-from-cluster needs --kubeconfig or --in-cluster"},
        {watcher->policies_lease.name && !daemon->policies_from_cluster,
            "--policies-lease needs --policies-from-cluster: it decides which of several replicas "
            "writes the status of policies"},
        {watcher->publish_lease.name && !watcher->publishes,
            "--publish-lease needs --publish: it decides which of several replicas publishes"},
        {watcher->nominates && !is_live, "--nominate needs --kubeconfig or --in-cluster"},
        {watcher->nominate_lease.name && !watcher->nominates,
            "--nominate-lease needs --nominate: it decides which of several replicas nominates"},
    };

    return first_broken(rules, ELEMENTS_OF(rules));
}

static const char *check_serving(const ServeSettings *settings) {
    const DaemonOptions *daemon = &settings->daemon;
    const TlsFiles *tls = &daemon->tls;
    const ServerOptions *server = &daemon->server;
    bool has_names = daemon->pages.n_client_names > 0;
    bool has_token = daemon->pages.token_path || daemon->pages.viewer_token_path;
    bool reviews = settings->admission_listen.address[0] != '\0';
    bool has_reviewers = daemon->admission.n_client_names > 0;
    const SettingRule rules[] = {
        {!tls->certificate != !tls->key, "--tls-cert and --tls-key go together"},
        {tls->client_ca && !tls->certificate, "--client-ca needs --tls-cert and --tls-key"},
        {tls->client_crl && !tls->client_ca, "--client-crl needs --client-ca"},
        {tls->n_client_names > 0 && !tls->client_ca, "--client-name needs --client-ca"},
        {(has_token || has_names) && settings->pages_listen.address[0] == '\0',
            "--pages-token-file, --pages-viewer-token-file and --pages-client-name need --pages-listen"},
        {has_names && !tls->client_ca, "--pages-client-name needs --client-ca"},
        {reviews && !daemon->policies_from_cluster,
            "--admission-listen needs --policies-from-cluster: it is about these policies"},
        {reviews && !tls->certificate,
            "--admission-listen needs --tls-cert and --tls-key: an API server calls webhooks over HTTPS only"},
        {has_reviewers && !reviews, "--admission-client-name needs --admission-listen"},
        {has_reviewers && !tls->client_ca, "--admission-client-name needs --client-ca"},
        {daemon->state_dir && daemon->n_decisions == 0, "--state-dir needs --decisions above 0"},
        {daemon->state_bytes < JOURNAL_BYTES_MIN, "--state-size must be at least 1Mi"},
        {server->body_max > WIRE_BODY_MAX, "--max-body must be below 4Gi"},
        {server->body_max > server->memory_max, "--max-memory must be at least --max-body"},
    };

    return first_broken(rules, ELEMENTS_OF(rules));
}
/* clang-format on */

static const char *serve_settings_check(void *context, const Arguments *arguments) {
    const ServeSettings *settings = context;
    const char *wrong = check_cluster(&settings->daemon);

    return wrong ? wrong : check_serving(settings);
}

/* Completes the daemon's options after the check. */
static void serve_settings_finish(ServeSettings *settings) {
    DaemonOptions *daemon = &settings->daemon;

    add_own_pods(settings);
    place_leases(settings, &daemon->live.watcher);
    use_listen(&settings->listen, &daemon->server.address, &daemon->server.port);
    use_listen(&settings->pages_listen, &daemon->pages.address, &daemon->pages.port);
    use_listen(&settings->admission_listen, &daemon->admission.address, &daemon->admission.port);
    daemon->live.self = (OwnPod){/* from the downward API; Events about berth itself need it */
        .namespace = getenv("POD_NAMESPACE"),
        .name = getenv("POD_NAME"),
        .uid = getenv("POD_UID")};
    daemon->policy_paths = settings->policies.items;
    daemon->n_policy_paths = settings->policies.n;
    daemon->tls.client_names = settings->client_names;
    daemon->pages.client_names = settings->pages_client_names;
    daemon->admission.client_names = settings->admission_client_names;
    daemon->server.hosts = daemon->pages.hosts = settings->hosts;
    daemon->server.n_hosts = daemon->pages.n_hosts = settings->n_hosts;
    daemon->pages.verbs_memory_max = daemon->server.memory_max;
    daemon->live.managed = settings->managed;
    daemon->exempt = (Exemptions){.items = settings->exempt, .n = settings->n_exempt};
}

/* --- the sandbox --------------------------------------------------------------- */

/* The files that a running berth reads again. */
typedef struct FileList {
    Arena *arena;
    VEC(SandboxPath) paths;
} FileList;

static void add(FileList *list, const char *path, bool is_written) {
    if (path)
        *VEC_PUSH(&list->paths, list->arena) = (SandboxPath){
            .path = arena_copy(list->arena, str_from_c(path)).ptr, .is_written = is_written};
}

/* Adds the files of all options, so that a new option is never forgotten here. */
static void add_options(FileList *list, const ServeSettings *settings) {
    for (const Option *option = serve_options; option->name; option++) {
        const char *const *items = (const char *const *)((const char *)settings + option->offset);
        size_t n = option->kind == OPTION_FILE ? 1 : 0;

        if (option->kind == OPTION_LIST && option->complete == COMPLETE_FILES)
            n = *(const size_t *)((const char *)settings + option->count);
        for (size_t i = 0; i < n; i++)
            add(list, items[i], option->offset == offsetof(ServeSettings, daemon.dump_path));
    }
}

static void add_sources(FileList *list, const char *path) {
    DiagList diags = DIAG_LIST_IN(list->arena);
    MetricSources sources = {0};

    if (!path || sources_load(path, list->arena, &diags, &sources) != 0)
        return;
    for (size_t i = 0; i < sources.n; i++) {
        const AccessServer *server = &sources.items[i].server;

        add(list, server->token_file, false);
        add(list, server->password_file, false);
        add(list, server->ca_file, false);
        add(list, server->cert_file, false);
        add(list, server->key_file, false);
    }
}

/* Also starts the process for credential plugins: later, threads and the sandbox prevent it. */
static int add_access(FileList *list, const LiveOptions *live, char *error) {
    _cleanup_(access_freep) Access *access = NULL;
    const char *files[ACCESS_FILES_MAX];
    char text[ACCESS_ERROR_MAX];
    size_t n;
    int r;

    if (!live_is_wanted(live) || access_find(live->kubeconfig, live->context, &access, text) < 0)
        return 0;
    n = access_files(access, files);
    for (size_t i = 0; i < n; i++)
        add(list, files[i], false);
    r = access_start_helper(access);
    if (r < 0)
        (void)snprintf(error, DAEMON_ERROR_MAX,
            "cannot start the process that runs credential plugins: %s", strerror(-r));
    return r;
}

/* Allows the files that options name, and those that the kubeconfig and the sources name; forks the
 * process that runs a credential plugin; enters the sandbox. A kubeconfig or sources that cannot be
 * read are left to daemon_new() to report. 0, or a negative errno with a message in @error. */
static int enter_sandbox(ServeSettings *settings, Arena *arena, char *error) {
    const DaemonOptions *daemon = &settings->daemon;
    FileList list = {.arena = arena};
    int r;

    add_options(&list, settings);
    add(&list, daemon->state_dir, true);
    add_sources(&list, daemon->measuring.sources_path);
    r = add_access(&list, &daemon->live, error);
    if (r < 0)
        return r;
    sandbox_enter(list.paths.items, list.paths.n, &settings->sandbox);
    for (size_t i = 0; i < list.paths.n; i++)
        if (list.paths.items[i].is_refused && !list.paths.items[i].is_written)
            log_warn("the sandbox does not allow this file: its folder is missing, or is the root "
                     "folder",
                LOG_CSTR("file", list.paths.items[i].path));
    return 0;
}

/* Logs which parts are active, and warns if the kernel lacks some. */
static void log_sandbox(const Sandbox *sandbox) {
    static const char incomplete[] = "parts of the sandbox are not active";

    if (sandbox->active[0])
        log_info("sandbox", LOG_CSTR("active", sandbox->active));
    if (sandbox->missing[0] && sandbox->active[0])
        log_warn(incomplete, LOG_CSTR("missing", sandbox->missing));
    else if (sandbox->missing[0])
        log_info(incomplete, LOG_CSTR("missing", sandbox->missing));
}

static int run(void *context, const Arguments *arguments) {
    _cleanup_(daemon_freep) Daemon *daemon = NULL;
    ServeSettings *settings = context;
    char error[DAEMON_ERROR_MAX];
    int r;

    serve_settings_finish(settings);
    log_setup(settings->log_level, settings->log_format);
    daemon_block_signals();
    settings->sandbox = SANDBOX_OFF;
    settings->daemon.sandbox = &settings->sandbox;
    /* before the sandbox, which allows only folders that exist */
    r = settings->daemon.state_dir ? journal_make_folder(settings->daemon.state_dir) : 0;
    if (r < 0)
        (void)snprintf(error, sizeof(error), "cannot create the folder of --state-dir, %s: %s",
            settings->daemon.state_dir, strerror(-r));
    if (r == 0 && !settings->is_unconfined)
        r = enter_sandbox(settings, arguments->arena, error);
    if (r == 0) {
        log_sandbox(&settings->sandbox);
        r = daemon_new(&settings->daemon, &daemon, error);
    }
    if (r == -ECANCELED) {
        log_info(error);
        _exit(EXIT_FINE);
    }
    if (r < 0) /* a broken policy or certificate is the user's to fix */
        terminal_fail_with(r == -EPERM ? -EINVAL : r, error);
    (void)printf("listening on %s\n", daemon_url(daemon, LISTEN_VERBS));
    if (daemon_url(daemon, LISTEN_PAGES))
        (void)printf("pages on %s\n", daemon_url(daemon, LISTEN_PAGES));
    if (daemon_url(daemon, LISTEN_REVIEWS))
        (void)printf("admission on %s\n", daemon_url(daemon, LISTEN_REVIEWS));
    if (daemon_dashboard_url(daemon))
        (void)printf("dashboard at %s/\n", daemon_dashboard_url(daemon));
    (void)fflush(stdout);
    if (!daemon_run(daemon)) {
        /* A worker may be busy for long, and daemon_free() would wait for it. */
        (void)fflush(stdout);
        _exit(EXIT_FINE);
    }
    return EXIT_FINE;
}

const Command serve_command = {
    .name = "serve",
    .summary = "run the extender",
    .usage = "[OPTIONS]",
    .about =
        "Answers kube-scheduler's filter, prioritize, preempt and bind calls. Prints \"listening "
        "on URL\" when it is ready, and the URL of the dashboard. SIGHUP reloads policies, "
        "cluster, sources and certificates (changed files are noticed anyway); SIGUSR2 writes "
        "the cluster as berth sees it to --dump-file; SIGTERM shuts down gracefully.",
    .options = serve_options,
    .budget = (size_t)4 * 1024 * 1024,
    .memory_for = "the files that the sandbox allows",
    .settings_size = sizeof(ServeSettings),
    .init = serve_settings_init,
    .check = serve_settings_check,
    .run = run,
};
