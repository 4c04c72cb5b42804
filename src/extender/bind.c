/*
 * bind: put the pod on the node. The caller does it (through an API server or a demo cluster); here
 * is only the protocol.
 */

#include "extender/verbs-internal.h"

bool extender_bind_request(Str body, Arena *arena, BindArgs *ret_args, Answer *ret) {
    char error[WIRE_ERROR_MAX];
    int r = bind_args_decode(body, arena, ret_args, error);

    *ret = (Answer){.status = 200, .body = ROPE_INIT_IN(arena)};
    if (r == WIRE_E_MALFORMED)
        answer_malformed(ret, arena, body, str_from_c(error));
    else if (r < 0)
        answer_no_memory(ret, arena, 200);
    return r == 0;
}

/* Opens a judge about one node, as @pod sees the cluster. */
static int open_judge(const View *view, const RequestTime *time, const Pod *pod,
    const uint32_t *row, Arena *arena, Judge **ret) {
    NodeSet node_set = {.table = view->table, .facts = &view->facts};
    JudgeInput input;
    int r = view_adjust(view, time, pod, /* gone= */ NULL, 0, arena, &node_set);

    if (r < 0)
        return r;
    input = view_judge_input(view, time, &node_set, pod, row, 1, arena);
    return judge_open(&input, ret);
}

bool extender_may_bind(const View *view, const RequestTime *time, const Pod *pod, Str node,
    Arena *arena, Labels *ret_annotations, Str *ret_reason) {
    uint32_t row = table_find(view->table, node);
    uint16_t verdict = VERDICT_PASS;
    Judge *judge = NULL;
    int r;

    *ret_annotations = (Labels){0};
    if (exemptions_cover(view->exemptions, pod))
        return true;
    *ret_reason = STR(UNKNOWN_NODE_REASON);
    if (row == view->table->n_rows)
        return false;
    *ret_reason = STR("out of time or memory");
    r = open_judge(view, time, pod, &row, arena, &judge);
    if (r == 0)
        r = judge_filters(judge, &verdict);
    if (r == 0)
        r = judge_bind_annotations(judge, arena, ret_annotations);
    if (r == 0 && verdict < view->program->n_filters)
        *ret_reason = view->program->filters[verdict]->reason;
    return r == 0 && verdict == VERDICT_PASS;
}

void extender_bind_reply(const BindArgs *args, Str error, Arena *arena, Answer *ret) {
    *ret = (Answer){.status = 200, .body = ROPE_INIT_IN(arena)};
    answer_error(ret, arena, 200, error); /* {"Error":""} is how success looks */
    ret->decision = (Decision){
        .pod_namespace = args->pod_namespace,
        .pod_name = args->pod_name,
        .pod_uid = args->pod_uid,
        .node = args->node,
        .summary = {.n_in = 1, .n_out = str_is_empty(error) ? 1 : 0},
        .error = ret->decision.error,
    };
}
