#include "extender/view.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "json/write.h"

#define REASON_TEXT_MAX ((size_t)4 * 1024)

View *view_ref(View *view) {
    ref_take(&view->ref);
    return view;
}

View *view_unref(View *view) {
    if (view && ref_drop(&view->ref)) {
        snapshot_unref(view->snapshot);
        program_unref(view->program);
        arena_free(view->arena);
        free(view);
    }
    return NULL;
}

static int build_reasons(View *view) {
    size_t n = view->program->n_filters;

    view->reasons = ARENA_ARRAY(view->arena, Str, n);
    if (!view->reasons)
        return error_origin(-ENOMEM);
    for (size_t i = 0; i < n; i++) {
        _cleanup_(buf_done) Buf quoted = BUF_INIT(REASON_TEXT_MAX);

        json_quote(&quoted, view->program->filters[i]->reason);
        view->reasons[i] = arena_copy(view->arena, buf_str(&quoted));
        if (buf_error(&quoted) || !view->reasons[i].ptr)
            return error_origin(-ENOMEM);
    }
    return 0;
}

/* Until a request has shown its order, the cluster's own is the best guess. The
 * unknown node has no literal, so nothing ever matches it. */
static int build_guesses(View *view) {
    const NodeTable *table = view->table;

    view->guesses = ARENA_ARRAY(view->arena, Guess, table->n_rows + 1);
    if (!view->guesses)
        return error_origin(-ENOMEM);
    for (size_t row = 0; row < table->n_rows; row++) {
        if (!str_is_empty(table->literals[row])) {
            view->guesses[row].literal = table->literals[row].ptr - 1;
            view->guesses[row].len = (uint32_t)table->literals[row].len + 1;
        }
        atomic_init(&view->guesses[row].follower, (uint32_t)row + 1);
    }
    atomic_init(&view->guesses[table->n_rows].follower, (uint32_t)table->n_rows);
    return 0;
}

int view_new(Snapshot *snapshot, Program *program, View **ret) {
    _cleanup_(view_unrefp) View *view = calloc(1, sizeof(*view));
    int r;

    if (!view)
        return error_origin(-ENOMEM);
    view->ref = REF_ONE;
    view->program = program_ref(program);
    view->snapshot = snapshot ? snapshot_ref(snapshot) : NULL;
    view->arena = arena_new(VIEW_BUDGET);
    if (!view->arena)
        return error_origin(-ENOMEM);
    r = table_build(NULL, 0, NULL, 0, view->arena, &view->nothing);
    if (r < 0)
        return error_trace(r);
    view->table = snapshot ? snapshot_table(snapshot) : &view->nothing;
    r = facts_build(program, view->table, FACTS_OF_ALL, view->arena, &view->facts);
    if (r == 0)
        r = build_reasons(view);
    if (r == 0)
        r = build_guesses(view);
    if (r < 0)
        return error_trace(r);
    *ret = TAKE_PTR(view);
    return 0;
}

/* Rare, so the table is copied with the pod taken out. */
int view_leave_out(
    const View *view, const Pod *pod, Arena *arena, const NodeTable **table, const Facts **facts) {
    NodeTable *others;
    Facts *their_facts;
    uint32_t row;
    int r;

    if (str_is_empty(pod->node_name) || str_is_empty(pod->uid))
        return 0;
    row = table_find(*table, pod->node_name);
    if (row == (*table)->n_rows)
        return 0;
    others = ARENA_NEW(arena, NodeTable);
    their_facts = ARENA_NEW(arena, Facts);
    if (!others || !their_facts)
        return error_origin(-ENOMEM);
    r = table_without_pod(*table, row, pod->uid, arena, others);
    if (r == 0)
        r = facts_build(view->program, others, FACTS_OF_ALL, arena, their_facts);
    if (r < 0)
        return error_trace(r);
    *table = others;
    *facts = their_facts;
    return 0;
}
