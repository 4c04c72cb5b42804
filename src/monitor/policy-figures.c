/* Counters by policy. */

#include "monitor/policy-figures.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "monitor/metrics-internal.h"

#define POLICY_FIGURES_BUDGET ((size_t)4 * 1024 * 1024)

struct PolicyFigures {
    Arena *arena;
    Map index; /* a policy's name to its figures */
    PolicyFigure *items;
    size_t n;

    /* Where the figures of each policy of one program are; the reference keeps another program
     * from being taken for it. */
    Program *program;
    uint32_t *numbers; /* MAP_NONE: not counted */
};

PolicyFigures *policy_figures_new(void) {
    PolicyFigures *figures = calloc(1, sizeof(*figures));

    if (!figures)
        return NULL;
    figures->arena = arena_new(POLICY_FIGURES_BUDGET);
    figures->items = calloc(POLICY_FIGURES_MAX, sizeof(*figures->items));
    if (!figures->arena || !figures->items)
        return policy_figures_free(figures);
    figures->index = MAP_INIT_IN(figures->arena);
    return figures;
}

PolicyFigures *policy_figures_free(PolicyFigures *figures) {
    if (!figures)
        return NULL;
    program_unref(figures->program);
    arena_free(figures->arena);
    free(figures->numbers);
    free(figures->items);
    free(figures);
    return NULL;
}

/* The number of the figures of @policy, new or old. */
static uint32_t number_of(PolicyFigures *figures, Str policy) {
    uint32_t found = map_find(&figures->index, policy);
    Str key;

    if (found != MAP_NONE || figures->n == POLICY_FIGURES_MAX)
        return found;
    key = arena_copy(figures->arena, policy);
    if (!key.ptr || map_add(&figures->index, key, (uint32_t)figures->n) < 0)
        return MAP_NONE;
    return (uint32_t)figures->n++;
}

/* False: out of memory. */
static bool set_program(PolicyFigures *figures, Program *program) {
    uint32_t *numbers = calloc(program->n_policies + 1, sizeof(*numbers));

    if (!numbers)
        return false;
    for (size_t i = 0; i < program->n_policies; i++)
        numbers[i] = number_of(figures, program->policies[i].name);
    free(figures->numbers);
    figures->numbers = numbers;
    program_unref(figures->program);
    figures->program = program_ref(program);
    return true;
}

static size_t count_rejected(const Policy *policy, const Decision *decision) {
    const uint32_t *counts = policy->is_observed ? decision->observed : decision->rejected;
    size_t n = 0;

    for (size_t i = 0; counts && i < policy->n_filters; i++)
        n += counts[policy->filters[i].number];
    return n;
}

void policy_figures_note(PolicyFigures *figures, Program *program, const Decision *decision) {
    size_t n_known;

    if (!decision->applied || !decision->args ||
        (figures->program != program && !set_program(figures, program)))
        return;
    if (decision->summary.n_in ==
        0) /* nobody asks that but `berth check`, to see whether we answer */
        return;
    n_known = decision->summary.n_in - decision->args->n_unknown;
    for (size_t i = 0; i < program->n_policies; i++) {
        PolicyFigure *item;

        if (!decision->applied[i] || figures->numbers[i] == MAP_NONE)
            continue;
        item = &figures->items[figures->numbers[i]];
        item->n_matched++;
        item->n_rejected_all +=
            n_known > 0 && count_rejected(&program->policies[i], decision) == n_known;
    }
}

PolicyFigure policy_figures_get(const PolicyFigures *figures, Str policy) {
    uint32_t number = map_find(&figures->index, policy);

    return number == MAP_NONE ? (PolicyFigure){0} : figures->items[number];
}

static void print_one(const PolicyFigures *figures, const Program *program, const char *name,
    bool is_rejected, Buf *out) {
    for (size_t i = 0; i < program->n_policies; i++) {
        Str policy = program->policies[i].name;
        PolicyFigure figure = policy_figures_get(figures, policy);

        buf_printf(out,
            "%s{policy=\"%.*s\"} %" PRIu64 "\n",
            name,
            STR_FMT(policy),
            is_rejected ? figure.n_rejected_all : figure.n_matched);
    }
}

void policy_figures_print(const PolicyFigures *figures, const Program *program, Buf *out) {
    static const char matched[] = "berth_policy_matched_total";
    static const char rejected_all[] = "berth_policy_rejected_all_total";

    exposition_head(out, matched, "counter", "Filters to which a policy applied.");
    print_one(figures, program, matched, /* is_rejected= */ false, out);
    exposition_head(out, rejected_all, "counter", "Filters in which a policy rejected all nodes.");
    print_one(figures, program, rejected_all, /* is_rejected= */ true, out);
}
