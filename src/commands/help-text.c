#include "commands/help-text.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"

#define ABOUT_MAX ((size_t)4096)
#define HELP_MAX ((size_t)256 * 1024)

/* Where text behind @from is set apart by two blanks; the end if nowhere. */
static size_t find_gap(Str line, size_t from) {
    for (size_t i = from; i + 1 < line.len; i++)
        if (line.ptr[i] == ' ' && line.ptr[i + 1] == ' ')
            return i;
    return line.len;
}

static bool is_blank(Str line) {
    return str_is_empty(str_trim(line));
}

/* Two blanks and a dash begin an option. */
static bool is_option_line(Str line) {
    return str_has_prefix(line, STR("  -"));
}

/* Set farther in than options are. */
static bool is_continuation(Str line) {
    return str_has_prefix(line, STR("      ")) && !is_blank(line);
}

/* "-o, --output FORM" or "--cert FILE --key FILE": one option or more, without about. */
static int read_head(Str head, Arena *arena, HelpText *help, size_t *ret_first) {
    HelpOption *option = NULL;
    bool is_same = false; /* behind "-o,": the next word is another name of it */
    Str word;

    *ret_first = help->options.n;
    while (str_split(&head, ' ', &word)) {
        bool has_comma = str_has_suffix(word, STR(",")) && !str_has_suffix(word, STR("..."));

        word.len -= has_comma;
        if (str_is_empty(word))
            continue;
        if (word.ptr[0] == '-' && !is_same) {
            option = VEC_PUSH(&help->options, arena);
            if (!option)
                return -ENOMEM;
        }
        if (!option)
            continue;
        if (str_has_prefix(word, STR("--")))
            option->name = str_skip(word, 2);
        else if (word.ptr[0] == '-' && word.len > 1)
            option->letter = word.ptr[1];
        else
            option->argument = word;
        is_same = has_comma && word.len == 2 && word.ptr[0] == '-';
    }
    return 0;
}

/* Without what stands in brackets at its end: the default. */
static Str cut_default(Str about) {
    about = str_trim(about);
    if (str_has_suffix(about, STR("]"))) {
        size_t open = str_find_last(about, '[');

        if (open != SIZE_MAX)
            about = str_trim(str_take(about, open));
    }
    return about;
}

/* The lines about the option that @line begins, joined; takes those that go on off @rest. */
static int read_about(Str line, Str *rest, size_t gap, Arena *arena, Str *ret) {
    _cleanup_(buf_done) Buf about = BUF_INIT(ABOUT_MAX);
    Str ahead = *rest, next;

    buf_append(&about, str_trim(str_skip(line, gap)));
    while (str_split(&ahead, '\n', &next) && is_continuation(next)) {
        if (about.len > 0)
            buf_append_char(&about, ' ');
        buf_append(&about, str_trim(next));
        *rest = ahead;
    }
    *ret = arena_copy(arena, cut_default(buf_str(&about)));
    return ret->ptr ? 0 : -ENOMEM;
}

static int read_option(Str line, Str *rest, Arena *arena, HelpText *help) {
    size_t gap = find_gap(line, 2), first;
    Str about;
    int r = read_head(str_skip(str_take(line, gap), 2), arena, help, &first);

    if (r == 0)
        r = read_about(line, rest, gap, arena, &about);
    if (r < 0)
        return r;
    for (size_t i = first; i < help->options.n; i++)
        help->options.items[i].about = about;
    return 0;
}

/* "usage: PROGRAM COMMAND …", and such lines below it that begin with blanks. */
static int read_usage(Str line, Str program, Str command, Arena *arena, HelpText *help) {
    Str *usage;

    if (str_has_prefix(line, STR("usage: ")))
        line = str_skip(line, 7);
    line = str_trim(line);
    if (!str_has_prefix(line, program))
        return 0;
    line = str_trim(str_skip(line, program.len));
    if (!str_has_prefix(line, command))
        return 0;
    usage = VEC_PUSH(&help->usages, arena);
    if (!usage)
        return -ENOMEM;
    *usage = str_trim(str_skip(line, command.len));
    return 0;
}

int help_text_read(Str text, Str program, Str command, Arena *arena, HelpText *ret) {
    bool is_in_usage = true;
    Str line;
    int r = 0;

    *ret = (HelpText){0};
    while (r == 0 && str_split(&text, '\n', &line)) {
        is_in_usage &= !is_blank(line);
        if (is_in_usage)
            r = read_usage(line, program, command, arena, ret);
        else if (is_option_line(line))
            r = read_option(line, &text, arena, ret);
    }
    return r;
}

const HelpOption *help_text_find(const HelpText *help, Str word) {
    for (size_t i = 0; i < help->options.n; i++) {
        const HelpOption *option = &help->options.items[i];

        if (str_has_prefix(word, STR("--"))
                ? str_eq(option->name, str_skip(word, 2))
                : word.len == 2 && word.ptr[0] == '-' && option->letter == word.ptr[1])
            return option;
    }
    return NULL;
}

/* --- of a command ------------------------------------------------------------------- */

/* What @command prints on standard output with --help, read back from a file in memory. */
static int capture(const Command *command, int fd, Arena *arena, Str *ret) {
    char name[32], option[] = "--help";
    char *argv[] = {name, option, NULL};
    off_t size;
    char *text;

    (void)snprintf(name, sizeof(name), "berth %s", command->name);
    if (fflush(stdout) != 0 || dup2(fd, STDOUT_FILENO) < 0)
        return -errno;
    (void)command->run(2, argv);
    (void)fflush(stdout);
    size = lseek(fd, 0, SEEK_END);
    if (size < 0 || (size_t)size > HELP_MAX)
        return -EFBIG;
    text = arena_alloc(arena, (size_t)size);
    if (!text || pread(fd, text, (size_t)size, 0) != (ssize_t)size)
        return -ENOMEM;
    *ret = str_of(text, (size_t)size);
    return 0;
}

int help_text_of(const Command *command, Arena *arena, HelpText *ret) {
    int out = dup(STDOUT_FILENO), fd = memfd_create("help", MFD_CLOEXEC), r = -EMFILE;
    Str text = STR_NULL;

    if (out >= 0 && fd >= 0) {
        r = capture(command, fd, arena, &text);
        (void)dup2(out, STDOUT_FILENO);
    }
    if (out >= 0)
        (void)close(out);
    if (fd >= 0)
        (void)close(fd);
    return r < 0 ? r
                 : help_text_read(
                       text, str_from_c(program_name), str_from_c(command->name), arena, ret);
}
