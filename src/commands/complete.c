/*
 * The words before the one that is typed say what it must be: a command, an option, the value of
 * an option or something that the command is about. Each of these is a list of candidates, of
 * which those are printed that begin with what was typed.
 */

#include "commands/complete.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/ascii.h"
#include "base/buf.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "commands/complete-names.h"
#include "commands/help-text.h"

#define ARENA_BUDGET ((size_t)64 * 1024 * 1024)
#define OUTPUT_MAX ((size_t)4 * 1024 * 1024)
#define ABOUT_SHOWN 72u /* characters: one line of a terminal, with the word before it */

typedef struct Line {
    char **words;
    int n; /* without the one that is typed */
    Str typed;
    Str before; /* "--name=", when that stands before it */
    const Command *command;
    HelpText help;
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

static void offer_all(Line *line, const NameList *names, const NameList *abouts) {
    for (size_t i = 0; i < names->n; i++)
        offer(line, names->items[i], abouts ? abouts->items[i] : STR_NULL);
}

static bool is_word(Str word) {
    for (size_t i = 0; i < word.len; i++)
        if (!ascii_is_lower(word.ptr[i]) && word.ptr[i] != '-' && !ascii_is_digit(word.ptr[i]))
            return false;
    return word.len > 0;
}

/* "text|json": each of them. False: there is no such choice. */
static bool offer_choice(Line *line, Str choice) {
    Str rest = choice, word;

    if (str_find(choice, '|') == SIZE_MAX)
        return false;
    while (str_split(&rest, '|', &word))
        if (is_word(word))
            offer(line, word, STR_NULL);
    return true;
}

/* "a, b or c" as three words. Returns how many; 0: it is no such sentence. */
static size_t split_enumeration(Str about, Str *words, size_t max) {
    Str part, tail, first;
    size_t n = 0;

    while (n < max && str_split(&about, ',', &part))
        words[n++] = str_trim(part);
    tail = n > 0 ? words[n - 1] : STR_NULL;
    if (n < max && str_split(&tail, ' ', &first) && str_has_prefix(tail, STR("or "))) {
        words[n - 1] = first;
        words[n++] = str_skip(tail, 3);
    }
    for (size_t i = 0; i < n; i++)
        if (!is_word(words[i]))
            return 0;
    return n >= 2 ? n : 0;
}

/* False: @about is no such sentence. */
static bool offer_enumeration(Line *line, Str about) {
    Str words[16];
    size_t n = split_enumeration(about, words, ELEMENTS_OF(words));

    for (size_t i = 0; i < n; i++)
        offer(line, words[i], STR_NULL);
    return n > 0;
}

/* "one: what it is; two: what that is". The same. */
static bool offer_definitions(Line *line, Str about) {
    Str part, word;
    bool is_any = false;

    while (str_split(&about, ';', &part)) {
        if (!str_split(&part, ':', &word) || !is_word(str_trim(word)) || str_is_empty(part))
            return is_any;
        offer(line, str_trim(word), str_trim(part));
        is_any = true;
    }
    return is_any;
}

/* --- values ------------------------------------------------------------------------- */

static bool names_file(Str argument) {
    static const Str marks[] = {
        STR("FILE"), STR("PATH"), STR("DIR"), STR("FOLDER"), STR("DUMP"), STR("CONFIG")};

    for (size_t i = 0; i < ELEMENTS_OF(marks); i++)
        if (memmem(argument.ptr, argument.len, marks[i].ptr, marks[i].len))
            return true;
    return false;
}

static void offer_contexts(Line *line) {
    NameList names = {0};

    complete_contexts(&line->options, line->arena, &names);
    offer_all(line, &names, NULL);
}

static void offer_nodes(Line *line) {
    NameList names = {0};

    complete_nodes(&line->options, line->arena, &names);
    offer_all(line, &names, NULL);
}

static void offer_pods(Line *line) {
    NameList names = {0};

    complete_pods(&line->options, line->typed, line->arena, &names);
    offer_all(line, &names, NULL);
}

static void offer_decided_pods(Line *line) {
    NameList names = {0};

    complete_decided_pods(&line->options, line->arena, &names);
    offer_all(line, &names, NULL);
}

static void offer_checks(Line *line) {
    NameList names = {0}, abouts = {0};

    complete_checks(line->arena, &names, &abouts);
    offer_all(line, &names, &abouts);
}

/* Options whose values are names that somebody else knows. */
static const struct {
    Str option, argument; /* one option may take other things in another command */
    void (*offer)(Line *line);
} named_values[] = {
    {STR("context"), STR("NAME"), offer_contexts},
    {STR("node"), STR("NAME"), offer_nodes},
    {STR("last"), STR("NAMESPACE/NAME"), offer_decided_pods},
    {STR("only"), STR("NAME,..."), offer_checks},
    {STR("scheduler-pod"), STR("NAMESPACE/NAME"), offer_pods},
};

static void offer_values(Line *line, const HelpOption *option) {
    size_t comma = str_find_last(line->typed, ',');

    if (str_has_suffix(option->argument, STR(",...")) && comma != SIZE_MAX) { /* a list */
        line->before = arena_printf(line->arena,
            "%.*s%.*s",
            STR_FMT(line->before),
            STR_FMT(str_take(line->typed, comma + 1)));
        line->typed = str_skip(line->typed, comma + 1);
    }
    for (size_t i = 0; i < ELEMENTS_OF(named_values); i++)
        if (str_eq(named_values[i].option, option->name) &&
            str_eq(named_values[i].argument, option->argument)) {
            named_values[i].offer(line);
            return;
        }
    if (offer_choice(line, option->argument) || offer_enumeration(line, option->about) ||
        offer_definitions(line, option->about))
        return;
    line->wants_files = names_file(option->argument);
}

static void offer_options(Line *line) {
    for (size_t i = 0; i < line->help.options.n; i++) {
        const HelpOption *option = &line->help.options.items[i];

        offer(line, arena_printf(line->arena, "--%.*s", STR_FMT(option->name)), option->about);
    }
    offer(line, STR("--help"), STR("what it does and takes"));
}

/* --- what a command is about -------------------------------------------------------- */

/* "[FILE...]" is "FILE". */
static Str bare_subject(Str subject) {
    while (str_has_suffix(subject, STR("...")) || str_has_suffix(subject, STR("]")))
        subject.len -= str_has_suffix(subject, STR("]")) ? 1 : 3;
    return str_has_prefix(subject, STR("[")) ? str_skip(subject, 1) : subject;
}

static void offer_subject(Line *line, Str subject) {
    if (offer_choice(line, subject))
        return;
    if (is_word(subject))
        offer(line, subject, STR_NULL);
    else if (str_eq(subject, STR("NAMESPACE/NAME")))
        offer_pods(line);
    else
        line->wants_files |= names_file(subject);
}

/* Brackets that open, less those that close. */
static int depth_of(Str word) {
    int depth = 0;

    for (size_t i = 0; i < word.len; i++)
        depth += strchr("[(", word.ptr[i]) ? 1 : strchr("])", word.ptr[i]) ? -1 : 0;
    return depth;
}

/* Whether @word belongs to options, in a usage line: "[OPTIONS]", "(--a | --b)", "[--c D]…". */
static bool is_about_options(const Line *line, Str word, Str *rest) {
    const HelpOption *option;
    Str next;

    if (str_is(word, "[OPTIONS]"))
        return true;
    if (str_has_prefix(word, STR("(")) || str_has_prefix(word, STR("[-"))) {
        int depth = depth_of(word);

        while (depth > 0 && str_split(rest, ' ', &word))
            depth += depth_of(word);
        return true;
    }
    if (!str_has_prefix(word, STR("-")))
        return false;
    option = help_text_find(&line->help, word);
    if (option && !str_is_empty(option->argument))
        (void)str_split(rest, ' ', &next);
    return true;
}

/* The @at-th word of a usage line that is not about options; the last one if that may be
 * repeated. */
static bool usage_subject(const Line *line, Str usage, size_t at, Str *ret) {
    Str rest = usage, word, last = STR_NULL;
    size_t n = 0;

    while (str_split(&rest, ' ', &word)) {
        if (str_is_empty(word) || is_about_options(line, word, &rest))
            continue;
        last = word;
        if (n++ == at) {
            *ret = word;
            return true;
        }
    }
    *ret = last;
    return str_has_suffix(last, STR("...")) || str_has_suffix(last, STR("...]"));
}

static void offer_subjects(Line *line, size_t n_before) {
    Str offered[8];
    size_t n_offered = 0;

    for (size_t i = 0; i < line->help.usages.n; i++) {
        bool is_known = false;
        Str subject;

        if (!usage_subject(line, line->help.usages.items[i], n_before, &subject))
            continue;
        subject = bare_subject(subject);
        for (size_t j = 0; j < n_offered; j++)
            is_known |= str_eq(offered[j], subject);
        if (is_known || n_offered == ELEMENTS_OF(offered))
            continue;
        offered[n_offered++] = subject;
        offer_subject(line, subject);
    }
}

/* --- the line ----------------------------------------------------------------------- */

static void note_option(CompleteOptions *options, Str name, const char *value) {
    const struct {
        Str name;
        const char **value;
    } known[] = {
        {STR("cluster"), &options->cluster},
        {STR("kubeconfig"), &options->kubeconfig},
        {STR("context"), &options->context},
        {STR("server"), &options->source.access.server},
        {STR("ca"), &options->source.access.ca},
        {STR("cert"), &options->source.access.cert},
        {STR("key"), &options->source.access.key},
        {STR("token-file"), &options->source.access.token_file},
    };

    for (size_t i = 0; i < ELEMENTS_OF(known); i++)
        if (str_eq(known[i].name, name))
            *known[i].value = value;
}

/* Walks over the words behind the command. Returns the option whose value is typed, or NULL;
 * *ret_subjects counts the words that are no options. */
static const HelpOption *walk(Line *line, size_t *ret_subjects, bool *ret_is_behind_dashes) {
    *ret_subjects = 0;
    *ret_is_behind_dashes = false;
    for (int i = 1; i < line->n; i++) {
        Str word = str_from_c(line->words[i]);
        size_t equals = str_find(word, '=');
        const HelpOption *option;

        if (*ret_is_behind_dashes || !str_has_prefix(word, STR("-")) || word.len == 1) {
            ++*ret_subjects;
            continue;
        }
        *ret_is_behind_dashes = str_is(word, "--");
        option = help_text_find(&line->help, str_take(word, equals));
        if (!option || str_is_empty(option->argument))
            continue;
        if (equals == SIZE_MAX && ++i == line->n)
            return option;
        note_option(&line->options,
            option->name,
            equals == SIZE_MAX ? line->words[i] : &line->words[i][equals + 1]);
    }
    return NULL;
}

static void complete_command(Line *line) {
    for (size_t i = 0; i < n_commands; i++)
        offer(line, str_from_c(commands[i].name), str_from_c(commands[i].summary));
    offer(line, STR("help"), STR("what there is"));
    offer(line, STR("--help"), STR("what there is"));
    offer(line, STR("--version"), STR("version, build and libraries"));
}

static void complete_behind_command(Line *line) {
    size_t n_subjects, equals = str_find(line->typed, '=');
    bool is_behind_dashes;
    const HelpOption *option = walk(line, &n_subjects, &is_behind_dashes);

    if (option) {
        offer_values(line, option);
        return;
    }
    if (is_behind_dashes || !str_has_prefix(line->typed, STR("-"))) {
        offer_subjects(line, n_subjects);
        return;
    }
    option = equals == SIZE_MAX ? NULL : help_text_find(&line->help, str_take(line->typed, equals));
    if (option && !str_is_empty(option->argument)) {
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
    for (size_t i = 0; i < n_commands; i++)
        if (strcmp(line->words[0], commands[i].name) == 0)
            line->command = &commands[i];
    if (!line->command || help_text_of(line->command, line->arena, &line->help) < 0)
        return;
    complete_behind_command(line);
}

/* Too late: what was asked did not answer. */
static void give_up(int signal) {
    static const char end[] = ":4\n";

    (void)signal;
    (void)!write(STDOUT_FILENO, end, sizeof(end) - 1);
    _exit(EXIT_FINE);
}

/* Nothing is said, and nothing takes long. */
static void be_discreet(void) {
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
    be_discreet();
    complete_line(&line);
    buf_append(&line.out, line.wants_files ? STR(":0\n") : STR(":4\n"));
    (void)terminal_print(stdout, buf_str(&line.out));
    buf_done(&line.out);
    return EXIT_FINE;
}
