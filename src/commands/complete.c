/*
 * Shell completion. `berth completion SHELL` prints a script, which runs `berth __complete` when
 * the user presses Tab: the words before the typed one select a list of candidates from the option
 * tables; those that begin with the typed text are printed.
 */

#include "commands/commands.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/vec.h"
#include "checkup/check.h"
#include "cli/terminal.h"
#include "cluster/snapshot.h"
#include "input/objects.h"
#include "kube/access.h"
#include "kube/blocking-client.h"
#include "kube/secret.h"
#include "yaml/document.h"
#include "json/fields.h"

#define NAMES_MAX 2000u /* more than a user would read */
#define PAGE_NAMES "500"
#define KUBECONFIGS_MAX 16u
#define PATH_SIZE 4096u
#define ASK_SEC 1
#define ARENA_BUDGET ((size_t)64 * 1024 * 1024)
#define OUTPUT_MAX ((size_t)4 * 1024 * 1024)
#define ABOUT_SHOWN 72u /* characters: one line of a terminal, with the word before it */

typedef struct Line {
    char **words;
    int n; /* without the one that is typed */
    Str typed;
    Str before; /* "--name=", if it precedes the word */
    const Command *command;
    const char *cluster, *kubeconfig, *context; /* options on the line; NULL: not given */
    VEC(Str) names;                             /* found in the cluster */
    Arena *arena;
    Buf out;
    bool wants_files;
} Line;

/* Whether @name may be shown by a shell and typed without quotes: letters, digits and "._/-@", no
 * leading dash. Others are never offered: names of pods and nodes are untrusted. */
static bool is_plain(Str name) {
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (c == '-' && (i == 0 || name.ptr[i - 1] == '/'))
            return false;
        if (!ascii_is_alnum(c) && (c == '\0' || !strchr("._/-@", c)))
            return false;
    }
    return name.len > 0;
}

/* Adds each name once. A linear search is fast enough below NAMES_MAX. */
static void add(Line *line, Str name) {
    if (line->names.n < NAMES_MAX && is_plain(name) &&
        !str_is_one_of(name, line->names.items, line->names.n))
        *VEC_PUSH(&line->names, line->arena) = arena_copy(line->arena, name);
}

static void add_contexts_of(Line *line, const char *path) {
    char error[ACCESS_ERROR_MAX];
    DiagList diags = DIAG_LIST_IN(line->arena);
    const YamlNode *contexts;
    YamlStream stream = {0};
    FileMark mark;
    Str text = STR_NULL;

    if (secret_read_file(path, ACCESS_FILE_MAX, &text, &mark, error) < 0)
        return;
    if (yaml_parse(str_from_c(path), text, line->arena, &diags, &stream) == 0 &&
        stream.n_documents > 0) {
        contexts = yaml_find(stream.documents[0], STR("contexts"));
        for (size_t i = 0; contexts && contexts->kind == YAML_SEQUENCE && i < contexts->n; i++) {
            const YamlNode *name = yaml_find(contexts->items[i], STR("name"));

            if (name)
                add(line, name->text);
        }
    }
    secret_wipe(text);
    free((void *)(uintptr_t)text.ptr);
}

static void add_contexts(Line *line) {
    const char *listed = getenv("KUBECONFIG"), *home = getenv("HOME");
    Str rest = str_from_c(listed), path;
    char own[PATH_SIZE];

    if (line->kubeconfig) {
        add_contexts_of(line, line->kubeconfig);
        return;
    }
    for (unsigned i = 0; i < KUBECONFIGS_MAX && str_split(&rest, ':', &path); i++) {
        if (!str_is_empty(path))
            add_contexts_of(line, arena_copy(line->arena, path).ptr);
    }
    if (!listed && home &&
        (size_t)snprintf(own, sizeof(own), "%s/.kube/config", home) < sizeof(own))
        add_contexts_of(line, own);
}

/* Adds the name of a node, or NAMESPACE/NAME of a pod. */
static void read_named(JsonReader *reader, Arena *arena, void *target) {
    typedef struct Named {
        Str namespace, name;
    } Named;
    static const JsonField fields[] = {
        JSON_MEMBER("metadata.namespace", TEXT, Named, namespace),
        JSON_MEMBER("metadata.name", TEXT, Named, name),
    };
    Line *line = target;
    Named named = {0};

    JSON_READ_FIELDS(reader, arena, fields, &named);
    if (json_error(reader) != JSON_OK)
        return;
    if (str_is_empty(named.namespace))
        add(line, named.name);
    else if (is_plain(named.namespace) && is_plain(named.name)) /* a NUL would cut it */
        add(line, arena_printf(arena, "%.*s/%.*s", STR_FMT(named.namespace), STR_FMT(named.name)));
}

