/* Annotations with measured values. */

#include "demo/annotator.h"

#include <errno.h>
#include <math.h>

#include "base/calendar.h"
#include "base/nsec.h"
#include "demo/usage.h"

#define MARKS_BUDGET ((size_t)64 * 1024)

bool annotator_is_needed(const Program *rules) {
    for (size_t i = 0; i < rules->n_gauges; i++)
        if (rules->gauges[i].source == GAUGE_ANNOTATION)
            return true;
    return false;
}

/* Local time in @zone. LoadZones converts only from local time to UTC, so @sec is taken as local
 * time to find the offset. */
static int64_t local_sec(const LoadZones *zones, Str zone, int64_t sec) {
    int64_t utc_sec;

    if (str_is_empty(zone) || !zones || !zones->to_utc(zones, zone, sec, &utc_sec))
        return sec;
    return sec + (sec - utc_sec);
}

static Str print_value(
    const Gauge *gauge, double value, const LoadZones *zones, int64_t now_nsec, Arena *arena) {
    _cleanup_(buf_done) Buf time = BUF_INIT(64);

    calendar_print(local_sec(zones, gauge->zone, now_nsec / NSEC_PER_SEC), 0, &time);
    return arena_printf(arena, "%.5f,%.*s", value, STR_FMT(buf_str(&time)));
}

static bool has_mark(const AddedAnnotation *changes, size_t n, Str key) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(changes[i].key, key))
            return true;
    return false;
}

static int mark_node(
    DemoCluster *cluster, const View *view, uint32_t row, int64_t now_nsec, Arena *arena) {
    AddedAnnotation changes[ANNOTATOR_ANNOTATIONS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < view->program->n_gauges && n < ELEMENTS_OF(changes); i++) {
        const Gauge *gauge = &view->program->gauges[i];
        Usage usage = usage_of_gauge(gauge);
        double value;

        if (gauge->source != GAUGE_ANNOTATION || has_mark(changes, n, gauge->annotation))
            continue;
        value = usage_measure(&usage, view->table, row, now_nsec);
        if (isnan(value)) /* a node that is not ready keeps its last value, which becomes stale */
            return 0;
        changes[n++] = (AddedAnnotation){.key = gauge->annotation,
            .value = print_value(gauge, value, view->measured.zones, now_nsec, arena)};
    }
    if (arena_has_failed(arena))
        return -ENOMEM;
    return demo_cluster_change_node(
        cluster, view->table->names->names[row], (NodeChanges){.items = changes, .n = n});
}

int annotator_write(DemoCluster *cluster, const View *view, int64_t now_nsec) {
    _cleanup_(arena_freep) Arena *arena = arena_new(MARKS_BUDGET);
    int r = 0;

    if (!arena)
        return -ENOMEM;
    for (uint32_t row = 0; r == 0 && row < view->table->n_rows; row++) {
        arena_reset(arena);
        if (table_node(view->table, row))
            r = mark_node(cluster, view, row, now_nsec, arena);
    }
    return r;
}
