/* Runs a command: parses its words by its option table, reports wrong usage, calls it. */

#include "cli/command.h"

#include <stdarg.h>
#include <stdio.h>

#include "cli/terminal.h"

#define HELP_MAX ((size_t)256 * 1024)
#define NAMES_MAX 96u
#define WRONG_MAX 4096u

/* An option of every command. */
static const Option help_option = {"help", OPTION_FLAG, 'h', .help = "print this help"};

const Command *command_find(const char *name) {
    for (size_t i = 0; i < n_commands; i++)
        if (strcmp(name, commands[i]->name) == 0)
            return commands[i];
    return NULL;
}

const Option *option_find(const Option *options, Str word) {
    bool is_long = str_has_prefix(word, STR("--"));

    if (str_is(word, "--help") || str_is(word, "-h"))
        return &help_option;
    for (const Option *option = options; option && option->name; option++)
        if (option->kind != OPTION_HEADING &&
            (is_long ? str_is(str_skip(word, 2), option->name)
                     : word.len == 2 && word.ptr[0] == '-' && option->letter == word.ptr[1]))
            return option;
    return NULL;
}

/* The option that the user may have meant: one that begins with @word, or the most similar one. */
static Str find_nearest(const Option *options, Str word) {
    Str known[NAMES_MAX] = {STR("help")}, name = str_skip(word, 2);
    size_t n = 1;

    for (const Option *option = options; option && option->name && n < NAMES_MAX; option++)
        if (option->kind != OPTION_HEADING)
            known[n++] = str_from_c(option->name);
    for (size_t i = 0; i < n && name.len > 1; i++)
        if (str_has_prefix(known[i], name))
            return known[i];
    return str_nearest(name, known, n);
}

static bool print_to(FILE *stream, const Command *command, void (*print)(const Command *, Buf *)) {
    _cleanup_(buf_done) Buf out = BUF_INIT(HELP_MAX);

    print(command, &out);
    return terminal_print(stream, buf_str(&out));
}

/* Prints the error, the usage and how to get help on stderr. Returns EXIT_USAGE. */
__attribute__((format(printf, 2, 3))) static int command_misused(
    const Command *command, const char *format, ...) {
    char wrong[WRONG_MAX];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(wrong, sizeof(wrong), format, arguments);
    va_end(arguments);
    terminal_warn("%s", wrong);
    (void)print_to(stderr, command, command_print_usage);
    (void)fprintf(stderr, "Try: %s %s --help\n", program_name, command->name);
    return EXIT_USAGE;
}

static int unknown_option(const Command *command, Str word) {
    bool is_long = str_has_prefix(word, STR("--"));
    Str nearest = is_long ? find_nearest(command->options, word) : STR_NULL;

    return command_misused(command,
        str_is_empty(nearest) ? "unknown option %.*s" : "unknown option %.*s; did you mean --%.*s?",
        STR_FMT(word), STR_FMT(nearest));
}

typedef struct Parser {
    const Command *command;
    void *settings;
    char **words;
    int n, at;
    bool wants_help;
} Parser;

static int store(Parser *parser, const Option *option, const char *value) {
    char wanted[OPTION_WANTED_MAX] = "";

    if (option == &help_option) {
        parser->wants_help = true;
        return 0;
    }
    if (option_store(option, parser->settings, value, wanted))
        return 0;
    if (value)
        terminal_warn("--%s %s: %s", option->name, value, wanted);
    else
        terminal_warn("--%s %s", option->name, wanted);
    return EXIT_USAGE;
}

/* @value is the part that follows "=" or a letter; NULL: the next word is the value. */
static int take(Parser *parser, const Option *option, const char *value) {
    if (!option->argument)
        return value ? command_misused(parser->command, "--%s takes no value", option->name)
                     : store(parser, option, NULL);
    if (!value && parser->at + 1 == parser->n)
        return command_misused(
            parser->command, "--%s needs a value: %s", option->name, option->argument);
    return store(parser, option, value ? value : parser->words[++parser->at]);
}

static int take_long(Parser *parser, char *text) {
    Str word = str_from_c(text);
    size_t equals = str_find(word, '=');
    const char *value = equals == SIZE_MAX ? NULL : text + equals + 1;
    const Option *option;

    word = str_take(word, equals);
    option = option_find(parser->command->options, word);
    return option ? take(parser, option, value) : unknown_option(parser->command, word);
}

/* Parses "-v", "-ojson", "-vo json". */
static int take_letters(Parser *parser, const char *text) {
    int r = 0;

    for (const char *letter = text + 1; r == 0 && *letter; letter++) {
        const char word[2] = {'-', *letter};
        const Option *option = option_find(parser->command->options, str_of(word, 2));

        if (!option)
            return unknown_option(parser->command, str_of(word, 2));
        if (option->argument)
            return take(parser, option, letter[1] ? letter + 1 : NULL);
        r = take(parser, option, NULL);
    }
    return r;
}

static int parse(Parser *parser, Arguments *arguments) {
    bool are_over = false; /* options: "--" ends them */
    int r = 0;

    for (; r == 0 && !parser->wants_help && parser->at < parser->n; parser->at++) {
        char *word = parser->words[parser->at];

        if (are_over || word[0] != '-' || word[1] == '\0')
            arguments->items[arguments->n++] = word;
        else if (strcmp(word, "--") == 0)
            are_over = true;
        else
            r = word[1] == '-' ? take_long(parser, word) : take_letters(parser, word);
    }
    return r;
}

static int run(Parser *parser, Arguments *arguments) {
    const Command *command = parser->command;
    const char *wrong = NULL;
    int r;

    terminal_command = command->name;
    if (command->defaults)
        memcpy(parser->settings, command->defaults, command->settings_size);
    if (command->init)
        command->init(parser->settings);
    r = parse(parser, arguments);
    if (r != 0)
        return r;
    if (parser->wants_help)
        return print_to(stdout, command, command_print_help) ? EXIT_FINE : EXIT_UNREACHABLE;
    if (arguments->n > 0 && command->max_completed == 0)
        return command_misused(
            command, "unexpected argument \"%s\": it takes options only", arguments->items[0]);
    if (command->check)
        wrong = command->check(parser->settings, arguments);
    return wrong ? command_misused(command, "%s", wrong)
                 : command->run(parser->settings, arguments);
}

int command_run(const Command *command, int argc, char *argv[]) {
    _cleanup_(arena_freep) Arena *memory = terminal_arena("the options", SIZE_MAX);
    _cleanup_(arena_freep) Arena *arena =
        terminal_arena(command->memory_for ? command->memory_for : "the command", command->budget);
    Arguments arguments = {
        .items = ARENA_ARRAY(memory, const char *, (size_t)argc + 1), .arena = arena};
    Parser parser = {
        .command = command,
        .settings = arena_zalloc(memory, 1, command->settings_size),
        .words = argv,
        .n = argc,
    };

    return run(&parser, &arguments);
}
