#pragma once

/*
 * The four verbs: bytes in, bytes out.
 *
 * Pure functions of (view, moment, body): no socket, no file, no clock but the caller's. An answer
 * is 200 with the protocol's own reply, also when the answer is an error that kube-scheduler can
 * read; 400 where the request is not the protocol at all; 500 for a shortage of ours that the
 * verb's reply has no field for.
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

/* What was decided, for metrics, the log and who remembers it. Strings are of the request. */
typedef struct Decision {
    Str pod_namespace, pod_name, pod_uid;
    Str pod_text;             /* filter and prioritize: the pod as it was sent; else empty */
    Str node;                 /* bind only: where to */
    size_t n_in;              /* nodes asked about */
    size_t n_out;             /* passed, scored over 0, or kept as candidates */
    size_t n_unknown;         /* of n_in, those berth does not know */
    const uint8_t *applied;   /* filter only: by policy, whether it is for the pod; or NULL */
    const uint32_t *rejected; /* by number of the filter: nodes it spoke against; or NULL */
    const uint32_t *observed; /* the same for policies in mode Observe; or NULL */
    JudgeNotes notes;         /* all but bind: rules that failed, nodes not judged */
    const double *narrowed;   /* filter, when it left nodes out that pass: the score of each that
                                 passes, -1 for the others */
    Str error;                /* what went wrong, or empty */

    /* filter and prioritize, and only when they have decided: what was asked. By node of it:
     * said    filter only: VERDICT_PASS, it may take the pod; or what speaks against it
     * scores  what went over the wire, or would have; NULL: no score rule was asked
     * In the request's arena. */
    const FilterArgs *args;
    const uint16_t *said;
    const uint8_t *scores;
} Decision;

typedef struct Answer {
    unsigned status;
    Rope body; /* JSON */
    Decision decision;
} Answer;

/* Each fills @ret with slices of @body and memory of @arena. @moment as for view_question(). */
void extender_filter(const View *view, const Moment *moment, Str body, Arena *arena, Answer *ret);
void extender_prioritize(
    const View *view, const Moment *moment, Str body, Arena *arena, Answer *ret);
void extender_preempt(const View *view, const Moment *moment, Str body, Arena *arena, Answer *ret);

/* Bind is not a pure function: something has to be done. Decodes the request into
 * @ret_args and returns true; or fills @ret with the refusal and returns false.
 * extender_bind_reply() then says how it went; an empty @error is success. */
bool extender_bind_request(Str body, Arena *arena, BindArgs *ret_args, Answer *ret);
void extender_bind_reply(const BindArgs *args, Str error, Arena *arena, Answer *ret);

/* Whether @pod may still go to @node: all filters once more, for bind, which comes a while
 * after filter; one that no policy is for may go anywhere. True, with what policies want the pod to
 * be annotated with; or false with the reason through @ret_reason (of the view, or static). -ENOMEM
 * counts as no. */
bool extender_may_bind(const View *view, const Moment *moment, const Pod *pod, Str node,
    Arena *arena, Labels *ret_annotations, Str *ret_reason);

/* Of how many nodes a filter said just @said. */
size_t decision_count(const Decision *decision, uint16_t said);

/* An answer without a decision: {"Error": text}. Of @answer->decision stays what was asked. */
void answer_error(Answer *answer, Arena *arena, unsigned status, Str text);
