#pragma once

/* Shell: quotes words of commands that users paste into a shell. */

#include "base/buf.h"

/* Appends @word so that a shell reads it as one word, whatever it contains. */
void shell_word(Buf *out, Str word);
