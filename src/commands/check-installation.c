/*
 * Each round collects all facts again and judges them; with --wait there are rounds until nothing
 * fails or the time is up, and only the last one is printed.
 */

#include "commands/check-internal.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/visible.h"
#include "checkup/verdict.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "commands/counting-rules.h"
#include "input/file.h"

#define ROUND_BUDGET ((size_t)512 * 1024 * 1024)
#define TEXT_MAX ((size_t)16 * 1024 * 1024)
#define NOTES_MAX ((size_t)256 * 1024)
#define PAUSE_SEC 1

static bool is_live_given(const InstallationCheck *check) {
    const CollectOptions *collector = &check->collect;

    return collector->n_servers > 0 || server_source_is_given(&check->source) ||
           check->n_configs > 0 || collector->n_scheduler_pods > 0 || collector->service_account ||
           collector->user || check->wait_nsec > 0;
}

bool installation_check_is_given(const InstallationCheck *check) {
    return is_live_given(check) || check->collect.url || check->n_only > 0;
}

const char *installation_check_validate(
    const InstallationCheck *check, const ClusterSource *cluster) {
    const CollectOptions *collector = &check->collect;
    bool has_cluster = cluster_source_is_live(cluster);
    const char *wrong;

    if (collector->is_offline)
        return is_live_given(check) || has_cluster ? "--offline reads configurations and contacts "
                                                     "no server: --server, --kubeconfig and "
                                                     "the like need --live"
                                                   : NULL;
    wrong = cluster_source_check(cluster);
    if (!wrong)
        wrong = server_source_check(&check->source);
    if (wrong)
        return wrong;
    if (collector->service_account && collector->user)
        return "--user is instead of --service-account";
    if (!has_cluster && (collector->service_account || collector->user))
        return "--service-account and --user need an API server: --kubeconfig or --in-cluster";
    if (!has_cluster && collector->n_scheduler_pods > 0)
        return "--scheduler-pod needs an API server: --kubeconfig or --in-cluster";
    return NULL;
}

static ConfigText read_config(const char *path, Arena *arena) {
    _cleanup_(buf_done) Buf text = BUF_INIT(COLLECT_CONFIG_MAX);
    char error[FILE_ERROR_MAX] = "";
    ConfigText config = {
        .origin = strcmp(path, "-") == 0 ? STR("standard input") : str_from_c(path)};
    int r = file_read(path, &text, error);
    Str why = str_from_c(error);

    if (str_has_prefix(why, str_from_c(path)) &&
        str_has_prefix(str_skip(why, strlen(path)), STR(": ")))
        why = str_skip(why, strlen(path) + 2); /* the origin already shows it */
    *(r < 0 ? &config.error : &config.text) = arena_copy(arena, r < 0 ? why : buf_str(&text));
    return config;
}

/* Reports a misspelt --only before any request. */
static void check_only(const InstallationCheck *check, Arena *arena) {
    const InstallationFacts nothing = {.is_offline = check->collect.is_offline};
    _cleanup_(buf_done) Buf groups = BUF_INIT(NOTES_MAX);
    Str unknown = STR_NULL;
    Checkup checkup;

    if (checkup_run(&nothing, check->only, check->n_only, arena, &checkup, &unknown) == 0)
        return;
    for (int i = 0; i < _CHECK_GROUPS; i++)
        buf_printf(&groups, "%s %s", i > 0 ? "," : "", check_group_name((CheckGroup)i));
    terminal_exit(EXIT_USAGE, "--only \"%.*s\": no such group or code; groups are%.*s",
        STR_FMT(unknown), STR_FMT(buf_str(&groups)));
}

typedef struct Round {
    Collector collector;
    InstallationFacts facts;
    Checkup checkup;
    bool is_anything_reached;
} Round;

static void collect_live(Collector *collector) {
    collect_berths(collector);
    if (collector->client)
        collect_cluster(collector);
    if (collector->client && str_is_empty(collector->facts->cluster_error)) {
        collect_pods(collector);
        collect_rights(collector);
        collect_published(collector);
    }
    collect_scheduler_configs(collector);
    collect_probes(collector);
}

static bool is_reached(const InstallationFacts *facts) {
    bool is_any = facts->was_cluster_asked && str_is_empty(facts->cluster_error);

    for (size_t i = 0; i < facts->n_berths; i++)
        is_any |= str_is_empty(facts->berths[i].error) || facts->berths[i].is_forbidden;
    for (size_t i = 0; i < facts->n_configs; i++)
        is_any |= str_is_empty(facts->configs[i].error) || facts->configs[i].is_invalid;
    return is_any;
}

