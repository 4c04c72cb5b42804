/*
 * prioritize: how good is each of the remaining nodes?
 *
 * Rules are combined at full precision, 0 to 100, and mapped to the wire's whole
 * numbers (score.h) last. A node that scores 0 is left out: kube-scheduler reads it
 * as 0 all the same, and decoding a full list costs it more than berth takes.
 */

#include <errno.h>
#include <inttypes.h>

#include "base/bytes.h"
#include "extender/score.h"
#include "extender/verbs-internal.h"

#define HOST "{\"Host\":"
#define SCORE ",\"Score\":"
#define ENTRY_MAX (sizeof(HOST SCORE) + 5) /* without the name: comma, digits, brace */

/* An upper bound for the reply, so that it is one piece; of it only what is used costs anything. */
static size_t reply_bound(const FilterArgs *args) {
    size_t names = 16;

    if (args->has_names && args->n > 0)
        names += filter_args_run(args, 0, args->n).len;
    return names + args->n * ENTRY_MAX;
}

/* {"Host":"<name>","Score":7}, with a comma before it unless it is the first. */
static inline char *write_entry(char *at, Str literal, unsigned score, bool is_first) {
    *at = ',';
    at += !is_first;
    memcpy(at, HOST, sizeof(HOST) - 1);
    at += sizeof(HOST) - 1;
    bytes_copy(at, literal.ptr, literal.len);
    at += literal.len;
    memcpy(at, SCORE, sizeof(SCORE) - 1);
    at += sizeof(SCORE) - 1;
    *at = '1';
    at += score >= 100;
    *at = (char)('0' + score / 10 % 10);
    at += score >= 10;
    *at++ = (char)('0' + score % 10);
    *at++ = '}';
    return at;
}

/* Returns how many nodes have a score. */
static size_t encode(const FilterArgs *args, const uint8_t *scores, Rope *out) {
    Pen pen = pen_open(out, reply_bound(args));
    uint32_t unknown = (uint32_t)args->node_set.table->n_rows;
    size_t n_scored = 0;

    if (!pen.at)
        return 0;
    *pen.at++ = '[';
    for (size_t i = 0; i < args->n; i++) {
        Str literal;

        if (scores[i] == 0 || args->rows[i] == unknown)
            continue;
        literal = filter_args_literal(args, i, out->arena);
        pen = pen_room(pen, literal.len + ENTRY_MAX);
        if (!literal.ptr)
            out->error = -ENOMEM;
        if (!literal.ptr || !pen.at)
            return 0;
        pen.at = write_entry(pen.at, literal, scores[i], n_scored++ == 0);
    }
    pen_close(pen);
    rope_copy(out, STR("]"));
    return n_scored;
}

/* The wire's score of each node; NULL through @ret when no rule applies. */
static int score(const View *view, const RequestTime *time, const FilterArgs *args, Arena *arena,
    Decision *decision, const uint8_t **ret) {
    JudgeInput input = filter_args_judge_input(view, time, args, arena);
    double *scores = ARENA_RAW(arena, double, args->n);
    uint8_t *wire = ARENA_RAW(arena, uint8_t, args->n);
    unsigned most;
    Judge *judge = NULL;
    int r = scores && wire ? judge_open(&input, &judge) : -ENOMEM;

    *ret = NULL;
    if (r == 0 && judge_has_scores(judge))
        r = judge_scores(judge, scores);
    if (r < 0)
        return r;
    decision->notes = judge_notes(judge);
    decision->summary.n_unjudged = decision->notes.n_late;
    if (!judge_has_scores(judge))
        return 0;
    most = judge_wire_max(judge);
    for (size_t i = 0; i < args->n; i++)
        wire[i] = (uint8_t)score_to_wire(scores[i], most);
    *ret = wire;
    return 0;
}

void extender_prioritize(
    const View *view, const RequestTime *time, Str body, Arena *arena, Answer *ret) {
    const NodeParts *parts = &view->program->score_parts;
    FilterArgs *args = NULL;
    const uint8_t *scores = NULL;
    int r = answer_begin(view, time, body, parts, arena, ret, &args);

    if (r == WIRE_E_MALFORMED)
        return;
    if (r == 0)
        r = score(view, time, args, arena, &ret->decision, &scores);
    if (r == 0 && scores)
        ret->decision.summary.n_out = encode(args, scores, &ret->body);
    else if (r == 0)
        rope_copy(&ret->body, STR("[]")); /* no rule applies */
    if (r < 0 || rope_error(&ret->body)) {
        answer_no_memory(ret, arena, 500);
        return;
    }
    ret->decision.args = args;
    ret->decision.scores = scores;
}

/* --- compared with kube-scheduler's own scores ------------------------------------------------ */

int64_t score_points(unsigned wire, int64_t weight) {
    return (int64_t)wire * SCORE_POINTS * weight;
}

void score_share_print(unsigned most, int64_t weight, Buf *out) {
    buf_printf(out,
        "at weight %" PRId64 " kube-scheduler adds the score sent × %" PRId64 " (0 to %" PRId64
        ") to its own, 0 to %u by default",
        weight, score_points(1, weight), score_points(most, weight), SCORE_IN_TREE_MAX);
}
