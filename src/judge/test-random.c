/*
 * Random policies over random clusters and pods: the column machine and the scalar one agree, bit
 * for bit, on every rule and node; errors, NaN and metrics that are absent included. And what is
 * shared with the facts of an earlier cluster, or made from them for the rows that changed, is what
 * would be worked out anew, also after many such changes. Verdicts, scores
 * and what is counted follow from the rules one by one, with onError and onMissing as they are
 * said.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/dice.h"
#include "base/test-assert.h"
#include "cluster/store.h"
#include "judge/judge.h"
#include "policy/test-scene.h"

#define NODES 150u
#define PODS 600u
#define RULES 12u
#define ROUNDS 60u
#define CHANGES 6u

static unsigned roll(Dice *dice, unsigned sides) {
    return (unsigned)dice_pick(dice, sides);
}

static const char *pick(Dice *dice, const char *const *words) {
    unsigned n = 0;

    while (words[n])
        n++;
    return words[roll(dice, n)];
}

#define PICK(dice, ...) pick((dice), (const char *const[]){__VA_ARGS__, NULL})

/* --- expressions ----------------------------------------------------------------------- */

typedef enum Sort { BOOL, INT, DOUBLE, TEXT, TIME } Sort;

static void write_any(Dice *dice, Sort sort, unsigned depth, bool in_pods, Buf *out);

/* @format with %b %i %d %t %T filled by parts of that sort, %k by a key, %c by a comparison, %B %I
 * %D by parts that may name the pod p of a loop. */
static void write_form(Dice *dice, const char *format, unsigned depth, bool in_pods, Buf *out) {
    for (const char *c = format; *c; c++) {
        if (*c != '%') {
            buf_append_char(out, *c);
            continue;
        }
        switch (*++c) {
        case 'b':
            write_any(dice, BOOL, depth, in_pods, out);
            break;
        case 'i':
            write_any(dice, INT, depth, in_pods, out);
            break;
        case 'd':
            write_any(dice, DOUBLE, depth, in_pods, out);
            break;
        case 't':
            write_any(dice, TEXT, depth, in_pods, out);
            break;
        case 'T':
            write_any(dice, TIME, depth, in_pods, out);
            break;
        case 'B':
            write_any(dice, BOOL, depth, true, out);
            break;
        case 'I':
            write_any(dice, INT, depth, true, out);
            break;
        case 'D':
            write_any(dice, DOUBLE, depth, true, out);
            break;
        case '%':
            buf_append_char(out, '%');
            break;
        case 'k':
            buf_printf(out, "%s", PICK(dice, "a", "b", "zone", "n"));
            break;
        case 'c':
            buf_printf(out, "%s", PICK(dice, "<", "<=", ">", ">=", "==", "!="));
            break;
        default:
            fail_msg("no such form: %s", format);
        }
    }
}

