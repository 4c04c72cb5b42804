/* Builds the facts of a program about the nodes of a table, chunk by chunk, from earlier ones. */

#include "judge/facts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "cluster/loads.h"
#include "schema/schema.h"

/* Fuel of one evaluation. Less than a request's (JUDGE_FUEL): a new policy is evaluated for every
 * node, and a rule that uses all of it takes seconds. */
#define FACTS_FUEL 200000

#define SCRATCH_BUDGET ((size_t)256 * 1024 * 1024)

/* The state of one facts_build(). */
typedef struct FactsBuild {
    const Program *program;
    const NodeTable *table;
    const NodeSet *known; /* NULL: none */
    NodeFacts *facts;     /* the result, in @arena */
    Arena *arena;
    PlanTable rows;
    CelRun run;
    Arena *scratch;    /* of @run; reset before each chunk */
    Arena *evaluation; /* reset before each block */
    PlanDeadline clock;
    PlanMeter *meter;     /* NULL: nothing is counted */
    PlanStrings *strings; /* strings of chunks that are evaluated as a whole; may be NULL */
    size_t bytes_max;     /* limit of counted facts, all chunks together */
    size_t bytes;         /* of the chunks so far */
    size_t n_done;        /* number of chunks so far */
    FactsLimit limit;
} FactsBuild;

/* --- one chunk ------------------------------------------------------------------------- */

/* The rows on which the filter failed, by reason. */
static FailedRows find_failed(
    const Program *program, const Filter *filter, size_t n, const FactsChunk *chunk) {
    const uint8_t *states = plan_block_root(program->plan, chunk->kept, filter->root).states;
    const uint8_t *missing = NULL; /* by row, whether a metric is absent; NULL: it reads none */
    FailedRows failed = {0};

    if (!memchr(states, COLUMN_ERROR, n))
        return failed;
    if (filter->missing_root != UINT32_MAX &&
        plan_frequency(program->plan, filter->missing_root) == PLAN_PRECOMPUTED)
        missing = plan_block_root(program->plan, chunk->kept, filter->missing_root).states;
    for (size_t i = 0; i < n; i++) {
        uint64_t bit = UINT64_C(1) << i;

        if (states[i] != COLUMN_ERROR)
            continue;
        if (missing && missing[i] == COLUMN_TRUE)
            failed.missing |= bit;
        else
            failed.errors |= bit;
    }
    return failed;
}

/* Lowers @failing to the filter's number for nodes that it rejects. 0 or -ENOMEM. */
static int note_failing(const Program *program, const Filter *filter, size_t n, Arena *keep,
    FactsChunk *chunk, uint16_t *failing) {
    const uint8_t *states = plan_block_root(program->plan, chunk->kept, filter->root).states;
    FailedRows failed;
    uint64_t allowed;

    if (states[0] == COLUMN_TRUE && memcmp(states, states + 1, n - 1) == 0)
        return 0; /* every node passes, as in most chunks */
    failed = find_failed(program, filter, n, chunk);
    allowed = (filter->on_error == FALLBACK_ALLOW ? failed.errors : 0) |
              (filter->on_missing == FALLBACK_ALLOW ? failed.missing : 0);
    for (size_t i = 0; i < n; i++) {
        bool passes = states[i] == COLUMN_TRUE || (allowed >> i & 1);
        uint16_t verdict = passes ? VERDICT_PASS : filter->number;

        failing[i] = failing[i] < verdict ? failing[i] : verdict;
    }
    if (!failed.errors && !failed.missing)
        return 0;
    if (!chunk->failed)
        chunk->failed = ARENA_ARRAY(keep, FailedRows, program->n_filters);
    if (!chunk->failed)
        return -ENOMEM;
    chunk->failed[filter->number] = failed;
    return 0;
}

static int find_failing(const Program *program, size_t n, Arena *keep, FactsChunk *chunk) {
    int r = 0;

    memset(chunk->failing, 0xff, program->n_policies * CHUNK_ROWS * sizeof(uint16_t));
    for (size_t i = 0; r == 0 && i < program->n_filters; i++) {
        const Filter *filter = program->filters[i];
        size_t policy = (size_t)(filter->policy - program->policies);

        if (plan_frequency(program->plan, filter->root) == PLAN_PRECOMPUTED)
            r = note_failing(program, filter, n, keep, chunk, chunk->failing + policy * CHUNK_ROWS);
    }
    return r;
}

