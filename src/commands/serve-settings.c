#include "commands/serve-settings.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/nsec.h"
#include "cli/command.h"
#include "dashboard/dashboard.h"
#include "history/decisions.h"
#include "model/node.h"

/* kube-scheduler gives an extender 5 s unless it is told otherwise. */
#define DEADLINE_MIN_NSEC NSEC_PER_MSEC
#define DEADLINE_MAX_NSEC (60 * NSEC_PER_SEC)

#define DRAIN_DELAY_MAX_SEC 300

void serve_settings_init(ServeSettings *settings) {
    *settings = (ServeSettings){
        .daemon = {.server = server_default_options(),
            .live = {.bind_window_sec = LIVE_BIND_WINDOW_SEC},
            .dashboard = dashboard_hook(),
            .dump_path = "berth-dump.json",
            .n_decisions = DECISIONS_DEFAULT,
            .decisions_bytes = DECISIONS_BYTES_DEFAULT},
        .log_level = LOG_INFO,
        .log_format = LOG_LOGFMT,
    };
}

/* --- values -------------------------------------------------------------------- */

static int wrong_value(const char *option, const char *value, const char *wanted) {
    return value_error("serve", option, value, wanted);
}

static int set_listen(ServeSettings *settings, const char *option, const char *value) {
    int r = value_listen("serve", option, value, &settings->listen);

    settings->daemon.server.address = settings->listen.address;
    settings->daemon.server.port = settings->listen.port;
    return r;
}

