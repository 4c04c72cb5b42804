/* Restores the request of a recorded decision, or the reason why it cannot be replayed, and merges
 * the recordings of replicas. */

#include "replay/recording.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"
#include "json/write.h"

void recording_done(Recording *recording) {
    for (size_t i = 0; i < recording->n_saved_views; i++)
        saved_view_unref(recording->saved_views[i]);
    *recording = (Recording){0};
}

const char *recorded_obstacle(const RecordedDecision *decision) {
    if (!recorded_is_filter_or_score(decision))
        return "only filter and prioritize are made again";
    if (!str_is_empty(decision->error))
        return "it was answered with an error";
    if (decision->is_late)
        return "time was up for some of its nodes";
    if (!decision->nodes)
        return "what became of its nodes is not kept any more";
    if (!decision->had_names && decision->n_in > 0)
        return "the request carried whole nodes, which are not kept (nodeCacheCapable: false)";
    if (decision->n_nodes != decision->n_in)
        return "not all of its nodes are kept: a name was given twice, or is no name of a node";
    if (!decision->pod_text.ptr)
        return "its pod is not kept any more";
    if (!decision->saved_view)
        return "the cluster as it was then is not kept any more";
    return NULL;
}

const RecordedNode **recorded_order(const RecordedDecision *decision, Arena *arena) {
    const RecordedNode **order = ARENA_RAW(arena, const RecordedNode *, decision->n_nodes);
    size_t n = 0;

    for (unsigned is_last = 0; order && is_last < 2; is_last++)
        for (size_t i = 0; i < decision->n_nodes; i++)
            if ((decision->nodes[i].kind == OUTCOME_NARROWED) == (is_last == 1))
                order[n++] = &decision->nodes[i];
    return order;
}

Str recorded_request(const Recording *recording, const RecordedDecision *decision, Arena *arena) {
    const RecordedNode **order = recorded_order(decision, arena);
    _cleanup_(buf_done) Buf text = BUF_INIT(arena_left(arena));
    JsonWriter writer = JSON_WRITER(&text);

    if (!order)
        return STR_NULL;
    json_write(&writer, "{Pod: ");
    json_write_raw(&writer, decision->pod_text);
    json_member_array(&writer, "NodeNames");
    for (size_t i = 0; i < decision->n_nodes; i++)
        json_write_string(&writer, recording->names[order[i]->name]);
    json_write(&writer, "]}");
    return buf_error(&text) ? STR_NULL : arena_copy(arena, buf_str(&text));
}

/* --- merging the recordings of several replicas ----------------------------------------------- */

typedef struct Merge {
    Arena *arena;
    Map places; /* name to index in names */
    VEC(Str) names;
    RecordedDecision *decisions;
    Recording *to;
} Merge;

/* The index of each name of @part in the merged list; NULL when out of memory. */
static uint32_t *place_names(Merge *merge, const Recording *part) {
    uint32_t *places = ARENA_RAW(merge->arena, uint32_t, part->n_names + 1);

    for (size_t i = 0; places && i < part->n_names; i++) {
        places[i] = map_find(&merge->places, part->names[i]);
        if (places[i] != MAP_NONE)
            continue;
        places[i] = (uint32_t)merge->names.n;
        if (!VEC_ADD(&merge->names, merge->arena, part->names[i]) ||
            map_add(&merge->places, part->names[i], places[i]) < 0)
            return NULL;
    }
    return places;
}

static int add_decision(Merge *merge, const RecordedDecision *decision, const uint32_t *places) {
    RecordedDecision *to = &merge->decisions[merge->to->n++];
    RecordedNode *nodes;

    *to = *decision;
    if (!decision->nodes)
        return 0;
    nodes = ARENA_RAW(merge->arena, RecordedNode, decision->n_nodes + 1);
    if (!nodes)
        return -ENOMEM;
    for (size_t i = 0; i < decision->n_nodes; i++) {
        nodes[i] = decision->nodes[i];
        nodes[i].name = places[decision->nodes[i].name];
    }
    to->nodes = nodes;
    return 0;
}

static int add_part(Merge *merge, const Recording *part) {
    const uint32_t *places = place_names(merge, part);
    int r = places ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < part->n; i++)
        r = add_decision(merge, &part->decisions[i], places);
    for (size_t i = 0; r == 0 && i < part->n_saved_views; i++)
        merge->to->saved_views[merge->to->n_saved_views++] = saved_view_ref(part->saved_views[i]);
    return r;
}

/* Sorts by time; decisions of one replica have ids in the order of time. */
static int compare_decisions(const void *a, const void *b) {
    const RecordedDecision *x = a, *y = b;

    if (x->now_nsec != y->now_nsec)
        return x->now_nsec < y->now_nsec ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int compare_saved_views(const void *a, const void *b) {
    const SavedView *x = *(SavedView *const *)a, *y = *(SavedView *const *)b;

    return x->made_at_nsec < y->made_at_nsec ? -1 : x->made_at_nsec > y->made_at_nsec;
}

int recording_merge(const Recording *parts, size_t n, Arena *arena, Recording *ret) {
    Merge merge = {.arena = arena, .places = MAP_INIT_IN(arena), .to = ret};
    size_t n_decisions = 0, n_saved_views = 0;
    int r = 0;

    for (size_t i = 0; i < n; i++) {
        n_decisions += parts[i].n;
        n_saved_views += parts[i].n_saved_views;
    }
    merge.decisions = ARENA_ARRAY(arena, RecordedDecision, n_decisions + 1);
    *ret = (Recording){
        .decisions = merge.decisions,
        .saved_views = ARENA_ARRAY(arena, SavedView *, n_saved_views + 1),
    };
    if (!merge.decisions || !ret->saved_views)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = add_part(&merge, &parts[i]);
    qsort(merge.decisions, ret->n, sizeof(merge.decisions[0]), compare_decisions);
    qsort(ret->saved_views, ret->n_saved_views, sizeof(ret->saved_views[0]), compare_saved_views);
    ret->names = merge.names.items;
    ret->n_names = merge.names.n;
    if (r < 0)
        recording_done(ret);
    return r;
}
