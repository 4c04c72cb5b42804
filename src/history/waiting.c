#include "history/waiting.h"

#include "base/map.h"
#include "history/pods-summary.h"

#define READ_AT_ONCE 64u
#define WAITING_BUDGET ((size_t)8 * 1024 * 1024)

/* Decisions are walked from the newest back: the first filter or bind of a pod speaks for it. */
typedef struct Walk {
    Arena *arena;
    Map seen; /* pods that have been spoken for */
    size_t n_waiting;
} Walk;

/* Of @past, which may go, or in @arena. */
static Str key_of(Arena *arena, const PastDecision *past) {
    if (!str_is_empty(past->pod_uid))
        return past->pod_uid;
    return arena_printf(arena, "%.*s/%.*s", STR_FMT(past->pod_namespace), STR_FMT(past->pod_name));
}

static bool speaks(const PastDecision *past) {
    if (str_is_empty(past->pod_name) && str_is_empty(past->pod_uid))
        return false;
    return past->verb == VERB_FILTER || (past->verb == VERB_BIND && str_is_empty(past->error));
}

/* False: out of memory. */
static bool note(Walk *walk, const PastDecision *past) {
    Str key;

    if (!speaks(past))
        return true;
    key = key_of(walk->arena, past);
    if (!key.ptr)
        return false;
    if (map_find(&walk->seen, key) != MAP_NONE)
        return true;
    walk->n_waiting +=
        past->verb == VERB_FILTER && past->summary.n_out == 0 && str_is_empty(past->error);
    key = arena_copy(walk->arena, key);
    return key.ptr && map_add(&walk->seen, key, 0) == 0;
}

size_t waiting_count(Decisions *decisions) {
    _cleanup_(arena_freep) Arena *arena = decisions ? arena_new(WAITING_BUDGET) : NULL;
    Walk walk = {.arena = arena, .seen = MAP_INIT_IN(arena)};
    PastDecision *some[READ_AT_ONCE];
    bool is_fine = arena != NULL;
    uint64_t below = 0;
    size_t n = READ_AT_ONCE;

    for (size_t i = 0; is_fine && n == READ_AT_ONCE && i < PODS_SUMMARY_DECISIONS_MAX; i += n) {
        n = decisions_headlines(decisions, below, some, READ_AT_ONCE);
        for (size_t j = 0; j < n; j++) {
            below = some[j]->id;
            is_fine = is_fine && note(&walk, some[j]);
            some[j] = past_unref(some[j]);
        }
    }
    return is_fine ? walk.n_waiting : 0;
}
