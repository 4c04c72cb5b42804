/*
 * Shell completion: the words before the one that is typed select a list of candidates from the
 * option tables; those that begin with the typed text are printed.
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
#include "cli/berth-client.h"
#include "cli/server-source.h"
#include "cli/terminal.h"
#include "cluster/snapshot.h"
#include "input/objects.h"
#include "kube/access.h"
#include "kube/blocking-client.h"
#include "kube/secret.h"
#include "yaml/document.h"
#include "json/fields.h"

typedef VEC(Str) NameList;

/* Options on the line; NULL: not given. */
typedef struct CompleteOptions {
    const char *cluster, *kubeconfig, *context;
    ServerSource source; /* a running berth */
} CompleteOptions;

#define NAMES_MAX 2000u /* more than a user would read */
#define PAGE_NAMES "500"
#define KUBECONFIGS_MAX 16u
#define PATH_SIZE 4096u
#define ASK_SEC 1

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

/* Once each; names come in clusters, so a linear search is fast enough below NAMES_MAX. */
static void add(NameList *names, Str name, Arena *arena) {
    Str *at;

    if (names->n >= NAMES_MAX || !is_plain(name) || str_is_one_of(name, names->items, names->n))
        return;
    name = arena_copy(arena, name);
    at = name.ptr ? VEC_PUSH(names, arena) : NULL;
    if (at)
        *at = name;
}

/* --- kubeconfigs ------------------------------------------------------------------ */

static void add_contexts_of(const char *path, Arena *arena, NameList *names) {
    char error[ACCESS_ERROR_MAX];
    DiagList diags = DIAG_LIST_IN(arena);
    const YamlNode *contexts;
    YamlStream stream = {0};
    FileMark mark;
    Str text = STR_NULL;

    if (secret_read_file(path, ACCESS_FILE_MAX, &text, &mark, error) < 0)
        return;
    if (yaml_parse(str_from_c(path), text, arena, &diags, &stream) == 0 && stream.n_documents > 0) {
        contexts = yaml_find(stream.documents[0], STR("contexts"));
        for (size_t i = 0; contexts && contexts->kind == YAML_SEQUENCE && i < contexts->n; i++) {
            const YamlNode *name = yaml_find(contexts->items[i], STR("name"));

            if (name)
                add(names, name->text, arena);
        }
    }
    secret_wipe(text);
    free((void *)(uintptr_t)text.ptr);
}

/* Each adds names to @names, in @arena, if any are available. */
static void complete_contexts(const CompleteOptions *options, Arena *arena, NameList *names) {
    const char *listed = getenv("KUBECONFIG"), *home = getenv("HOME");
    Str rest = str_from_c(options->kubeconfig ? options->kubeconfig : listed), path;
    char own[PATH_SIZE];

    if (options->kubeconfig) {
        add_contexts_of(options->kubeconfig, arena, names);
        return;
    }
    for (unsigned i = 0; i < KUBECONFIGS_MAX && str_split(&rest, ':', &path); i++) {
        Str copy = arena_copy(arena, path);

        if (copy.ptr && !str_is_empty(path))
            add_contexts_of(copy.ptr, arena, names);
    }
    if (!listed && home &&
        (size_t)snprintf(own, sizeof(own), "%s/.kube/config", home) < sizeof(own))
        add_contexts_of(own, arena, names);
}

/* --- the API server ---------------------------------------------------------------- */

/* Names while the objects of a list are read. */
typedef struct NameReader {
    NameList *names;
    bool is_pod; /* NAMESPACE/NAME */
} NameReader;

static void read_named(JsonReader *reader, Arena *arena, void *target) {
    typedef struct Named {
        Str namespace, name;
    } Named;
    static const JsonField fields[] = {
        {"metadata.namespace", JSON_FIELD_TEXT, offsetof(Named, namespace)},
        {"metadata.name", JSON_FIELD_TEXT, offsetof(Named, name)},
        {"pod.namespace", JSON_FIELD_TEXT, offsetof(Named, namespace)},
        {"pod.name", JSON_FIELD_TEXT, offsetof(Named, name)},
    };
    const NameReader *into = target;
    Named named = {0};

    JSON_READ_FIELDS(reader, arena, fields, &named);
    if (json_error(reader) != JSON_OK)
        return;
    if (!into->is_pod)
        add(into->names, named.name, arena);
    else if (is_plain(named.namespace) && is_plain(named.name)) /* a NUL would end it here */
        add(into->names,
            arena_printf(arena, "%.*s/%.*s", STR_FMT(named.namespace), STR_FMT(named.name)), arena);
}

/* Names of the objects in a list of the API server, or of the pods of berth's decisions. */
static void add_named(Str json, bool is_pod, Arena *arena, NameList *names) {
    static const JsonField fields[] = {
        {"items", JSON_FIELD_ARRAY, .read = read_named},
        {"decisions", JSON_FIELD_ARRAY, .read = read_named},
    };
    NameReader into = {.names = names, .is_pod = is_pod};
    JsonReader reader;

    json_reader_init(&reader, json);
    JSON_READ_FIELDS(&reader, arena, fields, &into);
}

