/* Structured log lines in logfmt or JSON. */

#include "base/log.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"

#define LOG_LINE_MAX ((size_t)32 * 1024)

static struct {
    LogLevel least;
    LogFormat format;
} settings = {.least = LOG_INFO, .format = LOG_LOGFMT};

static const char *const level_names[] = {
    [LOG_DEBUG] = "debug",
    [LOG_INFO] = "info",
    [LOG_WARN] = "warn",
    [LOG_ERROR] = "error",
};

void log_setup(LogLevel least, LogFormat format) {
    settings.least = least;
    settings.format = format;
}

bool log_is_on(LogLevel level) {
    return level >= settings.least;
}

/* Both formats quote alike: JSON's escapes are a subset of what logfmt readers
 * take inside quotes. */
static void append_quoted(Buf *out, Str text) {
    Str rest = utf8_take(text, LOG_VALUE_MAX);

    buf_append_char(out, '"');
    while (rest.len > 0) {
        uint32_t c;
        size_t n = utf8_decode(rest, &c);

        if (n == 0) {
            buf_append(out, STR("\\ufffd"));
            n = 1;
        } else if (c == '"' || c == '\\') {
            buf_printf(out, "\\%c", (char)c);
        } else if (c == '\n') {
            buf_append(out, STR("\\n"));
        } else if (utf8_is_unsafe(c)) {
            buf_printf(out, "\\u%04x", c);
        } else {
            buf_append(out, str_take(rest, n));
        }
        rest = str_skip(rest, n);
    }
    if (text.len > LOG_VALUE_MAX)
        buf_append(out, STR("\xe2\x80\xa6"));
    buf_append_char(out, '"');
}

static bool needs_quotes(Str text) {
    if (text.len == 0 || text.len > LOG_VALUE_MAX)
        return true;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\')
            return true;
    }
    return false;
}

static void append_text(Buf *out, LogFormat format, Str text) {
    if (format == LOG_LOGFMT && !needs_quotes(text))
        buf_append(out, text);
    else
        append_quoted(out, text);
}

static void append_value(Buf *out, LogFormat format, const LogField *field) {
    switch (field->kind) {
    case LOG_FIELD_END:
        break;
    case LOG_FIELD_STR:
        append_text(out, format, field->str);
        break;
    case LOG_FIELD_INT:
        buf_append_int(out, field->number);
        break;
    case LOG_FIELD_BOOL:
        buf_append(out, field->number ? STR("true") : STR("false"));
        break;
    }
}

static void append_key(Buf *out, LogFormat format, const char *key, bool first) {
    if (format == LOG_JSON)
        buf_printf(out, "%s\"%s\":", first ? "" : ",", key);
    else
        buf_printf(out, "%s%s=", first ? "" : " ", key);
}

static void append_stamp(Buf *out, LogFormat format, int64_t wall_nsec) {
    time_t seconds = (time_t)(wall_nsec / NSEC_PER_SEC);
    int msec = (int)(wall_nsec % NSEC_PER_SEC / NSEC_PER_MSEC);
    struct tm utc = {0};
    char stamp[40];
    size_t n;

    (void)gmtime_r(&seconds, &utc);
    n = strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(stamp + n, sizeof(stamp) - n, ".%03dZ", msec);
    append_text(out, format, str_from_c(stamp));
}

void log_render(LogFormat format, LogLevel level, int64_t wall_nsec, const char *msg,
    const LogField *fields, Buf *out) {
    if (format == LOG_JSON)
        buf_append_char(out, '{');
    append_key(out, format, "ts", /* first= */ true);
    append_stamp(out, format, wall_nsec);
    append_key(out, format, "level", false);
    append_text(out, format, str_from_c(level_names[level]));
    append_key(out, format, "msg", false);
    append_text(out, format, str_from_c(msg));
    for (const LogField *field = fields; field->kind != LOG_FIELD_END; field++) {
        if (!field->key)
            continue;
        append_key(out, format, field->key, false);
        append_value(out, format, field);
    }
    buf_append(out, format == LOG_JSON ? STR("}\n") : STR("\n"));
}

void log_event(LogLevel level, const char *msg, const LogField *fields) {
    _cleanup_(buf_done) Buf line = BUF_INIT(LOG_LINE_MAX);

    log_render(settings.format, level, clock_wall_nsec(), msg, fields, &line);
    if (buf_error(&line)) { /* too long: logs the event without its fields */
        buf_reset(&line);
        log_render(settings.format, level, clock_wall_nsec(), msg,
            (const LogField[]){LOG_BOOL("fields_dropped", true), {.kind = LOG_FIELD_END}}, &line);
    }
    if (!buf_error(&line))
        (void)!write(STDERR_FILENO, line.data, line.len);
}

void log_warnings(const char *msg, const DiagList *diags) {
    for (size_t i = 0; i < diags->diags.n; i++) {
        const Diag *diag = &diags->diags.items[i];

        log_warn(msg, LOG_STR("file", diag->place.file), LOG_INT("line", diag->place.line),
            LOG_STR("warning", diag->text));
    }
}