/* Leaves, and forms with parts. In loops over pods there is one more variable. */
static const char *const leaves[][16] = {
    [BOOL] = {"true",
        "false",
        "node.ready",
        "node.spec.unschedulable",
        "('%k' in node.metadata.labels)",
        "has(pod.metadata.creationTimestamp)",
        "('%k' in pod.metadata.labels)",
        "has(node.metadata.labels.%k)",
        "(pod.metadata.labels['%k'] in node.metadata.labels)",
        "node.metadata.labels[?pod.metadata.labels[?'%k'].orValue('a')].hasValue()",
        "has(metrics.load)",
        "(metrics.load > 0.5)",
        "(metrics.load.age < duration('20s'))",
        "has(workload.metrics.podCpu)"},
    [INT] = {"0",
        "1",
        "7",
        "9223372036854775807",
        "pod.spec.priority",
        "node.pods.size()",
        "cluster.nodes",
        "size(node.metadata.labels)",
        "int(node.metadata.labels['n'])",
        "size(node.spec.taints)"},
    [DOUBLE] = {"0.0",
        "1.5",
        "-2.0",
        "1e300",
        "node.free.cpu",
        "node.allocatable.memory",
        "node.requested['nvidia.com/gpu']",
        "pod.requests.cpu",
        "pod.requests.milliCPU",
        "node.free.milliCPU",
        "cluster.allocatable.cpu",
        "double(node.metadata.labels['n'])",
        "node.free[pod.metadata.labels[?'%k'].orValue('cpu')]",
        "metrics.load",
        "metrics.podCpu",
        "workload.metrics.podCpu"},
    [TEXT] = {"''",
        "'a'",
        "'x'",
        "node.metadata.labels['%k']",
        "pod.metadata.labels['%k']",
        "node.metadata.labels[?'%k'].orValue('')",
        "pod.metadata.labels[?'%k'].orValue('x')",
        "node.metadata.name",
        "pod.metadata.namespace",
        "pod.owner",
        "node.metadata.labels[pod.metadata.labels['%k']]",
        "node.metadata.labels[?pod.metadata.labels[?'%k'].orValue('b')].orValue('x')"},
    [TIME] = {"now",
        "node.metadata.creationTimestamp",
        "timestamp('2026-01-01T00:00:00Z')",
        "timestamp('9999-12-31T23:59:59Z')",
        "timestamp('0001-01-01T00:00:00Z')"},
};

static const char *const pod_leaves[][8] = {
    [BOOL] = {"p.terminating",
        "('%k' in p.metadata.labels)",
        "has(p.metadata.labels.%k)",
        "p.metadata.labels[?'%k'].hasValue()",
        "has(p.metadata.creationTimestamp)",
        "has(p.scheduledTime)"},
    [INT] = {"p.spec.priority", "int(p.metadata.labels['n'])"},
    [DOUBLE] = {"p.requests.cpu", "p.requests['memory']"},
    [TEXT] = {"p.metadata.labels['%k']",
        "p.metadata.labels[?'%k'].orValue('')",
        "p.metadata.labels[?'%k'].value()",
        "p.owner",
        "p.metadata.uid",
        "p.metadata.namespace"},
    [TIME] = {"p.metadata.creationTimestamp", "p.scheduledTime"},
};

static const char *const forms[][32] = {
    [BOOL] = {"(%b && %b)",
        "(%b || %b)",
        "!%b",
        "(%b ? %b : %b)",
        "(%i %c %i)",
        "(%d %c %d)",
        "(%t == %t)",
        "(%t != %t)",
        "(%t %c %t)",
        "%t.startsWith(%t)",
        "(%t in ['a', 'x', ''])",
        "%t.matches('^[ax]+$')",
        "(%T - %T %c duration('100s'))",
        "(%T %c %T)",
        "(now - %T < duration('1h'))",
        "(%t in pod.metadata.labels)",
        "(%b == %b)",
        "(%i < %d)"},
    [INT] = {"(%i + %i)",
        "(%i - %i)",
        "(%i * %i)",
        "(%i / %i)",
        "(%i %% %i)",
        "(%b ? %i : %i)",
        "size(%t)",
        "-%i",
        "int(%d)",
        "int(%t)"},
    [DOUBLE] = {"(%d + %d)",
        "(%d - %d)",
        "(%d * %d)",
        "(%d / %d)",
        "(%b ? %d : %d)",
        "double(%i)",
        "-%d",
        "math.least(%d, %d)",
        "math.abs(%d)",
        "math.sqrt(%d)",
        "math.floor(%d)"},
    [TEXT] = {"(%t + %t)", "(%b ? %t : %t)", "%t.upperAscii()", "string(%i)"},
    [TIME] = {"(%T + duration('90s'))", "(%b ? %T : %T)"},
};

