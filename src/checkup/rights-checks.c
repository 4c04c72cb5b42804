/* Checks of RBAC by access reviews: no permission is missing, none is unneeded. */

#include <stdio.h>

#include "checkup/verdict.h"

#define RIGHT_TEXT_MAX 256u

typedef struct RightText {
    char text[RIGHT_TEXT_MAX];
} RightText;

/* "create pods/binding", "update leases.coordination.k8s.io/berth in berth-system". */
static RightText describe(const RightFact *right) {
    RightText ret;

    (void)snprintf(ret.text, sizeof(ret.text), "%.*s %.*s%s%.*s%s%.*s%s%.*s%s%.*s",
        STR_FMT(right->verb), STR_FMT(right->resource), str_is_empty(right->group) ? "" : ".",
        STR_FMT(right->group), str_is_empty(right->subresource) ? "" : "/",
        STR_FMT(right->subresource), str_is_empty(right->name) ? "" : " ", STR_FMT(right->name),
        str_is_empty(right->namespace) ? "" : " in namespace ", STR_FMT(right->namespace));
    return ret;
}

void judge_server_reached(const CheckSubject *at, Verdict *verdict) {
    const InstallationFacts *facts = at->facts;

    if (!facts->was_cluster_asked)
        verdict_skip(verdict, "no API server was named: --kubeconfig FILE");
    else if (!str_is_empty(facts->cluster_error))
        verdict_fail(
            verdict, "kubectl get --raw '/readyz?verbose'", "%.*s", STR_FMT(facts->cluster_error));
    else if (!str_is_empty(facts->cluster_version))
        verdict_note(verdict, "Kubernetes %.*s", STR_FMT(facts->cluster_version));
}

/* The roles that come with berth, as commands that make them. */
typedef struct RoleText {
    Str group, resources[2], subresource;
    Str verb; /* empty: any */
    const char *role, *rule;
} RoleText;

static const RoleText roles[] = {
    {STR(""), {STR("pods")}, STR("binding"), STR(""), "berth-bind",
        "--verb=create --resource=pods/binding"},
    {STR(""), {STR("nodes")}, STR(""), STR("patch"), "berth-wake-up",
        "--verb=patch --resource=nodes"},
    {STR(""), {STR("nodes")}, STR("status"), STR("patch"), "berth-publish",
        "--verb=patch --resource=nodes/status"},
    {STR(""), {STR("pods")}, STR("status"), STR("patch"), "berth-nominate",
        "--verb=patch --resource=pods/status"},
    {STR(""), {STR("services")}, STR(""), STR(""), "berth-nominate-read",
        "--verb=get,list,watch --resource=services,namespaces"},
    {STR(""), {STR("nodes"), STR("pods")}, STR(""), STR(""), "berth-decide",
        "--verb=get,list,watch --resource=nodes,pods"},
    {STR(""), {STR("namespaces")}, STR(""), STR(""), "berth-namespaces",
        "--verb=get,list,watch --resource=namespaces"},
    {STR(""), {STR("persistentvolumeclaims"), STR("persistentvolumes")}, STR(""), STR(""),
        "berth-claims",
        "--verb=get,list,watch --resource=persistentvolumeclaims,persistentvolumes"},
    {STR("events.k8s.io"), {STR("events")}, STR(""), STR(""), "berth-events",
        "--verb=create --resource=events.events.k8s.io"},
    {STR("coordination.k8s.io"), {STR("leases")}, STR(""), STR("create"), "berth-lease-create",
        "--verb=create --resource=leases.coordination.k8s.io"},
    {STR("coordination.k8s.io"), {STR("leases")}, STR(""), STR(""), "berth-lease",
        "--verb=get,update --resource=leases.coordination.k8s.io"},
    {STR("berth.dev"), {STR("placementpolicies")}, STR(""), STR(""), "berth-policies",
        "--verb=get,list,watch --resource=placementpolicies.berth.dev"},
    {STR("berth.dev"), {STR("placementpolicies")}, STR("status"), STR(""), "berth-policies-status",
        "--verb=patch --resource=placementpolicies.berth.dev/status"},
    {STR("metrics.k8s.io"), {STR("nodes"), STR("pods")}, STR(""), STR(""), "berth-metrics",
        "--verb=list --resource=nodes.metrics.k8s.io,pods.metrics.k8s.io"},
};

static const RoleText *role_of(const RightFact *right) {
    for (size_t i = 0; i < ELEMENTS_OF(roles); i++)
        if (str_eq(roles[i].group, right->group) &&
            str_is_one_of(right->resource, roles[i].resources, ELEMENTS_OF(roles[i].resources)) &&
            str_eq(roles[i].subresource, right->subresource) &&
            (str_is_empty(roles[i].verb) || str_eq(roles[i].verb, right->verb)))
            return &roles[i];
    return NULL;
}

