/* A list of saved views by age. A view counts the memory that the next one does not share. */

#include "history/saved-views.h"

#include <stdlib.h>

/* A worker that began with the previous view may finish after others have used the next. */
#define LOOK_BACK 4u

static size_t find_program(const SavedViews *saved_views, const Program *program) {
    size_t i = 0;

    while (i < saved_views->n_programs && saved_views->programs[i].program != program)
        i++;
    return i;
}

static KeptProgram take_program(SavedViews *saved_views, size_t i) {
    KeptProgram taken = saved_views->programs[i];

    saved_views->n_programs--;
    memmove(&saved_views->programs[i], &saved_views->programs[i + 1],
        (saved_views->n_programs - i) * sizeof(taken));
    return taken;
}

static void leave_program(SavedViews *saved_views, const Program *program) {
    size_t i = find_program(saved_views, program);

    if (--saved_views->programs[i].n_users == 0)
        program_unref(take_program(saved_views, i).program);
}

static void count(SavedViews *saved_views, SavedViewEntry *kept, size_t bytes) {
    saved_views->bytes += bytes - kept->bytes;
    kept->bytes = bytes;
}

/* Removes @program from all saved views; readers have their own reference. */
static void forget_program(SavedViews *saved_views, const Program *program) {
    for (SavedViewEntry *kept = saved_views->newest; kept; kept = kept->older) {
        SavedView *bare;

        if (!kept->saved_view || kept->saved_view->program != program)
            continue;
        bare = saved_view_without_program(kept->saved_view);
        saved_view_unref(kept->saved_view);
        kept->saved_view = bare;
        leave_program(saved_views, program);
    }
}

/* Bytes of programs that are kept only for saved views. */
static size_t programs_bytes(const SavedViews *saved_views) {
    size_t bytes = 0;

    for (size_t i = 0; i + 1 < saved_views->n_programs; i++)
        bytes += saved_views->programs[i].bytes;
    return bytes;
}

/* Counts one more saved view with @program, which becomes the last used. */
static void use_program(SavedViews *saved_views, Program *program) {
    size_t i = find_program(saved_views, program);
    KeptProgram used = {.program = program, .bytes = arena_size(program->arena)};

    if (i < saved_views->n_programs) {
        used = take_program(saved_views, i);
    } else {
        (void)program_ref(program);
        if (saved_views->n_programs == SAVED_VIEWS_PROGRAMS_MAX)
            forget_program(saved_views, saved_views->programs[0].program);
    }
    used.n_users++;
    saved_views->programs[saved_views->n_programs++] = used;
    while (saved_views->n_programs > 1 &&
           programs_bytes(saved_views) > saved_views->programs_bytes_max)
        forget_program(saved_views, saved_views->programs[0].program);
}

size_t saved_views_bytes(const SavedViews *saved_views) {
    return saved_views->bytes + programs_bytes(saved_views);
}

/* Bytes of a view that @newer does not share. */
static size_t bytes_of(const SavedViewEntry *kept, const SavedViewEntry *newer) {
    return sizeof(*kept) +
           (kept->saved_view ? saved_view_bytes(kept->saved_view, newer->saved_view) : 0);
}

static SavedViewEntry *add(SavedViews *saved_views, SavedView *saved_view) {
    SavedViewEntry *kept = calloc(1, sizeof(*kept));

    if (!kept)
        return NULL;
    kept->saved_view = saved_view;
    kept->older = saved_views->newest;
    if (kept->older) {
        kept->older->newer = kept;
        count(saved_views, kept->older, bytes_of(kept->older, kept));
    } else {
        saved_views->oldest = kept;
    }
    saved_views->newest = kept;
    saved_views->n++;
    count(saved_views, kept, bytes_of(kept, kept));
    use_program(saved_views, saved_view->program);
    return kept;
}

static SavedViewEntry *find(const SavedViews *saved_views, const View *view) {
    SavedViewEntry *kept = saved_views->newest;

    for (size_t i = 0; kept && i < LOOK_BACK; i++, kept = kept->older)
        if (kept->saved_view && saved_view_is_of(kept->saved_view, view))
            return kept;
    return NULL;
}

SavedViewEntry *saved_views_use(SavedViews *saved_views, const View *view) {
    SavedViewEntry *kept = find(saved_views, view);

    if (!kept) {
        _cleanup_(saved_view_unrefp) SavedView *saved_view = saved_view_new(view);

        kept = saved_view ? add(saved_views, saved_view) : NULL;
        if (!kept)
            return NULL;
        saved_view = NULL; /* it is kept */
    }
    kept->n_users++;
    return kept;
}

static void drop_oldest(SavedViews *saved_views) {
    SavedViewEntry *kept = saved_views->oldest;

    saved_views->oldest = kept->newer;
    if (kept->newer)
        kept->newer->older = NULL;
    else
        saved_views->newest = NULL;
    saved_views->n--;
    count(saved_views, kept, 0);
    if (kept->saved_view && kept->saved_view->program)
        leave_program(saved_views, kept->saved_view->program);
    saved_view_unref(kept->saved_view);
    free(kept);
}

void saved_views_leave(SavedViews *saved_views, SavedViewEntry *kept) {
    kept->n_users--;
    while (saved_views->oldest && saved_views->oldest->n_users == 0)
        drop_oldest(saved_views);
}