static void add_from_server(Line *line, const char *path) {
    static const JsonField fields[] = {{"items", JSON_FIELD_ARRAY, .read = read_named}};
    _cleanup_(access_freep) Access *access = NULL;
    BlockingRequest request = {.path = path, .total_sec = ASK_SEC};
    char error[ACCESS_ERROR_MAX > BLOCKING_CLIENT_ERROR_MAX ? ACCESS_ERROR_MAX
                                                            : BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;

    if (access_from_kubeconfig(line->kubeconfig, line->context, &access, error) == 0 &&
        blocking_client_request(access, &request, line->arena, &reply, error) == 0 &&
        reply.status == 200)
        (void)!JSON_READ_DOCUMENT(reply.body, line->arena, fields, line);
}

static void add_nodes(Line *line) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    char error[OBJECTS_ERROR_MAX];
    const NodeTable *table;

    if (!line->cluster)
        add_from_server(line, "/api/v1/nodes?limit=" PAGE_NAMES);
    if (!line->cluster || cluster_load(line->cluster, &snapshot, error) < 0)
        return;
    table = snapshot_table(snapshot);
    for (uint32_t row = 0; row < table->n_rows; row++)
        if (table_node(table, row))
            add(line, table_node(table, row)->name);
}

/* Offers pods of an API server only: with --cluster FILE, the pod is a file as well. */
static void add_pods(Line *line) {
    const char *path = "/api/v1/pods?limit=" PAGE_NAMES;
    Str namespace = str_take(line->typed, str_find(line->typed, '/'));

    if (namespace.len < line->typed.len && is_plain(namespace))
        path = arena_printf(
            line->arena, "/api/v1/namespaces/%.*s/pods?limit=" PAGE_NAMES, STR_FMT(namespace))
                   .ptr;
    if (!line->cluster)
        add_from_server(line, path);
}

/* Cuts @about at its first ';', or after a word, so that it fits. */
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

/* Offers each of "text|json". */
static void offer_choices(Line *line, const char *choices) {
    Str rest = str_from_c(choices), word;

    while (str_split(&rest, '|', &word))
        offer(line, word, STR_NULL);
}

/* Ends the process without candidates. */
static void give_up(void) {
    static const char end[] = ":4\n";

    (void)!write(STDOUT_FILENO, end, sizeof(end) - 1);
    _exit(EXIT_FINE);
}

/* Handles SIGALRM: a server or a file did not answer in time. */
static void take_alarm(int signal) {
    give_up();
}

static void offer_checks(Line *line) {
    for (int i = 0; i < _CHECK_GROUPS; i++)
        offer(line, str_from_c(check_group_name((CheckGroup)i)), STR("all of this group"));
    for (size_t i = 0; i < n_checks; i++)
        offer(line, str_from_c(checks[i].code), str_from_c(checks[i].title));
}

/* Offers names from files or the API server. Only these have a time limit: all other candidates are
 * part of the program, and are offered on a busy machine, too. */
