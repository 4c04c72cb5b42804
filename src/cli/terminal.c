/* Output of commands: colours, messages, diagnostics. */

#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/message.h"
#include "base/visible.h"
#include "cli/progress.h"
#include "input/file.h"
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

/* The first of these variables that is set counts, as for setlocale(). */
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

void terminal_end(int code) {
    progress_end();
    (void)fflush(NULL);
    quick_exit(code);
}

void terminal_output(Str text) {
    if (!terminal_print(stdout, text))
        terminal_end(EXIT_UNREACHABLE);
}

void terminal_read_file(const char *path, Buf *ret) {
    char error[FILE_ERROR_MAX];

    if (file_read(path, ret, error) < 0)
        terminal_fail("%s", error);
}

void terminal_write_file(const char *path, mode_t mode, Str text) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    int r = fd < 0 ? -errno : fd_write(fd, text);

    if (fd >= 0 && close(fd) < 0 && r == 0)
        r = -errno;
    if (r < 0)
        terminal_fail("cannot write %s: %s", path, strerror(-r));
}

__attribute__((format(printf, 1, 0))) static void complain(const char *format, va_list arguments) {
    _cleanup_(buf_done) Buf out = BUF_INIT(8 * COMPLAINT_MAX);
    static char text[COMPLAINT_MAX]; /* static, because the stack may be exhausted */
    const char *between = terminal_command[0] ? " " : "";
    bool has_heading;
    Str rest, line;

    (void)vsnprintf(text, sizeof(text), format, arguments);
    rest = str_from_c(text);
    has_heading = strchr(text, '\n') && strncmp(strchr(text, '\n'), "\n  ", 3) != 0;
    buf_printf(
        &out, "berth%s%s: %s", between, terminal_command, has_heading ? "cannot start:\n" : "");
    while (str_split(&rest, '\n', &line))
        visible_print(&out, "{}\n", line);
    if (buf_error(&out)) /* falls back to plain text if memory is exhausted */
        (void)fprintf(stderr, "berth%s%s: %s\n", between, terminal_command, text);
    else
        (void)terminal_print(stderr, buf_str(&out));
}

void terminal_warn(const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    complain(format, arguments);
    va_end(arguments);
}

void terminal_exit(int code, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    complain(format, arguments);
    va_end(arguments);
    terminal_end(code);
}

void terminal_fail_with(int r, const char *error) {
    terminal_exit(r == -EINVAL ? EXIT_FAILED : EXIT_UNREACHABLE, "%s", error);
}

void terminal_out_of_memory(const char *what, const Arena *arena) {
    terminal_failed(what, -ENOMEM, arena);
}

void terminal_failed(const char *what, int r, const Arena *arena) {
    char text[MESSAGE_MAX];

    (void)message_failed(text, sizeof(text), what, r, arena);
    terminal_fail("%s", text);
}

void terminal_text_failed(const char *what, const Buf *text) {
    if (buf_error(text) != -EFBIG)
        terminal_failed(what, buf_error(text), NULL);
    terminal_fail("%s is larger than %zu MiB, which is the limit", what, text->ceiling >> 20);
}

int terminal_check(int r, const char *what, const Arena *arena) {
    if (r < 0)
        terminal_failed(what, r, arena);
    return r;
}

void *terminal_need(void *pointer, const char *what) {
    if (!pointer)
        terminal_out_of_memory(what, NULL);
    return pointer;
}

Arena *terminal_arena(const char *what, size_t budget) {
    Arena *arena = terminal_need(arena_new(budget), what);

    arena_on_refusal(arena, terminal_out_of_memory, what);
    return arena;
}

const char *terminal_grouped(uint64_t n, char ret[static GROUPED_MAX]) {
    _cleanup_(buf_done) Buf text = BUF_INIT(GROUPED_MAX);

    buf_append_grouped(&text, n);
    (void)snprintf(ret, GROUPED_MAX, "%.*s", STR_FMT(buf_str(&text)));
    return ret;
}

void terminal_finish(const Buf *out) {
    if (buf_error(out))
        terminal_text_failed("the output", out);
    terminal_output(buf_str(out));
}

void terminal_finish_as(const Buf *out, OutputForm form) {
    _cleanup_(buf_done) Buf yaml = BUF_INIT(out->ceiling);

    if (form != OUTPUT_YAML || buf_error(out)) {
        terminal_finish(out);
        return;
    }
    if (yaml_from_json(buf_str(out), &yaml) == -EINVAL)
        terminal_failed("the YAML", -EINVAL, NULL);
    terminal_finish(&yaml);
}

void terminal_print_diags(const DiagList *diags) {
    _cleanup_(buf_done) Buf out = BUF_INIT(DIAGS_MAX);

    diag_list_print(diags, terminal_has_colour(stderr), &out);
    if (out.len > 0)
        (void)terminal_print(stderr, buf_str(&out));
}

void terminal_exit_for(int code, const DiagList *diags) {
    terminal_print_diags(diags);
    terminal_end(code);
}
