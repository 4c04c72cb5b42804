#include "extender/test-round.h"

#include <stdio.h>

#include "base/test-assert.h"
#include "judge/judge.h"

#define TEXT_MAX ((size_t)1 << 20)

static unsigned pick(Rng *rng, unsigned n) {
    return (unsigned)rng_pick(rng, n);
}

static void draw_order(Round *round, Rng *rng, unsigned n_nodes) {
    for (unsigned i = 0; i < n_nodes; i++)
        round->order[i] = i;
    for (unsigned i = n_nodes; i > 1; i--) {
        unsigned k = pick(rng, i), swap = round->order[k];

        round->order[k] = round->order[i - 1];
        round->order[i - 1] = swap;
    }
    round->n = pick(rng, 3) ? n_nodes : pick(rng, n_nodes + 1);
    round->with_unknown = pick(rng, 3) == 0;
}

View *round_view(const Round *round) {
    View *view = NULL;

    assert_int_equal(view_new(&(ViewParts){.snapshot = round->scene.snapshot,
                                  .program = round->scene.program,
                                  .measurements = round->scene.measurements,
                                  .now_nsec = round->scene.now,
                                  .uptime_nsec = SCENE_UPTIME},
                         /* before= */ NULL, &view),
        0);
    return view;
}

void round_init(Round *round, Rng *rng) {
    unsigned n_nodes;

    *round = (Round){.arena = arena_new((size_t)64 << 20)};
    round->text = random_scene(rng, round->arena, &n_nodes);
    scene_init(&round->scene, scene_parse("scene", round->text, round->arena).documents[0],
        /* extra= */ NULL, 0);
    round->view = round_view(round);
    draw_order(round, rng, n_nodes);
}

void round_done(Round *round) {
    round->view = view_unref(round->view);
    scene_done(&round->scene);
    round->arena = arena_free(round->arena);
}

static Str pod_text(const Round *round) {
    _cleanup_(buf_done) Buf pod = BUF_INIT(TEXT_MAX);

    scene_pod_json(yaml_find(round->scene.document, STR("pod")), &pod);
    return arena_copy(round->arena, buf_str(&pod));
}

Str round_names_body(const Round *round) {
    _cleanup_(buf_done) Buf body = BUF_INIT(TEXT_MAX);

    buf_printf(&body, "{\"Pod\":%.*s,\"Nodes\":null,\"NodeNames\":[", STR_FMT(pod_text(round)));
    if (round->with_unknown)
        buf_printf(&body, "\"unknown\"%s", round->n ? "," : "");
    for (unsigned i = 0; i < round->n; i++)
        buf_printf(&body, "%s\"n%u\"", i ? "," : "", round->order[i]);
    buf_append(&body, STR("]}"));
    return arena_copy(round->arena, buf_str(&body));
}

