#include "extender/view.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "json/write.h"

#define QUOTED_MAX ((size_t)4 * 1024)

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

static int quote(Arena *arena, Str before, Str text, Str after, Str *ret) {
    _cleanup_(buf_done) Buf quoted = BUF_INIT(QUOTED_MAX);

    buf_append(&quoted, before);
    json_quote(&quoted, text);
    buf_append(&quoted, after);
    *ret = buf_error(&quoted) ? STR_NULL : arena_copy(arena, buf_str(&quoted));
    return ret->ptr ? 0 : error_origin(-ENOMEM);
}

static int build_texts(View *view) {
    size_t n_rows = view->table->n_rows;
    int r = 0;

    view->reasons = ARENA_ARRAY(view->arena, Str, view->program->n_filters);
    view->hosts = ARENA_ARRAY(view->arena, Str, n_rows + 1);
    view->followers = ARENA_ARRAY(view->arena, _Atomic uint32_t, n_rows + 1);
    if (!view->reasons || !view->hosts || !view->followers)
        return error_origin(-ENOMEM);
    for (size_t i = 0; r == 0 && i < view->program->n_filters; i++)
        r = quote(
            view->arena, STR_NULL, view->program->filters[i]->reason, STR_NULL, &view->reasons[i]);
    for (size_t row = 0; r == 0 && row < n_rows; row++) {
        r = quote(view->arena,
            STR("{\"Host\":"),
            view->table->names[row],
            STR(",\"Score\":"),
            &view->hosts[row]);
        atomic_init(&view->followers[row], (uint32_t)row + 1);
    }
    return error_trace(r);
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
    r = facts_build(program, view->table, view->arena, &view->facts);
    if (r == 0)
        r = build_texts(view);
    if (r < 0)
        return error_trace(r);
    *ret = TAKE_PTR(view);
    return 0;
}