/* Loops over pods, which do not stand inside each other. */
static const char *const loops[][8] = {
    [BOOL] = {"node.pods.exists(p, %B)",
        "node.pods.all(p, %B)",
        "node.pods.exists_one(p, %B)",
        "node.domain('zone').pods.exists(p, %B)",
        "node.spec.taints.all(t, pod.tolerates(t))",
        "node.spec.taints.all(t, pod.tolerates(t.text))",
        "node.spec.taints.exists(t, t.key == pod.metadata.namespace)"},
    [INT] = {"node.pods.filter(p, %B).size()",
        "node.pods.map(p, %I).sum()",
        "node.domain('zone').pods.filter(p, %B).size()",
        "cluster.domains('zone').map(d, d.pods.filter(p, %B).size()).min()",
        "node.pods.filter(p, %B).map(p, %I).sum()"},
    [DOUBLE] = {"node.pods.map(p, %D).sum()",
        "node.pods.map(p, %B, %D).sum()",
        "node.domain('zone').pods.map(p, %D).sum()"},
    [TEXT] = {"node.pods.map(p, p.owner).join(',')"},
    [TIME] = {"node.pods[0].metadata.creationTimestamp"},
};

static const char *choose(Dice *dice, const char *const *list, unsigned room) {
    unsigned n = 0;

    while (n < room && list[n])
        n++;
    return list[roll(dice, n)];
}

static void write_any(Dice *dice, Sort sort, unsigned depth, bool in_pods, Buf *out) {
    if (depth == 0 || roll(dice, 4) == 0) {
        bool of_pod = in_pods && roll(dice, 2);

        write_form(dice,
            of_pod ? choose(dice, pod_leaves[sort], 8) : choose(dice, leaves[sort], 16),
            0,
            in_pods,
            out);
    } else if (!in_pods && roll(dice, 4) == 0) {
        write_form(dice, choose(dice, loops[sort], 8), depth - 1, false, out);
    } else {
        write_form(dice, choose(dice, forms[sort], 32), depth - 1, in_pods, out);
    }
}

/* --- policies and clusters ---------------------------------------------------------------- */

#define METRICS                                                                                    \
    "{name: load, prometheus: {query: load}, maxAge: 30s}, "                                       \
    "{name: podCpu, resourceMetrics: cpu, pods: {}}"

static void write_fallbacks(Dice *dice, Sort sort, Buf *out) {
    static const char *const fields[] = {"onError", "onMissing"};

    for (size_t i = 0; i < ELEMENTS_OF(fields); i++) {
        if (roll(dice, 2))
            continue;
        if (sort == BOOL)
            buf_printf(out, "      %s: %s\n", fields[i], PICK(dice, "allow", "reject"));
        else
            buf_printf(out, "      %s: %u\n", fields[i], roll(dice, 101));
    }
    if (sort != BOOL)
        buf_printf(out, "      normalize: %s\n", PICK(dice, "none", "none", "minMax", "rank"));
}

static void write_rule(Dice *dice, unsigned i, Sort sort, Buf *out) {
    buf_printf(out, "    - name: r%u\n", i);
    write_fallbacks(dice, sort, out);
    buf_append(out, STR("      expression: |\n        "));
    write_any(dice, sort, 1 + roll(dice, 4), false, out);
    buf_append(out, STR("\n"));
}

static Program *compile(Dice *dice, Arena *arena) {
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)1 << 20);
    _cleanup_(buf_done) Buf messages = BUF_INIT((size_t)1 << 20);
    PolicySource source = {.file = STR("random.yaml")};
    DiagList diags = DIAG_LIST_IN(arena);
    Program *program = NULL;

    buf_append(&text,
        STR("apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: p}\nspec:\n"
            "  metrics: [" METRICS "]\n  filters:\n"));
    for (unsigned i = 0; i < RULES; i++)
        write_rule(dice, i, BOOL, &text);
    buf_append(&text, STR("  scores:\n"));
    for (unsigned i = RULES; i < 2 * RULES; i++)
        write_rule(dice, i, roll(dice, 2) ? INT : DOUBLE, &text);
    source.text = buf_str(&text);
    if (program_compile(&source, 1, &diags, &program) == 0)
        return program;
    diag_list_print(&diags, /* colour= */ false, &messages);
    /* Constants that cannot be right (1 / 0, timestamps out of range) are refused: try again. */
    if (getenv("SHOW_REFUSED"))
        (void)fprintf(stderr, "%.*s\n", STR_FMT(buf_str(&messages)));
    return NULL;
}

