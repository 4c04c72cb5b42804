#pragma once

/*
 * SavedView: all that a decision depended on but the pod: what a View was made of, kept.
 *
 * A view is large and is gone when the next one comes. Its parts are immutable and shared: a
 * snapshot shares every chunk that nothing happened to with the one before, so a row of saved views
 * costs what changed between them. From a saved view the view can be made again, for the same
 * program or for another one, and gives the same bytes for the same request.
 *
 * Pure. Threads: reference and read from any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/ref.h"
#include "cluster/measurement.h"
#include "cluster/snapshot.h"
#include "extender/view.h"
#include "model/gauge.h"
#include "policy/program.h"

typedef struct SavedView SavedView;

/* One that is made by hand (from a bundle) comes from calloc(), with REF_ONE, references of its
 * own and an arena, which is NULL where there are no gauges of its own: saved_view_unref() gives
 * all back. */
struct SavedView {
    Ref ref;
    uint64_t generation;        /* of the view */
    int64_t made_at_nsec;       /* since 1970: when the view was made: ages are relative to it */
    int64_t uptime_nsec;        /* the same, monotonic */
    Snapshot *snapshot;         /* NULL: there was no cluster */
    Measurements *measurements; /* in the order of gauges; may be NULL */
    Digest policy;              /* the program's */
    Program *program;    /* the one that was in force; NULL: not kept. Set before others see it */
    const Gauge *gauges; /* measurements: the program's own; or, without it, ... */
    size_t n_gauges;
    Arena *arena;            /* ... copies in here, ... */
    SavedView *gauges_owner; /* ... or those of another one, a reference; else both are NULL */
};

/* The parts of @view; its program is kept too, if @keeps_program. NULL when out of memory. */
SavedView *saved_view_new(const View *view, bool keeps_program);
DEFINE_REF(SavedView, saved_view)
SavedView *saved_view_unref(SavedView *saved_view); /* takes NULL, returns NULL */
DEFINE_CLEANUP(SavedView *, saved_view_unref)

/* Gives a saved view that has no gauges yet copies of @gauges, in an arena of its own. 0, or
 * -ENOMEM. */
int saved_view_copy_gauges(SavedView *saved_view, const Gauge *gauges, size_t n) MUST_CHECK;

/* Another one, of the same but without the program; the old one does not change. Its gauges are
 * copied, or shared with @like (NULL: none), one that was made so of the same program. NULL when
 * out of memory. */
SavedView *saved_view_without_program(const SavedView *saved_view, SavedView *like);

/* Whether it is what @view was made of. */
bool saved_view_is_of(const SavedView *saved_view, const View *view);

/* About how many bytes it takes that @other (NULL: none) does not: chunks, names, measurements. A
 * walk over the chunks, and over the rows of those that differ: microseconds for 5,000 nodes. Its
 * program is not counted. A row of saved views is counted from the oldest, each against the next
 * newer one: then that is what is given back when the oldest goes. */
size_t saved_view_bytes(const SavedView *saved_view, const SavedView *other);

/* Circumstances that are no part of a saved_view. Pointers may be NULL, and must outlive the view.
 */
typedef struct RestoreOptions {
    const CelZones *zones;
    const Exemptions *exemptions;
    PlanDeadline clock; /* for making the view, as in ViewParts */
} RestoreOptions;

/* The view again, for @program; its generation is the saved view's. Gauges of @program that ask the
 * same of the same source as one of the saved view (gauge_equal(), but for intervals, ages and
 * placements, which count only afterwards) have its numbers, and gauges of annotations the nodes'
 * own; others are absent, and counted through @ret_unmeasured (may be NULL). @before: a view of the
 * same program, of a saved view nearby, to share with; NULL: none. One of a later saved view is of
 * use only where nothing is measured. @setting may be NULL. 0, or -ENOMEM. */
int saved_view_restore(const SavedView *saved_view, Program *program, const RestoreOptions *setting,
    const View *before, View **ret, size_t *ret_unmeasured) MUST_CHECK;
