/* Searches for the smallest change. From the root of the filter it goes down to a comparison that
 * fails, changes a fact so that it holds, and starts again, until the filter is true. If one of
 * several changes is enough, all are tried, and the smallest is returned. */

#include "judge/remedy.h"

#include <errno.h>

#include "judge/remedy-internal.h"

#define CHOICES_MAX 4u /* tried both ways: 16 attempts at most */
#define ROUNDS_MAX 12u /* changes in a row */
#define TOLERATION_COST 3u
#define DEPTH_MAX 256u /* nested && || ! ?: */

/* At a choice between two ways: whether to take the second. */
static bool choose(RemedyAttempt *attempt) {
    unsigned number = attempt->n_choices++;

    return number < CHOICES_MAX && (attempt->choices >> number & 1);
}

static bool reads_node(const RemedyAttempt *attempt, uint32_t number) {
    return attempt_node(attempt, number)->groups & SCHEMA_BIT(SCHEMA_NODE);
}

/* An && that must be true (an || that must be false) needs both sides: returns the side to solve
 * next. */
static uint32_t pick_needed(RemedyAttempt *attempt, const CelGraphNode *node, bool want) {
    bool left = attempt_holds(attempt, node->args[0], want);

    if (left || attempt_holds(attempt, node->args[1], want))
        return node->args[left];
    return node->args[choose(attempt)];
}

/* An || that must be true needs one side: prefers the one that reads the node. */
static uint32_t pick_enough(RemedyAttempt *attempt, const CelGraphNode *node) {
    bool is_right = !reads_node(attempt, node->args[0]) && reads_node(attempt, node->args[1]);

    return node->args[is_right != choose(attempt)];
}

/* Finds a comparison that fails, and the result it must have. */
static bool find_atom(RemedyAttempt *attempt) {
    uint32_t at = attempt->filter_facts->root;
    bool want = true;

    for (size_t depth = 0; depth < DEPTH_MAX; depth++) {
        const CelGraphNode *node = attempt_node(attempt, at);

        if (node->op == OP_NOT) {
            at = node->args[0];
            want = !want;
        } else if (node->op == OP_AND || node->op == OP_OR) {
            at = (node->op == OP_AND) == want ? pick_needed(attempt, node, want)
                                              : pick_enough(attempt, node);
        } else if (node->op == OP_CONDITIONAL) {
            CelValue condition = attempt_value(attempt, node->args[0]);

            if (condition.kind != CEL_BOOL)
                return false;
            at = node->args[condition.boolean ? 1 : 2];
        } else {
            attempt->atom = at;
            attempt->want = want;
            return true;
        }
    }
    return false;
}

static bool solve_all(RemedyAttempt *attempt) {
    for (size_t round = 0; round < ROUNDS_MAX && attempt->error == 0; round++) {
        if (attempt_holds(attempt, attempt->filter_facts->root, true))
            return attempt->n_changes > 0;
        if (!find_atom(attempt) || !attempt_solve(attempt))
            return false;
    }
    return false;
}

static void attempt_begin(RemedyAttempt *attempt) {
    const Judge *judge = attempt->remedies->judge;
    const Program *program = judge->input.program;

    memcpy(attempt->values, judge->variables, program->n_slots * sizeof(CelValue));
    attempt->values[program->schema->node_slot] =
        schema_node(judge->input.table, attempt->row, attempt->arena);
    for (size_t i = 0; i < attempt->filter_facts->n_reads; i++)
        attempt->before[i] = attempt_run(attempt, attempt->filter_facts->reads[i].code);
    memcpy(attempt_read_values(attempt), attempt->before, sizeof(attempt->before));
    attempt->n_changes = 0;
    attempt->n_choices = 0;
}

static unsigned cost_of(const RemedyAttempt *attempt) {
    unsigned cost = 0;

    for (size_t i = 0; i < attempt->n_changes; i++)
        cost += attempt->changes[i].taint ? TOLERATION_COST
                                          : attempt_cost(attempt, attempt->changes[i].fact);
    return cost;
}

/* Tries all choices; returns the cost of the best attempt, or UINT32_MAX: none succeeds. */
static unsigned find_best(RemedyAttempt *attempt, RemedyAttempt *best) {
    unsigned least = UINT32_MAX;
    unsigned n_ways = 1;

    for (unsigned way = 0; way < n_ways && attempt->error == 0; way++) {
        unsigned n_choices;

        attempt->choices = way;
        attempt_begin(attempt);
        if (solve_all(attempt) && cost_of(attempt) < least) {
            least = cost_of(attempt);
            *best = *attempt;
        }
        n_choices = attempt->n_choices < CHOICES_MAX ? attempt->n_choices : CHOICES_MAX;
        if (1u << n_choices > n_ways)
            n_ways = 1u << n_choices;
    }
    return least;
}

int remedies_new(Judge *judge, Arena *arena, Remedies **ret) {
    Remedies *remedies = ARENA_NEW(arena, Remedies);
    const Program *program = judge->input.program;
    size_t n = cel_graph_size(program->graph);

    if (!remedies)
        return -ENOMEM;
    *remedies = (Remedies){
        .judge = judge,
        .graph = program->graph,
        .arena = arena,
        .cuts = ARENA_RAW(arena, uint32_t, n),
        .marks = ARENA_ARRAY(arena, uint8_t, n),
        .below = ARENA_RAW(arena, uint32_t, n),
        .filters = ARENA_ARRAY(arena, RemedyFilter *, program->n_filters),
    };
    if (!remedies->cuts || !remedies->marks || !remedies->below || !remedies->filters)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        remedies->cuts[i] = CEL_NO_SLOT;
    *ret = remedies;
    return 0;
}

int remedies_find(Remedies *remedies, const Filter *filter, uint32_t row, Arena *arena, Remedy *ret,
    size_t *ret_n) {
    RemedyFilter **filter_facts = &remedies->filters[filter->number];
    RemedyAttempt *attempt = ARENA_NEW(arena, RemedyAttempt),
                  *best = ARENA_NEW(arena, RemedyAttempt);
    size_t n_slots = remedies->judge->input.program->n_slots + READS_MAX + 1;
    int r = 0;

    *ret_n = 0;
    if (!attempt || !best)
        return -ENOMEM;
    if (!*filter_facts)
        r = remedy_filter_new(remedies, filter, filter_facts);
    if (r < 0)
        return r;
    if ((*filter_facts)->is_too_much)
        return 0;
    *attempt = (RemedyAttempt){
        .remedies = remedies,
        .filter_facts = *filter_facts,
        .row = row,
        .arena = arena,
        .values = ARENA_ARRAY(arena, CelValue, n_slots),
    };
    if (!attempt->values)
        return -ENOMEM;
    if (find_best(attempt, best) == UINT32_MAX)
        return attempt->error;
    for (size_t i = 0; i < best->n_changes; i++)
        ret[i] = remedy_describe(best, &best->changes[i]);
    *ret_n = best->n_changes;
    return attempt->error;
}
