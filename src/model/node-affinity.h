#pragma once

/*
 * NodeTerms: a pod's nodeAffinity.
 *
 * A term matches a node if all its expressions (on labels) and fields (on the name) do; one of
 * several required terms must match. As in kube-scheduler, a term without conditions, or an invalid
 * one (an unknown operator, Gt of a text), matches no node.
 */

#include "model/pod-affinity.h"
#include "model/selector.h"

/* Per pod; further terms are left out (is_too_large). The API server has no such limit. */
#define TERMS_MAX AFFINITY_ITEMS_MAX

/* metadata.name is, or is not, @value. */
typedef struct NameTest {
    Str value;
    bool is_not;
} NameTest;

typedef struct NodeTerm {
    Selector labels;
    const NameTest *names;
    size_t n_names;
    bool holds_nowhere; /* matches no node: without conditions, or invalid */
    int64_t weight;     /* preferred terms: 1 to 100 */
} NodeTerm;

typedef struct NodeTerms {
    NodeTerm *items;
    size_t n;
    bool is_given;     /* if empty, no node matches */
    bool is_too_large; /* some were left out */
} NodeTerms;

/* The value of requiredDuringScheduling...: {nodeSelectorTerms: [...]}; and of preferred...:
 * [{weight, preference}]; into NodeTerms. Errors are set in the reader. */
JsonRead terms_decode_required, terms_decode_preferred;

/* The required terms of @affinity, in @arena. Errors are set in the reader. */
NodeTerms terms_required(JsonReader *reader, Arena *arena, const PodAffinity *affinity);

/* Whether one of the terms matches the node, or no terms are given. */
bool terms_hold(const NodeTerms *terms, Str name, const Labels *labels);

/* The sum of the weights of matching terms. */
int64_t terms_weigh(const NodeTerms *terms, Str name, const Labels *labels);

/* Whether all @terms name nodes, as those of DaemonSets do: kube-scheduler tries only these. */
bool terms_name_nodes(const NodeTerms *terms);