static void write_labels(Dice *dice, Buf *out) {
    buf_append(out, STR("labels: {"));
    if (roll(dice, 3))
        buf_printf(out, "a: %s, ", PICK(dice, "a", "x", "aax", "''"));
    if (roll(dice, 3))
        buf_printf(out, "zone: %s, ", PICK(dice, "a", "b", "x"));
    if (roll(dice, 3))
        buf_printf(out, "n: '%s'", PICK(dice, "0", "12", "-3", "x", "9223372036854775807"));
    buf_append(out, STR("}"));
}

/* Of some nodes, or of none; sometimes too old. */
static void write_measured(Dice *dice, Buf *out) {
    static const char *const names[] = {"load", "podCpu"};

    buf_printf(out, "measuredAge: %s\nmeasured:\n", PICK(dice, "0s", "10s", "29s", "31s", "60s"));
    for (size_t m = 0; m < ELEMENTS_OF(names); m++) {
        unsigned share = roll(dice, 4);

        buf_printf(out, "  %s: {", names[m]);
        for (unsigned i = 0; i < NODES; i++)
            if (roll(dice, 3) < share)
                buf_printf(
                    out, "n%u: %s, ", i, PICK(dice, "0.25", "0.5", "0.75", "3", ".nan", "0"));
        buf_append(out, STR("}\n"));
    }
    if (roll(dice, 2))
        buf_append(out, STR("workloads: {podCpu: {team-a/ReplicaSet/o1: 1.5}}\n"));
}

static void write_scene(Dice *dice, Buf *out) {
    buf_append(out, STR("policy: {metrics: [" METRICS "]}\n"));
    write_measured(dice, out);
    buf_append(out, STR("now: 2026-02-03T04:05:06Z\nnodes:\n"));
    for (unsigned i = 0; i < NODES; i++) {
        buf_printf(out, "  n%u: {", i);
        write_labels(dice, out);
        buf_printf(out,
            ", ready: %s, cordoned: %s, allocatable: {cpu: %u%s}%s%s}\n",
            PICK(dice, "true", "false"),
            PICK(dice, "true", "false"),
            roll(dice, 9),
            PICK(dice, "", ", memory: 4Gi", ", nvidia.com/gpu: 2"),
            PICK(dice, "", ", created: 2026-02-03T04:00:00Z", ", created: 9999-12-31T00:00:00Z"),
            PICK(dice, "", ", taints: [{key: team-a, effect: NoSchedule}]"));
    }
    buf_append(out, STR("pods:\n"));
    for (unsigned i = 0; i < PODS; i++) {
        buf_printf(out, "  - {on: n%u, uid: u%u, ", roll(dice, NODES), i);
        write_labels(dice, out);
        buf_printf(out,
            ", namespace: %s, owner: %s, priority: %u, requests: {cpu: %um}%s}\n",
            PICK(dice, "team-a", "team-b"),
            PICK(dice, "o1", "o2"),
            roll(dice, 3),
            roll(dice, 999),
            PICK(dice, "", ", created: 2026-02-03T04:04:00Z", ", created: 9999-12-31T00:00:00Z"));
    }
    buf_append(out, STR("pod: {namespace: team-a, uid: me, owner: o1, requests: {cpu: 250m}, "));
    write_labels(dice, out);
    buf_append(out, STR("}\n"));
    buf_append_char(out, '\0');
}

/* --- comparing ------------------------------------------------------------------------------- */

