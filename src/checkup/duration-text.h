#pragma once

/* DurationText: a length of time in the words of a person: "12 days", "3 hours", "40 s", "100 ms".
 */

#define DURATION_DAY_SEC 86400.0
#define DURATION_TEXT_MAX 32u

typedef struct DurationText {
    char text[DURATION_TEXT_MAX];
} DurationText;

/* Of @sec seconds, without its sign. */
DurationText duration_text(double sec);
