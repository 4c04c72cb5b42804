/* Output of commands: colours, messages, diagnostics. */

#include "cli/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/message.h"
#include "base/visible.h"
#include "cli/progress.h"
#include "yaml/write.h"

#define COMPLAINT_MAX ((size_t)64 * 1024)
#define DIAGS_MAX ((size_t)64 * 1024 * 1024)

const char *terminal_command = "";

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
    progress_end();
    return fwrite(text.ptr ? text.ptr : "", 1, text.len, stream) == text.len && fflush(stream) == 0;
}

static bool has_heading(Str text) {
    size_t end = str_find(text, '\n');

    return end != SIZE_MAX && !str_has_prefix(str_skip(text, end + 1), STR("  "));
}

int terminal_refuse(int code, const char *format, ...) {
    _cleanup_(buf_done) Buf out = BUF_INIT(8 * COMPLAINT_MAX);
    static char text[COMPLAINT_MAX]; /* there may be no room for it on the stack */
    const char *between = terminal_command[0] ? " " : "";
    va_list arguments;
    Str rest, line;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    rest = str_from_c(text);
    buf_printf(&out, "berth%s%s: %s", between, terminal_command,
        has_heading(rest) ? "cannot start:\n" : "");
    while (str_split(&rest, '\n', &line))
        visible_print(&out, "{}\n", line);
    if (buf_error(&out)) /* it may be about memory */
        (void)fprintf(stderr, "berth%s%s: %s\n", between, terminal_command, text);
    else
        (void)terminal_print(stderr, buf_str(&out));
    return code;
}

int terminal_report(int r, const char *error) {
    return terminal_refuse(r == -EINVAL ? EXIT_FAILED : EXIT_UNREACHABLE, "%s", error);
}

int terminal_out_of_memory(const char *what, const Arena *arena) {
    return terminal_failed(what, -ENOMEM, arena);
}

int terminal_failed(const char *what, int r, const Arena *arena) {
    char text[MESSAGE_MAX];

    (void)message_failed(text, sizeof(text), what, r, arena);
    return terminal_complain("%s", text);
}

int terminal_text_failed(const char *what, const Buf *text) {
    if (buf_error(text) != -EFBIG)
        return terminal_failed(what, buf_error(text), NULL);
    return terminal_complain(
        "%s is larger than %zu MiB, which is the limit", what, text->ceiling >> 20);
}

const char *terminal_grouped(uint64_t n, char ret[static GROUPED_MAX]) {
    _cleanup_(buf_done) Buf text = BUF_INIT(GROUPED_MAX);

    buf_append_grouped(&text, n);
    (void)snprintf(ret, GROUPED_MAX, "%.*s", STR_FMT(buf_str(&text)));
    return ret;
}

int terminal_finish(const Buf *out) {
    if (buf_error(out))
        return terminal_text_failed("the output", out);
    return terminal_print(stdout, buf_str(out)) ? EXIT_FINE : EXIT_UNREACHABLE;
}

int terminal_finish_as(const Buf *out, OutputForm form) {
    _cleanup_(buf_done) Buf yaml = BUF_INIT(out->ceiling);
    int r = 0;

    if (form == OUTPUT_YAML && buf_error(out) == 0)
        r = yaml_from_json(buf_str(out), &yaml);
    if (r == -EINVAL)
        return terminal_failed("the YAML", r, NULL);
    return terminal_finish(form == OUTPUT_YAML && buf_error(out) == 0 ? &yaml : out);
}

void terminal_print_diags(const DiagList *diags) {
    _cleanup_(buf_done) Buf out = BUF_INIT(DIAGS_MAX);

    diag_list_print(diags, terminal_has_colour(stderr), &out);
    if (out.len > 0)
        (void)terminal_print(stderr, buf_str(&out));
}
