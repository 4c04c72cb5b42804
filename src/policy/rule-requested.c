/*
 * Scores by how full the node would be with the pod there.
 *
 *     binPack: {cpu: 2, memory: 1}    # full is good: weighted mean of used shares
 *     spread: {cpu: 1, memory: 1}     # empty is good: weighted mean of free shares
 *     balance: [cpu, memory]          # even is good: 100 less the deviation of used shares
 *
 * A share is (requested + asked) / allocatable. A resource the node does not
 * offer is left out of the mean; what would not fit counts as nothing good: 0 for
 * that resource. A node that offers none of them scores 0.
 */

#include <math.h>

#include "policy/rule.h"

#define REQUESTED_RESOURCES_MAX 16u

typedef struct Part {
    Str resource;
    double weight;
} Part;

typedef struct Config {
    const Part *parts;
    size_t n;
} Config;

/* --- reading --------------------------------------------------------------- */

static bool check_count(PolicyReader *reader, const YamlNode *value, const char *what, size_t min) {
    if (value->n >= min && value->n <= REQUESTED_RESOURCES_MAX)
        return true;
    reader_error(
        reader, value, "%s must name %zu to %u resources", what, min, REQUESTED_RESOURCES_MAX);
    return false;
}

static const void *read_weights(PolicyReader *reader, const YamlNode *value, const char *what) {
    Config *config = ARENA_NEW(reader->arena, Config);
    Part *parts;

    if (!config || !reader_mapping(reader, value, what) || !check_count(reader, value, what, 1))
        return NULL;
    parts = ARENA_ARRAY(reader->arena, Part, value->n);
    for (size_t i = 0; parts && i < value->n; i++) {
        const YamlPair *pair = &value->pairs[i];

        parts[i].resource = pair->key->text;
        if (reader_resource_name(reader, pair->key) &&
            reader_number(reader, pair->value, "a resource's weight", 0, 1000, &parts[i].weight) &&
            parts[i].weight == 0)
            reader_error(reader, pair->value, "a resource's weight must be greater than 0");
    }
    *config = (Config){.parts = parts, .n = parts ? value->n : 0};
    return config;
}

static const void *read_bin_pack(PolicyReader *reader, const YamlNode *value) {
    return read_weights(reader, value, "binPack");
}

static const void *read_spread(PolicyReader *reader, const YamlNode *value) {
    return read_weights(reader, value, "spread");
}

static void read_balanced(PolicyReader *reader, const YamlNode *list, size_t i, Part *parts) {
    parts[i].weight = 1;
    if (!reader_string(reader, list->items[i], "a resource", &parts[i].resource) ||
        !reader_resource_name(reader, list->items[i]))
        return;
    for (size_t j = 0; j < i; j++)
        if (str_eq(parts[j].resource, parts[i].resource))
            reader_error(
                reader, list->items[i], "\"%.*s\" is named twice", STR_FMT(parts[i].resource));
}

static const void *read_balance(PolicyReader *reader, const YamlNode *value) {
    Config *config = ARENA_NEW(reader->arena, Config);
    Part *parts;

    if (!config || !reader_sequence(reader, value, "balance") ||
        !check_count(reader, value, "balance", 2))
        return NULL;
    parts = ARENA_ARRAY(reader->arena, Part, value->n);
    for (size_t i = 0; parts && i < value->n; i++)
        read_balanced(reader, value, i, parts);
    *config = (Config){.parts = parts, .n = parts ? value->n : 0};
    return config;
}

/* --- scoring --------------------------------------------------------------- */

/*
 * Rows are taken in blocks that stay in the first-level cache: what a resource's
 * columns say of the block is gathered into plain arrays, and everything after
 * that is loops without branches, which the compiler turns into vector code.
 */
#define BLOCK 256u

/* A part with what is the same for all rows. */
typedef struct Term {
    size_t resource; /* its column */
    double asked;
    double weight;
} Term;

/* What the columns say of each row of a block. */
typedef struct Amounts {
    double used[BLOCK]; /* requested + asked */
    double allocatable[BLOCK];
} Amounts;

typedef struct Sums {
    double weights[BLOCK];
    double values[BLOCK];
    double squares[BLOCK]; /* balance only */
} Sums;

typedef void (*AddTerm)(const Amounts *amounts, double weight, size_t n, Sums *sums);

/* Parts whose resource some node of the table offers; the others say nothing. */
static size_t resolve(const Config *config, const Batch *batch, Term *ret) {
    size_t n = 0;

    for (size_t i = 0; i < config->n; i++) {
        Str name = config->parts[i].resource;
        size_t resource = table_find_resource(batch->table, name);

        if (resource != SIZE_MAX)
            ret[n++] = (Term){
                .resource = resource,
                .asked = (double)resources_get(&batch->pod->requests, name),
                .weight = config->parts[i].weight,
            };
    }
    return n;
}

/* Where each row's amounts begin: found once for all terms. */
static void locate(const NodeTable *table, const uint32_t *rows, size_t n, const int64_t **ret) {
    for (size_t i = 0; i < n; i++)
        ret[i] = table_chunk(table, rows[i])->amounts + table_slot(rows[i]);
}

