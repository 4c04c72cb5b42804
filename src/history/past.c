/* Copies the headline of a decision into one block. */

#include "history/past.h"

#include <stdlib.h>

#include "base/utf8.h"

static uint32_t count_at(const uint32_t *counts, size_t i) {
    return counts ? counts[i] : 0;
}

static RuleCount count_of(const Decision *decision, size_t i) {
    return (RuleCount){
        .number = (uint16_t)i,
        .rejected = count_at(decision->rejected, i),
        .observed = count_at(decision->observed, i),
        .failed = count_at(decision->notes.filter_errors, i),
        .missing = count_at(decision->notes.filter_missing, i),
    };
}

static bool has_spoken(RuleCount count) {
    return count.rejected > 0 || count.observed > 0 || count.failed > 0 || count.missing > 0;
}

static size_t count_rules(const Decision *decision, size_t n_filters) {
    size_t n = 0;

    for (size_t i = 0; i < n_filters; i++)
        n += has_spoken(count_of(decision, i));
    return n;
}

static void fill_rules(
    const Decision *decision, size_t n_filters, RuleCount *rules, RulePlaces *places) {
    size_t n = 0;

    memset(places, OUTCOME_NO_RULE, sizeof(*places));
    for (size_t i = 0; i < n_filters; i++) {
        RuleCount count = count_of(decision, i);

        if (!has_spoken(count))
            continue;
        if (n < OUTCOMES_RULES_MAX)
            places->of[i] = (uint8_t)n;
        rules[n++] = count;
    }
}

static void put(char **at, Str *text) {
    if (text->len > 0)
        memcpy(*at, text->ptr, text->len);
    text->ptr = *at;
    *at += text->len;
}

/* Texts, still those of the request. */
static void set_texts(PastDecision *past, const Decision *decision) {
    past->pod_namespace = utf8_take(decision->pod_namespace, PAST_NAME_MAX);
    past->pod_name = utf8_take(decision->pod_name, PAST_NAME_MAX);
    past->pod_uid = utf8_take(decision->pod_uid, PAST_UID_MAX);
    past->node = utf8_take(decision->node, PAST_NAME_MAX);
    past->error = utf8_take(decision->error, PAST_ERROR_MAX);
}

/* The copy that is kept: @head, its rules and its texts in one piece. */
static PastDecision *copy_of(
    const PastDecision *head, const Decision *decision, RulePlaces *ret_places) {
    size_t rules = head->n_rules * sizeof(RuleCount);
    size_t bytes = sizeof(*head) + rules + head->pod_namespace.len + head->pod_name.len +
                   head->pod_uid.len + head->node.len + head->error.len;
    PastDecision *past = malloc(bytes);
    RuleCount *counts = (RuleCount *)(void *)(past + 1);
    char *at = (char *)(past + 1) + rules;

    if (!past)
        return NULL;
    memcpy(past, head, sizeof(*past));
    past->bytes = bytes;
    past->rules = counts;
    fill_rules(decision, head->rule_names->n_rules, counts, ret_places);
    put(&at, &past->pod_namespace);
    put(&at, &past->pod_name);
    put(&at, &past->pod_uid);
    put(&at, &past->node);
    put(&at, &past->error);
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
        .pod_digest = str_is_empty(pod) ? DIGEST_NONE : digest_of(pod),
        .generation = view->generation,
        .n_known = view->table->names->n_nodes,
        .summary = decision->summary,
        .is_exempt = decision->notes.is_exempt,
        .had_names = decision->args && decision->args->has_names,
        .rule_names = rule_names,
        .n_rules = count_rules(decision, rule_names->n_rules),
    };

    set_texts(&head, decision);
    return copy_of(&head, decision, ret_places);
}

const RuleName *past_main_rule(const PastDecision *past) {
    const RuleName *rule = NULL;
    uint32_t most = 0;

    for (size_t i = 0; i < past->n_rules; i++) {
        if (past->rules[i].rejected <= most)
            continue;
        most = past->rules[i].rejected;
        rule = past_rule(past, i);
    }
    return rule;
}

PastDecision *past_unref(PastDecision *past) {
    if (past && ref_drop(&past->ref)) {
        rule_names_unref(past->rule_names);
        free(past);
    }
    return NULL;
}
