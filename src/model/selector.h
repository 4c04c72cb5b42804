#pragma once

/*
 * Selector: conditions on labels, as in Kubernetes, plus Gt and Lt, which Kubernetes
 * has for nodes only. All requirements must hold; a selector without any matches all.
 */

#include "model/labels.h"

typedef enum SelectorOp {
    SELECTOR_IN,
    SELECTOR_NOT_IN, /* also true when the key is absent, as in Kubernetes */
    SELECTOR_EXISTS,
    SELECTOR_ABSENT,
    SELECTOR_GT, /* the label is a whole number greater than bound */
    SELECTOR_LT,
} SelectorOp;

#define SELECTOR_OPS ((size_t)SELECTOR_LT + 1)

/* Kubernetes' words for them: "In", "DoesNotExist". */
extern const Str selector_op_words[SELECTOR_OPS];

typedef struct Requirement {
    Str key;
    SelectorOp op;
    const Str *values; /* In, NotIn: at least one */
    size_t n_values;
    int64_t bound; /* Gt, Lt */
} Requirement;

typedef struct Selector {
    const Requirement *items;
    size_t n;
} Selector;

bool selector_matches(const Selector *selector, const Labels *labels);

/* Whether a label with @value (NULL: the label is absent) meets @requirement. */
bool requirement_matches(const Requirement *requirement, const Str *value);
