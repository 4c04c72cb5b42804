/* Random policies over random clusters and pods: the column machine and the scalar machine agree,
 * bit for bit, on every rule and node, including errors, NaN and absent metrics. Facts that are
 * shared with an earlier cluster, or updated from it for the rows that changed, equal facts that
 * are computed from scratch, also after many changes. Verdicts, scores and counts follow from the
 * single rules, onError and onMissing. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/test-assert.h"
#include "cluster/store.h"
#include "judge/judge.h"
#include "judge/test-generator.h"
#include "policy/test-scene.h"

#define ROUNDS 60u
#define CHANGES 6u

static unsigned pick(Rng *rng, unsigned n) {
    return (unsigned)rng_pick(rng, n);
}

/* Compiles a random policy; NULL: it has errors. */
static Program *compile(Rng *rng, Arena *arena) {
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)1 << 20);
    _cleanup_(buf_done) Buf messages = BUF_INIT((size_t)1 << 20);
    PolicySource source = {.file = STR("random.yaml")};
    DiagList diags = DIAG_LIST_IN(arena);
    Choices choices = {.rng = rng};
    Program *program = NULL;
    int r;

    generate_policy(&choices, &text);
    source.text = buf_str(&text);
    r = program_compile(&source, 1, &diags, &program);
    if (r == 0)
        return program;
    assert_int_equal(
        r, PROGRAM_E_INVALID); /* the only error: what passes the type check can be planned */
    diag_list_print(&diags, /* colour= */ false, &messages);
    if (getenv("SHOW_REFUSED"))
        (void)fprintf(stderr, "%.*s\n", STR_FMT(buf_str(&messages)));
    return NULL;
}

typedef struct Round {
    TestScene scene;
    const NodeTable *table;
    Program *program;
    NodeFacts facts;
    uint32_t rows[GENERATED_NODES];
    size_t n;
    Judge *judge;
    Arena *scratch;  /* for the scalar machine */
    Arena *of_judge; /* scratch of the judge; NULL: it uses the scene's arena */
    size_t n_missing;
} Round;

