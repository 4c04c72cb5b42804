/*
 * preempt: keeps the nodes that pass every filter once the victims are gone.
 *
 * A node that berth would still reject is dropped: evicting pods does not help there. So are nodes
 * that berth does not know, and nodes without victims, which are an error for kube-scheduler. The
 * reply is always NodeNameToMetaVictims, with the same victims in the same order and the same
 * number of violated disruption budgets. It never has a null, which would crash kube-scheduler.
 */

#include <errno.h>

#include "extender/verbs-internal.h"
#include "json/write.h"

#define PREEMPT_REPLY_MAX ((size_t)64 * 1024 * 1024)

/* Lists the victims of all candidates, as removals. One table without all of them is enough: rules
 * read only the pods of their own node. */
static int collect_gone(
    const PreemptArgs *args, const uint32_t *rows, Arena *arena, PodChange **ret, size_t *ret_n) {
    size_t n = 0;

    for (size_t i = 0; i < args->candidates.n; i++)
        n += args->candidates.items[i].victims.n;
    *ret = ARENA_ARRAY(arena, PodChange, n);
    if (!*ret)
        return -ENOMEM;
    *ret_n = n;
    n = 0;
    for (size_t i = 0; i < args->candidates.n; i++) {
        const Candidate *candidate = &args->candidates.items[i];

        for (size_t j = 0; j < candidate->victims.n; j++) {
            Str quoted = candidate->victims.items[j]; /* UIDs have no escapes */

            (*ret)[n++] =
                (PodChange){.row = rows[i], .remove = str_of(quoted.ptr + 1, quoted.len - 2)};
        }
    }
    return 0;
}

/* ret_keep[i] = whether candidate i is returned, judged without the victims. If berth has no
 * cluster, only candidates without victims are dropped. */
static int choose(const View *view, const RequestTime *time, const PreemptArgs *args, Arena *arena,
    bool *ret_keep, JudgeNotes *ret_notes) {
    size_t n = args->candidates.n;
    uint32_t *rows = ARENA_ARRAY(arena, uint32_t, n);
    uint16_t *verdicts = ARENA_ARRAY(arena, uint16_t, n);
    NodeSet node_set = {.table = view->table, .facts = &view->facts};
    PodChange *gone = NULL;
    size_t n_gone = 0;
    bool can_judge;
    JudgeInput input;
    Judge *judge = NULL;
    int r;

    if (!rows || !verdicts)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        rows[i] = table_find(view->table, args->candidates.items[i].node);
    r = collect_gone(args, rows, arena, &gone, &n_gone);
    if (r == 0)
        r = view_adjust(view, time, &args->pod, /* rows= */ NULL, 0, arena, &node_set);
    if (r == 0 && n_gone > 0 && !node_set.facts->is_late)
        r = view_change(view, time, gone, n_gone, arena, &node_set);
    if (r == 0) {
        input = view_judge_input(view, time, &node_set, &args->pod, rows, n, arena);
        r = judge_open(&input, &judge);
    }
    if (r == 0)
        r = judge_filters(judge, verdicts);
    if (r < 0)
        return r;
    *ret_notes = judge_notes(judge);
    can_judge = view->snapshot && judge_match(judge)->has_filters;
    for (size_t i = 0; i < n; i++)
        ret_keep[i] =
            args->candidates.items[i].victims.n > 0 &&
            (!can_judge || (verdicts[i] == VERDICT_PASS && rows[i] != view->table->n_rows));
    return 0;
}

static void encode(const PreemptArgs *args, const bool *keep, Answer *ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT(PREEMPT_REPLY_MAX);
    JsonWriter writer = JSON_WRITER(&text);

    json_write(&writer, "{NodeNameToMetaVictims: {");
    for (size_t i = 0; i < args->candidates.n; i++) {
        const Candidate *candidate = &args->candidates.items[i];

        if (!keep[i])
            continue;
        json_write(&writer, "%.*s: {Pods: [", STR_FMT(candidate->node));
        for (size_t j = 0; j < candidate->victims.n; j++) {
            json_write(&writer, "{UID: ");
            json_write_raw(&writer, candidate->victims.items[j]);
            json_write_end_object(&writer);
        }
        json_write(&writer, "], NumPDBViolations: %jd}", candidate->pdb_violations);
        ret->decision.summary.n_out++;
    }
    json_write(&writer, "}}");
    rope_copy(&ret->body, buf_str(&text));
    if (buf_error(&text))
        ret->body.error = buf_error(&text);
}

void extender_preempt(
    const View *view, const RequestTime *time, Str body, Arena *arena, Answer *ret) {
    char error[WIRE_ERROR_MAX];
    PreemptArgs args;
    bool *keep;
    int r;

    *ret = (Answer){.status = 200, .body = ROPE_INIT_IN(arena)};
    r = preempt_args_decode(body, arena, &args, error);
    if (r == WIRE_E_MALFORMED) {
        answer_error(ret, arena, 400, str_from_c(error));
        return;
    }
    if (r == 0) {
        decision_init(&ret->decision, &args.pod, args.candidates.n);
        keep = ARENA_ARRAY(arena, bool, args.candidates.n);
        r = keep ? choose(view, time, &args, arena, keep, &ret->decision.notes) : -ENOMEM;
        ret->decision.summary.n_unjudged = ret->decision.notes.n_late;
        if (r == 0)
            encode(&args, keep, ret);
    }
    if (r < 0 || rope_error(&ret->body))
        answer_no_memory(ret, arena, 500);
}
