/* Checks of the verbs, the weight, nodeCacheCapable and ignorable. */

#include <stdio.h>

#include "checkup/verdict.h"
#include "wiring/verb.h"

#define PATH_MAX_LEN 1024u /* of URL and verb; only the end of a longer URL is compared */

#define WEIGHT_DOMINATES 13 /* up to 1300 points; the default plugins give up to 1200 */
#define SHARE_NOTICEABLE 0.10
#define SCORE_USUAL 10         /* the protocol's range of scores: 0 to 10 */
#define RELEASE_EMPTY_NODES 33 /* from 1.33 on, nodes of extenders' replies look empty */

void judge_filter_verb(const CheckSubject *at, Verdict *verdict) {
    static const char fix[] = "filterVerb: filter";

    if (!str_is_empty(at->entry->filter_verb))
        return;
    if (!str_is_empty(at->entry->bind_verb))
        verdict_fail(verdict, fix,
            "%s: bindVerb without filterVerb: berth binds only what a filter has passed",
            at->where);
    else if (berth_expect(at->facts, verdict) && BERTH_WITH(at->facts, has_filters))
        verdict_fail(verdict, fix, "%s: no filterVerb, and there are filters", at->where);
}

void judge_prioritize_verb(const CheckSubject *at, Verdict *verdict) {
    bool has_scores = BERTH_WITH(at->facts, has_scores);

    if (!entry_expect(at->facts, verdict) || !berth_expect(at->facts, verdict))
        return;
    FOR_EACH_ENTRY (found, at->facts) {
        bool is_set = !str_is_empty(found.entry->prioritize_verb);

        if (has_scores && !is_set)
            verdict_fail(verdict, "prioritizeVerb: prioritize, weight: 5",
                "%s: no prioritizeVerb, and there are scores", found.where);
        else if (is_set && !has_scores)
            verdict_warn(verdict, "leave prioritizeVerb out, or write a policy with scores",
                "%s: prioritizeVerb is set, and no policy scores: every pod waits for one more "
                "reply",
                found.where);
    }
}

void judge_preempt_verb(const CheckSubject *at, Verdict *verdict) {
    if (!str_is_empty(at->entry->filter_verb) && str_is_empty(at->entry->preempt_verb))
        verdict_warn(verdict, "preemptVerb: preempt",
            "%s: filterVerb without preemptVerb: pods may be evicted from nodes that berth's "
            "filters refuse",
            at->where);
}

void judge_bind_verb(const CheckSubject *at, Verdict *verdict) {
    bool is_set = !str_is_empty(at->entry->bind_verb);

    FOR_EACH_BERTH (berth, at->facts, verdict) {
        if (is_set && !berth->answers_bind)
            verdict_fail(verdict, "berth serve --bind ...   # or leave bindVerb out",
                "%s: bindVerb is set, and %.*s does not bind", at->where, STR_FMT(berth->url));
        else if (!is_set && berth->answers_bind)
            verdict_warn(verdict,
                "bindVerb: bind, httpTimeout: 15s   # or berth serve without --bind",
                "%s: %.*s would bind, and bindVerb is not set", at->where, STR_FMT(berth->url));
    }
}

void judge_sole_binder(const CheckSubject *at, Verdict *verdict) {
    const SchedulerConfig *config = &at->config->config;
    bool is_ours = !str_is_empty(at->entry->bind_verb) || BERTH_WITH(at->facts, answers_bind);

    for (size_t i = 0; i < config->n_extenders && is_ours; i++)
        if (i != at->config->berth_index && !str_is_empty(config->extenders[i].bind_verb))
            verdict_fail(verdict, "leave bindVerb out of one of them",
                "%s: berth binds, and so does extender %zu, %.*s", at->where, i + 1,
                STR_FMT(config->extenders[i].url_prefix));
}

/* kube-scheduler calls urlPrefix + "/" + the verb, which may have a query. */
static WiringVerb verb_called(const ExtenderEntry *entry, Str verb) {
    size_t query = str_find(verb, '?');
    char path[PATH_MAX_LEN];
    Str prefix = entry->url_prefix;
    int n;

    verb = str_take(verb, query == SIZE_MAX ? verb.len : query);
    if (prefix.len > sizeof(path) / 2)
        prefix = str_skip(prefix, prefix.len - sizeof(path) / 2);
    n = snprintf(path, sizeof(path), "%.*s/%.*s", STR_FMT(prefix), STR_FMT(verb));
    return n < (int)sizeof(path) ? wiring_verb_find(str_of(path, (size_t)n)) : WIRING_NO_VERB;
}

