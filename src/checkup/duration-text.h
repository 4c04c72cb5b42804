#pragma once

/* DurationText: a length of time in the words of a person: "12 days", "3 hours", "40 s", "100 ms".
 */

#include <stdbool.h>

#include "checkup/verdict.h"

#define DURATION_DAY_SEC 86400.0
#define DURATION_TEXT_MAX 32u

typedef struct DurationText {
    char text[DURATION_TEXT_MAX];
} DurationText;

/* Of @sec seconds, without its sign. */
DurationText duration_text(double sec);

/* cert-manager renews certificates of 90 days when 30 are left; an earlier warning would be there
 * for a third of their life, with nothing wrong. */
#define LIFETIME_WARN_DAYS 30
#define LIFETIME_FAIL_DAYS 7

/* Reports on a certificate that expires in @sec seconds. False, without a report: 0, not known. */
bool lifetime_judge(const char *where, double sec, Verdict *verdict);
