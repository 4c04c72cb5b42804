/*
 * Shell completion: the words before the one that is typed select a list of candidates from the
 * option tables; those that begin with the typed text are printed.
 */

#include "commands/complete.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "commands/complete-names.h"

#define ARENA_BUDGET ((size_t)64 * 1024 * 1024)
#define OUTPUT_MAX ((size_t)4 * 1024 * 1024)
#define ABOUT_SHOWN 72u /* characters: one line of a terminal, with the word before it */

typedef struct Line {
    char **words;
    int n; /* without the one that is typed */
    Str typed;
    Str before; /* "--name=", when that stands before it */
    const Command *command;
    CompleteOptions options;
    Arena *arena;
    Buf out;
    bool wants_files;
} Line;

/* --- candidates --------------------------------------------------------------------- */

/* As much of @about as fits, up to the end of a word or a sentence. */
static Str shorten(Str about) {
    size_t semicolon = str_find(about, ';');

    if (semicolon != SIZE_MAX && semicolon > 0)
        about = str_take(about, semicolon);
    if (about.len <= ABOUT_SHOWN)
        return about;
    about = str_take(about, ABOUT_SHOWN);
    return str_take(about, str_find_last(about, ' '));
}

static void offer(Line *line, Str word, Str about) {
    if (str_is_empty(word) || !str_has_prefix(word, line->typed))
        return;
    buf_append(&line->out, line->before);
    buf_append(&line->out, word);
    about = shorten(about);
    if (!str_is_empty(about)) {
        buf_append_char(&line->out, '\t');
        buf_append(&line->out, about);
    }
    buf_append_char(&line->out, '\n');
}

/* "text|json": each of them. */
static void offer_choices(Line *line, const char *choices) {
    Str rest = str_from_c(choices), word;

    while (str_split(&rest, '|', &word))
        offer(line, word, STR_NULL);
}

/* --- values ------------------------------------------------------------------------- */

/* Names that are found in the cluster or a running berth. */
static void offer_names(Line *line, OptionCompletion complete) {
    NameList names = {0}, abouts = {0};

    switch (complete) {
    case COMPLETE_FILES:
        line->wants_files = true;
        break;
    case COMPLETE_CONTEXTS:
        complete_contexts(&line->options, line->arena, &names);
        break;
    case COMPLETE_NODES:
        complete_nodes(&line->options, line->arena, &names);
        break;
    case COMPLETE_PODS:
        complete_pods(&line->options, line->typed, line->arena, &names);
        break;
    case COMPLETE_DECIDED_PODS:
        complete_decided_pods(&line->options, line->arena, &names);
        break;
    case COMPLETE_CHECKS:
        complete_checks(line->arena, &names, &abouts);
        break;
    default:
        break;
    }
    for (size_t i = 0; i < names.n; i++)
        offer(line, names.items[i], abouts.n > 0 ? abouts.items[i] : STR_NULL);
}

static void offer_values(Line *line, const Option *option) {
    size_t comma = str_find_last(line->typed, ',');

    if (str_has_suffix(str_from_c(option->argument), STR(",...")) && comma != SIZE_MAX) {
        line->before = arena_printf(line->arena, "%.*s%.*s", STR_FMT(line->before),
            STR_FMT(str_take(line->typed, comma + 1)));
        line->typed = str_skip(line->typed, comma + 1);
    }
    if (option->values || strchr(option->argument, '|'))
        offer_choices(line, option->values ? option->values : option->argument);
    else
        offer_names(line, option->kind == OPTION_FILE ? COMPLETE_FILES : option->complete);
}

static void offer_options(Line *line) {
    for (const Option *option = line->command->options; option && option->name; option++)
        if (option->kind != OPTION_HEADING)
            offer(line, arena_printf(line->arena, "--%s", option->name), str_from_c(option->help));
    offer(line, STR("--help"), STR("print the help of this command"));
}

static void offer_arguments(Line *line, size_t n_before) {
    if (n_before >= line->command->max_completed)
        return;
    if (line->command->values)
        offer_choices(line, line->command->values);
    offer_names(line, line->command->complete);
}

/* --- the line ----------------------------------------------------------------------- */

