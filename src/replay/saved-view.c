/* Saves the parts of a view, estimates their memory, and restores the view. */

#include "replay/saved-view.h"

#include <errno.h>
#include <stdlib.h>

int saved_view_set_gauges(SavedView *saved_view, const Digest *gauges, size_t n) {
    saved_view->gauges = calloc(n + 1, sizeof(*gauges));
    if (!saved_view->gauges)
        return -ENOMEM;
    if (gauges && n > 0)
        memcpy(saved_view->gauges, gauges, n * sizeof(*gauges));
    saved_view->n_gauges = n;
    return 0;
}

SavedView *saved_view_without_program(const SavedView *saved_view) {
    _cleanup_(saved_view_unrefp) SavedView *bare = calloc(1, sizeof(*bare));

    if (!bare)
        return NULL;
    *bare = (SavedView){
        .ref = REF_ONE,
        .generation = saved_view->generation,
        .made_at_nsec = saved_view->made_at_nsec,
        .uptime_nsec = saved_view->uptime_nsec,
        .snapshot = saved_view->snapshot ? snapshot_ref(saved_view->snapshot) : NULL,
        .measurements =
            saved_view->measurements ? measurements_ref(saved_view->measurements) : NULL,
        .policy = saved_view->policy,
    };
    return saved_view_set_gauges(bare, saved_view->gauges, saved_view->n_gauges) < 0
               ? NULL
               : TAKE_PTR(bare);
}

SavedView *saved_view_new(const View *view) {
    const SavedView parts = {
        .generation = view->generation,
        .made_at_nsec = view->measured.now_nsec,
        .uptime_nsec = view->measured.uptime_nsec,
        .snapshot = view->snapshot,
        .measurements = view->measurements,
        .policy = view->program->digest,
        .n_gauges = view->program->n_gauges,
    };
    SavedView *saved_view = saved_view_without_program(&parts);

    if (!saved_view)
        return NULL;
    saved_view->program = program_ref(view->program);
    for (size_t i = 0; i < saved_view->n_gauges; i++)
        saved_view->gauges[i] = gauge_digest(&view->program->gauges[i]);
    return saved_view;
}

SavedView *saved_view_unref(SavedView *saved_view) {
    if (saved_view && ref_drop(&saved_view->ref)) {
        snapshot_unref(saved_view->snapshot);
        measurements_unref(saved_view->measurements);
        program_unref(saved_view->program);
        free(saved_view->gauges);
        free(saved_view);
    }
    return NULL;
}

/* The saved view holds a reference, so no other object has this address. */
bool saved_view_is_of(const SavedView *saved_view, const View *view) {
    const Program *program = view->program;

    return saved_view->snapshot == view->snapshot &&
           saved_view->measurements == view->measurements &&
           saved_view->generation == view->generation &&
           saved_view->made_at_nsec == view->measured.now_nsec &&
           saved_view->uptime_nsec == view->measured.uptime_nsec &&
           (saved_view->program ? saved_view->program == program
                                : digest_equal(saved_view->policy, program->digest));
}

/* The approximate size of a record without its shared parts. */
#define NODE_COST 1024u
#define POD_COST 384u

/* The approximate size of a name with its entries in the index and in a request
 * (cluster/names.h). */
#define NAME_COST 160u

static size_t pods_bytes(const PodList *list, const PodList *other) {
    size_t n_other = other ? other->n : 0;

    if (!list || list == other)
        return 0;
    return sizeof(*list) + list->n * (sizeof(list->items[0]) + sizeof(list->owners[0])) +
           (list->n > n_other ? list->n - n_other : 1) * POD_COST;
}

static size_t chunk_bytes(const NodeChunk *chunk, const NodeChunk *other) {
    size_t bytes = sizeof(*chunk) + CHUNK_AMOUNT(chunk->n_resources, 0) * sizeof(chunk->amounts[0]);

    for (size_t i = 0; i < CHUNK_ROWS; i++) {
        if (chunk->nodes[i] && (!other || chunk->nodes[i] != other->nodes[i]))
            bytes += NODE_COST;
        bytes += pods_bytes(chunk->pods[i], other ? other->pods[i] : NULL);
    }
    return bytes;
}

static size_t table_bytes(const NodeTable *table, const NodeTable *other) {
    size_t bytes =
        (table->n_chunks + table->n_nominated + table->n_assumed) * sizeof(table->chunks[0]);

    for (size_t i = 0; i < table->n_chunks; i++) {
        const NodeChunk *before = other && i < other->n_chunks ? other->chunks[i] : NULL;

        if (table->chunks[i] != before)
            bytes += chunk_bytes(table->chunks[i], before);
    }
    if (!other || table->names != other->names)
        bytes += table->names->n_rows * NAME_COST;
    return bytes;
}

