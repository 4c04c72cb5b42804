/* berth explain --last: fetches the last decisions about a pod and prints them. */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/diag.h"
#include "cli/berth-client.h"
#include "cli/progress.h"
#include "cli/replicas.h"
#include "cli/terminal.h"
#include "commands/explain-internal.h"
#include "input/zones.h"
#include "policy/program.h"
#include "replay/replayed-decision.h"
#include "json/fields.h"
#include "json/write.h"

/* A cluster of 5,000 nodes with all their pods takes a busy berth some seconds. */
#define FETCH_TIMEOUT_SEC 60
#define LAST_BUDGET ((size_t)1024 * 1024 * 1024)
#define SCRATCH_BUDGET ((size_t)256 * 1024 * 1024)
#define LAST_TEXT_MAX ((size_t)256 * 1024 * 1024)
#define PAGE_LIMIT "10000"
#define MISS_HINT                                                                                  \
    "\n  either no scheduler that calls berth has tried it since they started (is its "            \
    "schedulerName right?), or that was too long ago"
#define PAGES_MAX 10000u /* of nodes: a limit for broken servers */

/* The state of a lookup. */
typedef struct Lookup {
    Replicas replicas;
    bool is_silent[REPLICAS_MAX]; /* it did not answer, which was reported */
    PodDecisions decisions;
    BundleCase found; /* the filter decision, replayed here from its inputs; no view: not so, ... */
    char obstacle[BERTH_CLIENT_ERROR_MAX]; /* ... for this reason; empty: there is none */
    char error[BERTH_CLIENT_ERROR_MAX];
    Arena *arena;
} Lookup;

/* --- requests ---------------------------------------------------------------------------- */

/* All return 0, or 1 with the reason in lookup->error. */

static int fail_memory(Lookup *lookup) {
    (void)snprintf(lookup->error, sizeof(lookup->error), "out of memory for the reply");
    return 1;
}

static int fetch(Lookup *lookup, size_t replica, Str path, Str *ret) {
    const BerthAccess *access = &lookup->replicas.items[replica];
    int r = path.ptr ? berth_client_get(access, path, lookup->arena, ret, lookup->error) : -1;

    return r < 0 ? fail_memory(lookup) : r;
}

static int check_reader(Lookup *lookup, size_t replica, JsonReader *reader) {
    json_end(reader);
    if (json_error(reader) == JSON_OK)
        return 0;
    (void)snprintf(lookup->error, sizeof(lookup->error), "%s does not reply like a berth",
        lookup->replicas.items[replica].server);
    return 1;
}

/* The newest in @path, of one replica. */
static int find_in_replica(Lookup *lookup, size_t replica, Str path, ApiDecision *ret) {
    ApiNomination nomination = {0};
    Str page = STR_NULL;
    JsonReader reader;
    int r = fetch(lookup, replica, path, &page);

    *ret = (ApiDecision){.replica = replica};
    if (r != 0)
        return r;
    json_reader_init(&reader, page);
    api_decision_decode_page(&reader, lookup->arena, ret, &nomination);
    /* of several replicas' nominations the newest: times compare as texts */
    if (!str_is_empty(nomination.raw) &&
        str_cmp(nomination.time, lookup->decisions.nomination.time) > 0)
        lookup->decisions.nomination = nomination;
    return check_reader(lookup, replica, &reader);
}

/* Whether @decision was made before @other; of one replica the ids tell. */
static bool is_before(const ApiDecision *decision, const ApiDecision *other) {
    return decision->replica == other->replica
               ? decision->id < other->id
               : api_decision_time(decision) < api_decision_time(other);
}

/* A replica that does not answer is reported, and the others are asked. */
static bool note_silence(Lookup *lookup, size_t replica) {
    size_t n_silent = 0;

    lookup->is_silent[replica] = true;
    for (size_t i = 0; i < lookup->replicas.n; i++)
        n_silent += lookup->is_silent[i];
    if (n_silent == lookup->replicas.n)
        return false;
    replicas_complain(&lookup->replicas, lookup->error);
    return true;
}

/* The newest of @verb about the pod, of all replicas. */
static int find_newest(
    Lookup *lookup, const char *filter, Str value, const char *verb, ApiDecision *ret) {
    Str path = arena_printf(lookup->arena, "/api/v1/decisions?%s=%.*s&verb=%s&limit=1", filter,
        STR_FMT(berth_client_escape(value, lookup->arena)), verb);

    for (size_t i = 0; i < lookup->replicas.n; i++) {
        ApiDecision found;

        if (lookup->is_silent[i])
            continue;
        if (find_in_replica(lookup, i, path, &found) != 0) {
            if (!note_silence(lookup, i))
                return 1;
        } else if (found.id != 0 && (ret->id == 0 || is_before(ret, &found)))
            *ret = found;
    }
    return 0;
}

