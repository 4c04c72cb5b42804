#pragma once

/* The commands, one in each file of the same name. */

#include "cli/command.h"

extern const Command serve_command;
extern const Command check_command;
extern const Command explain_command;
extern const Command top_command;
extern const Command status_command;
extern const Command open_command;
extern const Command simulate_command;
extern const Command what_if_command;
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
