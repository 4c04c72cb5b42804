/* The extender's verbs as HTTP requests, and binding. */

#include "demo/demo-scheduler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "kube/blocking-client.h"
#include "json/fields.h"
#include "json/write.h"

#define SCHEDULER_BUDGET ((size_t)256 * 1024 * 1024)
#define REQUEST_MAX ((size_t)16 * 1024 * 1024)
#define CALL_SEC 5 /* kube-scheduler's default for httpTimeout */
#define NO_VERDICT (EXTENDER_PASSES - 1)

struct DemoScheduler {
    Access *access;
    Client *client;
    uint64_t seed;
    int64_t weight;
    ClusterState *state;  /* of the last placement */
    Scheduler *scheduler; /* NULL: before the first placement */
    Buf request;

    /* Valid during one placement. */
    Arena *arena;
    const NodeTable *table;
    uint8_t *scores; /* the extender's, by row; NULL: it was not called */
    Placement *placement;
};

SchedulerOptions demo_scheduler_options(uint64_t seed) {
    return (SchedulerOptions){
        .weight = DEMO_SCHEDULER_WEIGHT,
        .percentage = 100, /* as `berth config` writes it */
        .seed = seed,
        .plugins = {.ignores_taints = true},
        .ignores_extended_resources = true,
    };
}

int demo_scheduler_new(const char *url, uint64_t seed, DemoScheduler **ret) {
    _cleanup_(demo_scheduler_freep) DemoScheduler *scheduler = calloc(1, sizeof(*scheduler));
    const AccessServer server = {.name = "the demo", .url = url, .is_direct = true};
    char error[ACCESS_ERROR_MAX];
    int r;

    if (!scheduler)
        return -ENOMEM;
    scheduler->seed = seed;
    scheduler->weight = DEMO_SCHEDULER_WEIGHT;
    scheduler->request = BUF_INIT(REQUEST_MAX);
    scheduler->arena = arena_new(SCHEDULER_BUDGET);
    r = access_for_server(&server, &scheduler->access, error);
    if (r < 0)
        return r;
    scheduler->client = client_new(scheduler->access);
    if (!scheduler->arena || !scheduler->client)
        return -ENOMEM;
    *ret = TAKE_PTR(scheduler);
    return 0;
}

DemoScheduler *demo_scheduler_free(DemoScheduler *scheduler) {
    if (!scheduler)
        return NULL;
    scheduler_free(scheduler->scheduler);
    cluster_state_free(scheduler->state);
    client_free(scheduler->client);
    access_free(scheduler->access);
    arena_free(scheduler->arena);
    buf_done(&scheduler->request);
    free(scheduler);
    return NULL;
}

void demo_scheduler_set_weight(DemoScheduler *scheduler, int64_t weight) {
    scheduler->weight = weight;
}

/* Sets the placement's error after a failed call. 1; or -ENOMEM. */
static int fail(DemoScheduler *scheduler, Str error) {
    scheduler->placement->error = error;
    return error.ptr ? 1 : -ENOMEM;
}

/* Sends scheduler->request. 0; 1 when the call failed; or -ENOMEM. */
static int call(DemoScheduler *scheduler, Verb verb, Str *ret_reply) {
    Str path = arena_printf(scheduler->arena, "/%s", verb_name(verb));
    const BlockingRequest request = {.method = "POST",
        .path = path.ptr,
        .body = buf_str(&scheduler->request),
        .total_sec = CALL_SEC};
    int64_t start = clock_monotonic_nsec();
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;
    int r;

    if (!path.ptr || buf_error(&scheduler->request) < 0)
        return -ENOMEM;
    r = blocking_client_request_with(scheduler->client, &request, scheduler->arena, &reply, error);
    if (r < 0)
        return r;
    if (r > 0) {
        scheduler->placement->is_cut_off = true;
        return fail(scheduler, arena_copy(scheduler->arena, str_from_c(error)));
    }
    if (reply.status != 200)
        return fail(scheduler,
            arena_printf(scheduler->arena, "%s: status %u", verb_name(verb), reply.status));
    scheduler->placement->nsec[verb] = clock_monotonic_nsec() - start;
    *ret_reply = reply.body;
    return 0;
}

