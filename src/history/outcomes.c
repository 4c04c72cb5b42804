/* Columns: one byte per node, and scores and ranks if there are any. */

#include "history/outcomes.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/wide-loops.h"

/* Values of an entry's byte: the index of a rule, or one of these. */
enum {
    CODE_REJECTED = OUTCOMES_RULES_MAX, /* by a rule without a place */
    CODE_LATE,
    CODE_NARROWED,
    CODE_UNKNOWN,
    CODE_PASSED,
    CODE_SCORED,
    CODE_NOT_ASKED,
};

struct Outcomes {
    Ref ref;
    NodeNumbers *node_numbers;
    size_t bytes;
    size_t n;
    const uint32_t *numbers; /* by entry; NULL: entry i has number i + 1 */
    const uint16_t *places;  /* or NULL */
    const uint8_t *codes;
    const uint8_t *scores; /* or NULL */
    uint32_t columns[];    /* all columns above */
};

const char *const outcome_names[] = {
    [OUTCOME_NOT_ASKED] = "not-asked",
    [OUTCOME_PASSED] = "passed",
    [OUTCOME_REJECTED] = "rejected",
    [OUTCOME_UNKNOWN] = "unknown",
    [OUTCOME_NARROWED] = "narrowed",
    [OUTCOME_LATE] = "late",
    [OUTCOME_SCORED] = "scored",
};

/* --- writing ------------------------------------------------------------------------- */

/* Codes by verdict: filters have the lowest numbers, special verdicts the highest, and the low bits
 * distinguish them. A table avoids branches that a processor could not predict. */
#define N_CODES 1024u

typedef struct Codes {
    uint8_t of[N_CODES];
} Codes;

static void fill_codes(Codes *codes, const RulePlaces *places) {
    static_assert(VERDICT_LATE % N_CODES >= PROGRAM_FILTERS_MAX, "no filter has such a number");
    for (size_t i = 0; i < PROGRAM_FILTERS_MAX; i++)
        codes->of[i] = places->of[i] < OUTCOMES_RULES_MAX ? places->of[i] : CODE_REJECTED;
    codes->of[VERDICT_PASS % N_CODES] = CODE_PASSED;
    codes->of[VERDICT_UNKNOWN_NODE % N_CODES] = CODE_UNKNOWN;
    codes->of[VERDICT_NARROWED % N_CODES] = CODE_NARROWED;
    codes->of[VERDICT_LATE % N_CODES] = CODE_LATE;
}

/* The columns while they are filled. Entry places[i] belongs to node i of the request. */
typedef struct Columns {
    uint32_t *numbers;
    uint16_t *places;
    uint8_t *codes, *scores;
} Columns;

/* The entry of node @i, or SIZE_MAX. If numbers is NULL, it is entry i. */
static inline size_t entry_of(NumberedNodes nodes, size_t i) {
    if (!nodes.numbers)
        return i;
    return (size_t)nodes.numbers[nodes.rows ? nodes.rows[i] : i] - 1; /* NODE_NUMBER_NONE is 0 */
}

/* Fills a filter in the usual case: every node has an entry, and it does not narrow. Without
 * restrict each written byte could change any array. */
static void fill_verdicts(uint8_t *restrict codes, const uint16_t *restrict verdicts, size_t n,
    const Codes *restrict of, NumberedNodes nodes) {
    const uint32_t *restrict rows = nodes.rows, *restrict numbers = nodes.numbers;

    UNROLLED
    for (size_t i = 0; i < n; i++)
        codes[(size_t)numbers[rows[i]] - 1] = of->of[verdicts[i] % N_CODES];
}

/* Fills a prioritize in the usual case: it does not narrow. */
static void fill_scored(uint8_t *restrict codes, uint8_t *restrict to,
    const uint8_t *restrict scores, size_t n, NumberedNodes nodes) {
    const uint32_t *restrict rows = nodes.rows, *restrict numbers = nodes.numbers;

    UNROLLED
    for (size_t i = 0; i < n; i++) {
        size_t entry = (size_t)numbers[rows[i]] - 1;

        codes[entry] = CODE_SCORED;
        to[entry] = scores[i];
    }
}

