/* Solves one comparison: which value of a fact on one side makes it true (or false)? Every change
 * is checked by evaluating the comparison again. < and > are in remedy-order.c. */

#include "judge/remedy-internal.h"

#define LIST_TRIES 16u /* elements of `x in [...]` that are tried */

bool attempt_holds(RemedyAttempt *attempt, uint32_t node, bool want) {
    CelValue v = attempt_value(attempt, node);

    return v.kind == CEL_BOOL && v.boolean == want;
}

bool attempt_try(
    RemedyAttempt *attempt, uint32_t fact, const char *relation, CelValue value, CelValue bound) {
    RemedyChange *old = NULL; /* of the same fact */
    ReadValues before = *attempt_read_values(attempt);

    for (size_t i = 0; i < attempt->n_changes && !old; i++)
        old = attempt->changes[i].fact == fact ? &attempt->changes[i] : NULL;
    if (old && strcmp(old->relation, "present") != 0 && /* whose value is only an example */
        !(strchr("<>", old->relation[0]) && strcmp(old->relation, relation) == 0))
        return false;
    if (!old && attempt->n_changes == REMEDIES_MAX)
        return false;
    attempt_set(attempt, fact, value);
    if (attempt_holds(attempt, attempt->atom, attempt->want)) {
        if (!old)
            old = &attempt->changes[attempt->n_changes++];
        *old = (RemedyChange){.fact = fact, .relation = relation, .value = value, .bound = bound};
        return true;
    }
    *attempt_read_values(attempt) = before;
    return false;
}

bool attempt_side(const RemedyAttempt *attempt, uint32_t number, RemedySide *ret) {
    const CelGraphNode *node = attempt_node(attempt, number);
    const RemedyRead *read = remedy_filter_read(attempt->filter_facts, number);

    *ret = (RemedySide){0};
    if (node->op == OP_CONDITIONAL) { /* x.orValue(c): x.has ? x.get : c */
        const CelGraphNode *has = attempt_node(attempt, node->args[0]);
        const CelGraphNode *get = attempt_node(attempt, node->args[1]);
        const CelGraphNode *other = attempt_node(attempt, node->args[2]);

        if (has->op != OP_OPT_HAS || get->op != OP_OPT_GET || has->args[0] != get->args[0] ||
            other->op != OP_CONSTANT)
            return false;
        ret->may_lack = true;
        read = remedy_filter_read(attempt->filter_facts, has->args[0]);
    } else if (node->op == OP_OPT_GET) {
        read = remedy_filter_read(attempt->filter_facts, node->args[0]);
    }
    if (!read || read->mode == READ_TEST)
        return false;
    ret->fact = read->fact;
    return !attempt->filter_facts->facts[read->fact].is_fixed;
}

uint32_t attempt_reads(const RemedyAttempt *attempt, uint32_t node) {
    size_t n = remedies_walk(attempt->remedies, node);
    uint32_t bits = 0;

    for (size_t i = 0; i < n; i++) {
        const RemedyRead *read =
            remedy_filter_read(attempt->filter_facts, attempt->remedies->below[i]);

        bits |= read ? 1u << read->fact : 0;
    }
    return bits;
}

static bool is_plain(CelValue v) {
    return v.kind == CEL_STRING || v.kind == CEL_BOOL || v.kind == CEL_INT || v.kind == CEL_DOUBLE;
}

/* A different value of the same type; absent if the expression allows that for a string. */
static CelValue other_than(const RemedyAttempt *attempt, const RemedySide *side, CelValue v) {
    Str text;

    if (side->may_lack && v.kind == CEL_STRING && v.len > 0)
        return cel_absent();
    switch (v.kind) {
    case CEL_BOOL:
        return cel_bool(!v.boolean);
    case CEL_INT:
        return cel_int(v.i < INT64_MAX ? v.i + 1 : 0);
    case CEL_DOUBLE:
        return cel_double(v.d + 1);
    default:
        text = arena_printf(attempt->arena, "%.*s-", STR_FMT(cel_str(v)));
        return text.ptr ? cel_string(text) : cel_absent();
    }
}

static bool make_equal(RemedyAttempt *attempt, const RemedySide *side, CelValue v, bool is_equal) {
    if (!is_plain(v))
        return false;
    if (is_equal && side->may_lack && v.kind == CEL_STRING && v.len == 0)
        return attempt_try(attempt, side->fact, "absent", cel_absent(), v);
    return is_equal ? attempt_try(attempt, side->fact, "==", v, v)
                    : attempt_try(attempt, side->fact, "!=", other_than(attempt, side, v), v);
}

/* Tries the side that is easier to change first. */
static bool solve_equal(RemedyAttempt *attempt, bool is_equal) {
    const CelGraphNode *node = attempt_node(attempt, attempt->atom);
    RemedySide sides[2];
    bool are[2];
    int first;

    for (int k = 0; k < 2; k++)
        are[k] = attempt_side(attempt, node->args[k], &sides[k]) &&
                 !(attempt_reads(attempt, node->args[1 - k]) >> sides[k].fact & 1);
    first = are[0] && are[1] &&
            attempt_cost(attempt, sides[1].fact) < attempt_cost(attempt, sides[0].fact);
    for (int i = 0; i < 2; i++) {
        int k = i == 0 ? first : 1 - first;

        if (are[k] && make_equal(attempt, &sides[k], attempt_value(attempt, node->args[1 - k]),
                          is_equal == attempt->want))
            return true;
    }
    return false;
}

