/*
 * filter: which of the offered nodes may take this pod?
 *
 * Survivors go back exactly as they came, in the order they came: a run of
 * neighbours that all pass is one slice of the request.
 */

#include <errno.h>

#include "base/bytes.h"
#include "extender/verbs-part.h"

#define LATE_LITERAL "\"berth ran out of time to judge the node\""
#define UNKNOWN_NODE_LITERAL "\"" UNKNOWN_NODE_REASON "\""

/* What was said of each node, and which ones were rejected. */
typedef struct Verdicts {
    uint16_t *said;     /* by node: number of a filter, or a VERDICT_… */
    uint32_t *rejected; /* nodes that do not pass, in the order of the request */
    size_t n_rejected;
} Verdicts;

/* --- deciding --------------------------------------------------------------- */

/* Finds the rejected nodes without branches: rejections come in no pattern that a
 * processor could predict. */
static int collect_rejected(Verdicts *verdicts, size_t n, Arena *arena) {
    size_t n_rejected = 0;

    verdicts->rejected = ARENA_RAW(arena, uint32_t, n + 1);
    if (!verdicts->rejected)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        verdicts->rejected[n_rejected] = (uint32_t)i;
        n_rejected += verdicts->said[i] != VERDICT_PASS;
    }
    verdicts->n_rejected = n_rejected;
    return 0;
}

/* How often each filter spoke. */
static int count_rejected(
    const Verdicts *verdicts, const Program *program, Arena *arena, const uint32_t **ret) {
    uint32_t *counts = ARENA_ARRAY(arena, uint32_t, program->n_filters);

    if (!counts)
        return -ENOMEM;
    for (size_t i = 0; i < verdicts->n_rejected; i++) {
        uint16_t said = verdicts->said[verdicts->rejected[i]];

        if (said < program->n_filters)
            counts[said]++;
    }
    *ret = counts;
    return 0;
}

/* A node berth does not know cannot be vouched for. */
static void mark_unknown(const FilterArgs *args, uint16_t *said) {
    for (size_t i = 0; i < args->n; i++)
        if (args->rows[i] == args->sight.table->n_rows)
            said[i] = VERDICT_UNKNOWN_NODE;
}

/* What policies in mode Observe would have said: counted, never acted upon. */
static int observe(
    Judge *judge, const View *view, const FilterArgs *args, Arena *arena, Decision *decision) {
    Verdicts verdicts = {0};
    int r;

    if (!judge_has_observed(judge))
        return 0;
    verdicts.said = ARENA_RAW(arena, uint16_t, args->n);
    r = verdicts.said ? judge_observed(judge, verdicts.said) : -ENOMEM;
    if (r < 0)
        return r;
    if (args->n_unknown > 0)
        mark_unknown(args, verdicts.said); /* nor can anything be said against it */
    r = collect_rejected(&verdicts, args->n, arena);
    if (r == 0)
        r = count_rejected(&verdicts, view->program, arena, &decision->observed);
    return r;
}

/* Leaves out what passes but is not among the best, if a policy wants that. Who knows none of
 * the nodes, or not yet what runs on them, cannot tell which those are. */
static int narrow(Judge *judge, const View *view, const FilterArgs *args, Verdicts *verdicts,
    Decision *decision) {
    uint32_t to = judge_narrow_to(judge);

    if (to == 0 || args->n_unknown == args->n || view->awaits_cluster)
        return 0;
    return judge_narrow(judge, to, verdicts->said, &decision->narrowed);
}

static int decide(Judge *judge, const View *view, const FilterArgs *args, Arena *arena,
    Verdicts *ret, Decision *decision) {
    int r;

    ret->said = ARENA_RAW(arena, uint16_t, args->n);
    if (!ret->said)
        return -ENOMEM;
    r = judge_filters(judge, ret->said);
    if (r == 0 && args->n_unknown > 0 && judge_has_filters(judge)) {
        mark_unknown(args, ret->said);
        decision->n_unknown = args->n_unknown;
    }
    if (r == 0)
        r = narrow(judge, view, args, ret, decision);
    if (r == 0)
        r = collect_rejected(ret, args->n, arena);
    if (r == 0)
        r = count_rejected(ret, view->program, arena, &decision->rejected);
    if (r == 0)
        r = observe(judge, view, args, arena, decision);
    if (r < 0)
        return r;
    decision->n_out = args->n - ret->n_rejected;
    decision->notes = judge_notes(judge);
    decision->applied = judge_applied(judge);
    return 0;
}

/* --- answering -------------------------------------------------------------- */

/* Where the run of survivors ends that is followed by rejected node @i. */
static size_t run_end(const Verdicts *verdicts, size_t i, size_t n) {
    return i < verdicts->n_rejected ? verdicts->rejected[i] : n;
}

/* Names are copied, so that the reply is one piece. */
static void encode_names(const FilterArgs *args, const Verdicts *verdicts, Rope *out) {
    Pen pen = pen_open(out, 1);
    bool needs_comma = false;

    for (size_t i = 0, begin = 0; pen.at && i <= verdicts->n_rejected; i++) {
        size_t end = run_end(verdicts, i, args->n);

        if (end > begin) {
            Str run = filter_args_run(args, begin, end);

            pen = pen_room(pen, run.len + 1);
            if (!pen.at)
                return;
            *pen.at = ',';
            pen.at += needs_comma;
            bytes_copy(pen.at, run.ptr, run.len);
            pen.at += run.len;
            needs_comma = true;
        }
        begin = end + 1;
    }
    pen_close(pen);
}