/* Scores of 0 to 100 as whole numbers, best first; narrowed nodes come after all others. Nearly
 * equal scores become equal, so that ranks are approximate. */
#define PLACE_STEPS 0x7FFEu
#define PLACE_NARROWED 0x8000u
#define PLACE_NONE UINT16_MAX

static inline uint16_t place_of(double score, bool is_narrowed) {
    double lost = (100 - score) * (PLACE_STEPS / 100.0);

    if (score < 0)
        return PLACE_NONE;
    lost = lost > 0 ? lost : 0; /* NaN too */
    lost = lost < PLACE_STEPS ? lost : PLACE_STEPS;
    return (uint16_t)((unsigned)lost | (is_narrowed ? PLACE_NARROWED : 0));
}

/* @codes: only for a filter. */
static void fill_entries(
    const Columns *columns, const Decision *decision, const Codes *codes, NumberedNodes nodes) {
    const FilterArgs *args = decision->args;
    const uint16_t *verdicts = decision->verdicts;

    for (size_t i = 0; i < args->n; i++) {
        size_t entry = entry_of(nodes, i);

        if (entry == SIZE_MAX)
            continue;
        if (verdicts)
            columns->codes[entry] = codes->of[verdicts[i] % N_CODES];
        else
            columns->codes[entry] =
                args->rows[i] == args->node_set.table->n_rows ? CODE_UNKNOWN : CODE_SCORED;
        if (columns->scores)
            columns->scores[entry] = decision->scores[i];
        if (columns->places)
            columns->places[entry] =
                place_of(decision->narrowed[i], verdicts && verdicts[i] == VERDICT_NARROWED);
    }
}

static size_t width_of(const OutcomesColumns *shape) {
    return 1 + (shape->has_scores ? 1 : 0) + (shape->has_places ? sizeof(uint16_t) : 0) +
           (shape->has_numbers ? sizeof(uint32_t) : 0);
}

/* Allocates the columns of @shape, and sets *ret to them. */
static Outcomes *make(const OutcomesColumns *shape, NodeNumbers *node_numbers, Columns *ret) {
    size_t n = shape->n, bytes = sizeof(Outcomes) + n * width_of(shape);
    Outcomes *outcomes = malloc(bytes);
    char *at;

    if (!outcomes)
        return NULL;
    *outcomes = (Outcomes){
        .ref = REF_ONE, .node_numbers = node_numbers_ref(node_numbers), .bytes = bytes, .n = n};
    at = (char *)outcomes->columns; /* the widest column first, so that each is aligned */
    if (shape->has_numbers) {
        outcomes->numbers = ret->numbers = outcomes->columns;
        at += n * sizeof(uint32_t);
    }
    if (shape->has_places) {
        outcomes->places = ret->places = (uint16_t *)(void *)at;
        at += n * sizeof(uint16_t);
    }
    outcomes->codes = ret->codes = (uint8_t *)at;
    if (shape->has_scores)
        outcomes->scores = ret->scores = (uint8_t *)at + n;
    return outcomes;
}

/* Chooses the smaller form: an entry for every number, or a list of the candidates. */
static OutcomesColumns shape_of(const Decision *decision, const NodeNumbers *node_numbers) {
    OutcomesColumns shape = {
        .has_places = decision->narrowed != NULL, .has_scores = decision->scores != NULL};
    size_t n_all = node_numbers_size(node_numbers), n_candidates = decision->args->n;
    size_t width = width_of(&shape);

    shape.has_numbers = n_candidates * (width + sizeof(uint32_t)) < n_all * width;
    shape.n = shape.has_numbers ? n_candidates : n_all;
    return shape;
}

static void fill_columns(const Columns *columns, const Decision *decision, const RulePlaces *places,
    NumberedNodes nodes) {
    const FilterArgs *args = decision->args;
    SCRATCH Codes codes;

    if (decision->verdicts)
        fill_codes(&codes, places);
    if (!nodes.rows || columns->places || !decision->verdicts == !columns->scores)
        fill_entries(columns, decision, &codes, nodes);
    else if (decision->verdicts)
        fill_verdicts(columns->codes, decision->verdicts, args->n, &codes, nodes);
    else
        fill_scored(columns->codes, columns->scores, decision->scores, args->n, nodes);
}

