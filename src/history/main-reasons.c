/*
 * Finds the main reason of filters that no node passed. That evaluates the rules again, so no
 * decision waits for it: it happens a moment later, on the view that the filter was answered from.
 * References are taken under the lock, a few at a time.
 */

#include "base/clock.h"
#include "extender/explain.h"
#include "history/decisions-internal.h"

/* decisions checked under one hold of the lock */
#define AT_ONCE 8u

/* Older filters keep the reason of most nodes: newer ones matter more. */
#define BEHIND_MAX 4096u

#define REASON_BUDGET ((size_t)256 * 1024 * 1024)

typedef struct ReasonSearch {
    Decisions *decisions;
    const View *now; /* in force */
    RecentPods *recent;
    Arena *arena, *scratch;   /* for one decision */
    View *restored;           /* the last view restored; a reference, or NULL */
    SavedView *restored_from; /* ... from this; a reference, or NULL */
} ReasonSearch;

static bool needs_reason(const Kept *kept) {
    const PastDecision *past = kept->past;

    return past->verb == VERB_FILTER && past->summary.n_out == 0 && past->summary.n_rejected > 0 &&
           kept->outcomes && kept->saved_view && kept->saved_view->saved_view && kept->pod_text;
}

/* Takes up to AT_ONCE of the oldest unchecked filters. Returns their number. */
static size_t take_some(Decisions *decisions, FoundDecision *ret) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&decisions->mutex);
    size_t n = 0;

    decisions_raise(&decisions->next_reason, decisions_oldest(decisions));
    if (decisions->next > BEHIND_MAX)
        decisions_raise(&decisions->next_reason, decisions->next - BEHIND_MAX);
    for (; n < AT_ONCE && decisions->next_reason < decisions->next; decisions->next_reason++) {
        const Kept *kept = decisions_at(decisions, decisions->next_reason);

        if (needs_reason(kept))
            ret[n++] = decisions_take(kept);
    }
    return n;
}

/* The view that @found was answered from; borrowed. NULL: it cannot be restored. */
static const View *view_of(ReasonSearch *search, const FoundDecision *found) {
    const View *now = search->now;
    const RestoreOptions setting = {.zones = now->zones, .exemptions = now->exemptions};
    Program *program = found->saved_view->program;

    if (saved_view_is_of(found->saved_view, now))
        return now;
    if (search->restored && search->restored_from == found->saved_view)
        return search->restored;
    if (!program && digest_equal(found->saved_view->policy, now->program->digest))
        program = now->program;
    search->restored = view_unref(search->restored);
    search->restored_from = saved_view_unref(search->restored_from);
    if (!program || saved_view_restore(found->saved_view, program, &setting,
                        program == now->program ? now : NULL, &search->restored, NULL) < 0)
        return NULL;
    search->restored_from = saved_view_ref(found->saved_view);
    return search->restored;
}

/* False: the reason is not known. */
static bool find_reason(ReasonSearch *search, const FoundDecision *found, MainReason *ret) {
    RequestTime time = {.now_nsec = found->past->at_nsec, .scratch = search->scratch};
    const View *view = view_of(search, found);
    const uint32_t *rows;
    NodeSet node_set;
    Pod pod;
    size_t n;

    if (!view || !digest_equal(view->program->digest, found->past->rule_names->digest))
        return false;
    rows = decisions_rows(search->decisions, found->outcomes, view->table, search->arena, &n);
    if (!rows || !pod_text_decode(found->pod_text, search->arena, &pod))
        return false;
    node_set = (NodeSet){.table = view->table, .facts = &view->facts};
    return view_adjust(view, &time, &pod, NULL, 0, search->arena, &node_set) == 0 &&
           extender_main_reason(view, &time, &node_set, &pod, rows, n, search->arena, ret) == 0 &&
           ret->n_nodes > 0;
}

static void set_reason(Decisions *decisions, PastDecision *past, const MainReason *reason) {
    size_t before = past->bytes;
    _unlock_ pthread_mutex_t *held = mutex_hold(&decisions->mutex);

    if (past_set_main(past, reason) && past->id >= decisions_oldest(decisions)) {
        decisions->figures.bytes += past->bytes - before;
        decisions_make_room(decisions);
    }
}

static void add_reason(ReasonSearch *search, const FoundDecision *found) {
    const PastDecision *past = found->past;
    MainReason reason;

    arena_reset(search->arena);
    arena_reset(search->scratch);
    if (!find_reason(search, found, &reason))
        return;
    set_reason(search->decisions, found->past, &reason);
    if (search->recent)
        recent_pods_note_policy(search->recent, past->pod_uid, past->pod_namespace, past->pod_name,
            past_main_rule(past)->policy);
}

bool decisions_find_reasons(Decisions *decisions, const View *view, RecentPods *recent) {
    _cleanup_(arena_freep) Arena *arena = decisions ? arena_new(REASON_BUDGET) : NULL;
    _cleanup_(arena_freep) Arena *scratch = decisions ? arena_new(REASON_BUDGET) : NULL;
    ReasonSearch search = {
        .decisions = decisions, .now = view, .recent = recent, .arena = arena, .scratch = scratch};
    int64_t end = clock_thread_cpu_nsec() + MAIN_REASONS_NSEC;
    size_t n = AT_ONCE;

    if (!arena || !scratch)
        return true;
    while (n == AT_ONCE && clock_thread_cpu_nsec() < end) {
        FoundDecision found[AT_ONCE];

        n = take_some(decisions, found);
        for (size_t i = 0; i < n; i++) {
            add_reason(&search, &found[i]);
            found_done(&found[i]);
        }
    }
    view_unref(search.restored);
    saved_view_unref(search.restored_from);
    return n < AT_ONCE;
}
