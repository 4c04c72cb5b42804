/* berth explain --last: fetches the last decisions about a pod and prints them. */

#include <inttypes.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/map.h"
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
#define MEMORY_FOR "the reply"
#define LAST_BUDGET ((size_t)1024 * 1024 * 1024)
#define SCRATCH_BUDGET ((size_t)256 * 1024 * 1024)
#define LAST_TEXT_MAX ((size_t)256 * 1024 * 1024)
#define PAGE_LIMIT "10000"
#define MISS_HINT                                                                                  \
    "\n  either no scheduler that calls berth has tried it since they started (is its "            \
    "schedulerName right?), or that was too long ago"
#define PAGES_MAX 10000u /* of nodes: a limit for broken servers */

void bundle_case_done(BundleCase *found) {
    view_unref(found->view);
    bundle_done(&found->bundle);
}

int bundle_case_explain(BundleCase *found, const RecordedDecision *decision, Program *program,
    const Str *nodes, size_t n_nodes, const Zones *zones, Arena *arena) {
    RestoreOptions setting = {
        .zones = zones_finder(zones), .exemptions = &found->bundle.exemptions};
    ReplayedDecision past = {
        .saved_view = decision->saved_view,
        .pod_text = decision->pod_text,
        .now_nsec = decision->now_nsec,
        .nodes = nodes,
        .n_nodes = n_nodes,
    };

    return replayed_decision_explain(
        &past, program, &setting, arena, &found->view, &found->pod, &found->explanation);
}

/* --- requests ---------------------------------------------------------------------------- */

/* All return true, or false with the reason in lookup->error. */

static bool fetch(PodDecisions *lookup, size_t replica, Str path, Str *ret) {
    return berth_client_get(
        &lookup->replicas->items[replica], path, lookup->arena, ret, lookup->error);
}

static bool check_reader(PodDecisions *lookup, size_t replica, JsonReader *reader) {
    json_end(reader);
    if (json_error(reader) == JSON_OK)
        return true;
    (void)snprintf(lookup->error, sizeof(lookup->error), "%s does not reply like a berth",
        lookup->replicas->items[replica].server);
    return false;
}

/* Fetches the newest decision of @path from one replica; notes a newer nomination. */
static bool find_in_replica(PodDecisions *lookup, size_t replica, Str path, ApiDecision *ret) {
    ApiPage page = {.decision.replica = replica};
    Str text = STR_NULL;
    JsonReader reader;

    if (!fetch(lookup, replica, path, &text))
        return false;
    json_reader_init(&reader, text);
    api_page_decode(&reader, lookup->arena, &page);
    *ret = page.decision;
    /* times compare as texts */
    if (str_cmp(page.nomination.time, lookup->nomination.time) > 0)
        lookup->nomination = page.nomination;
    return check_reader(lookup, replica, &reader);
}

/* Whether @decision was made before @other; in one replica the ids are in order. */
static bool is_before(const ApiDecision *decision, const ApiDecision *other) {
    return decision->replica == other->replica
               ? decision->id < other->id
               : api_decision_time(decision) < api_decision_time(other);
}

/* Warns about a replica that does not answer. Returns false if no replica does. */
static bool note_silence(PodDecisions *lookup, size_t replica) {
    size_t n_silent = 0;

    lookup->is_silent[replica] = true;
    for (size_t i = 0; i < lookup->replicas->n; i++)
        n_silent += lookup->is_silent[i];
    if (n_silent == lookup->replicas->n)
        return false;
    replicas_complain(lookup->replicas, lookup->error);
    return true;
}

/* Finds the newest decision of @verb about the pod, in all replicas. */
static bool find_newest(
    PodDecisions *lookup, const char *filter, Str value, const char *verb, ApiDecision *ret) {
    Str path = arena_printf(lookup->arena, "/api/v1/decisions?%s=%.*s&verb=%s&limit=1", filter,
        STR_FMT(berth_client_escape(value, lookup->arena)), verb);

    for (size_t i = 0; i < lookup->replicas->n; i++) {
        ApiDecision found;

        if (lookup->is_silent[i])
            continue;
        if (!find_in_replica(lookup, i, path, &found)) {
            if (!note_silence(lookup, i))
                return false;
        } else if (found.id != 0 && (ret->id == 0 || is_before(ret, &found)))
            *ret = found;
    }
    return true;
}

