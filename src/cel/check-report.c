/* Messages of the checker. */

#include "cel/check-internal.h"

#include <stdio.h>

#define TEXT_MAX 2048   /* bytes of a message; longer ones are cut */
#define TYPE_MAX 4096   /* bytes of a type in it */
#define SOURCE_SHOWN 40 /* bytes of the source in it; longer ones are shown as "…" */

void cel_checker_report(CelChecker *checker, uint32_t from, uint32_t to, Str text, Str hint) {
    const CelTree *tree = checker->tree;

    cel_report(checker->diags, tree->file, tree->source, from, to, text, hint);
}

void cel_checker_report_at(CelChecker *checker, uint32_t node, Str text, Str hint) {
    const CelNode *written = &checker->tree->nodes[node];
    const char *symbol = written->is_operator ? cel_operator_text(written->name) : NULL;
    size_t width = symbol ? strlen(symbol) : written->name.len;
    uint32_t to = written->at + (uint32_t)width;

    if (width == 0 || to > checker->tree->source.len)
        to = written->at + 1;
    cel_checker_report(checker, written->at, to, text, hint);
}

void cel_checker_report_all(CelChecker *checker, uint32_t node, Str text, Str hint) {
    const CelNode *written = &checker->tree->nodes[node];

    cel_checker_report(checker, written->from, written->to, text, hint);
}

void cel_checker_fix(CelChecker *checker, CelFix fix) {
    cel_report_fix(checker->diags, checker->tree->source, fix);
}

const CelType *cel_checker_type(CelChecker *checker, uint32_t node) {
    return cel_unify_resolve(&checker->unify, checker->infos[node].type, false);
}

Str cel_checker_type_text(CelChecker *checker, const CelType *type) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TYPE_MAX);
    Str copy;

    if (type->kind == CEL_T_ERROR)
        return STR("?");
    cel_type_print(cel_unify_resolve(&checker->unify, type, true), false, &out);
    copy = arena_copy(checker->arena, buf_str(&out));
    return copy.ptr ? copy : STR("?");
}

bool cel_checker_is_joined(const CelChecker *checker, uint32_t node) {
    const CelNode *written = &checker->tree->nodes[node];

    return written->kind == CEL_NODE_AND || written->kind == CEL_NODE_OR ||
           written->kind == CEL_NODE_CONDITIONAL ||
           (written->is_operator && !str_is(written->name, "_[_]") &&
               !str_is(written->name, "_[?_]"));
}

Str cel_checker_text(const CelChecker *checker, uint32_t node) {
    const CelNode *written = &checker->tree->nodes[node];

    return str_skip(str_take(checker->tree->source, written->to), written->from);
}

Str cel_checker_source(const CelChecker *checker, uint32_t node) {
    Str text = cel_checker_text(checker, node);

    return text.len > SOURCE_SHOWN ? STR("…") : text;
}

Str cel_checker_vprintf(CelChecker *checker, const char *format, va_list arguments) {
    char text[TEXT_MAX];
    Str copy = STR_NULL;
    int n = vsnprintf(text, sizeof(text), format, arguments);

    if (n >= 0)
        copy = arena_copy(checker->arena, str_take(str_of(text, (size_t)n), sizeof(text) - 1));
    return copy.ptr ? copy : STR("?");
}

Str cel_checker_printf(CelChecker *checker, const char *format, ...) {
    va_list arguments;
    Str text;

    va_start(arguments, format);
    text = cel_checker_vprintf(checker, format, arguments);
    va_end(arguments);
    return text;
}
