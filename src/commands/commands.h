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
 * Shell completion: `berth __complete WORD...` is run by the shells' scripts (completions/) with
 * the words of the command line, the last of which is the one that is being typed, perhaps empty.
 *
 * It prints one candidate a line, "word<TAB>what it is", and at last ":4", or ":0" when names of
 * files may stand there, too. That is cobra's protocol, which kubectl speaks with its plugins. It
 * must be fast and never prints errors: candidates that cannot be read, or take longer than
 * COMPLETE_MSEC, are left out. The exit code is always
 * EXIT_FINE.
 */
#define COMPLETE_MSEC 1000
int complete(int n_words, char *words[]);
