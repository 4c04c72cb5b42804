/* Restores the request of a recorded decision, and tells why some cannot be replayed. */

#include "replay/recording.h"

#include "json/write.h"

void recording_done(Recording *recording) {
    for (size_t i = 0; i < recording->n_saved_views; i++)
        saved_view_unref(recording->saved_views[i]);
    *recording = (Recording){0};
}

const char *recorded_obstacle(const RecordedDecision *decision) {
    if (decision->verb != VERB_FILTER && decision->verb != VERB_PRIORITIZE)
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

/* --- the request ------------------------------------------------------------------------------ */

const RecordedNode **recorded_order(const RecordedDecision *decision, Arena *arena) {
    const RecordedNode **order = ARENA_RAW(arena, const RecordedNode *, decision->n_nodes);
    size_t n = 0;

    for (unsigned is_last = 0; order && is_last < 2; is_last++)
        for (size_t i = 0; i < decision->n_nodes; i++)
            if ((decision->nodes[i].kind == RECORDED_NARROWED) == (is_last == 1))
                order[n++] = &decision->nodes[i];
    return order;
}

Str recorded_request(const Recording *recording, const RecordedDecision *decision, Arena *arena) {
    const RecordedNode **order = recorded_order(decision, arena);
    _cleanup_(buf_done) Buf text = BUF_INIT(arena_left(arena));
    JsonWriter writer = JSON_WRITER(&text);

    if (!order)
        return STR_NULL;
    json_write_object(&writer);
    json_write_key(&writer, STR("Pod"));
    json_write_raw(&writer, decision->pod_text);
    json_member_array(&writer, "NodeNames");
    for (size_t i = 0; i < decision->n_nodes; i++)
        json_write_string(&writer, recording->names[order[i]->name]);
    json_write_end_array(&writer);
    json_write_end_object(&writer);
    return buf_error(&text) ? STR_NULL : arena_copy(arena, buf_str(&text));
}
