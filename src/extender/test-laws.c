/*
 * The laws, for clusters, policies and requests that nobody thought of: drawn at
 * random from a fixed seed, so that a failure repeats. A round that fails says
 * its number and its scene.
 *
 *   1. What comes out is a subset of what came in, in that order; nothing is null.
 *   2. Scores are whole numbers in 0..10.
 *   3. Reasons are those of the policies, or one of berth's own two.
 *   6. The same view and the same request give the same bytes.
 *
 * And: both node modes agree; each node is answered for once, or was left out by a policy
 * that narrows, and then others are as good; its reason is that of the first filter, by
 * number, that fails when each is asked by itself; and an explanation says of each node
 * what filter and prioritize say. When time runs out they hold as well, and nothing is
 * left out. All of it with metrics, too, some of which are absent, and with pods that were
 * placed a moment ago.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/test-assert.h"
#include "extender/explain.h"
#include "extender/score.h"
#include "extender/test-reply.h"
#include "extender/verbs.h"
#include "policy/test-scene.h"
#include "json/write.h"

#define SEED UINT64_C(0x5eed0fbe27)
#define ROUNDS 250u
#define NODES_MAX 14u
#define PODS_MAX 20u
#define TEXT_MAX ((size_t)1 << 20)

/* --- chance --------------------------------------------------------------------------- */

static uint64_t chance_state;

