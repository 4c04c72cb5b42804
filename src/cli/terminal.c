/* Output of commands: colours, messages, diagnostics. */

#include "cli/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/message.h"
#include "base/visible.h"
#include "cli/command.h"

#define COMPLAINT_MAX ((size_t)1024 * 1024)
#define DIAGS_MAX ((size_t)64 * 1024 * 1024)

bool terminal_has_colour(FILE *stream) {
    const char *no_colour = getenv("NO_COLOR");

    return isatty(fileno(stream)) && !(no_colour && no_colour[0]);
}

Paint paint_for(bool colour) {
    return colour ? (Paint){"\033[32m", "\033[31m", "\033[2m", "\033[1m", "\033[0m"}
                  : (Paint){"", "", "", "", ""};
}

/* The first of these that is set counts, as setlocale() would have it. */
bool terminal_has_symbols(FILE *stream) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    if (!isatty(fileno(stream)))
        return true;
    for (size_t i = 0; i < ELEMENTS_OF(names); i++) {
        const char *value = getenv(names[i]);

        if (value && value[0])
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

bool terminal_print(FILE *stream, Str text) {
    return fwrite(text.ptr ? text.ptr : "", 1, text.len, stream) == text.len && fflush(stream) == 0;
}

int terminal_complain(const char *who, const char *text) {
    _cleanup_(buf_done) Buf out = BUF_INIT(COMPLAINT_MAX);
    Str rest = str_from_c(text), line;

    buf_printf(&out, str_find(rest, '\n') == SIZE_MAX ? "%s: " : "%s: cannot start:\n", who);
    while (str_split(&rest, '\n', &line)) {
        visible_print(&out, "{}\n", line);
    }
    (void)terminal_print(stderr, buf_str(&out));
    return EXIT_UNREACHABLE;
}

static int complain_of_limit(const char *who, const char *what, const char *of, size_t limit) {
    char text[MESSAGE_MAX];

    message_set(text, sizeof(text), "%s needs more than %zu MiB%s, which is the limit", what,
        limit >> 20, of);
    return terminal_complain(who, text);
}

int terminal_out_of_memory(const char *who, const char *what, const Arena *arena) {
    char text[MESSAGE_MAX];

    if (arena && arena_limit_reached(arena) > 0)
        return complain_of_limit(who, what, " of memory", arena_limit_reached(arena));
    message_set(text, sizeof(text), "out of memory for %s", what);
    return terminal_complain(who, text);
}

int terminal_failed(const char *who, const char *what, int r, const Arena *arena) {
    char text[MESSAGE_MAX];

    if (r == -ENOMEM)
        return terminal_out_of_memory(who, what, arena);
    message_set(text, sizeof(text), "internal error (code %d) at %s; please report it", -r, what);
    return terminal_complain(who, text);
}

int terminal_text_failed(const char *who, const char *what, const Buf *text) {
    if (buf_error(text) == -EFBIG)
        return complain_of_limit(who, what, "", text->ceiling);
    return terminal_failed(who, what, buf_error(text), NULL);
}

int terminal_finish(const Buf *out, const char *who) {
    if (buf_error(out))
        return terminal_text_failed(who, "the output", out);
    return terminal_print(stdout, buf_str(out)) ? EXIT_FINE : EXIT_UNREACHABLE;
}

void terminal_print_diags(const DiagList *diags) {
    _cleanup_(buf_done) Buf out = BUF_INIT(DIAGS_MAX);

    diag_list_print(diags, terminal_has_colour(stderr), &out);
    (void)terminal_print(stderr, buf_str(&out));
}
