#pragma once

/*
 * Message: a sentence for a person, in a buffer of fixed size.
 *
 * What comes from outside (names of a kubeconfig, a plugin's last words, libcurl's, the
 * API server's) is shown with control characters escaped, so that a line stays a line; what does
 * not fit is cut, at a whole character.
 */

#include <stdarg.h>
#include <stddef.h>

#include "kube/access.h"

void message_set(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void message_setv(char *text, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* Says why, in a buffer of ACCESS_ERROR_MAX, and is the negative errno @code. */
#define message_fail(code, error, ...) (message_set((error), ACCESS_ERROR_MAX, __VA_ARGS__), code)