/* The one that came after the filter, if there is one. */
static int find_following(Lookup *lookup, const char *verb, ApiDecision *ret) {
    Str pod = str_from_c(lookup->decisions.pod), uid = lookup->decisions.filter.uid;
    int r = str_is_empty(uid) ? find_newest(lookup, "pod", pod, verb, ret)
                              : find_newest(lookup, "uid", uid, verb, ret);

    if (r == 0 && ret->id != 0 && is_before(ret, &lookup->decisions.filter))
        *ret = (ApiDecision){0};
    return r;
}

/* The results of all nodes, or of --node. */
static int fetch_nodes(Lookup *lookup, ApiDecision *decision) {
    const char *node = lookup->decisions.node;
    Str filter = STR_NULL;
    int r = 0;

    if (decision->id == 0 || !decision->has_nodes)
        return 0;
    if (node)
        filter = arena_printf(lookup->arena, "&node=%.*s",
            STR_FMT(berth_client_escape(str_from_c(node), lookup->arena)));
    for (size_t i = 0; r == 0 && i < PAGES_MAX && (i == 0 || decision->next > 0); i++) {
        Str after = STR_NULL, page = STR_NULL;
        JsonReader reader;

        if (decision->next > 0)
            after = arena_printf(lookup->arena, "&after=%" PRId64, decision->next);
        r = fetch(lookup, decision->replica,
            arena_printf(lookup->arena,
                "/api/v1/decisions/%" PRId64 "?limit=" PAGE_LIMIT "%.*s%.*s", decision->id,
                STR_FMT(filter), STR_FMT(after)),
            &page);
        if (r != 0)
            break;
        json_reader_init(&reader, page);
        api_decision_decode(&reader, lookup->arena, decision);
        r = check_reader(lookup, decision->replica, &reader);
    }
    return r;
}

static int index_scores(Lookup *lookup) {
    lookup->decisions.scores = MAP_INIT_IN(lookup->arena);
    for (size_t i = 0; i < lookup->decisions.prioritize.nodes.n; i++) {
        Str name = lookup->decisions.prioritize.nodes.items[i].name;

        if (map_find(&lookup->decisions.scores, name) == MAP_NONE &&
            map_add(&lookup->decisions.scores, name, (uint32_t)i) < 0)
            return fail_memory(lookup);
    }
    return 0;
}

static int miss(Lookup *lookup) {
    const Replicas *replicas = &lookup->replicas;
    size_t n = replicas->n;
    char how[64] = "";

    for (size_t i = 0; i < replicas->n; i++)
        n -= lookup->is_silent[i];
    if (n < replicas->n)
        (void)snprintf(how, sizeof(how), ": %zu answered, and", n);
    (void)snprintf(lookup->error, sizeof(lookup->error), "%s%s remember%s no filter for %s%s",
        replicas_describe(replicas), how, n == 1 ? "s" : "", lookup->decisions.pod,
        replicas->is_cluster ? MISS_HINT : "");
    return 1;
}

static int fetch_all(Lookup *lookup) {
    PodDecisions *all = &lookup->decisions;
    int r = find_newest(lookup, "pod", str_from_c(all->pod), "filter", &all->filter);

    if (r == 0 && all->filter.id == 0)
        return str_is_empty(all->nomination.raw) ? miss(lookup) : 0;
    if (r == 0)
        r = find_following(lookup, "prioritize", &all->prioritize);
    if (r == 0)
        r = find_following(lookup, "preempt", &all->preempt);
    if (r == 0)
        r = find_following(lookup, "bind", &all->bind);
    if (r == 0)
        r = fetch_nodes(lookup, &all->filter);
    if (r == 0)
        r = fetch_nodes(lookup, &all->prioritize);
    return r == 0 ? index_scores(lookup) : r;
}

/* --- for programs ---------------------------------------------------------------------------- */

static void write_decision(
    const PodDecisions *decisions, JsonWriter *writer, Str key, const ApiDecision *decision) {
    Str field, value = STR_NULL;
    JsonReader reader;

    json_write_key(writer, key);
    if (decision->id == 0) {
        json_write_null(writer);
        return;
    }
    json_write_object(writer);
    json_reader_init(&reader, decision->raw);
    json_object(&reader);
    while (json_key(&reader, &field)) {
        json_skip(&reader, &value);
        if (str_is(field, "nodes") || str_is(field, "next"))
            continue;
        json_write_key(writer, field);
        json_write_raw(writer, value);
    }
    if (decisions->replicas)
        json_write_member(
            writer, STR("replica"), str_from_c(decisions->replicas[decision->replica]));
    json_member_array(writer, "nodes");
    for (size_t i = 0; i < decision->nodes.n; i++)
        json_write_raw(writer, decision->nodes.items[i].raw);
    json_write_end_array(writer);
    json_write_end_object(writer);
}

