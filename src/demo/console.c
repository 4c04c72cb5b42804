/* Buffered output with styles, wrapping and a status line. */

#include "demo/console.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/visible.h"

void console_paint(Console *console, Style style) {
    static const char *const codes[] = {
        [STYLE_BOLD] = "\033[1m",
        [STYLE_DIM] = "\033[2m",
        [STYLE_GOOD] = "\033[32m",
        [STYLE_BAD] = "\033[33;1m",
        [STYLE_PLAIN] = "\033[0m",
    };

    if (console->has_colour)
        buf_append(&console->text, str_from_c(codes[style]));
}

void console_painted(Console *console, Style style, size_t width, Str word) {
    console_paint(console, style);
    buf_append(&console->text, word);
    console_paint(console, STYLE_PLAIN);
    if (word.len < width)
        buf_append_repeat(&console->text, ' ', width - word.len);
}

/* Formats a text, which the caller frees; NULL: no memory, which is kept in console->text. */
__attribute__((format(printf, 2, 0))) static char *format_text(
    Console *console, const char *format, va_list arguments) {
    char *text = NULL;

    if (vasprintf(&text, format, arguments) >= 0)
        return text;
    console->text.error = -ENOMEM;
    return NULL;
}

void console_print(Console *console, Style style, const char *format, ...) {
    va_list arguments;
    char *text;
    Str line;

    va_start(arguments, format);
    text = format_text(console, format, arguments);
    va_end(arguments);
    line = str_from_c(text);
    line.len -= str_has_suffix(line, STR("\n"));
    console_painted(console, style, 0, line);
    buf_append(&console->text, str_from_c(text ? text + line.len : NULL));
    free(text);
}

void console_say(Console *console, Style style, const char *lead, const char *format, ...) {
    va_list arguments;
    char *text;

    va_start(arguments, format);
    text = format_text(console, format, arguments);
    va_end(arguments);
    console_clear_status(console);
    if (style != STYLE_PLAIN)
        console_paint(console, style);
    console_paragraph(console, lead, str_from_c(text));
    if (style != STYLE_PLAIN)
        console_paint(console, STYLE_PLAIN);
    free(text);
}

void console_paragraph(Console *console, const char *lead, Str text) {
    size_t indent = visible_width(str_from_c(lead));
    bool is_narrow = console->is_live && console_width() < CONSOLE_COLUMNS;
    size_t width = is_narrow ? console_width() : CONSOLE_COLUMNS;

    buf_append(&console->text, str_from_c(lead));
    (void)visible_append_words(&console->text, text, indent, indent, width);
    buf_append_char(&console->text, '\n');
}

void console_clear_status(Console *console) {
    if (console->has_status)
        buf_append(&console->text, STR("\r\033[K"));
    console->has_status = false;
}

void console_status(Console *console, Str line) {
    if (!console->is_live)
        return;
    console_clear_status(console);
    console_painted(console, STYLE_BOLD, 0, str_take(line, console_width() - 1));
    console->has_status = true;
    console_flush(console);
}

void console_flush(Console *console) {
    if (!console->has_failed)
        console->has_failed = fd_write(STDOUT_FILENO, buf_str(&console->text)) < 0;
    buf_reset(&console->text);
}

size_t console_width(void) {
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}