static uint64_t chance(void) { /* splitmix64 */
    uint64_t z = (chance_state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static unsigned below(unsigned n) {
    return (unsigned)(chance() % n);
}

#define ONE_OF(array) ((array)[below((unsigned)ELEMENTS_OF(array))])

/* --- scenes --------------------------------------------------------------------------- */

static const char *const filters[] = {
    "nodeLabels: {pool: a}",
    "nodeLabels: {pool: [a, b]}",
    "nodeLabels: {pool: {notIn: [a]}, gen: {gt: 2}}",
    "nodeLabels: {gen: {lt: 4}}",
    "nodeLabels: {gpu: {exists: true}}",
    "nodeLabels: {gpu: {absent: true}}",
    "nodeReady: true",
    "tolerations: true",
    "headroom: {cpu: 1}",
    "headroom: {cpu: 30%, memory: 1Gi}",
    "headroom: {example.com/dev: 1}",
    "maxPods: 2",
    "maxPods: {limit: 1, podSelector: {matchLabels: {app: web}}}",
    "expression: \"node.metadata.name.replace('n', 'pod') != pod.metadata.name\"",
    "expression: \"node.metadata.labels[?'gpu'].hasValue() || pod.metadata.namespace == 'x'\"",
    "metricLimit: {metric: load, max: 0.8}",
    "metricLimit: {metric: written, min: 10, max: 80}",
    "expression: \"metrics.used + pod.requests.cpu < node.allocatable.cpu\"",
    "expression: \"metrics.load.measured < 0.7 || has(metrics.written)\"",
    "expression: \"metrics.?podCpu.orValue(0.5) < 1.0\"",
    "expression: \"workload.metrics.podCpu < node.free.cpu\"",
    "expression: \"cel.bind(m, metrics, m.load + m.used < 2.0)\"",
};

/* The same in every policy, but for a name: measured once, and read by both. */
static const char metrics[] = "metrics: ["
                              "{name: load, prometheus: {query: q},"
                              " placements: {resource: cpu, unit: fraction, settle: 60s}}, "
                              "{name: used, resourceMetrics: cpu, placements: {by: podCpu}}, "
                              "{name: podCpu, resourceMetrics: cpu, pods: {}}, "
                              "{name: written, annotation: {key: written}, maxAge: 30s,"
                              " placements: {resource: memory, unit: percent, settle: 20s}}, "
                              "{name: other%u, resourceMetrics: cpu, placements: {by: podCpu}}], ";

static const char *const scores[] = {
    "binPack: {cpu: 2, memory: 1}",
    "spread: {cpu: 1}",
    "spread: {memory: 3, example.com/dev: 1}",
    "balance: [cpu, memory]",
    "nodeLabelPreference: {key: pool, values: {a: 100, b: 35}, otherwise: 5}",
    "metricScore: {metric: load, low: 0, high: 1.5, prefer: low}",
    "expression: \"100.0 - metrics.used * 10.0 - metrics.written\"",
};

static const char *const matches[] = {
    "",
    "match: {namespaces: [x]}, ",
    "match: {podSelector: {matchLabels: {app: web}}}, ",
    ("match: {namespaces: [x, y], podSelector: {matchExpressions: [{key: app, operator: "
     "Exists}]}}, "),
};

static void draw_metrics(unsigned number, Buf *out) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    buf_printf(out, metrics, number);
#pragma GCC diagnostic pop
}

static void draw_policy(unsigned number, Buf *out) {
    unsigned n_filters = below(5), n_scores = below(4);

    buf_printf(
        out, "  p%u: {mode: %s, %s", number, below(4) ? "Enforce" : "Observe", ONE_OF(matches));
    if (below(4) == 0)
        buf_printf(out, "narrow: {to: %u}, ", 1 + below(4));
    buf_printf(out, "onTimeout: %s, ", below(2) ? "allow" : "reject");
    draw_metrics(number, out);
    buf_append(out, STR("filters: ["));
    for (unsigned i = 0; i < n_filters; i++)
        buf_printf(out,
            "%s{name: f%u, %s, reason: \"p%u f%u\", unresolvable: %s, onMissing: %s}",
            i ? ", " : "",
            i,
            ONE_OF(filters),
            number,
            i,
            below(3) ? "false" : "true",
            below(2) ? "allow" : "reject");
    buf_append(out, STR("], scores: ["));
    for (unsigned i = 0; i < n_scores; i++)
        buf_printf(out,
            "%s{name: s%u, %s, weight: %u, onMissing: %u}",
            i ? ", " : "",
            i,
            ONE_OF(scores),
            1 + below(9),
            below(101));
    buf_append(out, STR("]}\n"));
}

static void draw_node(unsigned number, Buf *out) {
    static const char *const labels[] = {"pool: a", "pool: b", "pool: c", "pool: a, gpu: ''"};
    static const char *const taints[] = {"",
        "",
        "{key: gpu, effect: NoSchedule}",
        "{key: gpu, effect: NoExecute}, {key: x, value: y, effect: NoSchedule}",
        "{key: soft, effect: PreferNoSchedule}"};

    buf_printf(out,
        "  n%u: {labels: {%s, gen: '%u'}, taints: [%s], ready: %s, cordoned: %s",
        number,
        ONE_OF(labels),
        below(6),
        ONE_OF(taints),
        below(6) ? "true" : "false",
        below(6) ? "false" : "true");
    if (below(3))
        buf_printf(out,
            ", annotations: {written: '%u,2026-01-02T03:0%u:%02uZ'}",
            below(100),
            3 + below(2),
            below(20));
    buf_printf(out,
        ", allocatable: {cpu: %u, memory: %uGi%s}}\n",
        below(9),
        below(9),
        below(3) ? "" : ", example.com/dev: 2");
}

#define NOWHERE UINT_MAX

static void draw_pod(unsigned number, unsigned node, Buf *out) {
    static const char *const labels[] = {"", "app: web", "app: db"};
    static const char *const tolerations[] = {
        "", "{operator: Exists}", "{key: gpu, operator: Exists}", "{key: x, value: y}"};
    static const char *const phases[] = {"Running", "Pending", "Succeeded"};

    buf_printf(out, "{name: pod%u, uid: u%u, namespace: %s", number, number, below(2) ? "x" : "z");
    buf_printf(out, ", labels: {%s}, tolerations: [%s]", ONE_OF(labels), ONE_OF(tolerations));
    buf_printf(out,
        ", requests: {cpu: %um, memory: %uMi%s}",
        below(3000),
        below(3000),
        below(4) ? "" : ", example.com/dev: 1");
    if (below(3))
        buf_printf(out, ", owner: w%u", below(3));
    if (node != NOWHERE)
        buf_printf(out,
            ", on: n%u, phase: %s, scheduled: 2026-01-02T03:0%u:%02uZ",
            node,
            ONE_OF(phases),
            3 + below(2),
            below(60));
    buf_append(out, STR("}"));
}

/* Of some nodes, and of some workloads: numbers, and such that are none. */
static void draw_measured(unsigned n_nodes, Buf *out) {
    static const char *const measured[] = {"load", "used", "podCpu"};
    static const char *const numbers[] = {
        "0.0", "-0.0", "1.0e-310", "0.4", "0.75", "0.9", "1.5", "-2.0", "1.0e+300", ".nan"};

    buf_append(out, STR("measuredAge: 5s\nmeasured:\n"));
    for (size_t i = 0; i < ELEMENTS_OF(measured); i++) {
        buf_printf(out, "  %s: {", measured[i]);
        for (unsigned node = 0; node < n_nodes; node++)
            if (below(4))
                buf_printf(out, "n%u: %s, ", node, ONE_OF(numbers));
        buf_append(out, STR("}\n"));
    }
    buf_append(out, STR("workloads: {podCpu: {"));
    for (unsigned i = 0; i < 2; i++)
        buf_printf(out, "x/ReplicaSet/w%u: %s, ", i, ONE_OF(numbers));
    buf_append(out, STR("}}\n"));
}

static Str draw_scene(Arena *arena, unsigned *ret_n_nodes) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    unsigned n_policies = below(4), n_pods = below(PODS_MAX), asked = below(PODS_MAX);
    unsigned homes[PODS_MAX];

    *ret_n_nodes = 1 + below(NODES_MAX);
    buf_append(&text, n_policies ? STR("policies:\n") : STR_NULL);
    for (unsigned i = 0; i < n_policies; i++)
        draw_policy(i, &text);
    buf_append(&text, STR("nodes:\n"));
    for (unsigned i = 0; i < *ret_n_nodes; i++)
        draw_node(i, &text);
    if (n_policies > 0)
        draw_measured(*ret_n_nodes, &text);
    buf_append(&text, n_pods ? STR("pods:\n") : STR_NULL);
    for (unsigned i = 0; i < n_pods; i++) {
        homes[i] = below(*ret_n_nodes + 1); /* one of them is not there */
        buf_append(&text, STR("  - "));
        draw_pod(i, homes[i], &text);
        buf_append(&text, STR("\n"));
    }
    buf_append(&text, STR("pod: ")); /* now and then one that runs already */
    draw_pod(asked, asked < n_pods && below(3) == 0 ? homes[asked] : NOWHERE, &text);
    buf_append(&text, STR("\n"));
    return arena_copy(arena, buf_str(&text));
}