/* The number of rows of the chunk that begins at @first, with the unknown node. */
static size_t rows_from(const NodeTable *table, uint32_t first) {
    size_t left = table->n_rows + 1 - first;

    return left < CHUNK_ROWS ? left : CHUNK_ROWS;
}

static int make_block(FactsBuild *build, const uint32_t *rows, size_t n, PlanStrings *strings,
    Arena *keep, const PlanBlock **ret) {
    const PlanBlockOptions options = {
        .run = &build->run,
        .scratch = build->evaluation,
        .deadline = build->clock,
        .meter = build->meter,
        .strings = strings,
        .keep = keep,
    };

    arena_reset(build->evaluation);
    return plan_block_new(build->program->plan, &build->rows, rows, n, &options, ret);
}

/* Evaluates the chunk that begins at row @first, into @keep. */
static int find_facts(FactsBuild *build, uint32_t first, Arena *keep, FactsChunk *chunk) {
    size_t n = rows_from(build->table, first);
    SchemaBlock block = {.arena = build->scratch};
    uint32_t rows[CHUNK_ROWS];
    int r;

    for (uint32_t i = 0; i < CHUNK_ROWS; i++)
        rows[i] = first + i;
    arena_reset(build->scratch);
    build->rows.block = &block;
    r = make_block(build, rows, n, build->strings, keep, &chunk->kept);
    build->rows.block = NULL;
    if (r != 0)
        return r; /* also PLAN_DEADLINE_PASSED */
    return find_failing(build->program, n, keep, chunk);
}

/* Like find_facts(), but takes the facts of all rows except @slots from @known. */
static int find_new_facts(FactsBuild *build, const FactsChunk *known, uint32_t first,
    const uint32_t *slots, size_t n_slots, Arena *keep, FactsChunk *chunk) {
    const PlanBlock *fresh = NULL;
    uint32_t rows[CHUNK_ROWS];
    int r;

    assert(known);
    for (size_t i = 0; i < n_slots; i++)
        rows[i] = first + slots[i];
    arena_reset(build->scratch);
    r = make_block(build, rows, n_slots, /* strings= */ NULL, build->scratch, &fresh);
    if (r != 0)
        return r; /* also PLAN_DEADLINE_PASSED */
    r = plan_block_replace_rows(build->program->plan, known->kept, fresh, slots, n_slots,
        build->scratch, keep, &chunk->kept);
    if (r == PLAN_BLOCK_FULL)
        return find_facts(build, first, keep, chunk);
    if (r == 0)
        r = find_failing(build->program, rows_from(build->table, first), keep, chunk);
    return r;
}

/* A new chunk with one reference: on the heap if facts are counted, else in the arena. */
static FactsChunk *chunk_new_for(const FactsBuild *build) {
    Arena *arena = build->facts->is_counted ? NULL : build->arena;
    size_t size = sizeof(FactsChunk) + build->program->n_policies * CHUNK_ROWS * sizeof(uint16_t);
    size_t left = build->bytes < build->bytes_max ? build->bytes_max - build->bytes : 0;
    FactsChunk *chunk = arena ? arena_alloc(arena, size) : malloc(size);

    if (!chunk)
        return NULL;
    *chunk = (FactsChunk){.ref = REF_ONE, .arena = arena ? NULL : arena_new(left)};
    if (arena || chunk->arena)
        return chunk;
    free(chunk);
    return NULL;
}

/* The measured values of chunk @i; NULL: none. */
static const LoadChunk *loads_of(const NodeTable *table, size_t i) {
    return table->loads ? table->loads->chunks[i] : NULL;
}

static const FactsChunk *find_shared(const NodeSet *known, const NodeTable *table, size_t i) {
    if (known && i < known->table->n_chunks && known->table->chunks[i] == table->chunks[i] &&
        loads_of(known->table, i) == loads_of(table, i))
        return known->facts->chunks[i];
    return NULL;
}