/* Finds the newest decision of @verb after the filter; id 0: there is none. */
static bool find_following(PodDecisions *lookup, const char *verb, ApiDecision *ret) {
    Str pod = str_from_c(lookup->options->pod), uid = lookup->filter.uid;
    bool is_fine = str_is_empty(uid) ? find_newest(lookup, "pod", pod, verb, ret)
                                     : find_newest(lookup, "uid", uid, verb, ret);

    if (is_fine && ret->id != 0 && is_before(ret, &lookup->filter))
        *ret = (ApiDecision){0};
    return is_fine;
}

/* Fetches the results of all nodes, or of --node. */
static bool fetch_nodes(PodDecisions *lookup, ApiDecision *decision) {
    const char *node = lookup->options->node;
    Str filter = STR_NULL;

    if (decision->id == 0 || !decision->has_nodes)
        return true;
    if (node)
        filter = arena_printf(lookup->arena, "&node=%.*s",
            STR_FMT(berth_client_escape(str_from_c(node), lookup->arena)));
    for (size_t i = 0; i < PAGES_MAX && (i == 0 || decision->next > 0); i++) {
        Str after = STR_NULL, page = STR_NULL;
        JsonReader reader;

        if (decision->next > 0)
            after = arena_printf(lookup->arena, "&after=%" PRId64, decision->next);
        if (!fetch(lookup, decision->replica,
                arena_printf(lookup->arena,
                    "/api/v1/decisions/%" PRId64 "?limit=" PAGE_LIMIT "%.*s%.*s", decision->id,
                    STR_FMT(filter), STR_FMT(after)),
                &page))
            return false;
        json_reader_init(&reader, page);
        api_decision_decode(&reader, lookup->arena, decision);
        if (!check_reader(lookup, decision->replica, &reader))
            return false;
    }
    return true;
}

/* Copies the scores of prioritize to the nodes of the filter. */
static void take_scores(PodDecisions *lookup) {
    const ApiDecision *prioritize = &lookup->prioritize;
    Map scored = MAP_INIT_IN(lookup->arena);

    for (size_t i = 0; i < prioritize->nodes.n; i++) {
        Str name = prioritize->nodes.items[i].name;

        if (map_find(&scored, name) == MAP_NONE && map_add(&scored, name, (uint32_t)i) < 0)
            terminal_out_of_memory(MEMORY_FOR, lookup->arena);
    }
    for (size_t i = 0; i < lookup->filter.nodes.n; i++) {
        ApiNode *node = &lookup->filter.nodes.items[i];
        uint32_t at = map_find(&scored, node->name);

        if (at != MAP_NONE)
            node->score = prioritize->nodes.items[at].score;
    }
}

static bool fail_not_found(PodDecisions *lookup) {
    const Replicas *replicas = lookup->replicas;
    size_t n = replicas->n;
    char how[64] = "";

    for (size_t i = 0; i < replicas->n; i++)
        n -= lookup->is_silent[i];
    if (n < replicas->n)
        (void)snprintf(how, sizeof(how), ": %zu answered, and", n);
    (void)snprintf(lookup->error, sizeof(lookup->error), "%s%s remember%s no filter for %s%s",
        replicas_describe(replicas), how, n == 1 ? "s" : "", lookup->options->pod,
        replicas->is_cluster ? MISS_HINT : "");
    return false;
}

