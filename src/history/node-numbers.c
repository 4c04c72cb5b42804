/* Interned node names, and their numbers for the rows of the current cluster. */

#include "history/node-numbers.h"

#include <stdlib.h>

#include "json/read.h"

#define NAMES_BUDGET ((size_t)1024 * 1024)

NodeNumbers *node_numbers_new(void) {
    NodeNumbers *numbers = calloc(1, sizeof(*numbers));

    if (!numbers)
        return NULL;
    numbers->ref = REF_ONE;
    numbers->arena = arena_new(NODE_NUMBERS_BUDGET);
    if (!numbers->arena)
        return node_numbers_unref(numbers);
    numbers->names = INTERN_INIT_IN(numbers->arena);
    return numbers;
}

NodeNumbers *node_numbers_unref(NodeNumbers *numbers) {
    if (numbers && ref_drop(&numbers->ref)) {
        arena_free(numbers->arena);
        free(numbers);
    }
    return NULL;
}

uint32_t node_numbers_add(NodeNumbers *numbers, Str name) {
    if (str_is_empty(name) || name.len > NODE_NUMBERS_NAME_MAX)
        return NODE_NUMBER_NONE;
    return intern_add(&numbers->names, name);
}

void row_numbers_forget(RowNumbers *row_numbers) {
    names_unref(row_numbers->names);
    row_numbers->names = NULL;
    row_numbers->n_rows = 0;
}

void row_numbers_done(RowNumbers *row_numbers) {
    row_numbers_forget(row_numbers);
    free(row_numbers->rows);
    free(row_numbers->nodes);
    *row_numbers = (RowNumbers){0};
}

/* Makes room for @n numbers at *@at, which has *@size. */
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

/* Numbers the rows of @names. Most keep their number: a few nodes change at a time. */
static bool number_rows(RowNumbers *row_numbers, NodeNumbers *numbers, const NodeNames *names) {
    if (row_numbers->names == names)
        return true;
    if (!names->arena || !reserve(&row_numbers->rows, &row_numbers->rows_size, names->n_rows + 1))
        return false;
    row_numbers->has_all = true;
    for (size_t row = 0; row < names->n_rows; row++) {
        uint32_t before = row < row_numbers->n_rows ? row_numbers->rows[row] : NODE_NUMBER_NONE;

        if (before == NODE_NUMBER_NONE ||
            !str_eq(node_numbers_name(numbers, before), names->names[row]))
            row_numbers->rows[row] = node_numbers_add(numbers, names->names[row]);
        row_numbers->has_all &=
            row_numbers->rows[row] != NODE_NUMBER_NONE || str_is_empty(names->names[row]);
    }
    row_numbers->rows[names->n_rows] = NODE_NUMBER_NONE;
    row_numbers_forget(row_numbers);
    row_numbers->names = names_ref((NodeNames *)(uintptr_t)names);
    row_numbers->n_rows = names->n_rows;
    return true;
}

static void look_up_rows(const uint32_t *restrict numbers, const uint32_t *restrict rows, size_t n,
    uint32_t *restrict ret) {
    for (size_t i = 0; i < n; i++)
        ret[i] = numbers[rows[i]];
}

static bool number_names(RowNumbers *row_numbers, NodeNumbers *numbers, const FilterArgs *args) {
    const NodeNames *names = args->node_set.table->names;
    bool has_known = args->n_unknown < args->n; /* else there may be no cluster, and no names */
    _cleanup_(arena_freep) Arena *arena = args->n_unknown > 0 ? arena_new(NAMES_BUDGET) : NULL;

    if ((args->n_unknown > 0 && !arena) || (has_known && !number_rows(row_numbers, numbers, names)))
        return false;
    if (has_known)
        look_up_rows(row_numbers->rows, args->rows, args->n, row_numbers->nodes);
    /* Names that the cluster does not have are only in the request, as JSON. */
    for (size_t i = 0; args->n_unknown > 0 && i < args->n; i++) {
        Str literal = body_span_text(args->body.ptr, args->spans[i]);
        Str raw = str_of(literal.ptr + 1, literal.len - 2);

        if (!has_known || args->rows[i] == names->n_rows)
            row_numbers->nodes[i] = node_numbers_add(
                numbers, str_find(raw, '\\') == SIZE_MAX ? raw : json_unescape(raw, arena));
    }
    return true;
}

NumberedNodes row_numbers_of(
    RowNumbers *row_numbers, NodeNumbers *numbers, const FilterArgs *args) {
    const NodeNames *names = args->node_set.table->names;

    if (args->has_names && args->n > 0 && args->n_unknown == 0 &&
        number_rows(row_numbers, numbers, names) && row_numbers->has_all)
        return (NumberedNodes){row_numbers->rows, args->rows};
    if (!reserve(&row_numbers->nodes, &row_numbers->nodes_size, args->n + 1)) /* one: never NULL */
        return (NumberedNodes){0};
    if (args->has_names && !number_names(row_numbers, numbers, args))
        return (NumberedNodes){0};
    for (size_t i = 0; !args->has_names && i < args->n; i++)
        row_numbers->nodes[i] = node_numbers_add(numbers, names->names[args->rows[i]]);
    return (NumberedNodes){.numbers = row_numbers->nodes};
}