/* Checks the end of a reply, and its field Error. */
static int check_reply(DemoScheduler *scheduler, Verb verb, JsonReader *reader) {
    char error[128];

    json_end(reader);
    if (json_error(reader) == JSON_OK)
        return str_is_empty(scheduler->placement->error) ? 0 : 1;
    json_describe(reader, error, sizeof(error));
    return fail(
        scheduler, arena_printf(scheduler->arena, "reply of %s: %s", verb_name(verb), error));
}

/* Writes ExtenderArgs, with the keys in the order of the Go struct. */
static void write_args(DemoScheduler *scheduler, const uint32_t *rows, size_t n) {
    JsonWriter writer = JSON_WRITER(&scheduler->request);

    buf_reset(writer.out);
    json_write(&writer, "{Pod: ");
    demo_pod_write(scheduler->placement->pod, /* is_typed= */ false, writer.out);
    json_write(&writer, "Nodes: null, NodeNames: [");
    for (size_t i = 0; i < n; i++)
        json_write_string(&writer, scheduler->table->names->names[rows[i]]);
    json_write(&writer, "]}");
}

size_t reasons_count(NodeReason *reasons, size_t *n_reasons, size_t max, Str text, size_t n_nodes) {
    size_t i = 0;

    while (i < *n_reasons && !str_eq(reasons[i].text, text))
        i++;
    if (i == max)
        i--;
    else if (i == *n_reasons)
        reasons[(*n_reasons)++] = (NodeReason){.text = text};
    reasons[i].n_nodes += n_nodes;
    return i;
}

static int by_count(const void *a, const void *b) {
    const NodeReason *x = a, *y = b;

    if (x->n_nodes != y->n_nodes)
        return x->n_nodes > y->n_nodes ? -1 : 1;
    return str_cmp(x->text, y->text);
}

void reasons_sort(NodeReason *reasons, size_t n) {
    if (n > 0)
        qsort(reasons, n, sizeof(*reasons), by_count);
}

static void read_passed(DemoScheduler *scheduler, JsonReader *reader, uint16_t *by_row) {
    json_array(reader);
    while (json_element(reader)) {
        Str name = STR_NULL;
        uint32_t row;

        json_string(reader, scheduler->arena, &name);
        row = table_find(scheduler->table, name);
        by_row[row] = EXTENDER_PASSES;
        scheduler->placement->n_passed++;
        if (row == scheduler->table->n_rows)
            json_fail(reader, JSON_E_TYPE, "a node that was not sent");
    }
}

static void read_failed(DemoScheduler *scheduler, JsonReader *reader, uint16_t *by_row) {
    Placement *placement = scheduler->placement;
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        Str text = STR_NULL, name = arena_copy(scheduler->arena, key);

        json_string(reader, scheduler->arena, &text);
        if (json_error(reader) == JSON_OK)
            by_row[table_find(scheduler->table, name)] = (uint16_t)reasons_count(
                placement->reasons, &placement->n_reasons, PLACEMENT_REASONS_MAX, text, 1);
    }
}

