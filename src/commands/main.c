/*
 * berth: finds the command and runs it.
 */

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cli/command.h"
#include "commands/complete.h"
#include "version.h"

const char *program_name = "berth";

const Command commands[] = {
    {"serve", cmd_serve, "run the extender"},
    {"check", cmd_check, "check policy files, or an installation"},
    {"explain", cmd_explain, "show why a pod may go to which node"},
    {"top", cmd_top, "watch what a running berth decides"},
    {"simulate", cmd_simulate, "place pods under one policy and another, and compare"},
    {"what-if", cmd_what_if, "make past decisions again, with other policies"},
    {"bundle", cmd_bundle, "take decisions and what they were made of away"},
    {"eval", cmd_eval, "evaluate a CEL expression"},
    {"dump", cmd_dump, "show the cluster as berth sees it"},
    {"demo", cmd_demo, "see it work, without a cluster"},
    {"certs", cmd_certs, "make certificates for HTTPS, and renew them"},
    {"completion", cmd_completion, "make your shell complete what you type"},
    {"config", cmd_config, "print what kube-scheduler is told of berth"},
    {"install", cmd_install, "print the steps to install it in a cluster"},
    {"version", cmd_version, "version, build and libraries"},
};
const size_t n_commands = ELEMENTS_OF(commands);

static void print_help(FILE *out) {
    (void)fprintf(out,
        "berth " BERTH_VERSION ": placement policy for the stock kube-scheduler\n"
        "\n"
        "usage: %s COMMAND [OPTIONS]\n"
        "\n",
        program_name);
    for (size_t i = 0; i < ELEMENTS_OF(commands); i++)
        (void)fprintf(out, "  %-11s %s\n", commands[i].name, commands[i].summary);
    (void)fprintf(out,
        "\n"
        "Try:  %s demo\n"
        "      %s COMMAND --help\n",
        program_name,
        program_name);
}

static int unknown_command(const char *word) {
    Str known[ELEMENTS_OF(commands)];
    Str nearest;

    for (size_t i = 0; i < ELEMENTS_OF(commands); i++)
        known[i] = str_from_c(commands[i].name);
    nearest = str_nearest(str_from_c(word), known, ELEMENTS_OF(known));
    (void)fprintf(stderr, "berth: unknown command \"%s\"", word);
    if (!str_is_empty(nearest))
        (void)fprintf(stderr, "; did you mean \"%.*s\"?", STR_FMT(nearest));
    (void)fprintf(stderr, "\nTry: %s --help\n", program_name);
    return EXIT_USAGE;
}

/* getopt's own messages begin with argv[0], ours with "berth COMMAND". */
static int run(const Command *command, int argc, char *argv[]) {
    char name[32];

    (void)snprintf(name, sizeof(name), "berth %s", command->name);
    argv[1] = name;
    return command->run(argc - 1, argv + 1);
}

/* The part behind the last slash. */
static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* kubectl runs its plugins by such names, and people type them with a blank. */
static const char *name_of(const char *path) {
    return strcmp(base_name(path), "kubectl-berth") == 0 ? "kubectl berth" : path;
}

/* Allocations from here on are mappings of their own and go back to the system when
 * they are freed. Left alone, glibc raises the limit to the largest block it ever
 * freed, and one 80 MB request would stay in the process for good. */
#define MAPPED_MIN (256 * 1024)

int main(int argc, char *argv[]) {
    const char *word = argc > 1 ? argv[1] : "--help";

    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_MIN);
    if (argc > 0)
        program_name = name_of(argv[0]);
    if (argc > 0 && strcmp(base_name(argv[0]), "kubectl_complete-berth") == 0)
        return complete(argc - 1, argv + 1);
    if (strcmp(word, "__complete") == 0)
        return complete(argc - 2, argv + 2);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_help(stdout);
        return EXIT_FINE;
    }
    if (strcmp(word, "--version") == 0)
        word = "version";
    for (size_t i = 0; i < ELEMENTS_OF(commands); i++)
        if (strcmp(word, commands[i].name) == 0)
            return run(&commands[i], argc, argv);
    return unknown_command(word);
}
