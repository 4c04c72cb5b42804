#include "demo/play.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/linediff.h"
#include "base/shell.h"

#define TEXT_MAX ((size_t)64 * 1024)
#define PAGE_BUDGET ((size_t)8 * 1024 * 1024)
#define LOOK_MSEC 50u

#define COLUMN_POD 27
#define COLUMN_NODE 18

const char *play_url(const Play *play) {
    return daemon_url(play->rig.daemon);
}

/* Whether the next step is to be taken. */
static bool goes_on(Play *play) {
    if (play->status == 0 && (rig_wait(&play->rig, 0) || play->voice.has_failed))
        play->status = PLAY_STOPPED;
    return play->status == 0;
}

static void fail(Play *play, int status, const char *what) {
    if (rig_wait(&play->rig, 0))
        status = PLAY_STOPPED;
    play->status = status;
    (void)snprintf(play->error, DAEMON_ERROR_MAX, "%s", what);
}

static void fail_memory(Play *play) {
    fail(play, -ENOMEM, "out of memory");
}

/* --- what is said ----------------------------------------------------------------------------- */

/* @format in lines behind @lead. */
__attribute__((format(printf, 3, 0))) static void say(
    Play *play, const char *lead, const char *format, va_list arguments) {
    char *text = NULL;
    int n = vasprintf(&text, format, arguments);

    if (n < 0) {
        fail_memory(play);
        return;
    }
    voice_paragraph(&play->voice, lead, str_of(text, (size_t)n));
    free(text);
}

void play_heading(Play *play, const char *text) {
    if (!goes_on(play))
        return;
    buf_append_char(&play->voice.text, '\n');
    voice_heading(&play->voice, text);
}

void play_say(Play *play, const char *format, ...) {
    va_list arguments;

    if (!goes_on(play))
        return;
    va_start(arguments, format);
    say(play, "  ", format, arguments);
    va_end(arguments);
    voice_flush(&play->voice);
}

__attribute__((format(printf, 2, 0))) static void tell(
    Play *play, const char *format, va_list arguments) {
    if (!goes_on(play))
        return;
    voice_paint(&play->voice, STYLE_BOLD);
    say(play, "-- ", format, arguments);
    voice_plain(&play->voice);
    voice_flush(&play->voice);
}

void play_tell(Play *play, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    tell(play, format, arguments);
    va_end(arguments);
}

void play_reveal(Play *play, const char *format, ...) {
    va_list arguments;

    if (!play->solves)
        return;
    va_start(arguments, format);
    tell(play, format, arguments);
    va_end(arguments);
}

void play_note(Play *play, const char *format, ...) {
    va_list arguments;

    if (!goes_on(play))
        return;
    va_start(arguments, format);
    voice_paint(&play->voice, STYLE_GOOD);
    say(play, "=> ", format, arguments);
    voice_plain(&play->voice);
    va_end(arguments);
    voice_flush(&play->voice);
}

static int by_text(const void *a, const void *b) {
    return strcmp(a, b);
}

/* "2 Insufficient cpu", …: kube-scheduler sorts them as texts. */
static void print_fit_error(const Placement *placement, size_t n_nodes, Buf *out) {
    char parts[PLACEMENT_REASONS_MAX + 2][192];
    size_t n = 0;

    for (size_t i = 0; i < placement->n_reasons; i++)
        (void)snprintf(parts[n++],
            sizeof(parts[0]),
            "%zu %.*s",
            placement->reasons[i].n_nodes,
            STR_FMT(placement->reasons[i].text));
    if (placement->n_without_cpu > 0)
        (void)snprintf(
            parts[n++], sizeof(parts[0]), "%zu Insufficient cpu", placement->n_without_cpu);
    if (placement->n_without_memory > 0)
        (void)snprintf(
            parts[n++], sizeof(parts[0]), "%zu Insufficient memory", placement->n_without_memory);
    qsort(parts, n, sizeof(parts[0]), by_text);
    buf_printf(out, "0/%zu nodes are available: ", n_nodes);
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%s", i > 0 ? ", " : "", parts[i]);
    buf_append_char(out, '.');
}

void play_describe(Play *play, const Placement *placement) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    const Workload *workload;

    if (!goes_on(play) || !placement->pod)
        return;
    workload = placement->pod->workload;
    buf_printf(&play->voice.text,
        "  $ kubectl describe pod -n %s %s\n",
        workload->namespace,
        placement->pod->name);
    print_fit_error(placement, play->rig.options.n_nodes, &text);
    voice_paragraph(&play->voice, "  Status:   ", STR("Pending"));
    voice_paragraph(&play->voice, "  Warning   FailedScheduling  ", buf_str(&text));
    voice_flush(&play->voice);
}