static void write_explanation(const PodDecisions *decisions, JsonWriter *writer) {
    const NodeExplanation *only = NULL;

    json_write_key(writer, STR("explanation"));
    if (decisions->printer && decisions->node)
        only = explain_print_find(decisions->printer, str_from_c(decisions->node));
    if (decisions->printer && (only || !decisions->node)) {
        explain_print_json(decisions->printer, only, writer);
        return;
    }
    json_write_null(writer);
    if (decisions->obstacle)
        json_write_member(writer, STR("unexplained"), str_from_c(decisions->obstacle));
}

static void print_json(const PodDecisions *decisions, Buf *out) {
    JsonWriter writer = {.out = out, .indent = 2};

    json_write_object(&writer);
    write_decision(decisions, &writer, STR("filter"), &decisions->filter);
    write_decision(decisions, &writer, STR("prioritize"), &decisions->prioritize);
    write_decision(decisions, &writer, STR("preempt"), &decisions->preempt);
    write_decision(decisions, &writer, STR("bind"), &decisions->bind);
    write_explanation(decisions, &writer);
    json_write_key(&writer, STR("nomination"));
    json_write_raw(
        &writer, str_is_empty(decisions->nomination.raw) ? STR("null") : decisions->nomination.raw);
    json_write_end_object(&writer);
    buf_append_char(out, '\n');
}

/* --- in full ------------------------------------------------------------------------------ */

/* These return 0, also when they have found an obstacle; or -ENOMEM. */

static int refuse(Lookup *lookup, const char *why) {
    (void)snprintf(lookup->obstacle, sizeof(lookup->obstacle), "%s", why);
    return 0;
}

/* The inputs of the filter decision (/api/v1/bundle?id=N), which is in *ret unless there is an
 * obstacle. */
static int fetch_bundle(Lookup *lookup, const RecordedDecision **ret) {
    const ApiDecision *filter = &lookup->decisions.filter;
    BerthAccess access = lookup->replicas.items[filter->replica];
    Str path = arena_printf(lookup->arena, "/api/v1/bundle?id=%" PRId64, filter->id);
    const Recording *recording = &lookup->found.bundle.recording;
    char error[BUNDLE_ERROR_MAX];
    BlockingReply reply;
    int r = -ENOMEM;

    access.timeout_sec = FETCH_TIMEOUT_SEC;
    if (path.ptr)
        r = berth_client_request(&access, path, STR_NULL, lookup->arena, &reply, lookup->obstacle);
    if (r != 0)
        return r < 0 ? r : 0;
    if (reply.status == 400) /* of one that is older */
        return refuse(lookup, "that berth is too old to return a single decision: update it");
    if (reply.status != 200) {
        berth_client_explain(&access, &reply, lookup->arena, lookup->obstacle);
        return 0;
    }
    r = bundle_read(reply.body, &lookup->found.bundle, error);
    if (r != 0)
        return r > 0 ? refuse(lookup, error) : r;
    *ret = recording->decisions;
    if (recording->n != 1 || (*ret)->id != (uint64_t)filter->id)
        return refuse(lookup, "it does not reply like a berth");
    return recorded_obstacle(*ret) ? refuse(lookup, recorded_obstacle(*ret)) : 0;
}

/* The policies of that time: other policies need another option. */
static int compile(Lookup *lookup, const RecordedDecision *decision, Program **ret) {
    const Bundle *bundle = &lookup->found.bundle;
    DiagList diags = DIAG_LIST_IN(lookup->arena);
    int r = program_compile(bundle->policies, bundle->n_policies, &diags, ret);

    if (r < 0)
        return r;
    if (r > 0)
        return refuse(lookup, "this berth cannot read the policies of that one");
    if (!digest_equal((*ret)->digest, decision->policy))
        return refuse(lookup,
            "it was decided by other policies than those in force now, which are no longer kept");
    return 0;
}

/* The known candidates, in an order that gives the same ranks; and @also. */
static const Str *list_nodes(const Recording *recording, const RecordedDecision *decision,
    const char *also, Arena *arena, size_t *ret_n) {
    const RecordedNode **order = recorded_order(decision, arena);
    Str *names = ARENA_RAW(arena, Str, decision->n_nodes + 1);
    size_t n = 0;

    if (!order || !names)
        return NULL;
    for (size_t i = 0; i < decision->n_nodes; i++) {
        Str name = recording->names[order[i]->name];

        if (also && str_is(name, also))
            also = NULL;
        if (order[i]->kind != RECORDED_UNKNOWN)
            names[n++] = name;
    }
    if (also)
        names[n++] = str_from_c(also);
    *ret_n = n;
    return names;
}

