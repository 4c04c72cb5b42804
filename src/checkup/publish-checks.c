/* Checks of published filters and their objects, of the CustomResourceDefinition, and of the
 * webhook for policies. */

#include <assert.h>
#include <inttypes.h>

#include "checkup/verdict.h"

void judge_publish_works(const CheckSubject *at, Verdict *verdict) {
    size_t n_rules = 0, n_enabled = 0, n_writers = 0;

    FOR_ALL_BERTHS (berth, at->facts) {
        n_rules += berth->n_published;
        n_enabled += berth->has_publish;
        n_writers += berth->is_publish_writer;
    }
    if (!berth_expect(at->facts, verdict))
        return;
    if (n_rules == 0)
        verdict_skip(verdict, "no policy publishes a filter");
    else if (n_enabled == 0)
        verdict_fail(verdict, "berth serve --publish ...   # helm: publish.enabled=true",
            "policies publish filters, and no berth runs with --publish");
    else if (n_writers == 0)
        verdict_warn(verdict, "kubectl -n berth-system get lease -o wide",
            "no replica holds the lease of --publish-lease");
    else if (n_writers > 1)
        verdict_warn(verdict, "berth serve --publish-lease berth-system/berth-publish ...",
            "%zu berths write: they do twice the work", n_writers);
}

#define ADMISSION_FIX                                                                              \
    "berth config --admission --policy FILE | kubectl apply -f -   # helm: publish.objects"

/* Why one kind could not be listed; empty: all could. */
static Str admission_error(const InstallationFacts *facts) {
    for (size_t i = 0; i < _ADMISSION_SOURCES; i++)
        if (!facts->admission[i].is_known)
            return facts->admission[i].error;
    return STR_NULL;
}

static void judge_object(
    const InstallationFacts *facts, const AdmissionFact *wanted, Verdict *verdict) {
    const AdmissionFact *found[_ADMISSION_SOURCES] = {NULL};
    Str name = wanted->name;
    bool is_kyverno, is_native;

    for (size_t i = 0; i < _ADMISSION_SOURCES; i++)
        for (size_t k = 0; !found[i] && k < facts->admission[i].n; k++)
            if (str_eq(facts->admission[i].items[k].name, name))
                found[i] = &facts->admission[i].items[k];
    is_kyverno = found[ADMISSION_BY_KYVERNO];
    is_native = found[ADMISSION_POLICIES] && found[ADMISSION_BINDINGS];
    if ((is_kyverno && str_eq(found[ADMISSION_BY_KYVERNO]->digest, wanted->digest)) ||
        (is_native && str_eq(found[ADMISSION_POLICIES]->digest, wanted->digest)))
        return;
    if (is_kyverno || is_native)
        verdict_fail(verdict, ADMISSION_FIX,
            "%.*s was made for other policies than those in force, or by another "
            "version of berth",
            STR_FMT(name));
    else if (!str_is_empty(admission_error(facts)))
        verdict_skip(verdict, "they cannot be listed: %.*s", STR_FMT(admission_error(facts)));
    else if (found[ADMISSION_POLICIES])
        verdict_fail(
            verdict, ADMISSION_FIX, "%.*s has no MutatingAdmissionPolicyBinding", STR_FMT(name));
    else
        verdict_warn(verdict, ADMISSION_FIX,
            "%.*s is missing: pods must do by themselves what it does", STR_FMT(name));
}

/* Whether an earlier berth needs it, too: then it has been reported. */
static bool was_reported(const InstallationFacts *facts, const BerthFact *until, Str name) {
    for (const BerthFact *berth = NULL; (berth = berth_next(facts, berth)) && berth != until;)
        for (size_t i = 0; i < berth->n_admission; i++)
            if (str_eq(berth->admission[i].name, name))
                return true;
    return false;
}

void judge_admission_matches(const CheckSubject *at, Verdict *verdict) {
    size_t n = 0;

    FOR_EACH_BERTH (berth, at->facts, verdict)
        n += berth->n_admission;
    if (berth_count(at->facts) == 0 ||
        !verdict_expect(verdict, n > 0, "no policy publishes a filter") ||
        !cluster_expect(at->facts, verdict))
        return;
    FOR_ALL_BERTHS (berth, at->facts)
        for (size_t i = 0; i < berth->n_admission; i++)
            if (!was_reported(at->facts, berth, berth->admission[i].name))
                judge_object(at->facts, &berth->admission[i], verdict);
}

