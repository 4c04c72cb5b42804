/*
 * Prints the usage and help of a command, and the same as JSON for the man pages.
 *
 *       -o, --output table|json  how to print it                               [table]
 */

#include "base/visible.h"
#include "cli/command.h"
#include "json/write.h"

#define WIDTH 80u
#define HELP_COLUMN 25u

/* Wraps each line as a paragraph; lines that begin with a blank stay as they are. */
static void print_paragraphs(const char *text, Buf *out) {
    Str rest = str_from_c(text), line;

    while (str_split(&rest, '\n', &line)) {
        if (str_has_prefix(line, STR(" ")))
            buf_append(out, line);
        else
            (void)visible_append_words(out, line, 0, 0, WIDTH);
        buf_append_char(out, '\n');
    }
}

/* Prints the default at the right margin, on a line of its own if the text leaves no room. */
static void print_default(const char *initial, size_t at, Buf *out) {
    size_t len = str_from_c(initial).len + 2;

    if (at + 1 + len > WIDTH || at == HELP_COLUMN) {
        if (at > HELP_COLUMN) {
            buf_append_char(out, '\n');
            buf_append_repeat(out, ' ', HELP_COLUMN);
        }
    } else
        buf_append_repeat(out, ' ', WIDTH - len - at);
    buf_printf(out, "[%s]", initial);
}

static void print_option(const Option *option, Buf *out) {
    size_t begin = out->len, at;

    buf_append(out, STR("  "));
    if (option->letter)
        buf_printf(out, "-%c, ", option->letter);
    buf_printf(out, "--%s", option->name);
    if (option->argument)
        buf_printf(out, " %s", option->argument);
    at = out->len - begin;
    if (at + 2 > HELP_COLUMN) {
        buf_append_char(out, '\n');
        at = 0;
    }
    buf_append_repeat(out, ' ', HELP_COLUMN - at);
    at = visible_append_words(out, str_from_c(option->help), HELP_COLUMN, HELP_COLUMN, WIDTH);
    if (option->initial)
        print_default(option->initial, at, out);
    buf_append_char(out, '\n');
}

void command_print_usage(const Command *command, Buf *out) {
    Str rest = str_from_c(command->usage), line;
    const char *before = "usage:";

    do {
        if (!str_split(&rest, '\n', &line))
            line = STR_NULL;
        buf_printf(out, "%s %s %s%s%.*s\n", before, program_name, command->name,
            str_is_empty(line) ? "" : " ", STR_FMT(line));
        before = "      ";
    } while (rest.ptr);
}

void command_print_help(const Command *command, Buf *out) {
    command_print_usage(command, out);
    buf_append_char(out, '\n');
    print_paragraphs(command->about, out);
    if (command->options && command->options[0].kind != OPTION_HEADING)
        buf_append_char(out, '\n');
    for (const Option *option = command->options; option && option->name; option++) {
        if (option->kind != OPTION_HEADING) {
            print_option(option, out);
            continue;
        }
        buf_printf(out, "\n%s%s", option->name, option->name[0] ? "\n" : "");
        if (option->help && option->help[0])
            print_paragraphs(option->help, out);
    }
    if (command->notes) {
        buf_append_char(out, '\n');
        print_paragraphs(command->notes, out);
    }
}

static void write_option(const Option *option, JsonWriter *writer) {
    bool is_heading = option->kind == OPTION_HEADING;
    char letter[] = {option->letter, '\0'};

    json_write(writer, "{%s: %s, letter?: %s, argument?: %s, help?: %s, default?: %s}",
        is_heading ? "heading" : "name", option->name, letter, option->argument, option->help,
        option->initial);
}

void commands_print_json(Buf *out) {
    JsonWriter writer = {.out = out, .indent = 2};

    json_write_array(&writer);
    for (size_t i = 0; i < n_commands; i++) {
        json_write(&writer, "{name?: %s, summary?: %s, usage?: %s, options: [", commands[i]->name,
            commands[i]->summary, commands[i]->usage);
        for (const Option *option = commands[i]->options; option && option->name; option++)
            write_option(option, &writer);
        json_write(&writer, "]}");
    }
    json_write(&writer, "]\n");
}