/* The filter once more, with everything that led to it; if it was answered, and is still kept. */
static int look_back(Lookup *lookup, const Zones *zones) {
    _cleanup_(program_unrefp) Program *program = NULL;
    PodDecisions *decisions = &lookup->decisions;
    const RecordedDecision *decision = NULL;
    const Str *nodes;
    size_t n_nodes;
    int r;

    if (decisions->filter.id == 0 || !str_is_empty(decisions->filter.error))
        return 0;
    r = fetch_bundle(lookup, &decision);
    assert(r < 0 || lookup->obstacle[0] || decision);
    if (r == 0 && !lookup->obstacle[0])
        r = compile(lookup, decision, &program);
    if (r == 0 && !lookup->obstacle[0]) {
        nodes = list_nodes(
            &lookup->found.bundle.recording, decision, decisions->node, lookup->arena, &n_nodes);
        r = nodes ? bundle_case_explain(
                        &lookup->found, decision, program, nodes, n_nodes, zones, lookup->arena)
                  : -ENOMEM;
        if (r > 0)
            r = refuse(lookup, replayed_decision_error(r));
    }
    decisions->obstacle = lookup->obstacle[0] ? lookup->obstacle : NULL;
    return r < 0 ? fail_memory(lookup) : 0;
}

/* Whether the berth that made the filter decision binds. */
static BindWiring find_wiring(Lookup *lookup) {
    static const JsonField bind_field = {"bind.enabled", JSON_FIELD_BOOL, 0};
    bool binds = false;
    Str page = STR_NULL;
    JsonReader reader;

    if (fetch(lookup, lookup->decisions.filter.replica, STR("/api/v1/status"), &page) != 0)
        return BIND_UNKNOWN;
    json_reader_init(&reader, page);
    json_read_fields(&reader, lookup->arena, &bind_field, 1, &binds);
    if (json_error(&reader) != JSON_OK)
        return BIND_UNKNOWN;
    return binds ? BIND_BY_BERTH : BIND_BY_SCHEDULER;
}

static int print(
    Lookup *lookup, const ExplainLastOptions *options, bool colour, Arena *scratch, Buf *out) {
    PodDecisions *decisions = &lookup->decisions;
    ExplainPrinter printer = {
        .explanation = &lookup->found.explanation,
        .pod = &lookup->found.pod,
        .now_nsec = lookup->found.now_nsec,
        .weight = options->weight,
        .all = options->all,
        .colour = colour,
        .paint = paint_for(colour),
        .scratch = scratch,
        .out = out,
    };
    int r = 0;

    decisions->printer = lookup->found.view ? &printer : NULL;
    if (decisions->printer && (decisions->node || options->form != OUTPUT_TABLE))
        printer.bind = find_wiring(lookup);
    if (options->form != OUTPUT_TABLE)
        print_json(decisions, out);
    else
        r = pod_decisions_print(decisions, out);
    decisions->printer = NULL;
    return r < 0 || printer.error < 0 || buf_error(out) ? fail_memory(lookup) : 0;
}

static void lookup_done(Lookup *lookup) {
    bundle_case_done(&lookup->found);
    replicas_done(&lookup->replicas);
}

int explain_last_write(const ExplainLastOptions *options, bool has_colour, Buf *out, char *error) {
    _cleanup_(arena_freep) Arena *arena = arena_new(LAST_BUDGET);
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_BUDGET);
    _cleanup_(zones_freep) Zones *zones = zones_new();
    ServerSource source = options->source;
    _cleanup_(lookup_done) Lookup lookup = {
        .decisions = {.pod = options->pod,
            .node = options->node,
            .all = options->all,
            .arena = arena},
        .arena = arena,
    };
    int r;

    error[0] = '\0';
    if (arena && (r = replicas_open(&source, &lookup.replicas)) != 0)
        return r;
    if (lookup.replicas.is_cluster)
        lookup.decisions.replicas = lookup.replicas.names;
    r = arena && scratch && zones ? fetch_all(&lookup) : fail_memory(&lookup);
    if (r == 0)
        r = look_back(&lookup, zones);
    if (r == 0)
        r = print(&lookup, options, has_colour, scratch, out);
    if (r == 0)
        return 0;
    (void)snprintf(error, BERTH_CLIENT_ERROR_MAX, "%s", lookup.error);
    return EXIT_UNREACHABLE;
}

int explain_last(const ExplainLastOptions *options) {
    _cleanup_(buf_done) Buf out = BUF_INIT(LAST_TEXT_MAX);
    char error[BERTH_CLIENT_ERROR_MAX];
    int r;

    progress_begin("fetching the decision");
    r = explain_last_write(options, terminal_has_colour(stdout), &out, error);
    progress_end();
    if (r != 0)
        return error[0] ? terminal_complain("%s", error) : r;
    return terminal_finish_as(&out, options->form);
}
