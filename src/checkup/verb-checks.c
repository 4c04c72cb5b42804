/* Checks of the verbs, the weight and ignorable. */

#include <stdio.h>

#include "checkup/berths.h"
#include "checkup/judges.h"
#include "wiring/verb.h"

#define PATH_MAX_LEN 1024u /* of what is compared, from the end */

#define WEIGHT_DOMINATES 13 /* over 1200 points, which is all that the default plugins have */
#define SHARE_AUDIBLE 0.10
#define SCORE_USUAL 10         /* the protocol's range of scores: 0 to 10 */
#define RELEASE_EMPTY_NODES 33 /* from 1.33 on whole nodes in answers look empty to plugins */

/* Features of at least one berth. */
typedef struct Offers {
    bool filters, scores, binds;
} Offers;

static Offers offers_of(const InstallationFacts *facts) {
    Offers offers = {.filters = false};

    FOR_ALL_BERTHS (berth, facts) {
        offers.filters |= berth->has_filters;
        offers.scores |= berth->has_scores;
        offers.binds |= berth->answers_bind;
    }
    return offers;
}

/* --- verbs ---------------------------------------------------------------------------------- */

static void judge_no_filter_verb(
    const InstallationFacts *facts, const BerthEntry *found, Verdict *verdict) {
    if (!str_is_empty(found->entry->bind_verb))
        verdict_fail(verdict,
            "%s: bindVerb without filterVerb: berth binds only what a filter has passed",
            found->where);
    else if (!berth_expect(facts, verdict) || !offers_of(facts).filters)
        return;
    else
        verdict_fail(verdict, "%s: no filterVerb, and there are filters", found->where);
    verdict_fix(verdict, "filterVerb: filter");
}

void judge_filter_verb(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_ENTRY (found, facts, verdict)
        if (str_is_empty(found.entry->filter_verb))
            judge_no_filter_verb(facts, &found, verdict);
}

void judge_prioritize_verb(const InstallationFacts *facts, Verdict *verdict) {
    bool has_scores = offers_of(facts).scores;

    if (!berth_entry_expect(facts, verdict) || !berth_expect(facts, verdict))
        return;
    FOR_EACH_ENTRY (found, facts, verdict) {
        bool is_set = !str_is_empty(found.entry->prioritize_verb);

        if (has_scores && !is_set) {
            verdict_fail(verdict, "%s: no prioritizeVerb, and there are scores", found.where);
            verdict_fix(verdict, "prioritizeVerb: prioritize, weight: 5");
        } else if (is_set && !has_scores) {
            verdict_warn(verdict,
                "%s: prioritizeVerb is set, and no policy scores: every pod waits for one more "
                "reply",
                found.where);
            verdict_fix(verdict, "leave prioritizeVerb out, or write a policy with scores");
        }
    }
}

void judge_preempt_verb(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_ENTRY (found, facts, verdict) {
        if (str_is_empty(found.entry->filter_verb) || !str_is_empty(found.entry->preempt_verb))
            continue;
        verdict_warn(verdict,
            "%s: filterVerb without preemptVerb: pods may be evicted from nodes that berth's "
            "filters refuse",
            found.where);
        verdict_fix(verdict, "preemptVerb: preempt");
    }
}

static void judge_bind_at(const BerthEntry *found, const BerthFact *berth, Verdict *verdict) {
    bool is_set = !str_is_empty(found->entry->bind_verb);

    if (is_set && !berth->answers_bind) {
        verdict_fail(verdict, "%s: bindVerb is set, and %.*s does not bind", found->where,
            STR_FMT(berth->url));
        verdict_fix(verdict, "berth serve --bind ...   # or leave bindVerb out");
    } else if (!is_set && berth->answers_bind) {
        verdict_warn(verdict, "%s: %.*s would bind, and bindVerb is not set", found->where,
            STR_FMT(berth->url));
        verdict_fix(verdict, "bindVerb: bind, httpTimeout: 15s   # or berth serve without --bind");
    }
}

void judge_bind_verb(const InstallationFacts *facts, Verdict *verdict) {
    pairs_judge(facts, judge_bind_at, verdict);
}

void judge_sole_binder(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_ENTRY (found, facts, verdict) {
        const SchedulerConfig *config = &found.fact->config;
        bool is_ours = !str_is_empty(found.entry->bind_verb) || offers_of(facts).binds;

        for (size_t i = 0; i < config->n_extenders && is_ours; i++) {
            if (i == found.fact->berth_index || str_is_empty(config->extenders[i].bind_verb))
                continue;
            verdict_fail(verdict, "%s: berth binds, and so does extender %zu, %.*s", found.where,
                i + 1, STR_FMT(config->extenders[i].url_prefix));
            verdict_fix(verdict, "leave bindVerb out of one of them");
        }
    }
}

