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

#include <errno.h>
#include <math.h>

#include "base/error.h"
#include "base/vec.h"
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

static bool check_count(PolicyReader *reader, const YamlNode *value, const char *what) {
    if (value->n > 0 && value->n <= REQUESTED_RESOURCES_MAX)
        return true;
    reader_error(reader, value, "%s must name 1 to %u resources", what, REQUESTED_RESOURCES_MAX);
    return false;
}

static const void *read_weights(PolicyReader *reader, const YamlNode *value, const char *what) {
    Config *config = ARENA_NEW(reader->arena, Config);
    Part *parts;

    if (!config || !reader_mapping(reader, value, what) || !check_count(reader, value, what))
        return NULL;
    parts = ARENA_ARRAY(reader->arena, Part, value->n);
    for (size_t i = 0; parts && i < value->n; i++) {
        const YamlPair *pair = &value->pairs[i];

        parts[i].resource = pair->key->text;
        if (reader_label_key(reader, pair->key) &&
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

static const void *read_balance(PolicyReader *reader, const YamlNode *value) {
    Config *config = ARENA_NEW(reader->arena, Config);
    Part *parts;

    if (!config || !reader_sequence(reader, value, "balance") ||
        !check_count(reader, value, "balance"))
        return NULL;
    if (value->n < 2)
        reader_error(reader, value, "balance must name at least two resources");
    parts = ARENA_ARRAY(reader->arena, Part, value->n);
    for (size_t i = 0; parts && i < value->n; i++) {
        parts[i].weight = 1;
        if (reader_string(reader, value->items[i], "a resource", &parts[i].resource))
            (void)reader_label_key(reader, value->items[i]);
    }
    *config = (Config){.parts = parts, .n = parts ? value->n : 0};
    return config;
}

/* --- scoring --------------------------------------------------------------- */

/* Sums over the parts, per row of the batch. */
typedef struct Sums {
    double *weights;
    double *values;  /* weight * what the part gives */
    double *squares; /* balance only */
} Sums;

static int sums_new(const Batch *batch, bool with_squares, Sums *ret) {
    ret->weights = ARENA_ARRAY(batch->arena, double, batch->n);
    ret->values = ARENA_ARRAY(batch->arena, double, batch->n);
    ret->squares = with_squares ? ARENA_ARRAY(batch->arena, double, batch->n) : NULL;
    if (!ret->weights || !ret->values || (with_squares && !ret->squares))
        return error_origin(-ENOMEM);
    return 0;
}

/* The used share of each row; below 0 where the resource is not offered. */
static void used_shares(const ResourceColumn *column, const Batch *batch, double *ret) {
    double asked = (double)resources_get(&batch->pod->requests, column->name);

    for (size_t i = 0; i < batch->n; i++) {
        uint32_t row = batch->rows[i];
        double allocatable = (double)column->allocatable[row];

        ret[i] = allocatable > 0 ? ((double)column->requested[row] + asked) / allocatable : -1;
    }
}

static void add_used(const Part *part, const double *shares, size_t n, Sums *sums) {
    for (size_t i = 0; i < n; i++) {
        bool offered = shares[i] >= 0;

        sums->weights[i] += offered ? part->weight : 0;
        sums->values[i] += offered && shares[i] <= 1 ? part->weight * shares[i] : 0;
    }
}

static void add_free(const Part *part, const double *shares, size_t n, Sums *sums) {
    for (size_t i = 0; i < n; i++) {
        bool offered = shares[i] >= 0;

        sums->weights[i] += offered ? part->weight : 0;
        sums->values[i] += offered && shares[i] <= 1 ? part->weight * (1 - shares[i]) : 0;
    }
}

static void add_deviation(const Part *part, const double *shares, size_t n, Sums *sums) {
    (void)part;
    for (size_t i = 0; i < n; i++) {
        double share = shares[i] < 1 ? shares[i] : 1;

        if (share < 0)
            continue;
        sums->weights[i] += 1;
        sums->values[i] += share;
        sums->squares[i] += share * share;
    }
}

static int add_parts(const Config *config, const Batch *batch, Sums *sums,
    void (*add)(const Part *part, const double *shares, size_t n, Sums *sums)) {
    double *shares = ARENA_ARRAY(batch->arena, double, batch->n);

    if (!shares)
        return error_origin(-ENOMEM);
    for (size_t i = 0; i < config->n; i++) {
        const ResourceColumn *column = table_find_resource(batch->table, config->parts[i].resource);

        if (!column)
            continue;
        used_shares(column, batch, shares);
        add(&config->parts[i], shares, batch->n, sums);
    }
    return 0;
}

static int score_mean(const Config *config, const Batch *batch, double *ret_scores,
    void (*add)(const Part *part, const double *shares, size_t n, Sums *sums)) {
    Sums sums;
    int r = sums_new(batch, /* with_squares= */ false, &sums);

    if (r == 0)
        r = add_parts(config, batch, &sums, add);
    if (r < 0)
        return error_trace(r);
    for (size_t i = 0; i < batch->n; i++)
        ret_scores[i] = sums.weights[i] > 0 ? 100 * sums.values[i] / sums.weights[i] : 0;
    return 0;
}

static int score_used(const void *config, const Batch *batch, double *ret_scores) {
    return error_trace(score_mean(config, batch, ret_scores, add_used));
}

static int score_free(const void *config, const Batch *batch, double *ret_scores) {
    return error_trace(score_mean(config, batch, ret_scores, add_free));
}

static int score_evenness(const void *config, const Batch *batch, double *ret_scores) {
    Sums sums;
    int r = sums_new(batch, /* with_squares= */ true, &sums);

    if (r == 0)
        r = add_parts(config, batch, &sums, add_deviation);
    if (r < 0)
        return error_trace(r);
    for (size_t i = 0; i < batch->n; i++) {
        double n = sums.weights[i];
        double mean = n > 0 ? sums.values[i] / n : 0;
        double variance = n > 0 ? sums.squares[i] / n - mean * mean : 0;

        ret_scores[i] = n > 0 ? 100 * (1 - sqrt(variance > 0 ? variance : 0)) : 0;
    }
    return 0;
}

const ScoreKind score_bin_pack = {
    .field = STR("binPack"),
    .class = RULE_POD_NODE,
    .summary = "the fuller, the better",
    .read = read_bin_pack,
    .score = score_used,
};

const ScoreKind score_spread = {
    .field = STR("spread"),
    .class = RULE_POD_NODE,
    .summary = "the emptier, the better",
    .read = read_spread,
    .score = score_free,
};

const ScoreKind score_balance = {
    .field = STR("balance"),
    .class = RULE_POD_NODE,
    .summary = "the more evenly used, the better",
    .read = read_balance,
    .score = score_evenness,
};