Outcomes *outcomes_new(const Decision *decision, const RulePlaces *places,
    NodeNumbers *node_numbers, NumberedNodes numbers) {
    OutcomesColumns shape = shape_of(decision, node_numbers);
    Columns columns = {0};
    Outcomes *outcomes = make(&shape, node_numbers, &columns);

    if (!outcomes)
        return NULL;
    memset(columns.codes, CODE_NOT_ASKED, outcomes->n);
    if (columns.scores)
        memset(columns.scores, 0, outcomes->n);
    if (columns.places)
        memset(columns.places, 0xFF, outcomes->n * sizeof(*columns.places)); /* PLACE_NONE */
    for (size_t i = 0; columns.numbers && i < outcomes->n; i++)
        columns.numbers[i] = numbers.numbers[numbers.rows ? numbers.rows[i] : i];
    fill_columns(&columns, decision, places, columns.numbers ? (NumberedNodes){0} : numbers);
    return outcomes;
}

OutcomesColumns outcomes_columns(const Outcomes *outcomes) {
    return (OutcomesColumns){
        .n = outcomes->n,
        .has_numbers = outcomes->numbers != NULL,
        .has_places = outcomes->places != NULL,
        .has_scores = outcomes->scores != NULL,
        .bytes = str_of((const char *)outcomes->columns, outcomes->bytes - sizeof(*outcomes)),
    };
}

/* Stored columns may be damaged: no code or number may exceed a table. */
static bool is_sound(const Outcomes *outcomes, size_t n_rules) {
    size_t n_numbers = node_numbers_size(outcomes->node_numbers);

    if (!outcomes->numbers && outcomes->n > n_numbers)
        return false;
    for (size_t i = 0; i < outcomes->n; i++) {
        uint8_t code = outcomes->codes[i];

        if (code > CODE_NOT_ASKED || (code < CODE_REJECTED && code >= n_rules) ||
            (outcomes->numbers && outcomes->numbers[i] > n_numbers))
            return false;
    }
    return true;
}

Outcomes *outcomes_load(const OutcomesColumns *columns, size_t n_rules, NodeNumbers *node_numbers) {
    Outcomes *outcomes;

    if (columns->n > columns->bytes.len || columns->bytes.len != columns->n * width_of(columns))
        return NULL;
    outcomes = make(columns, node_numbers, &(Columns){0});
    if (!outcomes)
        return NULL;
    if (columns->bytes.len > 0)
        memcpy(outcomes->columns, columns->bytes.ptr, columns->bytes.len);
    return is_sound(outcomes, n_rules) ? outcomes : outcomes_unref(outcomes);
}

Outcomes *outcomes_ref(Outcomes *outcomes) {
    ref_take(&outcomes->ref);
    return outcomes;
}

Outcomes *outcomes_unref(Outcomes *outcomes) {
    if (outcomes && ref_drop(&outcomes->ref)) {
        node_numbers_unref(outcomes->node_numbers);
        free(outcomes);
    }
    return NULL;
}

/* --- reading ---------------------------------------------------------------------------- */

NodeNumbers *outcomes_numbers(const Outcomes *outcomes) {
    return outcomes->node_numbers;
}

size_t outcomes_bytes(const Outcomes *outcomes) {
    return outcomes->bytes;
}

size_t outcomes_size(const Outcomes *outcomes) {
    return outcomes->n;
}

static OutcomeKind kind_of(uint8_t code) {
    static const OutcomeKind kinds[] = {
        [CODE_REJECTED] = OUTCOME_REJECTED,
        [CODE_LATE] = OUTCOME_LATE,
        [CODE_NARROWED] = OUTCOME_NARROWED,
        [CODE_UNKNOWN] = OUTCOME_UNKNOWN,
        [CODE_PASSED] = OUTCOME_PASSED,
        [CODE_SCORED] = OUTCOME_SCORED,
        [CODE_NOT_ASKED] = OUTCOME_NOT_ASKED,
    };

    return code < CODE_REJECTED ? OUTCOME_REJECTED : kinds[code];
}