typedef struct Round {
    TestScene scene;
    const NodeTable *table;
    Program *program;
    Facts facts;
    uint32_t rows[NODES];
    size_t n;
    Judge *judge;
    Arena *scratch; /* of what the scalar machine works out */
    size_t n_missing;
} Round;

/* What the scalar machine says of a rule. */
static uint8_t state_of(
    Round *round, const Expression *rule, const Expression *missing, size_t i, CelValue *ret) {
    Arena *arena = round->scratch;

    arena_reset(arena);
    *ret = judge_value(round->judge, rule, round->rows[i], arena);
    if (ret->kind != CEL_ERROR)
        return ret->kind == CEL_BOOL && ret->boolean ? CEL_STATE_TRUE : CEL_STATE_FALSE;
    assert_true(!expression_is_given(missing) || (rule->metrics | rule->workload_metrics) != 0);
    return expression_is_given(missing) &&
                   cel_is_true(judge_value(round->judge, missing, round->rows[i], arena))
               ? JUDGE_STATE_MISSING
               : CEL_STATE_ERROR;
}

static void complain(const Round *round, const Expression *rule, size_t i) {
    print_error("row %u: %.*s\n", round->rows[i], STR_FMT(rule->text));
    fail();
}

static uint32_t count_of(const uint8_t *states, size_t n, uint8_t state) {
    uint32_t found = 0;

    for (size_t i = 0; i < n; i++)
        found += states[i] == state;
    return found;
}

static uint32_t count_at(const uint32_t *counts, size_t i) {
    return counts ? counts[i] : 0;
}

/* All rules that know the node alone are asked of every row, others as long as it matters. */
static void check_filter_counts(Round *round, const Filter *filter, const uint8_t *states) {
    JudgeNotes notes = judge_notes(round->judge);
    uint32_t errors = count_at(notes.filter_errors, filter->number);
    uint32_t missing = count_at(notes.filter_missing, filter->number);

    assert_true(errors <= count_of(states, round->n, CEL_STATE_ERROR));
    assert_true(missing <= count_of(states, round->n, JUDGE_STATE_MISSING));
    round->n_missing += missing;
    if (!filter->is_known)
        return;
    assert_int_equal(errors, count_of(states, round->n, CEL_STATE_ERROR));
    assert_int_equal(missing, count_of(states, round->n, JUDGE_STATE_MISSING));
}

/* @first: by row, the first filter that speaks against it. */
static void check_filter(Round *round, const Filter *filter, uint16_t *first) {
    uint8_t states[NODES];

    assert_int_equal(judge_filter_states(round->judge, filter, states), 0);
    for (size_t i = 0; i < round->n; i++) {
        CelValue value;
        bool passes;

        if (states[i] != state_of(round, &filter->test, &filter->missing, i, &value))
            complain(round, &filter->test, i);
        passes = states[i] == CEL_STATE_TRUE ||
                 (states[i] == CEL_STATE_ERROR && filter->on_error == FALLBACK_ALLOW) ||
                 (states[i] == JUDGE_STATE_MISSING && filter->on_missing == FALLBACK_ALLOW);
        if (!passes && filter->number < first[i])
            first[i] = filter->number;
    }
    check_filter_counts(round, filter, states);
}

static void check_filters(Round *round) {
    uint16_t verdicts[NODES], first[NODES];

    memset(first, 0xff, sizeof(first));
    assert_int_equal(judge_filters(round->judge, verdicts), 0);
    for (size_t i = 0; i < round->program->n_filters; i++)
        check_filter(round, round->program->filters[i], first);
    for (size_t i = 0; i < round->n; i++)
        assert_int_equal(verdicts[i], first[i]);
}

/* What a rule that is not normalised counts for. */
static double settled(const Score *score, uint8_t state, double value) {
    if (state == CEL_STATE_ERROR || (state == CEL_STATE_FINE && value != value))
        return score->on_error;
    if (state == JUDGE_STATE_MISSING)
        return score->on_missing;
    return value < 0 ? 0 : value > 100 ? 100 : value;
}

