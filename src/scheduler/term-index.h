#pragma once

/*
 * TermIndex: the pod affinity terms of all pods of a simulation.
 *
 * A term selects pods (by namespace and labels) and has a topology key, whose values on nodes are
 * its domains. Equal terms share a number. Pods that no term tells apart share a PodKind. So berth
 * matches terms with kinds once, after all pods are read; a run only counts
 * (scheduler/inter-pod.h).
 */

#include "base/intern.h"
#include "cluster/related-objects.h"
#include "cluster/table.h"
#include "model/pod.h"
#include "model/related.h"
#include "model/selector.h"

#define TERM_INDEX_TERMS_MAX 4096u          /* different ones; others are not modelled */
#define TERM_INDEX_MATCHES_MAX 200000000ull /* terms × kinds of pods */
#define TERM_INDEX_BUDGET ((size_t)1024 * 1024 * 1024)
#define TERM_INDEX_OWNERS_MAX 65536u /* terms of default spread, by owner */
#define NO_DOMAIN UINT32_MAX
#define NO_TERM UINT32_MAX

/*
 * The pods that one pod affinity term selects, by namespace and labels, with the rules of
 * kube-scheduler: without labelSelector it selects none; without namespaces and namespaceSelector,
 * those of its own pod's namespace. The API server turns matchLabelKeys and mismatchLabelKeys into
 * conditions on labels; here term_selector_make() does.
 */
typedef struct TermSelector {
    bool selects_none; /* no labelSelector, or an invalid one */
    Selector labels;
    const Str *namespaces;
    size_t n_namespaces;
    bool by_namespace_labels; /* namespaceSelector is given; empty: all namespaces */
    Selector namespace_labels;
    Str owner_kind, owner_name; /* the pod's controller; empty: any */
} TermSelector;

typedef enum TermSelects {
    TERM_SELECTS_NOT,
    TERM_SELECTS,
    TERM_SELECTS_UNSURE, /* it depends on labels of the namespace, which is not known */
} TermSelects;

typedef struct Term {
    uint32_t key;                  /* number of the topology key */
    const TermSelector *selectors; /* all must select the pod */
    size_t n_selectors;
    bool is_sought; /* a required podAffinity, or DoNotSchedule */
    bool is_spread; /* of a spread constraint: pods that are being deleted do not count */
} Term;

typedef enum TermRole {
    TERM_AFFINITY,      /* required podAffinity of the pod: all its terms must select one pod */
    TERM_ANTI_AFFINITY, /* required podAntiAffinity; it also keeps other pods off */
    TERM_PREFERRED,     /* with a weight, below 0 for podAntiAffinity; also for other pods */
    TERM_ATTRACTS,      /* required podAffinity, as it scores nodes for other pods: weight 1 */
} TermRole;

typedef struct TermUse {
    uint32_t term;
    int32_t weight;
    TermRole role;
} TermUse;

/* A topology spread constraint of a pod. */
typedef struct SpreadUse {
    uint32_t term; /* pods that count; NO_TERM: none does */
    uint32_t key;  /* number of the topology key */
    int64_t max_skew, min_domains;
    bool is_required; /* DoNotSchedule */
    bool is_default;  /* from kube-scheduler's defaults */
    bool is_by_node;  /* kubernetes.io/hostname */
    bool counts_rows; /* pods are counted by node, as some nodes of a domain do not count */
    bool selects_itself;
    uint8_t inclusion; /* nodes that count must have these (scheduler/forecast.h) */
} SpreadUse;

/* The terms of one pod. */
typedef struct PodTerms {
    const TermUse *uses;
    const SpreadUse *spread; /* of pods to be placed */
    uint32_t n_uses, n_spread;
    uint32_t kind; /* set by term_index_classify() */
} PodTerms;

/* Pods that no term tells apart. */
typedef struct PodKind {
    const uint32_t *terms; /* that select them */
    size_t n_terms;
    bool is_unsure; /* a term selects by labels of Namespaces, which are not known */
} PodKind;

/* Why a plugin of kube-scheduler rejects a node (scheduler/forecast.h has the texts). */
typedef enum Rejection {
    REJECTION_NONE,
    REJECTION_CORDONED,
    REJECTION_TAINT,
    REJECTION_AFFINITY,
    REJECTION_PORTS,
    REJECTION_PODS,
    REJECTION_VOLUME,
    REJECTION_VOLUME_ZONE,
    REJECTION_SPREAD_LABEL,
    REJECTION_SPREAD,
    REJECTION_POD_AFFINITY,
    REJECTION_POD_ANTI_AFFINITY,
    REJECTION_EXISTING_ANTI_AFFINITY,
    REJECTION_MAX,
} Rejection;

