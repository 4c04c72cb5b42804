#pragma once

/*
 * The four verbs: bytes in, bytes out.
 *
 * Pure functions of (view, time, body): no socket, no file, no clock but the caller's. An answer
 * is 200 with the protocol's own reply, also when the answer is an error that kube-scheduler can
 * read; 400 where the request is not the protocol at all; 500 for a shortage of ours that the
 * verb's reply has no field for.
 */

#include "base/rope.h"
#include "extender/view.h"
#include "extender/wire.h"

/* Why a node failed a filter, where no rule's reason applies. Also the texts of Events and of the
 * pages. */
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

/*
 * The nodes of a decision by outcome, counted once, by the verb. Every reader (metrics, latency,
 * history, Events, log) takes its numbers from here.
 *
 * A filter that decided: n_in = n_out + n_rejected + n_unknown + n_narrowed + n_late. Other verbs
 * have n_in, n_out and n_unjudged only; an error has n_in only.
 */
typedef struct DecisionSummary {
    size_t n_in;       /* candidate nodes of the request */
    size_t n_out;      /* passed, scored over 0, or kept as candidates */
    size_t n_rejected; /* by a rule */
    size_t n_unknown;  /* berth does not know the node */
    size_t n_narrowed; /* passed, but others are better, or it is near a limit: left out */
    size_t n_late;     /* rejected because time was up */
    size_t n_unjudged; /* not judged or not scored before the deadline, whatever their outcome is */
} DecisionSummary;

/* The decision. Strings are slices of the request. */
typedef struct Decision {
    Str pod_namespace, pod_name, pod_uid;
    Str pod_text; /* filter and prioritize: the pod as it was sent; else empty */
    Str node;     /* bind only: the target */
    DecisionSummary summary;
    const uint8_t *applied;   /* filter only: by policy, whether it is for the pod; or NULL */
    const uint32_t *rejected; /* by number of the filter: nodes it rejected; or NULL */
    const uint32_t *observed; /* the same for policies in mode Observe; or NULL */
    JudgeNotes notes;         /* all but bind: rules that failed */
    const double *narrowed;   /* filter, when it left out nodes that pass: the score of each that
                                 passes, -1 for the others */
    Str error;                /* empty: none */

    /* filter and prioritize, and only when they have decided: the request. By node of it:
     * verdicts  filter only: VERDICT_PASS, the number of a filter, or another VERDICT_…
     * scores    as sent, or as they would have been; NULL: no score rule applied
     * In the request's arena. */
    const FilterArgs *args;
    const uint16_t *verdicts;
    const uint8_t *scores;
} Decision;

/* The only candidate of a filter, if it is the pod's status.nominatedNodeName: kube-scheduler tries
 * that node alone, and others only if it is rejected. Empty: not so. */
Str decision_nominated(const Decision *decision);

typedef struct Answer {
    unsigned status;
    Rope body; /* JSON */
    Decision decision;
} Answer;

/* Each fills @ret with slices of @body and memory of @arena. @time as for view_judge_input(). */
void extender_filter(
    const View *view, const RequestTime *time, Str body, Arena *arena, Answer *ret);
/* Without narrowing: every node that passes is in the answer. */
void extender_filter_dry_run(
    const View *view, const RequestTime *time, Str body, Arena *arena, Answer *ret);
void extender_prioritize(
    const View *view, const RequestTime *time, Str body, Arena *arena, Answer *ret);
void extender_preempt(
    const View *view, const RequestTime *time, Str body, Arena *arena, Answer *ret);

/* The scores that prioritize would send for the rows of @input, in its arena, and the highest there
 * can be; NULL through @ret when no rule applies. 0, or -ENOMEM. */
int extender_scores(
    const JudgeInput *input, JudgeNotes *ret_notes, unsigned *ret_most, uint8_t **ret) MUST_CHECK;

/* Bind is not a pure function: the caller binds. Decodes the request into @ret_args and returns
 * true; or fills @ret with the error reply and returns false. extender_bind_reply() then reports
 * the result; an empty @error is success. */
bool extender_bind_request(Str body, Arena *arena, BindArgs *ret_args, Answer *ret);
void extender_bind_reply(const BindArgs *args, Str error, Arena *arena, Answer *ret);

typedef struct BindVerdict {
    Labels annotations; /* that policies want on the pod */
    size_t n_skipped;   /* annotations left out, because their expressions failed */
    Str refusal;        /* "berth: refused: …", if it may not be bound */
} BindVerdict;

/* Whether @pod may still go to @node: all filters once more, for bind, which comes a while after
 * filter; a pod that no policy applies to may go anywhere. It may not if memory runs out. @ret is
 * of the view and @arena. */
bool extender_may_bind(const View *view, const RequestTime *time, const Pod *pod, Str node,
    Arena *arena, BindVerdict *ret);

/* The same for a pod that kube-scheduler will bind, without annotations. @ret_refusal is of @arena,
 * or static. */
bool extender_still_passes(const View *view, const RequestTime *time, const Pod *pod, Str node,
    Arena *arena, Str *ret_refusal);

/* The pod of a filter or prioritize request, for use after it: a copy in @arena, with all its
 * details. Returns false if out of memory. */
bool decision_copy_pod(const Decision *decision, Arena *arena, Pod *ret);

/* An answer without a decision: {"Error": text}. @answer->decision keeps only the request. */
void answer_error(Answer *answer, Arena *arena, unsigned status, Str text);
