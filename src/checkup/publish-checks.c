/* What policies publish: that a berth writes it, that new pods use it, that Karpenter knows it. */

#include <inttypes.h>

#include "checkup/berths.h"
#include "checkup/judges.h"
#include "checkup/verdict.h"

/* --- the writer ------------------------------------------------------------------------------- */

void judge_publish_works(const InstallationFacts *facts, Verdict *verdict) {
    size_t n_rules = 0, n_enabled = 0, n_writers = 0;

    FOR_ALL_BERTHS (berth, facts) {
        n_rules += berth->n_published;
        n_enabled += berth->has_publish;
        n_writers += berth->is_publish_writer;
    }
    if (!berth_expect(facts, verdict))
        return;
    if (n_rules == 0) {
        verdict_skip(verdict, "no policy publishes a filter");
    } else if (n_enabled == 0) {
        verdict_fail(verdict, "policies publish filters, and no berth runs with --publish");
        verdict_fix(verdict, "berth serve --publish ...   # helm: publish.enabled=true");
    } else if (n_writers == 0) {
        verdict_warn(verdict, "no replica holds the lease of --publish-lease");
        verdict_fix(verdict, "kubectl -n berth-system get lease -o wide");
    } else if (n_writers > 1) {
        verdict_warn(verdict, "%zu berths write: they do twice the work", n_writers);
        verdict_fix(verdict, "berth serve --publish-lease berth-system/berth-publish ...");
    }
}

/* --- admission -------------------------------------------------------------------------------- */

#define ADMISSION_FIX                                                                              \
    "berth config --admission --policy FILE | kubectl apply -f -   # helm: publish.objects"

static const AdmissionFact *find_object(const ObjectsFact *objects, Str name) {
    for (size_t i = 0; i < objects->n; i++)
        if (str_eq(objects->items[i].name, name))
            return &objects->items[i];
    return NULL;
}

/* Why one kind could not be listed; empty: all could. */
static Str admission_error(const InstallationFacts *facts) {
    for (size_t i = 0; i < _ADMISSION_SOURCES; i++)
        if (!facts->admission[i].is_known)
            return facts->admission[i].error;
    return STR_NULL;
}

static void judge_object(
    const InstallationFacts *facts, const AdmissionFact *wanted, Verdict *verdict) {
    const AdmissionFact *found[_ADMISSION_SOURCES];
    Str name = wanted->name;
    bool is_kyverno, is_native;

    for (size_t i = 0; i < _ADMISSION_SOURCES; i++)
        found[i] = find_object(&facts->admission[i], name);
    is_kyverno = found[ADMISSION_BY_KYVERNO];
    is_native = found[ADMISSION_POLICIES] && found[ADMISSION_BINDINGS];
    if ((is_kyverno && str_eq(found[ADMISSION_BY_KYVERNO]->digest, wanted->digest)) ||
        (is_native && str_eq(found[ADMISSION_POLICIES]->digest, wanted->digest)))
        return;
    if (is_kyverno || is_native)
        verdict_fail(verdict,
            "%.*s was made for other policies than those in force, or by another "
            "version of berth",
            STR_FMT(name));
    else if (!str_is_empty(admission_error(facts))) {
        verdict_skip(verdict, "they cannot be listed: %.*s", STR_FMT(admission_error(facts)));
        return;
    } else if (found[ADMISSION_POLICIES])
        verdict_fail(verdict, "%.*s has no MutatingAdmissionPolicyBinding", STR_FMT(name));
    else
        verdict_warn(
            verdict, "%.*s is missing: pods must do by themselves what it does", STR_FMT(name));
    verdict_fix(verdict, ADMISSION_FIX);
}

/* Whether an earlier berth needs it, too: it is reported once. */
static bool was_reported(const InstallationFacts *facts, const BerthFact *until, Str name) {
    for (const BerthFact *berth = NULL; (berth = berth_next(facts, berth)) && berth != until;)
        for (size_t i = 0; i < berth->n_admission; i++)
            if (str_eq(berth->admission[i].name, name))
                return true;
    return false;
}

void judge_admission_matches(const InstallationFacts *facts, Verdict *verdict) {
    size_t n = 0;

    if (!berth_expect(facts, verdict))
        return;
    FOR_ALL_BERTHS (berth, facts)
        n += berth->n_admission;
    if (n == 0)
        verdict_skip(verdict, "no policy publishes a filter");
    if (n == 0 || !cluster_expect(facts, verdict))
        return;
    FOR_ALL_BERTHS (berth, facts)
        for (size_t i = 0; i < berth->n_admission; i++)
            if (!was_reported(facts, berth, berth->admission[i].name))
                judge_object(facts, &berth->admission[i], verdict);
}

/* --- PlacementPolicies ------------------------------------------------------------------------ */

#define DEFINITION_FIX "berth check --crd | kubectl apply --server-side -f -"

void judge_definition_matches(const InstallationFacts *facts, Verdict *verdict) {
    const ObjectsFact *found = &facts->definition;
    const BerthFact *berth = berth_next(facts, NULL);

    if (!berth_expect(facts, verdict))
        return;
    while (berth && !berth->has_cluster_policies)
        berth = berth_next(facts, berth);
    if (!berth)
        verdict_skip(verdict, "no berth runs with --policies-from-cluster");
    if (!berth || !cluster_expect(facts, verdict))
        return;
    if (!found->is_known) {
        verdict_skip(verdict, "it cannot be read: %.*s", STR_FMT(found->error));
    } else if (found->n == 0) {
        verdict_fail(verdict, "there is none");
        verdict_fix(verdict, DEFINITION_FIX);
    } else if (!str_eq(found->items[0].digest, berth->definition)) {
        verdict_warn(verdict, "it is of another version of berth, or was changed");
        verdict_fix(verdict, DEFINITION_FIX);
    }
}

/* --- Karpenter -------------------------------------------------------------------------------- */

static void judge_slots(const InstallationFacts *facts, const SlotFact *slots, Verdict *verdict) {
    const OverlaysFact *overlays = &facts->overlays;
    bool is_there = false, is_same = true;

    for (size_t i = 0; i < overlays->n_slots; i++) {
        if (!str_eq(overlays->slots[i].resource, slots->resource))
            continue;
        is_there = true;
        is_same &= overlays->slots[i].limit == slots->limit;
    }
    if (is_there && is_same)
        return;
    if (is_there)
        verdict_fail(verdict, "a NodeOverlay has another number of %.*s than the limit, %" PRId64,
            STR_FMT(slots->resource), slots->limit);
    else
        verdict_warn(verdict, "no NodeOverlay has %.*s", STR_FMT(slots->resource));
    verdict_fix(verdict, "berth config --node-overlay NODEPOOL --policy FILE | kubectl apply -f -");
}

void judge_overlays_match(const InstallationFacts *facts, Verdict *verdict) {
    const BerthFact *berth = berth_next(facts, NULL);

    if (!berth_expect(facts, verdict))
        return;
    while (berth && berth->n_slots == 0)
        berth = berth_next(facts, berth);
    if (!berth)
        verdict_skip(verdict, "no policy publishes slots");
    if (!berth || !cluster_expect(facts, verdict))
        return;
    if (!facts->overlays.objects.is_known)
        verdict_skip(
            verdict, "they cannot be listed: %.*s", STR_FMT(facts->overlays.objects.error));
    else if (!facts->overlays.objects.has_kind)
        verdict_skip(verdict, "the cluster has no NodeOverlays of Karpenter");
    else
        for (size_t i = 0; i < berth->n_slots; i++)
            judge_slots(facts, &berth->slots[i], verdict);
}
