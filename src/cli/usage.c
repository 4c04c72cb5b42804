#include "cli/usage.h"

#include <stdlib.h>

#include "base/str.h"
#include "cli/command.h"

/* The paragraph that a help begins with. */
static void print_usage(void (*print_help)(FILE *out)) {
    char *help = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&help, &size);
    Str rest, line;

    if (out) {
        print_help(out);
        (void)fclose(out);
    }
    rest = str_of(help, size);
    while (str_split(&rest, '\n', &line) && !str_is_empty(line))
        (void)fprintf(stderr, "%.*s\n", STR_FMT(line));
    free(help);
}

int usage_error(const char *command, const char *what, void (*print_help)(FILE *out)) {
    if (what)
        (void)fprintf(stderr, "berth %s: %s\n", command, what);
    print_usage(print_help);
    (void)fprintf(stderr, "Try: %s %s --help\n", program_name, command);
    return EXIT_USAGE;
}
