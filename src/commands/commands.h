#pragma once

/* The commands, most in a file of the same name. */

#include "cli/command.h"

extern const Command serve_command;
extern const Command check_command;
extern const Command explain_command;
extern const Command top_command;
extern const Command status_command;
extern const Command open_command;
extern const Command simulate_command;
extern const Command what_if_command;
extern const Command diff_command;
extern const Command test_command;
extern const Command bundle_command;
extern const Command eval_command;
extern const Command dump_command;
extern const Command demo_command;
extern const Command certs_command;
extern const Command completion_command;
extern const Command config_command;
extern const Command publish_command;
extern const Command install_command;
extern const Command version_command;

/*
 * Shell completion: the shells' scripts (completions/) run `berth __complete WORD...` with the
 * words of the command line. The last word is the one being typed; it may be empty.
 *
 * It prints one candidate a line, "word<TAB>description", and then ":4", or ":0" if names of files
 * are possible, too. This is cobra's protocol, which kubectl uses for its plugins. It must be fast
 * and never prints errors: candidates that cannot be read, or take longer than COMPLETE_MSEC, are
 * left out. Returns EXIT_FINE.
 */
#define COMPLETE_MSEC 1000
int complete(int n_words, char *words[]);
