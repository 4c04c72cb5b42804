#include "judge/facts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "cluster/loads.h"
#include "schema/schema.h"

/* Of one chunk: 64 nodes with all their pods. */
#define CHUNK_BUDGET ((size_t)256 * 1024 * 1024)
/* Of an evaluation that reads the node alone. Less than that of a request (JUDGE_FUEL), since every
 * node of a cluster has it when a policy is new: a rule that burns all of it takes seconds. */
#define FACTS_FUEL 200000

#define SCRATCH_BUDGET ((size_t)256 * 1024 * 1024)

/* What all chunks are worked out with. */
typedef struct Work {
    const Program *program;
    const NodeTable *table;
    CelTable rows;
    CelRun run;
    Arena *scratch;
    CelClock clock;
} Work;

/* Sharing is not a change. */
#define COUNTED(chunk) ((Ref *)(uintptr_t) & (chunk)->ref)

/* --- one chunk ------------------------------------------------------------------------- */

/* Of a filter that reads metrics: states of "one is absent", by row. NULL: it reads none. */
static const uint8_t *find_missing(
    const Program *program, const Filter *filter, const FactsChunk *chunk) {
    if (filter->missing_root == UINT32_MAX ||
        cel_plan_time(program->plan, filter->missing_root) != CEL_TIME_KEPT)
        return NULL;
    return cel_kept_root(program->plan, chunk->kept, filter->missing_root).states;
}

/* The rows on which it failed, and for which of both reasons. */
static FailedRows find_failed(
    const Program *program, const Filter *filter, size_t n, const FactsChunk *chunk) {
    const uint8_t *states = cel_kept_root(program->plan, chunk->kept, filter->root).states;
    const uint8_t *missing = NULL;
    FailedRows failed = {0};

    if (!memchr(states, CEL_STATE_ERROR, n))
        return failed;
    missing = find_missing(program, filter, chunk);
    for (size_t i = 0; i < n; i++) {
        uint64_t bit = UINT64_C(1) << i;

        if (states[i] != CEL_STATE_ERROR)
            continue;
        if (missing && missing[i] == CEL_STATE_TRUE)
            failed.missing |= bit;
        else
            failed.errors |= bit;
    }
    return failed;
}

/* A filter that reads the node alone speaks for its policy where it fails. 0 or -ENOMEM. */
static int note_failing(const Program *program, const Filter *filter, size_t n, Arena *keep,
    FactsChunk *chunk, uint16_t *failing) {
    CelColumn column = cel_kept_root(program->plan, chunk->kept, filter->root);
    FailedRows failed = find_failed(program, filter, n, chunk);
    uint64_t allowed = (filter->on_error == FALLBACK_ALLOW ? failed.errors : 0) |
                       (filter->on_missing == FALLBACK_ALLOW ? failed.missing : 0);

    for (size_t i = 0; i < n; i++) {
        bool passes = column.states[i] == CEL_STATE_TRUE || (allowed >> i & 1);
        uint16_t said = passes ? VERDICT_PASS : filter->number;

        failing[i] = failing[i] < said ? failing[i] : said;
    }
    if (!failed.errors && !failed.missing)
        return 0;
    if (!chunk->failed)
        chunk->failed = ARENA_ARRAY(keep, FailedRows, program->n_filters);
    if (!chunk->failed)
        return error_origin(-ENOMEM);
    chunk->failed[filter->number] = failed;
    return 0;
}

static int find_failing(const Program *program, size_t n, Arena *keep, FactsChunk *chunk) {
    int r = 0;

    memset(chunk->failing, 0xff, program->n_policies * CHUNK_ROWS * sizeof(uint16_t));
    for (size_t i = 0; r == 0 && i < program->n_filters; i++) {
        const Filter *filter = program->filters[i];
        size_t policy = (size_t)(filter->policy - program->policies);

        if (cel_plan_time(program->plan, filter->root) == CEL_TIME_KEPT)
            r = note_failing(program, filter, n, keep, chunk, chunk->failing + policy * CHUNK_ROWS);
    }
    return error_trace(r);
}

/* Works out the chunk that begins at row @first, in @keep. */
static int find_facts(Work *work, uint32_t first, Arena *keep, FactsChunk *chunk) {
    size_t left = work->table->n_rows + 1 - first; /* the unknown node included */
    size_t n = left < CHUNK_ROWS ? left : CHUNK_ROWS;
    uint32_t rows[CHUNK_ROWS];
    int r;

    for (uint32_t i = 0; i < CHUNK_ROWS; i++)
        rows[i] = first + i;
    arena_reset(work->scratch);
    r = cel_kept_new(
        work->program->plan, &work->rows, rows, n, &work->run, work->clock, keep, &chunk->kept);
    if (r != 0)
        return r; /* also CEL_SESSION_OVER */
    return error_trace(find_failing(work->program, n, keep, chunk));
}