/* Values of one topology key. */
typedef struct TermDomains {
    const uint32_t *by_row; /* NO_DOMAIN: the node has no such label */
    size_t n;
} TermDomains;

/* Terms that select pods of one owner. */
typedef VEC(uint32_t) OwnerTerms;

#define ROWS STR("\x1f") /* as a topology key: each node is a domain */

typedef struct TermIndex {
    Arena *arena, *scratch; /* scratch: for one term */
    Intern term_texts;      /* equal for equal terms; in the order of terms */
    VEC(Term) terms;
    VEC(uint32_t) tried; /* terms without an owner: tried for each kind */
    Intern owner_texts;  /* in the order of owners */
    VEC(OwnerTerms) owners;
    bool has_spread;
    Intern keys;
    TermDomains *domains; /* by key, after term_index_settle() */
    Intern read_labels;   /* label keys that terms read */
    Intern kind_texts;    /* of all kinds but the first */
    VEC(PodKind) kinds;   /* the first one: of pods that no term selects */
    RelatedObjects namespaces;
    Buf text;
    bool has_lost;   /* there were too many terms, or kinds of pods: some do not count */
    bool has_failed; /* out of memory other than the arena's: term_index_error() */
} TermIndex;

TermIndex *term_index_new(void);              /* NULL: out of memory */
TermIndex *term_index_free(TermIndex *index); /* takes NULL, returns NULL */
DEFINE_CLEANUP(TermIndex *, term_index_free)

/* If the next four lack memory, term_index_error() reports it. */

/* Adds the terms of @pod, which has details, and copies them. With too many terms in all, @ret has
 * none. */
void term_index_add(TermIndex *index, const Pod *pod, PodTerms *ret);

/* Adds the spread constraints of @pod to @terms: its own, or kube-scheduler's default ones, for
 * pods of a ReplicaSet, StatefulSet or ReplicationController, or with @services: labels by which
 * Services select it. Pods of a ReplicaSet are taken to be those that have it as their controller.
 * If there are too many, @terms has none. */
void term_index_add_spread(
    TermIndex *index, const Pod *pod, const Labels *services, PodTerms *terms);

/* After all pods were added, finds the domains in @table. @related is borrowed. */
void term_index_settle(TermIndex *index, const NodeTable *table, const RelatedObjects *related);
/* Then sets the kind of each pod. With too many kinds, the pod counts as if no term selected it. */
void term_index_classify(TermIndex *index, const Pod *pod, PodTerms *terms);

/* 0, or -ENOMEM: then it cannot be used. */
int term_index_error(const TermIndex *index) MUST_CHECK;

static inline const TermDomains *term_index_domains(const TermIndex *index, uint32_t term) {
    return &index->domains[index->terms.items[term].key];
}

static inline const PodKind *term_index_kind(const TermIndex *index, const PodTerms *terms) {
    return &index->kinds.items[terms->kind];
}

/* Whether terms of the pod, or terms that may select it, read labels of namespaces, and these are
 * not known. */
bool term_index_is_unsure(const TermIndex *index, const PodTerms *terms);
/* Whether a pod with required podAffinity or DoNotSchedule may be waiting for this one. */
bool term_index_is_sought(const TermIndex *index, const PodTerms *terms);
bool pod_kind_has_term(const PodKind *kind, uint32_t term);

/* A term to add: all @n affinity terms from @first on must select a pod. */
typedef struct TermSource {
    const Pod *pod;
    const PodAffinityTerm *first;
    size_t n;
    Str key;
    bool is_spread;
    bool by_owner; /* only pods with the same controller */
} TermSource;

/* The rest is for term-spread.c. Adds a term if it is new. NO_TERM: too many, or no memory. */
uint32_t term_index_number(TermIndex *index, const TermSource *source);

/* Adds the topology key if it is new. */
uint32_t term_index_number_key(TermIndex *index, Str key);

/* Makes the selector of @term of @pod, copied to @arena, which remembers a failure. */
void term_selector_make(
    const Pod *pod, const PodAffinityTerm *term, Arena *arena, TermSelector *ret);

/* @namespace: of @pod; NULL: not known. */
TermSelects term_selector_selects(
    const TermSelector *selector, const Pod *pod, const Namespace *namespace);
