/* Copies the summary of a decision into one block of memory. */

#include "history/past.h"

#include <stdlib.h>

#include "base/utf8.h"

static void fill_rules(
    const Decision *decision, size_t n_filters, RuleCount *rules, RulePlaces *places) {
    size_t n = 0;

    memset(places, OUTCOME_NO_RULE, sizeof(*places));
    for (size_t i = 0; i < n_filters; i++) {
        RuleCount count = rule_count_of(decision, i);

        if (rule_count_is_zero(count))
            continue;
        if (n < OUTCOMES_RULES_MAX)
            places->of[i] = (uint8_t)n;
        rules[n++] = count;
    }
}

/* Copies @head with its texts into one block. The caller fills in its rules. */
static PastDecision *copy_of(const PastDecision *head, RuleCount **ret_rules) {
    size_t rules = head->n_rules * sizeof(RuleCount);
    size_t bytes = sizeof(*head) + rules + head->pod_namespace.len + head->pod_name.len +
                   head->pod_uid.len + head->node.len + head->nominated.len + head->error.len;
    PastDecision *past = malloc(bytes);
    char *at = (char *)(past + 1) + rules;

    if (!past)
        return NULL;
    memcpy(past, head, sizeof(*past));
    past->bytes = bytes;
    past->rules = *ret_rules = (RuleCount *)(void *)(past + 1);
    past->pod_namespace = str_carve(&at, past->pod_namespace);
    past->pod_name = str_carve(&at, past->pod_name);
    past->pod_uid = str_carve(&at, past->pod_uid);
    past->node = str_carve(&at, past->node);
    past->nominated = str_carve(&at, past->nominated);
    past->error = str_carve(&at, past->error);
    rule_names_ref(past->rule_names);
    return past;
}

PastDecision *past_new(uint64_t id, const View *view, Verb verb, const Decision *decision,
    PastTimes times, RuleNames *rule_names, RulePlaces *ret_places) {
    Str pod = str_trim(decision->pod_text);
    PastDecision head = {
        .ref = REF_ONE,
        .id = id,
        .verb = verb,
        .at_nsec = times.at_nsec,
        .duration_nsec = times.duration_nsec,
        /* still texts of the request */
        .pod_namespace = utf8_take(decision->pod_namespace, PAST_NAME_MAX),
        .pod_name = utf8_take(decision->pod_name, PAST_NAME_MAX),
        .pod_uid = utf8_take(decision->pod_uid, PAST_UID_MAX),
        .node = utf8_take(decision->node, PAST_NAME_MAX),
        .nominated = utf8_take(decision_nominated(decision), PAST_NAME_MAX),
        .error = utf8_take(decision->error, PAST_ERROR_MAX),
        .pod_digest = str_is_empty(pod) ? DIGEST_NONE : digest_of(pod),
        .generation = view->generation,
        .n_known = view->table->names->n_nodes,
        .summary = decision->summary,
        .is_exempt = decision->notes.is_exempt,
        .had_names = decision->args && decision->args->has_names,
        .rule_names = rule_names,
    };
    PastDecision *past;
    RuleCount *rules;

    for (size_t i = 0; i < rule_names->n_rules; i++)
        head.n_rules += !rule_count_is_zero(rule_count_of(decision, i));
    past = copy_of(&head, &rules);
    if (past)
        fill_rules(decision, rule_names->n_rules, rules, ret_places);
    return past;
}

PastDecision *past_load(const PastDecision *stored, const RuleCount *rules, size_t n_rules) {
    PastDecision head = *stored, *past;
    RuleCount *copies;

    head.ref = REF_ONE;
    head.n_rules = n_rules;
    past = copy_of(&head, &copies);
    if (past && n_rules > 0)
        memcpy(copies, rules, n_rules * sizeof(*rules));
    return past;
}

/* Whether rule @i describes the decision better than @rule, which rejected @most nodes. */
static bool is_closer(const PastDecision *past, size_t i, const RuleName *rule, uint32_t most) {
    const RuleName *other = past_rule(past, i);

    if (past->rules[i].rejected == 0 || !rule)
        return past->rules[i].rejected > 0;
    if (past->summary.n_out > 0)
        return past->rules[i].rejected > most;
    /* Nodes that the last permanent rule rejects have passed the other permanent rules. */
    return rule->is_permanent || (!other->is_permanent && past->rules[i].rejected > most);
}

