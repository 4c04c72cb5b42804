/* Draws lines of text that fit a screen. */

#include "commands/top-canvas.h"

#include "base/cleanup.h"
#include "base/visible.h"

#define LINE_MAX_BYTES ((size_t)64 * 1024)
#define WRAPPED_MIN 16u /* columns: less is not worth a line */

size_t canvas_lines_left(const TopCanvas *canvas) {
    return canvas->height - canvas->n_lines;
}

void canvas_line(TopCanvas *canvas, const char *colour, Str text) {
    if (canvas_lines_left(canvas) == 0)
        return;
    if (canvas->n_lines++ > 0)
        buf_append_char(canvas->out, '\n');
    buf_append(canvas->out, str_from_c(colour));
    (void)visible_append(canvas->out, visible_take(text, canvas->width));
    buf_append(canvas->out, str_from_c(colour[0] ? canvas->paint.off : ""));
}

bool canvas_wrap(Str *text, size_t width, Str *ret_line) {
    Str line = visible_take(*text, width);
    size_t space;

    if (str_is_empty(*text))
        return false;
    if (line.len < text->len) {
        space = text->ptr[line.len] == ' ' ? line.len : str_find_last(line, ' ');
        if (space != SIZE_MAX && !str_is_empty(str_trim(str_take(line, space))))
            line = str_take(line, space);
    }
    if (str_is_empty(line)) /* a character that is wider than the line */
        line = str_take(*text, 1);
    *ret_line = line;
    *text = str_skip(*text, line.len);
    while (text->len > 0 && text->ptr[0] == ' ')
        *text = str_skip(*text, 1);
    return true;
}

void canvas_wrapped(TopCanvas *canvas, const char *colour, Str text, size_t indent) {
    size_t width = canvas->width;
    Str line;

    if (str_is_empty(text))
        canvas_line(canvas, colour, text);
    if (indent + WRAPPED_MIN > canvas->width)
        indent = 0;
    for (bool is_first = true; canvas_wrap(&text, width, &line); is_first = false) {
        _cleanup_(buf_done) Buf whole = BUF_INIT(LINE_MAX_BYTES);

        buf_append_repeat(&whole, ' ', is_first ? 0 : indent);
        buf_append(&whole, line);
        canvas_line(canvas, colour, buf_str(&whole));
        width = canvas->width - indent;
    }
}
