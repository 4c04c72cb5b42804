/*
 * What a command prints about itself: usage, help, and the same as JSON for the man pages.
 *
 *       -o, --output table|json  how to print it                               [table]
 */

#include "cli/command.h"
#include "json/write.h"

#define WIDTH 80u
#define HELP_COLUMN 25u

/* Words of @text from column @at on, with further lines set in by @indent. Returns the column. */
static size_t print_wrapped(Str text, size_t indent, size_t at, Buf *out) {
    Str word;
    bool is_first = true;

    while (str_split(&text, ' ', &word)) {
        if (str_is_empty(word))
            continue;
        if (!is_first && at + 1 + word.len > WIDTH) {
            buf_append_char(out, '\n');
            buf_append_repeat(out, ' ', indent);
            at = indent;
        } else if (!is_first) {
            buf_append_char(out, ' ');
            at++;
        }
        buf_append(out, word);
        at += word.len;
        is_first = false;
    }
    return at;
}

/* Lines are paragraphs, and are wrapped; those that begin with a blank stay as they are. */
static void print_paragraphs(const char *text, Buf *out) {
    Str rest = str_from_c(text), line;

    while (str_split(&rest, '\n', &line)) {
        if (str_has_prefix(line, STR(" ")))
            buf_append(out, line);
        else
            (void)print_wrapped(line, 0, 0, out);
        buf_append_char(out, '\n');
    }
}

/* At the end of the line, or of one of its own. */
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
    at = print_wrapped(str_from_c(option->help), HELP_COLUMN, HELP_COLUMN, out);
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

static void write_member(JsonWriter *writer, const char *key, const char *text) {
    if (text && text[0])
        json_write_member(writer, str_from_c(key), str_from_c(text));
}

static void write_option(const Option *option, JsonWriter *writer) {
    bool is_heading = option->kind == OPTION_HEADING;
    char letter[] = {option->letter, '\0'};

    json_write_object(writer);
    json_write_member(writer, is_heading ? STR("heading") : STR("name"), str_from_c(option->name));
    write_member(writer, "letter", letter);
    write_member(writer, "argument", option->argument);
    write_member(writer, "help", option->help);
    write_member(writer, "default", option->initial);
    json_write_end_object(writer);
}

void commands_print_json(Buf *out) {
    JsonWriter writer = {.out = out, .indent = 2};

    json_write_array(&writer);
    for (size_t i = 0; i < n_commands; i++) {
        json_write_object(&writer);
        write_member(&writer, "name", commands[i]->name);
        write_member(&writer, "summary", commands[i]->summary);
        write_member(&writer, "usage", commands[i]->usage);
        json_member_array(&writer, "options");
        for (const Option *option = commands[i]->options; option && option->name; option++)
            write_option(option, &writer);
        json_write_end_array(&writer);
        json_write_end_object(&writer);
    }
    json_write_end_array(&writer);
    buf_append_char(out, '\n');
}