static void gather(const Term *term, const int64_t *const *rows, size_t n, Amounts *ret) {
    size_t at = CHUNK_AMOUNT(term->resource, AMOUNT_ALLOCATABLE);
    size_t to_requested = CHUNK_AMOUNT(0, AMOUNT_REQUESTED) - CHUNK_AMOUNT(0, AMOUNT_ALLOCATABLE);

    for (size_t i = 0; i < n; i++) {
        const int64_t *allocatable = rows[i] + at;

        ret->used[i] = (double)allocatable[to_requested] + term->asked;
        ret->allocatable[i] = (double)*allocatable;
    }
}

/* The used share of row @i; where nothing is offered it is nothing that counts. */
static inline double share_of(const Amounts *amounts, size_t i) {
    return amounts->used[i] / (amounts->allocatable[i] > 0 ? amounts->allocatable[i] : 1);
}

static void add_used(const Amounts *amounts, double weight, size_t n, Sums *sums) {
    for (size_t i = 0; i < n; i++) {
        double share = share_of(amounts, i);
        double offered = amounts->allocatable[i] > 0 ? weight : 0;

        sums->weights[i] += offered;
        sums->values[i] += share <= 1 ? offered * share : 0;
    }
}

static void add_free(const Amounts *amounts, double weight, size_t n, Sums *sums) {
    for (size_t i = 0; i < n; i++) {
        double share = share_of(amounts, i);
        double offered = amounts->allocatable[i] > 0 ? weight : 0;

        sums->weights[i] += offered;
        sums->values[i] += share <= 1 ? offered * (1 - share) : 0;
    }
}

static void add_deviation(const Amounts *amounts, double weight, size_t n, Sums *sums) {
    for (size_t i = 0; i < n; i++) {
        double share = share_of(amounts, i);
        double offered = amounts->allocatable[i] > 0 ? weight : 0;

        share = share < 1 ? share : 1;
        sums->weights[i] += offered;
        sums->values[i] += offered * share;
        sums->squares[i] += offered * share * share;
    }
}

/* 100 times the weighted mean. */
static void finish_mean(const Sums *sums, size_t n, double *ret_scores) {
    for (size_t i = 0; i < n; i++) {
        double weights = sums->weights[i] > 0 ? sums->weights[i] : 1;

        ret_scores[i] = 100 * sums->values[i] / weights;
    }
}

/* 100 less the standard deviation, as kube-scheduler's balanced allocation. */
static void finish_evenness(const Sums *sums, size_t n, double *ret_scores) {
    for (size_t i = 0; i < n; i++) {
        double weights = sums->weights[i] > 0 ? sums->weights[i] : 1;
        double mean = sums->values[i] / weights;
        double variance = sums->squares[i] / weights - mean * mean;
        double score = 100 * (1 - sqrt(variance > 0 ? variance : 0));

        ret_scores[i] = sums->weights[i] > 0 ? score : 0;
    }
}

static int score_blocks(const Config *config, const Batch *batch, AddTerm add,
    void (*finish)(const Sums *sums, size_t n, double *ret_scores), double *ret_scores) {
    Term terms[REQUESTED_RESOURCES_MAX];
    size_t n_terms = resolve(config, batch, terms);
    const int64_t *rows[BLOCK]; /* outside the loop: the build zeroes locals where they begin */
    Amounts amounts;
    Sums sums;

    for (size_t begin = 0; begin < batch->n; begin += BLOCK) {
        size_t n = batch->n - begin < BLOCK ? batch->n - begin : BLOCK;

        locate(batch->table, batch->rows + begin, n, rows);
        memset(sums.weights, 0, n * sizeof(double));
        memset(sums.values, 0, n * sizeof(double));
        memset(sums.squares, 0, n * sizeof(double));
        for (size_t t = 0; t < n_terms; t++) {
            gather(&terms[t], rows, n, &amounts);
            add(&amounts, terms[t].weight, n, &sums);
        }
        finish(&sums, n, ret_scores + begin);
    }
    return 0;
}

static void needs(const void *config, NodeNeeds *ret) {
    (void)config;
    ret->allocatable = true;
}

static int score_used(const void *config, const Batch *batch, double *ret_scores) {
    return score_blocks(config, batch, add_used, finish_mean, ret_scores);
}

static int score_free(const void *config, const Batch *batch, double *ret_scores) {
    return score_blocks(config, batch, add_free, finish_mean, ret_scores);
}

static int score_evenness(const void *config, const Batch *batch, double *ret_scores) {
    return score_blocks(config, batch, add_deviation, finish_evenness, ret_scores);
}

const ScoreKind score_bin_pack = {
    .field = STR("binPack"),
    .class = RULE_POD_NODE,
    .summary = "the fuller, the better",
    .needs = needs,
    .read = read_bin_pack,
    .score = score_used,
};

const ScoreKind score_spread = {
    .field = STR("spread"),
    .class = RULE_POD_NODE,
    .summary = "the emptier, the better",
    .needs = needs,
    .read = read_spread,
    .score = score_free,
};

const ScoreKind score_balance = {
    .field = STR("balance"),
    .class = RULE_POD_NODE,
    .summary = "the more evenly used, the better",
    .needs = needs,
    .read = read_balance,
    .score = score_evenness,
};
