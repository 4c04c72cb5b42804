/* The worst that was said counts; of texts, the first lines. */

#include "checkup/verdict.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#define LINE_MAX_BYTES 2048 /* of one line; more is cut */

typedef struct Line {
    char text[LINE_MAX_BYTES];
    size_t len;
} Line;

__attribute__((format(printf, 2, 0))) static Str line_format(
    Line *line, const char *format, va_list arguments) {
    int len = vsnprintf(line->text, sizeof(line->text), format, arguments);

    line->len = len < 0                            ? 0
                : (size_t)len < sizeof(line->text) ? (size_t)len
                                                   : sizeof(line->text) - 1;
    return str_of(line->text, line->len);
}

static void add_line(Buf *out, Str line) {
    if (out->len > 0)
        buf_append_char(out, '\n');
    buf_append(out, line);
}

void verdict_quote(Verdict *verdict, Str lines) {
    lines = str_trim(lines);
    if (str_is_empty(lines))
        return;
    if (verdict->n_causes++ < VERDICT_LINES_MAX)
        add_line(&verdict->cause, lines);
}

__attribute__((format(printf, 2, 0))) static void add_cause(
    Verdict *verdict, const char *format, va_list arguments) {
    Line line;

    verdict_quote(verdict, line_format(&line, format, arguments));
}

void verdict_note(Verdict *verdict, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    add_cause(verdict, format, arguments);
    va_end(arguments);
}

void verdict_warn(Verdict *verdict, const char *format, ...) {
    va_list arguments;

    if (verdict->state != CHECK_FAILED)
        verdict->state = CHECK_WARNED;
    va_start(arguments, format);
    add_cause(verdict, format, arguments);
    va_end(arguments);
}

void verdict_fail(Verdict *verdict, const char *format, ...) {
    va_list arguments;

    verdict->state = CHECK_FAILED;
    va_start(arguments, format);
    add_cause(verdict, format, arguments);
    va_end(arguments);
}

void verdict_skip(Verdict *verdict, const char *format, ...) {
    va_list arguments;

    if (verdict->state == CHECK_PASSED)
        verdict->state = CHECK_SKIPPED;
    va_start(arguments, format);
    add_cause(verdict, format, arguments);
    va_end(arguments);
}

static bool has_line(Str text, Str wanted) {
    Str line;

    while (str_split(&text, '\n', &line))
        if (str_eq(line, wanted))
            return true;
    return false;
}

void verdict_fix(Verdict *verdict, const char *format, ...) {
    va_list arguments;
    Line line;
    Str text;

    va_start(arguments, format);
    text = line_format(&line, format, arguments);
    va_end(arguments);
    if (has_line(buf_str(&verdict->fix), text) || verdict->n_fixes++ >= VERDICT_LINES_MAX)
        return;
    add_line(&verdict->fix, text);
}

/* A text that came up to its ceiling is shown as far as it goes. */
static bool has_no_memory(const Verdict *verdict) {
    return buf_error(&verdict->cause) == -ENOMEM || buf_error(&verdict->fix) == -ENOMEM;
}

static int verdict_end(Verdict *verdict, Arena *arena, Finding *ret) {
    bool is_bad = verdict->state == CHECK_WARNED || verdict->state == CHECK_FAILED;

    if (verdict->n_causes > VERDICT_LINES_MAX)
        buf_printf(&verdict->cause, "\nand %zu more", verdict->n_causes - VERDICT_LINES_MAX);
    if (has_no_memory(verdict))
        return -ENOMEM;
    *ret = (Finding){
        .state = verdict->state,
        .cause = arena_copy(arena, buf_str(&verdict->cause)),
        .fix = is_bad ? arena_copy(arena, buf_str(&verdict->fix)) : STR(""),
    };
    return ret->cause.ptr && ret->fix.ptr ? 0 : -ENOMEM;
}

int verdict_of(CheckJudge judge, const InstallationFacts *facts, Arena *arena, Finding *ret) {
    Verdict verdict = {
        .cause = BUF_INIT(VERDICT_TEXT_MAX),
        .fix = BUF_INIT(VERDICT_TEXT_MAX),
    };
    int r;

    judge(facts, &verdict);
    r = verdict_end(&verdict, arena, ret);
    buf_done(&verdict.cause);
    buf_done(&verdict.fix);
    return r;
}
