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
    FACT_PODS, /* number of pods */
    FACT_METRIC,
    FACT_ROOM, /* for poolHeadroom: pods for which the pool has room */
    FACT_NOW,
    FACT_POD_LABEL,
    FACT_POD_ANNOTATION,
    FACT_POD_REQUEST,
    FACT_POD_PRIORITY,
    _FACT_KIND_MAX,
} FactKind;

typedef struct FactInfo {
    const char *path; /* in expressions */
    uint8_t cost;     /* the smaller, the easier to change */
    bool is_map;      /* the path is a map, the fact an entry that exists */
} FactInfo;
extern const FactInfo fact_infos[_FACT_KIND_MAX];

typedef struct RemedyFact {
    FactKind kind;
    uint32_t object;  /* graph node: the map or record with the fact; PODS: the list */
    Str key;          /* key in a map, field of a record; PODS: label of the domain, or empty */
    uint32_t counted; /* PODS: the counted list, or the filtered part of it */
    bool is_matching; /* PODS: only those of a filter() */
    bool is_fixed;    /* not to be changed: something else that the filter reads depends on it */
} RemedyFact;

/* How a filter reads a fact. */
typedef enum ReadMode {
    READ_VALUE,
    READ_TEST,     /* whether it is present */
    READ_OPTIONAL, /* as an optional: m[?key] */
} ReadMode;

typedef struct RemedyRead {
    uint32_t node; /* graph node */
    uint32_t fact;
    ReadMode mode;
    uint32_t slot;
    const CelCode *code; /* computes its value without changes */
} RemedyRead;

typedef struct KnownCode {
    uint32_t node;
    const CelCode *code;
} KnownCode;

/* An analyzed filter. */
typedef struct RemedyFilter {
    uint32_t root;
    bool is_of_pool; /* poolHeadroom */
    RemedyFact facts[FACTS_MAX];
    size_t n_facts;
    RemedyRead reads[READS_MAX];
    size_t n_reads;
    KnownCode codes[CODES_MAX]; /* code of nodes in which reads are replaced by slots */
    size_t n_codes;
    bool is_too_much; /* over a limit: no remedy */
} RemedyFilter;

struct Remedies {
    Judge *judge;
    const CelGraph *graph;
    Arena *arena;
    uint32_t *cuts;         /* by graph node: the slot that replaces it, or CEL_NO_SLOT */
    uint8_t *marks;         /* by graph node: seen in this walk; else 0 */
    uint32_t *below;        /* graph nodes of the last walk */
    RemedyFilter **filters; /* by number of the filter; NULL: not analyzed yet */
};

typedef struct RemedyChange {
    uint32_t fact; /* UINT32_MAX: a toleration */
    const char *relation;
    CelValue value; /* the new value; absent: removed */
    CelValue bound; /* the value to show to users */
    const Taint *taint;
} RemedyChange;

/* An attempt to make a filter accept a row, with the changes so far. */
typedef struct RemedyAttempt {
    Remedies *remedies;
    RemedyFilter *filter_facts;
    uint32_t row;
    Arena *arena;
    CelValue *values; /* by slot */
    CelValue before[READS_MAX];
    RemedyChange changes[REMEDIES_MAX];
    size_t n_changes;
    uint32_t atom; /* the comparison that must become @want */
    bool want;
    unsigned choices; /* bit i: take the second way at choice i */
    unsigned n_choices;
    int error; /* -ENOMEM */
} RemedyAttempt;

/* Finds the facts that the filter reads; *ret is in remedies->arena. 0 or -ENOMEM. */
int remedy_filter_new(Remedies *remedies, const Filter *filter, RemedyFilter **ret);

/* The read at graph node @node; NULL: it is none. */
const RemedyRead *remedy_filter_read(const RemedyFilter *filter_facts, uint32_t node);

/* Stores @root and each node below it once in remedies->below; returns their number. */
size_t remedies_walk(Remedies *remedies, uint32_t root);

/* The fact's value, before the changes or after; absent: it is not there, or only has() reads
 * it. */
CelValue attempt_fact(const RemedyAttempt *attempt, uint32_t fact, bool is_before);

/* Sets a fact in all its reads. */
void attempt_set(RemedyAttempt *attempt, uint32_t fact, CelValue value);

/* Whether the fact is an amount of a resource; and the resource for the key of the map. */
bool fact_is_amount(FactKind kind);
Str fact_resource(Str key);

/* Runs @code with the changes. When out of memory the value is absent and attempt->error is set. */
CelValue attempt_run(RemedyAttempt *attempt, const CelCode *code);

/* Like attempt_run(), for graph node @node. */
CelValue attempt_value(RemedyAttempt *attempt, uint32_t node);

/* Like attempt_run(), for the body of a loop; @local is the graph node of the loop's variable. */
CelValue attempt_body(RemedyAttempt *attempt, uint32_t body, uint32_t local, CelValue element);

/* Makes attempt->atom become attempt->want by changing a fact. False: nothing was changed. */
bool attempt_solve(RemedyAttempt *attempt);

/* Like attempt_solve(), for < and >. */
bool attempt_solve_order(RemedyAttempt *attempt);

/* Whether graph node @node is @want now. */
bool attempt_holds(RemedyAttempt *attempt, uint32_t node, bool want);

/* Sets the fact to @value if attempt->atom then is attempt->want; else changes nothing. @bound is
 * the value to show. An earlier change of the fact is only extended in its direction: the
 * description must hold for both. */
bool attempt_try(
    RemedyAttempt *attempt, uint32_t fact, const char *relation, CelValue value, CelValue bound);

static inline unsigned attempt_cost(const RemedyAttempt *attempt, uint32_t fact) {
    return fact_infos[attempt->filter_facts->facts[fact].kind].cost;
}

/* A side of a comparison that is only a fact. */
typedef struct RemedySide {
    uint32_t fact;
    bool may_lack; /* x.orValue(c): the fact may be absent */
} RemedySide;

/* Whether graph node @number is such a side, and the fact may be changed. */
bool attempt_side(const RemedyAttempt *attempt, uint32_t number, RemedySide *ret);

/* The facts that are read below @node, one bit each. */
uint32_t attempt_reads(const RemedyAttempt *attempt, uint32_t node);
_Static_assert(FACTS_MAX <= 32, "a bit for each fact");

/* The values of all reads, saved and restored together: their slots follow those of the program. */
typedef struct ReadValues {
    CelValue values[READS_MAX];
} ReadValues;

static inline ReadValues *attempt_read_values(const RemedyAttempt *attempt) {
    return (ReadValues *)(attempt->values + attempt->remedies->judge->input.program->n_slots);
}

static inline const CelGraphNode *attempt_node(const RemedyAttempt *attempt, uint32_t number) {
    return cel_graph_node(attempt->remedies->graph, number);
}

/* Describes a change for users. Texts are in the attempt's arena; empty when out of memory. */
Remedy remedy_describe(const RemedyAttempt *attempt, const RemedyChange *change);
