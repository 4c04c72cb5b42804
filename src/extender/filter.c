/* filter: which of the candidate nodes may take this pod? Nodes that pass are returned byte for
 * byte, in the same order: consecutive ones are one slice of the request. */

#include <assert.h>
#include <errno.h>

#include "base/bytes.h"
#include "base/wide-loops.h"
#include "extender/guessed-pods.h"
#include "extender/verbs-internal.h"

/* Reasons in the format of view->reasons. */
#define LATE_TEXT ":\"" LATE_NODE_REASON "\","
#define UNKNOWN_NODE_TEXT ":\"" UNKNOWN_NODE_REASON "\","

/* The verdict of each node, and the nodes that do not pass. */
typedef struct FilterResult {
    uint16_t *verdicts; /* by node of the request: number of a filter, or a VERDICT_… */
    uint32_t *failed;   /* indexes of nodes that do not pass, ascending; then n */
    size_t n_failed;
} FilterResult;

/* Counts of other verdicts follow those of the filters, from VERDICT_PASS down. */
#define SPECIAL(verdict) (VERDICT_PASS - (verdict))
#define N_SPECIAL (SPECIAL(VERDICT_LATE) + 1)

/* The number of nodes with each verdict except VERDICT_PASS. */
static uint32_t *count_verdicts(const FilterResult *result, const Program *program, Arena *arena) {
    size_t n_filters = program->n_filters;
    uint32_t *counts = ARENA_ARRAY(arena, uint32_t, n_filters + N_SPECIAL);

    for (size_t i = 0; counts && i < result->n_failed; i++) {
        uint16_t verdict = result->verdicts[result->failed[i]];

        counts[verdict < n_filters ? verdict : n_filters + (size_t)SPECIAL(verdict)]++;
    }
    return counts;
}

/* Finds the nodes that do not pass, without branches, since a processor cannot predict rejections.
 * @ret_counts: the number of nodes with each verdict. */
static int collect_failed(FilterResult *result, size_t n, const Program *program, Arena *arena,
    const uint32_t **ret_counts) {
    const uint16_t *restrict verdicts = result->verdicts;
    uint32_t *restrict failed = ARENA_RAW(arena, uint32_t, n + 1);
    size_t n_failed = 0;

    if (!failed)
        return -ENOMEM;
    UNROLLED
    for (size_t i = 0; i < n; i++) {
        failed[n_failed] = (uint32_t)i;
        n_failed += verdicts[i] != VERDICT_PASS;
    }
    failed[n_failed] = (uint32_t)n;
    result->failed = failed;
    result->n_failed = n_failed;
    *ret_counts = count_verdicts(result, program, arena);
    return *ret_counts ? 0 : -ENOMEM;
}

static DecisionSummary summarize(const FilterResult *result, const uint32_t *special, size_t n_in) {
    DecisionSummary summary = {
        .n_in = n_in,
        .n_out = n_in - result->n_failed,
        .n_unknown = special[SPECIAL(VERDICT_UNKNOWN_NODE)],
        .n_narrowed = special[SPECIAL(VERDICT_NARROWED)],
        .n_late = special[SPECIAL(VERDICT_LATE)],
    };

    summary.n_rejected = result->n_failed - summary.n_unknown - summary.n_narrowed - summary.n_late;
    return summary;
}

/* Nodes that berth does not know do not pass. */
static void mark_unknown(const FilterArgs *args, uint16_t *verdicts) {
    for (size_t i = 0; i < args->n; i++)
        if (args->rows[i] == args->node_set.table->n_rows)
            verdicts[i] = VERDICT_UNKNOWN_NODE;
}

