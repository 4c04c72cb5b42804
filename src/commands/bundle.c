/*
 * berth bundle: what a running berth knew and decided, in one file for somebody else.
 *
 * The berth makes the file. Here it is read once, so that what is printed of it is what is in it.
 */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/map.h"
#include "base/nsec.h"
#include "base/shell.h"
#include "base/visible.h"
#include "cli/bundle-source.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "cli/values.h"
#include "history/recorder.h"
#include "model/time.h"

#define WHO "berth bundle"
#define BUNDLE_BUDGET ((size_t)1024 * 1024 * 1024)
#define REPORT_MAX ((size_t)1024 * 1024)
#define PATH_TEXT_MAX 64u

typedef struct Settings {
    ServerSource source;
    BundleWish wish;
    const char *path; /* NULL: a name with the time; "-": standard output */
} Settings;

static void print_help(FILE *out) {
    (void)fprintf(out,
        "usage: %s bundle [OPTIONS]\n"
        "\n"
        "Fetches what a running berth knew and decided, as one file: policies, decisions, their\n"
        "pods, the cluster and what was measured, metrics and status. `berth what-if --bundle` "
        "and\n"
        "`berth explain --bundle` read it anywhere, without a cluster.\n"
        "\n"
        "Of pods only what policies can read is in it: no environment, no volumes, no commands.\n"
        "\n"
        "  --last N              so many filter and prioritize decisions           [1000]\n"
        "  --anonymize           hash all names that policies do not mention\n"
        "  --cluster whole|digest  nodes and pods, or only a fingerprint of them  [whole]\n"
        "  -o, --output FILE     where to; \"-\" is standard output\n"
        "                        [berth-bundle-DATE.tar.gz]\n"
        "\n"
        "The berth that is asked\n" SERVER_SOURCE_HELP,
        program_name);
}

/* --- what is in it ----------------------------------------------------------------------- */

static void print_size(Buf *out, size_t bytes) {
    if (bytes < 10 * 1024)
        buf_printf(out, "%zu bytes", bytes);
    else if (bytes < 10 * 1024 * 1024)
        buf_printf(out, "%zu KiB", bytes / 1024);
    else
        buf_printf(out, "%zu MiB", bytes / 1024 / 1024);
}

static size_t count_pods(const Recording *recording, Arena *arena) {
    Map seen = MAP_INIT_IN(arena);
    size_t n = 0;

    for (size_t i = 0; i < recording->n; i++) {
        const RecordedDecision *decision = &recording->decisions[i];
        Str key = arena_printf(arena,
            "%.*s/%.*s/%.*s",
            STR_FMT(decision->pod_namespace),
            STR_FMT(decision->pod_name),
            STR_FMT(decision->pod_uid));

        if (key.ptr && map_find(&seen, key) == MAP_NONE && map_add(&seen, key, 0) == 0)
            n++;
    }
    return n;
}

static void print_decisions(const Recording *recording, Arena *arena, Buf *out) {
    size_t n_again = 0, n_pods;

    for (size_t i = 0; i < recording->n; i++)
        n_again += !recorded_obstacle(&recording->decisions[i]);
    buf_append(out, STR("  "));
    buf_append_grouped(out, recording->n);
    buf_append(out, recording->n == 1 ? STR(" decision about ") : STR(" decisions about "));
    n_pods = count_pods(recording, arena);
    buf_append_grouped(out, n_pods);
    buf_append(out, n_pods == 1 ? STR(" pod") : STR(" pods"));
    if (recording->n > 0) {
        buf_append(out, STR(", "));
        time_print(recording->decisions[0].now_nsec / NSEC_PER_SEC, out);
        buf_append(out, STR(" to "));
        time_print(recording->decisions[recording->n - 1].now_nsec / NSEC_PER_SEC, out);
    }
    buf_append(out, STR("\n  "));
    buf_append_grouped(out, n_again);
    buf_append(out, STR(" of them can be made again\n"));
}

static void print_cluster(const Bundle *bundle, Buf *out) {
    const Recording *recording = &bundle->recording;
    const Scene *newest =
        recording->n_scenes > 0 ? recording->scenes[recording->n_scenes - 1] : NULL;

    if (!bundle->has_cluster) {
        buf_append(out, STR("  of the cluster a fingerprint only: nothing can be made again\n"));
        return;
    }
    if (!newest || !newest->snapshot) {
        buf_append(out, STR("  no cluster\n"));
        return;
    }
    buf_append(out, STR("  a cluster of "));
    buf_append_grouped(out, snapshot_table(newest->snapshot)->names->n_nodes);
    buf_append(out, STR(" nodes, at "));
    buf_append_grouped(out, recording->n_scenes);
    buf_append(out, recording->n_scenes == 1 ? STR(" time\n") : STR(" times\n"));
}

static void print_policies(const Bundle *bundle, Buf *out) {
    buf_printf(
        out, "  %zu polic%s", bundle->n_policies, bundle->n_policies == 1 ? "y file" : "y files");
    for (size_t i = 0; i < bundle->n_policies; i++) {
        buf_append(out, i == 0 ? STR(": ") : STR(", "));
        (void)visible_append(out, bundle->policies[i].file);
    }
    buf_append_char(out, '\n');
    buf_append(out,
        bundle->is_anonymous
            ? STR("  names are hashed; policies are as they are\n")
            : STR("  names are as they are: --anonymize hashes those that no policy mentions\n"));
}

