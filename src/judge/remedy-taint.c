/* Taints: which the pod would have to tolerate, or which would have to go. */

#include <string.h>

#include "judge/remedy-internal.h"

/* The variable of a loop, as its body reads it. */
typedef struct FindLocal {
    uint32_t immediate, found;
} FindLocal;

static void find_local(Remedies *remedies, uint32_t number, void *context) {
    const CelGraphNode *node = cel_graph_node(remedies->graph, number);
    FindLocal *find = context;

    if (node->op == OP_LOCAL && node->immediate == find->immediate)
        find->found = number;
}

/* pod.tolerates(t), or of a part of it that says it all. */
static bool is_tolerance(const RemedyAttempt *attempt, const CelGraphNode *body, uint32_t local) {
    const CelGraphNode *taint;

    if ((body->op != OP_CALL && body->op != OP_CALL_CHECKED) || body->n_overloads != 1 ||
        !str_is(body->overloads[0]->name, "tolerates") ||
        attempt_node(attempt, body->args[0])->op != OP_VARIABLE)
        return false;
    taint = attempt_node(attempt, body->args[1]);
    return body->args[1] == local || (taint->op == OP_FIELD && taint->args[0] == local);
}

/* The pod, with tolerations for all taints that were found. */
static bool set_tolerations(RemedyAttempt *attempt) {
    const JudgeInput *input = &attempt->remedies->judge->input;
    size_t n = input->pod->tolerations.n;
    Toleration *items = ARENA_ARRAY(attempt->arena, Toleration, n + REMEDIES_MAX);
    Pod *pod = ARENA_NEW(attempt->arena, Pod);

    if (!items || !pod)
        return false;
    if (n > 0)
        memcpy(items, input->pod->tolerations.items, n * sizeof(*items));
    for (size_t i = 0; i < attempt->n_changes; i++) {
        const Taint *taint = attempt->changes[i].taint;

        if (taint)
            items[n++] =
                (Toleration){.key = taint->key, .value = taint->value, .effect = taint->effect};
    }
    *pod = *input->pod;
    pod->tolerations = (Tolerations){items, n};
    attempt->values[input->program->schema->pod_slot] = schema_pod(pod, attempt->arena);
    return true;
}

static bool solve_tolerations(RemedyAttempt *attempt, uint32_t atom) {
    const JudgeInput *input = &attempt->remedies->judge->input;
    const Node *node = table_node(input->table, attempt->row);
    size_t before = attempt->n_changes;

    for (size_t i = 0; node && i < node->taints.n; i++) {
        Taints one = {.items = &node->taints.items[i], .n = 1};

        if (tolerations_admit(&input->pod->tolerations, &one))
            continue;
        if (attempt->n_changes == REMEDIES_MAX)
            return false;
        attempt->changes[attempt->n_changes++] =
            (RemedyChange){.fact = UINT32_MAX, .relation = "in", .taint = one.items};
    }
    return attempt->n_changes > before && set_tolerations(attempt) &&
           attempt_holds(attempt, atom, /* want= */ true);
}

/* The list without those elements that stand in the way. */
static bool solve_removal(RemedyAttempt *attempt, uint32_t atom, bool want, uint32_t local) {
    const CelGraphNode *loop = attempt_node(attempt, atom);
    const RemedyRead *read = remedy_filter_read(attempt->filter_facts, loop->args[0]);
    CelValue v = read ? attempt->values[read->slot] : cel_absent();
    CelRun *run = judge_run_new(attempt->remedies->judge, attempt->arena);
    CelList *list = ARENA_NEW(attempt->arena, CelList);
    CelValue *items;

    if (!run || !list || v.kind != CEL_LIST || attempt->filter_facts->facts[read->fact].is_fixed)
        return false;
    items = ARENA_ARRAY(attempt->arena, CelValue, v.list->n + 1);
    if (!items)
        return false;
    *list = (CelList){.depth = v.list->depth, .items = items};
    for (uint32_t i = 0; i < v.list->n; i++) {
        CelValue element = cel_list_at(v.list, i, run);
        CelValue body = attempt_body(attempt, loop->args[1], local, element);

        if (body.kind == CEL_BOOL && body.boolean == want)
            items[list->n++] = element;
    }
    return attempt_try(attempt,
        atom,
        want,
        &(RemedyChange){
            .fact = read->fact,
            .relation = "without",
            .value = cel_list(list),
            .bound = cel_list(list),
        });
}

bool attempt_solve_taints(RemedyAttempt *attempt, uint32_t atom, bool want) {
    const CelGraphNode *loop = attempt_node(attempt, atom);
    const RemedyRead *read = remedy_filter_read(attempt->filter_facts, loop->args[0]);
    FindLocal find = {2 * (loop->immediate & CEL_LOOP_LEVEL), CEL_NO_NODE};

    if (!read || attempt->filter_facts->facts[read->fact].kind != FACT_TAINTS || loop->n_args != 2 ||
        (loop->op == OP_ALL) != want)
        return false;
    remedies_walk(attempt->remedies, loop->args[1], find_local, &find);
    if (find.found == CEL_NO_NODE)
        return false;
    if (is_tolerance(attempt, attempt_node(attempt, loop->args[1]), find.found))
        return solve_tolerations(attempt, atom);
    return solve_removal(attempt, atom, want, find.found);
}