/* Evaluates the policies in mode Observe, to count their rejections. */
static int observe(
    Judge *judge, const View *view, const FilterArgs *args, Arena *arena, Decision *decision) {
    FilterResult result = {0};
    int r;

    if (!judge_match(judge)->has_observed)
        return 0;
    result.verdicts = ARENA_RAW(arena, uint16_t, args->n);
    r = result.verdicts ? judge_observed(judge, result.verdicts) : -ENOMEM;
    if (r == 0)
        r = collect_failed(&result, args->n, view->program, arena, &decision->observed);
    return r;
}

/* If a policy has `narrow`, leaves out nodes that pass but are not among the best; not if no node
 * is known, or if pods have not been listed yet. */
static int narrow(Judge *judge, const View *view, const FilterArgs *args, FilterResult *result,
    Decision *decision) {
    uint32_t to = judge_match(judge)->narrow_to;

    if (to == 0 || args->n_unknown == args->n || view->awaits_cluster)
        return 0;
    return judge_narrow(judge, to, result->verdicts, &decision->narrowed);
}

static int decide(Judge *judge, const View *view, const FilterArgs *args, bool is_dry_run,
    Arena *arena, FilterResult *ret, Decision *decision) {
    int r;

    ret->verdicts = ARENA_RAW(arena, uint16_t, args->n);
    if (!ret->verdicts)
        return -ENOMEM;
    r = judge_filters(judge, ret->verdicts);
    if (r == 0 && args->n_unknown > 0 && judge_match(judge)->has_filters)
        mark_unknown(args, ret->verdicts);
    if (r == 0 && !is_dry_run)
        r = narrow(judge, view, args, ret, decision);
    if (r == 0 && !is_dry_run)
        r = guessed_pods_leave_room(judge, view->program, args, arena, ret->verdicts);
    if (r == 0)
        r = collect_failed(ret, args->n, view->program, arena, &decision->rejected);
    if (r < 0)
        return r;
    decision->summary = summarize(ret, decision->rejected + view->program->n_filters, args->n);
    r = observe(judge, view, args, arena, decision);
    decision->notes = judge_notes(judge);
    decision->summary.n_unjudged = decision->notes.n_late;
    decision->applied = judge_match(judge)->applies;
    return r;
}

/* Copies @run, usually a few names of @body, to @to and returns the end of the copy. It may write
 * BYTES_BLOCK bytes beyond it. */
static inline char *put_run(char *to, Str body, Str run) {
    size_t left = (size_t)(body.ptr + body.len - run.ptr);

    if (run.len > 8 * BYTES_BLOCK || left - run.len < BYTES_BLOCK)
        memcpy(to, run.ptr, run.len);
    else
        for (size_t i = 0; i < run.len; i += BYTES_BLOCK)
            bytes_copy_block(to + i, run.ptr + i);
    return to + run.len;
}

/* Copies the names of nodes that pass into the reply, which has room for all of them. */
WIDE_LOOPS static void encode_names(const FilterArgs *args, const FilterResult *result, Rope *out) {
    const BodySpan *spans = args->spans;
    const uint32_t *failed = result->failed;
    size_t n_failed = result->n_failed;
    Str body = args->body;
    Pen pen = pen_open(out, 1);
    const char *start = pen.at;

    assert(failed);
    for (size_t i = 0, begin = 0; pen.at && i <= n_failed; i++) {
        size_t end = failed[i];

        if (end > begin) {
            *pen.at = ',';
            pen.at = put_run(pen.at + (pen.at > start), body, body_run(body, spans, begin, end));
        }
        begin = end + 1;
    }
    pen_close(pen);
}

/* Node objects are large: the reply refers to the request, without a copy. */
static void encode_nodes(const FilterArgs *args, const FilterResult *result, Rope *out) {
    bool needs_comma = false;

    assert(result->failed);
    for (size_t i = 0, begin = 0; i <= result->n_failed; i++) {
        size_t end = result->failed[i];

        if (end > begin) {
            if (needs_comma)
                rope_copy(out, STR(","));
            rope_refer(out, filter_args_run(args, begin, end));
            needs_comma = true;
        }
        begin = end + 1;
    }
}

