/*
 * prioritize: how good is each of the remaining nodes?
 *
 * Rules are combined as doubles, 0 to 100, and rounded last (score.h). A node with score 0 is left
 * out: for kube-scheduler that is the same as 0, and decoding a full list would cost it more time
 * than berth needs.
 */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

#include "base/wide-loops.h"
#include "extender/score.h"
#include "extender/verbs-internal.h"

#define HOST "{\"Host\":"
#define SCORE ",\"Score\":"

/* The text between two names: the score of the first, and the start of the next entry. */
typedef struct Tail {
    char text[32]; /* a power of two, to copy it at once */
    size_t len;
    size_t kept;                     /* mask for the length: 0 for a score of 0, else all bits */
} __attribute__((aligned(64))) Tail; /* a power of two, to find it by a shift */

static_assert(WIRE_MAX_LIMIT <= 100 && sizeof(SCORE "100}," HOST) - 1 <= sizeof(((Tail *)0)->text),
    "every text fits");

/* An upper bound of the reply's length, so that it is one piece. Unused memory costs nothing. */
static size_t reply_bound(const FilterArgs *args) {
    size_t names = 16 + BYTES_BLOCK;

    if (args->has_names && args->n > 0)
        names += filter_args_run(args, 0, args->n).len;
    return names + args->n * sizeof(((Tail *)0)->text);
}

/* Writes nodes @begin to @end - 1. No branch on the score, because processors cannot predict it.
 * The loop reads only local variables, as in put_rejected_names() of filter.c. */
static inline __attribute__((always_inline)) char *put_range(char *at, const FilterArgs *args,
    const uint8_t *scores, const Tail *tails, size_t begin, size_t end, bool is_roomy) {
    const BodySpan *spans = args->spans;
    Str body = args->body;

    for (size_t i = begin; i < end; i++) {
        const Tail *tail = &tails[scores[i]];
        BodySpan span = spans[i];

        bytes_copy_wide(body_span_copy(at, body, span, is_roomy), tail->text);
        at += (span.len + tail->len) & tail->kept;
    }
    return at;
}

/* Names mode. */
WIDE_LOOPS static char *put_names(
    char *at, const FilterArgs *args, const uint8_t *scores, const Tail *tails) {
    size_t n_roomy = filter_args_n_roomy(args);

    at = put_range(at, args, scores, tails, 0, n_roomy, /* is_roomy= */ true);
    return put_range(at, args, scores, tails, n_roomy, args->n, /* is_roomy= */ false);
}

static char *put(char *at, Str text) {
    memcpy(at, text.ptr, text.len);
    return at + text.len;
}

/* Fills the tails of scores 0 to @most. */
static void fill_tails(Tail *tails, unsigned most) {
    for (unsigned score = 0; score <= most; score++) {
        char *at = put(tails[score].text, STR(SCORE));

        *at = '1';
        at += score >= 100;
        *at = (char)('0' + score / 10 % 10);
        at += score >= 10;
        *at++ = (char)('0' + score % 10);
        at = put(at, STR("}," HOST));
        tails[score].len = (size_t)(at - tails[score].text);
        tails[score].kept = score > 0 ? SIZE_MAX : 0;
    }
}

/* Whole-node mode. */
static Pen put_quoted(Pen pen, const FilterArgs *args, const uint8_t *scores, const Tail *tails) {
    for (size_t i = 0; pen.at && i < args->n; i++) {
        const Tail *tail = &tails[scores[i]];

        if (scores[i] == 0)
            continue;
        pen = filter_args_put_quoted(args, i, tail->len, pen);
        if (pen.at)
            pen.at = put(pen.at, str_of(tail->text, tail->len));
    }
    return pen;
}

WIDE_LOOPS static size_t count_scored(const uint8_t *scores, size_t n) {
    uint32_t n_scored = 0;

    for (size_t i = 0; i < n; i++)
        n_scored += scores[i] > 0;
    return n_scored;
}

