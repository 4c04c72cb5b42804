/* Errors and warnings about a text, with their place. */

#include "base/diag.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/visible.h"

#define COLUMNS_BEFORE 60 /* shown of a long line before the carets */

/* A copy of line @number of @source without its end; or the last diag's copy if it is equal, since
 * a file may be one line of megabytes, with an error in each word. */
static Str keep_line(DiagList *list, Str source, size_t number) {
    const Diag *last = list->diags.n > 0 ? &list->diags.items[list->diags.n - 1] : NULL;
    Str line = number > 0 ? str_line(source, number) : STR_NULL;

    if (str_has_suffix(line, STR("\r")))
        line = str_take(line, line.len - 1);
    return last && str_eq(last->source, line) ? last->source : arena_copy(list->arena, line);
}

void diag_add(DiagList *list, DiagLevel level, Place place, Str source, Str text, Str hint) {
    Diag diag;

    if (level == DIAG_ERROR)
        list->n_errors++;
    else
        list->n_warnings++;
    if (list->diags.n >= DIAG_MAX)
        return;
    place.file = str_is_empty(place.file) ? STR_NULL : arena_copy(list->arena, place.file);
    diag = (Diag){
        .level = level,
        .place = place,
        .source = keep_line(list, source, place.line),
        .text = arena_copy(list->arena, text),
        .hint = str_is_empty(hint) ? STR_NULL : arena_copy(list->arena, hint),
    };
    (void)VEC_ADD(&list->diags, list->arena, diag);
}

void diag_fix(DiagList *list, Place place, Str text) {
    Diag *diag = list->diags.n > 0 ? &list->diags.items[list->diags.n - 1] : NULL;

    if (!diag || list->n_errors + list->n_warnings > list->diags.n)
        return;
    diag->fix = (DiagFix){.place = place, .text = arena_copy(list->arena, text)};
    diag->fix.place.file = diag->place.file;
}

void diag_addf(DiagList *list, DiagLevel level, Place place, Str source, const char *format, ...) {
    char text[512];
    va_list arguments;
    int len;

    va_start(arguments, format);
    len = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (len < 0)
        len = 0;
    diag_add(list, level, place, source,
        str_of(text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1), STR_NULL);
}

/* The new index of diag @i, if the diags from @from up to it are sorted. */
static size_t find_position(const Diag *items, size_t from, size_t i) {
    const Place *place = &items[i].place;
    size_t at = i;

    while (at > from && !str_eq(items[at - 1].place.file, place->file))
        at--;
    if (at == from) /* the first of its file */
        return i;
    for (; at > from && str_eq(items[at - 1].place.file, place->file); at--) {
        const Place *before = &items[at - 1].place;

        if (before->line != place->line ? before->line < place->line
                                        : before->column <= place->column)
            break;
    }
    return at;
}

/* Insertion sort: there are at most DIAG_MAX. */
void diag_list_sort(DiagList *list, size_t from) {
    Diag *items = list->diags.items;

    for (size_t i = from + 1; i < list->diags.n; i++) {
        Diag one = items[i];
        size_t to = find_position(items, from, i);

        for (size_t at = i; at > to; at--)
            items[at] = items[at - 1];
        items[to] = one;
    }
}

/* The part of a source line that is shown: bytes [from, to) of it. */
typedef struct Window {
    size_t from, to;
} Window;

/* The whole line, or the part around the carets, which start at byte @caret. */
static Window window_around(Str source, size_t caret) {
    size_t width = visible_width(source), first = visible_width(str_take(source, caret));
    Window window = {.to = source.len};

    if (width <= DIAG_LINE_COLUMNS)
        return window;
    first = first > COLUMNS_BEFORE ? first - COLUMNS_BEFORE : 0;
    if (first > width - DIAG_LINE_COLUMNS)
        first = width - DIAG_LINE_COLUMNS;
    window.from = visible_take(source, first).len;
    window.to = window.from + visible_take(str_skip(source, window.from), DIAG_LINE_COLUMNS).len;
    return window;
}

static void print_source(const Diag *diag, bool colour, Buf *out) {
    size_t caret = diag->place.column - 1;
    Window window = window_around(diag->source, caret);
    Str shown = str_skip(str_take(diag->source, window.to), window.from);
    Str before = str_take(shown, caret - window.from);
    Str under = str_take(str_skip(shown, caret - window.from), diag->place.width);
    size_t carets = visible_width(under);
    Str cut_before = window.from > 0 ? STR("…") : STR_NULL;
    Str cut_behind = window.to < diag->source.len ? STR("…") : STR_NULL;
    char number[32];
    int number_width = snprintf(number, sizeof(number), "%zu", diag->place.line);

    buf_printf(out, "  %s | ", number);
    buf_append(out, cut_before);
    (void)visible_append(out, shown);
    buf_append(out, cut_behind);
    buf_append(out, STR("\n  "));
    buf_append_repeat(out, ' ', (size_t)number_width);
    buf_append(out, STR(" | "));
    buf_append_repeat(out, ' ', visible_width(cut_before) + visible_width(before));
    buf_append(out, colour ? STR("\033[1;32m") : STR_NULL);
    buf_append_repeat(out, '^', carets > 0 ? carets : 1);
    buf_append(out, colour ? STR("\033[0m\n") : STR("\n"));
}

void diag_print(const Diag *diag, bool colour, Buf *out) {
    const char *paint = diag->level == DIAG_ERROR ? "\033[1;31m" : "\033[1;33m";

    if (!str_is_empty(diag->place.file)) {
        (void)visible_append(out, diag->place.file);
        if (diag->place.line > 0)
            buf_printf(out, ":%zu:%zu", diag->place.line, diag->place.column);
        buf_append(out, STR(": "));
    }
    buf_printf(out, "%s%s:%s ", colour ? paint : "",
        diag->level == DIAG_ERROR ? "error" : "warning", colour ? "\033[0m" : "");
    (void)visible_append(out, diag->text);
    buf_append_char(out, '\n');
    if (diag->place.line > 0 && diag->place.column > 0 && !str_is_empty(diag->source))
        print_source(diag, colour, out);
    if (!str_is_empty(diag->hint)) {
        buf_append(out, STR("  = "));
        (void)visible_append(out, diag->hint);
        buf_append_char(out, '\n');
    }
}

void diag_list_print(const DiagList *list, bool colour, Buf *out) {
    for (size_t i = 0; i < list->diags.n; i++)
        diag_print(&list->diags.items[i], colour, out);
    if (list->n_errors + list->n_warnings == 0)
        return;
    if (list->n_errors + list->n_warnings > list->diags.n)
        buf_printf(
            out, "(%zu more not shown)\n", list->n_errors + list->n_warnings - list->diags.n);
    buf_printf(out, "%zu error%s", list->n_errors, PLURAL(list->n_errors));
    if (list->n_warnings > 0)
        buf_printf(out, ", %zu warning%s", list->n_warnings, PLURAL(list->n_warnings));
    buf_append_char(out, '\n');
}
