/* The worst state counts; of texts, the first lines are kept. */

#include "checkup/verdict.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "checkup/berths.h"

typedef struct Unit {
    double from_sec, unit_sec;
    const char *name;
    bool is_cut; /* to whole ones, not rounded: 6.9 days are not 7 */
} Unit;

static const Unit units[] = {
    {2 * DURATION_DAY_SEC, DURATION_DAY_SEC, "days", true},
    {2 * 3600.0, 3600.0, "hours", true},
    {120.0, 60.0, "minutes", true},
    {10.0, 1.0, "s", true},
    {1.0, 1.0, "s", false},
    {1e-6, 1e-3, "ms", false},
    {0.0, 1e-9, "ns", false},
};

DurationText duration_text(double sec) {
    DurationText span = {.text = ""};
    double size = sec < 0 ? -sec : sec;

    for (size_t i = 0; i < ELEMENTS_OF(units); i++) {
        const Unit *unit = &units[i];
        double number = size / unit->unit_sec;

        if (!(size >= unit->from_sec))
            continue;
        if (unit->is_cut)
            (void)snprintf(span.text, sizeof(span.text), "%.0f %s", floor(number), unit->name);
        else
            (void)snprintf(span.text, sizeof(span.text), "%.3g %s", number, unit->name);
        break;
    }
    return span;
}

bool lifetime_judge(const char *where, double sec, Verdict *verdict) {
    static const char fix[] = "berth certs --renew DIR   # or renew it where it was issued";
    CheckState state = sec >= LIFETIME_WARN_DAYS * DURATION_DAY_SEC  ? CHECK_PASSED
                       : sec < LIFETIME_FAIL_DAYS * DURATION_DAY_SEC ? CHECK_FAILED
                                                                     : CHECK_WARNED;

    if (sec == 0)
        return false;
    if (sec < 0)
        verdict_fail(verdict, fix, "%s: it expired %s ago", where, duration_text(sec).text);
    else
        verdict_add(verdict, state, state == CHECK_PASSED ? NULL : fix, "%s: it expires in %s",
            where, duration_text(sec).text);
    return true;
}

/* The first lines of a text are kept, the others only counted. */
static void add_line(Buf *out, Str line, size_t *n) {
    if ((*n)++ >= VERDICT_LINES_MAX)
        return;
    if (out->len > 0)
        buf_append_char(out, '\n');
    buf_append(out, line);
}

void verdict_quote(Verdict *verdict, Str lines) {
    lines = str_trim(lines);
    if (!str_is_empty(lines))
        add_line(&verdict->cause, lines, &verdict->n_causes);
}

void verdict_add(Verdict *verdict, CheckState state, const char *fix, const char *format, ...) {
    static const int ranks[] = {
        [CHECK_PASSED] = 0, [CHECK_SKIPPED] = 1, [CHECK_WARNED] = 2, [CHECK_FAILED] = 3};
    char line[VERDICT_LINE_MAX] = "";
    va_list arguments;

    if (ranks[state] > ranks[verdict->state])
        verdict->state = state;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    verdict_quote(verdict, str_from_c(line));
    if (fix)
        verdict_fix(verdict, "%s", fix);
}

bool verdict_expect(Verdict *verdict, bool is_so, const char *otherwise) {
    if (!is_so)
        verdict_skip(verdict, "%s", otherwise);
    return is_so;
}

static bool has_line(Str text, Str wanted) {
    Str line;

    while (str_split(&text, '\n', &line))
        if (str_eq(line, wanted))
            return true;
    return false;
}

void verdict_fix(Verdict *verdict, const char *format, ...) {
    char line[VERDICT_LINE_MAX] = "";
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (!has_line(buf_str(&verdict->fix), str_from_c(line)))
        add_line(&verdict->fix, str_from_c(line), &verdict->n_fixes);
}

static int verdict_end(Verdict *verdict, Arena *arena, Finding *ret) {
    bool is_bad = verdict->state == CHECK_WARNED || verdict->state == CHECK_FAILED;

    if (verdict->n_causes > VERDICT_LINES_MAX)
        buf_printf(&verdict->cause, "\nand %zu more", verdict->n_causes - VERDICT_LINES_MAX);
    *ret = (Finding){
        .state = verdict->state,
        .cause = arena_copy(arena, buf_str(&verdict->cause)),
        .fix = is_bad ? arena_copy(arena, buf_str(&verdict->fix)) : STR(""),
    };
    /* A text that came up to its ceiling is shown as far as it goes. */
    return buf_error(&verdict->cause) == -ENOMEM || buf_error(&verdict->fix) == -ENOMEM ||
                   !ret->cause.ptr || !ret->fix.ptr
               ? -ENOMEM
               : 0;
}

int verdict_of(const Check *check, const InstallationFacts *facts, Arena *arena, Finding *ret) {
    Verdict verdict = {
        .cause = BUF_INIT(VERDICT_TEXT_MAX),
        .fix = BUF_INIT(VERDICT_TEXT_MAX),
    };
    int r;

    scope_judge(check->scope, check->judge, facts, &verdict);
    r = verdict_end(&verdict, arena, ret);
    buf_done(&verdict.cause);
    buf_done(&verdict.fix);
    return r;
}
