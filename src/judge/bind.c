/* Annotations of a bind: constants, and expressions that the scalar machine evaluates. */

#include <errno.h>

#include "judge/judge-internal.h"
#include "policy/policy.h"

/* Whether a policy sets annotations on the pod. */
static bool is_acting(const Judge *judge, const Policy *policy) {
    return !policy->is_observed && judge_applies(judge, policy);
}

/* Sets the variable `decision`, if an annotation reads it. */
static int bind_decision(Judge *judge, Arena *arena) {
    const Program *program = judge->input.program;
    Str *names = ARENA_ARRAY(arena, Str, program->n_policies);
    bool is_read = false;
    size_t n = 0;
    double score;
    int r;

    for (size_t i = 0; names && i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];

        if (!is_acting(judge, policy))
            continue;
        names[n++] = policy->name;
        for (size_t j = 0; j < policy->n_bind_annotations; j++)
            is_read |= policy->bind_annotations[j].expression.groups >> SCHEMA_DECISION & 1;
    }
    if (!names || !is_read)
        return names ? 0 : -ENOMEM;
    r = judge_scores(judge, &score);
    if (r < 0)
        return r;
    judge->variables[program->schema->decision_slot] = schema_decision(names, n, score, arena);
    return 0;
}

static BindValue evaluate(
    Judge *judge, const Policy *policy, const BindAnnotation *annotation, Arena *arena) {
    BindValue result = {policy, annotation, annotation->value, NULL};
    CelError *error;
    CelValue value;

    if (!expression_is_given(&annotation->expression))
        return result;
    value = judge_value(judge, &annotation->expression, judge->input.rows[0], arena);
    if (value.kind == CEL_ERROR) {
        result.error = value.error;
        return result;
    }
    result.value = cel_str(value); /* dyn values, too: the machine has checked them */
    if (result.value.len <= BIND_VALUE_MAX)
        return result;
    /* The API server rejects a pod with more than 256 KiB of annotations: the bind would fail. */
    error = ARENA_NEW(arena, CelError);
    if (error)
        error->text = arena_printf(arena, "the value is longer than %zu bytes", BIND_VALUE_MAX);
    result.error = error ? error : cel_memory_error(arena);
    return result;
}

/* Keeps @values sorted by insertion: there are few. */
static void add(BindValue *values, size_t *n, BindValue value) {
    size_t at = 0;

    while (at < *n && str_cmp(values[at].annotation->key, value.annotation->key) < 0)
        at++;
    if (at == *n || !str_eq(values[at].annotation->key, value.annotation->key)) {
        for (size_t i = (*n)++; i > at; i--)
            values[i] = values[i - 1];
    }
    values[at] = value;
}

int judge_bind_annotations(Judge *judge, Arena *arena, BindValue **ret, size_t *ret_n) {
    const Program *program = judge->input.program;
    size_t n_max = 0, n = 0;
    BindValue *values;
    int r;

    for (size_t i = 0; i < program->n_policies; i++)
        n_max += program->policies[i].n_bind_annotations;
    values = ARENA_ARRAY(arena, BindValue, n_max);
    r = values ? bind_decision(judge, arena) : -ENOMEM;
    if (r < 0)
        return r;
    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];

        for (size_t j = 0; is_acting(judge, policy) && j < policy->n_bind_annotations; j++)
            add(values, &n, evaluate(judge, policy, &policy->bind_annotations[j], arena));
    }
    *ret = values;
    *ret_n = n;
    return arena_has_failed(arena) ? -ENOMEM : 0;
}