/* --- placements ------------------------------------------------------------------------------- */

static void print_columns(Play *play) {
    if (play->has_columns)
        return;
    play->has_columns = true;
    voice_paint(&play->voice, STYLE_BOLD);
    buf_printf(&play->voice.text, "%-*s %-*s  PASSED", COLUMN_POD, "POD", COLUMN_NODE, "NODE");
    voice_plain(&play->voice);
    buf_append_char(&play->voice.text, '\n');
}

void play_show(Play *play, const Placement *placement) {
    char pod[PLAY_NAME_MAX];

    if (!goes_on(play) || !placement->pod)
        return;
    print_columns(play);
    (void)snprintf(
        pod, sizeof(pod), "%s/%s", placement->pod->workload->namespace, placement->pod->name);
    buf_printf(&play->voice.text, "%-*s ", COLUMN_POD, pod);
    if (str_is_empty(placement->node))
        voice_painted(&play->voice, STYLE_BAD, COLUMN_NODE, STR("pending"));
    else
        voice_painted(&play->voice, STYLE_GOOD, COLUMN_NODE, placement->node);
    buf_printf(
        &play->voice.text, "  %zu of %zu nodes\n", placement->n_passed, placement->n_offered);
    voice_flush(&play->voice);
}

/* An attempt for @pod, with what may go wrong. */
static void attempt(Play *play, const WorldPod *pod, Placement *ret) {
    int r = rig_place(&play->rig, pod, ret);

    if (r < 0)
        fail_memory(play);
    else if (!str_is_empty(ret->error))
        fail(play, PLAY_UNSOLVED, "a call to berth went wrong");
    else
        play->n_placed += !str_is_empty(ret->node);
}

void play_place_quietly(Play *play, const Workload *workload, uint64_t life, Placement *ret) {
    const WorldPod *pod;

    *ret = (Placement){0};
    if (!goes_on(play))
        return;
    if (world_make_pod(play->rig.world, workload, life, rig_now_sec(), &pod) < 0) {
        fail_memory(play);
        return;
    }
    play->n_pods++;
    attempt(play, pod, ret);
}

void play_place(Play *play, const Workload *workload, Placement *ret) {
    play_place_quietly(play, workload, /* life= */ 0, ret);
    play_show(play, ret);
    play_pause(play, play->pace_msec);
}

void play_retry(Play *play, Placement *ret) {
    *ret = (Placement){0};
    if (!goes_on(play) || !play->pod || !str_is_empty(play->pod->model.node_name))
        return;
    world_try_again(play->rig.world, play->pod);
    attempt(play, play->pod, ret);
}

void play_choose_pod(Play *play, const Placement *placement) {
    if (!goes_on(play) || !placement->pod)
        return;
    play->pod = placement->pod;
    (void)snprintf(play->pod_name,
        sizeof(play->pod_name),
        "%s/%s",
        placement->pod->workload->namespace,
        placement->pod->name);
    (void)snprintf(play->node, sizeof(play->node), "%.*s", STR_FMT(placement->node));
}

/* --- the policy ------------------------------------------------------------------------------- */

/* What an edit changes, with a line around it. */
static int print_difference(Play *play, Str before, Str after) {
    _cleanup_(buf_done) Buf text = BUF_INIT(PLAY_POLICY_MAX);
    LinediffText from = {.text = before}, to = {.text = after};
    int r = linediff_write(&from, &to, /* context= */ 1, &text, NULL);
    Str rest = buf_str(&text), line;

    if (r < 0)
        return r;
    while (str_split(&rest, '\n', &line)) {
        bool is_head = str_has_prefix(line, STR("---")) || str_has_prefix(line, STR("+++")) ||
                       str_has_prefix(line, STR("@@"));

        if (is_head || str_is_empty(line))
            continue;
        buf_append(&play->voice.text, STR("     "));
        if (line.ptr[0] == ' ')
            buf_append(&play->voice.text, line);
        else
            voice_painted(&play->voice, line.ptr[0] == '-' ? STYLE_BAD : STYLE_GOOD, 0, line);
        buf_append_char(&play->voice.text, '\n');
    }
    voice_flush(&play->voice);
    return 0;
}

