#include "simulate/scheduler.h"

#include <errno.h>
#include <stdlib.h>

#include "extender/sample.h"
#include "simulate/fit.h"

#define SCRATCH_BUDGET ((size_t)1024 * 1024 * 1024)
#define POINTS_PER_SCORE 10 /* an extender's scores go to 10, a plugin's to 100 */
#define BEST 100

enum {
    WEIGHT_TAINTS = 3,
    WEIGHT_AFFINITY = 2,
};

struct Scheduler {
    SchedulerOptions options;
    const Ground *ground;
    Ours *ours;
    Outlooks *outlooks;
    Dice chance;
    size_t start; /* place in the order where the next cycle begins */
    Arena *arena; /* of one cycle */

    /* With room for all nodes. */
    uint32_t *rows;
    int64_t *scores;
    uint32_t *counts; /* by Reason below REASON_FILTER */
    uint32_t *filter_counts;
    size_t n_filters;

    Str not_offered[REASON_NOT_OFFERED_MAX];
    size_t n_not_offered;
    Arena *names;
};

/* One cycle. */
typedef struct Cycle {
    const Want *want;
    const Outlook *outlook;
    Fit fit;
    int64_t now_nsec;
    uint32_t asked;
    size_t n; /* rows that are left */
    Choice *choice;
} Cycle;

int scheduler_new(
    const SchedulerOptions *options, const Ground *ground, Ours *ours, Scheduler **ret) {
    _cleanup_(scheduler_freep) Scheduler *scheduler = calloc(1, sizeof(*scheduler));
    size_t n = ground->n_rows + 1;
    int r;

    if (!scheduler)
        return -ENOMEM;
    scheduler->options = *options;
    scheduler->ground = ground;
    scheduler->ours = ours;
    scheduler->chance.state = options->seed;
    scheduler->arena = arena_new(SCRATCH_BUDGET);
    scheduler->names = arena_new(SCRATCH_BUDGET);
    if (!scheduler->arena || !scheduler->names)
        return -ENOMEM;
    scheduler->n_filters = ours ? ours_program(ours)->n_filters : 0;
    scheduler->rows = ARENA_ARRAY(scheduler->names, uint32_t, n);
    scheduler->scores = ARENA_ARRAY(scheduler->names, int64_t, n);
    scheduler->counts = ARENA_ARRAY(scheduler->names, uint32_t, REASON_FILTER);
    scheduler->filter_counts = ARENA_ARRAY(scheduler->names, uint32_t, scheduler->n_filters + 1);
    if (!scheduler->rows || !scheduler->scores || !scheduler->counts || !scheduler->filter_counts)
        return -ENOMEM;
    r = outlooks_new(ground, &scheduler->outlooks);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(scheduler);
    return 0;
}

Scheduler *scheduler_free(Scheduler *scheduler) {
    if (!scheduler)
        return NULL;
    outlooks_free(scheduler->outlooks);
    arena_free(scheduler->arena);
    arena_free(scheduler->names);
    free(scheduler);
    return NULL;
}

/* --- filters ------------------------------------------------------------ */

/* A number for a resource that no node has, so that it can be told by its name. */
static Reason number_not_offered(Scheduler *scheduler, Str name) {
    size_t i = 0;

    while (i < scheduler->n_not_offered && !str_eq(scheduler->not_offered[i], name))
        i++;
    if (i == scheduler->n_not_offered && i < REASON_NOT_OFFERED_MAX - 1) {
        scheduler->not_offered[i] = arena_copy(scheduler->names, name);
        scheduler->n_not_offered += scheduler->not_offered[i].ptr != NULL;
    }
    return REASON_NOT_OFFERED + (Reason)i;
}

/* A node may lack several things: each is counted. The last one found. */
static Reason count_lacks(Scheduler *scheduler, const Fit *fit, uint32_t row) {
    const Ground *ground = scheduler->ground;
    Reason reason = REASON_NONE;

    if (ground->pods == SIZE_MAX || ground_free_amount(ground, ground->pods, row) < 1)
        scheduler->counts[reason = REFUSAL_PODS]++;
    for (size_t i = 0; i < fit->n_asks; i++)
        if (fit->asks[i].amount > ground_free_amount(ground, fit->asks[i].column, row))
            scheduler->counts[reason = REASON_RESOURCE + (Reason)fit->asks[i].column]++;
    if (!str_is_empty(fit->not_offered))
        scheduler->counts[reason = number_not_offered(scheduler, fit->not_offered)]++;
    return reason;
}

