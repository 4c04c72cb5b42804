#pragma once

/*
 * Log: one event, one line, structured.
 *
 *     log_info("policy loaded", LOG_INT("rules", n));
 *
 *     ts=2026-11-15T08:09:31.123Z level=info msg="policy loaded" rules=4
 *     {"ts":"2026-11-15T08:09:31.123Z","level":"info","msg":"policy loaded","rules":4}
 *
 * A line stays one line with any value: control characters, DEL, C1,
 * line separators and bidirectional controls are escaped, invalid UTF-8 becomes
 * U+FFFD, and a value is cut at LOG_VALUE_MAX bytes. A line that would still be too
 * long is written without its fields. It goes to stderr with one write(2), so lines of
 * several threads do not mix. Any thread.
 *
 * Only http/, the daemon's folders and commands/ log; all others return errors.
 */

#include "base/diag.h"

#define LOG_VALUE_MAX 1024u

typedef enum LogLevel {
    LOG_DEBUG,
    LOG_INFO,
    LOG_WARN,
    LOG_ERROR,
    LOG_NONE, /* for log_setup() only: nothing is written */
} LogLevel;

typedef enum LogFormat {
    LOG_LOGFMT,
    LOG_JSON,
} LogFormat;

typedef struct LogField {
    const char *key; /* NULL: the field is left out */
    enum { LOG_FIELD_END, LOG_FIELD_STR, LOG_FIELD_INT, LOG_FIELD_BOOL } kind;
    Str str;
    int64_t number;
} LogField;

#define LOG_STR(name, value) ((LogField){.key = (name), .kind = LOG_FIELD_STR, .str = (value)})
#define LOG_CSTR(name, value) LOG_STR((name), str_from_c(value))
#define LOG_INT(name, value)                                                                       \
    ((LogField){.key = (name), .kind = LOG_FIELD_INT, .number = (int64_t)(value)})
#define LOG_BOOL(name, value) ((LogField){.key = (name), .kind = LOG_FIELD_BOOL, .number = (value)})

/* Sets the lowest level that is written, and the format. Only before other threads exist. */
void log_setup(LogLevel least, LogFormat format);

bool log_is_on(LogLevel level);

void log_event(LogLevel level, const char *msg, const LogField *fields);

/* A line for each of @diags, which are warnings. */
void log_warnings(const char *msg, const DiagList *diags);

/* The line without writing it; @wall_nsec is the stamp. For tests. */
void log_render(LogFormat format, LogLevel level, int64_t wall_nsec, const char *msg,
    const LogField *fields, Buf *out);

#define LOG_AT(level, msg, ...)                                                                    \
    do {                                                                                           \
        if (log_is_on(level))                                                                      \
            log_event((level), (msg),                                                              \
                (const LogField[]){__VA_ARGS__ __VA_OPT__(, ){.kind = LOG_FIELD_END}});            \
    } while (0)

#define log_debug(msg, ...) LOG_AT(LOG_DEBUG, msg __VA_OPT__(, ) __VA_ARGS__)
#define log_info(msg, ...) LOG_AT(LOG_INFO, msg __VA_OPT__(, ) __VA_ARGS__)
#define log_warn(msg, ...) LOG_AT(LOG_WARN, msg __VA_OPT__(, ) __VA_ARGS__)
#define log_error(msg, ...) LOG_AT(LOG_ERROR, msg __VA_OPT__(, ) __VA_ARGS__)