/* What whoever gets it would type. */
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
        shell_word(out,
            arena_printf(
                arena, "%.*s/%.*s", STR_FMT(newest->pod_namespace), STR_FMT(newest->pod_name)));
    else
        buf_append(out, STR("NAMESPACE/NAME"));
    buf_append_char(out, '\n');
}

static bool report(const Bundle *bundle, const char *path, size_t size, Arena *arena) {
    _cleanup_(buf_done) Buf out = BUF_INIT(REPORT_MAX);
    bool is_stdout = strcmp(path, "-") == 0;

    buf_append(&out, is_stdout ? STR("standard output") : str_from_c(path));
    buf_append(&out, STR(": "));
    print_size(&out, size);
    buf_append_char(&out, '\n');
    print_decisions(&bundle->recording, arena, &out);
    print_cluster(bundle, &out);
    print_policies(bundle, &out);
    print_commands(bundle, is_stdout ? "FILE" : path, arena, &out);
    return terminal_print(is_stdout ? stderr : stdout, buf_str(&out));
}

/* --- the file ---------------------------------------------------------------------------- */

static int complain_file(const char *path, int r) {
    char text[512];

    (void)snprintf(text, sizeof(text), "%s: %s", path, strerror(-r));
    terminal_complain(WHO, text);
    return EXIT_UNREACHABLE;
}

/* For its owner alone: a cluster is in it. */
static int save(const char *path, Str file) {
    int fd = strcmp(path, "-") == 0 ? STDOUT_FILENO
                                    : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int r;

    if (fd < 0)
        return complain_file(path, -errno);
    r = fd_write(fd, file);
    if (fd != STDOUT_FILENO && close(fd) < 0 && r == 0)
        r = -errno;
    return r < 0 ? complain_file(path, r) : 0;
}

/* "berth-bundle-2026-01-31-200000.tar.gz": UTC, when it was made. */
static void name_after(int64_t made_at_nsec, char ret[static PATH_TEXT_MAX]) {
    _cleanup_(buf_done) Buf time = BUF_INIT(PATH_TEXT_MAX);
    Str text;

    time_print(made_at_nsec / NSEC_PER_SEC, &time); /* 2026-01-31T20:00:00Z */
    text = buf_str(&time);
    if (text.len < 19)
        text = STR("1970-01-01T00:00:00Z");
    (void)snprintf(ret,
        PATH_TEXT_MAX,
        "berth-bundle-%.10s-%.2s%.2s%.2s.tar.gz",
        text.ptr,
        text.ptr + 11,
        text.ptr + 14,
        text.ptr + 17);
}

/* --- the command ------------------------------------------------------------------------- */

static int run(Settings *settings) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BUNDLE_BUDGET);
    _cleanup_(bundle_done) Bundle bundle = {0};
    const char *path = settings->path;
    char name[PATH_TEXT_MAX];
    Str file = STR_NULL;
    int r;

    if (!arena)
        return terminal_out_of_memory(WHO);
    r = bundle_source_fetch(&settings->source, &settings->wish, WHO, arena, &file);
    if (r == 0)
        r = bundle_source_unpack(file, settings->source.access.server, WHO, &bundle);
    if (r != 0)
        return r;
    name_after(bundle.made_at_nsec, name);
    if (!path)
        path = name;
    r = save(path, file);
    if (r != 0)
        return r;
    return report(&bundle, path, file.len, arena) ? EXIT_FINE : EXIT_UNREACHABLE;
}

static int misused(const char *what) {
    return usage_error("bundle", what, print_help);
}

static int set_cluster(Settings *settings, const char *value) {
    unsigned choice = 0;
    int r = value_choice("bundle", "cluster", value, "whole|digest", &choice);

    settings->wish.only_digest = choice == 1;
    return r;
}

static int set_option(Settings *settings, int option) {
    switch (option) {
    case 'l':
        return value_number("bundle", "last", optarg, 1, RECORDER_LAST_MAX, &settings->wish.last);
    case 'a':
        settings->wish.is_anonymous = true;
        return 0;
    case 'c':
        return set_cluster(settings, optarg);
    case 'o':
        settings->path = optarg;
        return 0;
    default:
        if (server_source_set(&settings->source, option, optarg))
            return 0;
        return misused(NULL);
    }
}

int cmd_bundle(int argc, char *argv[]) {
    static const struct option options[] = {
        SERVER_SOURCE_OPTIONS,
        {"last", required_argument, NULL, 'l'},
        {"anonymize", no_argument, NULL, 'a'},
        {"cluster", required_argument, NULL, 'c'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    Settings settings = {.wish.last = RECORDER_LAST_DEFAULT};
    const char *problem;
    int option;

    while ((option = getopt_long(argc, argv, "ho:", options, NULL)) != -1) {
        int r;

        if (option == 'h') {
            print_help(stdout);
            return EXIT_FINE;
        }
        r = set_option(&settings, option);
        if (r != 0)
            return r;
    }
    if (optind < argc)
        return misused("it takes options only");
    problem = server_source_check(&settings.source);
    if (problem)
        return misused(problem);
    if (settings.path && strcmp(settings.path, "-") == 0 && isatty(STDOUT_FILENO))
        return misused("standard output is a terminal, and a bundle is no text: -o FILE");
    return run(&settings);
}