static int filter(void *context, const Pod *pod, int64_t now_nsec, const uint32_t *rows, size_t n,
    Arena *arena, const uint16_t **ret_verdicts) {
    DemoScheduler *scheduler = context;
    uint16_t *by_row = ARENA_ARRAY(arena, uint16_t, scheduler->table->n_rows + 1);
    uint16_t *verdicts = ARENA_ARRAY(arena, uint16_t, n);
    Str reply = STR_NULL, key;
    JsonReader reader;
    int r;

    if (!by_row || !verdicts)
        return -ENOMEM;
    for (size_t row = 0; row <= scheduler->table->n_rows; row++)
        by_row[row] = NO_VERDICT;
    scheduler->placement->n_candidates = n;
    write_args(scheduler, rows, n);
    r = call(scheduler, VERB_FILTER, &reply);
    if (r != 0)
        return r;
    json_reader_init(&reader, reply);
    json_object(&reader);
    while (json_key(&reader, &key)) {
        if (json_key_is(&reader, key, STR("NodeNames")))
            read_passed(scheduler, &reader, by_row);
        else if (json_key_is(&reader, key, STR("FailedNodes")))
            read_failed(scheduler, &reader, by_row);
        else if (json_key_is(&reader, key, STR("Error")))
            json_string(&reader, scheduler->arena, &scheduler->placement->error);
        else
            json_skip(&reader, NULL);
    }
    for (size_t i = 0; i < n; i++)
        verdicts[i] = by_row[rows[i]];
    *ret_verdicts = verdicts;
    return check_reply(scheduler, VERB_FILTER, &reader);
}

static void print_reason(const void *context, size_t reason, Buf *out) {
    const DemoScheduler *scheduler = context;

    buf_append(out, scheduler->placement->reasons[reason].text);
}

typedef struct HostScore {
    Str host;
    int64_t score;
} HostScore;

/* Missing hosts get 0. kube-scheduler continues without scores if the call fails. */
static int prioritize(void *context, const Pod *pod, int64_t now_nsec, const uint32_t *rows,
    size_t n, Arena *arena, const uint8_t **ret_scores) {
    static const JsonField fields[] = {
        JSON_MEMBER("Host", TEXT, HostScore, host),
        JSON_MEMBER("Score", INT, HostScore, score),
    };
    DemoScheduler *scheduler = context;
    uint8_t *by_row = ARENA_ARRAY(scheduler->arena, uint8_t, scheduler->table->n_rows + 1);
    uint8_t *scores = ARENA_ARRAY(arena, uint8_t, n);
    Str reply = STR_NULL;
    JsonReader reader;
    int r;

    if (!by_row || !scores)
        return -ENOMEM;
    write_args(scheduler, rows, n);
    r = call(scheduler, VERB_PRIORITIZE, &reply);
    if (r != 0)
        return r;
    json_reader_init(&reader, reply);
    json_array(&reader);
    while (json_element(&reader)) {
        HostScore read = {0};

        JSON_READ_FIELDS(&reader, scheduler->arena, fields, &read);
        by_row[table_find(scheduler->table, read.host)] =
            (uint8_t)(read.score > 0 ? read.score : 0);
    }
    for (size_t i = 0; i < n; i++)
        scores[i] = by_row[rows[i]];
    r = check_reply(scheduler, VERB_PRIORITIZE, &reader);
    *ret_scores = r == 0 ? scores : NULL;
    scheduler->scores = by_row;
    return r;
}

static int bind_to(DemoScheduler *scheduler, Str node) {
    const Pod *pod = &scheduler->placement->pod->model;
    JsonWriter writer = JSON_WRITER(&scheduler->request);
    Str reply = STR_NULL;
    JsonReader reader;
    int r;

    buf_reset(&scheduler->request);
    json_write(&writer, "{PodName: %.*s, PodNamespace: %.*s, PodUID: %.*s, Node: %.*s}",
        STR_FMT(pod->name), STR_FMT(pod->namespace), STR_FMT(pod->uid), STR_FMT(node));
    r = call(scheduler, VERB_BIND, &reply);
    if (r != 0)
        return r;
    json_reader_init(&reader, reply);
    json_string_member(&reader, scheduler->arena, STR("Error"), &scheduler->placement->error);
    r = check_reply(scheduler, VERB_BIND, &reader);
    if (r == 0)
        scheduler->placement->node = node;
    return r;
}