static void check_score(Round *round, const Score *score, double weights, double *totals) {
    JudgeNotes notes = judge_notes(round->judge);
    double raw[NODES], values[NODES];
    uint8_t states[NODES];

    assert_int_equal(judge_score_values(round->judge, score, raw, states, values), 0);
    for (size_t i = 0; i < round->n; i++) {
        CelValue value;
        uint8_t state = state_of(round, &score->value, &score->missing, i, &value);
        double want = value.kind == CEL_INT ? (double)value.i : value.d;
        bool is_nan = want != want && raw[i] != raw[i];

        if (states[i] != state ||
            (state == CEL_STATE_FINE && !is_nan && memcmp(&want, &raw[i], sizeof(want)) != 0))
            complain(round, &score->value, i);
        if (state == JUDGE_STATE_MISSING)
            assert_true(values[i] == score->on_missing);
        if (state == CEL_STATE_ERROR)
            assert_true(values[i] == score->on_error);
        if (score->normalize == NORMALIZE_NONE)
            assert_true(values[i] == settled(score, state, want));
        totals[i] += values[i] * score->weight / weights;
    }
    assert_int_equal(
        count_at(notes.score_errors, score->number), count_of(states, round->n, CEL_STATE_ERROR));
    assert_int_equal(count_at(notes.score_missing, score->number),
        count_of(states, round->n, JUDGE_STATE_MISSING));
}

static void check_scores(Round *round) {
    double scores[NODES], totals[NODES] = {0}, weights = 0;

    assert_int_equal(judge_scores(round->judge, scores), 0);
    for (size_t i = 0; i < round->program->n_scores; i++)
        weights += round->program->scores[i]->weight;
    for (size_t i = 0; i < round->program->n_scores; i++)
        check_score(round, round->program->scores[i], weights, totals);
    for (size_t i = 0; i < round->n; i++)
        assert_true(fabs(scores[i] - totals[i]) < 1e-9);
}

/* Some rows, in any order, or all of them. */
static void choose_rows(Dice *dice, Round *round) {
    bool all = roll(dice, 2);

    round->n = 0;
    for (uint32_t row = 0; row < round->table->n_rows; row++)
        if (all || roll(dice, 5) == 0)
            round->rows[round->n++] = row;
    for (size_t i = 0; !all && i + 1 < round->n; i++) {
        size_t j = i + roll(dice, (unsigned)(round->n - i));
        uint32_t row = round->rows[i];

        round->rows[i] = round->rows[j];
        round->rows[j] = row;
    }
}

static void open_round(Round *round) {
    Question question = {
        .program = round->program,
        .table = round->table,
        .facts = &round->facts,
        .pod = &round->scene.pod,
        .rows = round->rows,
        .n = round->n,
        .now_nsec = round->scene.now,
        .arena = round->scene.arena,
    };

    assert_int_equal(judge_open(&question, &round->judge), 0);
}

static void check_round(Round *round) {
    open_round(round);
    check_filters(round);
    check_scores(round);
}

/* Facts worked out anew, and those that were shared and mended, say the same, bit by bit. */
static void check_facts(const Round *round) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)256 << 20);
    double shared_scores[NODES], scores[NODES];
    uint16_t shared_verdicts[NODES], verdicts[NODES];
    Round fresh = *round, shared = *round;

    assert_non_null(arena);
    fresh.scene.arena = shared.scene.arena = arena;
    assert_int_equal(
        facts_build(round->program, round->table, &(FactsOptions){0}, arena, &fresh.facts), 0);
    for (size_t i = 0; i < round->table->n_chunks; i++)
        assert_memory_equal(round->facts.chunks[i]->failing,
            fresh.facts.chunks[i]->failing,
            round->program->n_policies * CHUNK_ROWS * sizeof(uint16_t));
    open_round(&fresh);
    open_round(&shared);
    assert_int_equal(judge_filters(fresh.judge, verdicts), 0);
    assert_int_equal(judge_filters(shared.judge, shared_verdicts), 0);
    assert_memory_equal(verdicts, shared_verdicts, round->n * sizeof(verdicts[0]));
    assert_int_equal(judge_scores(fresh.judge, scores), 0);
    assert_int_equal(judge_scores(shared.judge, shared_scores), 0);
    assert_memory_equal(scores, shared_scores, round->n * sizeof(scores[0]));
}

