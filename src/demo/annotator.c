/* Annotations with measured values. */

#include "demo/annotator.h"

#include <errno.h>
#include <math.h>

#include "base/calendar.h"
#include "base/nsec.h"
#include "demo/usage.h"

#define ANNOTATIONS_BUDGET ((size_t)64 * 1024)

bool annotator_is_needed(const Program *rules) {
    size_t i = 0;

    while (i < rules->n_gauges && rules->gauges[i].source != GAUGE_ANNOTATION)
        i++;
    return i < rules->n_gauges;
}

static int annotate_node(
    DemoCluster *cluster, const View *view, uint32_t row, int64_t now_nsec, Arena *arena) {
    AddedAnnotation changes[ANNOTATOR_ANNOTATIONS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < view->program->n_gauges && n < ELEMENTS_OF(changes); i++) {
        _cleanup_(buf_done) Buf time = BUF_INIT(64);
        const LoadZones *zones = view->measured.zones;
        const Gauge *gauge = &view->program->gauges[i];
        Usage usage = usage_of_gauge(gauge);
        int64_t sec = now_nsec / NSEC_PER_SEC, utc_sec;
        double value;
        size_t k = 0;

        while (k < n && !str_eq(changes[k].key, gauge->annotation))
            k++;
        if (gauge->source != GAUGE_ANNOTATION || k < n)
            continue;
        value = usage_measure(&usage, view->table, row, now_nsec);
        if (isnan(value)) /* a node that is not ready keeps its last value, which becomes stale */
            return 0;
        /* Zones convert only from local time to UTC: the offset is that of @sec as local time. */
        if (!str_is_empty(gauge->zone) && zones && zones->to_utc(zones, gauge->zone, sec, &utc_sec))
            sec += sec - utc_sec;
        calendar_print(sec, 0, &time);
        changes[n++] = (AddedAnnotation){.key = gauge->annotation,
            .value = arena_printf(arena, "%.5f,%.*s", value, STR_FMT(buf_str(&time)))};
    }
    if (arena_has_failed(arena))
        return -ENOMEM;
    return demo_cluster_change_node(
        cluster, view->table->names->names[row], (NodeChanges){.items = changes, .n = n});
}

int annotator_write(DemoCluster *cluster, const View *view, int64_t now_nsec) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ANNOTATIONS_BUDGET);
    int r = 0;

    if (!arena)
        return -ENOMEM;
    for (uint32_t row = 0; r == 0 && row < view->table->n_rows; row++) {
        arena_reset(arena);
        if (table_node(view->table, row))
            r = annotate_node(cluster, view, row, now_nsec, arena);
    }
    return r;
}
