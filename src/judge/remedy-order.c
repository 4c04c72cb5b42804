/* Solves < and >: how far a number must change until the result changes. If both sides are linear,
 * this can be computed; rounding makes it inexact, so the units around it are tried one by one. */

#include <float.h>
#include <math.h>

#include "base/nsec.h"
#include "judge/remedy-internal.h"

#define STEPS_TRIED 4   /* units around the computed place */
#define NUMBER_MAX 1e15 /* above it, steps of 1 are not exact */

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
    for (size_t i = 0; i < ELEMENTS_OF(calls); i++)
        if (cel_node_is_call(node, calls[i]))
            return (Relation)i;
    return NO_ORDER;
}

static const Relation negated[] = {MORE_OR_SAME, MORE, LESS_OR_SAME, LESS};
static const Relation mirrored[] = {MORE, MORE_OR_SAME, LESS, LESS_OR_SAME};

static bool as_number(CelValue v, double *ret) {
    *ret = v.kind == CEL_INT ? (double)v.i : v.d;
    return v.kind == CEL_INT || (v.kind == CEL_DOUBLE && isfinite(v.d));
}

/* Left side minus right side. False: they are not numbers or times, or it overflows. */
static bool distance(RemedyAttempt *attempt, const CelGraphNode *node, double *ret) {
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

/* The unit in which a fact is changed; 0: it cannot be changed in steps. */
static double step_of(const RemedyFact *fact) {
    if (fact_is_amount(fact->kind) && str_is(fact->key, "cpu"))
        return 0.001;
    return fact_is_amount(fact->kind) || fact->kind == FACT_PODS || fact->kind == FACT_ROOM ||
           fact->kind == FACT_POD_PRIORITY || fact->kind == FACT_NOW;
}

/* The fact, @n units away from @from. */
static CelValue moved(const RemedyFact *fact, CelValue from, double n) {
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

/* Whether @v, @n units from now, is possible: amounts are not negative, time does not go back. */
static bool is_possible(const RemedyFact *fact, CelValue v, double n) {
    double number = 0;

    if (fact->kind == FACT_NOW)
        return n > 0;
    if (!as_number(v, &number) || fabs(number) > NUMBER_MAX)
        return false;
    if (fact->kind == FACT_POD_REQUEST) /* a request of 0 is no advice */
        return number > 0;
    return fact->kind == FACT_FREE || fact->kind == FACT_POD_PRIORITY || number >= 0;
}

/* Computes after how many units the result changes, if both sides are linear. */
static bool find_crossing(RemedyAttempt *attempt, uint32_t number, CelValue from, double *ret) {
    const RemedyFact *fact = &attempt->filter_facts->facts[number];
    const CelGraphNode *node = attempt_node(attempt, attempt->atom);
    const double probe = 16;
    double here, there = 0;
    ReadValues before = *attempt_read_values(attempt);
    bool is_known = distance(attempt, node, &here);

    attempt_set(attempt, number, moved(fact, from, probe));
    is_known = is_known && distance(attempt, node, &there);
    *attempt_read_values(attempt) = before;
    if (!is_known || here == there)
        return false;
    *ret = -here * probe / (there - here);
    return fabs(*ret) < NUMBER_MAX;
}

/* Sets the fact to the nearest value in the direction of @sign, near @crossing, that changes the
 * result. False also if the first value tried does, unless it is 1: a nearer one might, too. */
static bool step_towards(RemedyAttempt *attempt, uint32_t number, double crossing, int sign) {
    const RemedyFact *fact = &attempt->filter_facts->facts[number];
    CelValue from = attempt_fact(attempt, number, /* is_before= */ false);
    double first = fmax(floor(fabs(crossing)) - 1, 1);

    for (unsigned i = 0; i < STEPS_TRIED; i++) {
        double n = first + i;
        CelValue v = moved(fact, from, sign * n);

        if (!is_possible(fact, v, sign * n))
            return false;
        if (attempt_try(attempt, number, sign > 0 ? ">=" : "<=", v, v))
            return n > first || n == 1;
    }
    return false;
}

/* Tries both directions if the fact is at the limit. */
static bool solve_by_steps(RemedyAttempt *attempt, uint32_t number) {
    CelValue from = attempt_fact(attempt, number, /* is_before= */ false);
    double crossing;
    int sign;

    if (step_of(&attempt->filter_facts->facts[number]) == 0 ||
        !find_crossing(attempt, number, from, &crossing))
        return false;
    sign = crossing < 0 ? -1 : 1;
    return step_towards(attempt, number, crossing, sign) ||
           (fabs(crossing) < 1 && step_towards(attempt, number, crossing, -sign));
}

/* int(label) > 3: sets the label to the number as text. */
static bool solve_text(
    RemedyAttempt *attempt, const CelGraphNode *node, Relation relation, double v) {
    bool is_less = relation == LESS || relation == LESS_OR_SAME;
    double number = relation == LESS ? ceil(v) - 1 : relation == MORE ? floor(v) + 1 : v;
    RemedySide side;
    Str text;

    if (!(cel_node_is_call(node, "int") || cel_node_is_call(node, "double")) || node->n_args != 1 ||
        !attempt_side(attempt, node->args[0], &side) || fabs(v) > NUMBER_MAX)
        return false;
    number = relation == LESS_OR_SAME ? floor(number) : ceil(number);
    text = arena_printf(attempt->arena, "%.0f", number);
    return text.ptr && attempt_try(attempt, side.fact, is_less ? "<=" : ">=", cel_string(text),
                           cel_string(text));
}

/* Solves a metric, which has no unit: metrics.load < 0.8. */
static bool solve_plain(RemedyAttempt *attempt, uint32_t number, Relation relation, double v) {
    double value = relation == LESS   ? nextafter(v, -DBL_MAX)
                   : relation == MORE ? nextafter(v, DBL_MAX)
                                      : v;
    RemedySide side;

    return attempt_side(attempt, number, &side) &&
           attempt->filter_facts->facts[side.fact].kind == FACT_METRIC &&
           attempt_try(
               attempt, side.fact, relation_words[relation], cel_double(value), cel_double(v));
}

static bool solve_sides(RemedyAttempt *attempt, Relation relation) {
    const uint32_t *sides = attempt_node(attempt, attempt->atom)->args;

    for (int k = 0; k < 2; k++) {
        Relation needed = k == 0 ? relation : mirrored[relation];
        double v;

        if (!attempt->want)
            needed = negated[needed];
        if (as_number(attempt_value(attempt, sides[1 - k]), &v) &&
            (solve_text(attempt, attempt_node(attempt, sides[k]), needed, v) ||
                solve_plain(attempt, sides[k], needed, v)))
            return true;
    }
    return false;
}

/* Tries the facts that the comparison reads, the easiest to change first. */
bool attempt_solve_order(RemedyAttempt *attempt) {
    Relation relation = relation_of(attempt_node(attempt, attempt->atom));
    uint32_t reads = attempt_reads(attempt, attempt->atom);

    while (relation != NO_ORDER) {
        uint32_t best = UINT32_MAX;

        for (uint32_t i = 0; i < attempt->filter_facts->n_facts; i++)
            if ((reads >> i & 1) && !attempt->filter_facts->facts[i].is_fixed &&
                (best == UINT32_MAX || attempt_cost(attempt, i) < attempt_cost(attempt, best)))
                best = i;
        if (best == UINT32_MAX)
            return solve_sides(attempt, relation);
        if (solve_by_steps(attempt, best))
            return true;
        reads &= ~(1u << best);
    }
    return false;
}
