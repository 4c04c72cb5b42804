/* berth status: the state of the running berths, a line each. */

#include <math.h>

#include "base/visible.h"
#include "cli/progress.h"
#include "cli/replicas.h"
#include "cli/terminal.h"
#include "collect/collect.h"
#include "commands/commands.h"
#include "json/write.h"

#define TEXT_MAX ((size_t)64 * 1024 * 1024)
#define DIGEST_SHOWN 8u
#define COLUMNS 9u

typedef struct Settings {
    ServerSource source;
    bool json;
} Settings;

/* The replies of the replicas. */
typedef struct Status {
    Replicas replicas;
    BerthFact facts[REPLICAS_MAX]; /* one for each */
    Arena *arena;
} Status;

/* "3d4h", "5h12m", "7m3s", "12s". */
static Str age(double sec, const char *after, Arena *arena) {
    long long n = sec > 0 ? (long long)sec : 0;

    if (n >= 86400)
        return arena_printf(arena, "%lldd%lldh%s", n / 86400, n / 3600 % 24, after);
    if (n >= 3600)
        return arena_printf(arena, "%lldh%lldm%s", n / 3600, n / 60 % 60, after);
    if (n >= 60)
        return arena_printf(arena, "%lldm%llds%s", n / 60, n % 60, after);
    return arena_printf(arena, "%llds%s", n, after);
}

typedef struct Row {
    Str cells[COLUMNS];
} Row;

static Str number(uint64_t n, Arena *arena) {
    return arena_copy(arena, str_from_c(GROUPED(n)));
}

static Row row_of(const Status *status, size_t i) {
    const BerthFact *fact = &status->facts[i];
    Str name = str_from_c(status->replicas.names[i]);
    double ago = INFINITY; /* by the clock of the replica */
    uint64_t n_requests = 0;

    if (!str_is_empty(fact->error))
        return (Row){{name, STR("no reply"), STR("-"), STR("-"), STR("-"), STR("-"), STR("-"),
            STR("-"), STR("-")}};
    for (size_t k = 0; k < fact->n_schedulers; k++) {
        n_requests += fact->schedulers[k].n_requests;
        if (!str_is_empty(fact->schedulers[k].last_request_time))
            ago = fmin(ago, fact->schedulers[k].last_request_sec + fact->clock_skew_sec);
    }
    return (Row){{
        name,
        fact->is_ready ? STR("yes") : STR("no"),
        fact->version,
        age(fact->uptime_sec, "", status->arena),
        number(fact->n_nodes, status->arena),
        number(fact->n_pods, status->arena),
        arena_printf(status->arena, "%zu (%.*s)", fact->n_policies,
            STR_FMT(str_take(fact->policy_digest, DIGEST_SHOWN))),
        number(n_requests, status->arena),
        isfinite(ago) ? age(ago, " ago", status->arena) : STR("never"),
    }};
}

static void print_table(const Status *status, Buf *out) {
    static const Row head = {{STR("REPLICA"), STR("READY"), STR("VERSION"), STR("UP"), STR("NODES"),
        STR("PODS"), STR("POLICIES"), STR("FILTERS"), STR("LAST")}};
    Row rows[REPLICAS_MAX + 1];
    size_t widths[COLUMNS] = {0}, n = status->replicas.n;

    rows[0] = head;
    for (size_t i = 0; i < n; i++)
        rows[i + 1] = row_of(status, i);
    for (size_t i = 0; i <= n; i++)
        for (size_t k = 0; k < COLUMNS; k++)
            if (rows[i].cells[k].len > widths[k])
                widths[k] = rows[i].cells[k].len;
    for (size_t i = 0; i <= n; i++) {
        for (size_t k = 0; k + 1 < COLUMNS; k++) {
            visible_append_padded(out, rows[i].cells[k], widths[k]);
            buf_append(out, STR("  "));
        }
        (void)visible_append(out, rows[i].cells[COLUMNS - 1]);
        buf_append_char(out, '\n');
    }
}

static void print_note(Buf *out, const char *name, const char *what, Str text) {
    if (!str_is_empty(text))
        visible_print(out, "{}: {}{}\n", str_from_c(name), str_from_c(what), text);
}

