/*
 * berth bundle: saves the state and decisions of a running berth in one file.
 *
 * The running berth makes the file. It is read once here, so that the summary shows its content.
 */

#include <stdio.h>
#include <unistd.h>

#include "base/nsec.h"
#include "base/shell.h"
#include "cli/bundle-source.h"
#include "cli/progress.h"
#include "cli/replicas.h"
#include "cli/terminal.h"
#include "commands/commands.h"
#include "history/recorder.h"
#include "model/time.h"

#define BUNDLE_BUDGET ((size_t)1024 * 1024 * 1024)
#define REPORT_MAX ((size_t)1024 * 1024)
#define PATH_TEXT_MAX 64u

typedef struct Settings {
    ServerSource source;
    BundleRequest request;
    const char *path; /* NULL: a name with the time; "-": standard output */
} Settings;

static void print_content(const Bundle *bundle, Buf *out) {
    const Recording *recording = &bundle->recording;
    size_t n_replayable = 0;

    for (size_t i = 0; i < recording->n; i++)
        n_replayable += !recorded_obstacle(&recording->decisions[i]);
    buf_printf(out, "  %s decision%s", GROUPED(recording->n), PLURAL(recording->n));
    if (recording->n > 0) {
        buf_append(out, STR(", "));
        time_print(recording->decisions[0].now_nsec / NSEC_PER_SEC, out);
        buf_append(out, STR(" to "));
        time_print(recording->decisions[recording->n - 1].now_nsec / NSEC_PER_SEC, out);
    }
    buf_printf(out, "\n  %s of them can be replayed%s\n  %zu policy file%s\n",
        GROUPED(n_replayable), bundle->has_cluster ? "" : ": there is only a digest of the cluster",
        bundle->n_policies, PLURAL(bundle->n_policies));
    buf_append(
        out, bundle->is_anonymous
                 ? STR("  anonymized: names are hashed; policies are unchanged\n")
                 : STR("  not anonymized: --anonymize hashes names that no policy mentions\n"));
}

static void print_commands(const Bundle *bundle, const char *path, Arena *arena, Buf *out) {
    const Recording *recording = &bundle->recording;
    const RecordedDecision *newest =
        recording->n > 0 ? &recording->decisions[recording->n - 1] : NULL;

    buf_append(out, STR("\n  berth what-if --bundle "));
    shell_word(out, str_from_c(path));
    buf_append(out, STR("\n  berth explain --bundle "));
    shell_word(out, str_from_c(path));
    buf_append_char(out, ' ');
    if (newest)
        shell_word(out, arena_printf(arena, "%.*s/%.*s", STR_FMT(newest->pod_namespace),
                            STR_FMT(newest->pod_name)));
    else
        buf_append(out, STR("NAMESPACE/NAME"));
    buf_append_char(out, '\n');
}

static void report(const Bundle *bundle, const char *path, size_t size, Arena *arena) {
    _cleanup_(buf_done) Buf out = BUF_INIT(REPORT_MAX);
    bool is_stdout = strcmp(path, "-") == 0;
    int shift = size < 10 * 1024 ? 0 : size < 10 * 1024 * 1024 ? 10 : 20;

    buf_printf(&out, "%s: %zu %s\n", is_stdout ? "standard output" : path, size >> shift,
        shift == 0    ? "bytes"
        : shift == 10 ? "KiB"
                      : "MiB");
    print_content(bundle, &out);
    print_commands(bundle, is_stdout ? "FILE" : path, arena, &out);
    if (!terminal_print(is_stdout ? stderr : stdout, buf_str(&out)))
        terminal_end(EXIT_UNREACHABLE);
}

/* "berth-bundle-2026-01-31-200000.tar.gz": when it was made, in UTC. */
static void default_name(int64_t made_at_nsec, char ret[static PATH_TEXT_MAX]) {
    _cleanup_(buf_done) Buf time = BUF_INIT(PATH_TEXT_MAX);
    const char *text;

    time_print(made_at_nsec / NSEC_PER_SEC, &time); /* 2026-01-31T20:00:00Z */
    text = time.len < 19 ? "1970-01-01T00:00:00Z" : time.data;
    (void)snprintf(ret, PATH_TEXT_MAX, "berth-bundle-%.10s-%.2s%.2s%.2s.tar.gz", text, text + 11,
        text + 14, text + 17);
}