static void add_from_server(
    const CompleteOptions *options, const char *path, bool is_pod, Arena *arena, NameList *names) {
    _cleanup_(access_freep) Access *access = NULL;
    BlockingRequest request = {.path = path, .sec = ASK_SEC};
    char error[ACCESS_ERROR_MAX > BLOCKING_CLIENT_ERROR_MAX ? ACCESS_ERROR_MAX
                                                            : BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;

    if (access_from_kubeconfig(options->kubeconfig, options->context, &access, error) < 0)
        return;
    if (blocking_client_request(access, &request, arena, &reply, error) == 0 && reply.status == 200)
        add_named(reply.body, is_pod, arena, names);
}

static void complete_nodes(const CompleteOptions *options, Arena *arena, NameList *names) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    char error[OBJECTS_ERROR_MAX];
    const NodeTable *table;

    if (!options->cluster)
        add_from_server(options, "/api/v1/nodes?limit=" PAGE_NAMES, false, arena, names);
    if (!options->cluster || cluster_load(options->cluster, &snapshot, error) < 0)
        return;
    table = snapshot_table(snapshot);
    for (uint32_t row = 0; row < table->n_rows; row++)
        if (table_node(table, row))
            add(names, table_node(table, row)->name, arena);
}

/* NAMESPACE/NAME; @prefix is the part typed so far. */
static void complete_pods(
    const CompleteOptions *options, Str prefix, Arena *arena, NameList *names) {
    const char *path = "/api/v1/pods?limit=" PAGE_NAMES;
    size_t slash = str_find(prefix, '/');

    if (options->cluster)
        return; /* a pod of a file is given as a file */
    if (slash != SIZE_MAX && slash > 0 && is_plain(str_take(prefix, slash)))
        path = arena_printf(arena, "/api/v1/namespaces/%.*s/pods?limit=" PAGE_NAMES,
            STR_FMT(str_take(prefix, slash)))
                   .ptr;
    if (path)
        add_from_server(options, path, true, arena, names);
}

/* Pods that a running berth decided about lately. */
static void complete_decided_pods(const CompleteOptions *options, Arena *arena, NameList *names) {
    ServerSource source = options->source;
    char error[BERTH_CLIENT_ERROR_MAX];
    Str reply = STR_NULL;

    if (server_source_open(&source) == 0 &&
        berth_client_get(
            &source.access, STR("/api/v1/decisions?limit=1000"), arena, &reply, error) == 0)
        add_named(reply, true, arena, names);
}

#define ARENA_BUDGET ((size_t)64 * 1024 * 1024)
#define OUTPUT_MAX ((size_t)4 * 1024 * 1024)
#define ABOUT_SHOWN 72u /* characters: one line of a terminal, with the word before it */

typedef struct Line {
    char **words;
    int n; /* without the one that is typed */
    Str typed;
    Str before; /* "--name=", if it precedes the word */
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

/* A server or a file did not answer in time. */
static void give_up(int signal) {
    static const char end[] = ":4\n";

    (void)!write(STDOUT_FILENO, end, sizeof(end) - 1);
    _exit(EXIT_FINE);
}

/* Groups and codes of checks, and what each is. */
static void offer_checks(Line *line) {
    for (int i = 0; i < _CHECK_GROUPS; i++)
        offer(line, str_from_c(check_group_name((CheckGroup)i)), STR("all of this group"));
    for (size_t i = 0; i < n_checks; i++)
        offer(line, str_from_c(checks[i].code), str_from_c(checks[i].title));
}

/* Names that are found in the cluster or a running berth. For these the time is limited; all else
 * is in the program, and is offered on a busy machine, too. */
static void offer_names(Line *line, OptionCompletion complete) {
    const struct itimerval limit = {
        .it_value = {COMPLETE_MSEC / 1000, COMPLETE_MSEC % 1000 * 1000}};
    NameList names = {0};

    if (complete != COMPLETE_FILES && complete != COMPLETE_CHECKS) {
        (void)signal(SIGALRM, give_up);
        (void)setitimer(ITIMER_REAL, &limit, NULL);
    }
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
        offer_checks(line);
        break;
    default:
        break;
    }
    for (size_t i = 0; i < names.n; i++)
        offer(line, names.items[i], STR_NULL);
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
    _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_BUDGET);
    Line line = {
        .words = words,
        .n = n_words > 0 ? n_words - 1 : 0,
        .typed = n_words > 0 ? str_from_c(words[n_words - 1]) : STR_NULL,
        .arena = arena,
        .out = BUF_INIT(OUTPUT_MAX),
    };

    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (!arena)
        return EXIT_FINE;
    program_name = "berth";
    if (null >= 0)
        (void)dup2(null, STDERR_FILENO);
    complete_line(&line);
    buf_append(&line.out, line.wants_files ? STR(":0\n") : STR(":4\n"));
    (void)signal(SIGALRM, SIG_IGN); /* the reply is whole: a second end would spoil it */
    (void)terminal_print(stdout, buf_str(&line.out));
    buf_done(&line.out);
    return EXIT_FINE;
}
