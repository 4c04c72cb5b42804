/* Errors in the text of an expression, and their places. */

#include "cel/report.h"

#include <stdarg.h>
#include <stdio.h>

bool cel_syntax_error(
    CelSyntaxErrors *errors, uint32_t from, uint32_t to, const char *hint, const char *text, ...) {
    char message[256];
    va_list arguments;
    int len;

    if (errors->is_quiet || errors->last == from + 1)
        return false;
    errors->last = from + 1;
    errors->n++;
    va_start(arguments, text);
    len = vsnprintf(message, sizeof(message), text, arguments);
    va_end(arguments);
    if (len < 0)
        len = 0;
    cel_report(errors->diags, errors->file, errors->source, from, to,
        str_of(message, (size_t)len < sizeof(message) ? (size_t)len : sizeof(message) - 1),
        str_from_c(hint));
    return true;
}

void cel_report(
    DiagList *diags, Str file, Str source, uint32_t from, uint32_t to, Str text, Str hint) {
    Place place = {0};

    /* An error that is only counted needs no position: finding it reads all the text before it. */
    if (diags->diags.n < DIAG_MAX)
        place = cel_place(file, source, from, to);
    diag_add(diags, DIAG_ERROR, place, source, text, hint);
}

void cel_report_fix(DiagList *diags, Str source, CelFix fix) {
    Str replaced = str_skip(str_take(source, fix.to), fix.from);

    if (fix.text.ptr && str_find(replaced, '\n') == SIZE_MAX)
        diag_fix(diags, cel_place(STR_NULL, source, fix.from, fix.to), fix.text);
}

Place cel_place(Str file, Str source, uint32_t at, uint32_t to) {
    size_t start = at < source.len ? at : source.len, line = 1, line_start = 0, end;

    for (size_t i = 0; i < start; i++)
        if (source.ptr[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    end = start + str_find(str_skip(source, start), '\n'); /* wraps when there is none */
    if (end < start || end > source.len)
        end = source.len;
    if (to < end)
        end = to;
    return (Place){
        .file = file,
        .line = line,
        .column = start - line_start + 1,
        .width = end > start ? end - start : 1,
    };
}
