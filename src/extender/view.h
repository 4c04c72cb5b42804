#pragma once

/*
 * View: everything a decision depends on, frozen.
 *
 * A cluster, a program, what was measured, and what follows from these before any pod is known.
 * The daemon makes a new view when one of them changes; a request takes a reference
 * to the current one and keeps it to its end. The same view and the same request
 * give the same bytes.
 *
 * Threads: reference and read from any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/ref.h"
#include "base/str.h"
#include "cluster/loads.h"
#include "cluster/snapshot.h"
#include "judge/judge.h"
#include "policy/exemption.h"
#include "policy/program.h"

/* NodeFacts and reply texts of 15,000 nodes and 2,000 rules fit in it. */
#define VIEW_BUDGET ((size_t)1024 * 1024 * 1024)

typedef struct View {
    Ref ref;
    Snapshot *snapshot;  /* NULL: berth has no cluster of its own ... */
    bool awaits_cluster; /* ... yet: it is being listed. Set by the maker of the view, at once */
    uint64_t generation; /* grows by one with each new cluster. Set like the above */
    Program *program;
    const CelZones *zones;        /* for expressions that name one; may be NULL, lives longer */
    const Exemptions *exemptions; /* pods that no policy is for; may be NULL, lives longer */
    Measurements *measurements;   /* of the program's gauges; may be NULL */
    Arena *arena;
    NodeTable with_loads; /* the snapshot's table, or an empty one, with the loads beside it */
    const NodeTable *table;
    LoadsInput measured; /* what the loads were made of */
    Loads loads; /* until_nsec: by when a new view is due, since something will be too old */
    NodeFacts facts;

    Str *reasons;    /* by number of the filter: its reason as JSON */
    NameHint *hints; /* by row: what to expect behind a name (cluster/names.h) */
} View;

/* What a view is made of. */
typedef struct ViewParts {
    Snapshot *snapshot; /* NULL: no cluster */
    Program *program;
    const CelZones *zones;        /* may be NULL; must outlive the view */
    const Exemptions *exemptions; /* may be NULL; must outlive the view */
    Measurements *measurements;   /* of the program's gauges, in their order; NULL: none */
    int64_t now_nsec;             /* since 1970, and ... */
    int64_t uptime_nsec;          /* ... monotonic: what is too old now is absent */
    PlanDeadline clock;           /* for making it; zeroed: it has all the time. When time is up,
                                 facts.is_late is           set, and the view can only say that it was late */
} ViewParts;

/* Takes references to what is counted. What @before (NULL: none) has found out about the same
 * program and the same parts of the cluster is shared: a new view costs what changed. 0, or
 * -ENOMEM. */
int view_new(const ViewParts *parts, const View *before, View **ret);
DEFINE_REF(View, view)
View *view_unref(View *view); /* takes NULL, returns NULL */
DEFINE_CLEANUP(View *, view_unref)

/* A table and the facts that go with it. */
typedef struct NodeSet {
    const NodeTable *table;
    const NodeFacts *facts;
} NodeSet;

/* When a request is answered, how long that may take, and where. */
typedef struct RequestTime {
    int64_t now_nsec;               /* since 1970 */
    bool (*is_over)(void *context); /* whether its time is up; NULL: it has all the time */
    void *context;
    Arena *scratch; /* for its judge; NULL: none */
} RequestTime;

/*
 * How @pod is to see the cluster, starting from @node_set (the view's own, or that of a
 * request's nodes), in place:
 *   - without itself, where it runs already (an in-place resize asks so) or was bound by us
 *     a moment ago: it must not be counted against itself;
 *   - with the pods that wait for a node they were promised and are at least as important:
 *     kube-scheduler keeps their room free too;
 *   - without the pods of @gone: what preemption would evict.
 * Mostly there is nothing to do. @time as for view_judge_input(): its deadline holds. 0, or
 * -ENOMEM.
 */
int view_adjust(const View *view, const RequestTime *time, const Pod *pod, const PodChange *gone,
    size_t n_gone, Arena *arena, NodeSet *node_set);

/* Gives @table, a request's own or one that was changed, what was measured of its nodes, as the
 * view knows it. Chunks that @before has, too (NULL: none), share theirs. 0, or -ENOMEM. */
int view_measure(const View *view, const RequestTime *time, const NodeTable *before, Arena *arena,
    NodeTable *table) MUST_CHECK;

/* What facts are made with, at that moment. */
FactsOptions view_facts_options(const View *view, const RequestTime *time, const KnownFacts *known);

/* What is asked of the program about @rows. @time NULL: in 1970, and without hurry. */
JudgeInput view_judge_input(const View *view, const RequestTime *time, const NodeSet *node_set,
    const Pod *pod, const uint32_t *rows, size_t n, Arena *arena);
