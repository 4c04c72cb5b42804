#pragma once

/*
 * Keyboard: the terminal while a command has it to itself: keys come one by one, without echo, and
 * the screen is another one than the person's own, which comes back at the end.
 *
 * One at a time. SIGINT, SIGTERM, SIGHUP and SIGWINCH interrupt a wait for it.
 */

#include <stdbool.h>
#include <stddef.h>

/* Takes the terminal; false: standard input or output is none. */
bool keyboard_open(void);
void keyboard_close(void); /* gives it back; takes one that was not opened */

/* To be waited for: it can be read when a key was typed. */
int keyboard_fd(void);

#define KEYBOARD_INTERRUPT 3 /* Ctrl-C */

/* The next key that was typed; 0: none waits. After SIGINT, SIGTERM or SIGHUP it is
 * KEYBOARD_INTERRUPT, and stays so. */
char keyboard_read(void);

/* Columns and lines of the terminal; 80 and 24 where it does not say. */
void keyboard_size(size_t *ret_width, size_t *ret_height);
