/*
 * The laws, for clusters, policies and requests that nobody thought of: drawn at
 * random from a fixed seed, so that a failure repeats. A round that fails says
 * its number and its scene.
 *
 *   1. What comes out is a subset of what came in, in that order; nothing is null.
 *   2. Scores are whole numbers in 0..10.
 *   6. The same view and the same request give the same bytes.
 *
 * And: both node modes agree; each node is answered for once; its reason is that
 * of the first filter, by number, that fails when each is asked by itself; and an
 * explanation says of each node what filter and prioritize say.
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
};

static const char *const scores[] = {
    "binPack: {cpu: 2, memory: 1}",
    "spread: {cpu: 1}",
    "spread: {memory: 3, example.com/dev: 1}",
    "balance: [cpu, memory]",
    "nodeLabelPreference: {key: pool, values: {a: 100, b: 35}, otherwise: 5}",
};

static const char *const matches[] = {
    "",
    "match: {namespaces: [x]}, ",
    "match: {podSelector: {matchLabels: {app: web}}}, ",
    ("match: {namespaces: [x, y], podSelector: {matchExpressions: [{key: app, operator: "
     "Exists}]}}, "),
};

static void draw_policy(unsigned number, Buf *out) {
    unsigned n_filters = below(5), n_scores = below(4);

    buf_printf(
        out, "  p%u: {mode: %s, %s", number, below(4) ? "Enforce" : "Observe", ONE_OF(matches));
    buf_append(out, STR("filters: ["));
    for (unsigned i = 0; i < n_filters; i++)
        buf_printf(out,
            "%s{name: f%u, %s, reason: \"p%u f%u\", unresolvable: %s}",
            i ? ", " : "",
            i,
            ONE_OF(filters),
            number,
            i,
            below(3) ? "false" : "true");
    buf_append(out, STR("], scores: ["));
    for (unsigned i = 0; i < n_scores; i++)
        buf_printf(
            out, "%s{name: s%u, %s, weight: %u}", i ? ", " : "", i, ONE_OF(scores), 1 + below(9));
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
    if (node != NOWHERE)
        buf_printf(out, ", on: n%u, phase: %s", node, ONE_OF(phases));
    buf_append(out, STR("}"));
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
    Scene scene;
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

static void round_init(Round *round) {
    unsigned n_nodes;

    *round = (Round){.arena = arena_new((size_t)64 << 20)};
    round->text = draw_scene(round->arena, &n_nodes);
    scene_init(&round->scene,
        scene_parse("scene", round->text, round->arena).documents[0],
        /* extra= */ NULL,
        0);
    assert_int_equal(
        view_new(round->scene.snapshot, round->scene.program, /* zones= */ NULL, /* before= */ NULL, &round->view), 0);
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

/* The first filter, by number, that fails when each is asked by itself; the pod is
 * not counted where it runs already. */
/* Victim @k of a node: a pod that is there, while there are any. */
static Str victim_of(const Round *round, uint32_t row, unsigned k) {
    const NodeTable *table = snapshot_table(round->scene.snapshot);
    const PodList *pods = table_chunk(table, row)->pods[table_slot(row)];

    return pods && k < pods->n ? pods->items[k]->uid
                               : arena_printf(round->arena, "gone%u-%u", row, k);
}

/* The first filter, one by one, that node @row fails once its first @n_gone victims, and the
 * pod itself, are gone. */
static const Filter *first_failing_without(const Round *round, uint32_t row, unsigned n_gone) {
    const Pod *pod = &round->scene.pod;
    const NodeTable *all = snapshot_table(round->scene.snapshot);
    PodChange changes[4] = {{.row = table_find(all, pod->node_name), .remove = pod->uid}};
    size_t n_changes = !str_is_empty(pod->node_name);
    NodeTable table;
    Facts facts;
    Question question = {.program = round->scene.program,
        .table = &table,
        .facts = &facts,
        .pod = pod,
        .rows = &row,
        .n = 1,
        .arena = round->arena};
    Judge *judge;

    assert_true(n_gone < ELEMENTS_OF(changes));
    for (unsigned k = 0; k < n_gone; k++)
        changes[n_changes++] = (PodChange){.row = row, .remove = victim_of(round, row, k)};
    assert_int_equal(table_change(all, changes, n_changes, round->arena, &table), 0);
    assert_int_equal(facts_build(round->scene.program,
                         &table,
                         /* zones= */ NULL,
                         /* known= */ NULL,
                         round->arena,
                         &facts),
        0);
    assert_int_equal(judge_open(&question, &judge), 0);
    for (size_t i = 0; i < round->scene.program->n_filters; i++) {
        const Filter *filter = round->scene.program->filters[i];

        if (!filter->policy->is_observed && judge_applies(judge, filter->policy) &&
            !cel_is_true(judge_value(judge, &filter->test, row, round->arena)))
            return filter;
    }
    return NULL;
}