static bool fetch_all(PodDecisions *lookup) {
    if (!find_newest(lookup, "pod", str_from_c(lookup->options->pod), "filter", &lookup->filter))
        return false;
    if (lookup->filter.id == 0)
        return !str_is_empty(lookup->nomination.raw) || fail_not_found(lookup);
    if (!find_following(lookup, "prioritize", &lookup->prioritize) ||
        !find_following(lookup, "preempt", &lookup->preempt) ||
        !find_following(lookup, "bind", &lookup->bind) || !fetch_nodes(lookup, &lookup->filter) ||
        !fetch_nodes(lookup, &lookup->prioritize))
        return false;
    take_scores(lookup);
    return true;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void write_decision(const PodDecisions *decisions, JsonWriter *writer, const char *key,
    const ApiDecision *decision) {
    Str field, value = STR_NULL;
    JsonReader reader;

    if (decision->id == 0) {
        json_write(writer, "%s: null", key);
        return;
    }
    json_write(writer, "%s: {", key);
    json_reader_init(&reader, decision->raw);
    json_object(&reader);
    while (json_key(&reader, &field)) {
        json_skip(&reader, &value);
        if (str_is(field, "nodes") || str_is(field, "next"))
            continue;
        json_write_key(writer, field);
        json_write_raw(writer, value);
    }
    if (decisions->replicas->is_cluster)
        json_write(writer, "replica: %s", decisions->replicas->names[decision->replica]);
    json_member_array(writer, "nodes");
    for (size_t i = 0; i < decision->nodes.n; i++)
        json_write_raw(writer, decision->nodes.items[i].raw);
    json_write(writer, "]}");
}

static void write_explanation(const PodDecisions *decisions, JsonWriter *writer) {
    const char *node = decisions->options->node;
    const NodeExplanation *only = decisions->printer && node
                                      ? explain_print_find(decisions->printer, str_from_c(node))
                                      : NULL;

    json_write_key(writer, STR("explanation"));
    if (decisions->printer && (only || !node)) {
        explain_print_json(decisions->printer, only, writer);
        return;
    }
    json_write_null(writer);
    if (decisions->obstacle[0])
        json_write_member(writer, STR("unexplained"), str_from_c(decisions->obstacle));
}

static void print_json(const PodDecisions *decisions, Buf *out) {
    JsonWriter writer = {.out = out, .indent = 2};

    json_write_object(&writer);
    write_decision(decisions, &writer, "filter", &decisions->filter);
    write_decision(decisions, &writer, "prioritize", &decisions->prioritize);
    write_decision(decisions, &writer, "preempt", &decisions->preempt);
    write_decision(decisions, &writer, "bind", &decisions->bind);
    write_explanation(decisions, &writer);
    json_write_key(&writer, STR("nomination"));
    json_write_raw(
        &writer, str_is_empty(decisions->nomination.raw) ? STR("null") : decisions->nomination.raw);
    json_write(&writer, "}\n");
}

/* --- the replay --------------------------------------------------------------------------- */

/* These return NULL, with the reason in lookup->obstacle, if the filter cannot be replayed. */

static void *refuse(PodDecisions *lookup, const char *why) {
    (void)snprintf(lookup->obstacle, sizeof(lookup->obstacle), "%s", why);
    return NULL;
}

/* Fetches the inputs of the filter decision (/api/v1/bundle?id=N). */
static const RecordedDecision *fetch_bundle(PodDecisions *lookup) {
    const ApiDecision *filter = &lookup->filter;
    BerthAccess access = lookup->replicas->items[filter->replica];
    Str path = arena_printf(lookup->arena, "/api/v1/bundle?id=%" PRId64, filter->id);
    const Recording *recording = &lookup->found.bundle.recording;
    char error[BUNDLE_ERROR_MAX];
    const char *obstacle;
    BlockingReply reply;

    access.timeout_sec = FETCH_TIMEOUT_SEC;
    if (!berth_client_request(&access, path, STR_NULL, lookup->arena, &reply, lookup->obstacle))
        return NULL;
    if (reply.status == 400) /* an older berth does not know id=N */
        return refuse(lookup, "that berth is too old to return a single decision: update it");
    if (reply.status != 200) {
        berth_client_explain(&access, &reply, lookup->arena, lookup->obstacle);
        return NULL;
    }
    if (terminal_check(bundle_read(reply.body, &lookup->found.bundle, error), MEMORY_FOR, NULL) > 0)
        return refuse(lookup, error);
    if (recording->n != 1 || recording->decisions[0].id != (uint64_t)filter->id)
        return refuse(lookup, "it does not reply like a berth");
    obstacle = recorded_obstacle(&recording->decisions[0]);
    return obstacle ? refuse(lookup, obstacle) : &recording->decisions[0];
}

/* Compiles the policies of the bundle, and checks that they made the decision. */
static Program *compile(PodDecisions *lookup, const RecordedDecision *decision) {
    _cleanup_(program_unrefp) Program *program = NULL;
    const Bundle *bundle = &lookup->found.bundle;
    DiagList diags = DIAG_LIST_IN(lookup->arena);
    int r = program_compile(bundle->policies, bundle->n_policies, &diags, &program);

    if (terminal_check(r, MEMORY_FOR, NULL) > 0)
        return refuse(lookup, "this berth cannot read the policies of that one");
    if (!digest_equal(program->digest, decision->policy))
        return refuse(lookup,
            "it was decided by other policies than those in force now, which are no longer kept");
    return TAKE_PTR(program);
}

/* The candidates that berth knew, in an order that gives the same ranks; and @also, or NULL. */
static const Str *list_nodes(const Recording *recording, const RecordedDecision *decision,
    const char *also, Arena *arena, size_t *ret_n) {
    const RecordedNode **order = recorded_order(decision, arena);
    Str *names = ARENA_RAW(arena, Str, decision->n_nodes + 1);
    size_t n = 0;

    for (size_t i = 0; i < decision->n_nodes; i++) {
        Str name = recording->names[order[i]->name];

        if (also && str_is(name, also))
            also = NULL;
        if (order[i]->kind != OUTCOME_UNKNOWN)
            names[n++] = name;
    }
    if (also)
        names[n++] = str_from_c(also);
    *ret_n = n;
    return names;
}

/* Replays the filter, unless it failed. lookup->found gets the result, or ->obstacle the reason. */
static void replay_filter(PodDecisions *lookup, const Zones *zones) {
    _cleanup_(program_unrefp) Program *program = NULL;
    const RecordedDecision *decision;
    const Str *nodes;
    size_t n_nodes;
    int r;

    if (lookup->filter.id == 0 || !str_is_empty(lookup->filter.error))
        return;
    decision = fetch_bundle(lookup);
    program = decision ? compile(lookup, decision) : NULL;
    if (program) {
        nodes = list_nodes(&lookup->found.bundle.recording, decision, lookup->options->node,
            lookup->arena, &n_nodes);
        r = bundle_case_explain(
            &lookup->found, decision, program, nodes, n_nodes, zones, lookup->arena);
        if (terminal_check(r, MEMORY_FOR, lookup->arena) > 0)
            (void)refuse(lookup, replayed_decision_error(r));
    }
}

/* Whether the berth that made the filter decision binds. */
static BindWiring find_wiring(PodDecisions *lookup) {
    static const JsonField fields[] = {{"bind.enabled", JSON_FIELD_BOOL, 0}};
    bool binds = false;
    Str page = STR_NULL;

    if (!fetch(lookup, lookup->filter.replica, STR("/api/v1/status"), &page) ||
        !JSON_READ_DOCUMENT(page, lookup->arena, fields, &binds))
        return BIND_UNKNOWN;
    return binds ? BIND_BY_BERTH : BIND_BY_SCHEDULER;
}

static void print(PodDecisions *lookup, bool colour, Arena *scratch, Buf *out) {
    const ExplainLastOptions *options = lookup->options;
    ExplainPrinter printer = {
        .explanation = &lookup->found.explanation,
        .pod = &lookup->found.pod,
        .weight = options->weight,
        .all = options->all,
        .colour = colour,
        .paint = paint_for(colour),
        .scratch = scratch,
        .out = out,
    };

    if (lookup->found.view) {
        lookup->printer = &printer;
        printer.now_nsec = lookup->found.bundle.recording.decisions[0].now_nsec;
        if (options->node || options->form != OUTPUT_TABLE)
            printer.bind = find_wiring(lookup);
    }
    if (options->form != OUTPUT_TABLE)
        print_json(lookup, out);
    else
        pod_decisions_print(lookup, out);
    lookup->printer = NULL;
}

static void lookup_done(PodDecisions *lookup) {
    bundle_case_done(&lookup->found);
}

bool explain_last_write(const ExplainLastOptions *options, const Replicas *replicas,
    bool has_colour, Buf *out, char *error) {
    _cleanup_(arena_freep) Arena *arena = terminal_arena(MEMORY_FOR, LAST_BUDGET);
    _cleanup_(arena_freep) Arena *scratch = terminal_arena(EXPLAIN_MEMORY_FOR, SCRATCH_BUDGET);
    _cleanup_(zones_freep) Zones *zones = terminal_need(zones_new(), MEMORY_FOR);
    _cleanup_(lookup_done)
        PodDecisions lookup = {.options = options, .replicas = replicas, .arena = arena};

    if (!fetch_all(&lookup)) {
        (void)snprintf(error, BERTH_CLIENT_ERROR_MAX, "%s", lookup.error);
        return false;
    }
    replay_filter(&lookup, zones);
    print(&lookup, has_colour, scratch, out);
    if (buf_error(out))
        (void)snprintf(error, BERTH_CLIENT_ERROR_MAX, "out of memory for the reply");
    return !buf_error(out);
}

void explain_last(ExplainLastOptions *options) {
    _cleanup_(replicas_done) Replicas replicas = {0};
    _cleanup_(buf_done) Buf out = BUF_INIT(LAST_TEXT_MAX);
    char error[BERTH_CLIENT_ERROR_MAX];

    replicas_open(&options->source, &replicas);
    progress_begin("fetching the decision");
    if (!explain_last_write(options, &replicas, terminal_has_colour(stdout), &out, error))
        terminal_fail("%s", error);
    progress_end();
    terminal_finish_as(&out, options->form);
}
