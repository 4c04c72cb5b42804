#pragma once

/*
 * View: everything that a decision depends on, immutable.
 *
 * It has a cluster, a program, measurements, and facts computed from these before any pod is known.
 * The daemon makes a new view when one of them changes; a request keeps a reference to the current
 * one until it ends. The same view and request give the same bytes.
 *
 * Threads: any may read it and take references.
 */

#include "base/ref.h"
#include "cluster/loads.h"
#include "cluster/snapshot.h"
#include "extender/kept-pod.h"
#include "judge/judge.h"
#include "policy/exemption.h"
#include "policy/program.h"

/* Enough for the facts and reasons of 15,000 nodes and 2,000 rules. */
#define VIEW_BUDGET ((size_t)1024 * 1024 * 1024)

typedef struct View {
    Ref ref;
    Snapshot *snapshot;  /* NULL: berth has no cluster, or none yet */
    bool awaits_cluster; /* it is still being listed; the caller of view_new() sets this */
    uint64_t generation; /* grows with each new cluster; the caller of view_new() sets this */
    Program *program;
    const CelZones *zones;        /* borrowed; time zones for expressions; may be NULL */
    const Exemptions *exemptions; /* borrowed; pods that no policy applies to; may be NULL */
    Measurements *measurements;   /* of the program's gauges; may be NULL */
    Arena *arena;
    NodeTable with_loads; /* the snapshot's table, or an empty one, plus the loads */
    const NodeTable *table;
    LoadsInput measured; /* the inputs of the loads */
    Loads loads;         /* until_nsec: when a value expires and a new view is due */
    NodeFacts facts;

    Str *reasons;    /* by number of the filter: its reason as `:"text",`, with at least BYTES_BLOCK
                        readable bytes */
    NameHint *hints; /* by row: the next name to expect (cluster/names.h) */
} View;

/* The inputs of a view. */
typedef struct ViewParts {
    Snapshot *snapshot; /* NULL: no cluster */
    Program *program;
    const CelZones *zones;        /* may be NULL; must outlive the view */
    const Exemptions *exemptions; /* may be NULL; must outlive the view */
    Measurements *measurements;   /* of the program's gauges, in their order; NULL: none */
    int64_t now_nsec;             /* since 1970, and ... */
    int64_t uptime_nsec;          /* ... monotonic: values that have expired are absent */
    PlanDeadline clock;  /* for making it; zeroed: none. After it, facts.is_late is set, and every
                            node of the view is late */
    FactsBudget *budget; /* the same, when it is exhausted; NULL: none */
} ViewParts;

/* Takes references to counted parts. Results of @before (NULL: none) for the same program and the
 * same parts of the cluster are shared: a new view costs what changed. 0, or -ENOMEM. */
int view_new(const ViewParts *parts, const View *before, View **ret);
DEFINE_REF(View, view)
View *view_unref(View *view); /* takes NULL, returns NULL */
DEFINE_CLEANUP(View *, view_unref)

/* When a request is answered, how long that may take, and where. */
typedef struct RequestTime {
    int64_t now_nsec;               /* since 1970 */
    bool (*is_over)(void *context); /* whether its deadline has passed; NULL: no deadline */
    void *context;
    Arena *scratch;    /* for its judge; NULL: none */
    KeptPod *kept_pod; /* may be that of the request; NULL: none */
} RequestTime;

/*
 * Adjusts @node_set to the cluster as @pod sees it, starting from the given one (the view's own, or
 * that of a request's nodes), in place:
 *   - without itself, if it already runs (an in-place resize) or was bound by us a moment ago: it
 *     must not be counted against itself;
 *   - with nominated pods of at least the same priority: kube-scheduler reserves their resources
 *     too.
 * Mostly nothing changes. @rows: those that will be judged (NULL: any). If rules read nothing of
 * other nodes, and the rows are few, nominated pods of other rows are left out: with many nominated
 * pods that is most of the work. @time as for view_judge_input(). 0, or -ENOMEM.
 */
int view_adjust(const View *view, const RequestTime *time, const Pod *pod, const uint32_t *rows,
    size_t n, Arena *arena, NodeSet *node_set);

/* Adds the view's measurements to @table, which is of a request or was changed, and computes its
 * facts. Chunks that @known (NULL: none) also has are shared. 0, or -ENOMEM. */
int view_complete(const View *view, const RequestTime *time, const NodeSet *known, Arena *arena,
    NodeTable *table, NodeSet *ret) MUST_CHECK;

/* Replaces @node_set by one with @changes. 0, or -ENOMEM. */
int view_change(const View *view, const RequestTime *time, const PodChange *changes, size_t n,
    Arena *arena, NodeSet *node_set) MUST_CHECK;

/* The input to judge @rows. @time NULL: in 1970, without a deadline. */
JudgeInput view_judge_input(const View *view, const RequestTime *time, const NodeSet *node_set,
    const Pod *pod, const uint32_t *rows, size_t n, Arena *arena);
