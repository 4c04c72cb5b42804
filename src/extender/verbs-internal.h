#pragma once

/* Shared by the verbs; other folders use verbs.h. */

#include "extender/verbs.h"

/* Starts the answer of filter and prioritize: decodes the request into *ret_args, in @arena, with
 * @parts of whole nodes, and initializes @ret with the pod and the number of nodes. 0;
 * WIRE_E_MALFORMED, and @ret is the error reply; or -ENOMEM. */
int answer_begin(const View *view, const RequestTime *time, Str body, const NodeParts *parts,
    Arena *arena, Answer *ret, FilterArgs **ret_args) MUST_CHECK;

/* answer_error() for a @body that could not be decoded, of a verb whose reply has an Error field,
 * which kube-scheduler shows to users only with status 200: 200 if @body is JSON, else 400. */
void answer_malformed(Answer *answer, Arena *arena, Str body, Str text);

/* answer_error() for a request that needs more memory than its limit. */
void answer_no_memory(Answer *answer, Arena *arena, unsigned status);

/* Initializes @decision with the pod and the number of candidate nodes. */
void decision_init(Decision *decision, const Pod *pod, size_t n_in);