Str round_nodes_body(const Round *round) {
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

/* --- expected results -------------------------------------------------------------------- */

/* UID of victim @k of a node: a pod on it; beyond its pods, one that does not exist. */
static Str victim_of(const Round *round, uint32_t row, unsigned k) {
    const NodeTable *table = snapshot_table(round->scene.snapshot);
    const PodList *pods = table_chunk(table, row)->pods[table_slot(row)];

    return pods && k < pods->n ? pods->items[k]->uid
                               : arena_printf(round->arena, "gone%u-%u", row, k);
}

Str round_victims_body(const Round *round) {
    _cleanup_(buf_done) Buf body = BUF_INIT(TEXT_MAX);

    buf_printf(&body, "{\"Pod\":%.*s,\"NodeNameToMetaVictims\":{", STR_FMT(pod_text(round)));
    for (unsigned i = 0; i < round->n; i++) {
        unsigned n_victims = round->order[i] % 3;

        buf_printf(&body, "%s\"n%u\":{\"Pods\":[", i ? "," : "", round->order[i]);
        for (unsigned k = 0; k < n_victims; k++)
            buf_printf(&body, "%s{\"UID\":\"%.*s\"}", k ? "," : "",
                STR_FMT(victim_of(round, round->order[i], k)));
        buf_printf(&body, "],\"NumPDBViolations\":%u}", round->order[i]);
    }
    buf_append(&body, STR("}}"));
    return arena_copy(round->arena, buf_str(&body));
}

/* A judge for node @row only, without its first @n_gone victims and without the pod itself. */
static Judge *judge_alone(const Round *round, uint32_t row, unsigned n_gone) {
    const Pod *pod = &round->scene.pod;
    const NodeTable *all = &round->scene.table;
    PodChange changes[4] = {{.row = table_find(all, pod->node_name), .remove = pod->uid}};
    size_t n_changes = !str_is_empty(pod->node_name);
    NodeTable *table = ARENA_NEW(round->arena, NodeTable);
    NodeFacts *facts = ARENA_NEW(round->arena, NodeFacts);
    Loads *loads = ARENA_NEW(round->arena, Loads);
    uint32_t *rows = ARENA_NEW(round->arena, uint32_t);
    JudgeInput input = {.program = round->scene.program,
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
    assert_int_equal(judge_open(&input, &judge), 0);
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

const Filter *round_first_failing(const Round *round, uint32_t row, unsigned n_gone) {
    Judge *judge = judge_alone(round, row, n_gone);

    for (size_t i = 0; i < round->scene.program->n_filters; i++) {
        const Filter *filter = round->scene.program->filters[i];

        if (!filter->policy->is_observed && judge_applies(judge, filter->policy) &&
            !passes(round, judge, filter, row))
            return filter;
    }
    return NULL;
}

static double score_alone(const Round *round, uint32_t row) {
    double score;

    assert_int_equal(judge_scores(judge_alone(round, row, 0), &score), 0);
    return score;
}

bool round_is_node(Str name, unsigned number) {
    char wanted[16];

    (void)snprintf(wanted, sizeof(wanted), number == UNKNOWN_NODE ? "unknown" : "n%u", number);
    return str_is(name, wanted);
}

bool round_applies(const Round *round, const Policy *policy) {
    return !policy->is_observed && policy_selects(policy, &round->scene.pod);
}

static bool has_filters(const Round *round) {
    const Program *program = round->scene.program;

    for (size_t i = 0; i < program->n_policies; i++)
        if (round_applies(round, &program->policies[i]) && program->policies[i].n_filters > 0)
            return true;
    return false;
}

/* The number of nodes that narrowing keeps; UINT_MAX: all. */
static unsigned narrow_to(const Round *round) {
    const Program *program = round->scene.program;
    unsigned least = UINT_MAX;

    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];

        if (round_applies(round, policy) && policy->narrow_to > 0 && policy->narrow_to < least)
            least = policy->narrow_to;
    }
    return least;
}

/* Leaves out the node with the lowest score, of equal ones the last, until @to are left. */
static void narrow_expected(ExpectedNode *expected, size_t n, unsigned to) {
    for (;;) {
        ExpectedNode *worst = NULL;
        size_t n_passing = 0;

        for (size_t i = 0; i < n; i++) {
            if (expected[i].fails || expected[i].is_left_out)
                continue;
            n_passing++;
            if (!worst || expected[i].score <= worst->score)
                worst = &expected[i];
        }
        if (n_passing <= to)
            return;
        worst->is_left_out = true;
    }
}

size_t round_expected(
    const Round *round, bool with_unknown, ExpectedNode ret[static EXPECTED_MAX]) {
    size_t n = 0;

    if (with_unknown)
        ret[n++] = (ExpectedNode){.number = UNKNOWN_NODE, .fails = has_filters(round)};
    for (unsigned i = 0; i < round->n; i++) {
        const Filter *filter = round_first_failing(round, round->order[i], /* n_gone= */ 0);

        ret[n++] = (ExpectedNode){.number = round->order[i],
            .fails = filter,
            .filter = filter,
            .score = score_alone(round, round->order[i])};
    }
    narrow_expected(ret, n, narrow_to(round));
    return n;
}
