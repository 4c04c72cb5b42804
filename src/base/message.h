#pragma once

/*
 * Message: a sentence for users in an array of a fixed size, always terminated.
 *
 * Text from outside (names of a kubeconfig, answers of servers, libcurl's errors) is shown with its
 * control characters escaped, so that it stays one line. A message that does not fit is cut, at a
 * whole character.
 */

#include <stdarg.h>

#include "base/arena.h"

#define MESSAGE_MAX 1024u     /* the usual size of an array */
#define MESSAGE_QUOTE_MAX 80u /* bytes of text from outside */

/* Writes a text by printf's rules; escapes all of it. */
void message_set(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void message_setv(char *text, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* Sets @error, an array of MESSAGE_MAX; its value is @code. */
#define message_fail(code, error, ...) (message_set((error), MESSAGE_MAX, __VA_ARGS__), code)

/* An allocation for @what failed: "out of memory for WHAT". If the budget of @arena (may be NULL)
 * refused it: "WHAT needs more than 64 MiB of memory, which is the limit". Returns -ENOMEM. */
int message_no_memory(char *text, size_t size, const char *what, const Arena *arena);

/* The same if @r is -ENOMEM; any other negative errno is reported as an internal error. Returns
 * @r. */
int message_failed(char *text, size_t size, const char *what, int r, const Arena *arena);

/* A message that is made of several pieces. */
typedef struct Message {
    char *text;
    size_t len, size; /* size counts the NUL */
} Message;

/* An empty one in @text of @size bytes, 1 at least. */
Message message_begin(char *text, size_t size);

void message_add(Message *message, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds at most @max columns of @text, escaped, and "…" if it is longer. */
void message_show(Message *message, Str text, size_t max);

/* Adds @before, at most MESSAGE_QUOTE_MAX columns of @text in quotes, and @behind. */
void message_quote(Message *message, const char *before, Str text, const char *behind);