static void run_round(
    const InstallationCheck *check, Client *client, Arena *arena, Buf *notes, Round *ret) {
    Str unknown;

    *ret = (Round){.facts.is_offline = check->collect.is_offline};
    ret->collector = (Collector){.options = &check->collect,
        .arena = arena,
        .client = client,
        .facts = &ret->facts,
        .give_up_nsec = clock_monotonic_nsec() + COLLECT_SEC * NSEC_PER_SEC,
        .notes = notes};
    buf_reset(notes);
    if (check->collect.is_offline)
        collect_scheduler_configs(&ret->collector);
    else
        collect_live(&ret->collector);
    ret->is_anything_reached = is_reached(&ret->facts);
    (void)checkup_run(&ret->facts, check->only, check->n_only, arena, &ret->checkup, &unknown);
}

static bool is_fine(const Round *round) {
    return round->is_anything_reached && checkup_state(&round->checkup) != CHECK_FAILED;
}

/* Notes go to stderr, so that stdout is valid JSON. */
static void print_notes(const Buf *notes) {
    _cleanup_(buf_done) Buf out = BUF_INIT(2 * NOTES_MAX);
    Str rest = buf_str(notes), line;

    while (!str_is_empty(rest) && str_split(&rest, '\n', &line)) {
        visible_print(&out, "{}\n", line);
    }
    (void)terminal_print(stderr, buf_str(&out));
}

static int print_round(const InstallationCheck *check, const Round *round) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);

    print_notes(round->collector.notes);
    if (check->form != OUTPUT_TABLE)
        checkup_print_json(&round->checkup, &out);
    else
        checkup_print(&round->checkup, terminal_has_colour(stdout),
            /* is_ascii= */ !terminal_has_symbols(stdout), &out);
    if (check->form == OUTPUT_TABLE && check->prints_counts) /* all have the same policies (B601) */
        counting_rules_print_all(NULL, berth_next(&round->facts, NULL), check->bind, &out);
    terminal_finish_as(&out, check->form);
    return !round->is_anything_reached ? EXIT_UNREACHABLE
           : is_fine(round)            ? EXIT_FINE
                                       : EXIT_FAILED;
}

/* BIND_BY_BERTH if all known configurations and berths bind. */
static BindWiring bind_wiring(const InstallationFacts *facts) {
    bool is_known = false, is_bound = true;

    FOR_EACH_ENTRY (found, facts) {
        is_known = true;
        is_bound &= !str_is_empty(found.entry->bind_verb);
    }
    FOR_ALL_BERTHS (berth, facts) {
        is_known = true;
        is_bound &= berth->answers_bind;
    }
    if (!is_known)
        return BIND_UNKNOWN;
    return is_bound ? BIND_BY_BERTH : BIND_BY_SCHEDULER;
}

static int run_rounds(InstallationCheck *check, Client *client) {
    _cleanup_(arena_freep) Arena *arena =
        terminal_arena("the facts about the installation", ROUND_BUDGET);
    _cleanup_(buf_done) Buf notes = BUF_INIT(NOTES_MAX);
    int64_t deadline = clock_monotonic_nsec() + check->wait_nsec;
    Round round;

    progress_begin(
        check->wait_nsec > 0 ? "waiting until no check fails" : "checking the installation");
    for (;;) {
        run_round(check, client, arena, &notes, &round);
        check->bind = bind_wiring(&round.facts);
        if (is_fine(&round) || clock_monotonic_nsec() + PAUSE_SEC * NSEC_PER_SEC > deadline)
            return print_round(check, &round);
        arena_reset(arena);
        (void)nanosleep(&(struct timespec){.tv_sec = PAUSE_SEC}, NULL);
    }
}

int installation_check_run(InstallationCheck *check, const ClusterSource *cluster) {
    _cleanup_(arena_freep) Arena *arena = terminal_arena("the checks", ROUND_BUDGET);
    _cleanup_(access_freep) Access *access = NULL;
    _cleanup_(client_freep) Client *client = NULL;
    bool is_live = !check->collect.is_offline;

    check_only(check, arena);
    if (is_live)
        server_source_check_token(&check->source);
    for (size_t i = 0; i < check->n_configs; i++)
        check->collect.configs[i] = read_config(check->configs[i], arena);
    check->collect.n_configs = check->n_configs;
    check->collect.access = check->source.access;
    check->collect.is_self = is_live && cluster->is_in_cluster;
    if (is_live && cluster_source_is_live(cluster)) {
        access = cluster_source_access(cluster);
        client = terminal_need(client_new(access), "the connection to the API server");
    }
    return run_rounds(check, client);
}
