/* Opens, locks and reads the two files of a journal, appends to one, and replaces it when full. */

#include "history/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "history/journal-internal.h"

#define NAME "decisions.jsonl"
#define OLD_NAME "decisions.old.jsonl"
#define LOCK_NAME "lock"

/* For reading one line; its strings are parts of the line, unless they have escapes. */
#define LINE_BUDGET (4 * JOURNAL_LINE_MAX)

#define READ_SIZE ((size_t)256 * 1024)
#define WRITE_SIZE ((size_t)1024 * 1024) /* bytes collected before a write */

struct Journal {
    int folder_fd, lock_fd;
    int fd;           /* of NAME; -1: not created yet */
    size_t size;      /* of NAME: up to the end of its last complete line */
    size_t size_max;  /* of each file */
    uint64_t written; /* id of the last stored decision */
    JournalContext context;
    Arena *arena;
    bool is_failing; /* a failure was logged */
};

int journal_make_folder(const char *folder) {
    return mkdir(folder, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

typedef struct FileRead {
    size_t n_lines, n_damaged;
    size_t end; /* after the last complete, undamaged line */
} FileRead;

/* Reads the complete lines of @rest; returns their bytes. If the first line of a file is not a head
 * of this format, all its lines are damaged. */
static size_t read_lines(
    Journal *journal, Str rest, size_t offset, Decisions *decisions, FileRead *ret) {
    size_t taken = 0;
    const char *end;

    while ((end = memchr(rest.ptr + taken, '\n', rest.len - taken))) {
        Str line = str_of(rest.ptr + taken, (size_t)(end - rest.ptr) - taken);

        arena_reset(journal->arena);
        taken += line.len + 1;
        if ((ret->n_lines++ > 0 && ret->end == 0) ||
            !journal_line_read(&journal->context, line, journal->arena, decisions))
            ret->n_damaged++;
        else
            ret->end = offset + taken;
    }
    return taken;
}

/* 0, or a negative errno. */
static int read_file(Journal *journal, int fd, Decisions *decisions, FileRead *ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT(JOURNAL_LINE_MAX + READ_SIZE);
    size_t offset = 0, taken;
    ssize_t n;

    for (;;) {
        char *room = buf_reserve(&text, READ_SIZE);

        if (!room) /* an endless line: not a journal */
            return buf_error(&text) == -EFBIG ? 0 : buf_error(&text);
        n = read(fd, room, READ_SIZE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        buf_advance(&text, (size_t)n);
        taken = read_lines(journal, buf_str(&text), offset, decisions, ret);
        offset += taken;
        memmove(text.data, text.data + taken, text.len - taken);
        text.len -= taken;
    }
}

static int restore_file(Journal *journal, const char *name, Decisions *decisions, FileRead *ret) {
    int fd = openat(journal->folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), r;

    *ret = (FileRead){0};
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    r = read_file(journal, fd, decisions, ret);
    (void)close(fd);
    journal_context_reset(&journal->context);
    if (ret->n_damaged > 0)
        log_warn("damaged lines in the journal of decisions are skipped", LOG_CSTR("file", name),
            LOG_INT("lines", ret->n_damaged));
    return r;
}

static int lock_folder(Journal *journal) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    journal->lock_fd =
        openat(journal->folder_fd, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (journal->lock_fd < 0)
        return -errno;
    if (fcntl(journal->lock_fd, F_OFD_SETLK, &lock) < 0)
        return errno == EACCES ? -EAGAIN : -errno;
    return 0;
}

/* Creates the file, or opens it and cuts it off after its last complete line. */
static int open_file(Journal *journal, size_t end) {
    _cleanup_(buf_done) Buf head = BUF_INIT(JOURNAL_LINE_MAX);
    int r = 0;

    journal->fd = openat(
        journal->folder_fd, NAME, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (journal->fd < 0)
        return -errno;
    journal->size = end;
    if (ftruncate(journal->fd, (off_t)end) < 0)
        r = -errno;
    if (r == 0 && end == 0) {
        journal_line_head(&head);
        r = buf_error(&head) ? buf_error(&head) : fd_write(journal->fd, buf_str(&head));
        journal->size = head.len;
    }
    if (r < 0) {
        (void)close(journal->fd);
        journal->fd = -1;
    }
    return r;
}

static int open_all(Journal *journal, const char *folder, Decisions *decisions) {
    DecisionsFigures figures;
    FileRead file;
    int r;

    journal->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r = journal->folder_fd < 0 ? -errno : lock_folder(journal);
    if (r == 0)
        r = restore_file(journal, OLD_NAME, decisions, &file);
    if (r == 0)
        r = restore_file(journal, NAME, decisions, &file);
    if (r == 0)
        r = open_file(journal, file.end);
    if (r < 0)
        return r;
    decisions_figures(decisions, &figures);
    journal->written = figures.newest;
    log_info(
        "decisions are kept on disk", LOG_CSTR("folder", folder), LOG_INT("restored", figures.n));
    return 0;
}

int journal_open(const char *folder, size_t bytes_max, Decisions *decisions, Journal **ret,
    char error[static JOURNAL_ERROR_MAX]) {
    Journal *journal = calloc(1, sizeof(*journal));
    int r = -ENOMEM;

    if (journal) {
        *journal = (Journal){.folder_fd = -1, .lock_fd = -1, .fd = -1, .size_max = bytes_max / 2};
        journal->arena = arena_new(LINE_BUDGET);
    }
    if (journal && journal->arena)
        r = open_all(journal, folder, decisions);
    if (r < 0) {
        (void)snprintf(error, JOURNAL_ERROR_MAX,
            r == -EAGAIN ? "cannot use the folder %s: another berth does; give each its own "
                           "--state-dir"
                         : "cannot keep decisions in %s: %s",
            folder, strerror(-r));
        journal_free(journal);
        return r;
    }
    *ret = journal;
    return 0;
}

Journal *journal_free(Journal *journal) {
    if (!journal)
        return NULL;
    journal_context_reset(&journal->context);
    arena_free(journal->arena);
    fd_closep(&journal->fd);
    fd_closep(&journal->lock_fd);
    fd_closep(&journal->folder_fd);
    free(journal);
    return NULL;
}

/* Makes the full file the old one. */
static int replace_file(Journal *journal) {
    fd_closep(&journal->fd);
    journal->fd = -1;
    journal_context_reset(&journal->context);
    if (renameat(journal->folder_fd, NAME, journal->folder_fd, OLD_NAME) < 0 && errno != ENOENT)
        return -errno;
    return open_file(journal, 0);
}

/* Appends all of @lines or nothing: after half a line, the next line would be damaged too. */
static int append(Journal *journal, Str lines) {
    int r = fd_write(journal->fd, lines);

    if (r < 0) {
        (void)!ftruncate(journal->fd, (off_t)journal->size);
        journal_context_reset(&journal->context);
        return r;
    }
    journal->size += lines.len;
    return 0;
}

/* Collects some decisions after journal->written, up to @newest. Returns the id of the last one. */
static uint64_t collect(Journal *journal, Decisions *decisions, uint64_t newest, Buf *out) {
    uint64_t id = journal->written;

    while (id < newest && out->len < WRITE_SIZE && journal->size + out->len < journal->size_max) {
        FoundDecision found;

        if (!decisions_find(decisions, ++id, &found))
            continue; /* dropped already */
        arena_reset(journal->arena);
        journal_line_decision(&journal->context, decisions, &found, journal->arena, out);
        found_done(&found);
    }
    return id;
}

static int write_some(Journal *journal, Decisions *decisions, uint64_t newest) {
    _cleanup_(buf_done) Buf lines = BUF_INIT(WRITE_SIZE + 4 * JOURNAL_LINE_MAX);
    uint64_t last;
    int r = 0;

    if (journal->fd < 0 || journal->size >= journal->size_max)
        r = replace_file(journal);
    if (r < 0)
        return r;
    last = collect(journal, decisions, newest, &lines);
    r = buf_error(&lines);
    if (r == 0)
        r = append(journal, buf_str(&lines));
    else
        journal_context_reset(&journal->context);
    if (r == 0)
        journal->written = last;
    return r;
}

/* Logs only changes, not the same error four times a second. */
static void report(Journal *journal, int r) {
    if (r < 0 && !journal->is_failing)
        log_warn("decisions cannot be written to --state-dir; a restart would forget them",
            LOG_CSTR("error", strerror(-r)));
    else if (r == 0 && journal->is_failing)
        log_info("decisions are written to --state-dir again");
    journal->is_failing = r < 0;
}

void journal_write(Journal *journal, Decisions *decisions) {
    DecisionsFigures figures;
    int r = 0;

    decisions_figures(decisions, &figures);
    if (figures.n > 0 && journal->written + 1 < figures.oldest)
        journal->written = figures.oldest - 1;
    if (journal->written >= figures.newest)
        return;
    while (r == 0 && journal->written < figures.newest)
        r = write_some(journal, decisions, figures.newest);
    report(journal, r);
}
