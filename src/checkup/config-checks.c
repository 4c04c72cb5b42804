/* kube-scheduler's configuration as a whole: found, read, about berth, of this release. */

#include "checkup/berths.h"
#include "checkup/judges.h"
#include "wiring/scheduler-config.h"

static void fix_find(const InstallationFacts *facts, Verdict *verdict) {
    verdict_fix(verdict, "berth check %s FILE   # the file that --config of kube-scheduler names",
        facts->is_offline ? "--offline" : "--live --scheduler-config");
}

/* --- found, valid, about us ----------------------------------------------------------------- */

void judge_config_found(const InstallationFacts *facts, Verdict *verdict) {
    for (size_t i = 0; i < facts->n_configs; i++) {
        const SchedulerConfigFact *fact = &facts->configs[i];

        if (fact->is_invalid || str_is_empty(fact->error)) {
            verdict_note(verdict, "%.*s", STR_FMT(fact->origin));
            continue;
        }
        verdict_fail(verdict, "%.*s: %.*s", STR_FMT(fact->origin), STR_FMT(fact->error));
        fix_find(facts, verdict);
    }
    if (facts->n_configs > 0)
        return;
    verdict_warn(verdict, "none was found");
    verdict_quote(verdict, facts->config_hint);
    fix_find(facts, verdict);
}

void judge_config_valid(const InstallationFacts *facts, Verdict *verdict) {
    size_t n = 0;

    for (size_t i = 0; i < facts->n_configs; i++) {
        const SchedulerConfigFact *fact = &facts->configs[i];

        if (!fact->is_invalid && !str_is_empty(fact->error))
            continue;
        n++;
        if (!fact->is_invalid)
            continue;
        verdict_fail(verdict, "%.*s: kube-scheduler refuses it", STR_FMT(fact->origin));
        verdict_quote(verdict, fact->error);
        verdict_fix(verdict, "berth config --format %s   # writes one that is right",
            fact->config.format == WIRING_POLICY ? "policy" : "v1");
    }
    if (n == 0)
        verdict_skip(verdict, "no configuration could be read (B101)");
}

static void report_others(const SchedulerConfigFact *fact, Verdict *verdict) {
    const SchedulerConfig *config = &fact->config;

    if (config->n_extenders == 0)
        verdict_note(verdict, "%.*s: it has no extenders", STR_FMT(fact->origin));
    for (size_t i = 0; i < config->n_extenders; i++)
        verdict_note(verdict, "%.*s: extender %zu is %.*s, which is not berth",
            STR_FMT(fact->origin), i + 1, STR_FMT(config->extenders[i].url_prefix));
}

/* A v1alpha1 alone: whether it lists berth is in another file. */
static bool skip_without_policy(const SchedulerConfigFact *fact, Verdict *verdict) {
    const SchedulerConfig *config = &fact->config;

    if (!config_is_readable(fact) || !scheduler_config_lacks_policy(config))
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

void judge_config_lists_berth(const InstallationFacts *facts, Verdict *verdict) {
    size_t n = 0, n_entries = 0;

    for (BerthEntry found = {0}; berth_entry_next(facts, &found); n_entries++)
        verdict_note(verdict, "%s: extender %zu, %.*s", found.where, found.fact->berth_index + 1,
            STR_FMT(found.entry->url_prefix));
    for (size_t i = 0; i < facts->n_configs; i++)
        n += config_is_readable(&facts->configs[i]);
    if (n == 0)
        verdict_skip(verdict, "no configuration could be read (B101, B102)");
    if (n == 0 || n_entries > 0)
        return;
    for (size_t i = 0; i < facts->n_configs; i++)
        if (skip_without_policy(&facts->configs[i], verdict))
            return;
    verdict_fail(verdict, "no extender is berth");
    for (size_t i = 0; i < facts->n_configs; i++)
        if (config_is_readable(&facts->configs[i]))
            report_others(&facts->configs[i], verdict);
    verdict_fix(verdict, "berth config --format v1   # writes the entry");
}

/* --- its version ---------------------------------------------------------------------------- */

/* The newest that this release reads. */
static void fix_release(int minor, Verdict *verdict) {
    if (minor >= 19)
        verdict_fix(verdict, "apiVersion: kubescheduler.config.k8s.io/%s",
            minor >= 25   ? "v1"
            : minor >= 23 ? "v1beta3"
                          : "v1beta1");
    else
        verdict_fix(verdict, "berth config --format v1alpha1   # or policy");
}

static void judge_release(
    const InstallationFacts *facts, const SchedulerConfigFact *fact, int minor, Verdict *verdict) {
    const WiringRelease *release =
        wiring_release_find(fact->config.format, fact->config.api_version);
    char text[WIRING_RELEASE_TEXT_MAX];

    if (!release || wiring_release_has(release, minor))
        return;
    verdict_fail(verdict, "%.*s: %s%.*s is for Kubernetes %s; the cluster is %.*s",
        STR_FMT(fact->origin), fact->config.format == WIRING_POLICY ? "kind Policy, " : "",
        STR_FMT(release->api_version), wiring_release_print(release, text),
        STR_FMT(facts->cluster_version));
    fix_release(minor, verdict);
}

void judge_config_version(const InstallationFacts *facts, Verdict *verdict) {
    int minor = release_minor(facts->cluster_version);
    size_t n = 0;

    if (minor < 0) {
        verdict_skip(verdict, "the cluster's release is not known");
        return;
    }
    for (size_t i = 0; i < facts->n_configs; i++) {
        if (!config_is_readable(&facts->configs[i]))
            continue;
        judge_release(facts, &facts->configs[i], minor, verdict);
        n++;
    }
    if (n == 0)
        verdict_skip(verdict, "no configuration could be read (B101, B102)");
}
