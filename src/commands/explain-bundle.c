/* berth explain --bundle: explains a recorded decision. */

#include "commands/explain-internal.h"

#include "cli/bundle-source.h"
#include "cli/terminal.h"
#include "replay/replayed-decision.h"

void bundle_case_done(BundleCase *found) {
    view_unref(found->view);
    bundle_done(&found->bundle);
}

/* The newest filter for @name, NAMESPACE/NAME; NULL: none. */
static const RecordedDecision *find_decision(const Recording *recording, const char *name) {
    Str rest = str_from_c(name), namespace;

    if (!str_split(&rest, '/', &namespace))
        return NULL;
    for (size_t i = recording->n; i-- > 0;) {
        const RecordedDecision *decision = &recording->decisions[i];

        if (decision->verb == VERB_FILTER && str_eq(decision->pod_namespace, namespace) &&
            str_eq(decision->pod_name, rest))
            return decision;
    }
    return NULL;
}

int bundle_case_explain(BundleCase *found, const RecordedDecision *decision, Program *program,
    const Str *nodes, size_t n_nodes, const Zones *zones, Arena *arena) {
    RestoreOptions setting = {
        .zones = zones_finder(zones), .exemptions = &found->bundle.exemptions};
    ReplayedDecision past = {
        .saved_view = decision->saved_view,
        .pod_text = decision->pod_text,
        .now_nsec = decision->now_nsec,
        .nodes = nodes,
        .n_nodes = n_nodes,
    };

    found->now_nsec = decision->now_nsec;
    found->id = decision->id;
    return replayed_decision_explain(
        &past, program, &setting, arena, &found->view, &found->pod, &found->explanation);
}

int explain_bundle(const char *path, const char *name, const PolicyPaths *policies,
    const Zones *zones, Arena *arena, BundleCase *ret) {
    _cleanup_(program_unrefp) Program *program = NULL;
    const Recording *recording = &ret->bundle.recording;
    const RecordedDecision *decision;
    int r = bundle_source_load(path, &ret->bundle);

    if (r == 0 && policies->n > 0)
        r = policy_files_load(policies, arena, &program);
    else if (r == 0)
        r = policy_texts_compile(
            ret->bundle.policies, ret->bundle.n_policies, NULL, 0, arena, &program);
    if (r != 0)
        return r;
    decision = find_decision(recording, name);
    if (!decision && recording->n == 0)
        return terminal_complain("%s: it has no decisions", path);
    if (!decision) { /* names may be hashed, so the message names a pod that exists */
        decision = &recording->decisions[recording->n - 1];
        return terminal_complain(
            "%s: it has no filter for %s; the newest decision is about %.*s/%.*s", path, name,
            STR_FMT(str_take(decision->pod_namespace, 64)),
            STR_FMT(str_take(decision->pod_name, 64)));
    }
    r = bundle_case_explain(ret, decision, program, /* nodes= */ NULL, 0, zones, arena);
    if (r < 0)
        return terminal_failed("the explanation", r, arena);
    return r > 0 ? terminal_complain("%s: %s", path, replayed_decision_error(r)) : 0;
}