static void offer_names(Line *line, OptionCompletion complete) {
    const struct itimerval limit = {
        .it_value = {COMPLETE_MSEC / 1000, COMPLETE_MSEC % 1000 * 1000}};
    static void (*const add_names[])(Line *) = {
        [COMPLETE_CONTEXTS] = add_contexts,
        [COMPLETE_NODES] = add_nodes,
        [COMPLETE_PODS] = add_pods,
        [COMPLETE_CHECKS] = NULL,
    };

    line->wants_files |= complete == COMPLETE_FILES;
    if (complete == COMPLETE_CHECKS)
        offer_checks(line);
    if (!add_names[complete])
        return;
    (void)signal(SIGALRM, take_alarm);
    (void)setitimer(ITIMER_REAL, &limit, NULL);
    add_names[complete](line);
    for (size_t i = 0; i < line->names.n; i++)
        offer(line, line->names.items[i], STR_NULL);
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

static void note_option(Line *line, const char *name, const char *value) {
    const struct {
        const char *name;
        const char **value;
    } known[] = {
        {"cluster", &line->cluster},
        {"kubeconfig", &line->kubeconfig},
        {"context", &line->context},
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
        note_option(
            line, option->name, equals == SIZE_MAX ? line->words[i] : &line->words[i][equals + 1]);
    }
    return NULL;
}

static void offer_commands(Line *line) {
    for (size_t i = 0; i < n_commands; i++)
        offer(line, str_from_c(commands[i]->name), str_from_c(commands[i]->summary));
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
        if (n_arguments >= line->command->max_completed)
            return;
        if (line->command->values)
            offer_choices(line, line->command->values);
        offer_names(line, line->command->complete);
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
    for (option = line->command->options; option && option->name; option++)
        if (option->kind != OPTION_HEADING)
            offer(line, arena_printf(line->arena, "--%s", option->name), str_from_c(option->help));
    offer(line, STR("--help"), STR("print the help of this command"));
}

static void complete_line(Line *line) {
    line->command = line->n > 0 ? command_find(line->words[0]) : NULL;
    if (line->n == 0) {
        offer_commands(line);
        offer(line, STR("help"), STR("print the help of a command"));
        offer(line, STR("--help"), STR("list the commands"));
        offer(line, STR("--version"), STR("version, build and libraries"));
    } else if (line->command)
        complete_after_command(line);
    else if (line->n == 1 && strcmp(line->words[0], "help") == 0)
        offer_commands(line);
}

int complete(int n_words, char *words[]) {
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    Line line = {
        .words = words,
        .n = n_words > 0 ? n_words - 1 : 0,
        .typed = n_words > 0 ? str_from_c(words[n_words - 1]) : STR_NULL,
        .out = BUF_INIT(OUTPUT_MAX),
    };

    program_name = "berth";
    if (null >= 0)
        (void)dup2(null, STDERR_FILENO);
    (void)at_quick_exit(give_up);
    line.arena = terminal_arena("the candidates", ARENA_BUDGET);
    complete_line(&line);
    buf_append(&line.out, line.wants_files ? STR(":0\n") : STR(":4\n"));
    (void)signal(SIGALRM, SIG_IGN); /* the reply is complete: no second ":4" after it */
    (void)terminal_print(stdout, buf_str(&line.out));
    buf_done(&line.out);
    arena_free(line.arena);
    return EXIT_FINE;
}

/* --- the scripts, which need not be made again when berth is replaced ------------------------- */

/* readline breaks words at = : and @ too, and replaces only the text after the last of them; so the
 * script splits the line there, and cuts off the part before. */
static const char bash_script[] =
#include "commands/berth.bash.inc"
    ;

static const char zsh_script[] =
#include "commands/berth.zsh.inc"
    ;

static const char fish_script[] =
#include "commands/berth.fish.inc"
    ;

static const struct {
    const char *shell, *script;
} scripts[] = {
    {"bash", bash_script},
    {"zsh", zsh_script},
    {"fish", fish_script},
};

static const char *check(void *settings, const Arguments *arguments) {
    for (size_t i = 0; i < ELEMENTS_OF(scripts) && arguments->n == 1; i++)
        if (strcmp(arguments->items[0], scripts[i].shell) == 0)
            return NULL;
    return "expected one shell: bash, zsh or fish";
}

static int run(void *settings, const Arguments *arguments) {
    size_t i = 0;

    while (strcmp(arguments->items[0], scripts[i].shell) != 0)
        i++;
    terminal_output(str_from_c(scripts[i].script));
    return EXIT_FINE;
}

const Command completion_command = {
    .name = "completion",
    .summary = "print a script for shell completion",
    .usage = "bash|zsh|fish",
    .about = "Prints a script with which the shell completes commands, options, their values, and "
             "names of pods, nodes and contexts. For this shell, and for every new one:\n"
             "\n"
             "  bash   source <(berth completion bash)\n"
             "         berth completion bash > ~/.local/share/bash-completion/completions/berth\n"
             "  zsh    source <(berth completion zsh)\n"
             "         berth completion zsh > \"${fpath[1]}/_berth\"\n"
             "  fish   berth completion fish | source\n"
             "         berth completion fish > ~/.config/fish/completions/berth.fish\n"
             "\n"
             "`kubectl berth` completes if $PATH also has this program under the names "
             "kubectl-berth and kubectl_complete-berth (links suffice).",
    .values = "bash|zsh|fish",
    .max_completed = 1,
    .check = check,
    .run = run,
};