/* Node objects are large and only referred to. */
static void encode_nodes(const FilterArgs *args, const Verdicts *verdicts, Rope *out) {
    bool needs_comma = false;

    for (size_t i = 0, begin = 0; i <= verdicts->n_rejected; i++) {
        size_t end = run_end(verdicts, i, args->n);

        if (end > begin) {
            if (needs_comma)
                rope_copy(out, STR(","));
            rope_refer(out, filter_args_run(args, begin, end));
            needs_comma = true;
        }
        begin = end + 1;
    }
}

static Str reason_of(const View *view, uint16_t said) {
    if (said == VERDICT_UNKNOWN_NODE)
        return STR(UNKNOWN_NODE_LITERAL);
    return said == VERDICT_LATE ? STR(LATE_LITERAL) : view->reasons[said];
}

/* One of the two maps: the nodes of which a filter below @limit spoke. */
static void encode_rejected(
    const View *view, const FilterArgs *args, const Verdicts *verdicts, size_t limit, Rope *out) {
    Pen pen = pen_open(out, 1);
    bool needs_comma = false;

    for (size_t i = 0; pen.at && i < verdicts->n_rejected; i++) {
        size_t node = verdicts->rejected[i];
        Str literal, reason;

        if (verdicts->said[node] >= limit || verdicts->said[node] == VERDICT_NARROWED)
            continue; /* what is left out as not good enough has failed nothing */
        literal = filter_args_literal(args, node, out->arena);
        reason = reason_of(view, verdicts->said[node]);
        pen = pen_room(pen, literal.len + reason.len + 2);
        if (!literal.ptr)
            out->error = -ENOMEM;
        if (!literal.ptr || !pen.at)
            return;
        *pen.at = ',';
        pen.at += needs_comma;
        bytes_copy(pen.at, literal.ptr, literal.len);
        pen.at += literal.len;
        *pen.at++ = ':';
        bytes_copy(pen.at, reason.ptr, reason.len);
        pen.at += reason.len;
        needs_comma = true;
    }
    pen_close(pen);
}

/* Unresolvable filters have the lowest numbers: how many are there? */
static size_t count_unresolvable(const Program *program) {
    size_t n = 0;

    while (n < program->n_filters && program->filters[n]->is_unresolvable)
        n++;
    return n;
}

/* Room for the whole reply at once, so that it is one piece: an upper bound, of
 * which only what is used costs anything. In whole-node mode the survivors are
 * not copied and it is a bound for the rest. */
static void reserve_reply(
    const View *view, const FilterArgs *args, const Decision *decision, Rope *out) {
    size_t names = 256;

    if (args->has_names && args->n > 0)
        names += filter_args_run(args, 0, args->n).len;
    names *= 3; /* passed, failed, and failed and unresolvable */
    for (size_t i = 0; i < view->program->n_filters; i++)
        names += 2 * decision->rejected[i] * (view->reasons[i].len + 2);
    names += decision->notes.n_late * sizeof(LATE_LITERAL);
    (void)rope_reserve(out, names + decision->n_unknown * sizeof(UNKNOWN_NODE_LITERAL));
}

static void encode(const View *view, const FilterArgs *args, const Verdicts *verdicts,
    const Decision *decision, Rope *out) {
    reserve_reply(view, args, decision, out);
    if (args->has_names) {
        rope_copy(out, STR("{\"NodeNames\":["));
        encode_names(args, verdicts, out);
        rope_copy(out, STR("],\"FailedNodes\":{"));
    } else {
        rope_copy(out, STR("{\"Nodes\":{\"items\":["));
        encode_nodes(args, verdicts, out);
        rope_copy(out, STR("]},\"FailedNodes\":{"));
    }
    encode_rejected(view, args, verdicts, VERDICT_PASS, out);
    rope_copy(out, STR("},\"FailedAndUnresolvableNodes\":{"));
    encode_rejected(view, args, verdicts, count_unresolvable(view->program), out);
    rope_copy(out, STR("},\"Error\":\"\"}"));
}

/* Why nothing can be decided, or empty. Without its pods a node looks emptier than it is, so
 * a cluster that is still being listed is none. */
static Str find_missing(const View *view, const FilterArgs *args, const Judge *judge) {
    if (view->snapshot || args->n == 0 || !judge_has_filters(judge))
        return STR_NULL;
    if (view->awaits_cluster)
        return STR("berth: the cluster has not been listed yet; try again in a moment");
    if (args->has_names)
        return STR(
            "berth: node names were sent, but berth has no cluster to look them up in: start "
            "it with --kubeconfig, --in-cluster or --cluster, or set nodeCacheCapable: false");
    return STR_NULL;
}

/* --- the verb ---------------------------------------------------------------- */

void extender_filter(const View *view, const Moment *moment, Str body, Arena *arena, Answer *ret) {
    const NodeParts *parts = &view->program->filter_parts;
    FilterArgs *args = NULL;
    Verdicts verdicts = {0};
    Question question;
    Judge *judge = NULL;
    Str missing;
    int r = answer_begin(view, moment, body, parts, arena, ret, &args);

    if (r == WIRE_E_MALFORMED)
        return;
    if (r == 0) {
        question = filter_args_question(view, moment, args, arena);
        r = judge_open(&question, &judge);
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
    r = decide(judge, view, args, arena, &verdicts, &ret->decision);
    if (r == 0)
        encode(view, args, &verdicts, &ret->decision, &ret->body);
    if (r < 0 || rope_error(&ret->body)) {
        answer_no_memory(ret, arena, 200);
        return;
    }
    ret->decision.args = args;
    ret->decision.said = verdicts.said;
}