/* "--serviceaccount=berth-system:berth", or "--user=berth". */
static RightText subject_option(Str subject) {
    static const Str prefix = STR("system:serviceaccount:");
    RightText ret;

    if (str_has_prefix(subject, prefix))
        (void)snprintf(ret.text, sizeof(ret.text), "--serviceaccount=%.*s",
            STR_FMT(str_skip(subject, prefix.len)));
    else
        (void)snprintf(ret.text, sizeof(ret.text), "--user=%.*s",
            STR_FMT(str_is_empty(subject) ? STR("berth") : subject));
    return ret;
}

/* Adds the commands for a role, of one namespace or of all, and its binding. */
static void fix_missing(const InstallationFacts *facts, const RightFact *right, Verdict *verdict) {
    const RoleText *role = role_of(right);
    bool is_local = !str_is_empty(right->namespace);
    const char *kind = is_local ? "role" : "clusterrole";
    char where[RIGHT_TEXT_MAX] = "", name[RIGHT_TEXT_MAX] = "", title[RIGHT_TEXT_MAX];

    if (!role) {
        verdict_fix(verdict,
            "kubectl auth can-i %s --as=%.*s   # no role that comes with berth has it",
            describe(right).text, STR_FMT(facts->subject));
        return;
    }
    if (is_local)
        (void)snprintf(where, sizeof(where), " -n %.*s", STR_FMT(right->namespace));
    (void)snprintf(title, sizeof(title), "%s", role->role);
    if (!str_is_empty(right->name)) { /* of a Lease: each has a role of its own */
        (void)snprintf(name, sizeof(name), " --resource-name=%.*s", STR_FMT(right->name));
        (void)snprintf(title, sizeof(title), "%.*s-lease", STR_FMT(right->name));
    }
    verdict_fix(verdict, "kubectl%s create %s %s %s%s", where, kind, title, role->rule, name);
    verdict_fix(verdict, "kubectl%s create %sbinding %s --%s=%s %s", where, kind, title, kind,
        title, subject_option(facts->subject).text);
}

/* Reports which @wanted rights are unknown: an unknown right does not pass. */
static void report_unknown(const InstallationFacts *facts, RightWanted wanted, Verdict *verdict) {
    const RightFact *unknown = NULL;
    size_t n = 0, n_unknown = 0;

    for (size_t i = 0; i < facts->n_rights; i++) {
        const RightFact *right = &facts->rights[i];

        n += right->wanted == wanted;
        if (right->wanted != wanted || right->answer != RIGHT_UNKNOWN)
            continue;
        unknown = right;
        n_unknown++;
    }
    if (n == 0)
        verdict_skip(verdict, facts->was_cluster_asked
                                  ? "the API server does not report berth's permissions"
                                  : "no API server was named: --kubeconfig FILE");
    if (unknown)
        verdict_skip(verdict, "not known of %zu: %s: %.*s", n_unknown, describe(unknown).text,
            STR_FMT(str_is_empty(unknown->error) ? STR("no answer") : unknown->error));
}

void judge_rights_complete(const CheckSubject *at, Verdict *verdict) {
    for (size_t i = 0; i < at->facts->n_rights; i++) {
        const RightFact *right = &at->facts->rights[i];

        if (right->wanted != RIGHT_NEEDED || right->answer != RIGHT_DENIED)
            continue;
        verdict_fail(verdict, NULL, "%.*s may not %s, %s", STR_FMT(at->facts->subject),
            describe(right).text, right->why ? right->why : "which it needs");
        fix_missing(at->facts, right, verdict);
    }
    report_unknown(at->facts, RIGHT_NEEDED, verdict);
}

void judge_rights_minimal(const CheckSubject *at, Verdict *verdict) {
    Str subject = at->facts->subject;

    for (size_t i = 0; i < at->facts->n_rights; i++) {
        const RightFact *right = &at->facts->rights[i];

        if (right->wanted != RIGHT_FORBIDDEN || right->answer != RIGHT_ALLOWED)
            continue;
        verdict_fail(verdict, NULL, "%.*s may %s: %s", STR_FMT(subject), describe(right).text,
            right->why ? right->why : "berth never needs it");
        verdict_fix(verdict,
            "kubectl get clusterrolebindings,rolebindings -A -o wide | grep '%.*s'   # then delete "
            "what gives it",
            STR_FMT(str_skip(subject, str_find_last(subject, ':') + 1)));
    }
    report_unknown(at->facts, RIGHT_FORBIDDEN, verdict);
}
