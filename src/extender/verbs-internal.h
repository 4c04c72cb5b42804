#pragma once

/* Shared by the verbs of this folder only; verbs.h is the contract. */

#include "extender/verbs.h"

/* The start of filter and prioritize: reads the request into *ret_args, in @arena; reads @parts of
 * whole nodes. Initializes @ret with the pod and the number of nodes. 0; WIRE_E_MALFORMED, and @ret
 * is the error reply; or -ENOMEM. */
int answer_begin(const View *view, const RequestTime *time, Str body, const NodeParts *parts,
    Arena *arena, Answer *ret, FilterArgs **ret_args) MUST_CHECK;

/* answer_error() for a @body that could not be decoded, of a verb whose reply has an Error:
 * kube-scheduler shows it to users with status 200 only. JSON gets that, anything else 400. */
void answer_malformed(Answer *answer, Arena *arena, Str body, Str text);

/* answer_error() for a request that needs more memory than it may have. */
void answer_no_memory(Answer *answer, Arena *arena, unsigned status);

/* The pod, and the number of candidate nodes. */
void decision_init(Decision *decision, const Pod *pod, size_t n_in);
