/* Leaves nodes near a limit out of a reply while the nodes of other pods are only guessed. */

#include "extender/guessed-pods.h"

#include <errno.h>

/* Room for pods on a node of the request: the least over all limits. */
typedef struct NodeRoom {
    int64_t least;  /* places left if all guessed pods are on this node */
    int64_t likely; /* places left if every guess is right */
} NodeRoom;

static NodeRoom find_room(
    const SlotRule *rule, const NodeTable *table, uint32_t row, int64_t n_guessed) {
    const PodList *list = table_chunk(table, row)->pods[table_slot(row)];
    int64_t n_known = 0, n_here = 0;

    /* Far from the limit even if the rule counted every pod: need not look at each. */
    if (list && rule->limit - list->n - n_guessed > GUESSED_FEW_PLACES)
        return (NodeRoom){rule->limit - list->n - n_guessed, rule->limit - list->n};
    for (uint32_t i = 0; list && i < list->n; i++) {
        if (!slot_rule_counts(rule, list->items[i]))
            continue;
        if (list->items[i]->is_guessed)
            n_here++;
        else
            n_known++;
    }
    return (NodeRoom){rule->limit - n_known - n_guessed, rule->limit - n_known - n_here};
}

static void note_room(NodeRoom *room, NodeRoom other) {
    room->least = other.least < room->least ? other.least : room->least;
    room->likely = other.likely < room->likely ? other.likely : room->likely;
}

static void apply_limit(
    const SlotRule *rule, const FilterArgs *args, const uint16_t *verdicts, NodeRoom *rooms) {
    const NodeTable *table = args->node_set.table;
    int64_t n_guessed = 0, n_places = 0; /* n_guessed: without the pod itself */

    if (!slot_rule_counts(rule, &args->pod))
        return;
    for (size_t i = 0; i < table->n_assumed; i++) {
        const Pod *other = table->assumed[i];

        n_guessed += other->is_guessed && !str_eq(other->uid, args->pod.uid) &&
                     slot_rule_counts(rule, other);
    }
    if (n_guessed == 0)
        return;
    for (size_t i = 0; i < args->n; i++) {
        NodeRoom room;

        if (verdicts[i] != VERDICT_PASS)
            continue;
        room = find_room(rule, table, args->rows[i], n_guessed);
        note_room(&rooms[i], room);
        n_places += room.likely < GUESSED_FEW_PLACES ? room.likely : GUESSED_FEW_PLACES + 1;
    }
    for (size_t i = 0; n_places <= GUESSED_FEW_PLACES && i < args->n; i++)
        note_room(&rooms[i], (NodeRoom){0, INT64_MAX});
}

static void leave_out(const NodeRoom *rooms, size_t n, uint16_t *verdicts) {
    size_t n_safe = 0, best = n; /* the best node stays even if all are near a limit */

    for (size_t i = 0; i < n; i++) {
        if (verdicts[i] != VERDICT_PASS)
            continue;
        n_safe += rooms[i].least > 0;
        if (best == n || rooms[i].likely > rooms[best].likely)
            best = i;
    }
    for (size_t i = 0; i < n; i++)
        if (verdicts[i] == VERDICT_PASS && rooms[i].least <= 0 && (n_safe > 0 || i != best))
            verdicts[i] = VERDICT_NARROWED;
}

int guessed_pods_leave_room(const Judge *judge, const Program *program, const FilterArgs *args,
    Arena *arena, uint16_t *verdicts) {
    const NodeTable *table = args->node_set.table;
    NodeRoom *rooms;
    size_t n_others = 0;

    while (n_others < table->n_assumed && !table->assumed[n_others]->is_guessed)
        n_others++;
    if (n_others == table->n_assumed) /* none is guessed */
        return 0;
    rooms = ARENA_RAW(arena, NodeRoom, args->n);
    if (!rooms)
        return -ENOMEM;
    for (size_t i = 0; i < args->n; i++)
        rooms[i] = (NodeRoom){INT64_MAX, INT64_MAX};
    for (size_t i = 0; i < program->n_filters; i++) {
        const Filter *filter = program->filters[i];

        if (filter->limit && !filter->policy->is_observed && judge_applies(judge, filter->policy))
            apply_limit(filter->limit, args, verdicts, rooms);
    }
    leave_out(rooms, args->n, verdicts);
    return 0;
}