/* REASON_NONE: the node can take the pod; else why not, counted. */
static Reason try_node(Scheduler *scheduler, const Cycle *cycle, uint32_t row) {
    Reason refusal = cycle->outlook->refusals[row];

    if (refusal == REFUSAL_NONE && cycle->want->ports.n > 0 &&
        ports_clash(&cycle->want->ports, &scheduler->ground->ports[row]))
        refusal = REFUSAL_PORTS;
    if (refusal != REFUSAL_NONE) {
        scheduler->counts[refusal]++;
        return refusal;
    }
    if (fit_is_room(&cycle->fit, scheduler->ground, row))
        return REASON_NONE;
    return count_lacks(scheduler, &cycle->fit, row);
}

/* The nodes that may be looked at, from where the last cycle ended. */
static void find_feasible(Scheduler *scheduler, Cycle *cycle) {
    const Outlook *outlook = cycle->outlook;
    const uint32_t *order = outlook->only ? outlook->only : scheduler->ground->order;
    size_t n = outlook->only ? outlook->n_only : scheduler->ground->n_order;
    size_t enough = cycle->asked == NO_ROW ? sample_size(n, scheduler->options.percentage) : n;
    size_t at = n > 0 ? scheduler->start % n : 0, n_tried = 0;

    for (; n_tried < n && cycle->n < enough; n_tried++) {
        uint32_t row = order[at];
        Reason reason = try_node(scheduler, cycle, row);

        at = at + 1 == n ? 0 : at + 1;
        scheduler->rows[cycle->n] = row;
        cycle->n += reason == REASON_NONE;
        if (row == cycle->asked)
            cycle->choice->asked_reason = reason;
    }
    scheduler->counts[REFUSAL_AFFINITY] += (uint32_t)(scheduler->ground->n_order - n);
    if (scheduler->ground->n_order > 0)
        scheduler->start = (scheduler->start + n_tried) % scheduler->ground->n_order;
}

/* Leaves those that berth lets pass. */
static int ask_filter(Scheduler *scheduler, Cycle *cycle) {
    const uint16_t *said = NULL;
    size_t n_left = 0;
    int r;

    if (!scheduler->ours || cycle->n == 0)
        return 0;
    r = ours_filter(scheduler->ours,
        &cycle->want->pod,
        cycle->now_nsec,
        scheduler->rows,
        cycle->n,
        scheduler->arena,
        &said);
    if (r < 0)
        return r;
    for (size_t i = 0; i < cycle->n; i++) {
        uint32_t row = scheduler->rows[i];

        scheduler->rows[n_left] = row;
        n_left += said[i] == VERDICT_PASS;
        if (said[i] < scheduler->n_filters)
            scheduler->filter_counts[said[i]]++;
        if (said[i] != VERDICT_PASS && row == cycle->asked)
            cycle->choice->asked_reason = REASON_FILTER + said[i];
    }
    cycle->n = n_left;
    return 0;
}

/* --- scores ------------------------------------------------------------- */

/* The most of both, which the others are measured by. */
typedef struct Extent {
    int64_t disliked, liked;
} Extent;

static Extent find_extent(const Scheduler *scheduler, const Cycle *cycle) {
    const Outlook *outlook = cycle->outlook;
    Extent extent = {0};

    for (size_t i = 0; i < cycle->n; i++) {
        uint32_t row = scheduler->rows[i];

        if (outlook->disliked[row] > extent.disliked)
            extent.disliked = outlook->disliked[row];
        if (outlook->liked[row] > extent.liked)
            extent.liked = outlook->liked[row];
    }
    return extent;
}

static int64_t score_node(
    const Scheduler *scheduler, const Cycle *cycle, const Extent *extent, uint32_t row) {
    const Outlook *outlook = cycle->outlook;
    int64_t taints = BEST, affinity = 0;

    if (extent->disliked > 0)
        taints = BEST - BEST * outlook->disliked[row] / extent->disliked;
    if (extent->liked > 0)
        affinity = BEST * outlook->liked[row] / extent->liked;
    return WEIGHT_TAINTS * taints + WEIGHT_AFFINITY * affinity +
           fit_least_allocated(&cycle->fit, scheduler->ground, row) +
           fit_balanced(&cycle->fit, scheduler->ground, row) + outlook->images[row];
}

static int score_nodes(Scheduler *scheduler, Cycle *cycle) {
    Extent extent = find_extent(scheduler, cycle);
    const uint8_t *wire = NULL;
    int r = 0;

    if (scheduler->ours)
        r = ours_prioritize(scheduler->ours,
            &cycle->want->pod,
            cycle->now_nsec,
            scheduler->rows,
            cycle->n,
            scheduler->arena,
            &wire);
    if (r < 0)
        return r;
    for (size_t i = 0; i < cycle->n; i++) {
        scheduler->scores[i] = score_node(scheduler, cycle, &extent, scheduler->rows[i]);
        if (wire)
            scheduler->scores[i] += wire[i] * scheduler->options.weight * POINTS_PER_SCORE;
    }
    return 0;
}

