#pragma once

/* Output of commands: colours, messages, diagnostics. Threads: the first one only. */

#include <stdio.h>
#include <sys/types.h>

#include "base/diag.h"
#include "cli/command.h"

/* Colour: only on a terminal, and not when NO_COLOR is set (no-color.org). */
bool terminal_has_colour(FILE *stream);

/* Escape sequences; empty strings without colour. */
typedef struct Paint {
    const char *good, *bad, *dim, *bold, *off;
} Paint;

Paint paint_for(bool colour);

/* Whether characters beyond ASCII can be shown: by the locale, or because it is no terminal. */
bool terminal_has_symbols(FILE *stream);

/* The command that runs, for messages; "": none yet. */
extern const char *terminal_command;

/* "berth COMMAND: TEXT" on stderr by printf's rules, escaped line by line; several lines get a
 * heading, unless the second is indented by two spaces. */
void terminal_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * A command that cannot go on ends at once: each of these prints such a message and ends the
 * process, so that functions of commands return results and no errors. Nothing is freed; handlers
 * of at_quick_exit() are called.
 */

_Noreturn void terminal_end(int code); /* without a message */

#define terminal_fail(...) terminal_exit(EXIT_UNREACHABLE, __VA_ARGS__)
_Noreturn void terminal_exit(int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* @error is the message for @r, a negative errno. EXIT_FAILED for wrong content, -EINVAL. */
_Noreturn void terminal_fail_with(int r, const char *error);

/* Messages about @what ("the report"): no memory left, with the limit of @arena (or NULL) if it was
 * reached; a fatal error @r (base/error.h), -ENOMEM likewise; the error of a buffer. */
_Noreturn void terminal_out_of_memory(const char *what, const Arena *arena);
_Noreturn void terminal_failed(const char *what, int r, const Arena *arena);
_Noreturn void terminal_text_failed(const char *what, const Buf *text);

/* Ends the process for a negative @r, or for a @pointer of NULL; else returns it. */
int terminal_check(int r, const char *what, const Arena *arena);
void *terminal_need(void *pointer, const char *what) __attribute__((returns_nonnull));

/* Memory for @what, which the caller frees; a refused allocation ends the process. */
Arena *terminal_arena(const char *what, size_t budget) __attribute__((returns_nonnull));

/* 4,203, as a C string that lives until the end of the block. */
#define GROUPED(n) terminal_grouped((n), (char[GROUPED_MAX]){0})
#define GROUPED_COUNT(n) GROUPED((n) > 0 ? (uint64_t)(n) : 0) /* numbers of the API */
#define GROUPED_MAX 32u
const char *terminal_grouped(uint64_t n, char ret[static GROUPED_MAX]);

/* Errors and warnings in files, on stderr. */
void terminal_print_diags(const DiagList *diags);

/* The same, and the process ends with @code. */
_Noreturn void terminal_exit_for(int code, const DiagList *diags);

/* Writes all of @text. False when that failed (a closed pipe, a full disk). */
bool terminal_print(FILE *stream, Str text);

/* The same on stdout; if that fails, the process ends with EXIT_UNREACHABLE. */
void terminal_output(Str text);

/* Reads the file @path, or standard input, "-" (input/file.h). Errors end the process. */
void terminal_read_file(const char *path, Buf *ret);

/* Writes @text to the file @path. If it exists, its links and mode stay. Errors end the process. */
void terminal_write_file(const char *path, mode_t mode, Str text);

/* Prints @out on stdout, as the last step of a command. Errors, also of @out, end the process. */
void terminal_finish(const Buf *out);

/* -o table|json|yaml. Commands that print no table call the first one text. */
typedef enum OutputForm {
    OUTPUT_TABLE,
    OUTPUT_JSON,
    OUTPUT_YAML,
} OutputForm;

/* The same in the form that the user chose: @out is a table for OUTPUT_TABLE, else JSON, which is
 * converted for OUTPUT_YAML. */
void terminal_finish_as(const Buf *out, OutputForm form);