/* --- rounds --------------------------------------------------------------------------- */

typedef struct Round {
    Arena *arena;
    Str text;
    TestScene scene;
    View *view;
    unsigned order[NODES_MAX]; /* some of the nodes, in the order they are asked for */
    unsigned n;
    bool with_stranger; /* asks for a node berth does not know, too, first of all */
} Round;

static void draw_order(Round *round, unsigned n_nodes) {
    for (unsigned i = 0; i < n_nodes; i++)
        round->order[i] = i;
    for (unsigned i = n_nodes; i > 1; i--) {
        unsigned k = below(i), swap = round->order[k];

        round->order[k] = round->order[i - 1];
        round->order[i - 1] = swap;
    }
    round->n = below(3) ? n_nodes : below(n_nodes + 1);
    round->with_stranger = below(3) == 0;
}

static View *new_view(const Round *round) {
    View *view = NULL;

    assert_int_equal(view_new(&(ViewParts){.snapshot = round->scene.snapshot,
                                  .program = round->scene.program,
                                  .measurements = round->scene.measurements,
                                  .now_nsec = round->scene.now,
                                  .uptime_nsec = SCENE_UPTIME},
                         /* before= */ NULL,
                         &view),
        0);
    return view;
}

static void round_init(Round *round) {
    unsigned n_nodes;

    *round = (Round){.arena = arena_new((size_t)64 << 20)};
    round->text = draw_scene(round->arena, &n_nodes);
    scene_init(&round->scene,
        scene_parse("scene", round->text, round->arena).documents[0],
        /* extra= */ NULL,
        0);
    round->view = new_view(round);
    draw_order(round, n_nodes);
}

static void round_done(Round *round) {
    round->view = view_unref(round->view);
    scene_done(&round->scene);
    round->arena = arena_free(round->arena);
}

static Str pod_text(const Round *round) {
    _cleanup_(buf_done) Buf pod = BUF_INIT(TEXT_MAX);

    scene_pod_json(yaml_find(round->scene.document, STR("pod")), &pod);
    return arena_copy(round->arena, buf_str(&pod));
}

