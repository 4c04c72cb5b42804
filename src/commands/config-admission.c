/* What the policies in files publish, as objects for new pods, and for Karpenter. */

#include "commands/config-admission.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/terminal.h"

static int write_policy(const Policy *policy, AdmissionFormat format, Buf *out) {
    for (AdmissionKind kind = 0; kind < _ADMISSION_KINDS; kind++) {
        if (!admission_is_needed(policy, kind))
            continue;
        if (expression_is_given(&policy->match.expression))
            return terminal_refuse(EXIT_FAILED,
                "the policy %.*s has a match.expression: admission selects pods by labels and "
                "namespaces only",
                STR_FMT(policy->name));
        if (admission_write(policy, kind, format, out) < 0)
            return terminal_out_of_memory("the admission policies", NULL);
    }
    return 0;
}

int config_admission_write(
    const Program *program, Str scheduler, AdmissionFormat format, Buf *out) {
    for (size_t i = 0; program && i < program->n_policies; i++) {
        int r = write_policy(&program->policies[i], format, out);

        if (r != 0)
            return r;
    }
    if (!str_is_empty(scheduler) && opt_in_write(scheduler, format, out) < 0)
        return terminal_out_of_memory("the admission policies", NULL);
    if (out->len > 0 || buf_error(out) < 0)
        return 0;
    return terminal_refuse(EXIT_FAILED,
        "no policy publishes anything: add `publish: slots` to a maxPods filter, or `publish: "
        "label` to one that reads only the node");
}

/* --- Karpenter ------------------------------------------------------------------------------- */

int config_node_overlay_write(const Program *program, const char *pool, Buf *out) {
    for (size_t i = 0; i < program->n_policies; i++) {
        const Policy *policy = &program->policies[i];
        const SlotRule *slots = policy->is_observed ? NULL : policy_slots(policy);

        if (!slots)
            continue;
        if (out->len > 0)
            buf_append(out, STR("---\n"));
        buf_printf(out,
            "# What new nodes of Karpenter's NodePool %s offer. Needs its feature gate "
            "NodeOverlay.\n"
            "apiVersion: karpenter.sh/v1alpha1\n"
            "kind: NodeOverlay\n"
            "metadata: {name: berth-slots.%.*s.%s}\n"
            "spec:\n"
            "  requirements: [{key: karpenter.sh/nodepool, operator: In, values: [%s]}]\n"
            "  capacity: {%.*s: \"%" PRId64 "\"}\n",
            pool, STR_FMT(policy->name), pool, pool, STR_FMT(slots->resource), slots->limit);
    }
    if (out->len > 0 || buf_error(out) < 0)
        return 0;
    return terminal_refuse(EXIT_FAILED, "no policy publishes slots");
}
