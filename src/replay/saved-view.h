#pragma once

/*
 * SavedView: the parts of a View: everything that a decision depended on, except the pod.
 *
 * A view is large and is freed when the next one replaces it. Its parts are immutable and shared: a
 * snapshot shares every unchanged chunk with the previous one, so a sequence of saved views costs
 * only the changes between them. The view can be rebuilt from a saved view, for the same program or
 * another one; with the same program it gives the same bytes for the same request.
 *
 * Pure. Threads: reference and read from any.
 */

#include "base/digest.h"
#include "base/ref.h"
#include "cluster/measurement.h"
#include "cluster/snapshot.h"
#include "extender/view.h"
#include "policy/program.h"

typedef struct SavedView SavedView;

/* The bundle reader builds one itself: calloc(), REF_ONE and its own references. */
struct SavedView {
    Ref ref;
    uint64_t generation;        /* of the view */
    int64_t made_at_nsec;       /* since 1970: when the view was built: ages are relative to it */
    int64_t uptime_nsec;        /* the same, monotonic */
    Snapshot *snapshot;         /* NULL: there was no cluster */
    Measurements *measurements; /* in the order of gauges; may be NULL */
    Digest policy;              /* the program's */
    Program *program;           /* the one in force then; NULL: not kept. Set before it is shared */
    Digest *gauges;             /* owned: the gauge of each measurement (gauge_digest()) */
    size_t n_gauges;
};

/* Saves the parts of @view, and its program. NULL when out of memory. */
SavedView *saved_view_new(const View *view);
DEFINE_REF(SavedView, saved_view)
SavedView *saved_view_unref(SavedView *saved_view); /* takes NULL, returns NULL */
DEFINE_CLEANUP(SavedView *, saved_view_unref)

/* Gives a saved view that has no gauges yet a copy of @gauges; NULL: zeros. 0, or -ENOMEM. */
int saved_view_set_gauges(SavedView *saved_view, const Digest *gauges, size_t n) MUST_CHECK;

/* A copy without the program; the old one does not change. NULL when out of memory. */
SavedView *saved_view_without_program(const SavedView *saved_view);

/* Whether it has the parts of @view. */
bool saved_view_is_of(const SavedView *saved_view, const View *view);

/* The approximate bytes that it does not share with @other (NULL: none): chunks, names,
 * measurements; not its program. Walks the chunks, and rows of those that differ: microseconds for
 * 5,000 nodes. Compare each saved view with the next newer one: dropping the oldest then frees that
 * many bytes. */
size_t saved_view_bytes(const SavedView *saved_view, const SavedView *other);

/* Inputs that a saved view does not have. Pointers may be NULL, and must outlive the view. */
typedef struct RestoreOptions {
    const CelZones *zones;
    const Exemptions *exemptions;
    PlanDeadline clock; /* for making the view, as in ViewParts */
} RestoreOptions;

/* Rebuilds the view for @program; its generation is the saved view's. A gauge of @program with the
 * digest of one of the saved view has its values; gauges of annotations read the nodes; others are
 * absent and counted in @ret_unmeasured (may be NULL). @before: a view of the same program from a
 * nearby saved view, to share with; NULL: none. One of a later saved view helps only if nothing is
 * measured. 0, or -ENOMEM. */
int saved_view_restore(const SavedView *saved_view, Program *program, const RestoreOptions *setting,
    const View *before, View **ret, size_t *ret_unmeasured) MUST_CHECK;
