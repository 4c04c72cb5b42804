/* Prints findings: a line each, with the cause and the fix below it. */

#include <stdio.h>

#include "base/ascii.h"
#include "base/visible.h"
#include "checkup/check.h"
#include "json/write.h"

#define HINT_MAX 64

/* "docs/troubleshooting.md#b102": a heading's anchor is in small letters. */
static void write_hint(JsonWriter *writer, const char *code) {
    char hint[HINT_MAX];
    int len = snprintf(hint, sizeof(hint), "docs/troubleshooting.md#%s", code);

    for (int i = 0; i < len && i < HINT_MAX; i++)
        hint[i] = ascii_lower(hint[i]);
    json_write_member(writer, STR("hint"), str_from_c(hint));
}

static void write_check(JsonWriter *writer, const Check *check, const Finding *finding) {
    json_write_object(writer);
    json_write_member(writer, STR("code"), str_from_c(check->code));
    json_write_member(writer, STR("group"), str_from_c(check_group_name(check->group)));
    json_write_member(writer, STR("title"), str_from_c(check->title));
    json_write_member(writer, STR("state"), str_from_c(check_state_name(finding->state)));
    json_write_member(writer, STR("cause"), finding->cause);
    json_write_member(writer, STR("fix"), finding->fix);
    write_hint(writer, check->code);
    json_write_end_object(writer);
}

static void write_counts(JsonWriter *writer, const Checkup *checkup) {
    json_member_object(writer, "counts");
    for (CheckState state = CHECK_PASSED; state <= CHECK_SKIPPED; state++)
        json_member_int(writer, check_state_name(state), (int64_t)checkup_count(checkup, state));
    json_write_end_object(writer);
}

void checkup_print_json(const Checkup *checkup, Buf *out) {
    JsonWriter writer = {.out = out, .indent = 2};

    json_write_object(&writer);
    json_write_member(&writer, STR("state"), str_from_c(check_state_name(checkup_state(checkup))));
    write_counts(&writer, checkup);
    json_member_array(&writer, "checks");
    for (size_t i = 0; i < checkup->n; i++)
        write_check(&writer, checkup->checks[i], &checkup->findings[i]);
    json_write_end_array(&writer);
    json_write_end_object(&writer);
    buf_append_char(out, '\n');
}

#define INDENT 4u
#define CODE_GAP 2u

typedef struct Sign {
    const char *sign, *ascii;
    const char *colour;
} Sign;

static const Sign signs[] = {
    [CHECK_PASSED] = {"✓", "ok", "\033[32m"},
    [CHECK_WARNED] = {"‼", "! ", "\033[33m"},
    [CHECK_FAILED] = {"×", "x ", "\033[31m"},
    [CHECK_SKIPPED] = {"-", "- ", "\033[2m"},
};

static const char dim[] = "\033[2m", plain[] = "\033[0m";

typedef struct Printer {
    Buf *out;
    bool has_colour, is_ascii;
    size_t width; /* of titles */
} Printer;

static void paint(const Printer *printer, const char *colour) {
    if (printer->has_colour)
        buf_append(printer->out, str_from_c(colour));
}

/* --- one check ------------------------------------------------------------------------------ */

/* The lines of @text, indented: the first after @head, the others below it. */
static void print_lines(const Printer *printer, const char *head, Str text) {
    size_t width = visible_width(str_from_c(head));
    Str line;

    for (size_t i = 0; str_split(&text, '\n', &line); i++) {
        buf_append_repeat(printer->out, ' ', INDENT);
        if (i == 0)
            buf_append(printer->out, str_from_c(head));
        else
            buf_append_repeat(printer->out, ' ', width);
        visible_print(printer->out, "{}\n", line);
    }
}

/* Notes are dimmed. */
static void print_cause(const Printer *printer, const Finding *finding) {
    bool is_dim = finding->state == CHECK_PASSED || finding->state == CHECK_SKIPPED;

    if (str_is_empty(finding->cause))
        return;
    if (is_dim)
        paint(printer, dim);
    print_lines(printer, "", finding->cause);
    if (is_dim)
        paint(printer, plain);
}