void play_edit(Play *play, const char *from, const char *to) {
    _cleanup_(buf_done) Buf edited = BUF_INIT(PLAY_POLICY_MAX);
    Str text = buf_str(&play->policy);
    const char *found;
    size_t at;

    if (!goes_on(play))
        return;
    found = memmem(text.ptr, text.len, from, strlen(from));
    if (!found) {
        fail(play, PLAY_UNSOLVED, "the policy is not what it was");
        return;
    }
    at = (size_t)(found - text.ptr);
    buf_append(&edited, str_take(text, at));
    buf_append(&edited, str_from_c(to));
    buf_append(&edited, str_skip(text, at + strlen(from)));
    if (print_difference(play, text, buf_str(&edited)) < 0)
        fail_memory(play);
    buf_reset(&play->policy);
    buf_append(&play->policy, buf_str(&edited));
    if (folder_write(&play->folder, "policy.yaml", buf_str(&edited), play->error) < 0)
        play->status = -EIO;
}

/* --- waiting ---------------------------------------------------------------------------------- */

void play_pause(Play *play, unsigned msec) {
    if (goes_on(play) && rig_wait(&play->rig, msec))
        play->status = PLAY_STOPPED;
}

static void fail_waiting(Play *play, const char *what) {
    char text[256];

    (void)snprintf(text, sizeof(text), "waited in vain until %s", what);
    fail(play, PLAY_UNSOLVED, text);
}

void play_await(Play *play, const char *what, RigCondition *is_so, const void *context) {
    if (goes_on(play) && !rig_wait_for(&play->rig, PLAY_PATIENCE_MSEC, is_so, context))
        fail_waiting(play, what);
}

void play_await_page(Play *play, const char *what, const char *path, const char *text) {
    for (unsigned msec = 0; goes_on(play); msec += LOOK_MSEC) {
        _cleanup_(arena_freep) Arena *arena = arena_new(PAGE_BUDGET);
        Str page = arena ? rig_fetch(&play->rig, path, arena) : STR_NULL;

        if (page.ptr && memmem(page.ptr, page.len, text, strlen(text)))
            return;
        if (msec >= PLAY_PATIENCE_MSEC)
            fail_waiting(play, what);
        play_pause(play, LOOK_MSEC);
    }
}

void play_expect(Play *play, bool is_so, const char *what) {
    if (goes_on(play) && !is_so)
        fail(play, PLAY_UNSOLVED, what);
}

/* --- commands --------------------------------------------------------------------------------- */

static void print_command(Play *play, const char *prompt, const char *const words[]) {
    Buf *out = &play->voice.text;

    buf_append(out, str_from_c(prompt));
    shell_word(out, str_from_c(play->program));
    for (size_t i = 0; words[i]; i++) {
        buf_append_char(out, ' ');
        shell_word(out, str_from_c(words[i]));
    }
    buf_append_char(out, '\n');
}

void play_suggest(Play *play, const char *const words[]) {
    if (goes_on(play))
        print_command(play, "  ", words);
}

/* The program that is running, with signals as a shell gives them; it writes where we do. */
static int spawn(const char *const words[], pid_t *ret) {
    char *arguments[PLAY_WORDS_MAX + 2] = {strdup("berth")};
    posix_spawnattr_t attributes;
    sigset_t none;
    size_t n = 1;
    int r;

    for (size_t i = 0; words[i] && n <= PLAY_WORDS_MAX; i++)
        arguments[n++] = strdup(words[i]);
    (void)sigemptyset(&none);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    r = posix_spawn(ret, "/proc/self/exe", NULL, &attributes, arguments, environ);
    (void)posix_spawnattr_destroy(&attributes);
    for (size_t i = 0; i < n; i++)
        free(arguments[i]);
    return r;
}

void play_run(Play *play, const char *const words[]) {
    pid_t pid;

    if (!goes_on(play))
        return;
    buf_append_char(&play->voice.text, '\n');
    voice_paint(&play->voice, STYLE_BOLD);
    print_command(play, "$ ", words);
    voice_plain(&play->voice);
    voice_flush(&play->voice);
    if (spawn(words, &pid) != 0) {
        fail(play, PLAY_UNSOLVED, "a command could not be started");
        return;
    }
    while (waitpid(pid, /* status= */ NULL, 0) < 0 && errno == EINTR)
        ;
}

void play_fetch(Play *play, const char *path) {
    _cleanup_(arena_freep) Arena *arena = arena_new(PAGE_BUDGET);
    Buf *out = &play->voice.text;
    Str page;

    if (!goes_on(play))
        return;
    page = arena ? rig_fetch(&play->rig, path, arena) : STR_NULL;
    voice_paint(&play->voice, STYLE_BOLD);
    buf_printf(out, "\n$ curl -s '%s%s'\n", play_url(play), path);
    voice_plain(&play->voice);
    buf_append(out, page);
    if (!str_has_suffix(page, STR("\n")))
        buf_append_char(out, '\n');
    voice_flush(&play->voice);
}