/* A pod comes, from somewhere else, or one goes. */
static PodChange choose_change(Dice *dice, const NodeTable *table) {
    uint32_t row = roll(dice, (unsigned)table->n_rows);
    uint32_t from = roll(dice, (unsigned)table->n_rows);
    const PodList *here = table_chunk(table, row)->pods[table_slot(row)];
    const PodList *there = table_chunk(table, from)->pods[table_slot(from)];

    if (there && roll(dice, 2))
        return (PodChange){.row = row, .add = there->items[roll(dice, there->n)]};
    return (PodChange){.row = row, .remove = here ? here->items[0]->uid : STR("none")};
}

/* The cluster with a few pods more or less: facts are made from those before. */
static void change(Dice *dice, Round *round) {
    Arena *arena = round->scene.arena;
    KnownFacts known = {.table = round->table, .facts = ARENA_NEW(arena, Facts)};
    KnownLoads known_loads = {.table = round->table, .loads = round->table->loads};
    NodeTable *changed = ARENA_NEW(arena, NodeTable);
    Loads *loads = ARENA_NEW(arena, Loads);
    PodChange changes[3];
    size_t n = 1 + roll(dice, ELEMENTS_OF(changes));

    assert_true(known.facts && changed && loads);
    *(Facts *)(uintptr_t)known.facts = round->facts;
    for (size_t i = 0; i < n; i++)
        changes[i] = choose_change(dice, round->table);
    assert_int_equal(table_change(round->table, changes, n, arena, changed), 0);
    assert_int_equal(loads_build(&round->scene.input, changed, &known_loads, arena, loads), 0);
    changed->loads = loads;
    assert_int_equal(
        facts_build(
            round->program, changed, &(FactsOptions){.known = &known}, arena, &round->facts),
        0);
    round->table = changed;
}

/* Many small changes, one after the other. */
static void check_changed(Dice *dice, Round *round) {
    for (unsigned i = 0; i < CHANGES; i++) {
        change(dice, round);
        check_facts(round);
    }
    check_round(round);
}

static void play(Dice *dice, size_t *n_played, size_t *n_missing) {
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)1 << 20);
    Round *round = calloc(1, sizeof(*round));

    assert_non_null(round);
    round->scratch = arena_new((size_t)64 << 20);
    assert_non_null(round->scratch);
    write_scene(dice, &text);
    scene_init_text(&round->scene, text.data);
    round->table = &round->scene.table;
    round->program = compile(dice, round->scene.arena);
    if (round->program) {
        assert_int_equal(facts_build(round->program,
                             round->table,
                             &(FactsOptions){0},
                             round->scene.arena,
                             &round->facts),
            0);
        choose_rows(dice, round);
        check_round(round);
        check_changed(dice, round);
        ++*n_played;
        *n_missing += round->n_missing;
    }
    program_unref(round->program);
    arena_free(round->scratch);
    scene_done(&round->scene);
    free(round);
}

static void test_rounds(void **state) {
    const char *seed = getenv("SEED");
    Dice dice = {.state = seed ? strtoull(seed, NULL, 10) : 1};
    size_t n_played = 0, n_missing = 0;

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++)
        play(&dice, &n_played, &n_missing);
    print_message("%zu of %u programs, %u rules each\n", n_played, ROUNDS, 2 * RULES);
    assert_true(n_played > ROUNDS / 2);
    assert_true(n_missing > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rounds)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
