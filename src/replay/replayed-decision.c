/* Restores the view of a past decision and explains it. */

#include "replay/replayed-decision.h"

#include <errno.h>

#include "json/read.h"

const char *replayed_decision_error(int error) {
    static const char *const texts[] = {
        [REPLAY_E_NO_SCENE] = "the cluster as it was then is not kept any more",
        [REPLAY_E_NO_POD] = "the pod as it was then is not kept any more",
        [REPLAY_E_NO_PROGRAM] = "the policies of then are not kept any more",
    };

    return texts[error];
}

static int read_pod(Str text, Arena *arena, Pod *ret) {
    JsonReader reader;

    if (!text.ptr)
        return REPLAY_E_NO_POD;
    json_reader_init(&reader, text);
    pod_decode(&reader, arena, ret);
    json_end(&reader);
    if (json_error(&reader) == JSON_E_MEMORY)
        return -ENOMEM;
    return json_error(&reader) == JSON_OK ? 0 : REPLAY_E_NO_POD;
}

static int explain(const ReplayedDecision *past, const View *view, const Pod *pod, Arena *arena,
    Explanation *ret) {
    uint32_t *rows;
    size_t n = 0;

    if (!past->nodes)
        return extender_explain(view, past->now_nsec, pod, arena, ret);
    rows = ARENA_RAW(arena, uint32_t, past->n_nodes);
    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < past->n_nodes; i++) {
        uint32_t row = table_find(view->table, past->nodes[i]);

        if (row < view->table->n_rows && table_node(view->table, row))
            rows[n++] = row;
    }
    return extender_explain_rows(view, past->now_nsec, pod, rows, n, arena, ret);
}

int replayed_decision_explain(const ReplayedDecision *past, Program *program,
    const RestoreOptions *setting, Arena *arena, View **ret_view, Pod *ret_pod, Explanation *ret) {
    _cleanup_(view_unrefp) View *view = NULL;
    int r;

    *ret_view = NULL;
    *ret_pod = (Pod){0};
    if (!past->saved_view)
        return REPLAY_E_NO_SCENE;
    program = program ? program : past->saved_view->program;
    if (!program)
        return REPLAY_E_NO_PROGRAM;
    r = read_pod(past->pod_text, arena, ret_pod);
    if (r == 0)
        r = saved_view_restore(past->saved_view, program, setting, /* before= */ NULL, &view, NULL);
    if (r == 0)
        r = explain(past, view, ret_pod, arena, ret);
    if (r < 0)
        return r;
    if (r == 0)
        *ret_view = TAKE_PTR(view);
    return r;
}
