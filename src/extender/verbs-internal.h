#pragma once

/* Shared by the verbs of this folder only; verbs.h is the contract. */

#include "extender/verbs.h"

/* What filter and prioritize begin with: reads the request into *ret_args, which lies in @arena;
 * @parts of whole nodes are read. Sets @ret up, with pod and number of nodes. 0; WIRE_E_MALFORMED,
 * and @ret is the refusal; or -ENOMEM. */
int answer_begin(const View *view, const RequestTime *time, Str body, const NodeParts *parts,
    Arena *arena, Answer *ret, FilterArgs **ret_args) MUST_CHECK;

/* answer_error() for a request that needs more memory than it may have. */
void answer_no_memory(Answer *answer, Arena *arena, unsigned status);

/* The pod, and the number of candidate nodes. */
void decision_init(Decision *decision, const Pod *pod, size_t n_in);
