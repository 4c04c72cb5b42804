/* berth status: the state of the running berths, a line each. */

#include <stdio.h>

#include "base/calendar.h"
#include "base/visible.h"
#include "cli/progress.h"
#include "cli/replicas.h"
#include "cli/terminal.h"
#include "commands/commands.h"
#include "json/fields.h"
#include "json/write.h"

#define TEXT_MAX ((size_t)64 * 1024 * 1024)
#define DIGEST_SHOWN 8u
#define COLUMNS 9u

typedef struct Settings {
    ServerSource source;
    bool json;
} Settings;

/* What one replica reports (docs/api.md). */
typedef struct ReplicaStatus {
    const char *name;
    Str error; /* why there is no status; else empty */
    Str raw;   /* /api/v1/status, as it came */
    bool is_ready;
    Str readiness; /* lines of the checks that failed */
    Str version, time, policy_digest, rejected, waiting, cluster_digest, cluster_error, last;
    double uptime_sec;
    int64_t n_policies, n_nodes, n_pods, n_requests;
    bool holds_lease;
} ReplicaStatus;

static void read_scheduler(JsonReader *reader, Arena *arena, void *target) {
    typedef struct Scheduler {
        int64_t n;
        Str last;
    } Scheduler;
    static const JsonField fields[] = {
        {"asked", JSON_FIELD_INT, offsetof(Scheduler, n)},
        {"lastAskedTime", JSON_FIELD_TEXT, offsetof(Scheduler, last)},
    };
    ReplicaStatus *status = target;
    Scheduler scheduler = {0};

    JSON_READ_FIELDS(reader, arena, fields, &scheduler);
    status->n_requests += scheduler.n;
    if (str_cmp(scheduler.last, status->last) > 0)
        status->last = scheduler.last;
}

#define AT(member) offsetof(ReplicaStatus, member)

static bool read_status(Arena *arena, ReplicaStatus *status) {
    static const JsonField fields[] = {
        {"version", JSON_FIELD_TEXT, AT(version)},
        {"time", JSON_FIELD_TEXT, AT(time)},
        {"uptimeSeconds", JSON_FIELD_DOUBLE, AT(uptime_sec)},
        {"policy.digest", JSON_FIELD_TEXT, AT(policy_digest)},
        {"policy.policies", JSON_FIELD_INT, AT(n_policies)},
        {"policy.rejected", JSON_FIELD_TEXT, AT(rejected)},
        {"policy.waiting", JSON_FIELD_TEXT, AT(waiting)},
        {"cluster.nodes", JSON_FIELD_INT, AT(n_nodes)},
        {"cluster.pods", JSON_FIELD_INT, AT(n_pods)},
        {"cluster.digest", JSON_FIELD_TEXT, AT(cluster_digest)},
        {"cluster.error", JSON_FIELD_TEXT, AT(cluster_error)},
        {"bind.lease.held", JSON_FIELD_BOOL, AT(holds_lease)},
        {"schedulers", JSON_FIELD_ARRAY, .read = read_scheduler},
    };

    return JSON_READ_DOCUMENT(status->raw, arena, fields, status) && !str_is_empty(status->version);
}

/* The checks that failed: lines of @page that start with [-]. */
static Str failed_checks(Str page, Arena *arena) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    Str line;

    while (str_split(&page, '\n', &line))
        if (str_has_prefix(line, STR("[-]")))
            buf_printf(&text, "%s%.*s", text.len > 0 ? "; " : "", STR_FMT(str_skip(line, 3)));
    return arena_copy(arena, buf_str(&text));
}

static void fetch(const BerthAccess *access, Arena *arena, ReplicaStatus *ret) {
    char error[BERTH_CLIENT_ERROR_MAX];
    BlockingReply health;

    if (!berth_client_request(access, STR("/readyz?verbose"), STR_NULL, arena, &health, error) ||
        !berth_client_get(access, STR("/api/v1/status"), arena, &ret->raw, error)) {
        ret->error = arena_copy(arena, str_from_c(error));
        return;
    }
    if (!read_status(arena, ret)) {
        ret->error = arena_printf(arena, "%s does not reply like a berth", access->server);
        return;
    }
    ret->is_ready = health.status == 200;
    if (!ret->is_ready)
        ret->readiness = failed_checks(health.body, arena);
}

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

static Str number(int64_t n, Arena *arena) {
    return arena_copy(arena, str_from_c(GROUPED(n > 0 ? (uint64_t)n : 0)));
}

