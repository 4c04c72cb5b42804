#pragma once

/*
 * The four verbs: bytes in, bytes out.
 *
 * Pure functions of (view, body): no socket, no file, no clock. An answer is 200
 * with the protocol's own reply, also when the answer is an error that
 * kube-scheduler can read; 400 where the request is not the protocol at all; 500
 * for a shortage of ours that the verb's reply has no field for.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/rope.h"
#include "base/str.h"
#include "extender/view.h"
#include "extender/wire.h"

typedef enum Verb {
    VERB_FILTER,
    VERB_PRIORITIZE,
    VERB_PREEMPT,
    VERB_BIND,
    _VERB_MAX,
} Verb;

const char *verb_name(Verb verb);

/* What was decided, for metrics and the log. Strings are of the request. */
typedef struct Decision {
    Str pod_namespace, pod_name, pod_uid;
    size_t n_in;              /* nodes asked about */
    size_t n_out;             /* passed, scored over 0, or kept as candidates */
    size_t n_unknown;         /* of n_in, those berth does not know */
    const uint32_t *rejected; /* by number of the filter: nodes it spoke against; or NULL */
    const uint32_t *observed; /* the same for policies in mode Observe; or NULL */
    Str error;                /* what went wrong, or empty */

    /* filter only, and only when it has decided: what was asked and what was said of each
     * node (VERDICT_PASS: it may take the pod). In the request's arena. */
    const FilterArgs *args;
    const uint16_t *said;
} Decision;

typedef struct Answer {
    unsigned status;
    Rope body; /* JSON */
    Decision decision;
} Answer;

/* Each fills @ret with slices of @body and memory of @arena. */
void extender_filter(const View *view, Str body, Arena *arena, Answer *ret);
void extender_prioritize(const View *view, Str body, Arena *arena, Answer *ret);
void extender_preempt(const View *view, Str body, Arena *arena, Answer *ret);

/* Bind is not a pure function: something has to be done. Decodes the request into
 * @ret_args and returns true; or fills @ret with the refusal and returns false.
 * extender_bind_reply() then says how it went; an empty @error is success. */
bool extender_bind_request(Str body, Arena *arena, BindArgs *ret_args, Answer *ret);
void extender_bind_reply(const BindArgs *args, Str error, Arena *arena, Answer *ret);

/* Whether @pod may still go to @node: all filters once more, for bind, which comes a while
 * after filter. True, or false with the reason through @ret_reason (of the view, or
 * static). -ENOMEM counts as no. */
bool extender_may_bind(const View *view, const Pod *pod, Str node, Arena *arena, Str *ret_reason);

/* Who is asked about, and about how many nodes. */
void decision_init(Decision *decision, const Pod *pod, size_t n_in);

/* An answer without a decision: {"Error": text}. */
void answer_error(Answer *answer, Arena *arena, unsigned status, Str text);