/* Whether all that a rule can read of a row, except measured values, is the same in both chunks. */
static bool is_same_row(const NodeChunk *a, const NodeChunk *b, size_t slot) {
    if (a->nodes[slot] != b->nodes[slot] || a->pods[slot] != b->pods[slot] ||
        a->n_pods[slot] != b->n_pods[slot] || a->placed_at[slot] != b->placed_at[slot] ||
        a->is_ready[slot] != b->is_ready[slot] ||
        a->is_unschedulable[slot] != b->is_unschedulable[slot] ||
        a->taint_set[slot] != b->taint_set[slot])
        return false;
    for (size_t i = 0; i < (size_t)a->n_resources * _AMOUNT_KINDS; i++)
        if (a->amounts[i * CHUNK_ROWS + slot] != b->amounts[i * CHUNK_ROWS + slot])
            return false;
    return true;
}

/* Compares bits, because absent values are NaN, which == calls different. */
static bool is_same_load(const LoadChunk *a, const LoadChunk *b, size_t n_gauges, size_t slot) {
    if (a == b)
        return true;
    for (size_t i = slot; a && b && i < n_gauges * _LOAD_KINDS * CHUNK_ROWS; i += CHUNK_ROWS) {
        const void *left = &a->columns[i], *right = &b->columns[i];

        if (memcmp(left, right, sizeof(double)) != 0)
            return false;
    }
    return a && b;
}

/* Whether chunk @i of both tables can be compared by row: numbers of resources, taint sets and rows
 * mean the same. */
static bool is_comparable(const NodeTable *a, const NodeTable *b, size_t i) {
    uint32_t first = (uint32_t)(i * CHUNK_ROWS);

    return i < a->n_chunks && rows_from(a, first) == rows_from(b, first) &&
           a->resources == b->resources && a->taint_sets == b->taint_sets &&
           a->chunks[i]->n_resources == b->chunks[i]->n_resources;
}

/* Finds the rows of chunk @i that differ from the earlier table's. False: more than half, or they
 * cannot be compared. */
static bool find_changed(
    const FactsBuild *build, size_t i, uint32_t slots[CHUNK_ROWS], size_t *ret_n) {
    size_t n = rows_from(build->table, (uint32_t)(i * CHUNK_ROWS));
    const NodeTable *before = build->known ? build->known->table : NULL, *now = build->table;

    *ret_n = 0;
    if (!before || !is_comparable(before, now, i) || !build->known->facts->chunks[i])
        return false;
    for (uint32_t slot = 0; slot < n; slot++)
        if (!is_same_row(before->chunks[i], now->chunks[i], slot) ||
            !is_same_load(loads_of(before, i), loads_of(now, i), build->program->n_gauges, slot))
            slots[(*ret_n)++] = slot;
    return *ret_n <= n / 2;
}

/* Called between chunks: the column machine does not check the budget. */
static bool has_budget(FactsBuild *build) {
    if (!build->meter)
        return true;
    if (plan_meter_is_over(build->meter))
        build->limit = FACTS_OVER_WORK;
    else if (build->clock.is_over && build->clock.is_over(build->clock.context))
        build->limit = FACTS_OVER_TIME;
    return build->limit == FACTS_WITHIN;
}

static int make_chunk(FactsBuild *build, size_t i, const uint32_t *slots, size_t n_slots,
    bool is_spliced, FactsChunk *chunk) {
    Arena *keep = chunk->arena ? chunk->arena : build->arena;
    uint32_t first = (uint32_t)(i * CHUNK_ROWS);
    int r = is_spliced ? find_new_facts(build, build->known->facts->chunks[i], first, slots,
                             n_slots, keep, chunk)
                       : find_facts(build, first, keep, chunk);

    if (r == -ENOMEM && chunk->arena &&
        (arena_limit_reached(keep) > 0 || arena_limit_reached(build->scratch) > 0))
        build->limit = FACTS_OVER_MEMORY;
    return r;
}

