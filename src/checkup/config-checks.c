/* Checks that kube-scheduler's configuration exists, is valid, lists berth, suits the release. */

#include "checkup/verdict.h"

void judge_config_found(const CheckSubject *at, Verdict *verdict) {
    const InstallationFacts *facts = at->facts;

    for (size_t i = 0; i < facts->n_configs; i++) {
        const SchedulerConfigFact *fact = &facts->configs[i];

        if (fact->is_invalid || str_is_empty(fact->error))
            verdict_note(verdict, "%.*s", STR_FMT(fact->origin));
        else
            verdict_fail(verdict, NULL, "%.*s: %.*s", STR_FMT(fact->origin), STR_FMT(fact->error));
    }
    if (facts->n_configs == 0) {
        verdict_warn(verdict, NULL, "none was found");
        verdict_quote(verdict, facts->config_hint);
    }
    verdict_fix(verdict, "berth check %s FILE   # the file that --config of kube-scheduler names",
        facts->is_offline ? "--offline" : "--live --scheduler-config");
}

void judge_config_valid(const CheckSubject *at, Verdict *verdict) {
    size_t n = 0;

    for (size_t i = 0; i < at->facts->n_configs; i++) {
        const SchedulerConfigFact *fact = &at->facts->configs[i];

        n += fact->is_invalid || str_is_empty(fact->error);
        if (!fact->is_invalid)
            continue;
        verdict_fail(verdict, NULL, "%.*s: kube-scheduler refuses it", STR_FMT(fact->origin));
        verdict_quote(verdict, fact->error);
        verdict_fix(verdict, "berth config --format %s   # writes one that is right",
            fact->config.format == WIRING_POLICY ? "policy" : "v1");
    }
    if (n == 0)
        verdict_skip(verdict, "no configuration could be read (B101)");
}

/* The readable configuration after @fact, or the first if it is NULL; NULL: no more. */
static const SchedulerConfigFact *readable_next(
    const InstallationFacts *facts, const SchedulerConfigFact *fact) {
    for (size_t i = fact ? (size_t)(fact - facts->configs) + 1 : 0; i < facts->n_configs; i++)
        if (config_is_readable(&facts->configs[i]))
            return &facts->configs[i];
    return NULL;
}

static bool readable_expect(const InstallationFacts *facts, Verdict *verdict) {
    return verdict_expect(
        verdict, readable_next(facts, NULL), "no configuration could be read (B101, B102)");
}

/* Skips, and returns true, for a v1alpha1 file without its Policy, which has the extenders. */
static bool skip_without_policy(const SchedulerConfigFact *fact, Verdict *verdict) {
    const SchedulerConfig *config = &fact->config;

    if (!scheduler_config_lacks_policy(config))
        return false;
    if (config->policy_file.len > 0)
        verdict_skip(verdict, "%.*s: its extenders are in the Policy %.*s: name that file, too",
            STR_FMT(fact->origin), STR_FMT(config->policy_file));
    else
        verdict_skip(verdict,
            "%.*s: its extenders are in the Policy of ConfigMap %.*s/%.*s (policy.cfg): name a "
            "file with it, too",
            STR_FMT(fact->origin), STR_FMT(config->policy_map_namespace),
            STR_FMT(config->policy_map_name));
    return true;
}

void judge_config_lists_berth(const CheckSubject *at, Verdict *verdict) {
    size_t n_entries = 0;

    FOR_EACH_ENTRY (found, at->facts) {
        verdict_note(verdict, "%s: extender %zu, %.*s", found.where, found.config->berth_index + 1,
            STR_FMT(found.entry->url_prefix));
        n_entries++;
    }
    if (!readable_expect(at->facts, verdict) || n_entries > 0)
        return;
    for (const SchedulerConfigFact *fact = NULL; (fact = readable_next(at->facts, fact));)
        if (skip_without_policy(fact, verdict))
            return;
    verdict_fail(verdict, "berth config --format v1   # writes the entry", "no extender is berth");
    for (const SchedulerConfigFact *fact = NULL; (fact = readable_next(at->facts, fact));) {
        if (fact->config.n_extenders == 0)
            verdict_note(verdict, "%.*s: it has no extenders", STR_FMT(fact->origin));
        for (size_t i = 0; i < fact->config.n_extenders; i++)
            verdict_note(verdict, "%.*s: extender %zu is %.*s, which is not berth",
                STR_FMT(fact->origin), i + 1, STR_FMT(fact->config.extenders[i].url_prefix));
    }
}

/* The newest apiVersion that the release reads. */
static const char *fix_of_release(int minor) {
    return minor >= 25   ? "apiVersion: kubescheduler.config.k8s.io/v1"
           : minor >= 23 ? "apiVersion: kubescheduler.config.k8s.io/v1beta3"
           : minor >= 19 ? "apiVersion: kubescheduler.config.k8s.io/v1beta1"
                         : "berth config --format v1alpha1   # or policy";
}

void judge_config_version(const CheckSubject *at, Verdict *verdict) {
    int minor = release_minor(at->facts->cluster_version);

    if (!verdict_expect(verdict, minor >= 0, "the cluster's release is not known") ||
        !readable_expect(at->facts, verdict))
        return;
    for (const SchedulerConfigFact *fact = NULL; (fact = readable_next(at->facts, fact));) {
        const WiringRelease *release =
            wiring_release_find(fact->config.format, fact->config.api_version);
        char text[WIRING_RELEASE_TEXT_MAX];

        if (release && !wiring_release_has(release, minor))
            verdict_fail(verdict, fix_of_release(minor),
                "%.*s: %s%.*s is for Kubernetes %s; the cluster is %.*s", STR_FMT(fact->origin),
                fact->config.format == WIRING_POLICY ? "kind Policy, " : "",
                STR_FMT(release->api_version), wiring_release_print(release, text),
                STR_FMT(at->facts->cluster_version));
    }
}
