/*
 * One comparison: which fact on one of its sides, changed to what, makes it true (or false).
 * Whatever is tried is checked by evaluating the comparison again.
 */

#include <float.h>
#include <math.h>
#include <string.h>

#include "judge/remedy-part.h"

#define LIST_TRIES 16u  /* elements of `x in [...]` that are tried */
#define STEPS_TRIED 4   /* around the place where a line crosses zero */
#define NUMBER_MAX 1e15 /* beyond, steps of one are not exact */
#define NSEC_PER_SEC INT64_C(1000000000)

unsigned fact_cost(FactKind kind) {
    static const uint8_t costs[_FACT_KIND_MAX] = {
        [FACT_FREE] = 1,
        [FACT_REQUESTED] = 1,
        [FACT_LABEL] = 2,
        [FACT_ANNOTATION] = 2,
        [FACT_READY] = 2,
        [FACT_CORDONED] = 2,
        [FACT_PODS] = 2,
        [FACT_METRIC] = 3,
        [FACT_TAINTS] = 4,
        [FACT_NOW] = 5,
        [FACT_ALLOCATABLE] = 6,
        [FACT_POD_LABEL] = 20,
        [FACT_POD_ANNOTATION] = 20,
        [FACT_POD_REQUEST] = 20,
        [FACT_POD_PRIORITY] = 20,
    };

    return costs[kind];
}

static const CelGraphNode *node_at(const Attempt *attempt, uint32_t number) {
    return cel_graph_node(attempt->remedies->graph, number);
}

static bool holds(Attempt *attempt, uint32_t atom, bool want) {
    CelValue v = attempt_value(attempt, atom);

    return v.kind == CEL_BOOL && v.boolean == want;
}

/* --- making a change ------------------------------------------------------------------------ */

static bool is_order(const char *relation) {
    return relation[0] == '<' || relation[0] == '>';
}

/* The change of the fact that is there already; NULL: none. */
static Change *change_of(Attempt *attempt, uint32_t fact) {
    for (size_t i = 0; i < attempt->n_changes; i++)
        if (attempt->changes[i].fact == fact)
            return &attempt->changes[i];
    return NULL;
}

/* Makes it, if @atom is then @want. What was changed before is changed further only in the same
 * direction: what is told in the end must be true of both. */
static bool try_change(Attempt *attempt, uint32_t atom, bool want, const Change *change) {
    Change *old = change_of(attempt, change->fact);
    Bound before;

    if (old && !old->is_any &&
        !(is_order(old->relation) && strcmp(old->relation, change->relation) == 0))
        return false;
    if (!old && attempt->n_changes == REMEDIES_MAX)
        return false;
    attempt_keep(attempt, change->fact, &before);
    attempt_set(attempt, change->fact, change->value);
    if (holds(attempt, atom, want)) {
        if (!old)
            old = &attempt->changes[attempt->n_changes++];
        *old = *change;
        return true;
    }
    attempt_restore(attempt, change->fact, &before);
    return false;
}

/* --- sides ------------------------------------------------------------------------------------ */

/* A side that is a fact and nothing else. */
typedef struct Side {
    uint32_t fact;
    bool may_lack;      /* it is fine for it not to be there: @otherwise counts */
    CelValue otherwise; /* absent: an error */
} Side;

static bool read_side(const Attempt *attempt, uint32_t number, Side *ret) {
    const CelGraphNode *node = node_at(attempt, number);
    const Read *read = inquiry_read(attempt->inquiry, number);

    *ret = (Side){.otherwise = cel_absent()};
    if (node->op == OP_CONDITIONAL) { /* x.orValue(c): is it there? that : c */
        const CelGraphNode *has = node_at(attempt, node->args[0]);
        const CelGraphNode *get = node_at(attempt, node->args[1]);
        const CelGraphNode *other = node_at(attempt, node->args[2]);

        if (has->op != OP_OPT_HAS || get->op != OP_OPT_GET || has->args[0] != get->args[0] ||
            other->op != OP_CONSTANT)
            return false;
        ret->may_lack = true;
        ret->otherwise = other->constant;
        read = inquiry_read(attempt->inquiry, has->args[0]);
    } else if (node->op == OP_OPT_GET) {
        read = inquiry_read(attempt->inquiry, node->args[0]);
    }
    if (!read || read->how == READ_TEST)
        return false;
    ret->fact = read->fact;
    return !attempt->inquiry->facts[read->fact].is_fixed;
}

