/* bind: decodes requests, judges them and encodes replies. The caller creates the Binding, on an
 * API server or in a demo cluster. */

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

#define NO_VERDICT "berth: refused: out of time or memory"

/* Fills @ret. Returns false if an annotation with onError: fail failed, or out of memory. */
static bool take_annotations(const BindValue *values, size_t n, Arena *arena, BindVerdict *ret) {
    Label *labels = ARENA_ARRAY(arena, Label, n);

    for (size_t i = 0; labels && i < n; i++) {
        const BindValue *value = &values[i];

        if (!value->error) {
            labels[ret->annotations.n++] = (Label){value->annotation->key, value->value};
            continue;
        }
        if (value->annotation->on_error == BIND_FAIL) {
            ret->refusal =
                arena_printf(arena, "berth: refused: annotation %.*s of policy %.*s failed: %.*s",
                    STR_FMT(value->annotation->key), STR_FMT(value->policy->name),
                    STR_FMT(value->error->text));
            return false;
        }
        ret->n_skipped++;
    }
    ret->annotations.items = labels;
    return labels;
}

static Str refusal_of(Arena *arena, Str node, Str reason) {
    Str text = arena_printf(arena, "berth: refused: %.*s would not take the pod any more: %.*s",
        STR_FMT(node), STR_FMT(reason));

    return text.ptr ? text : STR(NO_VERDICT);
}

/* Evaluates all filters again for @node, with the cluster adjusted to @pod (view_adjust()). False:
 * *ret_refusal is the reason. */
static bool passes(const View *view, const RequestTime *time, const Pod *pod, Str node,
    Arena *arena, Judge **ret, Str *ret_refusal) {
    uint32_t *row = ARENA_NEW(arena, uint32_t);
    NodeSet node_set = {.table = view->table, .facts = &view->facts};
    uint16_t verdict = VERDICT_PASS;
    JudgeInput input;
    int r;

    *ret_refusal = STR(NO_VERDICT);
    if (!row)
        return false;
    *row = table_find(view->table, node);
    if (*row == view->table->n_rows) {
        *ret_refusal = refusal_of(arena, node, STR(UNKNOWN_NODE_REASON));
        return false;
    }
    r = view_adjust(view, time, pod, row, 1, arena, &node_set);
    if (r == 0) {
        input = view_judge_input(view, time, &node_set, pod, row, 1, arena);
        r = judge_open(&input, ret);
    }
    if (r == 0)
        r = judge_filters(*ret, &verdict);
    if (r == 0 && verdict < view->program->n_filters)
        *ret_refusal = refusal_of(arena, node, view->program->filters[verdict]->reason);
    return r == 0 && verdict == VERDICT_PASS;
}

bool extender_still_passes(const View *view, const RequestTime *time, const Pod *pod, Str node,
    Arena *arena, Str *ret_refusal) {
    Judge *judge = NULL;

    return exemptions_cover(view->exemptions, pod) ||
           passes(view, time, pod, node, arena, &judge, ret_refusal);
}

bool extender_may_bind(const View *view, const RequestTime *time, const Pod *pod, Str node,
    Arena *arena, BindVerdict *ret) {
    BindValue *values = NULL;
    Judge *judge = NULL;
    size_t n = 0;

    *ret = (BindVerdict){.refusal = STR(NO_VERDICT)};
    if (exemptions_cover(view->exemptions, pod))
        return true;
    return passes(view, time, pod, node, arena, &judge, &ret->refusal) &&
           judge_bind_annotations(judge, arena, &values, &n) == 0 &&
           take_annotations(values, n, arena, ret);
}

void extender_bind_reply(const BindArgs *args, Str error, Arena *arena, Answer *ret) {
    *ret = (Answer){.status = 200, .body = ROPE_INIT_IN(arena)};
    answer_error(ret, arena, 200, error); /* {"Error":""} is the reply on success */
    ret->decision = (Decision){
        .pod_namespace = args->pod_namespace,
        .pod_name = args->pod_name,
        .pod_uid = args->pod_uid,
        .node = args->node,
        .summary = {.n_in = 1, .n_out = str_is_empty(error) ? 1 : 0},
        .error = ret->decision.error,
    };
}
