#pragma once

/* Output of commands: colours, messages, diagnostics. */

#include <stdio.h>

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
 * heading, unless the second is indented by two spaces. Returns @code; or EXIT_UNREACHABLE. */
#define terminal_complain(...) terminal_refuse(EXIT_UNREACHABLE, __VA_ARGS__)
int terminal_refuse(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with @error for @r, a negative errno. EXIT_FAILED for wrong content, -EINVAL. */
int terminal_report(int r, const char *error);

/* The same where there was no memory for @what ("the report"): the limit of @arena (NULL: none) is
 * named if that was the reason. */
int terminal_out_of_memory(const char *what, const Arena *arena);

/* The same for any fatal error @r (base/error.h), and for a text that failed. */
int terminal_failed(const char *what, int r, const Arena *arena);
int terminal_text_failed(const char *what, const Buf *text);

/* 4,203, as a C string that lives until the end of the block. */
#define GROUPED(n) terminal_grouped((n), (char[GROUPED_MAX]){0})
#define GROUPED_MAX 32u
const char *terminal_grouped(uint64_t n, char ret[static GROUPED_MAX]);

/* The end of a noun: "2 nodes". */
#define PLURAL(n) ((n) == 1 ? "" : "s")

/* Errors and warnings in files, on stderr. */
void terminal_print_diags(const DiagList *diags);

/* Writes all of @text. False when that failed (a closed pipe, a full disk). */
bool terminal_print(FILE *stream, Str text);

/* The last thing a command does: prints @out on stdout. The exit code. */
int terminal_finish(const Buf *out);

/* -o table|json|yaml. A command that prints no table has another word for the first. */
typedef enum OutputForm {
    OUTPUT_TABLE,
    OUTPUT_JSON,
    OUTPUT_YAML,
} OutputForm;

/* The same of @out in the form that the user chose: it is a table; or JSON, which becomes YAML for
 * OUTPUT_YAML. */
int terminal_finish_as(const Buf *out, OutputForm form);
