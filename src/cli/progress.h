#pragma once

/*
 * Progress: one line on stderr about what a command is doing, erased at the end.
 *
 *     replaying decisions: 1,200 of 10,000, 4 s
 *
 * Only on a terminal, and only if it takes longer than two seconds. A thread draws it, so that it
 * also shows while the command waits for a server or a file. There is one line, as there is one
 * terminal. Output and errors end it first (cli/terminal.h), so that they start on a clean line.
 */

#include <stddef.h>

/* Begins with @what ("replaying decisions"), or replaces the text. @what must live until
 * progress_end(). */
void progress_begin(const char *what);

/* Adds ": @done of @of" to the text. */
void progress_count(size_t done, size_t of);

/* Erases the line. Without a progress_begin() before it does nothing. */
void progress_end(void);
