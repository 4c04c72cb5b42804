#pragma once

/* Shared by remedy*.c: remedy.c searches, remedy-fact.c finds and sets facts, remedy-solve.c and
 * remedy-order.c change them so that a comparison holds, remedy-text.c describes changes. */

#include "cel/code.h"
#include "judge/judge-internal.h"
#include "judge/remedy.h"
#include "schema/amounts.h"

#define FACTS_MAX 24u
#define READS_MAX 64u
#define CODES_MAX 64u

/* A property of a node or a pod that could be changed. */
typedef enum FactKind {
    FACT_LABEL,
    FACT_ANNOTATION,
    FACT_READY,
    FACT_CORDONED,
    FACT_FREE,
    FACT_REQUESTED,
    FACT_ALLOCATABLE,
    FACT_TAINTS,
    FACT_PODS, /* the number of pods that match */
    FACT_METRIC,
    FACT_ROOM, /* of poolHeadroom: pods that the pool has room for */
    FACT_NOW,
    FACT_POD_LABEL,
    FACT_POD_ANNOTATION,
    FACT_POD_REQUEST,
    FACT_POD_PRIORITY,
    _FACT_KIND_MAX,
} FactKind;

typedef struct FactInfo {
    const char *path; /* in expressions */
    uint8_t cost;     /* how hard it is to change; less is better */
    bool is_map;      /* the fact is an existing entry */
} FactInfo;
extern const FactInfo fact_infos[_FACT_KIND_MAX];

typedef struct RemedyFact {
    FactKind kind;
    uint32_t object;  /* graph node: the map or record it is a part of; of PODS the list */
    Str key;          /* of a map; PODS: the label of the domain, or empty */
    uint32_t counted; /* PODS: the counted list, or the filtered part of it */
    bool is_matching; /* PODS: not all of them */
    bool is_fixed;    /* something else that the filter reads would change with it */
} RemedyFact;

/* How a filter reads a fact. */
typedef enum ReadMode {
    READ_VALUE,
    READ_TEST,     /* whether it is present */
    READ_OPTIONAL, /* an optional */
} ReadMode;

typedef struct RemedyRead {
    uint32_t node; /* of the graph */
    uint32_t fact;
    ReadMode mode;
    uint32_t slot;
    const CelCode *code; /* its value without changes */
} RemedyRead;

typedef struct KnownCode {
    uint32_t node;
    const CelCode *code;
} KnownCode;

/* One filter, analyzed. */
typedef struct RemedyFilter {
    uint32_t root;
    bool is_of_pool; /* poolHeadroom */
    RemedyFact facts[FACTS_MAX];
    size_t n_facts;
    RemedyRead reads[READS_MAX];
    size_t n_reads;
    KnownCode codes[CODES_MAX]; /* with all reads cut */
    size_t n_codes;
    bool is_too_much; /* over a limit: no remedy */
} RemedyFilter;

struct Remedies {
    Judge *judge;
    const CelGraph *graph;
    Arena *arena;
    uint32_t *cuts;         /* by node of the graph; CEL_NO_SLOT but while code is made */
    uint8_t *marks;         /* by node: seen in this walk */
    uint32_t *below;        /* nodes of the last walk */
    RemedyFilter **filters; /* by number of the filter; NULL: not analyzed yet */
};

typedef struct RemedyChange {
    uint32_t fact; /* UINT32_MAX: a toleration */
    const char *relation;
    CelValue value; /* the new value; absent: removed */
    CelValue bound; /* the value in the description */
    const Taint *taint;
} RemedyChange;

/* One row, with the changes so far. */
typedef struct RemedyAttempt {
    Remedies *remedies;
    RemedyFilter *filter_facts;
    uint32_t row;
    Arena *arena;
    CelValue *values; /* by slot */
    CelValue before[READS_MAX];
    RemedyChange changes[REMEDIES_MAX];
    size_t n_changes;
    uint32_t atom;    /* the comparison that is to be ... */
    bool want;        /* ... this */
    unsigned choices; /* bit i: at the i-th choice the other way */
    unsigned n_choices;
    int error; /* -ENOMEM */
} RemedyAttempt;

/* Finds the facts below the filter's root. 0 or -ENOMEM. */
int remedy_filter_new(Remedies *remedies, const Filter *filter, RemedyFilter **ret);

/* The read that node @node is; NULL: none. */
const RemedyRead *remedy_filter_read(const RemedyFilter *filter_facts, uint32_t node);

/* Every node below @root, itself included, once each, into remedies->below; how many. */
size_t remedies_walk(Remedies *remedies, uint32_t root);

/* The value of the fact, after the changes or before; absent: it is not there, or not read. */
CelValue attempt_fact(const RemedyAttempt *attempt, uint32_t fact, bool is_before);

/* Sets it, in all its reads. */
void attempt_set(RemedyAttempt *attempt, uint32_t fact, CelValue value);

/* An amount of a resource; and which, by the key of the map. */
bool fact_is_amount(FactKind kind);
Str fact_resource(Str key);

/* Runs @code under the changes. Absent when out of memory: attempt->error is set. */
CelValue attempt_run(RemedyAttempt *attempt, const CelCode *code);

/* The same for node @node. */
CelValue attempt_value(RemedyAttempt *attempt, uint32_t node);

/* The same for the body of a loop, whose variable is the graph's node @local, with that variable
 * being @element. */
CelValue attempt_body(RemedyAttempt *attempt, uint32_t body, uint32_t local, CelValue element);

/* Changes a fact so that the atom is as wanted. False, with nothing changed: no way was found. */
bool attempt_solve(RemedyAttempt *attempt);

/* The same for < and >. */
bool attempt_solve_order(RemedyAttempt *attempt);

/* Whether node @node is @want now. */
bool attempt_holds(RemedyAttempt *attempt, uint32_t node, bool want);

/* Sets the fact to @value if the atom then is as wanted; else changes nothing. @bound is the value
 * in the description. An earlier change is extended only in the same direction: the final text must
 * hold for both. */
bool attempt_try(
    RemedyAttempt *attempt, uint32_t fact, const char *relation, CelValue value, CelValue bound);

/* How hard it is to change; less is better. */
static inline unsigned attempt_cost(const RemedyAttempt *attempt, uint32_t fact) {
    return fact_infos[attempt->filter_facts->facts[fact].kind].cost;
}

/* A side of a comparison that is just a fact. */
typedef struct RemedySide {
    uint32_t fact;
    bool may_lack; /* it may be absent: a constant counts */
} RemedySide;

/* Whether node @number is one, and the fact may be changed. */
bool attempt_side(const RemedyAttempt *attempt, uint32_t number, RemedySide *ret);

/* The facts that are read below @node, a bit each. */
uint32_t attempt_reads(const RemedyAttempt *attempt, uint32_t node);
_Static_assert(FACTS_MAX <= 32, "a bit for each fact");

/* The values of all reads, to be kept and restored as a whole: their slots follow those of the
 * program. */
typedef struct ReadValues {
    CelValue values[READS_MAX];
} ReadValues;

static inline ReadValues *attempt_read_values(const RemedyAttempt *attempt) {
    return (ReadValues *)(attempt->values + attempt->remedies->judge->input.program->n_slots);
}

static inline const CelGraphNode *attempt_node(const RemedyAttempt *attempt, uint32_t number) {
    return cel_graph_node(attempt->remedies->graph, number);
}

/* Texts are in the attempt's arena; empty when out of memory. */
Remedy remedy_describe(const RemedyAttempt *attempt, const RemedyChange *change);