static Str names_body(const Round *round) {
    _cleanup_(buf_done) Buf body = BUF_INIT(TEXT_MAX);

    buf_printf(&body, "{\"Pod\":%.*s,\"Nodes\":null,\"NodeNames\":[", STR_FMT(pod_text(round)));
    if (round->with_stranger)
        buf_printf(&body, "\"stranger\"%s", round->n ? "," : "");
    for (unsigned i = 0; i < round->n; i++)
        buf_printf(&body, "%s\"n%u\"", i ? "," : "", round->order[i]);
    buf_append(&body, STR("]}"));
    return arena_copy(round->arena, buf_str(&body));
}

static Str nodes_body(const Round *round) {
    _cleanup_(buf_done) Buf body = BUF_INIT(TEXT_MAX);
    const YamlNode *nodes = yaml_find(round->scene.document, STR("nodes"));

    buf_printf(&body, "{\"Pod\":%.*s,\"Nodes\":{\"items\":[", STR_FMT(pod_text(round)));
    for (unsigned i = 0; i < round->n; i++) {
        buf_append(&body, i ? STR(",") : STR_NULL);
        scene_node_json(&nodes->pairs[round->order[i]], &body);
    }
    buf_append(&body, STR("]},\"NodeNames\":null}"));
    return arena_copy(round->arena, buf_str(&body));
}

/* --- filter --------------------------------------------------------------------------- */

/* Victim @k of a node: a pod that is there, while there are any. */
static Str victim_of(const Round *round, uint32_t row, unsigned k) {
    const NodeTable *table = snapshot_table(round->scene.snapshot);
    const PodList *pods = table_chunk(table, row)->pods[table_slot(row)];

    return pods && k < pods->n ? pods->items[k]->uid
                               : arena_printf(round->arena, "gone%u-%u", row, k);
}

/* A judge of node @row alone, who sees it without its first @n_gone victims and the pod
 * itself. */
static Judge *judge_alone(const Round *round, uint32_t row, unsigned n_gone) {
    const Pod *pod = &round->scene.pod;
    const NodeTable *all = &round->scene.table;
    PodChange changes[4] = {{.row = table_find(all, pod->node_name), .remove = pod->uid}};
    size_t n_changes = !str_is_empty(pod->node_name);
    NodeTable *table = ARENA_NEW(round->arena, NodeTable);
    Facts *facts = ARENA_NEW(round->arena, Facts);
    Loads *loads = ARENA_NEW(round->arena, Loads);
    uint32_t *rows = ARENA_NEW(round->arena, uint32_t);
    Question question = {.program = round->scene.program,
        .table = table,
        .facts = facts,
        .pod = pod,
        .rows = rows,
        .n = 1,
        .arena = round->arena};
    Judge *judge;

    assert_true(table && facts && loads && rows && n_gone < ELEMENTS_OF(changes));
    *rows = row;
    for (unsigned k = 0; k < n_gone; k++)
        changes[n_changes++] = (PodChange){.row = row, .remove = victim_of(round, row, k)};
    assert_int_equal(table_change(all, changes, n_changes, round->arena, table), 0);
    assert_int_equal(loads_build(&round->scene.input, table, NULL, round->arena, loads), 0);
    table->loads = loads;
    assert_int_equal(
        facts_build(round->scene.program, table, &(FactsOptions){0}, round->arena, facts), 0);
    assert_int_equal(judge_open(&question, &judge), 0);
    return judge;
}

static bool passes(const Round *round, Judge *judge, const Filter *filter, uint32_t row) {
    CelValue value = judge_value(judge, &filter->test, row, round->arena),
             missing = cel_bool(false);

    if (value.kind == CEL_ERROR && expression_is_given(&filter->missing))
        missing = judge_value(judge, &filter->missing, row, round->arena);
    if (value.kind == CEL_ERROR)
        return (cel_is_true(missing) ? filter->on_missing : filter->on_error) == FALLBACK_ALLOW;
    return cel_is_true(value);
}

/* The first filter, one by one, that node @row fails once its first @n_gone victims, and the
 * pod itself, are gone. */
static const Filter *first_failing_without(const Round *round, uint32_t row, unsigned n_gone) {
    Judge *judge = judge_alone(round, row, n_gone);

    for (size_t i = 0; i < round->scene.program->n_filters; i++) {
        const Filter *filter = round->scene.program->filters[i];

        if (!filter->policy->is_observed && judge_applies(judge, filter->policy) &&
            !passes(round, judge, filter, row))
            return filter;
    }
    return NULL;
}

