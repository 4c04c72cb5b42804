/* Prints findings: a line each, with the cause and the fix below it. */

#include <stdio.h>

#include "base/ascii.h"
#include "base/visible.h"
#include "checkup/check.h"
#include "json/write.h"

#define HINT_MAX 64

void checkup_print_json(const Checkup *checkup, Buf *out) {
    JsonWriter writer = {.out = out, .indent = 2};

    json_write(&writer, "{state: %s", check_state_name(checkup_state(checkup)));
    json_member_object(&writer, "counts");
    for (CheckState state = CHECK_PASSED; state <= CHECK_SKIPPED; state++)
        json_member_int(&writer, check_state_name(state), (int64_t)checkup_count(checkup, state));
    json_write(&writer, "}, checks: [");
    for (size_t i = 0; i < checkup->n; i++) {
        const Check *check = checkup->checks[i];
        const Finding *finding = &checkup->findings[i];
        char hint[HINT_MAX];
        int len = snprintf(hint, sizeof(hint), "docs/troubleshooting.md#%s", check->code);

        for (int k = 0; k < len && k < HINT_MAX; k++)
            hint[k] = ascii_lower(hint[k]); /* anchors of headings are lower case */
        json_write(&writer,
            "{code: %s, group: %s, title: %s, state: %s, cause: %.*s, fix: %.*s, hint: %s}",
            check->code, check_group_name(check->group), check->title,
            check_state_name(finding->state), STR_FMT(finding->cause), STR_FMT(finding->fix), hint);
    }
    json_write(&writer, "]}\n");
}

#define INDENT 4u
#define CODE_GAP 2u

static const struct {
    const char *sign, *ascii, *colour;
} signs[] = {
    [CHECK_PASSED] = {"✓", "ok", "\033[32m"},
    [CHECK_WARNED] = {"‼", "! ", "\033[33m"},
    [CHECK_FAILED] = {"×", "x ", "\033[31m"},
    [CHECK_SKIPPED] = {"-", "- ", "\033[2m"},
};

static const char plain[] = "\033[0m";

typedef struct Printer {
    Buf *out;
    bool has_colour, is_ascii;
    size_t width; /* of titles */
} Printer;

static void paint(const Printer *printer, const char *colour) {
    if (printer->has_colour)
        buf_append(printer->out, str_from_c(colour));
}

/* Prints the lines of @text, indented: the first after @head, the others below it. */
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

/* Prints the cause, dimmed if it is only a note. */
static void print_cause(const Printer *printer, const Finding *finding) {
    bool is_dim = finding->state == CHECK_PASSED || finding->state == CHECK_SKIPPED;

    if (str_is_empty(finding->cause))
        return;
    if (is_dim)
        paint(printer, signs[CHECK_SKIPPED].colour);
    print_lines(printer, "", finding->cause);
    if (is_dim)
        paint(printer, plain);
}

/* Prints the line of a check; all of it is dimmed if the check was skipped. */
static void print_head(const Printer *printer, CheckState state, const char *title, size_t width,
    const char *first, const char *last) {
    Buf *out = printer->out;

    paint(printer, signs[state].colour);
    buf_append(out, str_from_c(printer->is_ascii ? signs[state].ascii : signs[state].sign));
    if (state != CHECK_SKIPPED)
        paint(printer, plain);
    buf_append_char(out, ' ');
    visible_append_padded(out, str_from_c(title), width + CODE_GAP);
    buf_printf(out, "%s%s%s", first, last ? " to " : "", last ? last : "");
    if (state == CHECK_SKIPPED)
        paint(printer, plain);
    buf_append_char(out, '\n');
}

/* From this many checks on that were skipped for one reason, the reason is printed once. */
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

void checkup_print(const Checkup *checkup, bool has_colour, bool is_ascii, Buf *out) {
    Printer printer = {.out = out, .has_colour = has_colour, .is_ascii = is_ascii};
    size_t n_warned = checkup_count(checkup, CHECK_WARNED);

    for (size_t i = 0; i < checkup->n; i++) {
        size_t width = visible_width(str_from_c(checkup->checks[i]->title));

        printer.width = width > printer.width ? width : printer.width;
    }
    for (size_t i = 0, n; i < checkup->n; i += n) {
        const Check *check = checkup->checks[i];
        const Finding *finding = &checkup->findings[i];
        const char *group = check_group_name(check->group);

        if (i == 0 || check->group != checkup->checks[i - 1]->group) {
            buf_printf(out, "%s%s\n", i == 0 ? "" : "\n", group);
            buf_append_repeat(out, '-', strlen(group));
            buf_append_char(out, '\n');
        }
        n = count_run(checkup, i);
        if (n >= RUN_MIN) {
            char title[64];
            size_t width =
                (size_t)snprintf(title, sizeof(title), "%zu checks could not be made", n);

            print_head(&printer, CHECK_SKIPPED, title,
                width > printer.width ? width : printer.width, check->code,
                checkup->checks[i + n - 1]->code);
            print_cause(&printer, finding);
            continue;
        }
        n = 1;
        print_head(&printer, finding->state, check->title, printer.width, check->code, NULL);
        print_cause(&printer, finding);
        if (!str_is_empty(finding->fix))
            print_lines(&printer, "fix: ", finding->fix);
    }
    buf_printf(out, "%s%zu passed, %zu warning%s, %zu failed, %zu skipped\n",
        checkup->n > 0 ? "\n" : "", checkup_count(checkup, CHECK_PASSED), n_warned,
        PLURAL(n_warned), checkup_count(checkup, CHECK_FAILED),
        checkup_count(checkup, CHECK_SKIPPED));
}

void checkup_print_codes(Buf *out) {
    for (size_t i = 0; i < n_checks; i++)
        buf_printf(out, "| %s | %s | %s | %s |\n", checks[i].code,
            check_group_name(checks[i].group), checks[i].title, checks[i].meaning);
}