#define DEFINITION_FIX "berth check --crd | kubectl apply --server-side -f -"

/* A berth with --policies-from-cluster; NULL, after a skip: none, or the cluster is unknown. */
static const BerthFact *expect_policies(const InstallationFacts *facts, Verdict *verdict) {
    const BerthFact *berth = BERTH_WITH(facts, has_cluster_policies);

    return berth_expect(facts, verdict) &&
                   verdict_expect(verdict, berth, "no berth runs with --policies-from-cluster") &&
                   cluster_expect(facts, verdict)
               ? berth
               : NULL;
}

void judge_definition_matches(const CheckSubject *at, Verdict *verdict) {
    const ObjectsFact *found = &at->facts->definition;
    const BerthFact *berth = expect_policies(at->facts, verdict);

    if (!berth)
        return;
    if (!found->is_known)
        verdict_skip(verdict, "it cannot be read: %.*s", STR_FMT(found->error));
    else if (found->n == 0)
        verdict_fail(verdict, DEFINITION_FIX, "there is none");
    else if (!str_eq(found->items[0].digest, berth->definition))
        verdict_warn(verdict, DEFINITION_FIX, "it is of another version of berth, or was changed");
}

void judge_webhook_answered(const CheckSubject *at, Verdict *verdict) {
    const TrialFact *trial = &at->facts->trial;

    if (!expect_policies(at->facts, verdict))
        return;
    if (trial->result == TRIAL_UNKNOWN)
        verdict_skip(verdict, "a policy cannot be tried: %.*s", STR_FMT(trial->text));
    else if (trial->result == TRIAL_BLOCKED)
        verdict_fail(verdict,
            "kubectl delete validatingwebhookconfiguration berth-policies   # until it works; "
            "policies in force are not affected",
            "no policy can be created or changed: %.*s", STR_FMT(trial->text));
    else if (trial->result == TRIAL_STORED && BERTH_WITH(at->facts, answers_reviews))
        verdict_warn(verdict,
            "kubectl get validatingwebhookconfigurations -o wide   # berth's: is it there? Its "
            "caBundle, Service and path decide whether berth is reached",
            "berth runs with --admission-listen, and the API server stores a policy with a "
            "mistake: no webhook has it ask berth, or calls fail (failurePolicy: Ignore)");
    else if (trial->result == TRIAL_STORED)
        verdict_skip(verdict, "no webhook checks policies before they are stored");
}

#define OVERLAY_FIX "berth config --node-overlay NODEPOOL --policy FILE | kubectl apply -f -"

static void judge_slots(const OverlaysFact *overlays, const SlotFact *slots, Verdict *verdict) {
    bool is_there = false, is_same = true;

    for (size_t i = 0; i < overlays->n_slots; i++) {
        if (!str_eq(overlays->slots[i].resource, slots->resource))
            continue;
        is_there = true;
        is_same &= overlays->slots[i].limit == slots->limit;
    }
    if (!is_there)
        verdict_warn(verdict, OVERLAY_FIX, "no NodeOverlay has %.*s", STR_FMT(slots->resource));
    else if (!is_same)
        verdict_fail(verdict, OVERLAY_FIX,
            "a NodeOverlay has another number of %.*s than the limit, %" PRId64,
            STR_FMT(slots->resource), slots->limit);
}

void judge_overlays_match(const CheckSubject *at, Verdict *verdict) {
    const OverlaysFact *overlays = &at->facts->overlays;
    const BerthFact *berth = berth_next(at->facts, NULL);

    while (berth && berth->n_slots == 0)
        berth = berth_next(at->facts, berth);
    if (!berth_expect(at->facts, verdict) ||
        !verdict_expect(verdict, berth, "no policy publishes slots") ||
        !cluster_expect(at->facts, verdict))
        return;
    assert(berth);
    if (!overlays->objects.is_known)
        verdict_skip(verdict, "they cannot be listed: %.*s", STR_FMT(overlays->objects.error));
    else if (!overlays->objects.has_kind)
        verdict_skip(verdict, "the cluster has no NodeOverlays of Karpenter");
    else
        for (size_t i = 0; i < berth->n_slots; i++)
            judge_slots(overlays, &berth->slots[i], verdict);
}