static int set_pages_listen(ServeSettings *settings, const char *option, const char *value) {
    int r = value_listen("serve", option, value, &settings->pages_listen);

    settings->daemon.pages.address = settings->pages_listen.address;
    settings->daemon.pages.port = settings->pages_listen.port;
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

static int set_decisions(ServeSettings *settings, const char *option, const char *value) {
    unsigned n = 0;
    int r = set_number(option, value, 0, DECISIONS_MAX, &n);

    settings->daemon.n_decisions = n;
    return r;
}

/* One more of a list of names, which has room for @max. */
static int add_name(const char *option, const char *value, Str *names, size_t *n, size_t max) {
    if (*n == max)
        return wrong_value(option, value, "too many names");
    names[(*n)++] = str_from_c(value);
    return 0;
}

/* A name as it stands in Host: no port, no scheme. */
static int add_host(ServeSettings *settings, const char *value) {
    if (!node_name_is_valid(str_from_c(value)))
        return wrong_value("pages-host", value, "expected a host's name, as berth.example.org");
    return add_name("pages-host", value, settings->hosts, &settings->n_hosts, SERVE_HOSTS_MAX);
}

static int add_exempt(ServeSettings *settings, const char *value) {
    if (settings->n_exempt == EXEMPTIONS_MAX)
        return wrong_value("exempt", value, "at most 64 may be given");
    if (!exemption_parse(str_from_c(value), &settings->exempt[settings->n_exempt]))
        return wrong_value("exempt",
            value,
            "expected NAMESPACE or NAMESPACE/KEY=VALUE, as kube-system/k8s-app=kube-dns");
    settings->n_exempt++;
    return 0;
}

/* [NAMESPACE/]NAME; the namespace may be known only when all options are there. */
static int set_lease(ServeSettings *settings, const char *value) {
    Str name = str_from_c(value), namespace = STR_NULL;
    size_t slash = str_find(name, '/');

    if (slash != SIZE_MAX) {
        namespace = str_take(name, slash);
        name = str_skip(name, slash + 1);
    }
    if (!node_name_is_valid(name) ||
        (slash != SIZE_MAX &&
            (!node_name_is_valid(namespace) || namespace.len >= sizeof(settings->lease_namespace))))
        return wrong_value(
            "lease", value, "expected NAMESPACE/NAME or NAME, as berth-system/berth");
    (void)snprintf(
        settings->lease_namespace, sizeof(settings->lease_namespace), "%.*s", STR_FMT(namespace));
    settings->daemon.live.watcher.lease_name = name.ptr;
    return 0;
}

/* --- options ------------------------------------------------------------------- */

static int set_limit(
    ServeSettings *settings, ServeOption option, const char *name, const char *value) {
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

/* Where an option goes whose value is taken as it is; NULL: it is none of these. */
static const char **text_of(DaemonOptions *daemon, ServeOption option) {
    switch (option) {
    case OPTION_CLUSTER:
        return &daemon->cluster_path;
    case OPTION_KUBECONFIG:
        return &daemon->live.kubeconfig;
    case OPTION_CONTEXT:
        return &daemon->live.context;
    case OPTION_DUMP_FILE:
        return &daemon->dump_path;
    case OPTION_PROMETHEUS:
        return &daemon->prometheus_url;
    case OPTION_SOURCES:
        return &daemon->sources_path;
    case OPTION_TLS_CERT:
        return &daemon->tls.certificate;
    case OPTION_TLS_KEY:
        return &daemon->tls.key;
    case OPTION_CLIENT_CA:
        return &daemon->tls.client_ca;
    case OPTION_PAGES_TOKEN_FILE:
        return &daemon->pages.token_path;
    default:
        return NULL;
    }
}

/* The same for options without a value. */
static bool *switch_of(DaemonOptions *daemon, ServeOption option) {
    switch (option) {
    case OPTION_IN_CLUSTER:
        return &daemon->live.is_in_cluster;
    case OPTION_BIND:
        return &daemon->live.may_bind;
    case OPTION_WAKE_UP:
        return &daemon->live.may_touch;
    case OPTION_EVENTS:
        return &daemon->live.watcher.posts_events;
    case OPTION_INSECURE_HTTP:
        return &daemon->insecure_http;
    case OPTION_NO_DASHBOARD:
        return &daemon->no_dashboard;
    default:
        return NULL;
    }
}

/* Those whose value is looked at. */
static int set_checked(
    ServeSettings *settings, ServeOption option, const char *name, const char *value) {
    DaemonOptions *daemon = &settings->daemon;

    switch (option) {
    case OPTION_LISTEN:
        return set_listen(settings, name, value);
    case OPTION_POLICY:
        return policy_paths_add(&settings->policies, "serve", value);
    case OPTION_WATCH_SILENCE:
        return set_number(name, value, 1, 3600, &daemon->live.watcher.silence_sec);
    case OPTION_BIND_WINDOW:
        return set_number(name, value, 1, 86400, &daemon->live.bind_window_sec);
    case OPTION_MANAGED_RESOURCE:
        return add_name(name,
            value,
            settings->managed,
            &daemon->live.n_managed,
            ELEMENTS_OF(settings->managed));
    case OPTION_CLIENT_NAME:
        return add_name(name,
            value,
            settings->client_names,
            &daemon->tls.n_client_names,
            ELEMENTS_OF(settings->client_names));
    case OPTION_PAGES_LISTEN:
        return set_pages_listen(settings, name, value);
    case OPTION_PAGES_CLIENT_NAME:
        return add_name(name,
            value,
            settings->pages_client_names,
            &daemon->pages.n_client_names,
            ELEMENTS_OF(settings->pages_client_names));
    case OPTION_PAGES_HOST:
        return add_host(settings, value);
    case OPTION_DRAIN_DELAY:
        return set_number(name, value, 0, DRAIN_DELAY_MAX_SEC, &daemon->drain_delay_sec);
    case OPTION_LEASE:
        return set_lease(settings, value);
    case OPTION_EXEMPT:
        return add_exempt(settings, value);
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
                   : wrong_value(name, value, "expected debug, info, warn or error");
    case OPTION_LOG_FORMAT:
        return log_format_parse(str_from_c(value), &settings->log_format)
                   ? 0
                   : wrong_value(name, value, "expected logfmt or json");
    default:
        return set_limit(settings, option, name, value);
    }
}

int serve_settings_set(
    ServeSettings *settings, ServeOption option, const char *name, const char *value) {
    const char **text;
    bool *is_on;

    assert(settings);
    text = text_of(&settings->daemon, option);
    is_on = switch_of(&settings->daemon, option);
    if (text)
        *text = value;
    if (is_on)
        *is_on = true;
    return text || is_on ? 0 : set_checked(settings, option, name, value);
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
    if (live->watcher.lease_name && !live->may_bind)
        return "--lease needs --bind: it says which of several berths binds";
    if (live->watcher.posts_events && !live_is_wanted(live))
        return "--events needs --kubeconfig or --in-cluster: somebody to write them to";
    if (live->may_touch && !live_is_wanted(live))
        return "--wake-up needs --kubeconfig or --in-cluster";
    return NULL;
}

static const char *check_pages(const DaemonOptions *daemon) {
    const PagesOptions *pages = &daemon->pages;

    if ((pages->token_path || pages->n_client_names > 0) && !pages->address)
        return "--pages-token-file and --pages-client-name need --pages-listen";
    if (pages->n_client_names > 0 && !daemon->tls.client_ca)
        return "--pages-client-name needs --client-ca";
    return NULL;
}

static const char *check_tls(const TlsFiles *tls) {
    if (!tls->certificate != !tls->key)
        return "--tls-cert and --tls-key go together";
    if (tls->client_ca && !tls->certificate)
        return "--client-ca needs --tls-cert and --tls-key";
    if (tls->n_client_names > 0 && !tls->client_ca)
        return "--client-name needs --client-ca";
    return NULL;
}

static const char *check_limits(const ServerOptions *server) {
    if (server->body_max > WIRE_BODY_MAX)
        return "--max-body must be below 4Gi";
    if (server->body_max > server->memory_max)
        return "--max-memory must be at least --max-body";
    return NULL;
}

/* No policy may keep berth's own pods from being placed: nobody would be left to ask. */
static void add_own_pods(ServeSettings *settings) {
    char namespace[OWN_NAMESPACE_MAX];

    if (!own_namespace(settings->daemon.live.is_in_cluster, namespace))
        return;
    (void)snprintf(
        settings->own_pods, sizeof(settings->own_pods), "%s/%s", namespace, EXEMPTION_OWN);
    if (exemption_parse(str_from_c(settings->own_pods), &settings->exempt[settings->n_exempt]))
        settings->n_exempt++;
}

/* The Lease is where berth is, unless it was said. */
static void place_lease(ServeSettings *settings) {
    LiveOptions *live = &settings->daemon.live;

    if (settings->lease_namespace[0] == '\0' &&
        !own_namespace(live->is_in_cluster, settings->lease_namespace))
        (void)snprintf(settings->lease_namespace, sizeof(settings->lease_namespace), "default");
    live->watcher.lease_namespace = settings->lease_namespace;
}

/* As the downward API gives it to a container; without it there is nobody to write Events about. */
static OwnPod find_own_pod(void) {
    return (OwnPod){
        .namespace = getenv("POD_NAMESPACE"), .name = getenv("POD_NAME"), .uid = getenv("POD_UID")};
}

const char *serve_settings_finish(ServeSettings *settings) {
    DaemonOptions *daemon = &settings->daemon;
    const char *wrong = check_cluster(daemon);

    if (!wrong)
        wrong = check_tls(&daemon->tls);
    if (!wrong)
        wrong = check_pages(daemon);
    if (!wrong)
        wrong = check_limits(&daemon->server);
    if (wrong)
        return wrong;
    add_own_pods(settings);
    place_lease(settings);
    daemon->live.self = find_own_pod();
    daemon->policy_paths = settings->policies.items;
    daemon->n_policy_paths = settings->policies.n;
    daemon->tls.client_names = settings->client_names;
    daemon->pages.client_names = settings->pages_client_names;
    daemon->server.hosts = daemon->pages.hosts = settings->hosts;
    daemon->server.n_hosts = daemon->pages.n_hosts = settings->n_hosts;
    daemon->live.managed = settings->managed;
    daemon->exempt = (Exemptions){.items = settings->exempt, .n = settings->n_exempt};
    return NULL;
}