static const Filter *first_failing(const Round *round, uint32_t row) {
    return first_failing_without(round, row, 0);
}

static bool is_node(Str name, unsigned number) {
    char wanted[16];

    (void)snprintf(wanted, sizeof(wanted), "n%u", number);
    return str_is(name, wanted);
}

/* Whether any filter applies to the pod. The test's policies match by namespace and labels. */
static bool has_filters(const Round *round) {
    const Program *program = round->scene.program;

    for (size_t i = 0; i < program->n_policies; i++)
        if (!program->policies[i].is_observed && program->policies[i].n_filters > 0 &&
            policy_selects(&program->policies[i], &round->scene.pod))
            return true;
    return false;
}

/* Walks request and reply together: each node stands in exactly one of passed and
 * failed, in order, with the right reason. */
static bool check_answers(const Round *round, const FilterReply *reply, bool with_stranger) {
    size_t passed = 0, failed = 0, unresolvable = 0;

    if (with_stranger && has_filters(round)) {
        if (reply->failed.n == 0 || !str_is(reply->failed.items[0].name, "stranger"))
            return false;
        failed = 1;
    } else if (with_stranger) {
        if (reply->passed.n == 0 || !str_is(reply->passed.items[0].name, "stranger"))
            return false;
        passed = 1;
    }
    for (unsigned i = 0; i < round->n; i++) {
        unsigned number = round->order[i];
        const Filter *filter = first_failing(round, number);
        const ReplyNodes *list = filter ? &reply->failed : &reply->passed;
        size_t *at = filter ? &failed : &passed;

        if (*at >= list->n || !is_node(list->items[*at].name, number))
            return false;
        if (filter && !str_eq(list->items[*at].reason, filter->reason))
            return false;
        if (filter && filter->is_unresolvable) {
            if (unresolvable >= reply->unresolvable.n ||
                !is_node(reply->unresolvable.items[unresolvable].name, number) ||
                !str_eq(reply->unresolvable.items[unresolvable].reason, filter->reason))
                return false;
            unresolvable++;
        }
        ++*at;
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
    View *anew;
    Str third;

    assert_int_equal(
        view_new(round->scene.snapshot, round->scene.program, /* zones= */ NULL, /* before= */ NULL, &anew), 0);
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
        extender_explain(round->view, /* moment= */ NULL, &round->scene.pod, round->arena, &explanation), 0);
    if (explanation.n_nodes != all.n)
        return false;
    for (uint32_t row = 0; row < explanation.n_nodes; row++) {
        const NodeExplanation *node = &explanation.nodes[row];

        if (!is_node(node->node, row) || node->verdict != first_failing(round, row) ||
            (node->verdict && node->n_failed == 0))
            return false;
        for (size_t i = 0; i < node->n_failed; i++)
            if (str_is_empty(node->failed[i].detail))
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
        bool filters_hold, scores_hold, victims_hold, explained;

        round_init(&round);
        filters_hold = check_filter(&round);
        scores_hold = check_prioritize(&round);
        victims_hold = check_preempt(&round);
        explained = check_explain(&round);
        if (!filters_hold || !scores_hold || !victims_hold || !explained) {
            (void)fprintf(stderr,
                "round %u: filter %d, prioritize %d, preempt %d, explain %d\n%.*s%.*s\n%.*s\n",
                i,
                filters_hold,
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
        cmocka_unit_test(test_score_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
