#pragma once

/*
 * Command: the description of one command. Its option table is the only list of options:
 * parsing, --help, completions, man pages and usage errors are made from it.
 */

#include "base/arena.h"
#include "base/buf.h"
#include "cli/option.h"

enum {
    EXIT_FINE = 0,
    EXIT_FAILED = 1,      /* a check failed */
    EXIT_USAGE = 2,       /* wrong usage */
    EXIT_UNREACHABLE = 3, /* something needed could not be reached */
};

/* How the user started the program, for messages: a path, or PROGRAM_PLUGIN. */
extern const char *program_name;
#define PROGRAM_PLUGIN "kubectl berth"

/* The words that are no options, and the memory of the run. */
typedef struct Arguments {
    const char **items;
    size_t n;
    Arena *arena; /* up to the command's budget; beyond it, the process ends (cli/terminal.h) */
} Arguments;

typedef struct Command {
    const char *name;
    const char *summary;
    const char *usage;     /* after the name; a line for each form */
    const char *about;     /* paragraphs that are wrapped; lines that begin with a blank are not */
    const Option *options; /* ends with {0}; NULL: none but --help */
    const char *notes;     /* below the options, as @about; NULL: none */
    const char *values;    /* words that may be arguments, "bash|zsh"; NULL: none */
    OptionCompletion complete; /* of arguments */
    size_t max_completed;      /* how many arguments are completed; 0: no arguments are allowed */
    size_t budget;             /* of the arena of a run */
    const char *memory_for;    /* what needs most of it: "the report" */
    size_t settings_size;
    const void *defaults;         /* of the settings; NULL: zeros */
    void (*init)(void *settings); /* sets defaults that are not constant; NULL: none */
    /* NULL when the settings are consistent; else the error. May be NULL. */
    const char *(*check)(void *settings, const Arguments *arguments);
    int (*run)(void *settings, const Arguments *arguments); /* returns the exit code */
} Command;

/* All commands, in the order of the help. Defined by the program. */
extern const Command *const commands[];
extern const size_t n_commands;

/* The command of this name; NULL: none. */
const Command *command_find(const char *name);

/* Parses the words after the command's name, checks and runs. Returns the exit code. */
int command_run(const Command *command, int argc, char *argv[]);

/* "usage: …" lines; and all of --help. */
void command_print_usage(const Command *command, Buf *out);
void command_print_help(const Command *command, Buf *out);

/* Every command with its option table as JSON, for tools/generate-man. */
void commands_print_json(Buf *out);