/* Writes [{"Host":"<name>","Score":7},…]. Returns the number of entries. */
static size_t encode(const FilterArgs *args, const uint8_t *scores, unsigned most, Rope *out) {
    size_t n_scored = count_scored(scores, args->n);
    SCRATCH Tail tails[WIRE_MAX_LIMIT + 1];
    Pen pen = pen_open(out, reply_bound(args));

    if (!pen.at)
        return 0;
    fill_tails(tails, most);
    pen.at = put(pen.at, STR("[" HOST));
    if (args->has_names)
        pen.at = put_names(pen.at, args, scores, tails);
    else
        pen = put_quoted(pen, args, scores, tails);
    if (!pen.at)
        return 0;
    pen.at -=
        sizeof(HOST) - 1 + (n_scored > 0); /* removes the last start of an entry, and the comma */
    pen_close(pen);
    rope_copy(out, STR("]"));
    return n_scored;
}

/* No branches, and restrict: so the compiler makes vector code. */
WIDE_LOOPS static void map_scores(
    const double *restrict scores, size_t n, unsigned most, uint8_t *restrict ret) {
    for (size_t i = 0; i < n; i++)
        ret[i] = (uint8_t)score_to_wire(scores[i], most);
}

int extender_scores(
    const JudgeInput *input, JudgeNotes *ret_notes, unsigned *ret_most, uint8_t **ret) {
    double *scores = ARENA_RAW(input->arena, double, input->n);
    uint8_t *wire = ARENA_RAW(input->arena, uint8_t, input->n);
    Judge *judge = NULL;
    int r = scores && wire ? judge_open(input, &judge) : -ENOMEM;

    *ret = NULL;
    if (r == 0 && judge_match(judge)->has_scores)
        r = judge_scores(judge, scores);
    if (r < 0)
        return r;
    *ret_notes = judge_notes(judge);
    if (!judge_match(judge)->has_scores)
        return 0;
    *ret_most = judge_match(judge)->wire_max;
    map_scores(scores, input->n, *ret_most, wire);
    *ret = wire;
    return 0;
}

void extender_prioritize(
    const View *view, const RequestTime *time, Str body, Arena *arena, Answer *ret) {
    const NodeParts *parts = &view->program->score_parts;
    Decision *decision = &ret->decision;
    FilterArgs *args = NULL;
    uint8_t *scores = NULL;
    unsigned most = 0;
    JudgeInput input;
    int r = answer_begin(view, time, body, parts, arena, ret, &args);

    if (r == WIRE_E_MALFORMED)
        return;
    if (r == 0) {
        input =
            view_judge_input(view, time, &args->node_set, &args->pod, args->rows, args->n, arena);
        r = extender_scores(&input, &decision->notes, &most, &scores);
    }
    for (size_t i = 0; scores && args->n_unknown > 0 && i < args->n; i++)
        if (args->rows[i] == args->node_set.table->n_rows) /* an unknown node */
            scores[i] = 0;
    if (r == 0 && scores)
        decision->summary.n_out = encode(args, scores, most, &ret->body);
    else if (r == 0)
        rope_copy(&ret->body, STR("[]")); /* no rule applies */
    decision->scores = scores;
    decision->args = args;
    decision->summary.n_unjudged = decision->notes.n_late;
    if (r < 0 || rope_error(&ret->body))
        answer_no_memory(ret, arena, 500);
}

int64_t score_points(unsigned wire, int64_t weight) {
    return (int64_t)wire * SCORE_POINTS * weight;
}

void score_share_print(unsigned most, int64_t weight, Buf *out) {
    buf_printf(out,
        "at weight %" PRId64 " kube-scheduler adds the score sent × %" PRId64 " (0 to %" PRId64
        ") to its own, 0 to %u by default",
        weight, score_points(1, weight), score_points(most, weight), SCORE_IN_TREE_MAX);
}
