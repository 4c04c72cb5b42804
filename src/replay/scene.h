#pragma once

/*
 * Scene: all that a decision depended on but the pod: what a View was made of, kept.
 *
 * A view is large and is gone when the next one comes. Its parts are immutable and shared: a
 * snapshot shares every chunk that nothing happened to with the one before, so a row of scenes
 * costs what changed between them. From a scene the view can be made again, for the same program or
 * for another one, and gives the same bytes for the same request.
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

typedef struct Scene Scene;

/* Whoever makes one by hand (from a bundle) takes it from calloc(), with REF_ONE, references of its
 * own and an arena, which is NULL where there are no gauges of its own: scene_unref() gives all
 * back. */
struct Scene {
    Ref ref;
    uint64_t generation;        /* of the view */
    int64_t made_at_nsec;       /* since 1970: when the view was made, and so its ages were told */
    int64_t uptime_nsec;        /* the same, monotonic */
    Snapshot *snapshot;         /* NULL: there was no cluster */
    Measurements *measurements; /* in the order of gauges; may be NULL */
    Digest policy;              /* the program's */
    Program *program;    /* the one that was in force; NULL: not kept. Set before others see it */
    const Gauge *gauges; /* what was measured: the program's own; or, without it, ... */
    size_t n_gauges;
    Arena *arena;        /* ... copies in here, ... */
    Scene *gauges_owner; /* ... or those of another one, a reference; else both are NULL */
};

/* What @view was made of; its program is kept, too, if @keeps_program. NULL when out of memory. */
Scene *scene_new(const View *view, bool keeps_program);
Scene *scene_ref(Scene *scene);
Scene *scene_unref(Scene *scene); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Scene *, scene_unref)

/* Gives a scene that has no gauges yet copies of @gauges, in an arena of its own. 0, or -ENOMEM. */
int scene_copy_gauges(Scene *scene, const Gauge *gauges, size_t n) MUST_CHECK;

/* Another one, of the same but without the program: who has the old one keeps it. Its gauges are
 * copied, or shared with @like (NULL: none), one that was made so of the same program. NULL when
 * out of memory. */
Scene *scene_without_program(const Scene *scene, Scene *like);

/* Whether it is what @view was made of. */
bool scene_is_of(const Scene *scene, const View *view);

/* About how many bytes it takes that @other (NULL: none) does not: chunks, names, measurements. A
 * walk over the chunks, and over the rows of those that differ: microseconds for 5,000 nodes. Its
 * program is not counted. A row of scenes is counted from the oldest, each against the next newer
 * one: then that is what is given back when the oldest goes. */
size_t scene_bytes(const Scene *scene, const Scene *other);

/* Circumstances that are no part of a scene. Pointers may be NULL, and must outlive the view. */
typedef struct SceneSetting {
    const CelZones *zones;
    const Exemptions *exemptions;
    PlanDeadline clock; /* for making the view, as in ViewParts */
} SceneSetting;

/* The view again, for @program; its generation is the scene's. Gauges of @program that ask the same
 * of the same source as one of the scene (gauge_equal(), but for intervals, ages and placements,
 * which count only afterwards) have its numbers, and gauges of annotations the nodes' own; others
 * are absent, and counted through @ret_unmeasured (may be NULL). @before: a view of the same
 * program, of a scene nearby, to share with; NULL: none. One of a later scene is of use only where
 * nothing is measured. @setting may be NULL. 0, or -ENOMEM. */
int scene_view(const Scene *scene, Program *program, const SceneSetting *setting,
    const View *before, View **ret, size_t *ret_unmeasured) MUST_CHECK;
