#pragma once

/*
 * Terms: a pod's nodeAffinity.
 *
 * A term holds where all its expressions (on labels) and all its fields (on the name) hold; of
 * several required terms one is enough. As in kube-scheduler a term without conditions, and one
 * with an invalid condition (an unknown operator, Gt of a text), holds nowhere.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "model/labels.h"
#include "model/selector.h"
#include "json/read.h"

/* Of one pod; more is an error, though the API server has no such limits. */
#define TERMS_MAX 256u
#define TERM_CONDITIONS_MAX 256u
#define TERM_VALUES_MAX 4096u

/* metadata.name is, or is not, @value. */
typedef struct NameTest {
    Str value;
    bool is_not;
} NameTest;

typedef struct NodeTerm {
    Selector labels;
    const NameTest *names;
    size_t n_names;
    bool holds_nowhere;
    int64_t weight; /* of preferred ones: 1 to 100 */
} NodeTerm;

typedef struct NodeTerms {
    NodeTerm *items;
    size_t n;
    bool is_given; /* it may be empty: then no node matches */
} NodeTerms;

/* The value of requiredDuringScheduling...: {nodeSelectorTerms: [...]}; and of preferred...:
 * [{weight, preference}]. Errors are the reader's. */
void terms_decode_required(JsonReader *reader, Arena *arena, NodeTerms *ret);
void terms_decode_preferred(JsonReader *reader, Arena *arena, NodeTerms *ret);

/* Whether one of them holds. */
bool terms_hold(const NodeTerms *terms, Str name, const Labels *labels);

/* The sum of the weights of those that hold. */
int64_t terms_weigh(const NodeTerms *terms, Str name, const Labels *labels);

/* Whether all of @terms name nodes, as for DaemonSets: then kube-scheduler tries no others. */
bool terms_name_nodes(const NodeTerms *terms);
