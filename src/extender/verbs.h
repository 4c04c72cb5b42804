#pragma once

/*
 * The four verbs: bytes in, bytes out.
 *
 * Pure functions of (view, time, body): no socket, no file; the caller provides the clock. The
 * status is 200 for every reply of the protocol, also for an error in its Error field; 400 if the
 * request is not of the protocol; 500 if berth is out of memory and the verb's reply has no Error
 * field.
 */

#include "base/rope.h"
#include "extender/view.h"
#include "extender/wire.h"

/* Reasons of rejected nodes that no rule rejects. Events and pages show them, too. */
#define UNKNOWN_NODE_REASON "node is not known to berth"
#define LATE_NODE_REASON "berth ran out of time to judge the node"

typedef enum Verb {
    VERB_FILTER,
    VERB_PRIORITIZE,
    VERB_PREEMPT,
    VERB_BIND,
    _VERB_MAX,
} Verb;

const char *verb_name(Verb verb);
bool verb_parse(Str name, Verb *ret); /* false: no verb has this name */
JsonRead verb_decode;                 /* of the name, into a Verb */

/*
 * The nodes of a decision by outcome, counted once, by the verb. Every reader (metrics, latency,
 * history, Events, log) takes its numbers from here.
 *
 * A filter that decided: n_in = n_out + n_rejected + n_unknown + n_narrowed + n_late. Other verbs
 * have n_in, n_out and n_unjudged only; an error has n_in only.
 */
typedef struct DecisionSummary {
    size_t n_in;       /* candidate nodes of the request */
    size_t n_out;      /* nodes that passed, were scored over 0, or were kept by preempt */
    size_t n_rejected; /* nodes that a rule rejects */
    size_t n_unknown;  /* berth does not know the node */
    size_t n_narrowed; /* passed, but others are better, or it is near a limit: left out */
    size_t n_late;     /* rejected after the deadline */
    size_t n_unjudged; /* not judged or scored before the deadline, also if they passed */
} DecisionSummary;

/* A decision. Strings are slices of the request. */
typedef struct Decision {
    Str pod_namespace, pod_name, pod_uid;
    Str pod_text; /* filter, prioritize: the raw JSON of the pod; else empty */
    Str node;     /* bind only */
    DecisionSummary summary;
    const uint8_t *applied;   /* filter only: by policy, whether it applies to the pod; or NULL */
    const uint32_t *rejected; /* by number of the filter: nodes that it rejected; or NULL */
    const uint32_t *observed; /* like @rejected, for policies in mode Observe */
    JudgeNotes notes;         /* all verbs except bind */
    const double *narrowed;   /* filter, if it left out nodes that pass: by node, the score if it
                                 passes, else -1 */
    Str error;                /* empty: no error */

    /* filter and prioritize, if they decided, else NULL; in the request's arena:
     * args: the request
     * verdicts, by node, filter only: VERDICT_PASS, the number of a filter, or another VERDICT_…
     * scores, by node: as sent, or as they would be; NULL: no score rule applied */
    const FilterArgs *args;
    const uint16_t *verdicts;
    const uint8_t *scores;
} Decision;

/* The only candidate of a filter, if it is the pod's status.nominatedNodeName: kube-scheduler tries
 * that node alone, and others only if it is rejected. Else empty. */
Str decision_nominated(const Decision *decision);

typedef struct Answer {
    unsigned status;
    Rope body; /* JSON */
    Decision decision;
} Answer;

/* The verbs. @ret borrows from @body and @arena, and from @view. @time as in view_judge_input(). */
void extender_filter(
    const View *view, const RequestTime *time, Str body, Arena *arena, Answer *ret);
/* Like extender_filter(), but leaves out no node that passes. */
void extender_filter_dry_run(
    const View *view, const RequestTime *time, Str body, Arena *arena, Answer *ret);
void extender_prioritize(
    const View *view, const RequestTime *time, Str body, Arena *arena, Answer *ret);
void extender_preempt(
    const View *view, const RequestTime *time, Str body, Arena *arena, Answer *ret);

/* The scores that prioritize would send for the rows of @input, in its arena, and through @ret_most
 * the highest possible one; *ret is NULL if no rule applies. 0, or -ENOMEM. */
int extender_scores(
    const JudgeInput *input, JudgeNotes *ret_notes, unsigned *ret_most, uint8_t **ret) MUST_CHECK;

/* The caller creates the Binding. extender_bind_request() decodes the request into @ret_args and
 * returns true, or fills @ret with the error reply and returns false. extender_bind_reply() encodes
 * the result; an empty @error is success. */
bool extender_bind_request(Str body, Arena *arena, BindArgs *ret_args, Answer *ret);
void extender_bind_reply(const BindArgs *args, Str error, Arena *arena, Answer *ret);

typedef struct BindVerdict {
    Labels annotations; /* to set on the pod */
    size_t n_skipped;   /* annotations left out because their expressions failed */
    Str refusal;        /* "berth: refused: …" if the pod may not be bound */
} BindVerdict;

/* Evaluates all filters again before a bind, since the cluster may have changed after filter:
 * whether @pod may still go to @node. Exempt pods may; if memory runs out, it may not. @ret borrows
 * from the view and @arena. */
bool extender_may_bind(const View *view, const RequestTime *time, const Pod *pod, Str node,
    Arena *arena, BindVerdict *ret);

/* Like extender_may_bind(), without annotations, for a pod that kube-scheduler will bind itself.
 * *ret_refusal is in @arena or static. */
bool extender_still_passes(const View *view, const RequestTime *time, const Pod *pod, Str node,
    Arena *arena, Str *ret_refusal);

/* Copies the pod of a filter or prioritize request, with all details, to @arena, for use after the
 * request. Returns false if out of memory. */
bool decision_copy_pod(const Decision *decision, Arena *arena, Pod *ret);

/* Replaces the answer by {"Error": text}. answer->decision keeps only the request and the error. */
void answer_error(Answer *answer, Arena *arena, unsigned status, Str text);