static void judge_verb_name(
    const CheckSubject *at, const char *field, Str name, WiringVerb wanted, Verdict *verdict) {
    WiringVerb called = str_is_empty(name) ? wanted : verb_called(at->entry, name);

    if (called == wanted)
        return;
    if (called == WIRING_NO_VERB)
        verdict_fail(verdict, NULL, "%s: %s: %.*s: berth answers 404 there", at->where, field,
            STR_FMT(name));
    else
        verdict_fail(verdict, NULL, "%s: %s: %.*s: berth takes that for %.*s", at->where, field,
            STR_FMT(name), STR_FMT(wiring_verb_name(called)));
    verdict_fix(verdict, "%s: %.*s", field, STR_FMT(wiring_verb_name(wanted)));
}

void judge_verb_names(const CheckSubject *at, Verdict *verdict) {
    const ExtenderEntry *entry = at->entry;

    judge_verb_name(at, "filterVerb", entry->filter_verb, WIRING_FILTER, verdict);
    judge_verb_name(at, "prioritizeVerb", entry->prioritize_verb, WIRING_PRIORITIZE, verdict);
    judge_verb_name(at, "preemptVerb", entry->preempt_verb, WIRING_PREEMPT, verdict);
    judge_verb_name(at, "bindVerb", entry->bind_verb, WIRING_BIND, verdict);
}

static void judge_weight_of(const CheckSubject *at, Verdict *verdict) {
    static const char fix[] = "weight: 5   # at most 29 %";
    int64_t weight = at->entry->weight, range = SCORE_USUAL, effective;
    double share;

    /* A larger range of scores counts like a larger weight. */
    FOR_ALL_BERTHS (berth, at->facts)
        range = berth->max_score > range ? berth->max_score : range;
    effective =
        __builtin_mul_overflow(weight, range, &effective) ? INT64_MAX : effective / SCORE_USUAL;
    if (weight <= 0) {
        verdict_fail(verdict, "weight: 5",
            "%s: weight %lld with prioritizeVerb: kube-scheduler refuses that", at->where,
            (long long)weight);
        return;
    }
    share = wiring_weight_share(effective);
    verdict_note(verdict, "%s: weight %lld is at most %.0f %% of a node's total%s", at->where,
        (long long)weight, 100 * share, effective > weight ? ", as scores go beyond 10" : "");
    if (effective >= WEIGHT_DOMINATES)
        verdict_warn(verdict, fix, "more than all of kube-scheduler's own scores together");
    else if (share < SHARE_NOTICEABLE)
        verdict_warn(verdict, fix, "a hint at best");
}

void judge_weight(const CheckSubject *at, Verdict *verdict) {
    size_t n = 0;

    FOR_EACH_ENTRY (found, at->facts) {
        if (str_is_empty(found.entry->prioritize_verb))
            continue;
        judge_weight_of(&found, verdict);
        n++;
    }
    if (n == 0 && entry_expect(at->facts, verdict))
        verdict_skip(verdict, "prioritizeVerb is not set: no weight counts");
}

void judge_node_cache(const CheckSubject *at, Verdict *verdict) {
    static const char fix[] = "nodeCacheCapable: true   # and berth serve --in-cluster";
    Str version = at->facts->cluster_version;

    if (at->entry->is_node_cache_capable) {
        FOR_ALL_BERTHS (berth, at->facts)
            if (!berth->knows_cluster)
                verdict_fail(verdict, "berth serve --in-cluster ...   # or --kubeconfig FILE",
                    "%s: names of nodes are sent, and %.*s knows no cluster", at->where,
                    STR_FMT(berth->url));
    } else if (release_minor(version) >= RELEASE_EMPTY_NODES)
        verdict_fail(verdict, fix,
            "%s: nodeCacheCapable is not true: %.*s takes every node for empty when it scores",
            at->where, STR_FMT(version));
    else
        verdict_warn(verdict, fix,
            "%s: nodeCacheCapable is not true: every question carries whole Node objects",
            at->where);
}

void judge_ignorable(const CheckSubject *at, Verdict *verdict) {
    if (!at->entry->is_ignorable)
        verdict_note(verdict,
            "%s: not ignorable: while no berth answers, no pod that is sent to it is placed",
            at->where);
    else if (str_is_empty(at->entry->bind_verb))
        verdict_note(verdict,
            "%s: ignorable: while no berth answers, pods are placed without its policies",
            at->where);
    else
        verdict_fail(verdict, "ignorable: false",
            "%s: ignorable with bindVerb: while no berth answers, kube-scheduler binds past "
            "its ledger",
            at->where);
}
