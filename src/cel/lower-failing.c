/* Constants that fail, like timestamp(''): an error of the expression only where every run meets
 * them. Behind && || ?: or in a loop they are CEL's to absorb, and get a warning. */

#include "cel/lower-internal.h"
#include "cel/report.h"

/* Kubernetes refuses timestamp('x') wherever it is written: it cannot be meant. Parameters and
 * variables have other values elsewhere, and may be guarded. */
static bool is_written_out(const CelLower *l, uint32_t node) {
    for (uint32_t i = node + 1 - l->tree->nodes[node].size; i <= node; i++)
        if (l->checked->infos[i].ref != CEL_REF_NONE && l->checked->infos[i].ref != CEL_REF_SKIP)
            return false;
    return true;
}

/* The arguments are the last children; before them may be the function's name space. */
static uint32_t argument(const CelLower *l, const CelPart *part, uint32_t arg) {
    uint32_t child = part->i - 1;

    for (uint32_t i = part->n_args - 1; i > arg; i--)
        child -= l->tree->nodes[child].size;
    return child;
}

void cel_lower_failing(
    CelLower *l, const CelPart *part, uint32_t arg, uint32_t number, Str text, Str hint) {
    uint32_t cause = arg < part->n_args ? argument(l, part, arg) : part->i;
    const CelNode *place = &l->tree->nodes[cause];
    CelFailing failing = {.number = number, .text = text, .hint = hint, .place = place};

    if (is_written_out(l, cause))
        cel_lower_refuse_at(l, place, text, hint);
    else
        l->has_failed |= !VEC_ADD(&l->graph->failing, l->graph->arena, failing);
}

/* The nodes that every run of @root evaluates, without && or || around them (@all: those that some
 * run may); NULL: out of memory. */
static bool *find_nodes(const CelLower *l, uint32_t root, bool all) {
    bool *found = ARENA_ARRAY(l->graph->arena, bool, (size_t)root + 1);

    if (!found)
        return NULL;
    found[root] = true;
    for (uint32_t i = root + 1; i-- > 0;) {
        const CelGraphNode *node = cel_lower_node(l, i);
        uint32_t n = all || cel_ops[node->op].class == CEL_OP_VALUE ? node->n_args
                     : node->op == OP_AND || node->op == OP_OR      ? 0
                                                                    : 1; /* condition or range */

        for (uint32_t k = 0; found[i] && k < n; k++)
            found[node->args[k]] = true;
    }
    return found;
}

static bool is_found(const bool *found, uint32_t root, uint32_t number) {
    return found && number <= root && found[number];
}

static void warn(const CelLower *l, const CelFailing *failing) {
    Str text = arena_printf(
        l->graph->arena, "this fails whenever it is evaluated: %.*s", STR_FMT(failing->text));

    if (text.ptr)
        diag_add(l->diags, DIAG_WARNING,
            cel_place(l->tree->file, l->tree->source, failing->place->from, failing->place->to),
            l->tree->source, text, failing->hint);
}

/* A field of a composite that fails whenever it is read: an error here, if it is always read. */
static void refuse_field(CelLower *l, const CelFieldUse *use, size_t n_failing) {
    const bool *certain = find_nodes(l, use->number, /* all= */ false);

    for (size_t i = 0; i < n_failing; i++) {
        const CelFailing *failing = &l->graph->failing.items[i];

        if (!is_found(certain, use->number, failing->number))
            continue;
        cel_lower_refuse_at(l, use->place, failing->text, failing->hint);
        return;
    }
}

void cel_lower_judge_failing(CelLower *l, uint32_t root) {
    size_t n = l->graph->failing.n;
    const bool *certain, *possible;

    if (n == 0)
        return;
    certain = l->options->may_be_unused ? NULL : find_nodes(l, root, /* all= */ false);
    possible = find_nodes(l, root, /* all= */ true);
    if (!possible || (!certain && !l->options->may_be_unused))
        l->has_failed = true;
    for (size_t i = l->n_failing_before; i < n; i++) {
        const CelFailing *failing = &l->graph->failing.items[i];

        if (is_found(certain, root, failing->number))
            cel_lower_refuse_at(l, failing->place, failing->text, failing->hint);
        else if (is_found(possible, root, failing->number))
            warn(l, failing);
    }
    for (size_t i = 0; i < l->uses.n; i++)
        if (is_found(certain, root, l->uses.items[i].number))
            refuse_field(l, &l->uses.items[i], l->n_failing_before);
}