/* Prints the checks that failed, which begin with [-]. */
static void print_readiness(Buf *out, const char *name, Str readiness) {
    Str line;

    while (!str_is_empty(readiness) && str_split(&readiness, '\n', &line))
        print_note(
            out, name, "not ready: ", str_has_prefix(line, STR("[-]")) ? str_skip(line, 3) : line);
}

static void print_notes(const Status *status, Buf *out) {
    const BerthFact *facts = status->facts;

    for (size_t i = 0; i < status->replicas.n; i++) {
        const char *name = status->replicas.names[i];

        print_note(out, name, "", facts[i].error);
        print_readiness(out, name, facts[i].readiness);
        print_note(out, name, "the newest policies were rejected: ", facts[i].policy_rejected);
        print_note(out, name, "", facts[i].policy_waiting);
        print_note(out, name, "the API server: ", facts[i].cluster_error);
        if (facts[i].holds_lease)
            buf_printf(out, "%s: holds the Lease, and binds\n", name);
    }
    for (size_t i = 1; i < status->replicas.n; i++) {
        Str first = facts[0].policy_digest, other = facts[i].policy_digest;

        if (str_is_empty(first) || str_is_empty(other) || str_eq(first, other))
            continue;
        buf_append(out, STR("the replicas have different policies\n"));
        return;
    }
}

static void print_json(const Status *status, Buf *out) {
    JsonWriter writer = {.out = out, .indent = 2};

    json_write(&writer, "{replicas: [");
    for (size_t i = 0; i < status->replicas.n; i++) {
        const BerthFact *fact = &status->facts[i];
        bool replies = str_is_empty(fact->error);

        json_write(&writer,
            "{name: %s, ready: %i, error: %.*s, status: ", status->replicas.names[i],
            fact->is_ready && replies, STR_FMT(fact->error));
        json_write_raw(&writer, replies ? str_trim(fact->status) : STR("null"));
        json_write_end_object(&writer);
    }
    json_write(&writer, "]}\n");
}

static int judge(const Status *status) {
    size_t n_ready = 0, n_silent = 0, n = status->replicas.n;

    for (size_t i = 0; i < n; i++) {
        bool is_silent = !str_is_empty(status->facts[i].error);

        n_ready += status->facts[i].is_ready && !is_silent;
        n_silent += is_silent;
    }
    if (n_silent == n)
        return EXIT_UNREACHABLE;
    return n_ready == n ? EXIT_FINE : EXIT_FAILED;
}

static int run(void *context, const Arguments *arguments) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    Status status = {.arena = arguments->arena};
    Settings *settings = context;
    int r;

    replicas_open(&settings->source, &status.replicas);
    progress_begin("asking the replicas");
    for (size_t i = 0; i < status.replicas.n; i++) {
        progress_count(i, status.replicas.n);
        collect_berth(&status.replicas.items[i], status.arena, &status.facts[i]);
    }
    if (settings->json)
        print_json(&status, &out);
    else {
        if (status.replicas.is_cluster)
            buf_printf(&out, "%s\n\n", replicas_describe(&status.replicas));
        print_table(&status, &out);
        print_notes(&status, &out);
    }
    terminal_finish(&out);
    r = judge(&status);
    replicas_done(&status.replicas);
    return r;
}

/* clang-format off */
static const Option options[] = {
    {"output", OPTION_CHOICE, 'o', .argument = "table|json", OPTION_AT(Settings, json), .initial = "table",
        .help = "output format"},

    SERVER_SOURCE_GROUP(Settings, source),
    {0},
};
/* clang-format on */

static const char *check(void *context, const Arguments *arguments) {
    return server_source_check(&((Settings *)context)->source);
}

const Command status_command = {
    .name = "status",
    .summary = "show the state of the running berths",
    .usage = "[OPTIONS]",
    .about =
        "Shows a line for each replica: whether it is ready, its version and uptime, the nodes and "
        "pods it knows, its policies with their digest, how many filter requests it answered, and "
        "when the last one came. Problems are listed below. The exit code is 1 when a "
        "replica is not ready, and 3 when none replies.",
    .options = options,
    .budget = (size_t)256 * 1024 * 1024,
    .memory_for = "berth's reply",
    .settings_size = sizeof(Settings),
    .check = check,
    .run = run,
};
