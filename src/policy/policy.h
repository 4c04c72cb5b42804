#pragma once

/*
 * Policy: one document of a policy file, read and checked.
 *
 * Filters decide which nodes a pod may be placed on, scores which of them are preferred. Every rule
 * is an expression, written as such or by a built-in rule (kind.h).
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

/* The verdict for a node on which a rule fails, or that was not evaluated before the deadline. */
typedef enum Fallback {
    FALLBACK_REJECT,
    FALLBACK_ALLOW,
} Fallback;

/* Whether an annotation whose expression fails is left out, or the bind fails. */
typedef enum BindOnError {
    BIND_SKIP,
    BIND_FAIL,
} BindOnError;

typedef struct Filter {
    const Policy *policy;
    Str name;
    Str reason; /* sent to kube-scheduler; fixed text */
    bool is_unresolvable;
    Fallback on_error;
    Fallback on_missing;  /* where a metric that it reads is absent */
    const RuleKind *kind; /* NULL: an expression */
    Expression test;      /* bool: whether the node passes */
    Expression missing;   /* bool: whether one of its metrics is absent; empty: it reads none */
    Expression message;   /* string, for explain; may be empty */
    SlotRule *limit;      /* maxPods with one number for each node; NULL: not */
    SlotRule *slots;      /* publish: slots, the same; NULL: not */
    bool is_label;        /* publish: label */
    uint16_t number;
    uint32_t root;         /* of the program's plan */
    uint32_t missing_root; /* UINT32_MAX: none */
    bool is_known;         /* it reads the node alone: see NodeFacts */
    bool is_permanent;     /* nodes that it rejects never take the pod: it is unresolvable, or reads
                              only properties that a node keeps (schema_is_permanent()) */
    bool counts_pods;      /* it reads the pods that are on nodes: see exactness.h */
    uint32_t part; /* root of a part of the test that reads the node alone, when the test as a whole
                      does not (`pod condition || node condition`); UINT32_MAX: none */
} Filter;

typedef enum Normalize {
    NORMALIZE_NONE,
    NORMALIZE_MIN_MAX, /* the least of the candidates 0, the most 100 */
    NORMALIZE_RANK,    /* by the share of candidates that have less */
} Normalize;

typedef struct Score {
    const Policy *policy;
    Str name;
    double weight;     /* over 0 */
    double on_error;   /* 0..100 */
    double on_missing; /* the same, where a metric that it reads is absent */
    Normalize normalize;
    const RuleKind *kind;
    Expression value;   /* double or int */
    Expression missing; /* as of a filter */
    uint16_t number;
    uint32_t root, missing_root;
} Score;

/* An annotation of the pod, set together with its node. */
typedef struct BindAnnotation {
    Str key;
    Str value;             /* of a constant */
    Expression expression; /* string; empty: a constant */
    BindOnError on_error;
} BindAnnotation;

typedef struct Match {
    StrList namespaces; /* empty: all */
    Selector pod_selector, namespace_selector;
    Expression namespace_test; /* bool, written from the latter; may be empty */
    Expression expression;     /* bool, of the pod; may be empty */
    uint32_t namespace_root, root;
} Match;

struct Policy {
    Str name;
    Place place;
    Str source;               /* the text of its file */
    const YamlNode *document; /* in it */
    bool is_observed;         /* mode Observe: evaluated and counted, without effect */
    Match match;
    Scope *scope;
    Filter *filters; /* as written */
    size_t n_filters;
    Score *scores;
    size_t n_scores;
    BindAnnotation *bind_annotations; /* set on a pod when berth binds it */
    size_t n_bind_annotations;
    bool has_known;      /* some filters read the node alone */
    uint32_t narrow_to;  /* number of nodes to return at most; 0: all */
    Fallback on_timeout; /* of nodes that were not evaluated before the deadline */
    uint32_t wire_max;   /* the highest score on the wire */
    Str closed_label;    /* of nodes that its published filters reject; empty: none is published */
};

#define WIRE_MAX_DEFAULT 10u
#define WIRE_MAX_LIMIT 100u
#define BIND_ANNOTATIONS_MAX 32u          /* of one policy */
#define BIND_VALUE_MAX ((size_t)4 * 1024) /* bytes of an expression's value; more is an error */

/* Reads one document of a policy file. Problems are reported, except lack of memory: check
 * arena_has_failed() before using @ret. It points into the reader's arena and @document. @common:
 * scope.h. */
void policy_read(YamlReader *reader, const Schema *schema, ScopeCommon *common,
    const YamlNode *document, Policy *ret);

/* The shapes of a document and of its spec, for schemas. */
extern const Shape policy_shape, policy_spec_shape;

/* Whether it applies to @pod, by its namespaces and podSelector. */
bool policy_selects(const Policy *policy, const Pod *pod);