static bool has_measurement(const Measurements *measurements, const Measurement *measurement) {
    for (size_t i = 0; measurements && i < measurements->n; i++)
        if (measurements->items[i] == measurement)
            return true;
    return false;
}

/* Looks at the same index first: most measurements stay there. */
static size_t measurements_bytes(const Measurements *measurements, const Measurements *other) {
    size_t bytes;

    if (!measurements || measurements == other)
        return 0;
    bytes = sizeof(*measurements) + measurements->n * sizeof(measurements->items[0]);
    for (size_t i = 0; i < measurements->n; i++) {
        const Measurement *measurement = measurements->items[i];

        if (measurement && measurements_at(other, i) != measurement &&
            !has_measurement(other, measurement))
            bytes += sizeof(*measurement) + arena_size(measurement->arena);
    }
    return bytes;
}

size_t saved_view_bytes(const SavedView *saved_view, const SavedView *other) {
    size_t bytes = sizeof(*saved_view) + saved_view->n_gauges * sizeof(saved_view->gauges[0]);
    const Snapshot *snapshot = other ? other->snapshot : NULL;

    if (saved_view->snapshot && saved_view->snapshot != snapshot)
        bytes += table_bytes(
            snapshot_table(saved_view->snapshot), snapshot ? snapshot_table(snapshot) : NULL);
    return bytes + measurements_bytes(saved_view->measurements, other ? other->measurements : NULL);
}

static Measurement *find_measurement(
    const SavedView *saved_view, const Gauge *gauge, bool *ret_is_known) {
    Digest digest = gauge_digest(gauge);

    *ret_is_known = gauge->source == GAUGE_ANNOTATION;
    for (size_t i = 0; i < saved_view->n_gauges; i++)
        if (digest_equal(saved_view->gauges[i], digest)) {
            *ret_is_known = true;
            return (Measurement *)(uintptr_t)measurements_at(saved_view->measurements, i);
        }
    return NULL;
}

static bool has_same_items(const Measurements *a, const Measurements *b) {
    return a && a->n == b->n && memcmp(a->items, b->items, a->n * sizeof(a->items[0])) == 0;
}

/* The saved view's measurements in the order of the program's gauges: equal ones are taken from the
 * saved view or @before, because columns are shared only then. */
static int find_measurements(const SavedView *saved_view, const Program *program,
    const View *before, Measurements **ret, size_t *ret_unmeasured) {
    _cleanup_(measurements_unrefp) Measurements *made =
        measurements_new(/* owner= */ 0, program->n_gauges);
    Measurements *same = NULL;

    *ret_unmeasured = 0;
    if (!made)
        return -ENOMEM;
    for (size_t i = 0; i < program->n_gauges; i++) {
        bool is_known;
        Measurement *measurement = find_measurement(saved_view, &program->gauges[i], &is_known);

        made->items[i] = measurement ? measurement_ref(measurement) : NULL;
        *ret_unmeasured += !is_known;
    }
    if (has_same_items(saved_view->measurements, made))
        same = saved_view->measurements;
    else if (before && has_same_items(before->measurements, made))
        same = before->measurements;
    *ret = same ? measurements_ref(same) : TAKE_PTR(made);
    return 0;
}

int saved_view_restore(const SavedView *saved_view, Program *program, const RestoreOptions *setting,
    const View *before, View **ret, size_t *ret_unmeasured) {
    _cleanup_(measurements_unrefp) Measurements *measurements = NULL;
    size_t n_unmeasured = 0;
    ViewParts parts = {
        .snapshot = saved_view->snapshot,
        .program = program,
        .zones = setting->zones,
        .exemptions = setting->exemptions,
        .now_nsec = saved_view->made_at_nsec,
        .uptime_nsec = saved_view->uptime_nsec,
        .clock = setting->clock,
    };
    int r;

    *ret = NULL;
    /* Measurements expire: a later view has lost values that this one still has. */
    if (before && program->n_gauges > 0 && before->measured.uptime_nsec > saved_view->uptime_nsec)
        before = NULL;
    r = find_measurements(saved_view, program, before, &measurements, &n_unmeasured);
    if (r < 0)
        return r;
    parts.measurements = measurements;
    r = view_new(&parts, before, ret);
    if (r < 0)
        return r;
    (*ret)->generation = saved_view->generation;
    if (ret_unmeasured)
        *ret_unmeasured = n_unmeasured;
    return 0;
}
