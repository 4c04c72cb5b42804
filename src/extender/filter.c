/*
 * filter: which of the offered nodes may take this pod?
 *
 * Survivors go back exactly as they came, in the order they came: a run of
 * neighbours that all pass is one slice of the request.
 */

#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "extender/verbs.h"
#include "json/write.h"

/* Beside the numbers of filters. */
#define VERDICT_UNKNOWN_NODE (VERDICT_PASS - 1)

#define UNKNOWN_NODE_REASON "\"node is not known to berth\""

/* --- deciding --------------------------------------------------------------- */

static int count_verdicts(
    const View *view, const uint16_t *verdicts, size_t n, Arena *arena, const uint32_t **ret) {
    uint32_t *counts = ARENA_ARRAY(arena, uint32_t, view->program->n_filters);

    if (!counts)
        return error_origin(-ENOMEM);
    for (size_t i = 0; i < n; i++)
        if (verdicts[i] < view->program->n_filters)
            counts[verdicts[i]]++;
    *ret = counts;
    return 0;
}

/* What policies in mode Observe would have said: counted, never acted upon. */
static int observe(const View *view, const Question *question, Decision *decision) {
    uint16_t *verdicts = ARENA_ARRAY(question->arena, uint16_t, question->n);
    bool any = false;
    int r;

    if (!verdicts)
        return error_origin(-ENOMEM);
    r = evaluate_observed(question, &any, verdicts);
    if (r == 0 && any)
        r = count_verdicts(view, verdicts, question->n, question->arena, &decision->observed);
    return error_trace(r);
}

/* A node berth does not know cannot be vouched for. */
static void mark_unknown(const FilterArgs *args, uint16_t *verdicts, Decision *decision) {
    for (size_t i = 0; i < args->n; i++) {
        if (args->rows[i] == args->table->n_rows) {
            verdicts[i] = VERDICT_UNKNOWN_NODE;
            decision->n_unknown++;
        }
    }
}

static int decide(const View *view, const FilterArgs *args, Arena *arena, uint16_t *verdicts,
    Decision *decision) {
    Question question = {
        .program = view->program,
        .table = args->table,
        .facts = args->facts,
        .pod = &args->pod,
        .rows = args->rows,
        .n = args->n,
        .arena = arena,
    };
    int r = evaluate_filters(&question, /* only_unresolvable= */ false, verdicts);

    if (r == 0 && evaluate_has_filters(view->program, &args->pod))
        mark_unknown(args, verdicts, decision);
    if (r == 0)
        r = count_verdicts(view, verdicts, args->n, arena, &decision->rejected);
    if (r == 0)
        r = observe(view, &question, decision);
    for (size_t i = 0; r == 0 && i < args->n; i++)
        decision->n_out += verdicts[i] == VERDICT_PASS;
    return error_trace(r);
}

/* --- answering -------------------------------------------------------------- */

static void encode_survivors(const FilterArgs *args, const uint16_t *verdicts, Rope *out) {
    bool needs_comma = false;

    for (size_t i = 0; i < args->n; i++) {
        const char *begin = args->raws[i].ptr;
        const char *end;

        if (verdicts[i] != VERDICT_PASS)
            continue;
        while (i + 1 < args->n && verdicts[i + 1] == VERDICT_PASS)
            i++;
        end = args->raws[i].ptr + args->raws[i].len;
        rope_copy(out, needs_comma ? STR(",") : STR_NULL);
        rope_refer(out, str_of(begin, (size_t)(end - begin)));
        needs_comma = true;
    }
}

/* The node's name as JSON: in names mode as it stands in the request. */
static Str name_literal(const FilterArgs *args, size_t i, Arena *arena) {
    Str literal = args->has_names ? args->raws[i] : args->table->literals[args->rows[i]];

    if (str_is_empty(literal)) { /* whole-node mode, and no name Kubernetes would allow */
        _cleanup_(buf_done) Buf quoted = BUF_INIT((size_t)64 * 1024);

        json_quote(&quoted, args->table->names[args->rows[i]]);
        literal = arena_copy(arena, buf_str(&quoted));
    }
    return literal;
}

static Str reason_of(const View *view, uint16_t verdict) {
    return verdict == VERDICT_UNKNOWN_NODE ? STR(UNKNOWN_NODE_REASON) : view->reasons[verdict];
}

static bool is_unresolvable(const View *view, uint16_t verdict) {
    return verdict != VERDICT_UNKNOWN_NODE && view->program->filters[verdict]->is_unresolvable;
}

/* One of the two maps: all rejected nodes, or the unresolvable ones only. */
static void encode_rejected(const View *view, const FilterArgs *args, const uint16_t *verdicts,
    bool only_unresolvable, Rope *out) {
    bool needs_comma = false;

    for (size_t i = 0; i < args->n; i++) {
        Str literal, reason;
        char *at;

        if (verdicts[i] == VERDICT_PASS ||
            (only_unresolvable && !is_unresolvable(view, verdicts[i])))
            continue;
        literal = name_literal(args, i, out->arena);
        reason = reason_of(view, verdicts[i]);
        at = rope_reserve(out, literal.len + reason.len + 2);
        if (!at)
            return;
        if (needs_comma)
            *at++ = ',';
        memcpy(at, literal.ptr, literal.len);
        at[literal.len] = ':';
        memcpy(at + literal.len + 1, reason.ptr, reason.len);
        rope_advance(out, literal.len + reason.len + 1 + needs_comma);
        needs_comma = true;
    }
}

static void encode(const View *view, const FilterArgs *args, const uint16_t *verdicts, Rope *out) {
    rope_copy(out, args->has_names ? STR("{\"NodeNames\":[") : STR("{\"Nodes\":{\"items\":["));
    encode_survivors(args, verdicts, out);
    rope_copy(out, args->has_names ? STR("],\"FailedNodes\":{") : STR("]},\"FailedNodes\":{"));
    encode_rejected(view, args, verdicts, /* only_unresolvable= */ false, out);
    rope_copy(out, STR("},\"FailedAndUnresolvableNodes\":{"));
    encode_rejected(view, args, verdicts, /* only_unresolvable= */ true, out);
    rope_copy(out, STR("},\"Error\":\"\"}"));
}

/* --- the verb ---------------------------------------------------------------- */

void extender_filter(const View *view, Str body, Arena *arena, Answer *ret) {
    char error[WIRE_ERROR_MAX];
    FilterArgs args;
    uint16_t *verdicts;
    int r;

    *ret = (Answer){.status = 200, .body = ROPE_INIT_IN(arena)};
    r = filter_args_decode(view, body, arena, &args, error);
    if (r == WIRE_E_MALFORMED) {
        answer_error(ret, arena, 400, str_from_c(error));
        return;
    }
    if (r < 0) {
        answer_error(ret, arena, 200, STR("berth: the request needs more memory than it may have"));
        return;
    }
    decision_init(&ret->decision, &args.pod, args.n);
    if (args.has_names && args.n > 0 && !view->snapshot &&
        evaluate_has_filters(view->program, &args.pod)) {
        answer_error(ret,
            arena,
            200,
            STR("berth: node names were sent, but berth has no cluster to look them up in: start "
                "it with --cluster, or set nodeCacheCapable: false"));
        return;
    }

    verdicts = ARENA_ARRAY(arena, uint16_t, args.n);
    r = verdicts ? decide(view, &args, arena, verdicts, &ret->decision) : -ENOMEM;
    if (r == 0)
        encode(view, &args, verdicts, &ret->body);
    if (r < 0 || rope_error(&ret->body))
        answer_error(ret, arena, 200, STR("berth: the request needs more memory than it may have"));
}