static const Filter *first_failing(const Round *round, uint32_t row) {
    return first_failing_without(round, row, 0);
}

static double score_alone(const Round *round, uint32_t row) {
    double score;

    assert_int_equal(judge_scores(judge_alone(round, row, 0), &score), 0);
    return score;
}

#define STRANGER UINT_MAX

static bool is_node(Str name, unsigned number) {
    char wanted[16];

    (void)snprintf(wanted, sizeof(wanted), number == STRANGER ? "stranger" : "n%u", number);
    return str_is(name, wanted);
}

/* Whether @policy has a say. The test's policies match by namespace and labels. */
static bool is_asked(const Round *round, const Policy *policy) {
    return !policy->is_observed && policy_selects(policy, &round->scene.pod);
}

static bool has_filters(const Round *round) {
    const Program *program = round->scene.program;

    for (size_t i = 0; i < program->n_policies; i++)
        if (is_asked(round, &program->policies[i]) && program->policies[i].n_filters > 0)
            return true;
    return false;
}

/* How many nodes may go back at most; UINT_MAX: all. */
static unsigned narrow_to(const Round *round) {
    const Program *program = round->scene.program;
    unsigned least = UINT_MAX;

    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];

        if (is_asked(round, policy) && policy->narrow_to > 0 && policy->narrow_to < least)
            least = policy->narrow_to;
    }
    return least;
}

/* What is to become of a node of the request. */
typedef struct Fate {
    unsigned number; /* or STRANGER */
    bool fails;
    const Filter *filter; /* why; NULL: nobody knows the node */
    double score;
    bool is_left_out;
} Fate;

/* Leaves out the worst, of equals the last, until @to are left. */
static void narrow_fates(Fate *fates, size_t n, unsigned to) {
    for (;;) {
        Fate *worst = NULL;
        size_t n_passing = 0;

        for (size_t i = 0; i < n; i++) {
            if (fates[i].fails || fates[i].is_left_out)
                continue;
            n_passing++;
            if (!worst || fates[i].score <= worst->score)
                worst = &fates[i];
        }
        if (n_passing <= to)
            return;
        worst->is_left_out = true;
    }
}

static size_t find_fates(const Round *round, bool with_stranger, Fate fates[NODES_MAX + 1]) {
    size_t n = 0;

    if (with_stranger)
        fates[n++] = (Fate){.number = STRANGER, .fails = has_filters(round)};
    for (unsigned i = 0; i < round->n; i++) {
        const Filter *filter = first_failing(round, round->order[i]);

        fates[n++] = (Fate){.number = round->order[i],
            .fails = filter,
            .filter = filter,
            .score = score_alone(round, round->order[i])};
    }
    narrow_fates(fates, n, narrow_to(round));
    return n;
}

/* Takes the next of @list, if it is node @number with this reason (ptr NULL: any). */
static bool take_node(const ReplyNodes *list, size_t *at, unsigned number, Str reason) {
    if (*at >= list->n || !is_node(list->items[*at].name, number) ||
        (reason.ptr && !str_eq(list->items[*at].reason, reason)))
        return false;
    ++*at;
    return true;
}

/* Walks request and reply together: each node stands in exactly one of passed and
 * failed, in order, with the right reason; or in neither, when it was left out. */
static bool check_answers(const Round *round, const FilterReply *reply, bool with_stranger) {
    Fate fates[NODES_MAX + 1];
    size_t passed = 0, failed = 0, unresolvable = 0;
    size_t n = find_fates(round, with_stranger, fates);

    for (size_t i = 0; i < n; i++) {
        const Fate *fate = &fates[i];
        Str reason = fate->filter ? fate->filter->reason : STR("node is not known to berth");

        if (fate->is_left_out)
            continue;
        if (!(fate->fails ? take_node(&reply->failed, &failed, fate->number, reason)
                          : take_node(&reply->passed, &passed, fate->number, STR_NULL)))
            return false;
        if (fate->filter && fate->filter->is_unresolvable &&
            !take_node(&reply->unresolvable, &unresolvable, fate->number, reason))
            return false;
    }
    return passed == reply->passed.n && failed == reply->failed.n &&
           unresolvable == reply->unresolvable.n && str_is_empty(reply->error);
}

