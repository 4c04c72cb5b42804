#pragma once

/*
 * berth explain --last: what a running berth decided about a pod lately.
 *
 * It asks that berth what it remembers (/api/v1/decisions): the last filter about the pod,
 * and the prioritize, preempt and bind that followed it.
 */

#include <stdbool.h>

#include "cli/ask.h"

#define EXPLAIN_LAST_SERVER "http://127.0.0.1:8080"

typedef struct LastQuestion {
    const char *pod; /* NAMESPACE/NAME; NULL: not asked */
    AskAccess access;
    const char *node; /* only this one; NULL: all */
    bool all;         /* every node, not only the best */
    bool json;
} LastQuestion;

/* The lines about it in the command's help. */
#define EXPLAIN_LAST_HELP                                                                          \
    "  --last NAMESPACE/NAME  what a running berth decided about this pod lately\n"                \
    "  --server URL          where that berth is         [" EXPLAIN_LAST_SERVER "]\n"              \
    "  --ca FILE             who may have signed its certificate (PEM)\n"                          \
    "  --cert FILE --key FILE  our own, where it asks for one\n"

/* For getopt_long(); the values are for explain_last_set(). */
#define EXPLAIN_LAST_OPTIONS                                                                       \
    {"last", required_argument, NULL, 'L'}, {"server", required_argument, NULL, 'S'},              \
        {"ca", required_argument, NULL, 'A'}, {"cert", required_argument, NULL, 'C'}, {            \
        "key", required_argument, NULL, 'K'                                                        \
    }

/* True when @option was one of the above. */
bool explain_last_set(LastQuestion *question, int option, const char *value);

/* Asks and prints; the exit code. */
int explain_last(const LastQuestion *question);