/* --- their names ------------------------------------------------------------------------------ */

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
    const BerthEntry *found, const char *field, Str name, WiringVerb wanted, Verdict *verdict) {
    WiringVerb called = str_is_empty(name) ? wanted : verb_called(found->entry, name);

    if (called == wanted)
        return;
    if (called == WIRING_NO_VERB)
        verdict_fail(
            verdict, "%s: %s: %.*s: berth answers 404 there", found->where, field, STR_FMT(name));
    else
        verdict_fail(verdict, "%s: %s: %.*s: berth takes that for %.*s", found->where, field,
            STR_FMT(name), STR_FMT(wiring_verb_name(called)));
    verdict_fix(verdict, "%s: %.*s", field, STR_FMT(wiring_verb_name(wanted)));
}

void judge_verb_names(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_ENTRY (found, facts, verdict) {
        const ExtenderEntry *entry = found.entry;

        judge_verb_name(&found, "filterVerb", entry->filter_verb, WIRING_FILTER, verdict);
        judge_verb_name(
            &found, "prioritizeVerb", entry->prioritize_verb, WIRING_PRIORITIZE, verdict);
        judge_verb_name(&found, "preemptVerb", entry->preempt_verb, WIRING_PREEMPT, verdict);
        judge_verb_name(&found, "bindVerb", entry->bind_verb, WIRING_BIND, verdict);
    }
}

/* --- weight --------------------------------------------------------------------------------- */

/* Scores over the usual range count as a larger weight would. */
static int64_t effective_weight(const InstallationFacts *facts, int64_t weight) {
    int64_t range = SCORE_USUAL, product;

    FOR_ALL_BERTHS (berth, facts)
        if (berth->max_score > range)
            range = berth->max_score;
    return __builtin_mul_overflow(weight, range, &product) ? INT64_MAX : product / SCORE_USUAL;
}

static void judge_weight_of(
    const InstallationFacts *facts, const BerthEntry *found, Verdict *verdict) {
    int64_t weight = found->entry->weight, effective = effective_weight(facts, weight);
    double share = weight > 0 ? wiring_weight_share(effective) : 0;

    if (weight <= 0) {
        verdict_fail(verdict, "%s: weight %lld with prioritizeVerb: kube-scheduler refuses that",
            found->where, (long long)weight);
        verdict_fix(verdict, "weight: 5");
        return;
    }
    verdict_note(verdict, "%s: weight %lld is at most %.0f %% of a node's total%s", found->where,
        (long long)weight, 100 * share, effective > weight ? ", as scores go beyond 10" : "");
    if (effective >= WEIGHT_DOMINATES)
        verdict_warn(verdict, "more than all of kube-scheduler's own scores together");
    else if (share < SHARE_AUDIBLE)
        verdict_warn(verdict, "a hint at best");
    else
        return;
    verdict_fix(verdict, "weight: 5   # at most 29 %%");
}

void judge_weight(const InstallationFacts *facts, Verdict *verdict) {
    size_t n = 0;

    FOR_EACH_ENTRY (found, facts, verdict) {
        if (str_is_empty(found.entry->prioritize_verb))
            continue;
        judge_weight_of(facts, &found, verdict);
        n++;
    }
    if (n == 0)
        verdict_skip(verdict, "prioritizeVerb is not set: no weight counts");
}

/* --- names or nodes; without us ------------------------------------------------------------- */

static void judge_names_at(
    const InstallationFacts *facts, const BerthEntry *found, Verdict *verdict) {
    FOR_ALL_BERTHS (berth, facts) {
        if (berth->knows_cluster)
            continue;
        verdict_fail(verdict, "%s: names of nodes are sent, and %.*s knows no cluster",
            found->where, STR_FMT(berth->url));
        verdict_fix(verdict, "berth serve --in-cluster ...   # or --kubeconfig FILE");
    }
}

void judge_node_cache(const InstallationFacts *facts, Verdict *verdict) {
    bool is_new = release_minor(facts->cluster_version) >= RELEASE_EMPTY_NODES;

    FOR_EACH_ENTRY (found, facts, verdict) {
        if (found.entry->is_node_cache_capable) {
            judge_names_at(facts, &found, verdict);
            continue;
        }
        if (is_new)
            verdict_fail(verdict,
                "%s: nodeCacheCapable is not true: %.*s takes every node for empty when it scores",
                found.where, STR_FMT(facts->cluster_version));
        else
            verdict_warn(verdict,
                "%s: nodeCacheCapable is not true: every question carries whole Node objects",
                found.where);
        verdict_fix(verdict, "nodeCacheCapable: true   # and berth serve --in-cluster");
    }
}

void judge_ignorable(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_ENTRY (found, facts, verdict) {
        if (!found.entry->is_ignorable) {
            verdict_note(verdict,
                "%s: not ignorable: while no berth answers, no pod that is sent to it is placed",
                found.where);
        } else if (str_is_empty(found.entry->bind_verb)) {
            verdict_note(verdict,
                "%s: ignorable: while no berth answers, pods are placed without its policies",
                found.where);
        } else {
            verdict_fail(verdict,
                "%s: ignorable with bindVerb: while no berth answers, kube-scheduler binds past "
                "its ledger",
                found.where);
            verdict_fix(verdict, "ignorable: false");
        }
    }
}