/* --- choosing ----------------------------------------------------------- */

/* What most nodes say; of equals the first in the order of plugins. */
static Reason find_reason(const Scheduler *scheduler) {
    Reason reason = REASON_NO_NODES;
    uint32_t most = 0;

    for (Reason i = 1; i < REASON_FILTER; i++)
        if (scheduler->counts[i] > most)
            most = scheduler->counts[reason = i];
    for (size_t i = 0; i < scheduler->n_filters; i++)
        if (scheduler->filter_counts[i] > most) {
            most = scheduler->filter_counts[i];
            reason = REASON_FILTER + (Reason)i;
        }
    return reason;
}

/* One of the best, by chance. */
static void pick_best(Scheduler *scheduler, const Cycle *cycle) {
    Choice *choice = cycle->choice;
    int64_t best = INT64_MIN;
    size_t pick;

    for (size_t i = 0; i < cycle->n; i++) {
        int64_t score = cycle->n > 1 ? scheduler->scores[i] : 0;

        choice->n_best = score > best ? 1 : choice->n_best + (score == best);
        best = score > best ? score : best;
        if (scheduler->rows[i] == cycle->asked) {
            choice->is_feasible = true;
            choice->asked_score = score;
        }
    }
    choice->score = best;
    choice->is_best = choice->is_feasible && choice->asked_score == best;
    pick = choice->n_best > 1 ? dice_pick(&scheduler->chance, choice->n_best) : 0;
    for (size_t i = 0; i < cycle->n; i++) {
        if (cycle->n > 1 && scheduler->scores[i] != best)
            continue;
        if (choice->any_best == NO_ROW)
            choice->any_best = scheduler->rows[i];
        if (pick-- == 0) {
            choice->row = scheduler->rows[i];
            return;
        }
    }
}

int scheduler_choose(
    Scheduler *scheduler, const Want *want, int64_t now_nsec, uint32_t asked, Choice *ret) {
    Cycle cycle = {.want = want, .now_nsec = now_nsec, .asked = asked, .choice = ret};
    int r = outlooks_find(scheduler->outlooks, want, &cycle.outlook);

    *ret = (Choice){.row = NO_ROW, .any_best = NO_ROW};
    if (r < 0)
        return r;
    arena_reset(scheduler->arena);
    memset(scheduler->counts, 0, REASON_FILTER * sizeof(*scheduler->counts));
    memset(scheduler->filter_counts, 0, scheduler->n_filters * sizeof(*scheduler->filter_counts));
    cycle.fit = fit_of(scheduler->ground, want);
    find_feasible(scheduler, &cycle);
    r = ask_filter(scheduler, &cycle);
    ret->n_feasible = cycle.n;
    if (r == 0 && cycle.n > 1)
        r = score_nodes(scheduler, &cycle);
    if (r < 0)
        return r;
    if (cycle.n == 0)
        ret->reason = find_reason(scheduler);
    else
        pick_best(scheduler, &cycle);
    return 0;
}

/* --- words -------------------------------------------------------------- */

static void print_filter(const Scheduler *scheduler, size_t number, Buf *out) {
    const Filter *filter = ours_program(scheduler->ours)->filters[number];

    buf_printf(out,
        "%.*s/%.*s: %.*s",
        STR_FMT(filter->policy->name),
        STR_FMT(filter->name),
        STR_FMT(filter->reason));
}

void reason_print(const Scheduler *scheduler, Reason reason, Buf *out) {
    if (reason >= REASON_FILTER && reason - REASON_FILTER < scheduler->n_filters) {
        print_filter(scheduler, reason - REASON_FILTER, out);
    } else if (reason >= REASON_FILTER) {
        buf_append(out, STR("left out: others are better (narrowing)"));
    } else if (reason == REASON_NO_NODES) {
        buf_append(out, STR("no nodes available to schedule pods"));
    } else if (reason >= REASON_NOT_OFFERED) {
        size_t i = reason - REASON_NOT_OFFERED;

        buf_printf(out,
            "Insufficient %.*s",
            STR_FMT(
                i < scheduler->n_not_offered ? scheduler->not_offered[i] : STR("other resources")));
    } else if (reason >= REASON_RESOURCE) {
        buf_printf(out,
            "Insufficient %.*s",
            STR_FMT(scheduler->ground->table->resources[reason - REASON_RESOURCE]));
    } else {
        buf_append(out, str_from_c(refusal_text((Refusal)reason)));
    }
}