static Str ask(const Round *round, const View *view, Verb verb, Str body) {
    Answer answer;

    if (verb == VERB_FILTER)
        extender_filter(view, /* moment= */ NULL, body, round->arena, &answer);
    else if (verb == VERB_PRIORITIZE)
        extender_prioritize(view, /* moment= */ NULL, body, round->arena, &answer);
    else
        extender_preempt(view, /* moment= */ NULL, body, round->arena, &answer);
    assert_int_equal(answer.status, 200);
    return reply_text(&answer.body, round->arena);
}

/* Twice to one view, which learns the order of names from the first; once to a view
 * made anew. */
static bool is_repeatable(const Round *round, Verb verb, Str body) {
    Str first = ask(round, round->view, verb, body);
    Str second = ask(round, round->view, verb, body);
    View *anew = new_view(round);
    Str third;

    third = ask(round, anew, verb, body);
    view_unref(anew);
    return str_eq(first, second) && str_eq(first, third);
}

static bool check_filter(const Round *round) {
    Str by_name = names_body(round), by_node = nodes_body(round);
    FilterReply names, nodes;

    if (!is_repeatable(round, VERB_FILTER, by_name) || !is_repeatable(round, VERB_FILTER, by_node))
        return false;
    return reply_filter(ask(round, round->view, VERB_FILTER, by_name), round->arena, &names) &&
           check_answers(round, &names, round->with_stranger) &&
           reply_filter(ask(round, round->view, VERB_FILTER, by_node), round->arena, &nodes) &&
           check_answers(round, &nodes, /* with_stranger= */ false);
}

/* --- when time runs out ------------------------------------------------------------------ */

/* A clock that stops after so many looks. */
static bool runs_out(void *context) {
    unsigned *left = context;

    if (*left > 0)
        --*left;
    return *left == 0;
}

/* The reply of a filter that has @looks at the clock; how many nodes were late. */
static Str ask_in_time(const Round *round, Str body, unsigned looks, size_t *ret_n_late) {
    Moment moment = {.is_over = runs_out, .context = &looks};
    Answer answer;

    extender_filter(round->view, &moment, body, round->arena, &answer);
    assert_int_equal(answer.status, 200);
    *ret_n_late = answer.decision.notes.n_late;
    return reply_text(&answer.body, round->arena);
}

/* Whether some policy that has a say rejects what it could not judge in time. */
static bool may_reject_late(const Round *round) {
    const Program *program = round->scene.program;

    for (size_t i = 0; i < program->n_policies; i++)
        if (is_asked(round, &program->policies[i]) && program->policies[i].n_filters > 0 &&
            program->policies[i].on_timeout == FALLBACK_REJECT)
            return true;
    return false;
}

/* What may be said of a node that was not judged: what speaks against it anyway, or that there
 * was no time. */
static bool is_late_reason(const Round *round, const Fate *fate, Str reason) {
    const Program *program = round->scene.program;

    if (str_is(reason, "berth ran out of time to judge the node"))
        return may_reject_late(round);
    if (fate->number == STRANGER)
        return str_is(reason, "node is not known to berth");
    for (size_t i = 0; i < program->n_filters; i++)
        if (str_eq(reason, program->filters[i]->reason))
            return fate->fails; /* no rule speaks that would not have spoken with all the time */
    return false;
}

/* Each node is answered for once, in order: with time or without, nothing is made up, and nothing
 * is left out. */
static bool check_late_answers(const Round *round, const FilterReply *reply) {
    Fate fates[NODES_MAX + 1];
    size_t passed = 0, failed = 0, unresolvable = 0;
    size_t n = find_fates(round, round->with_stranger, fates);

    for (size_t i = 0; i < n; i++) {
        unsigned number = fates[i].number;
        Str reason;

        if (take_node(&reply->passed, &passed, number, STR_NULL))
            continue;
        if (!take_node(&reply->failed, &failed, number, STR_NULL))
            return false;
        reason = reply->failed.items[failed - 1].reason;
        if (!is_late_reason(round, &fates[i], reason))
            return false;
        (void)take_node(&reply->unresolvable, &unresolvable, number, reason);
    }
    return passed == reply->passed.n && failed == reply->failed.n &&
           unresolvable == reply->unresolvable.n && str_is_empty(reply->error);
}