/* Adds the facts of chunk @i. Evaluates only rows that differ from the earlier table's. */
static int add_chunk(FactsBuild *build, size_t i) {
    NodeFacts *facts = build->facts;
    const FactsChunk *chunk = find_shared(build->known, build->table, i);
    uint32_t slots[CHUNK_ROWS];
    size_t n = 0;
    bool is_spliced = !chunk && build->known && find_changed(build, i, slots, &n);
    int r = 0;

    if (is_spliced && n == 0)
        chunk = build->known->facts->chunks[i];
    if (chunk) {
        if (facts->is_counted)
            ref_take(&chunk->ref);
        facts->chunks[i] = chunk;
    } else {
        FactsChunk *made = has_budget(build) ? chunk_new_for(build) : NULL;

        if (!made)
            return build->limit != FACTS_WITHIN ? PLAN_DEADLINE_PASSED : -ENOMEM;
        facts->chunks[i] = made;
        r = make_chunk(build, i, slots, n, is_spliced, made);
    }
    facts->blocks[i] = facts->chunks[i]->kept;
    if (facts->is_counted)
        build->bytes += arena_size(facts->chunks[i]->arena);
    return r;
}

/* Whether all rows have the same nodes: then the groups (by label) are the same, too. */
static bool has_same_nodes(const NodeTable *a, const NodeTable *b) {
    if (a->n_rows != b->n_rows)
        return false;
    for (size_t i = 0; i < b->n_chunks; i++)
        if (a->chunks[i] != b->chunks[i] &&
            memcmp(a->chunks[i]->nodes, b->chunks[i]->nodes, sizeof(b->chunks[i]->nodes)) != 0)
            return false;
    return true;
}

/* Totals and groups over all rows. */
static int find_whole(const FactsBuild *build) {
    const NodeSet *known = build->known;
    NodeFacts *facts = build->facts;
    Arena *arena = build->arena;
    bool has_same = known && known->facts->whole && has_same_nodes(known->table, build->table);

    if (build->program->groups & SCHEMA_BIT(SCHEMA_CLUSTER))
        facts->cluster = schema_cluster(build->table, arena);
    return plan_totals_new(build->program->plan, &build->rows,
        has_same ? known->facts->whole : NULL, facts->blocks, build->table->n_rows, arena,
        &facts->whole);
}

/* --- the budget ----------------------------------------------------------------------------- */

/* Whether @a costs more: memory if memory is exhausted, else work. */
static bool is_worse(const RuleCost *a, const RuleCost *b, FactsLimit limit) {
    if (limit == FACTS_OVER_MEMORY && a->cost.bytes != b->cost.bytes)
        return a->cost.bytes > b->cost.bytes;
    return a->cost.work > b->cost.work;
}

static void rank(FactsBudget *budget, const RuleCost *rule) {
    size_t at = budget->n_worst;

    while (at > 0 && is_worse(rule, &budget->worst[at - 1], budget->limit))
        at--;
    if (at == FACTS_WORST_MAX)
        return;
    if (budget->n_worst < FACTS_WORST_MAX)
        budget->n_worst++;
    memmove(&budget->worst[at + 1], &budget->worst[at],
        (budget->n_worst - at - 1) * sizeof(budget->worst[0]));
    budget->worst[at] = *rule;
}

static void rank_rules(const FactsBuild *build, FactsBudget *budget) {
    const Program *program = build->program;

    for (size_t i = 0; i < program->n_filters; i++) {
        const Filter *filter = program->filters[i];

        rank(budget, &(RuleCost){filter->policy, "filter", filter->name, filter->test.place,
                         plan_meter_root(build->meter, filter->root)});
    }
    for (size_t i = 0; i < program->n_scores; i++) {
        const Score *score = program->scores[i];

        rank(budget, &(RuleCost){score->policy, "score", score->name, score->value.place,
                         plan_meter_root(build->meter, score->root)});
    }
}

