/* Versions of PlacementPolicies: a spec, and the text it is compiled from. */

#include "live/kept-version.h"

#include <stdlib.h>

#include "input/policies.h"
#include "input/policy-mistakes.h"
#include "kube/policy-objects.h"

KeptVersion *kept_version_new(int64_t generation, int64_t since_nsec, Str spec) {
    KeptVersion *version = calloc(1, sizeof(*version));

    if (!version)
        return NULL;
    *version = (KeptVersion){
        .n_refs = 1,
        .generation = generation,
        .since_nsec = since_nsec,
        .spec = BUF_INIT(POLICY_OBJECT_TEXT_MAX),
        .text = BUF_INIT(POLICY_OBJECT_TEXT_MAX),
    };
    buf_append(&version->spec, spec);
    return buf_error(&version->spec) < 0 ? kept_version_unref(version) : version;
}

KeptVersion *kept_version_ref(KeptVersion *version) {
    if (version)
        version->n_refs++;
    return version;
}

KeptVersion *kept_version_unref(KeptVersion *version) {
    if (!version || --version->n_refs > 0)
        return NULL;
    buf_done(&version->spec);
    buf_done(&version->text);
    free(version);
    return NULL;
}

int kept_version_check(KeptVersion *version, Str name, Buf *mistakes, Buf *warnings) {
    _cleanup_(program_unrefp) Program *program = NULL;
    int r = policy_object_text(name, buf_str(&version->spec), &version->text);

    if (r == 0 && version->text.len == 0) {
        buf_append(mistakes, STR("the spec is nested too deeply, or too large"));
        r = POLICIES_E_INVALID;
    }
    if (r == 0)
        r = policy_check_alone(name, buf_str(&version->text), &program, mistakes, warnings);
    if (r != 0) {
        buf_done(&version->text);
        return r;
    }
    version->n_filters = program->n_filters;
    version->n_scores = program->n_scores;
    version->is_observed = program->policies[0].is_observed;
    return 0;
}
