/* Checks calls of string.format() whose text and list are literals: reports the errors that a run
 * would (format.h), at the clause or the argument. All types are final by then; an argument of type
 * dyn is not checked. */

#include "cel/check-internal.h"
#include "cel/format.h"

typedef struct FormatCall {
    CelChecker *checker;
    uint32_t format;      /* the LITERAL */
    const uint32_t *args; /* the elements of the LIST */
    uint32_t n_args;
} FormatCall;

/* False: another function, or text and list are not both literals, or it has ?x. */
static bool read_call(CelChecker *checker, uint32_t node, FormatCall *ret) {
    const CelNode *nodes = checker->tree->nodes;
    const CelNodeInfo *info = &checker->infos[node];
    uint32_t list = node - 1, format;

    if (nodes[node].kind != CEL_NODE_CALL || info->n_overloads != 1 ||
        info->overloads[0]->spec != cel_format_library.overloads)
        return false;
    format = list - nodes[list].size;
    if (nodes[list].kind != CEL_NODE_LIST || nodes[format].kind != CEL_NODE_LITERAL)
        return false;
    cel_tree_children(checker->tree, list, checker->children);
    for (uint32_t i = 0; i < nodes[list].n_children; i++)
        if (nodes[checker->children[i]].kind == CEL_NODE_OPTIONAL)
            return false;
    *ret = (FormatCall){.checker = checker,
        .format = format,
        .args = checker->children,
        .n_args = nodes[list].n_children};
    return true;
}

/* Reports a mistake in bytes [@from, @to) of the format. Only text without escapes is a slice of
 * the source: for other text it marks the whole literal. */
static void report_clause(const FormatCall *call, size_t from, size_t to, Str text) {
    const CelTree *tree = call->checker->tree;
    const CelNode *literal = &tree->nodes[call->format];
    uintptr_t start = (uintptr_t)tree->source.ptr, at = (uintptr_t)cel_str(literal->literal).ptr;

    if (at < start + literal->from || at - start + to > literal->to)
        cel_checker_report_all(call->checker, call->format, text, STR_NULL);
    else
        cel_checker_report(call->checker, (uint32_t)(at - start + from),
            (uint32_t)(at - start + to), text, STR_NULL);
}

static Str hint_for(CelChecker *checker, const CelFormatClause *clause, const CelType *type) {
    bool is_text = cel_format_takes(cel_format_clause('s'), type->value_kind);

    if (type->kind == CEL_T_OPTIONAL)
        return STR(".orValue(…) gives the value if it is absent");
    if (clause->clause == 's') /* the message lists all types */
        return STR_NULL;
    return cel_checker_printf(checker, "%%%c takes %s%s%.*s", clause->clause, clause->types,
        is_text ? "; %s takes " : "", is_text ? (int)type->name.len : 0, type->name.ptr);
}

/* If kinds are not certain (unify.h), the run checks the argument instead. */
static void check_argument(const FormatCall *call, uint32_t node, char letter) {
    CelChecker *checker = call->checker;
    const CelType *type = checker->infos[node].type;
    const CelFormatClause *clause = cel_format_clause(letter);

    if (type->value_kind == CEL_ABSENT || checker->unify.is_loose ||
        cel_format_takes(clause, type->value_kind))
        return;
    cel_checker_report_all(checker, node,
        cel_checker_printf(checker, "error during formatting: %s, was given %.*s", clause->refusal,
            STR_FMT(type->name)),
        hint_for(checker, clause, type));
}

static void check_format(const FormatCall *call) {
    Str format = cel_str(call->checker->tree->nodes[call->format].literal), rest = format;
    size_t missing_from = 0, missing_to = 0; /* the first clause without an argument */
    uint32_t n_taken = 0;
    CelFormatPiece piece;

    for (size_t start = 0; cel_format_next(&rest, &piece); start = format.len - rest.len) {
        size_t from = start + piece.text.len, to = format.len - rest.len;

        if (!piece.is_clause)
            continue;
        if (piece.problem) { /* the rest cannot be read, nor its clauses counted */
            Str text = cel_format_problem(&piece, call->checker->arena);

            report_clause(call, from, to, cel_checker_printf(call->checker, "%.*s", STR_FMT(text)));
            return;
        }
        if (n_taken < call->n_args) {
            check_argument(call, call->args[n_taken], piece.clause);
        } else if (n_taken == call->n_args) {
            missing_from = from;
            missing_to = to;
        }
        n_taken++;
    }
    if (n_taken > call->n_args)
        report_clause(call, missing_from, missing_to,
            cel_checker_printf(call->checker, "the format takes %u argument%s, the list has %u",
                n_taken, PLURAL(n_taken), call->n_args));
    else if (n_taken < call->n_args)
        cel_checker_report_all(call->checker, call->args[n_taken],
            cel_checker_printf(call->checker,
                "too many arguments: the format takes %u, the list has %u", n_taken, call->n_args),
            n_taken == 0 ? STR("a clause like %s stands where an argument goes") : STR_NULL);
}

void cel_check_formats(CelChecker *checker) {
    FormatCall call;

    for (uint32_t i = 0; i < checker->tree->n_nodes; i++)
        if (read_call(checker, i, &call))
            check_format(&call);
}