static void report(const FactsBuild *build, FactsBudget *budget) {
    size_t n_rows = build->n_done * CHUNK_ROWS;

    budget->limit = build->limit;
    budget->n_rows = n_rows < build->table->n_rows ? n_rows : build->table->n_rows;
    budget->cost = (PlanCost){.work = plan_meter_work(build->meter), .bytes = build->bytes};
    budget->n_worst = 0;
    if (budget->is_ranked || budget->limit != FACTS_WITHIN)
        rank_rules(build, budget);
}

int facts_build(const Program *program, const NodeTable *table, const FactsOptions *options,
    Arena *arena, NodeFacts *ret) {
    FactsBudget *budget = options->budget;
    /* A user who raises the budget raises the limit of temporary memory, too. */
    _cleanup_(arena_freep) Arena *scratch = arena_new(
        budget && budget->bytes_max > SCRATCH_BUDGET ? budget->bytes_max : SCRATCH_BUDGET);
    _cleanup_(arena_freep) Arena *evaluation = arena_new(SCRATCH_BUDGET);
    _cleanup_(arena_freep) Arena *costs = budget ? arena_new(SCRATCH_BUDGET) : NULL;
    bool shares_strings = !options->known && table->n_chunks > 1; /* one chunk has each once */
    _cleanup_(arena_freep) Arena *strings = shares_strings ? arena_new(SCRATCH_BUDGET) : NULL;
    FactsBuild build = {
        .program = program,
        .table = table,
        .known = options->known,
        .facts = ret,
        .arena = arena,
        .rows = schema_table(program->schema, table),
        .run = CEL_RUN(scratch),
        .scratch = scratch,
        .evaluation = evaluation,
        .clock = options->clock,
        .meter = costs ? plan_meter_new(program->plan, budget->work_max, costs) : NULL,
        .strings = strings ? plan_strings_new(program->plan, strings) : NULL,
        .bytes_max = budget ? budget->bytes_max : FACTS_BYTES_MAX,
    };
    int r = 0;

    *ret = (NodeFacts){.is_counted = options->is_counted};
    ret->chunks = ARENA_ARRAY(arena, const FactsChunk *, table->n_chunks);
    ret->blocks = ARENA_ARRAY(arena, const PlanBlock *, table->n_chunks);
    if (!scratch || !evaluation || !ret->chunks || !ret->blocks || (budget && !build.meter) ||
        (shares_strings && !build.strings))
        return -ENOMEM;
    build.run.fuel = FACTS_FUEL;
    build.run.zones = options->zones;
    for (size_t i = 0; r == 0 && i < table->n_chunks; i++) {
        r = add_chunk(&build, i);
        ret->n_chunks = i + 1;
        build.n_done += r == 0;
    }
    if (r == PLAN_DEADLINE_PASSED)
        (void)has_budget(&build); /* a deadline may also pass inside a chunk */
    ret->is_late = r == PLAN_DEADLINE_PASSED || (budget && build.limit != FACTS_WITHIN);
    if (r == 0 && !ret->is_late)
        r = find_whole(&build);
    if (budget)
        report(&build, budget);
    if (!ret->is_late)
        return r;
    if (ret->is_counted)
        facts_release(ret); /* a late view may be in force for a long time */
    ret->is_late = true;
    return 0;
}

void facts_release(NodeFacts *facts) {
    for (size_t i = 0; facts->is_counted && i < facts->n_chunks; i++)
        if (facts->chunks[i] && ref_drop(&facts->chunks[i]->ref)) {
            arena_free(facts->chunks[i]->arena);
            free((void *)(uintptr_t)facts->chunks[i]);
        }
    *facts = (NodeFacts){0};
}

uint8_t facts_state(const Program *program, const NodeFacts *facts, uint32_t root, uint32_t row) {
    Column column = plan_block_root(program->plan, facts->blocks[row / CHUNK_ROWS], root);

    return column.states[table_slot(row)];
}

uint8_t facts_filter_state(
    const Program *program, const NodeFacts *facts, const Filter *filter, uint32_t row) {
    const FailedRows *failed = facts->chunks[row / CHUNK_ROWS]->failed;
    bool is_missing = failed && (failed[filter->number].missing >> table_slot(row) & 1);

    return is_missing ? JUDGE_STATE_MISSING : facts_state(program, facts, filter->root, row);
}