static unsigned n_late_rounds; /* so that the test knows that it tests something */

static bool check_late(const Round *round) {
    Str body = names_body(round), in_time = ask(round, round->view, VERB_FILTER, body);

    for (unsigned looks = 1; looks < 8; looks++) {
        size_t n_late, n_again;
        Str text = ask_in_time(round, body, looks, &n_late);
        FilterReply reply;

        if (!str_eq(text, ask_in_time(round, body, looks, &n_again)) || n_again != n_late ||
            !reply_filter(text, round->arena, &reply))
            return false;
        /* Policies in mode Observe may be late all by themselves. */
        if (!str_eq(text, in_time) && (n_late == 0 || !check_late_answers(round, &reply)))
            return false;
        n_late_rounds += n_late > 0;
    }
    return true;
}

/* --- prioritize ------------------------------------------------------------------------- */

static bool check_scores(const Round *round, const ReplyScores *reply) {
    size_t at = 0;

    for (size_t i = 0; i < reply->n; i++)
        if (reply->items[i].score < 1 || reply->items[i].score > WIRE_MAX_DEFAULT)
            return false;
    for (unsigned i = 0; i < round->n && at < reply->n; i++)
        at += is_node(reply->items[at].host, round->order[i]);
    return at == reply->n; /* all of them found, in order */
}

static bool check_prioritize(const Round *round) {
    Str by_name = names_body(round), by_node = nodes_body(round);
    Str text = ask(round, round->view, VERB_PRIORITIZE, by_name);
    ReplyScores reply;

    return is_repeatable(round, VERB_PRIORITIZE, by_name) &&
           is_repeatable(round, VERB_PRIORITIZE, by_node) &&
           str_eq(text, ask(round, round->view, VERB_PRIORITIZE, by_node)) &&
           reply_scores(text, round->arena, &reply) && check_scores(round, &reply);
}

/* --- preempt ---------------------------------------------------------------------------- */

static Str victims_body(const Round *round) {
    _cleanup_(buf_done) Buf body = BUF_INIT(TEXT_MAX);

    buf_printf(&body, "{\"Pod\":%.*s,\"NodeNameToMetaVictims\":{", STR_FMT(pod_text(round)));
    for (unsigned i = 0; i < round->n; i++) {
        unsigned n_victims = round->order[i] % 3;

        buf_printf(&body, "%s\"n%u\":{\"Pods\":[", i ? "," : "", round->order[i]);
        for (unsigned k = 0; k < n_victims; k++)
            buf_printf(&body,
                "%s{\"UID\":\"%.*s\"}",
                k ? "," : "",
                STR_FMT(victim_of(round, round->order[i], k)));
        buf_printf(&body, "],\"NumPDBViolations\":%u}", round->order[i]);
    }
    buf_append(&body, STR("}}"));
    return arena_copy(round->arena, buf_str(&body));
}

static bool check_preempt(const Round *round) {
    Str body = victims_body(round);
    ReplyCandidates reply;
    size_t at = 0;

    if (!is_repeatable(round, VERB_PREEMPT, body) ||
        !reply_candidates(ask(round, round->view, VERB_PREEMPT, body), round->arena, &reply))
        return false;
    for (unsigned i = 0; i < round->n; i++) {
        unsigned number = round->order[i];

        if (number % 3 == 0 || first_failing_without(round, number, number % 3))
            continue;
        if (at >= reply.n || !is_node(reply.items[at].node, number) ||
            reply.items[at].uids.n != number % 3 || reply.items[at].pdb_violations != number)
            return false;
        at++;
    }
    return at == reply.n;
}

/* --- explain ---------------------------------------------------------------------------- */

static unsigned score_of(const ReplyScores *reply, Str host) {
    for (size_t i = 0; i < reply->n; i++)
        if (str_eq(reply->items[i].host, host))
            return (unsigned)reply->items[i].score;
    return 0; /* left out */
}

