/* berth: finds the command and runs it. */

#include <curl/curl.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <libfyaml.h>
#include <malloc.h>
#include <stdio.h>

#include "cli/terminal.h"
#include "commands/commands.h"
#include "version.h"
#include "json/scan.h"

static int print_version(void *settings, const Arguments *arguments) {
    (void)printf("berth %s\n", BERTH_VERSION);
    (void)printf("compiler       %s\n", __VERSION__);
    (void)printf("gnutls         %s\n", gnutls_check_version(NULL));
    (void)printf("libcurl        %s\n", curl_version_info(CURLVERSION_NOW)->version);
    (void)printf("libfyaml       %s\n", fy_library_version());
    (void)printf("json kernel    %s\n", scan_kernel_name(scan_kernel()));
    return EXIT_FINE;
}

const Command version_command = {
    .name = "version",
    .summary = "version, build and libraries",
    .about = "Prints the version of berth, its compiler, and the versions of the libraries that it "
             "runs with.",
    .run = print_version,
};

#define JSON_MAX ((size_t)1024 * 1024)

const char *program_name = "berth";

const Command *const commands[] = {
    &serve_command,
    &check_command,
    &explain_command,
    &top_command,
    &status_command,
    &open_command,
    &simulate_command,
    &what_if_command,
    &diff_command,
    &test_command,
    &bundle_command,
    &eval_command,
    &dump_command,
    &demo_command,
    &certs_command,
    &completion_command,
    &config_command,
    &publish_command,
    &install_command,
    &version_command,
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
        (void)fprintf(out, "  %-11s %s\n", commands[i]->name, commands[i]->summary);
    (void)fprintf(out,
        "\n"
        "Try:  %s demo\n"
        "      %s help COMMAND\n",
        program_name, program_name);
}

static int unknown_command(const char *word) {
    Str known[ELEMENTS_OF(commands)];
    Str nearest;

    for (size_t i = 0; i < ELEMENTS_OF(commands); i++)
        known[i] = str_from_c(commands[i]->name);
    nearest = str_nearest(str_from_c(word), known, ELEMENTS_OF(known));
    (void)fprintf(stderr, "berth: unknown command \"%s\"", word);
    if (!str_is_empty(nearest))
        (void)fprintf(stderr, "; did you mean \"%.*s\"?", STR_FMT(nearest));
    (void)fprintf(stderr, "\nTry: %s --help\n", program_name);
    return EXIT_USAGE;
}

/* `help COMMAND`; without a command it lists all. */
static int help(int argc, char *argv[]) {
    char option[] = "--help", *words[] = {option};
    const Command *command;

    if (argc == 0) {
        print_help(stdout);
        return EXIT_FINE;
    }
    command = command_find(argv[0]);
    return command ? command_run(command, 1, words) : unknown_command(argv[0]);
}

/* Allocations from here on are mappings of their own and go back to the system when
 * they are freed. Left alone, glibc raises the limit to the largest block it ever
 * freed, and one 80 MB request would stay in the process for good. */
#define MAPPED_MIN (256 * 1024)

int main(int argc, char *argv[]) {
    _cleanup_(buf_done) Buf json = BUF_INIT(JSON_MAX);
    const char *word = argc > 1 ? argv[1] : "--help";
    const Command *command;

#ifdef M_MMAP_THRESHOLD /* not in musl, which returns memory by itself */
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_MIN);
#endif
    if (argc > 0) /* kubectl runs plugins under such names */
        program_name =
            strcmp(program_invocation_short_name, "kubectl-berth") == 0 ? PROGRAM_PLUGIN : argv[0];
    if (strcmp(program_invocation_short_name, "kubectl_complete-berth") == 0)
        return complete(argc - 1, argv + 1);
    if (strcmp(word, "__complete") == 0)
        return complete(argc - 2, argv + 2);
    if (strcmp(word, "__commands") == 0) { /* for tools/generate-man */
        commands_print_json(&json);
        return terminal_print(stdout, buf_str(&json)) ? EXIT_FINE : EXIT_UNREACHABLE;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return help(0, NULL);
    if (strcmp(word, "help") == 0)
        return help(argc - 2, argv + 2);
    command = command_find(strcmp(word, "--version") == 0 ? "version" : word);
    return command ? command_run(command, argc - 2, argv + 2) : unknown_command(word);
}