/* A line; of a skipped check all of it is dimmed. */
static void print_head(const Printer *printer, CheckState state, const char *title, size_t width,
    const char *first, const char *last) {
    const Sign *sign = &signs[state];
    Buf *out = printer->out;

    paint(printer, sign->colour);
    buf_append(out, str_from_c(printer->is_ascii ? sign->ascii : sign->sign));
    if (state != CHECK_SKIPPED)
        paint(printer, plain);
    buf_append_char(out, ' ');
    visible_append_padded(out, str_from_c(title), width + CODE_GAP);
    buf_printf(out, "%s%s%s", first, last ? " to " : "", last ? last : "");
    if (state == CHECK_SKIPPED)
        paint(printer, plain);
    buf_append_char(out, '\n');
}

static void print_check(const Printer *printer, const Check *check, const Finding *finding) {
    print_head(printer, finding->state, check->title, printer->width, check->code, NULL);
    print_cause(printer, finding);
    if (!str_is_empty(finding->fix))
        print_lines(printer, "fix: ", finding->fix);
}

/* If everything is unknown, the same reason would be printed below every check. */
#define RUN_MIN 3u

/* How many checks from @i on were skipped for one reason, in one group. */
static size_t count_run(const Checkup *checkup, size_t i) {
    const Finding *first = &checkup->findings[i];
    size_t n = 0;

    while (i + n < checkup->n && checkup->findings[i + n].state == CHECK_SKIPPED &&
           checkup->checks[i + n]->group == checkup->checks[i]->group &&
           str_eq(checkup->findings[i + n].cause, first->cause))
        n++;
    return n;
}

static void print_run(const Printer *printer, const Checkup *checkup, size_t i, size_t n) {
    size_t width = printer->width;
    char title[64];

    (void)snprintf(title, sizeof(title), "%zu checks could not be made", n);
    width = strlen(title) > width ? strlen(title) : width;
    print_head(printer, CHECK_SKIPPED, title, width, checkup->checks[i]->code,
        checkup->checks[i + n - 1]->code);
    print_cause(printer, &checkup->findings[i]);
}

/* --- all of them ---------------------------------------------------------------------------- */

static void print_heading(const Printer *printer, CheckGroup group, bool is_first) {
    Str name = str_from_c(check_group_name(group));

    if (!is_first)
        buf_append_char(printer->out, '\n');
    buf_append(printer->out, name);
    buf_append_char(printer->out, '\n');
    buf_append_repeat(printer->out, '-', name.len);
    buf_append_char(printer->out, '\n');
}

static void print_summary(const Printer *printer, const Checkup *checkup) {
    size_t n_warned = checkup_count(checkup, CHECK_WARNED);

    if (checkup->n > 0)
        buf_append_char(printer->out, '\n');
    buf_printf(printer->out, "%zu passed, %zu warning%s, %zu failed, %zu skipped\n",
        checkup_count(checkup, CHECK_PASSED), n_warned, n_warned == 1 ? "" : "s",
        checkup_count(checkup, CHECK_FAILED), checkup_count(checkup, CHECK_SKIPPED));
}

void checkup_print(const Checkup *checkup, bool has_colour, bool is_ascii, Buf *out) {
    Printer printer = {.out = out, .has_colour = has_colour, .is_ascii = is_ascii};

    for (size_t i = 0; i < checkup->n; i++) {
        size_t width = visible_width(str_from_c(checkup->checks[i]->title));

        printer.width = width > printer.width ? width : printer.width;
    }
    for (size_t i = 0, n; i < checkup->n; i += n) {
        CheckGroup group = checkup->checks[i]->group;

        if (i == 0 || group != checkup->checks[i - 1]->group)
            print_heading(&printer, group, i == 0);
        n = count_run(checkup, i);
        if (n >= RUN_MIN) {
            print_run(&printer, checkup, i, n);
        } else {
            print_check(&printer, checkup->checks[i], &checkup->findings[i]);
            n = 1;
        }
    }
    print_summary(&printer, checkup);
}

void checkup_print_codes(Buf *out) {
    for (size_t i = 0; i < n_checks; i++)
        buf_printf(out, "| %s | %s | %s | %s |\n", checks[i].code,
            check_group_name(checks[i].group), checks[i].title, checks[i].meaning);
}
