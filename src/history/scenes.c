#include "history/scenes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A worker that began with the view before may be done after others have used the next. */
#define LOOK_BACK 4u

void scenes_init(Scenes *scenes, size_t programs_bytes_max) {
    *scenes = (Scenes){.programs_bytes_max = programs_bytes_max};
}

void scenes_done(Scenes *scenes) {
    assert(scenes->n == 0 && scenes->bytes == 0 && scenes->n_programs == 0);
    (void)scenes;
}

/* --- programs -------------------------------------------------------------------------------- */

static size_t find_program(const Scenes *scenes, const Program *program) {
    size_t i = 0;

    while (i < scenes->n_programs && scenes->programs[i].program != program)
        i++;
    return i;
}

static void drop_program(Scenes *scenes, size_t i) {
    program_unref(scenes->programs[i].program);
    scenes->n_programs--;
    memmove(&scenes->programs[i],
        &scenes->programs[i + 1],
        (scenes->n_programs - i) * sizeof(scenes->programs[0]));
}

static void leave_program(Scenes *scenes, const Program *program) {
    size_t i = find_program(scenes, program);

    if (--scenes->programs[i].n_users == 0)
        drop_program(scenes, i);
}

static void count(Scenes *scenes, KeptScene *kept, size_t bytes) {
    scenes->bytes += bytes - kept->bytes;
    kept->bytes = bytes;
}

/* Nobody has @program any more: those who read a scene meanwhile keep it as it was. What they had
 * from the program is copied once, for the newest of them, which goes last. */
static void forget_program(Scenes *scenes, const Program *program) {
    Scene *first = NULL;

    for (KeptScene *kept = scenes->newest; kept; kept = kept->older) {
        Scene *bare;

        if (!kept->scene || kept->scene->program != program)
            continue;
        bare = scene_without_program(kept->scene, first);
        if (bare && bare->arena)
            count(scenes, kept, kept->bytes + arena_size(bare->arena));
        first = first ? first : bare;
        scene_unref(kept->scene);
        kept->scene = bare;
        leave_program(scenes, program);
    }
}

/* What programs take that are kept for scenes only. */
static size_t programs_bytes(const Scenes *scenes) {
    size_t bytes = 0;

    for (size_t i = 0; i + 1 < scenes->n_programs; i++)
        bytes += scenes->programs[i].bytes;
    return bytes;
}

/* One more scene has @program, which becomes the last used. */
static void use_program(Scenes *scenes, Program *program) {
    size_t i = find_program(scenes, program);
    KeptProgram used = {.program = program, .bytes = arena_size(program->arena)};

    if (i < scenes->n_programs) {
        used = scenes->programs[i];
        memmove(&scenes->programs[i],
            &scenes->programs[i + 1],
            (scenes->n_programs - i - 1) * sizeof(used));
        scenes->n_programs--;
    } else {
        (void)program_ref(program);
        if (scenes->n_programs == SCENES_PROGRAMS_MAX)
            forget_program(scenes, scenes->programs[0].program);
    }
    used.n_users++;
    scenes->programs[scenes->n_programs++] = used;
    while (scenes->n_programs > 1 && programs_bytes(scenes) > scenes->programs_bytes_max)
        forget_program(scenes, scenes->programs[0].program);
}

/* --- scenes ---------------------------------------------------------------------------------- */

size_t scenes_bytes(const Scenes *scenes) {
    return scenes->bytes + programs_bytes(scenes);
}

/* What it takes itself is what it does not share with itself. */
static size_t bytes_of(const KeptScene *kept, const KeptScene *newer) {
    return sizeof(*kept) + (kept->scene ? scene_bytes(kept->scene, newer->scene) : 0);
}

static KeptScene *add(Scenes *scenes, Scene *scene) {
    KeptScene *kept = calloc(1, sizeof(*kept));

    if (!kept)
        return NULL;
    kept->scene = scene;
    kept->older = scenes->newest;
    if (kept->older) {
        kept->older->newer = kept;
        count(scenes, kept->older, bytes_of(kept->older, kept));
    } else {
        scenes->oldest = kept;
    }
    scenes->newest = kept;
    scenes->n++;
    count(scenes, kept, bytes_of(kept, kept));
    use_program(scenes, scene->program);
    return kept;
}

static KeptScene *find(const Scenes *scenes, const View *view) {
    KeptScene *kept = scenes->newest;

    for (size_t i = 0; kept && i < LOOK_BACK; i++, kept = kept->older)
        if (kept->scene && scene_is_of(kept->scene, view))
            return kept;
    return NULL;
}

KeptScene *scenes_use(Scenes *scenes, const View *view) {
    KeptScene *kept = find(scenes, view);

    if (!kept) {
        _cleanup_(scene_unrefp) Scene *scene = scene_new(view, /* keeps_program= */ true);

        kept = scene ? add(scenes, scene) : NULL;
        if (!kept)
            return NULL;
        scene = NULL; /* it is kept */
    }
    kept->n_users++;
    return kept;
}

/* Those that are used no more, as far as they are the oldest. */
static void drop_oldest(Scenes *scenes) {
    KeptScene *kept = scenes->oldest;

    scenes->oldest = kept->newer;
    if (kept->newer)
        kept->newer->older = NULL;
    else
        scenes->newest = NULL;
    scenes->n--;
    count(scenes, kept, 0);
    if (kept->scene && kept->scene->program)
        leave_program(scenes, kept->scene->program);
    scene_unref(kept->scene);
    free(kept);
}

void scenes_leave(Scenes *scenes, KeptScene *kept) {
    kept->n_users--;
    while (scenes->oldest && scenes->oldest->n_users == 0)
        drop_oldest(scenes);
}
