#pragma once

/*
 * Commands: one file each, one function each. argv[0] is "berth COMMAND", and
 * program_name what the person typed to get here. They return the exit code.
 */

#include <stddef.h>

enum {
    EXIT_FINE = 0,
    EXIT_FAILED = 1,      /* a check failed */
    EXIT_USAGE = 2,       /* wrong usage */
    EXIT_UNREACHABLE = 3, /* something needed could not be reached */
};

extern const char *program_name;

typedef struct Command {
    const char *name;
    int (*run)(int argc, char *argv[]);
    const char *summary;
} Command;

/* All of them, in the order in which they are shown. */
extern const Command commands[];
extern const size_t n_commands;

int cmd_serve(int argc, char *argv[]);
int cmd_check(int argc, char *argv[]);
int cmd_explain(int argc, char *argv[]);
int cmd_simulate(int argc, char *argv[]);
int cmd_what_if(int argc, char *argv[]);
int cmd_bundle(int argc, char *argv[]);
int cmd_eval(int argc, char *argv[]);
int cmd_dump(int argc, char *argv[]);
int cmd_demo(int argc, char *argv[]);
int cmd_certs(int argc, char *argv[]);
int cmd_completion(int argc, char *argv[]);
int cmd_config(int argc, char *argv[]);
int cmd_install(int argc, char *argv[]);
int cmd_top(int argc, char *argv[]);
int cmd_version(int argc, char *argv[]);