/* The reason of a VERDICT_…, in the format of view->reasons. */
static Str special_reason(uint16_t verdict) {
    static const char late[BYTES_BLOCK] = LATE_TEXT, unknown[BYTES_BLOCK] = UNKNOWN_NODE_TEXT;

    return verdict == VERDICT_LATE ? str_of(late, sizeof(LATE_TEXT) - 1)
                                   : str_of(unknown, sizeof(UNKNOWN_NODE_TEXT) - 1);
}

static inline char *put_reason(char *to, Str reason) {
    if (reason.len <= BYTES_BLOCK)
        bytes_copy_block(to, reason.ptr);
    else
        memcpy(to, reason.ptr, reason.len);
    return to + reason.len;
}

/* Whether the verdict is below @limit. VERDICT_NARROWED is no rejection. */
static inline bool is_rejected(uint16_t verdict, size_t limit) {
    return verdict < limit && verdict != VERDICT_NARROWED;
}

/* Names mode; the reply has room for all. The loop reads only local variables: after each byte that
 * it writes the compiler would have to read fields again, since the byte might be part of them. */
WIDE_LOOPS static char *put_rejected_names(
    char *at, const View *view, const FilterArgs *args, const FilterResult *result, size_t limit) {
    const BodySpan *spans = args->spans;
    Str body = args->body;
    const Str *reasons = view->reasons;
    size_t n_filters = view->program->n_filters;
    const uint16_t *verdicts = result->verdicts;
    const uint32_t *failed = result->failed, *end = failed + result->n_failed;

    for (; failed < end; failed++) {
        uint16_t verdict = verdicts[*failed];

        if (!is_rejected(verdict, limit))
            continue;
        at = body_span_copy(at, body, spans[*failed], /* is_roomy= */ false);
        at = put_reason(at, verdict < n_filters ? reasons[verdict] : special_reason(verdict));
    }
    return at;
}

/* Whole-node mode. */
static Pen put_rejected_nodes(
    Pen pen, const View *view, const FilterArgs *args, const FilterResult *result, size_t limit) {
    for (size_t i = 0; pen.at && i < result->n_failed; i++) {
        uint32_t node = result->failed[i];
        uint16_t verdict = result->verdicts[node];
        Str reason;

        if (!is_rejected(verdict, limit))
            continue;
        reason =
            verdict < view->program->n_filters ? view->reasons[verdict] : special_reason(verdict);
        pen = filter_args_put_quoted(args, node, reason.len + BYTES_BLOCK, pen);
        if (pen.at)
            pen.at = put_reason(pen.at, reason);
    }
    return pen;
}

/* Writes the members of FailedNodes or FailedAndUnresolvableNodes: nodes with a verdict below
 * @limit. */
static void encode_rejected(
    const View *view, const FilterArgs *args, const FilterResult *result, size_t limit, Rope *out) {
    Pen pen = pen_open(out, 1);
    const char *start = pen.at;

    if (!start || limit == 0)
        return;
    if (args->has_names)
        pen.at = put_rejected_names(pen.at, view, args, result, limit);
    else
        pen = put_rejected_nodes(pen, view, args, result, limit);
    if (pen.at)
        pen.at -= pen.at != start; /* the last comma */
    pen_close(pen);
}

/* The number of unresolvable filters, which have the lowest numbers. */
static size_t count_unresolvable(const Program *program) {
    size_t n = 0;

    while (n < program->n_filters && program->filters[n]->is_unresolvable)
        n++;
    return n;
}

/* Reserves an upper bound of the reply, with BYTES_BLOCK to spare, so that the reply is one piece;
 * memory that is not written costs nothing. In whole-node mode passing nodes are not copied and
 * need none. */
