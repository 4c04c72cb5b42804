/* berth explain --bundle: explains a recorded decision. */

#include "commands/explain-internal.h"

#include "cli/bundle-source.h"
#include "cli/terminal.h"
#include "replay/replayed-decision.h"

void bundle_case_done(BundleCase *found) {
    view_unref(found->view);
    bundle_done(&found->bundle);
}

static bool is_about(const RecordedDecision *decision, Str name) {
    Str namespace = decision->pod_namespace;

    return decision->verb == VERB_FILTER &&
           name.len == namespace.len + 1 + decision->pod_name.len &&
           str_has_prefix(name, namespace) && name.ptr[namespace.len] == '/' &&
           str_has_suffix(name, decision->pod_name);
}

/* The newest filter for @name; NULL: none. */
static const RecordedDecision *find_decision(const Recording *recording, Str name) {
    for (size_t i = recording->n; i-- > 0;)
        if (is_about(&recording->decisions[i], name))
            return &recording->decisions[i];
    return NULL;
}

/* Names may be hashed, so the message names a pod that exists. */
static int complain_unknown(const char *path, const char *name, const Recording *recording) {
    const RecordedDecision *newest =
        recording->n > 0 ? &recording->decisions[recording->n - 1] : NULL;

    if (!newest)
        return terminal_complain("%s: it has no decisions", path);
    return terminal_complain("%s: it has no filter for %s; the newest decision is about %.*s/%.*s",
        path, name, STR_FMT(str_take(newest->pod_namespace, 64)),
        STR_FMT(str_take(newest->pod_name, 64)));
}

static int load_program(
    const Bundle *bundle, const PolicyPaths *policies, Arena *arena, Program **ret) {
    return policies->n == 0
               ? policy_texts_compile(bundle->policies, bundle->n_policies, NULL, 0, arena, ret)
               : policy_files_load(policies, arena, ret);
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
    const RecordedDecision *decision;
    int r = bundle_source_load(path, &ret->bundle);

    if (r == 0)
        r = load_program(&ret->bundle, policies, arena, &program);
    if (r != 0)
        return r;
    decision = find_decision(&ret->bundle.recording, str_from_c(name));
    if (!decision)
        return complain_unknown(path, name, &ret->bundle.recording);
    r = bundle_case_explain(ret, decision, program, /* nodes= */ NULL, 0, zones, arena);
    if (r < 0)
        return terminal_failed("the explanation", r, arena);
    return r > 0 ? terminal_complain("%s: %s", path, replayed_decision_error(r)) : 0;
}
