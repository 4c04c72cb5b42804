/* berth open: the dashboard of a berth in a cluster, on a port of this machine. */

#include <signal.h>
#include <stdio.h>

#include "cli/replicas.h"
#include "cli/terminal.h"
#include "commands/commands.h"
#include "commands/explain-internal.h"
#include "commands/page-proxy.h"
#include "json/read.h"

typedef struct Settings {
    ServerSource source;
    int64_t port;
    const char *replica; /* NULL: the one that decided last */
} Settings;

static volatile sig_atomic_t is_over;

static void stop(int number) {
    is_over = 1;
}

/* When it decided last, in nanoseconds since 1970; 0: never, or it does not reply. */
static int64_t last_decision(const BerthAccess *access, Arena *arena) {
    char error[BERTH_CLIENT_ERROR_MAX];
    ApiDecision newest = {0};
    Str page = STR_NULL;
    JsonReader reader;

    if (berth_client_get(access, STR("/api/v1/decisions?limit=1"), arena, &page, error) != 0)
        return 0;
    json_reader_init(&reader, page);
    api_decision_decode_page(&reader, arena, &newest, &(ApiNomination){0});
    return json_error(&reader) == JSON_OK ? api_decision_time(&newest) : 0;
}

static size_t find_busiest(const Replicas *replicas, Arena *arena) {
    int64_t newest = -1;
    size_t at = 0;

    for (size_t i = 0; replicas->n > 1 && i < replicas->n; i++) {
        int64_t last = last_decision(&replicas->items[i], arena);

        if (last > newest) {
            newest = last;
            at = i;
        }
    }
    return at;
}

/* 0; or an exit code, after complaining. */
static int choose(const Settings *settings, const Replicas *replicas, Arena *arena, size_t *ret) {
    if (!replicas->is_cluster)
        return terminal_complain(
            "this command is for a berth in a cluster; this server has its dashboard at %s",
            replicas->names[0]);
    if (!settings->replica) {
        *ret = find_busiest(replicas, arena);
        return 0;
    }
    for (*ret = 0; *ret < replicas->n; ++*ret)
        if (strcmp(replicas->names[*ret], settings->replica) == 0)
            return 0;
    return terminal_complain(
        "there is no replica %s; `%s status` lists them", settings->replica, program_name);
}

static void greet(const Replicas *replicas, size_t chosen, const PageProxy *proxy) {
    char url[PAGE_PROXY_URL_MAX];

    page_proxy_url(proxy, url);
    (void)printf("dashboard of %s\n  %s\n", replicas->items[chosen].server, url);
    for (size_t i = 0; i < replicas->n; i++)
        if (i != chosen)
            (void)printf("another replica: --replica %s\n", replicas->names[i]);
    (void)printf("Ctrl-C ends it.\n");
    (void)fflush(stdout);
}

static int serve(const Settings *settings, const Replicas *replicas, size_t chosen) {
    _cleanup_(page_proxy_freep) PageProxy *proxy = NULL;
    const struct sigaction action = {.sa_handler = stop};
    int r = page_proxy_new(&replicas->items[chosen], (uint16_t)settings->port, &proxy);

    if (r < 0)
        return terminal_complain(
            "cannot listen on 127.0.0.1, port %d: %s", (int)settings->port, strerror(-r));
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    greet(replicas, chosen, proxy);
    while (!is_over && r == 0)
        r = page_proxy_step(proxy);
    return r == 0 ? EXIT_FINE : terminal_failed("the requests", r, NULL);
}

static int run(void *context, const Arguments *arguments) {
    _cleanup_(replicas_done) Replicas replicas = {0};
    Settings *settings = context;
    size_t chosen = 0;
    int r = replicas_open(&settings->source, &replicas);

    if (r == 0)
        r = choose(settings, &replicas, arguments->arena, &chosen);
    if (r == 0)
        r = serve(settings, &replicas, chosen);
    server_source_done(&settings->source);
    return r;
}

#define AT(member) OPTION_AT(Settings, member)

/* clang-format off */
static const Option options[] = {
    {"port", OPTION_NUMBER, .argument = "PORT", AT(port), .min = 0, .max = UINT16_MAX,
        .initial = "0: the system picks one", .help = "port on 127.0.0.1"},
    {"replica", OPTION_TEXT, .argument = "POD", AT(replica), .initial = "the one that decided last",
        .help = "whose dashboard; each replica shows its own decisions"},

    OPTION_GROUP("The cluster"),
    CLUSTER_SOURCE_LIVE_OPTIONS(Settings, source.cluster),
    SERVER_SOURCE_NAMESPACE_OPTION(Settings, source),
    {0},
};
/* clang-format on */

static const char *check(void *context, const Arguments *arguments) {
    return server_source_check(&((Settings *)context)->source);
}

const Command open_command = {
    .name = "open",
    .summary = "show the dashboard of a berth in a cluster",
    .usage = "[OPTIONS]",
    .about = "Serves the dashboard of a berth in a cluster on a port of this machine, through the "
             "API server: a kubeconfig is enough. Open the URL that it prints in a browser. The "
             "port is on 127.0.0.1, and answers only browsers that were given the URL, which has a "
             "random key.",
    .options = options,
    .budget = (size_t)64 * 1024 * 1024,
    .settings_size = sizeof(Settings),
    .defaults = &(const Settings){.source.prefers_cluster = true},
    .check = check,
    .run = run,
};
