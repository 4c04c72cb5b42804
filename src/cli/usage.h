#pragma once

/*
 * Usage: what commands say when they are used wrongly, all in the same way: what is wrong, the
 * lines of usage, and how to get the whole help, which would push the first of these off the
 * screen.
 */

#include <stdio.h>

/* @what may be NULL: it has been said. @print_help prints the help of @command. EXIT_USAGE. */
int usage_error(const char *command, const char *what, void (*print_help)(FILE *out));