static bool solve_in_set(RemedyAttempt *attempt) {
    const CelGraphNode *node = attempt_node(attempt, attempt->atom);
    CelValue list = node->constant;
    bool want = attempt->want;
    RemedySide side;

    if (!attempt_side(attempt, node->args[0], &side) || list.kind != CEL_LIST || !list.list->items)
        return false;
    for (uint32_t i = 0; i < list.list->n && i < LIST_TRIES; i++) {
        CelValue v = list.list->items[i];

        if (is_plain(v) && attempt_try(attempt, side.fact, want ? "in" : "not in",
                               want ? v : other_than(attempt, &side, v), list))
            return true;
    }
    return false;
}

static bool solve_read(RemedyAttempt *attempt, const RemedyRead *read) {
    const RemedyFact *fact = &attempt->filter_facts->facts[read->fact];
    bool want = attempt->want;

    if (fact->is_fixed)
        return false;
    if (read->mode == READ_VALUE)
        return attempt_try(attempt, read->fact, "==", cel_bool(want), cel_bool(want));
    if (fact->kind == FACT_METRIC || fact_is_amount(fact->kind)) /* no change makes it present */
        return false;
    return attempt_try(attempt, read->fact, want ? "present" : "absent",
        want ? cel_string(STR("")) : cel_absent(), cel_absent());
}

/* The graph node by which the body of a loop reads its variable; CEL_NO_NODE: it does not. */
static uint32_t find_local(const RemedyAttempt *attempt, const CelGraphNode *loop) {
    size_t n = remedies_walk(attempt->remedies, loop->args[1]);

    for (size_t i = 0; i < n; i++) {
        const CelGraphNode *node = attempt_node(attempt, attempt->remedies->below[i]);

        if (node->op == OP_LOCAL && node->immediate == 2 * (loop->immediate & CEL_LOOP_LEVEL))
            return attempt->remedies->below[i];
    }
    return CEL_NO_NODE;
}

/* Whether the body is pod.tolerates(t) or pod.tolerates(t.text). */
static bool is_tolerance(const RemedyAttempt *attempt, const CelGraphNode *body, uint32_t local) {
    const CelGraphNode *taint;

    if (!cel_node_is_call(body, "tolerates") ||
        attempt_node(attempt, body->args[0])->op != OP_VARIABLE)
        return false;
    taint = attempt_node(attempt, body->args[1]);
    return body->args[1] == local || (taint->op == OP_FIELD && taint->args[0] == local);
}

/* Gives the pod tolerations for the taints of all changes. */
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

static bool solve_tolerations(RemedyAttempt *attempt) {
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
           attempt_holds(attempt, attempt->atom, /* want= */ true);
}

/* Removes the taints for which the loop's body has the wrong result. */
static bool solve_removal(
    RemedyAttempt *attempt, const CelGraphNode *loop, const RemedyRead *read, uint32_t local) {
    CelValue v = attempt->values[read->slot];
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

        if (body.kind == CEL_BOOL && body.boolean == attempt->want)
            items[list->n++] = element;
    }
    return attempt_try(attempt, read->fact, "without", cel_list(list), cel_list(list));
}

static bool solve_taints(RemedyAttempt *attempt) {
    const CelGraphNode *loop = attempt_node(attempt, attempt->atom);
    const RemedyRead *read = remedy_filter_read(attempt->filter_facts, loop->args[0]);
    uint32_t local;

    if (!read || attempt->filter_facts->facts[read->fact].kind != FACT_TAINTS ||
        loop->n_args != 2 || (loop->op == OP_ALL) != attempt->want)
        return false;
    local = find_local(attempt, loop);
    if (local == CEL_NO_NODE)
        return false;
    return is_tolerance(attempt, attempt_node(attempt, loop->args[1]), local)
               ? solve_tolerations(attempt)
               : solve_removal(attempt, loop, read, local);
}

bool attempt_solve(RemedyAttempt *attempt) {
    const CelGraphNode *node = attempt_node(attempt, attempt->atom);
    const RemedyRead *read = remedy_filter_read(attempt->filter_facts, attempt->atom);

    if (!read && node->op == OP_OPT_HAS)
        read = remedy_filter_read(attempt->filter_facts, node->args[0]);
    if (read)
        return solve_read(attempt, read);
    switch (node->op) {
    case OP_EQ:
    case OP_EQ_INT:
    case OP_EQ_STRING:
        return solve_equal(attempt, true);
    case OP_NE:
    case OP_NE_INT:
    case OP_NE_STRING:
        return solve_equal(attempt, false);
    case OP_IN_SET:
        return solve_in_set(attempt);
    case OP_ALL:
    case OP_EXISTS:
        return solve_taints(attempt);
    default:
        return attempt_solve_order(attempt);
    }
}
