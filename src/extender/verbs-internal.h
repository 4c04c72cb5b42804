#pragma once

/* What the verbs share. verbs.h is the contract: nobody else includes this. */

#include "extender/verbs.h"

/* What filter and prioritize begin with: reads the request into *ret_args, which lies in @arena;
 * @parts of whole nodes are read. Sets @ret up, with who is asked about. 0; WIRE_E_MALFORMED, and
 * @ret is the refusal; or -ENOMEM. */
int answer_begin(const View *view, const RequestTime *time, Str body, const NodeParts *parts,
    Arena *arena, Answer *ret, FilterArgs **ret_args) MUST_CHECK;

/* answer_error() for a request that needs more memory than it may have. */
void answer_no_memory(Answer *answer, Arena *arena, unsigned status);

/* Who is asked about, and about how many nodes. */
void decision_init(Decision *decision, const Pod *pod, size_t n_in);
