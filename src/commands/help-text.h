#pragma once

/*
 * HelpText: what a command says of itself with --help, as data.
 *
 * The help text is the one list of a command's options that people read; what is completed, and
 * what is in the man pages, is taken from it, so that there is no second list to forget. The form:
 *
 *     usage: berth dump [OPTIONS] FILE...
 *            berth dump --batch [FILE]
 *
 *       -o, --output FORM     text or json; more words, which
 *                             may go on below                     [text]
 *       --cert FILE --key FILE  two at once
 */

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/command.h"

typedef struct HelpOption {
    char letter;  /* "-o"; 0: none */
    Str name;     /* without dashes */
    Str argument; /* "FILE", "text|json"; empty: takes none */
    Str about;    /* one line, without the default */
} HelpOption;

typedef struct HelpText {
    VEC(HelpOption) options;
    VEC(Str) usages; /* what follows the command's name, one for each line */
} HelpText;

/* Reads @text, the help of @command as @program prints it. Everything lives in @arena or points
 * into @text. 0, or -ENOMEM. */
int help_text_read(Str text, Str program, Str command, Arena *arena, HelpText *ret);

/* The same of what @command prints on standard output when it is run with --help, here and now. A
 * negative errno when there is nothing to be had. */
int help_text_of(const Command *command, Arena *arena, HelpText *ret);

/* NULL: there is no such option. @word is "--name" or "-o". */
const HelpOption *help_text_find(const HelpText *help, Str word);