static void chunk_free(const FactsChunk *chunk) {
    arena_free(chunk->arena);
    free((void *)(uintptr_t)chunk);
}

/* A new chunk with one reference, in @arena, or (NULL) by itself. */
static FactsChunk *chunk_new_for(const Program *program, Arena *arena) {
    size_t size = sizeof(FactsChunk) + program->n_policies * CHUNK_ROWS * sizeof(uint16_t);
    FactsChunk *chunk = arena ? arena_alloc(arena, size) : malloc(size);

    if (!chunk)
        return NULL;
    *chunk = (FactsChunk){.ref = REF_ONE, .arena = arena ? NULL : arena_new(CHUNK_BUDGET)};
    if (arena || chunk->arena)
        return chunk;
    free(chunk);
    return NULL;
}

/* --- all of them ------------------------------------------------------------------------ */

/* What was measured of chunk @i; NULL: nothing. */
static const LoadChunk *loads_of(const NodeTable *table, size_t i) {
    return table->loads ? table->loads->chunks[i] : NULL;
}

static const FactsChunk *find_shared(const KnownFacts *known, const NodeTable *table, size_t i) {
    if (known && i < known->table->n_chunks && known->table->chunks[i] == table->chunks[i] &&
        loads_of(known->table, i) == loads_of(table, i))
        return known->facts->chunks[i];
    return NULL;
}

static int add_chunk(Work *work, const KnownFacts *known, size_t i, Arena *arena, Facts *facts) {
    const FactsChunk *shared = find_shared(known, work->table, i);
    FactsChunk *made;
    int r;

    if (shared) {
        facts->chunks[i] = shared;
        if (facts->is_counted)
            ref_take(COUNTED(shared));
    } else {
        made = chunk_new_for(work->program, facts->is_counted ? NULL : arena);
        if (!made)
            return error_origin(-ENOMEM);
        facts->chunks[i] = made;
        r = find_facts(work, (uint32_t)(i * CHUNK_ROWS), made->arena ? made->arena : arena, made);
        if (r != 0)
            return r;
    }
    facts->blocks[i] = facts->chunks[i]->kept;
    return 0;
}

/* Totals and groups: of all rows together. */
static int find_whole(const Work *work, Arena *arena, Facts *facts) {
    if (work->program->groups & SCHEMA_BIT(SCHEMA_CLUSTER))
        facts->cluster = schema_cluster(work->table, arena);
    return error_trace(cel_whole_new(work->program->plan,
        &work->rows,
        facts->blocks,
        work->table->n_rows,
        arena,
        &facts->whole));
}

static int build(const Program *program, const NodeTable *table, const FactsOptions *options,
    CelClock clock, Arena *arena, Facts *ret) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_BUDGET);
    Work work = {
        .program = program,
        .table = table,
        .rows = schema_table(program->schema, table),
        .run = CEL_RUN(scratch),
        .scratch = scratch,
        .clock = clock,
    };
    int r = 0;

    ret->chunks = ARENA_ARRAY(arena, const FactsChunk *, table->n_chunks);
    ret->blocks = ARENA_ARRAY(arena, const CelKept *, table->n_chunks);
    if (!scratch || !ret->chunks || !ret->blocks)
        return error_origin(-ENOMEM);
    work.run.fuel = FACTS_FUEL;
    work.run.zones = options->zones;
    for (size_t i = 0; r == 0 && i < table->n_chunks; i++) {
        r = add_chunk(&work, options->known, i, arena, ret);
        ret->n_chunks = i + 1;
    }
    ret->is_late = r == CEL_SESSION_OVER;
    if (r == 0)
        r = find_whole(&work, arena, ret);
    return ret->is_late ? 0 : error_trace(r);
}

int facts_build(const Program *program, const NodeTable *table, const FactsOptions *options,
    Arena *arena, Facts *ret) {
    *ret = (Facts){.is_counted = false};
    return error_trace(build(program, table, options, options->clock, arena, ret));
}

int facts_build_counted(const Program *program, const NodeTable *table, const FactsOptions *options,
    Arena *arena, Facts *ret) {
    static const CelClock patient;

    *ret = (Facts){.is_counted = true};
    return error_trace(build(program, table, options, patient, arena, ret));
}

void facts_release(Facts *facts) {
    for (size_t i = 0; facts->is_counted && i < facts->n_chunks; i++)
        if (facts->chunks[i] && ref_drop(COUNTED(facts->chunks[i])))
            chunk_free(facts->chunks[i]);
    *facts = (Facts){0};
}

uint8_t facts_state(const Program *program, const Facts *facts, uint32_t root, uint32_t row) {
    CelColumn column = cel_kept_root(program->plan, facts->blocks[row / CHUNK_ROWS], root);

    return column.states[table_slot(row)];
}
