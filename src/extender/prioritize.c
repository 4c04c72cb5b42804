/*
 * prioritize: how good is each of the remaining nodes?
 *
 * Rules are combined at full precision, 0 to 100, and mapped to the wire's whole
 * numbers 0 to 10 last. A node that scores 0 is left out: kube-scheduler reads it
 * as 0 all the same, and decoding a full list costs it more than berth takes.
 */

#include <errno.h>

#include "base/error.h"
#include "extender/score.h"
#include "extender/verbs.h"
#include "json/write.h"

/* {"Host":"<name>","Score": of a node of the request's own table. */
static Str host_text(const View *view, const FilterArgs *args, uint32_t row, Arena *arena) {
    _cleanup_(buf_done) Buf text = BUF_INIT((size_t)64 * 1024);

    if (args->has_names)
        return view->hosts[row];
    buf_append(&text, STR("{\"Host\":"));
    json_quote(&text, args->table->names[row]);
    buf_append(&text, STR(",\"Score\":"));
    return arena_copy(arena, buf_str(&text));
}

static void encode(
    const View *view, const FilterArgs *args, const double *scores, Rope *out, Decision *decision) {
    rope_copy(out, STR("["));
    for (size_t i = 0; i < args->n; i++) {
        unsigned score = score_to_wire(scores[i]);
        Str host;
        char *at;
        size_t n = 0;

        if (score == 0 || args->rows[i] == args->table->n_rows)
            continue;
        host = host_text(view, args, args->rows[i], out->arena);
        at = rope_reserve(out, host.len + 4); /* comma, two digits, brace */
        if (!at)
            return;
        if (decision->n_out > 0)
            at[n++] = ',';
        memcpy(at + n, host.ptr, host.len);
        n += host.len;
        if (score == WIRE_SCORE_MAX)
            at[n++] = '1';
        at[n++] = (char)('0' + score % 10);
        at[n++] = '}';
        rope_advance(out, n);
        decision->n_out++;
    }
    rope_copy(out, STR("]"));
}

static int score(const View *view, const FilterArgs *args, Arena *arena, double *scores) {
    Question question = {
        .program = view->program,
        .table = args->table,
        .facts = args->facts,
        .pod = &args->pod,
        .rows = args->rows,
        .n = args->n,
        .arena = arena,
    };
    bool any;

    return error_trace(evaluate_scores(&question, &any, scores)); /* none: all stay 0 */
}

void extender_prioritize(const View *view, Str body, Arena *arena, Answer *ret) {
    char error[WIRE_ERROR_MAX];
    FilterArgs args;
    double *scores;
    int r;

    *ret = (Answer){.status = 200, .body = ROPE_INIT_IN(arena)};
    r = filter_args_decode(view, body, arena, &args, error);
    if (r == WIRE_E_MALFORMED) {
        answer_error(ret, arena, 400, str_from_c(error));
        return;
    }
    if (r == 0) {
        decision_init(&ret->decision, &args.pod, args.n);
        scores = ARENA_ARRAY(arena, double, args.n);
        r = scores ? score(view, &args, arena, scores) : -ENOMEM;
        if (r == 0)
            encode(view, &args, scores, &ret->body, &ret->decision);
    }
    if (r < 0 || rope_error(&ret->body))
        answer_error(ret, arena, 500, STR("berth: the request needs more memory than it may have"));
}