/* Adds the name of the replica: "FILE.tar.gz" becomes "FILE-POD.tar.gz". */
static Str replica_path(const char *path, const char *replica, Arena *arena) {
    static const Str suffix = STR(".tar.gz");
    Str stem = str_from_c(path);
    bool has_suffix = str_has_suffix(stem, suffix);

    if (has_suffix)
        stem.len -= suffix.len;
    return arena_printf(arena, "%.*s-%s%s", STR_FMT(stem), replica, has_suffix ? suffix.ptr : "");
}

static void save_file(
    const Settings *settings, const Replicas *replicas, size_t i, Str file, Arena *arena) {
    _cleanup_(bundle_done) Bundle bundle = {0};
    const char *path = settings->path;
    char name[PATH_TEXT_MAX];

    bundle_source_unpack(file, replicas->items[i].server, &bundle);
    default_name(bundle.made_at_nsec, name);
    if (!path)
        path = name;
    if (replicas->n > 1)
        path = replica_path(path, replicas->names[i], arena).ptr;
    if (strcmp(path, "-") == 0)
        terminal_output(file);
    else
        terminal_write_file(path, 0600, file); /* it shows the whole cluster */
    report(&bundle, path, file.len, arena);
}

/* Writes one file per replica, and warns about replicas that gave none. If all failed, the command
 * fails with the first error. */
static int run(void *context, const Arguments *arguments) {
    Settings *settings = context;
    _cleanup_(replicas_done) Replicas replicas = {0};
    char errors[REPLICAS_MAX][BERTH_CLIENT_ERROR_MAX];
    size_t n_errors = 0;

    replicas_open(&settings->source, &replicas);
    if (replicas.n > 1 && settings->path && strcmp(settings->path, "-") == 0)
        terminal_fail("there are several replicas, and each has a file: use -o FILE");
    for (size_t i = 0; i < replicas.n; i++) {
        _cleanup_(arena_freep) Arena *arena = terminal_arena("the bundle", BUNDLE_BUDGET);
        Str file = STR_NULL;
        bool is_there;

        progress_begin("fetching the bundle");
        is_there = bundle_source_fetch(
            &replicas.items[i], &settings->request, arena, &file, errors[n_errors]);
        progress_end();
        if (is_there)
            save_file(settings, &replicas, i, file, arena);
        n_errors += !is_there;
    }
    if (n_errors == replicas.n)
        terminal_fail("%s", errors[0]);
    for (size_t i = 0; i < n_errors; i++)
        replicas_complain(&replicas, errors[i]);
    return n_errors > 0 ? EXIT_UNREACHABLE : EXIT_FINE;
}

#define AT(member) OPTION_AT(Settings, member)

/* clang-format off */
static const Option options[] = {
    {"last", OPTION_NUMBER, .argument = "N", AT(request.last), .min = 1, .max = RECORDER_LAST_MAX,
        .initial = "1000", .help = "how many filter and prioritize decisions"},
    {"anonymize", OPTION_FLAG, AT(request.is_anonymous),
        .help = "hash all names that policies do not mention"},
    {"cluster", OPTION_CHOICE, .argument = "whole|digest", AT(request.only_digest), .initial = "whole",
        .help = "nodes and pods, or only a digest of them"},
    {"output", OPTION_FILE, 'o', .argument = "FILE", AT(path), .initial = "berth-bundle-DATE.tar.gz",
        .help = "file to write; \"-\" is standard output"},

    SERVER_SOURCE_GROUP(Settings, source),
    {0},
};
/* clang-format on */

static const char *check(void *context, const Arguments *arguments) {
    const Settings *settings = context;

    if (settings->path && strcmp(settings->path, "-") == 0 && isatty(STDOUT_FILENO))
        return "standard output is a terminal, and a bundle is binary: use -o FILE";
    return server_source_check(&settings->source);
}

const Command bundle_command = {
    .name = "bundle",
    .summary = "save decisions with their inputs in one file",
    .usage = "[OPTIONS]",
    .about = "Fetches the state of a running berth as one file, of several replicas as one each: "
             "policies, decisions, their pods, the "
             "cluster, measured values, metrics and status. `berth what-if --bundle` and `berth "
             "explain --bundle` read it anywhere, without a cluster.\n"
             "\n"
             "It holds only the fields of pods that policies can read: no values of "
             "environment variables, no contents of volumes, no commands.",
    .options = options,
    .settings_size = sizeof(Settings),
    .defaults = &(const Settings){.request.last = RECORDER_LAST_DEFAULT},
    .check = check,
    .run = run,
};