/* Gives the current nodes and pods to the scheduler. */
static int update_cluster(DemoScheduler *scheduler) {
    _cleanup_(cluster_state_freep) ClusterState *state = NULL;
    SchedulerOptions options = demo_scheduler_options(scheduler->seed);
    SchedulerExtender extender = {
        .context = scheduler,
        .n_reasons = PLACEMENT_REASONS_MAX,
        .filter = filter,
        .prioritize = prioritize,
        .print_reason = print_reason,
    };
    int r = cluster_state_new(scheduler->table, /* index= */ NULL, &state);

    if (r < 0)
        return r;
    cluster_state_add_table_pods(state);
    r = scheduler->scheduler ? scheduler_set_cluster(scheduler->scheduler, state)
                             : scheduler_new(&options, state, extender, &scheduler->scheduler);
    if (r < 0)
        return r;
    cluster_state_free(scheduler->state);
    scheduler->state = TAKE_PTR(state);
    scheduler_set_weight(scheduler->scheduler, scheduler->weight);
    return 0;
}

int demo_scheduler_place(
    DemoScheduler *scheduler, const DemoPod *pod, const NodeTable *table, Placement *ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)64 * 1024);
    PodRequest request = *pod->template;
    Choice choice;
    int r;

    arena_reset(scheduler->arena);
    *ret = (Placement){.pod = pod, .score = -1, .best_score = -1};
    scheduler->placement = ret;
    scheduler->table = table;
    scheduler->scores = NULL;
    request.pod = pod->model;
    r = update_cluster(scheduler);
    if (r == 0)
        r = scheduler_choose(
            scheduler->scheduler, &request, clock_wall_nsec(), /* inspected= */ NO_ROW, &choice);
    if (r == 0 && choice.row == NO_ROW) {
        scheduler_print_fit_error(scheduler->scheduler, &text);
        ret->fit_error = arena_copy(scheduler->arena, buf_str(&text));
        r = ret->fit_error.ptr ? 0 : -ENOMEM;
    } else if (r == 0) {
        ret->score = scheduler->scores ? scheduler->scores[choice.row] : -1;
        for (size_t i = 0; scheduler->scores && i < table->n_rows; i++)
            if (scheduler->scores[i] > ret->best_score)
                ret->best_score = scheduler->scores[i];
        r = bind_to(scheduler, table->names->names[choice.row]);
    }
    reasons_sort(ret->reasons, ret->n_reasons);
    return r < 0 ? r : 0;
}

void placement_print_head(const Placement *placement, int columns, Console *console) {
    bool is_placed = !str_is_empty(placement->node);

    buf_printf(&console->text, "%-*s ", columns, placement->pod->full_name);
    console_painted(console, is_placed ? STYLE_GOOD : STYLE_BAD, PLACEMENT_NODE_COLUMNS,
        is_placed ? placement->node : STR("pending"));
}

void placement_print_reasons(const Placement *placement, size_t width, Buf *out) {
    size_t start = out->len;

    for (size_t i = 0; i < placement->n_reasons; i++) {
        const NodeReason *reason = &placement->reasons[i];
        size_t left = placement->n_reasons - i;
        size_t size = (size_t)snprintf(NULL, 0, ", %zu ", reason->n_nodes) + reason->text.len;

        if (left > 1)
            size += strlen(", +10 more");
        if (i > 0 && out->len - start + size > width) {
            buf_printf(out, ", +%zu more", left);
            return;
        }
        buf_printf(out, "%s%zu %.*s", i > 0 ? ", " : "", reason->n_nodes, STR_FMT(reason->text));
    }
}

void placement_print_why(const Placement *placement, size_t width, Buf *out) {
    if (!str_is_empty(placement->error))
        buf_printf(out, "error: %.*s", STR_FMT(placement->error));
    else if (placement->n_candidates == 0)
        buf_append(out, STR("no node has enough cpu and memory; berth was not called"));
    else
        placement_print_reasons(placement, width, out);
}
