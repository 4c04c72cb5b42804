#include "policy/facts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "policy/rule.h"

/* One chunk's worth of work. */
typedef struct Work {
    const Program *program;
    const FactsLayout *layout;
    FactsOf of;
    Batch batch;
    FactsChunk *chunk;
} Work;

/* --- layout -------------------------------------------------------------------------- */

static bool has_failing(const Policy *policy) {
    for (size_t i = 0; i < policy->n_filters; i++)
        if (policy->filters[i].kind->class == RULE_NODE &&
            !filter_is_selective(&policy->filters[i]))
            return true;
    return false;
}

/* The next column of @width bytes a row, if it is wanted. CHUNK_ROWS of anything leave the
 * next column aligned for a double. */
static size_t place(FactsLayout *layout, bool is_wanted, size_t width) {
    size_t at = layout->size;

    if (!is_wanted)
        return FACTS_NONE;
    layout->size += CHUNK_ROWS * width;
    return at;
}

static int lay_out(const Program *program, Arena *arena, FactsLayout *ret) {
    *ret = (FactsLayout){
        .failing = ARENA_RAW(arena, size_t, program->n_policies),
        .passing = ARENA_RAW(arena, size_t, program->n_filters),
        .scores = ARENA_RAW(arena, size_t, program->n_scores),
    };
    if (!ret->failing || !ret->passing || !ret->scores)
        return error_origin(-ENOMEM);
    for (size_t i = 0; i < program->n_policies; i++)
        ret->failing[i] = place(ret, has_failing(&program->policies[i]), sizeof(uint16_t));
    for (size_t i = 0; i < program->n_filters; i++) {
        const Filter *filter = program->filters[i];

        ret->passing[i] = place(
            ret, filter->kind->class == RULE_NODE && filter_is_selective(filter), sizeof(uint8_t));
    }
    for (size_t i = 0; i < program->n_scores; i++)
        ret->scores[i] = place(ret, program->scores[i]->kind->class == RULE_NODE, sizeof(double));
    return 0;
}

/* --- one chunk ------------------------------------------------------------------------- */

static void *column(const Work *work, size_t at) {
    return work->chunk->columns + at;
}

static int find_failing(const Work *work, const Policy *policy, uint16_t *failing) {
    uint8_t pass[CHUNK_ROWS];

    memset(failing, 0xff, CHUNK_ROWS * sizeof(*failing)); /* VERDICT_PASS */
    for (size_t i = 0; i < policy->n_filters; i++) {
        const Filter *filter = &policy->filters[i];
        int r;

        if (filter->kind->class != RULE_NODE || filter_is_selective(filter))
            continue;
        r = filter->kind->judge(filter->config, &work->batch, pass);
        if (r < 0)
            return error_trace(r);
        for (size_t row = 0; row < work->batch.n; row++)
            if (!pass[row] && filter->number < failing[row])
                failing[row] = filter->number;
    }
    return 0;
}

static int judge_chunk(const Work *work) {
    const Program *program = work->program;
    const FactsLayout *layout = work->layout;
    int r = 0;

    for (size_t i = 0; r == 0 && i < program->n_policies; i++)
        if (layout->failing[i] != FACTS_NONE)
            r = find_failing(work, &program->policies[i], column(work, layout->failing[i]));
    for (size_t i = 0; r == 0 && i < program->n_filters; i++) {
        const Filter *filter = program->filters[i];

        if (layout->passing[i] != FACTS_NONE)
            r = filter->kind->judge(filter->config, &work->batch, column(work, layout->passing[i]));
    }
    return error_trace(r);
}

static int score_chunk(const Work *work) {
    const Program *program = work->program;
    int r = 0;

    for (size_t i = 0; r == 0 && i < program->n_scores; i++) {
        const Score *score = program->scores[i];

        if (work->layout->scores[i] != FACTS_NONE)
            r = score->kind->score(
                score->config, &work->batch, column(work, work->layout->scores[i]));
    }
    return error_trace(r);
}

/* The facts about the chunk that begins at row @first. */
static int find_facts(Work *work, uint32_t first) {
    const NodeTable *table = work->batch.table;
    size_t left = table->n_rows + 1 - first; /* the unknown node included */
    uint32_t rows[CHUNK_ROWS];
    int r = 0;

    for (uint32_t i = 0; i < CHUNK_ROWS; i++)
        rows[i] = first + i;
    work->batch.rows = rows;
    work->batch.n = left < CHUNK_ROWS ? left : CHUNK_ROWS;
    if (work->of & FACTS_OF_FILTERS)
        r = judge_chunk(work);
    if (r == 0 && (work->of & FACTS_OF_SCORES))
        r = score_chunk(work);
    work->batch.rows = NULL;
    return error_trace(r);
}

/* Sharing is not a change. */
#define COUNTED(chunk) ((Ref *)(uintptr_t) & (chunk)->ref)

/* --- all of them ------------------------------------------------------------------------ */

static const FactsChunk *find_shared(const KnownFacts *known, const NodeTable *table, size_t i) {
    if (known && i < known->table->n_chunks && known->table->chunks[i] == table->chunks[i])
        return known->facts->chunks[i];
    return NULL;
}

static FactsChunk *new_chunk(const Facts *facts, Arena *arena) {
    size_t size = sizeof(FactsChunk) + facts->layout.size;
    FactsChunk *chunk = facts->is_counted ? malloc(size) : arena_alloc(arena, size);

    if (chunk)
        chunk->ref = REF_ONE;
    return chunk;
}

static int build(const Program *program, const NodeTable *table, FactsOf of,
    const KnownFacts *known, Arena *arena, Facts *ret) {
    Work work = {
        .program = program,
        .layout = &ret->layout,
        .of = of,
        .batch = {.table = table, .arena = arena},
    };
    int r = lay_out(program, arena, &ret->layout);

    ret->chunks = ARENA_ARRAY(arena, const FactsChunk *, table->n_chunks);
    if (!ret->chunks)
        return error_origin(-ENOMEM);
    for (size_t i = 0; r == 0 && i < table->n_chunks; i++) {
        const FactsChunk *shared = find_shared(known, table, i);

        ret->n_chunks = i + 1;
        if (shared) {
            ret->chunks[i] = shared;
            if (ret->is_counted)
                ref_take(COUNTED(shared));
            continue;
        }
        ret->chunks[i] = work.chunk = new_chunk(ret, arena);
        r = work.chunk ? find_facts(&work, (uint32_t)(i * CHUNK_ROWS)) : error_origin(-ENOMEM);
    }
    return error_trace(r);
}

int facts_build(const Program *program, const NodeTable *table, FactsOf of, const KnownFacts *known,
    Arena *arena, Facts *ret) {
    *ret = (Facts){.is_counted = false};
    return error_trace(build(program, table, of, known, arena, ret));
}

int facts_build_counted(const Program *program, const NodeTable *table, const KnownFacts *known,
    Arena *arena, Facts *ret) {
    *ret = (Facts){.is_counted = true};
    return error_trace(build(program, table, FACTS_OF_ALL, known, arena, ret));
}

void facts_release(Facts *facts) {
    for (size_t i = 0; facts->is_counted && i < facts->n_chunks; i++)
        if (facts->chunks[i] && ref_drop(COUNTED(facts->chunks[i])))
            free((void *)(uintptr_t)facts->chunks[i]);
    *facts = (Facts){0};
}