Outcome outcomes_at(const Outcomes *outcomes, size_t i, uint32_t *ret_number) {
    uint8_t code = outcomes->codes[i];
    OutcomeKind kind = kind_of(code);

    *ret_number = outcomes->numbers ? outcomes->numbers[i] : (uint32_t)i + 1;
    if (*ret_number == NODE_NUMBER_NONE)
        kind = OUTCOME_NOT_ASKED; /* a candidate without a known name */
    return (Outcome){
        .kind = kind,
        .rule = code < CODE_REJECTED ? code : OUTCOME_NO_RULE,
        .has_score = outcomes->scores &&
                     (kind == OUTCOME_SCORED || kind == OUTCOME_PASSED || kind == OUTCOME_NARROWED),
        .score = outcomes->scores ? outcomes->scores[i] : 0,
    };
}

static uint32_t rank_of(const Outcomes *outcomes, size_t entry) {
    const uint16_t *places = outcomes->places;
    uint32_t n_before = 0;

    if (!places || places[entry] == PLACE_NONE)
        return 0;
    for (size_t i = 0; i < outcomes->n; i++)
        n_before += places[i] < places[entry] || (places[i] == places[entry] && i < entry);
    return n_before + 1;
}

Outcome outcomes_find(const Outcomes *outcomes, uint32_t number) {
    static const Outcome none = {.kind = OUTCOME_NOT_ASKED, .rule = OUTCOME_NO_RULE};
    Outcome outcome;
    uint32_t found;
    size_t i = 0;

    if (number == NODE_NUMBER_NONE)
        return none;
    if (outcomes->numbers)
        while (i < outcomes->n && outcomes->numbers[i] != number)
            i++;
    else
        i = number - 1;
    if (i >= outcomes->n)
        return none;
    outcome = outcomes_at(outcomes, i, &found);
    outcome.rank = rank_of(outcomes, i);
    return outcome;
}

static int compare_keys(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

int outcomes_ranks(const Outcomes *outcomes, Arena *arena, const uint32_t **ret) {
    uint32_t *ranks;
    uint64_t *keys;

    *ret = NULL;
    if (!outcomes->places)
        return 0;
    ranks = ARENA_ARRAY(arena, uint32_t, outcomes->n);
    keys = ARENA_RAW(arena, uint64_t, outcomes->n);
    if (!ranks || !keys)
        return -ENOMEM;
    for (size_t i = 0; i < outcomes->n; i++)
        keys[i] = (uint64_t)outcomes->places[i] << 32 | i;
    if (outcomes->n > 0)
        qsort(keys, outcomes->n, sizeof(*keys), compare_keys);
    for (size_t i = 0; i < outcomes->n && keys[i] >> 32 != PLACE_NONE; i++)
        ranks[(uint32_t)keys[i]] = (uint32_t)i + 1;
    *ret = ranks;
    return 0;
}

uint32_t outcomes_highest(const Outcomes *outcomes) {
    uint32_t highest = NODE_NUMBER_NONE;

    if (!outcomes->numbers)
        return (uint32_t)outcomes->n;
    for (size_t i = 0; i < outcomes->n; i++)
        highest = outcomes->numbers[i] > highest ? outcomes->numbers[i] : highest;
    return highest;
}

void outcomes_add_rejected(const Outcomes *outcomes, uint32_t *counts) {
    static_assert(CODE_REJECTED < CODE_LATE && CODE_LATE < CODE_NARROWED, "the first codes reject");
    if (!outcomes->numbers) { /* the compiler can vectorize this loop */
        for (size_t i = 0; i < outcomes->n; i++)
            counts[i] += outcomes->codes[i] <= CODE_LATE;
        return;
    }
    for (size_t i = 0; i < outcomes->n; i++)
        if (outcomes->numbers[i] != NODE_NUMBER_NONE)
            counts[outcomes->numbers[i] - 1] += outcomes->codes[i] <= CODE_LATE;
}
