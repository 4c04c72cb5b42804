#pragma once

/*
 * Policy: one document of a policy file, read and checked.
 *
 * Filters decide which nodes may take a pod, scores which of them are preferred. Every rule is an
 * expression, written by a user or by a built-in rule (kind.h).
 */

#include "model/labels.h"
#include "policy/kind.h"
#include "policy/publish.h"
#include "policy/scope.h"

#define POLICY_GROUP "berth.dev"
#define POLICY_VERSION "v1alpha1"
#define POLICY_API_VERSION POLICY_GROUP "/" POLICY_VERSION
#define POLICY_KIND "PlacementPolicy"
#define POLICY_PLURAL "placementpolicies"
#define POLICY_DEFINITION POLICY_PLURAL "." POLICY_GROUP /* the CustomResourceDefinition */

/* The verdict if a rule fails on a node, or if the node was not evaluated before the deadline. */
typedef enum Fallback {
    FALLBACK_REJECT,
    FALLBACK_ALLOW,
} Fallback;

/* If the expression of an annotation fails: leave it out, or fail the bind. */
typedef enum BindOnError {
    BIND_SKIP,
    BIND_FAIL,
} BindOnError;

typedef struct Filter {
    const Policy *policy;
    Str name;
    Str reason; /* fixed text, sent to kube-scheduler */
    bool is_unresolvable;
    Fallback on_error;
    Fallback on_missing;  /* if a metric that it reads is absent */
    const RuleKind *kind; /* NULL: an expression */
    Expression test;      /* bool: whether the node passes */
    Expression missing;   /* bool: a metric that it reads is absent; empty: reads none */
    Expression message;   /* string, for explain; may be empty */
    SlotRule *limit;      /* maxPods with one number for each node; else NULL */
    SlotRule *slots;      /* the same, with publish: slots; else NULL */
    bool is_label;        /* publish: label */
    uint16_t number;
    uint32_t root;         /* in the program's plan */
    uint32_t missing_root; /* UINT32_MAX: none */
    bool is_known;         /* it reads only the node: NodeFacts has its results */
    bool is_permanent;     /* rejected nodes never take the pod: it is unresolvable, or only reads
                              properties that nodes keep (schema_is_permanent()) */
    bool counts_pods;      /* it reads pods on nodes: see exactness.h */
    uint32_t part; /* root of a part of the test that reads only the node, if the test also reads
                      other things (`pod condition || node condition`); UINT32_MAX: none */
} Filter;

typedef enum Normalize {
    NORMALIZE_NONE,
    NORMALIZE_MIN_MAX, /* the lowest candidate gets 0, the highest 100 */
    NORMALIZE_RANK,    /* by the share of candidates with a lower value */
} Normalize;

typedef struct Score {
    const Policy *policy;
    Str name;
    double weight;     /* over 0 */
    double on_error;   /* 0..100 */
    double on_missing; /* 0..100, if a metric that it reads is absent */
    Normalize normalize;
    const RuleKind *kind;
    Expression value;   /* double or int */
    Expression missing; /* as in Filter */
    uint16_t number;
    uint32_t root, missing_root;
} Score;

/* An annotation of the pod, set together with its node. */
typedef struct BindAnnotation {
    Str key;
    Str value;             /* if it is a constant */
    Expression expression; /* string; empty: a constant */
    BindOnError on_error;
} BindAnnotation;

typedef struct Match {
    StrList namespaces; /* empty: all */
    Selector pod_selector, namespace_selector;
    Expression namespace_test; /* bool, from namespace_selector; may be empty */
    Expression expression;     /* bool; may be empty */
    uint32_t namespace_root, root;
} Match;

struct Policy {
    Str name;
    Place place;
    Str source;               /* the text of its file */
    const YamlNode *document; /* in the file */
    bool is_observed;         /* mode Observe */
    Match match;
    Scope *scope;
    Filter *filters; /* in the order of the document */
    size_t n_filters;
    Score *scores;
    size_t n_scores;
    BindAnnotation *bind_annotations; /* set on a pod when berth binds it */
    size_t n_bind_annotations;
    bool has_known;      /* some filters read only the node */
    uint32_t narrow_to;  /* maximum number of nodes to return; 0: all */
    Fallback on_timeout; /* for nodes not evaluated before the deadline */
    uint32_t wire_max;   /* the highest score sent */
    Str closed_label;    /* label of nodes that its published filters reject; empty: none */
};

#define WIRE_MAX_DEFAULT 10u
#define WIRE_MAX_LIMIT 100u
#define BIND_ANNOTATIONS_MAX 32u          /* per policy */
#define BIND_VALUE_MAX ((size_t)4 * 1024) /* bytes of an expression's value; longer is an error */

/* Reads one document of a policy file, and reports errors, except lack of memory: check
 * arena_has_failed() before using @ret. It borrows from the reader's arena and @document. @common:
 * see scope.h. */
void policy_read(YamlReader *reader, const Schema *schema, ScopeCommon *common,
    const YamlNode *document, Policy *ret);

/* The shapes of a document and of its spec, for schemas. */
extern const Shape policy_shape, policy_spec_shape;

/* Whether the policy's namespaces and podSelector select @pod. */
bool policy_selects(const Policy *policy, const Pod *pod);