/* The scalar machine's result of a rule. */
static uint8_t state_of(
    Round *round, const Expression *rule, const Expression *missing, size_t i, CelValue *ret) {
    Arena *arena = round->scratch;

    arena_reset(arena);
    *ret = judge_value(round->judge, rule, round->rows[i], arena);
    if (ret->kind != CEL_ERROR)
        return ret->kind == CEL_BOOL && ret->boolean ? COLUMN_TRUE : COLUMN_FALSE;
    assert_true(!expression_is_given(missing) || (rule->metrics | rule->workload_metrics) != 0);
    return expression_is_given(missing) &&
                   cel_is_true(judge_value(round->judge, missing, round->rows[i], arena))
               ? JUDGE_STATE_MISSING
               : COLUMN_ERROR;
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

/* Rules that read only the node are evaluated for every row, others only while they can change the
 * verdict. */
static void check_filter_counts(Round *round, const Filter *filter, const uint8_t *states) {
    JudgeNotes notes = judge_notes(round->judge);
    uint32_t errors = count_at(notes.filter_errors, filter->number);
    uint32_t missing = count_at(notes.filter_missing, filter->number);

    assert_true(errors <= count_of(states, round->n, COLUMN_ERROR));
    assert_true(missing <= count_of(states, round->n, JUDGE_STATE_MISSING));
    round->n_missing += missing;
    if (!filter->is_known)
        return;
    assert_int_equal(errors, count_of(states, round->n, COLUMN_ERROR));
    assert_int_equal(missing, count_of(states, round->n, JUDGE_STATE_MISSING));
}

/* Lowers @first, by row the first filter that rejects, to @filter if it rejects. */
static void check_filter(Round *round, const Filter *filter, uint16_t *first) {
    uint8_t states[GENERATED_NODES];

    assert_int_equal(judge_filter_states(round->judge, filter, states), 0);
    for (size_t i = 0; i < round->n; i++) {
        CelValue value;
        bool passes;

        if (states[i] != state_of(round, &filter->test, &filter->missing, i, &value))
            complain(round, &filter->test, i);
        passes = states[i] == COLUMN_TRUE ||
                 (states[i] == COLUMN_ERROR && filter->on_error == FALLBACK_ALLOW) ||
                 (states[i] == JUDGE_STATE_MISSING && filter->on_missing == FALLBACK_ALLOW);
        if (!passes && filter->number < first[i])
            first[i] = filter->number;
    }
    check_filter_counts(round, filter, states);
}

static void check_filters(Round *round) {
    uint16_t verdicts[GENERATED_NODES], first[GENERATED_NODES];

    memset(first, 0xff, sizeof(first));
    assert_int_equal(judge_filters(round->judge, verdicts), 0);
    for (size_t i = 0; i < round->program->n_filters; i++)
        check_filter(round, round->program->filters[i], first);
    for (size_t i = 0; i < round->n; i++)
        assert_int_equal(verdicts[i], first[i]);
}

/* The score of a rule that is not normalized. */
static double settled(const Score *score, uint8_t state, double value) {
    if (state == COLUMN_ERROR || (state == COLUMN_OK && value != value))
        return score->on_error;
    if (state == JUDGE_STATE_MISSING)
        return score->on_missing;
    return value < 0 ? 0 : value > 100 ? 100 : value;
}

static void check_score(Round *round, const Score *score, double weights, double *totals) {
    JudgeNotes notes = judge_notes(round->judge);
    double raw[GENERATED_NODES], values[GENERATED_NODES];
    uint8_t states[GENERATED_NODES];

    assert_int_equal(judge_score_values(round->judge, score, raw, states, values), 0);
    for (size_t i = 0; i < round->n; i++) {
        CelValue value;
        uint8_t state = state_of(round, &score->value, &score->missing, i, &value);
        double want = value.kind == CEL_INT ? (double)value.i : value.d;
        bool is_nan = want != want && raw[i] != raw[i];

        if (states[i] != state ||
            (state == COLUMN_OK && !is_nan && memcmp(&want, &raw[i], sizeof(want)) != 0))
            complain(round, &score->value, i);
        if (state == JUDGE_STATE_MISSING)
            assert_true(values[i] == score->on_missing);
        if (state == COLUMN_ERROR)
            assert_true(values[i] == score->on_error);
        if (score->normalize == NORMALIZE_NONE)
            assert_true(values[i] == settled(score, state, want));
        totals[i] += values[i] * score->weight / weights;
    }
    assert_int_equal(
        count_at(notes.score_errors, score->number), count_of(states, round->n, COLUMN_ERROR));
    assert_int_equal(count_at(notes.score_missing, score->number),
        count_of(states, round->n, JUDGE_STATE_MISSING));
}

static void check_scores(Round *round) {
    double scores[GENERATED_NODES], totals[GENERATED_NODES] = {0}, weights = 0;

    assert_int_equal(judge_scores(round->judge, scores), 0);
    for (size_t i = 0; i < round->program->n_scores; i++)
        weights += round->program->scores[i]->weight;
    for (size_t i = 0; i < round->program->n_scores; i++)
        check_score(round, round->program->scores[i], weights, totals);
    for (size_t i = 0; i < round->n; i++)
        assert_true(fabs(scores[i] - totals[i]) < 1e-9);
}

/* Some rows, in random order, or all of them. */
static void choose_rows(Rng *rng, Round *round) {
    bool all = pick(rng, 2);

    round->n = 0;
    for (uint32_t row = 0; row < round->table->n_rows; row++)
        if (all || pick(rng, 5) == 0)
            round->rows[round->n++] = row;
    for (size_t i = 0; !all && i + 1 < round->n; i++) {
        size_t j = i + pick(rng, (unsigned)(round->n - i));
        uint32_t row = round->rows[i];

        round->rows[i] = round->rows[j];
        round->rows[j] = row;
    }
}

static void open_round(Round *round) {
    JudgeInput input = {
        .program = round->program,
        .table = round->table,
        .facts = &round->facts,
        .pod = &round->scene.pod,
        .rows = round->rows,
        .n = round->n,
        .now_nsec = round->scene.now,
        .arena = round->scene.arena,
        .scratch = round->of_judge,
    };

    assert_int_equal(judge_open(&input, &round->judge), 0);
}

static void check_round(Round *round) {
    open_round(round);
    check_filters(round);
    check_scores(round);
}

/* Facts computed from scratch, and facts that were shared and updated, are equal bit by bit. */
static void check_facts(const Round *round) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)256 << 20);
    double shared_scores[GENERATED_NODES], scores[GENERATED_NODES];
    uint16_t shared_verdicts[GENERATED_NODES], verdicts[GENERATED_NODES];
    Round fresh = *round, shared = *round;

    assert_non_null(arena);
    fresh.scene.arena = shared.scene.arena = arena;
    fresh.of_judge = shared.of_judge = NULL; /* two judges must not share scratch */
    assert_int_equal(
        facts_build(round->program, round->table, &(FactsOptions){0}, arena, &fresh.facts), 0);
    for (size_t i = 0; i < round->table->n_chunks; i++)
        assert_memory_equal(round->facts.chunks[i]->failing, fresh.facts.chunks[i]->failing,
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

/* Adds a pod, moves one, or removes one. */
static PodChange choose_change(Rng *rng, const NodeTable *table) {
    uint32_t row = pick(rng, (unsigned)table->n_rows);
    uint32_t from = pick(rng, (unsigned)table->n_rows);
    const PodList *here = table_chunk(table, row)->pods[table_slot(row)];
    const PodList *there = table_chunk(table, from)->pods[table_slot(from)];

    if (there && pick(rng, 2))
        return (PodChange){.row = row, .add = there->items[pick(rng, there->n)]};
    return (PodChange){.row = row, .remove = here ? here->items[0]->uid : STR("none")};
}

/* Adds or removes a few pods: the facts are updated from the previous ones. */
static void change(Rng *rng, Round *round) {
    Arena *arena = round->scene.arena;
    NodeSet known = {.table = round->table, .facts = ARENA_NEW(arena, NodeFacts)};
    KnownLoads known_loads = {.table = round->table, .loads = round->table->loads};
    NodeTable *changed = ARENA_NEW(arena, NodeTable);
    Loads *loads = ARENA_NEW(arena, Loads);
    PodChange changes[3];
    size_t n = 1 + pick(rng, ELEMENTS_OF(changes));

    assert_true(known.facts && changed && loads);
    *(NodeFacts *)(uintptr_t)known.facts = round->facts;
    for (size_t i = 0; i < n; i++)
        changes[i] = choose_change(rng, round->table);
    assert_int_equal(table_change(round->table, changes, n, arena, changed), 0);
    assert_int_equal(loads_build(&round->scene.input, changed, &known_loads, arena, loads), 0);
    changed->loads = loads;
    assert_int_equal(facts_build(round->program, changed, &(FactsOptions){.known = &known}, arena,
                         &round->facts),
        0);
    round->table = changed;
}

static void check_changed(Rng *rng, Round *round) {
    for (unsigned i = 0; i < CHANGES; i++) {
        change(rng, round);
        check_facts(round);
    }
    check_round(round);
}

static void run_round(Rng *rng, size_t *n_compiled, size_t *n_missing) {
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)1 << 20);
    Round *round = calloc(1, sizeof(*round));

    assert_non_null(round);
    round->scratch = arena_new((size_t)64 << 20);
    round->of_judge = arena_new((size_t)64 << 20);
    assert_true(round->scratch && round->of_judge);
    generate_scene(&(Choices){.rng = rng}, &text);
    scene_init_text(&round->scene, text.data);
    round->table = &round->scene.table;
    round->program = compile(rng, round->scene.arena);
    if (round->program) {
        assert_int_equal(facts_build(round->program, round->table, &(FactsOptions){0},
                             round->scene.arena, &round->facts),
            0);
        choose_rows(rng, round);
        check_round(round);
        check_changed(rng, round);
        ++*n_compiled;
        *n_missing += round->n_missing;
    }
    program_unref(round->program);
    arena_free(round->scratch);
    arena_free(round->of_judge);
    scene_done(&round->scene);
    free(round);
}

static void test_both_machines_agree_on_random_policies(void **state) {
    const char *seed = getenv("SEED");
    Rng rng = {.state = seed ? strtoull(seed, NULL, 10) : 1};
    size_t n_compiled = 0, n_missing = 0;

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++)
        run_round(&rng, &n_compiled, &n_missing);
    print_message("%zu of %u programs, %u rules each\n", n_compiled, ROUNDS, 2 * GENERATED_RULES);
    assert_true(n_compiled > ROUNDS / 2);
    assert_true(n_missing > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_machines_agree_on_random_policies)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