static void reserve_reply(
    const View *view, const FilterArgs *args, const Decision *decision, Rope *out) {
    size_t names = 256;

    if (args->has_names && args->n > 0)
        names += filter_args_run(args, 0, args->n).len;
    names *= 3; /* passed, failed, unresolvable */
    for (size_t i = 0; i < view->program->n_filters; i++)
        names += 2 * decision->rejected[i] * view->reasons[i].len;
    names += decision->summary.n_late * sizeof(LATE_TEXT);
    (void)rope_reserve(out, names + decision->summary.n_unknown * sizeof(UNKNOWN_NODE_TEXT));
}

static void encode(const View *view, const FilterArgs *args, const FilterResult *result,
    const Decision *decision, Rope *out) {
    reserve_reply(view, args, decision, out);
    if (args->has_names) {
        rope_copy(out, STR("{\"NodeNames\":["));
        encode_names(args, result, out);
        rope_copy(out, STR("],\"FailedNodes\":{"));
    } else {
        rope_copy(out, STR("{\"Nodes\":{\"items\":["));
        encode_nodes(args, result, out);
        rope_copy(out, STR("]},\"FailedNodes\":{"));
    }
    encode_rejected(view, args, result, VERDICT_PASS, out);
    rope_copy(out, STR("},\"FailedAndUnresolvableNodes\":{"));
    encode_rejected(view, args, result, count_unresolvable(view->program), out);
    rope_copy(out, STR("},\"Error\":\"\"}"));
}

/* The error if nothing can be decided yet, or empty. A policy that is not known yet might reject
 * any node; without its pods, a node looks emptier than it is. */
static Str find_missing(const View *view, const FilterArgs *args, const Judge *judge) {
    if (view->program->is_partial && !exemptions_cover(view->exemptions, &args->pod))
        return STR("berth: the policies of the cluster have not been listed yet; try again in a "
                   "moment");
    if (view->snapshot || args->n == 0 || !judge_match(judge)->has_filters)
        return STR_NULL;
    if (view->awaits_cluster)
        return STR("berth: the cluster has not been listed yet; try again in a moment");
    if (args->has_names)
        return STR(
            "berth: node names were sent, but berth has no cluster to look them up in: start "
            "it with --kubeconfig, --in-cluster or --cluster, or set nodeCacheCapable: false");
    return STR_NULL;
}

static void answer_filter(const View *view, const RequestTime *time, Str body, bool is_dry_run,
    Arena *arena, Answer *ret) {
    const NodeParts *parts = &view->program->filter_parts;
    FilterArgs *args = NULL;
    FilterResult result = {0};
    JudgeInput input;
    Judge *judge = NULL;
    Str missing;
    int r = answer_begin(view, time, body, parts, arena, ret, &args);

    if (r == WIRE_E_MALFORMED) {
        answer_malformed(ret, arena, body, ret->decision.error);
        return;
    }
    if (r == 0) {
        input =
            view_judge_input(view, time, &args->node_set, &args->pod, args->rows, args->n, arena);
        r = judge_open(&input, &judge);
    }
    if (r < 0) {
        answer_no_memory(ret, arena, 200);
        return;
    }
    missing = find_missing(view, args, judge);
    if (!str_is_empty(missing)) {
        answer_error(ret, arena, 200, missing);
        return;
    }
    r = decide(judge, view, args, is_dry_run, arena, &result, &ret->decision);
    if (r == 0)
        encode(view, args, &result, &ret->decision, &ret->body);
    if (r < 0 || rope_error(&ret->body)) {
        answer_no_memory(ret, arena, 200);
        return;
    }
    ret->decision.args = args;
    ret->decision.verdicts = result.verdicts;
}

void extender_filter(
    const View *view, const RequestTime *time, Str body, Arena *arena, Answer *ret) {
    answer_filter(view, time, body, /* is_dry_run= */ false, arena, ret);
}

void extender_filter_dry_run(
    const View *view, const RequestTime *time, Str body, Arena *arena, Answer *ret) {
    answer_filter(view, time, body, /* is_dry_run= */ true, arena, ret);
}
