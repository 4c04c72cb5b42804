/* Groups pending pods by a key of workload and rule. */

#include "history/pending-groups.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "model/workload.h"

#define POD_BUDGET ((size_t)8 * 1024 * 1024) /* to decode one */

Str pod_summary_workload(const PodSummary *pod, Arena *arena) {
    Pod decoded;

    if (!pod->filter || !pod->filter->pod_text ||
        !pod_text_decode(pod->filter->pod_text, arena, &decoded))
        return STR_NULL;
    return workload_of(&decoded, arena);
}

static Str key_of(const PodSummary *pod, Str workload, Arena *arena) {
    if (str_is_empty(workload))
        return arena_printf(arena, "%.*s/%.*s %.*s", STR_FMT(pod->namespace), STR_FMT(pod->name),
            STR_FMT(pod->uid));
    return arena_printf(
        arena, "%.*s %.*s/%.*s", STR_FMT(workload), STR_FMT(pod->policy), STR_FMT(pod->rule));
}

/* The group of the key, new or old. NULL when out of memory. */
static PendingGroup *find_group(PendingGroups *groups, Map *by_key, Str key) {
    uint32_t place = key.ptr ? map_find(by_key, key) : MAP_NONE;

    if (place != MAP_NONE)
        return &groups->groups[place];
    if (!key.ptr || map_add(by_key, key, (uint32_t)groups->n) < 0)
        return NULL;
    return &groups->groups[groups->n++];
}

static int compare_groups(const void *a, const void *b) {
    const PendingGroup *x = a, *y = b;

    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return (x->first->first_nsec > y->first->first_nsec) -
           (x->first->first_nsec < y->first->first_nsec);
}

int pending_groups_make(const PodsSummary *summary, Arena *arena, PendingGroups *ret) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(POD_BUDGET);
    Map by_key = MAP_INIT_IN(arena);

    *ret = (PendingGroups){.groups = ARENA_ARRAY(arena, PendingGroup, summary->n_waiting + 1)};
    if (!scratch || !ret->groups)
        return -ENOMEM;
    for (size_t i = 0; i < summary->n; i++) {
        const PodSummary *pod = &summary->pods[i];
        PendingGroup *group;
        Str workload;

        if (!pod->is_waiting)
            continue;
        arena_reset(scratch);
        workload = arena_copy(arena, pod_summary_workload(pod, scratch));
        group = find_group(ret, &by_key, key_of(pod, workload, arena));
        if (!group)
            return -ENOMEM;
        group->workload = workload;
        if (group->n == 0 || pod->first_nsec < group->first->first_nsec)
            group->first = pod;
        if (group->n == 0 || pod->last_nsec > group->last->last_nsec)
            group->last = pod;
        group->n++;
        ret->n_pods++;
    }
    qsort(ret->groups, ret->n, sizeof(*ret->groups), compare_groups);
    return 0;
}