static void note_option(CompleteOptions *options, const char *name, const char *value) {
    const struct {
        const char *name;
        const char **value;
    } known[] = {
        {"cluster", &options->cluster},
        {"kubeconfig", &options->kubeconfig},
        {"context", &options->context},
        {"server", &options->source.access.server},
        {"ca", &options->source.access.ca},
        {"cert", &options->source.access.cert},
        {"key", &options->source.access.key},
        {"token-file", &options->source.access.token_file},
    };

    for (size_t i = 0; i < ELEMENTS_OF(known); i++)
        if (strcmp(known[i].name, name) == 0)
            *known[i].value = value;
}

/* Walks over the words after the command. Returns the option whose value is typed, or NULL;
 * *ret_arguments counts the words that are no options. */
static const Option *walk(Line *line, size_t *ret_arguments, bool *ret_is_after_dashes) {
    *ret_arguments = 0;
    *ret_is_after_dashes = false;
    for (int i = 1; i < line->n; i++) {
        Str word = str_from_c(line->words[i]);
        size_t equals = str_find(word, '=');
        const Option *option;

        if (*ret_is_after_dashes || !str_has_prefix(word, STR("-")) || word.len == 1) {
            ++*ret_arguments;
            continue;
        }
        *ret_is_after_dashes = str_is(word, "--");
        option = option_find(line->command->options, str_take(word, equals));
        if (!option || !option->argument)
            continue;
        if (equals == SIZE_MAX && ++i == line->n)
            return option;
        note_option(&line->options, option->name,
            equals == SIZE_MAX ? line->words[i] : &line->words[i][equals + 1]);
    }
    return NULL;
}

static void offer_commands(Line *line) {
    for (size_t i = 0; i < n_commands; i++)
        offer(line, str_from_c(commands[i]->name), str_from_c(commands[i]->summary));
}

static void complete_command(Line *line) {
    offer_commands(line);
    offer(line, STR("help"), STR("print the help of a command"));
    offer(line, STR("--help"), STR("list the commands"));
    offer(line, STR("--version"), STR("version, build and libraries"));
}

static void complete_after_command(Line *line) {
    size_t n_arguments, equals = str_find(line->typed, '=');
    bool is_after_dashes;
    const Option *option = walk(line, &n_arguments, &is_after_dashes);

    if (option) {
        offer_values(line, option);
        return;
    }
    if (is_after_dashes || !str_has_prefix(line->typed, STR("-"))) {
        offer_arguments(line, n_arguments);
        return;
    }
    option = equals == SIZE_MAX
                 ? NULL
                 : option_find(line->command->options, str_take(line->typed, equals));
    if (option && option->argument) {
        line->before = str_take(line->typed, equals + 1);
        line->typed = str_skip(line->typed, equals + 1);
        offer_values(line, option);
        return;
    }
    offer_options(line);
}

static void complete_line(Line *line) {
    if (line->n == 0) {
        complete_command(line);
        return;
    }
    line->command = command_find(line->words[0]);
    if (line->command)
        complete_after_command(line);
    else if (line->n == 1 && strcmp(line->words[0], "help") == 0)
        offer_commands(line);
}

/* A server did not answer in time. */
static void give_up(int signal) {
    static const char end[] = ":4\n";

    (void)!write(STDOUT_FILENO, end, sizeof(end) - 1);
    _exit(EXIT_FINE);
}

/* Silent, and with a time limit. */
static void limit_time(void) {
    const struct itimerval limit = {
        .it_value = {COMPLETE_MSEC / 1000, COMPLETE_MSEC % 1000 * 1000}};
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (null >= 0)
        (void)dup2(null, STDERR_FILENO);
    (void)signal(SIGALRM, give_up);
    (void)setitimer(ITIMER_REAL, &limit, NULL);
}

int complete(int n_words, char *words[]) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_BUDGET);
    Line line = {
        .words = words,
        .n = n_words > 0 ? n_words - 1 : 0,
        .typed = n_words > 0 ? str_from_c(words[n_words - 1]) : STR_NULL,
        .arena = arena,
        .out = BUF_INIT(OUTPUT_MAX),
    };

    if (!arena)
        return EXIT_FINE;
    program_name = "berth";
    limit_time();
    complete_line(&line);
    buf_append(&line.out, line.wants_files ? STR(":0\n") : STR(":4\n"));
    (void)terminal_print(stdout, buf_str(&line.out));
    buf_done(&line.out);
    return EXIT_FINE;
}
