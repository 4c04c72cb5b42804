/*
 * berth serve: the extender.
 */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "commands/serve-settings.h"
#include "serve/daemon.h"

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
    {"lease", required_argument, NULL, OPTION_LEASE},
    {"events", no_argument, NULL, OPTION_EVENTS},
    {"wake-up", no_argument, NULL, OPTION_WAKE_UP},
    {"managed-resource", required_argument, NULL, OPTION_MANAGED_RESOURCE},
    {"dump-file", required_argument, NULL, OPTION_DUMP_FILE},
    {"prometheus", required_argument, NULL, OPTION_PROMETHEUS},
    {"sources", required_argument, NULL, OPTION_SOURCES},
    {"tls-cert", required_argument, NULL, OPTION_TLS_CERT},
    {"tls-key", required_argument, NULL, OPTION_TLS_KEY},
    {"client-ca", required_argument, NULL, OPTION_CLIENT_CA},
    {"client-name", required_argument, NULL, OPTION_CLIENT_NAME},
    {"pages-listen", required_argument, NULL, OPTION_PAGES_LISTEN},
    {"pages-token-file", required_argument, NULL, OPTION_PAGES_TOKEN_FILE},
    {"pages-client-name", required_argument, NULL, OPTION_PAGES_CLIENT_NAME},
    {"pages-host", required_argument, NULL, OPTION_PAGES_HOST},
    {"no-dashboard", no_argument, NULL, OPTION_NO_DASHBOARD},
    {"insecure-http", no_argument, NULL, OPTION_INSECURE_HTTP},
    {"exempt", required_argument, NULL, OPTION_EXEMPT},
    {"drain-delay", required_argument, NULL, OPTION_DRAIN_DELAY},
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

static const char help[] =
    "\n"
    "Answers kube-scheduler's filter, prioritize, preempt and bind calls.\n"
    "Prints \"listening on URL\" once it serves, and where its dashboard is. SIGHUP reads\n"
    "policies, cluster, sources and certificates again (changed files are noticed\n"
    "anyway); SIGUSR2 writes the cluster as berth sees it to --dump-file; SIGTERM ends\n"
    "it in order.\n"
    "\n"
    "  --listen ADDR:PORT     where to listen; port 0 picks one      [127.0.0.1:8080]\n"
    "  --policy FILE-OR-DIR   placement policies; may be repeated    [all nodes pass]\n"
    "  --exempt NAMESPACE[/KEY=VALUE]  pods that no policy is for; may be repeated.\n"
    "                         In a cluster berth's own always are\n"
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
    "  --lease [NAMESPACE/]NAME  the Lease that says which of several berths binds\n"
    "                         (needs the rights create, get and update on it)\n"
    "  --wake-up              annotate nodes that would pass now, so that\n"
    "                         kube-scheduler tries again (needs the right to patch nodes)\n"
    "  --events               write Kubernetes Events: no node passed, a pod was bound\n"
    "                         without us, a policy was refused, a metric is stale (needs\n"
    "                         the right to create events)\n"
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
    "                         [system:kube-scheduler]\n"
    "  --insecure-http        allow plain HTTP on an address that is not loopback\n"
    "\n"
    "Pages: health, /metrics, /api/v1, and a dashboard for people\n"
    "  --no-dashboard         do not show it. Where verbs are it is shown on loopback\n"
    "                         only, and not with --client-ca\n"
    "  --pages-host NAME      another name that pages are asked for by on loopback, where\n"
    "                         berth is not the one that speaks TLS; may be repeated\n"
    "                         [localhost and addresses]\n"
    "\n"
    "Pages on a listener of their own, without verbs\n"
    "  --pages-listen ADDR:PORT  where; with HTTPS if there is a certificate.  [none]\n"
    "                         Health is open to all there; without the options below,\n"
    "                         the rest is shown on loopback only\n"
    "  --pages-token-file FILE  show the rest to who sends the token in this file\n"
    "                         (Authorization: Bearer TOKEN, or as the password in a\n"
    "                         browser, with any name)\n"
    "  --pages-client-name NAME  show it to who has a certificate of --client-ca with\n"
    "                         this name; may be repeated\n"
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
    "  --write-timeout SEC    in which the reply must go on at that rate          [5]\n"
    "  --idle-timeout SEC     between two requests                              [120]\n"
    "  --max-connections N    in all                                           [1024]\n"
    "  --max-connections-per-address N  from one address                        [512]\n"
    "\n"
    "The end\n"
    "  --drain-delay SEC      after SIGTERM: still take requests for so long, while\n"
    "                         readiness is off already                            [0]\n"
    "\n"
    "Decisions that are remembered, and the log\n"
    "  --decisions N          how many are remembered, for /api/v1/decisions and\n"
    "                         `berth explain`; 0: none                        [10000]\n"
    "  --decisions-memory SIZE  in how much memory                             [64Mi]\n"
    "  --log-level LEVEL      debug, info, warn or error                       [info]\n"
    "  --log-format FORMAT    logfmt or json                                 [logfmt]\n";

static void print_help(FILE *out) {
    (void)fprintf(out, "usage: %s serve [OPTIONS]\n%s", program_name, help);
}

static int parse_options(ServeSettings *settings, int argc, char *argv[], bool *ret_is_over) {
    int index = 0, option, r;
    const char *wrong;

    *ret_is_over = true;
    while ((option = getopt_long(argc, argv, "h", long_options, &index)) != -1) {
        if (option == 'h') {
            print_help(stdout);
            return EXIT_FINE;
        }
        if (option == '?')
            return usage_error("serve", NULL, print_help);
        r = serve_settings_set(settings, (ServeOption)option, long_options[index].name, optarg);
        if (r != 0)
            return r;
    }
    if (optind < argc) {
        (void)fprintf(stderr, "berth serve: \"%s\" is not an option\n", argv[optind]);
        return usage_error("serve", NULL, print_help);
    }
    wrong = serve_settings_finish(settings);
    *ret_is_over = wrong != NULL;
    return wrong ? usage_error("serve", wrong, print_help) : 0;
}

/* A broken policy or certificate is for the person to mend (1); a port or file
 * that cannot be had is the world's (3). */
static int exit_code_of(int r) {
    return r == -EINVAL || r == -EPERM ? EXIT_FAILED : EXIT_UNREACHABLE;
}

int cmd_serve(int argc, char *argv[]) {
    ServeSettings settings;
    _cleanup_(daemon_freep) Daemon *daemon = NULL;
    char error[DAEMON_ERROR_MAX];
    bool is_over;
    int r;

    serve_settings_init(&settings);
    r = parse_options(&settings, argc, argv, &is_over);
    if (is_over)
        return r;
    log_setup(settings.log_level, settings.log_format);
    daemon_block_signals();
    r = daemon_new(&settings.daemon, &daemon, error);
    if (r < 0) {
        terminal_complain("berth serve", error);
        return exit_code_of(r);
    }
    (void)printf("listening on %s\n", daemon_url(daemon));
    if (daemon_pages_url(daemon))
        (void)printf("pages on %s\n", daemon_pages_url(daemon));
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
