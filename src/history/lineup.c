#include "history/lineup.h"

#include <stdlib.h>

#include "json/read.h"

#define NAMES_BUDGET ((size_t)1024 * 1024)

void lineup_forget(Lineup *lineup) {
    names_unref(lineup->names);
    lineup->names = NULL;
    lineup->n_rows = 0;
}

void lineup_done(Lineup *lineup) {
    lineup_forget(lineup);
    free(lineup->rows);
    free(lineup->numbers);
    *lineup = (Lineup){0};
}

/* Room for @n numbers at *@at, which has *@size. */
static bool reserve(uint32_t **at, size_t *size, size_t n) {
    uint32_t *more;

    if (n <= *size)
        return true;
    more = realloc(*at, n * sizeof(*more));
    if (!more)
        return false;
    *at = more;
    *size = n;
    return true;
}

/* Numbers for the rows of @names. Most have them from the names before: a set of nodes
 * changes by a few at a time. */
static bool line_up(Lineup *lineup, Roll *roll, const NodeNames *names) {
    if (lineup->names == names)
        return true;
    if (!names->arena || !reserve(&lineup->rows, &lineup->rows_size, names->n_rows + 1))
        return false;
    for (size_t row = 0; row < names->n_rows; row++) {
        uint32_t before = row < lineup->n_rows ? lineup->rows[row] : ROLL_NONE;

        if (before == ROLL_NONE || !str_eq(roll_name(roll, before), names->names[row]))
            lineup->rows[row] = roll_add(roll, names->names[row]);
    }
    lineup->rows[names->n_rows] = ROLL_NONE;
    lineup_forget(lineup);
    lineup->names = names_ref((NodeNames *)(uintptr_t)names);
    lineup->n_rows = names->n_rows;
    return true;
}

/* Names that the cluster does not know stand in the request only, as JSON. */
static uint32_t number_stranger(Roll *roll, const FilterArgs *args, size_t i, Arena *arena) {
    Span span = args->spans[i];
    Str raw = str_of(args->body.ptr + span.at + 1, span.len - 2);

    return roll_add(roll, str_find(raw, '\\') == SIZE_MAX ? raw : json_unescape(raw, arena));
}

static bool number_names(Lineup *lineup, Roll *roll, const FilterArgs *args) {
    const NodeNames *names = args->node_set.table->names;
    uint32_t *numbers = lineup->numbers;
    _cleanup_(arena_freep) Arena *arena = NULL;

    if (args->n_unknown > 0 && !(arena = arena_new(NAMES_BUDGET)))
        return false;
    if (args->n_unknown == args->n) { /* no cluster, maybe: no names to line up */
        for (size_t i = 0; i < args->n; i++)
            numbers[i] = number_stranger(roll, args, i, arena);
        return true;
    }
    if (!line_up(lineup, roll, names))
        return false;
    for (size_t i = 0; i < args->n; i++)
        numbers[i] = lineup->rows[args->rows[i]];
    for (size_t i = 0; args->n_unknown > 0 && i < args->n; i++)
        if (args->rows[i] == names->n_rows)
            numbers[i] = number_stranger(roll, args, i, arena);
    return true;
}

const uint32_t *lineup_number(Lineup *lineup, Roll *roll, const FilterArgs *args) {
    const NodeNames *names = args->node_set.table->names;

    if (!reserve(&lineup->numbers, &lineup->numbers_size, args->n + 1)) /* one: never NULL */
        return NULL;
    if (args->has_names)
        return number_names(lineup, roll, args) ? lineup->numbers : NULL;
    for (size_t i = 0; i < args->n; i++)
        lineup->numbers[i] = roll_add(roll, names->names[args->rows[i]]);
    return lineup->numbers;
}
