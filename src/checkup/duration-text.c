/* Prints durations for people, and judges the rest of a certificate's lifetime. */

#include "checkup/duration-text.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"

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
    if (sec == 0)
        return false;
    if (sec >= LIFETIME_WARN_DAYS * DURATION_DAY_SEC) {
        verdict_note(verdict, "%s: it expires in %s", where, duration_text(sec).text);
        return true;
    }
    if (sec < 0)
        verdict_fail(verdict, "%s: it expired %s ago", where, duration_text(sec).text);
    else if (sec < LIFETIME_FAIL_DAYS * DURATION_DAY_SEC)
        verdict_fail(verdict, "%s: it expires in %s", where, duration_text(sec).text);
    else
        verdict_warn(verdict, "%s: it expires in %s", where, duration_text(sec).text);
    verdict_fix(verdict, "berth certs --renew DIR   # or renew it where it was issued");
    return true;
}
