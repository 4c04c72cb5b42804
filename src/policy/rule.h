#pragma once

/*
 * Rules: the built-in ways to judge and to score a node.
 *
 * A kind is a row in a table: the field that names it in a policy file, how its
 * configuration is read, how it is applied to a batch of nodes, and how it
 * explains itself for one. A rule is a kind with its configuration.
 *
 * A kind of class RULE_NODE looks at nodes only; its results are worked out when
 * nodes or policies change, and per request only for nodes that the request itself
 * carries. RULE_POD_NODE looks at the pod too.
 *
 * Kinds are pure functions: no clock, no global, no allocation outside the
 * batch's arena.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"
#include "cluster/table.h"
#include "model/pod.h"
#include "policy/reader.h"
#include "yaml/document.h"

typedef enum RuleClass {
    RULE_NODE,
    RULE_POD_NODE,
} RuleClass;

/* What a rule is applied to: some rows of a table, in any order. */
typedef struct Batch {
    const NodeTable *table;
    const uint32_t *rows; /* each at most table->n_rows, the unknown node */
    size_t n;
    const Pod *pod; /* the pod to be placed; NULL for RULE_NODE */
    Arena *arena;   /* for scratch memory */
} Batch;

/* What rules read of a node, collected over several of them. */
typedef struct NodeNeeds {
    Arena *arena;
    VEC(Str) labels; /* keys; one may stand twice */
    bool taints, conditions, allocatable;
    bool has_failed; /* out of memory */
} NodeNeeds;

void needs_label(NodeNeeds *needs, Str key);

typedef struct FilterKind {
    Str field;
    RuleClass class;
    const char *summary; /* for people: what it asks of a node */

    /* Adds what it reads of a node. NULL: nothing but what every table has. */
    void (*needs)(const void *config, NodeNeeds *needs);

    /* Reads @value; problems go to the reader. NULL after any. */
    const void *(*read)(PolicyReader *reader, const YamlNode *value);

    /* For a rule of class RULE_NODE that may be for some pods only: whether, so
     * configured, it is; and whether it is for @pod. NULL: it is for all. */
    bool (*is_selective)(const void *config);
    bool (*applies)(const void *config, const Pod *pod);

    /* ret_pass[i] = whether row i of the batch passes. 0, or -ENOMEM. */
    int (*judge)(const void *config, const Batch *batch, uint8_t *ret_pass);

    /* For a node that failed: which value against which limit. @batch has one row. */
    void (*explain)(const void *config, const Batch *batch, Buf *out);
} FilterKind;

typedef struct ScoreKind {
    Str field;
    RuleClass class;
    const char *summary;
    void (*needs)(const void *config, NodeNeeds *needs);

    const void *(*read)(PolicyReader *reader, const YamlNode *value);

    /* ret_scores[i] = 0..100 for row i of the batch. 0, or -ENOMEM. */
    int (*score)(const void *config, const Batch *batch, double *ret_scores);
} ScoreKind;

/* All kinds, in the order they are documented. */
extern const FilterKind *const filter_kinds[];
extern const size_t n_filter_kinds;
extern const ScoreKind *const score_kinds[];
extern const size_t n_score_kinds;

extern const FilterKind filter_node_labels;
extern const FilterKind filter_node_ready;
extern const FilterKind filter_tolerations;
extern const FilterKind filter_headroom;
extern const FilterKind filter_max_pods;
extern const ScoreKind score_bin_pack;
extern const ScoreKind score_spread;
extern const ScoreKind score_balance;
extern const ScoreKind score_node_label_preference;