const RuleName *past_main_rule(const PastDecision *past) {
    const RuleName *rule = NULL;
    uint32_t most = 0;

    if (past_main(past))
        return &past->rule_names->rules[past_main(past)->filter];
    for (size_t i = 0; i < past->n_rules; i++) {
        if (!is_closer(past, i, rule, most))
            continue;
        most = past->rules[i].rejected;
        rule = past_rule(past, i);
    }
    return rule;
}

static void print_nodes(Buf *out, size_t n) {
    buf_append_grouped(out, n);
    buf_append(out, n == 1 ? STR(" node: ") : STR(" nodes: "));
}

static void print_never(const PastDecision *past, const MainReason *main, Buf *out) {
    buf_append(out, STR(" · "));
    print_nodes(out, main->n_never);
    if (str_is_empty(main->never_resource))
        buf_append(out, past->rule_names->rules[main->never_filter].reason);
    else
        buf_printf(out, "not the %.*s that it requests", STR_FMT(main->never_resource));
}

void past_print_reason(const PastDecision *past, Buf *out) {
    const RuleName *rule = past_main_rule(past);
    const MainReason *main = past_main(past);
    size_t n_others;

    if (!rule)
        return;
    if (main && main->n_nodes < past->summary.n_in)
        print_nodes(out, main->n_nodes);
    buf_append(out, rule->reason);
    if (!main)
        return;
    n_others = past->summary.n_in - main->n_nodes - main->n_never;
    if (main->n_never > 0)
        print_never(past, main, out);
    if (n_others > 0) {
        buf_append(out, STR(" · "));
        print_nodes(out, n_others);
        buf_append(out, STR("other reasons"));
    }
}

bool past_set_main(PastDecision *past, const MainReason *reason) {
    Str resource = utf8_take(reason->never_resource, PAST_NAME_MAX);
    MainReason *main = past_main(past) ? NULL : malloc(sizeof(*main) + resource.len);
    char *at = (char *)(main + 1);

    if (!main)
        return false;
    *main = *reason;
    main->never_resource = str_carve(&at, resource);
    past->bytes += sizeof(*main) + resource.len;
    atomic_store(&past->main, main);
    return true;
}

PastDecision *past_unref(PastDecision *past) {
    if (past && ref_drop(&past->ref)) {
        free(atomic_load(&past->main));
        rule_names_unref(past->rule_names);
        free(past);
    }
    return NULL;
}

/* --- names of rules --------------------------------------------------------------------------- */

RuleNames *rule_names_load(const RuleName *rules, size_t n, Digest digest) {
    size_t head = sizeof(RuleNames) + n * sizeof(RuleName), bytes = head;
    RuleNames *rule_names;
    char *at;

    for (size_t i = 0; i < n; i++)
        bytes += rules[i].policy.len + rules[i].name.len + rules[i].reason.len;
    rule_names = malloc(bytes);
    if (!rule_names)
        return NULL;
    *rule_names = (RuleNames){.ref = REF_ONE, .digest = digest, .bytes = bytes, .n_rules = n};
    at = (char *)rule_names + head;
    for (size_t i = 0; i < n; i++)
        rule_names->rules[i] = (RuleName){
            .policy = str_carve(&at, rules[i].policy),
            .name = str_carve(&at, rules[i].name),
            .reason = str_carve(&at, rules[i].reason),
            .is_unresolvable = rules[i].is_unresolvable,
            .is_permanent = rules[i].is_permanent,
        };
    return rule_names;
}

static RuleName name_of(const Filter *filter) {
    return (RuleName){
        .policy = filter->policy->name,
        .name = filter->name,
        .reason = filter->reason,
        .is_unresolvable = filter->is_unresolvable,
        .is_permanent = filter->is_permanent,
    };
}

RuleNames *rule_names_new(const Program *program) {
    RuleName *rules = calloc(program->n_filters + 1, sizeof(*rules));
    RuleNames *rule_names;

    if (!rules)
        return NULL;
    for (size_t i = 0; i < program->n_filters; i++)
        rules[i] = name_of(program->filters[i]);
    rule_names = rule_names_load(rules, program->n_filters, program->digest);
    free(rules);
    return rule_names;
}

RuleNames *rule_names_unref(RuleNames *rule_names) {
    if (rule_names && ref_drop(&rule_names->ref))
        free(rule_names);
    return NULL;
}
