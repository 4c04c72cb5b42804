/*
 * berth check FILE…: everything that is wrong with policies, at once.
 *
 * Each argument is a file or a folder. All of them are checked together, because
 * names must be unique across them.
 */

#include <getopt.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "input/policies.h"

#define CHECK_BUDGET ((size_t)64 * 1024 * 1024)

static void print_help(FILE *out) {
    (void)fprintf(out,
        "usage: %s check FILE-OR-FOLDER...\n"
        "\n"
        "Reads placement policies and prints everything that is wrong with them:\n"
        "file:line:column, the line, and how to mend it. \"-\" is standard input.\n"
        "Exit code: 0 when they can be used (warnings allowed), 1 when not, 3 when one\n"
        "cannot be read.\n",
        program_name);
}

static void print_summary(const Program *program, Buf *out) {
    buf_printf(out,
        "ok: %zu polic%s, %zu filter%s, %zu score%s\n",
        program->n_policies,
        program->n_policies == 1 ? "y" : "ies",
        program->n_filters,
        program->n_filters == 1 ? "" : "s",
        program->n_scores,
        program->n_scores == 1 ? "" : "s");
}

static int check(const char *const *paths, size_t n_paths) {
    _cleanup_(arena_freep) Arena *arena = arena_new(CHECK_BUDGET);
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf out = BUF_INIT(CHECK_BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);
    int r = arena ? policies_load(paths, n_paths, &diags, &program) : -1;

    if (r < 0) {
        (void)fprintf(stderr, "berth check: out of memory\n");
        return EXIT_UNREACHABLE;
    }
    diag_list_print(&diags, terminal_has_colour(stdout), &out);
    if (program)
        print_summary(program, &out);
    if (!terminal_print(stdout, buf_str(&out)))
        return EXIT_UNREACHABLE;
    return r == 0 ? EXIT_FINE : r == POLICIES_E_UNREADABLE ? EXIT_UNREACHABLE : EXIT_FAILED;
}

int cmd_check(int argc, char *argv[]) {
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {0}};
    int option;

    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option != 'h') {
            print_help(stderr);
            return EXIT_USAGE;
        }
        print_help(stdout);
        return EXIT_FINE;
    }
    if (optind == argc) {
        (void)fprintf(stderr, "berth check: which file?\n\n");
        print_help(stderr);
        return EXIT_USAGE;
    }
    return check((const char *const *)argv + optind, (size_t)(argc - optind));
}