static bool check_explain(const Round *round) {
    Round all = *round;
    Explanation explanation;
    ReplyScores scored;

    all.n = (unsigned)snapshot_table(round->scene.snapshot)->n_rows;
    if (!reply_scores(
            ask(round, round->view, VERB_PRIORITIZE, names_body(&all)), round->arena, &scored))
        return false;
    assert_int_equal(
        extender_explain(
            round->view, /* now_nsec= */ 0, &round->scene.pod, round->arena, &explanation),
        0);
    if (explanation.n_nodes != all.n)
        return false;
    for (uint32_t row = 0; row < explanation.n_nodes; row++) {
        const NodeExplanation *node = &explanation.nodes[row];

        if (!is_node(node->node, row) || node->verdict != first_failing(round, row) ||
            (node->verdict && node->n_failed == 0))
            return false;
        for (size_t i = 0; i < node->n_failed; i++)
            if (str_is_empty(node->failed[i].detail) &&
                expression_is_given(&node->failed[i].filter->message))
                return false;
        if (node->is_scored && node->wire_score != score_of(&scored, node->node))
            return false;
    }
    return true;
}

static void test_rounds(void **state) {
    (void)state;
    chance_state = SEED;
    for (unsigned i = 0; i < ROUNDS; i++) {
        Round round;
        bool filters_hold, late_hold, scores_hold, victims_hold, explained;

        round_init(&round);
        filters_hold = check_filter(&round);
        late_hold = check_late(&round);
        scores_hold = check_prioritize(&round);
        victims_hold = check_preempt(&round);
        explained = check_explain(&round);
        if (!filters_hold || !late_hold || !scores_hold || !victims_hold || !explained) {
            (void)fprintf(stderr,
                "round %u: filter %d, late %d, prioritize %d, preempt %d, explain %d\n"
                "%.*s%.*s\n%.*s\n",
                i,
                filters_hold,
                late_hold,
                scores_hold,
                victims_hold,
                explained,
                STR_FMT(round.text),
                STR_FMT(names_body(&round)),
                STR_FMT(ask(&round, round.view, VERB_FILTER, names_body(&round))));
            fail();
        }
        round_done(&round);
    }
    assert_true(n_late_rounds > ROUNDS / 4);
}

/* Who knows none of the nodes, or not yet what runs on them, leaves none out. */
static void test_narrow_needs_nodes(void **state) {
    static const char body[] = "{\"Pod\":{},\"NodeNames\":[\"n2\",\"n0\",\"n1\"]}";
    static const struct {
        bool has_cluster, awaits_cluster;
        const char *want;
    } cases[] = {
        {true, false, "[\"n2\"]"},
        {true, true, "[\"n2\",\"n0\",\"n1\"]"},
        {false, true, "[\"n2\",\"n0\",\"n1\"]"},
        {false, false, "[\"n2\",\"n0\",\"n1\"]"},
    };
    TestScene scene;

    (void)state;
    scene_init_text(&scene,
        "policy: {narrow: {to: 1}, scores: [{name: s, spread: {cpu: 1}}]}\n"
        "nodes: {n0: {}, n1: {}, n2: {allocatable: {cpu: 2}}}\n");
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
        _cleanup_(view_unrefp) View *view = NULL;
        char want[256];
        Answer answer;

        assert_int_equal(
            view_new(&(ViewParts){.snapshot = cases[i].has_cluster ? scene.snapshot : NULL,
                         .program = scene.program},
                /* before= */ NULL,
                &view),
            0);
        view->awaits_cluster = cases[i].awaits_cluster;
        extender_filter(view, /* moment= */ NULL, STR(body), arena, &answer);
        (void)snprintf(want,
            sizeof(want),
            "{\"NodeNames\":%s,\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":{},"
            "\"Error\":\"\"}",
            cases[i].want);
        assert_text("narrow", reply_text(&answer.body, arena), want);
    }
    scene_done(&scene);
}

/* Whatever a rule returns, the wire's range holds. */
static void test_score_range(void **state) {
    static const struct {
        double score;
        unsigned wire;
    } cases[] = {
        {0, 0},
        {4.9, 0},
        {5, 1},
        {14.99, 1},
        {15, 2},
        {94.9, 9},
        {95, 10},
        {100, 10},
        {-1, 0},
        {-1e300, 0},
        {1e300, 10},
        {__builtin_inf(), 10},
        {-__builtin_inf(), 0},
        {__builtin_nan(""), 0},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_int_equal(score_to_wire(cases[i].score, WIRE_MAX_DEFAULT), cases[i].wire);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_narrow_needs_nodes),
        cmocka_unit_test(test_score_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