static Row row_of(const ReplicaStatus *status, Arena *arena) {
    int64_t last, now; /* by the clock of the replica */
    uint32_t nanos;
    bool is_known =
        calendar_parse(status->last, &last, &nanos) && calendar_parse(status->time, &now, &nanos);

    if (!str_is_empty(status->error))
        return (Row){{str_from_c(status->name), STR("no reply"), STR("-"), STR("-"), STR("-"),
            STR("-"), STR("-"), STR("-"), STR("-")}};
    return (Row){{
        str_from_c(status->name),
        status->is_ready ? STR("yes") : STR("no"),
        status->version,
        age(status->uptime_sec, "", arena),
        number(status->n_nodes, arena),
        number(status->n_pods, arena),
        arena_printf(arena, "%lld (%.*s)", (long long)status->n_policies,
            STR_FMT(str_take(status->policy_digest, DIGEST_SHOWN))),
        number(status->n_requests, arena),
        is_known ? age((double)(now - last), " ago", arena) : STR("never"),
    }};
}

static void print_table(const ReplicaStatus *list, size_t n, Arena *arena, Buf *out) {
    static const Row head = {{STR("REPLICA"), STR("READY"), STR("VERSION"), STR("UP"), STR("NODES"),
        STR("PODS"), STR("POLICIES"), STR("FILTERS"), STR("LAST")}};
    Row rows[REPLICAS_MAX + 1];
    size_t widths[COLUMNS] = {0};

    rows[0] = head;
    for (size_t i = 0; i < n; i++)
        rows[i + 1] = row_of(&list[i], arena);
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

static void print_note(Buf *out, const ReplicaStatus *status, const char *what, Str text) {
    if (!str_is_empty(text))
        visible_print(out, "{}: {}{}\n", str_from_c(status->name), str_from_c(what), text);
}

static void print_notes(const ReplicaStatus *list, size_t n, Buf *out) {
    for (size_t i = 0; i < n; i++) {
        const ReplicaStatus *status = &list[i];

        print_note(out, status, "", status->error);
        print_note(out, status, "not ready: ", status->readiness);
        print_note(out, status, "the newest policies were rejected: ", status->rejected);
        print_note(out, status, "", status->waiting);
        print_note(out, status, "the API server: ", status->cluster_error);
        if (status->holds_lease)
            buf_printf(out, "%s: holds the Lease, and binds\n", status->name);
    }
    for (size_t i = 1; i < n; i++) {
        Str first = list[0].policy_digest, other = list[i].policy_digest;

        if (str_is_empty(first) || str_is_empty(other) || str_eq(first, other))
            continue;
        buf_append(out, STR("the replicas have different policies\n"));
        return;
    }
}

static void print_json(const ReplicaStatus *list, size_t n, Buf *out) {
    JsonWriter writer = {.out = out, .indent = 2};

    json_write(&writer, "{replicas: [");
    for (size_t i = 0; i < n; i++) {
        json_write(&writer, "{name: %s, ready: %i, error: %.*s, status: ", list[i].name,
            list[i].is_ready, STR_FMT(list[i].error));
        json_write_raw(&writer, str_is_empty(list[i].error) ? str_trim(list[i].raw) : STR("null"));
        json_write_end_object(&writer);
    }
    json_write(&writer, "]}\n");
}

static int judge(const ReplicaStatus *list, size_t n) {
    size_t n_ready = 0, n_silent = 0;

    for (size_t i = 0; i < n; i++) {
        n_ready += list[i].is_ready;
        n_silent += !str_is_empty(list[i].error);
    }
    if (n_silent == n)
        return EXIT_UNREACHABLE;
    return n_ready == n ? EXIT_FINE : EXIT_FAILED;
}

static int run(void *context, const Arguments *arguments) {
    _cleanup_(replicas_done) Replicas replicas = {0};
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    ReplicaStatus list[REPLICAS_MAX];
    Settings *settings = context;

    replicas_open(&settings->source, &replicas);
    progress_begin("asking the replicas");
    for (size_t i = 0; i < replicas.n; i++) {
        progress_count(i, replicas.n);
        list[i] = (ReplicaStatus){.name = replicas.names[i]};
        fetch(&replicas.items[i], arguments->arena, &list[i]);
    }
    if (settings->json)
        print_json(list, replicas.n, &out);
    else {
        if (replicas.is_cluster)
            buf_printf(&out, "%s\n\n", replicas_describe(&replicas));
        print_table(list, replicas.n, arguments->arena, &out);
        print_notes(list, replicas.n, &out);
    }
    terminal_finish(&out);
    return judge(list, replicas.n);
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
        "when the last one came. Below, everything that is wrong. The exit code is 1 when a "
        "replica is not ready, and 3 when none replies.",
    .options = options,
    .budget = (size_t)256 * 1024 * 1024,
    .memory_for = "berth's reply",
    .settings_size = sizeof(Settings),
    .check = check,
    .run = run,
};