typedef struct Reads {
    const Inquiry *inquiry;
    bool is_read[FACTS_MAX];
} Reads;

static void note_read(Remedies *remedies, uint32_t node, void *context) {
    Reads *reads = context;
    const Read *read = inquiry_read(reads->inquiry, node);

    (void)remedies;
    if (read)
        reads->is_read[read->fact] = true;
}

static bool reads_fact(const Attempt *attempt, uint32_t node, uint32_t fact) {
    Reads reads = {.inquiry = attempt->inquiry};

    remedies_walk(attempt->remedies, node, note_read, &reads);
    return reads.is_read[fact];
}

/* --- equal, not equal, in a list ------------------------------------------------------------ */

static bool is_plain(CelValue v) {
    return v.kind == CEL_STRING || v.kind == CEL_BOOL || v.kind == CEL_INT || v.kind == CEL_DOUBLE;
}

/* Something else of the same kind; absent where that is allowed and simplest. */
static CelValue other_than(const Attempt *attempt, const Side *side, CelValue v) {
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

static bool make_equal(
    Attempt *attempt, uint32_t atom, bool want, const Side *side, CelValue v, bool is_equal) {
    bool is_nothing = is_equal && side->may_lack && v.kind == CEL_STRING && v.len == 0;
    Change change = {
        .fact = side->fact,
        .relation = is_nothing ? "absent"
                    : is_equal ? "=="
                               : "!=",
        .value = is_nothing ? cel_absent()
                 : is_equal ? v
                            : other_than(attempt, side, v),
        .bound = v,
    };

    return is_plain(v) && try_change(attempt, atom, want, &change);
}

/* The side that is changed more readily comes first. */
static bool solve_equal(Attempt *attempt, uint32_t atom, bool want, bool is_equal) {
    const CelGraphNode *node = node_at(attempt, atom);
    Side sides[2];
    bool are[2];
    int first;

    for (int k = 0; k < 2; k++)
        are[k] = read_side(attempt, node->args[k], &sides[k]) &&
                 !reads_fact(attempt, node->args[1 - k], sides[k].fact);
    first = are[0] && are[1] &&
            fact_cost(attempt->inquiry->facts[sides[1].fact].kind) <
                fact_cost(attempt->inquiry->facts[sides[0].fact].kind);
    for (int i = 0; i < 2; i++) {
        int k = i == 0 ? first : 1 - first;

        if (are[k] && make_equal(attempt,
                          atom,
                          want,
                          &sides[k],
                          attempt_value(attempt, node->args[1 - k]),
                          is_equal == want))
            return true;
    }
    return false;
}

static bool solve_in_set(Attempt *attempt, uint32_t atom, bool want) {
    const CelGraphNode *node = node_at(attempt, atom);
    CelValue list = node->constant;
    Side side;

    if (!read_side(attempt, node->args[0], &side) || list.kind != CEL_LIST || !list.list->items)
        return false;
    for (uint32_t i = 0; i < list.list->n && i < LIST_TRIES; i++) {
        CelValue v = list.list->items[i];
        Change change = {
            .fact = side.fact,
            .relation = want ? "in" : "not in",
            .value = want ? v : other_than(attempt, &side, v),
            .bound = list,
        };

        if (is_plain(v) && try_change(attempt, atom, want, &change))
            return true;
    }
    return false;
}

/* --- there or not, true or not --------------------------------------------------------------- */

static bool solve_read(Attempt *attempt, uint32_t atom, const Read *read, bool want) {
    const Fact *fact = &attempt->inquiry->facts[read->fact];
    Change change = {.fact = read->fact, .bound = cel_absent()};

    if (fact->is_fixed)
        return false;
    if (read->how == READ_VALUE) {
        change.relation = "==";
        change.value = change.bound = cel_bool(want);
        return try_change(attempt, atom, want, &change);
    }
    if (fact->kind == FACT_METRIC || fact_is_amount(fact->kind)) /* not ours to bring about */
        return false;
    change.relation = want ? "present" : "absent";
    change.value = want ? cel_string(STR("")) : cel_absent();
    change.is_any = want;
    return try_change(attempt, atom, want, &change);
}

/* --- more and less ---------------------------------------------------------------------------- */

typedef enum Relation { LESS, LESS_OR_SAME, MORE, MORE_OR_SAME, NO_ORDER } Relation;

static const char *const relation_words[] = {"<", "<=", ">", ">="};

static Relation relation_of(const CelGraphNode *node) {
    static const uint8_t of_op[OP_N] = {
        [OP_LT_INT] = LESS + 1,
        [OP_LT_DOUBLE] = LESS + 1,
        [OP_LE_INT] = LESS_OR_SAME + 1,
        [OP_LE_DOUBLE] = LESS_OR_SAME + 1,
        [OP_GT_INT] = MORE + 1,
        [OP_GT_DOUBLE] = MORE + 1,
        [OP_GE_INT] = MORE_OR_SAME + 1,
        [OP_GE_DOUBLE] = MORE_OR_SAME + 1,
    };
    static const char *const calls[] = {"_<_", "_<=_", "_>_", "_>=_"};

    if (of_op[node->op])
        return of_op[node->op] - 1;
    if ((node->op == OP_CALL || node->op == OP_CALL_CHECKED) && node->n_overloads == 1)
        for (size_t i = 0; i < ELEMENTS_OF(calls); i++)
            if (str_is(node->overloads[0]->name, calls[i]))
                return (Relation)i;
    return NO_ORDER;
}

static Relation negate(Relation relation) {
    static const Relation other[] = {MORE_OR_SAME, MORE, LESS_OR_SAME, LESS};

    return other[relation];
}

static Relation mirror(Relation relation) {
    static const Relation other[] = {MORE, MORE_OR_SAME, LESS, LESS_OR_SAME};

    return other[relation];
}

static bool as_number(CelValue v, double *ret) {
    switch (v.kind) {
    case CEL_INT:
        *ret = (double)v.i;
        return true;
    case CEL_DOUBLE:
        *ret = v.d;
        return isfinite(v.d);
    default:
        return false;
    }
}

/* How far the left side is above the right one. */
static bool distance(Attempt *attempt, const CelGraphNode *node, double *ret) {
    CelValue left = attempt_value(attempt, node->args[0]);
    CelValue right = attempt_value(attempt, node->args[1]);
    double a, b;
    int64_t ns;

    if (left.kind == CEL_TIMESTAMP && right.kind == CEL_TIMESTAMP) {
        if (__builtin_sub_overflow(left.i, right.i, &ns) ||
            __builtin_mul_overflow(ns, NSEC_PER_SEC, &ns))
            return false;
        *ret = (double)ns + (double)left.len - (double)right.len;
        return true;
    }
    if (!as_number(left, &a) || !as_number(right, &b))
        return false;
    *ret = a - b;
    return isfinite(*ret);
}

/* The unit in which a fact is changed; 0: it has none. */
static double step_of(const Fact *fact) {
    switch (fact->kind) {
    case FACT_FREE:
    case FACT_REQUESTED:
    case FACT_ALLOCATABLE:
    case FACT_POD_REQUEST:
        return str_is(fact->key, "cpu") ? 0.001 : 1;
    case FACT_PODS:
    case FACT_POD_PRIORITY:
    case FACT_NOW:
        return 1;
    default:
        return 0;
    }
}

/* The fact, @n units away from @from. */
static CelValue moved(const Fact *fact, CelValue from, double n) {
    double number = 0, step = step_of(fact);

    if (from.kind == CEL_TIMESTAMP) {
        from.i += (int64_t)n;
        return from;
    }
    if (!as_number(from, &number))
        return cel_absent();
    number += n * step;
    if (step < 1)
        number = round(number / step) / round(1 / step);
    return from.kind == CEL_INT ? cel_int((int64_t)number) : cel_double(number);
}

/* There are no negative amounts, and nobody goes back in time. */
static bool is_possible(const Fact *fact, CelValue v, double n) {
    double number = 0;

    if (fact->kind == FACT_NOW)
        return n > 0;
    if (!as_number(v, &number) || fabs(number) > NUMBER_MAX)
        return false;
    if (fact->kind == FACT_POD_REQUEST) /* to ask for nothing is no advice */
        return number > 0;
    return fact->kind == FACT_FREE || fact->kind == FACT_POD_PRIORITY || number >= 0;
}

/* How many units away the comparison changes its mind, if it is a line that gets there. */
static bool find_crossing(
    Attempt *attempt, const CelGraphNode *node, uint32_t number, CelValue from, double *ret) {
    const Fact *fact = &attempt->inquiry->facts[number];
    const double probe = 16;
    double here, there = 0;
    Bound before;
    bool is_known = distance(attempt, node, &here);

    attempt_keep(attempt, number, &before);
    attempt_set(attempt, number, moved(fact, from, probe));
    is_known = is_known && distance(attempt, node, &there);
    attempt_restore(attempt, number, &before);
    if (!is_known || here == there)
        return false;
    *ret = -here * probe / (there - here);
    return fabs(*ret) < NUMBER_MAX;
}

/* The least number of units that does it, in the direction of @sign, from about @crossing on: one
 * less does not. */
static bool step_towards(
    Attempt *attempt, uint32_t atom, bool want, uint32_t number, double crossing, int sign) {
    const Fact *fact = &attempt->inquiry->facts[number];
    CelValue from = attempt_fact(attempt, number);
    double first = floor(fabs(crossing)) - 1;

    first = first < 1 ? 1 : first;
    for (double n = first; n < first + STEPS_TRIED; n++) {
        CelValue v = moved(fact, from, sign * n);
        Change change = {
            .fact = number, .relation = sign > 0 ? ">=" : "<=", .value = v, .bound = v};

        if (!is_possible(fact, v, sign * n))
            return false;
        if (try_change(attempt, atom, want, &change))
            return n > first || n == 1;
    }
    return false;
}

/* Right at the limit either direction could be meant. */
static bool solve_by_steps(Attempt *attempt, uint32_t atom, bool want, uint32_t number) {
    const Fact *fact = &attempt->inquiry->facts[number];
    CelValue from = attempt_fact(attempt, number);
    double crossing;
    int sign;

    if (step_of(fact) == 0 ||
        !find_crossing(attempt, node_at(attempt, atom), number, from, &crossing))
        return false;
    sign = crossing < 0 ? -1 : 1;
    return step_towards(attempt, atom, want, number, crossing, sign) ||
           (fabs(crossing) < 1 && step_towards(attempt, atom, want, number, crossing, -sign));
}

/* int(label) > 3: the number as a text. */
static bool solve_text(
    Attempt *attempt, uint32_t atom, bool want, uint32_t side_number, Relation relation, double v) {
    const CelGraphNode *node = node_at(attempt, side_number);
    double number = relation == LESS ? ceil(v) - 1 : relation == MORE ? floor(v) + 1 : v;
    Change change = {.relation = relation == LESS || relation == LESS_OR_SAME ? "<=" : ">="};
    Side side;
    Str text;

    if ((node->op != OP_CALL && node->op != OP_CALL_CHECKED) || node->n_args != 1 ||
        node->n_overloads != 1 ||
        !(str_is(node->overloads[0]->name, "int") || str_is(node->overloads[0]->name, "double")) ||
        !read_side(attempt, node->args[0], &side) || fabs(v) > NUMBER_MAX)
        return false;
    number = relation == LESS_OR_SAME ? floor(number) : ceil(number);
    text = arena_printf(attempt->arena, "%.0f", number);
    if (!text.ptr)
        return false;
    change.fact = side.fact;
    change.value = change.bound = cel_string(text);
    return try_change(attempt, atom, want, &change);
}

/* A number without a unit against another: metrics.load < 0.8. */
static bool solve_plain(
    Attempt *attempt, uint32_t atom, bool want, uint32_t side_number, Relation relation, double v) {
    Change change = {.relation = relation_words[relation], .bound = cel_double(v)};
    double value = relation == LESS   ? nextafter(v, -DBL_MAX)
                   : relation == MORE ? nextafter(v, DBL_MAX)
                                      : v;
    Side side;

    if (!read_side(attempt, side_number, &side) ||
        attempt->inquiry->facts[side.fact].kind != FACT_METRIC)
        return false;
    change.fact = side.fact;
    change.value = cel_double(value);
    return try_change(attempt, atom, want, &change);
}

static bool solve_sides(Attempt *attempt, uint32_t atom, bool want, Relation relation) {
    const CelGraphNode *node = node_at(attempt, atom);

    for (int k = 0; k < 2; k++) {
        Relation needed = k == 0 ? relation : mirror(relation);
        double v;

        if (!want)
            needed = negate(needed);
        if (!as_number(attempt_value(attempt, node->args[1 - k]), &v))
            continue;
        if (solve_text(attempt, atom, want, node->args[k], needed, v) ||
            solve_plain(attempt, atom, want, node->args[k], needed, v))
            return true;
    }
    return false;
}

/* The facts that the comparison reads, the most readily changed first. */
static bool solve_order(Attempt *attempt, uint32_t atom, bool want, Relation relation) {
    Reads reads = {.inquiry = attempt->inquiry};

    remedies_walk(attempt->remedies, atom, note_read, &reads);
    for (;;) {
        uint32_t best = UINT32_MAX;

        for (uint32_t i = 0; i < attempt->inquiry->n_facts; i++)
            if (reads.is_read[i] && !attempt->inquiry->facts[i].is_fixed &&
                (best == UINT32_MAX || fact_cost(attempt->inquiry->facts[i].kind) <
                                           fact_cost(attempt->inquiry->facts[best].kind)))
                best = i;
        if (best == UINT32_MAX)
            return solve_sides(attempt, atom, want, relation);
        if (solve_by_steps(attempt, atom, want, best))
            return true;
        reads.is_read[best] = false;
    }
}

/* --- taints ------------------------------------------------------------------------------------
 */

/* The variable of a loop, as its body @body reads it. */
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
static bool is_tolerance(const Attempt *attempt, const CelGraphNode *body, uint32_t local) {
    const CelGraphNode *taint;

    if ((body->op != OP_CALL && body->op != OP_CALL_CHECKED) || body->n_overloads != 1 ||
        !str_is(body->overloads[0]->name, "tolerates") ||
        node_at(attempt, body->args[0])->op != OP_VARIABLE)
        return false;
    taint = node_at(attempt, body->args[1]);
    return body->args[1] == local || (taint->op == OP_FIELD && taint->args[0] == local);
}

/* The pod, with tolerations for all taints that were found. */
static bool set_tolerations(Attempt *attempt) {
    const Question *question = &attempt->remedies->judge->question;
    size_t n = question->pod->tolerations.n;
    Toleration *items = ARENA_ARRAY(attempt->arena, Toleration, n + REMEDIES_MAX);
    Pod *pod = ARENA_NEW(attempt->arena, Pod);

    if (!items || !pod)
        return false;
    if (n > 0)
        memcpy(items, question->pod->tolerations.items, n * sizeof(*items));
    for (size_t i = 0; i < attempt->n_changes; i++) {
        const Taint *taint = attempt->changes[i].taint;

        if (taint)
            items[n++] =
                (Toleration){.key = taint->key, .value = taint->value, .effect = taint->effect};
    }
    *pod = *question->pod;
    pod->tolerations = (Tolerations){items, n};
    attempt->values[question->program->schema->pod_slot] = schema_pod(pod, attempt->arena);
    return true;
}

static bool solve_tolerations(Attempt *attempt, uint32_t atom) {
    const Question *question = &attempt->remedies->judge->question;
    const Node *node = table_node(question->table, attempt->row);
    size_t before = attempt->n_changes;

    for (size_t i = 0; node && i < node->taints.n; i++) {
        Taints one = {.items = &node->taints.items[i], .n = 1};

        if (tolerations_admit(&question->pod->tolerations, &one))
            continue;
        if (attempt->n_changes == REMEDIES_MAX)
            return false;
        attempt->changes[attempt->n_changes++] =
            (Change){.fact = UINT32_MAX, .relation = "in", .taint = one.items};
    }
    return attempt->n_changes > before && set_tolerations(attempt) &&
           holds(attempt, atom, /* want= */ true);
}

/* The list without those elements that stand in the way. */
static bool solve_removal(Attempt *attempt, uint32_t atom, bool want, uint32_t local) {
    const CelGraphNode *loop = node_at(attempt, atom);
    const Read *read = inquiry_read(attempt->inquiry, loop->args[0]);
    CelValue v = read ? attempt->values[read->slot] : cel_absent();
    CelRun run = CEL_RUN(attempt->arena);
    CelList *list = ARENA_NEW(attempt->arena, CelList);
    CelValue *items;

    if (!list || v.kind != CEL_LIST || attempt->inquiry->facts[read->fact].is_fixed)
        return false;
    items = ARENA_ARRAY(attempt->arena, CelValue, v.list->n + 1);
    if (!items)
        return false;
    *list = (CelList){.depth = v.list->depth, .items = items};
    for (uint32_t i = 0; i < v.list->n; i++) {
        CelValue element = cel_list_at(v.list, i, &run);
        CelValue body = attempt_body(attempt, loop->args[1], local, element);

        if (body.kind == CEL_BOOL && body.boolean == want)
            items[list->n++] = element;
    }
    return try_change(attempt,
        atom,
        want,
        &(Change){
            .fact = read->fact,
            .relation = "without",
            .value = cel_list(list),
            .bound = cel_list(list),
        });
}

static bool solve_taints(Attempt *attempt, uint32_t atom, bool want) {
    const CelGraphNode *loop = node_at(attempt, atom);
    const Read *read = inquiry_read(attempt->inquiry, loop->args[0]);
    FindLocal find = {2 * (loop->immediate & CEL_LOOP_LEVEL), CEL_NO_NODE};

    if (!read || attempt->inquiry->facts[read->fact].kind != FACT_TAINTS || loop->n_args != 2 ||
        (loop->op == OP_ALL) != want)
        return false;
    remedies_walk(attempt->remedies, loop->args[1], find_local, &find);
    if (find.found == CEL_NO_NODE)
        return false;
    if (is_tolerance(attempt, node_at(attempt, loop->args[1]), find.found))
        return solve_tolerations(attempt, atom);
    return solve_removal(attempt, atom, want, find.found);
}

/* --- all ---------------------------------------------------------------------------------------
 */

bool attempt_solve(Attempt *attempt, uint32_t atom, bool want) {
    const CelGraphNode *node = node_at(attempt, atom);
    const Read *read = inquiry_read(attempt->inquiry, atom);

    if (!read && node->op == OP_OPT_HAS)
        read = inquiry_read(attempt->inquiry, node->args[0]);
    if (read)
        return solve_read(attempt, atom, read, want);
    switch (node->op) {
    case OP_EQ:
    case OP_EQ_INT:
    case OP_EQ_STRING:
        return solve_equal(attempt, atom, want, true);
    case OP_NE:
    case OP_NE_INT:
    case OP_NE_STRING:
        return solve_equal(attempt, atom, want, false);
    case OP_IN_SET:
        return solve_in_set(attempt, atom, want);
    case OP_ALL:
    case OP_EXISTS:
        return solve_taints(attempt, atom, want);
    default:
        return relation_of(node) != NO_ORDER && solve_order(attempt, atom, want, relation_of(node));
    }
}
