/* Parameters of /api/v1/decisions that select decisions or nodes. */

#include "api/decision-filter.h"

#include <stdio.h>

/* --- parameters -------------------------------------------------------------------------- */

static bool read_outcome(Str value, int *ret, char *error) {
    *ret = DECISION_FILTER_ANY;
    if (!value.ptr)
        return true;
    for (int i = 0; i < _OUTCOME_MAX; i++)
        if (str_is(value, outcome_name((OutcomeKind)i)))
            *ret = i;
    if (str_is(value, "error"))
        *ret = DECISION_FILTER_ERROR;
    if (str_is(value, "none-passed"))
        *ret = DECISION_FILTER_NONE_PASSED;
    if (*ret != DECISION_FILTER_ANY)
        return true;
    (void)snprintf(error, QUERY_ERROR_MAX,
        "\"outcome\" must be passed, rejected, unknown, narrowed, late, scored, not-asked, "
        "none-passed or error");
    return false;
}

static bool read_verb(Str value, int *ret, char *error) {
    *ret = -1;
    if (!value.ptr)
        return true;
    for (int i = 0; i < _VERB_MAX; i++)
        if (str_is(value, verb_name((Verb)i)))
            *ret = i;
    if (*ret >= 0)
        return true;
    (void)snprintf(error, QUERY_ERROR_MAX, "\"verb\" must be filter, prioritize, preempt or bind");
    return false;
}

/* "FIRST/SECOND", or "SECOND" alone. */
static bool read_pair(
    Str value, Str *first, Str *second, const char *name, const char *filter, char *error) {
    size_t slash = str_find(value, '/');

    *first = *second = STR_NULL;
    if (!value.ptr)
        return true;
    if (slash != SIZE_MAX)
        *first = str_take(value, slash);
    *second = slash == SIZE_MAX ? value : str_skip(value, slash + 1);
    if (!str_is_empty(*second) && !(first->ptr && str_is_empty(*first)) &&
        str_find(*second, '/') == SIZE_MAX)
        return true;
    (void)snprintf(error, QUERY_ERROR_MAX, "\"%s\" must be %s", name, filter);
    return false;
}

static bool read_rule(const Query *query, DecisionFilter *ret, char *error) {
    return read_pair(query_get(query, STR("rule")), &ret->policy, &ret->rule, "rule",
        "POLICY/RULE, or RULE", error);
}

bool decision_filter_read(const Query *query, DecisionFilter *ret, char *error) {
    *ret = (DecisionFilter){
        .uid = query_get(query, STR("uid")), .node = query_get(query, STR("node"))};
    if (!read_pair(query_get(query, STR("pod")), &ret->namespace, &ret->name, "pod",
            "NAMESPACE/NAME, or NAME", error) ||
        !read_rule(query, ret, error) ||
        !read_outcome(query_get(query, STR("outcome")), &ret->outcome, error) ||
        !read_verb(query_get(query, STR("verb")), &ret->verb, error))
        return false;
    if (ret->outcome == OUTCOME_NOT_ASKED && !ret->node.ptr) {
        (void)snprintf(error, QUERY_ERROR_MAX, "\"outcome=not-asked\" needs \"node\"");
        return false;
    }
    return true;
}

bool decision_filter_read_nodes(const Query *query, DecisionFilter *ret, char *error) {
    *ret = (DecisionFilter){.verb = -1, .node = query_get(query, STR("node"))};
    if (!read_rule(query, ret, error) ||
        !read_outcome(query_get(query, STR("outcome")), &ret->outcome, error))
        return false;
    if (ret->outcome <= DECISION_FILTER_ANY && ret->outcome != OUTCOME_NOT_ASKED)
        return true;
    (void)snprintf(error, QUERY_ERROR_MAX,
        "\"outcome\" of nodes must be passed, rejected, unknown, narrowed, late or scored");
    return false;
}

/* --- which are meant ------------------------------------------------------------------------ */

static bool fits(Str filter, Str has) {
    return !filter.ptr || str_eq(filter, has);
}

static bool rule_fits(const DecisionFilter *filter, const RuleName *rule) {
    return fits(filter->policy, rule->policy) && fits(filter->rule, rule->name);
}

/* Whether the summary alone shows that some node has this outcome. */
static bool has_outcome(const PastDecision *past, int outcome) {
    bool is_good = str_is_empty(past->error);

    switch (outcome) {
    case DECISION_FILTER_ANY:
        return true;
    case DECISION_FILTER_ERROR:
        return !is_good;
    case DECISION_FILTER_NONE_PASSED:
        return is_good && past->verb == VERB_FILTER && past->summary.n_in > 0 &&
               past->summary.n_out == 0;
    case OUTCOME_PASSED:
        return is_good && past->verb != VERB_PRIORITIZE && past->summary.n_out > 0;
    case OUTCOME_REJECTED:
        return past->summary.n_rejected > 0;
    case OUTCOME_UNKNOWN:
        return past->summary.n_unknown > 0;
    case OUTCOME_NARROWED:
        return past->summary.n_narrowed > 0;
    case OUTCOME_LATE:
        return past->summary.n_late > 0;
    case OUTCOME_SCORED:
        return is_good && past->verb == VERB_PRIORITIZE;
    default:
        return false;
    }
}

static bool has_rule(const PastDecision *past, const DecisionFilter *filter) {
    bool found = !filter->rule.ptr;

    for (size_t i = 0; !found && i < past->n_rules; i++)
        found = rule_fits(filter, past_rule(past, i));
    return found;
}

bool decision_filter_matches(const DecisionFilter *filter, const PastDecision *past) {
    bool by_node = filter->node.ptr && filter->outcome < _OUTCOME_MAX;

    return (filter->verb < 0 || (int)past->verb == filter->verb) &&
           fits(filter->namespace, past->pod_namespace) && fits(filter->name, past->pod_name) &&
           fits(filter->uid, past->pod_uid) && has_rule(past, filter) &&
           (by_node || has_outcome(past, filter->outcome));
}

bool decision_filter_matches_outcome(
    const DecisionFilter *filter, const PastDecision *past, Outcome outcome) {
    const RuleName *rule = past_rule_of(past, outcome);

    if (filter->outcome < _OUTCOME_MAX ? (int)outcome.kind != filter->outcome
                                       : outcome.kind == OUTCOME_NOT_ASKED)
        return false;
    return !filter->rule.ptr || (rule && rule_fits(filter, rule));
}

bool decision_filter_matches_bind(const DecisionFilter *filter, const PastDecision *past) {
    return !filter->rule.ptr && str_eq(past->node, filter->node) &&
           (filter->outcome >= _OUTCOME_MAX || has_outcome(past, filter->outcome));
}
