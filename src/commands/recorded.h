#pragma once

/*
 * Recorded: the last decisions of running berths or of bundles, with the policies in force, and
 * their replay with other policies: `berth what-if` and `berth diff`.
 */

#include "base/digest.h"
#include "bundle/bundle.h"
#include "cli/replicas.h"
#include "cli/terminal.h"
#include "history/recorder.h"
#include "policy/program.h"
#include "replay/what-if.h"

#define RECORDED_BUDGET ((size_t)2 * 1024 * 1024 * 1024)
#define RECORDED_MEMORY_FOR "the recorded decisions"

/* The source of the decisions, as options of a command. */
typedef struct RecordedSource {
    ServerSource server;
    const char *bundles[REPLICAS_MAX]; /* files; none: from running berths */
    size_t n_bundles;
    int64_t last;
} RecordedSource;

/* clang-format off */
#define RECORDED_LAST_OPTION(type, member)                                                         \
    {"last", OPTION_NUMBER, .argument = "N", OPTION_AT(type, member.last), .min = 1,               \
        .max = RECORDER_LAST_MAX, .initial = "1000",                                               \
        .help = "how many filter and prioritize decisions"}
#define RECORDED_BUNDLE_OPTION(type, member)                                                       \
    {"bundle", OPTION_LIST, .argument = "FILE",                                                    \
        OPTION_LIST_AT(type, member.bundles, member.n_bundles), .complete = COMPLETE_FILES,        \
        .help = "decisions of this file (berth bundle), not of a running berth; may be repeated, " \
                "for replicas"}
/* clang-format on */

/* The error of options that do not go together; NULL: none. */
const char *recorded_check(const RecordedSource *source);

/* Policies and exemptions are those of the first bundle, the recording is of all. */
typedef struct Recorded {
    Bundle bundles[REPLICAS_MAX];
    size_t n;
    Recording recording;
} Recorded;

void recorded_done(Recorded *recorded);

/* If these fail, the process ends (cli/terminal.h). Strings are in @arena. */

/* Fills in @ret, which must be zeroed. Warns if replicas have different policies: those of the
 * first count as in force. */
void recorded_load(RecordedSource *source, Arena *arena, Recorded *ret);

void recorded_replay(const Recorded *recorded, Program *program, Arena *arena, WhatIfReport *ret);

/* The digest of the policies in force. */
Digest recorded_policy_digest(const Bundle *bundle);

/* WhatIfPrinter: prints the result of a replay for users. */
typedef struct WhatIfPrinter {
    const WhatIfReport *report;
    const Recorded *recorded;
    const Program *program; /* of the replay */
    Str with;               /* a text for these policies: "policy.yaml" */
    bool is_check;          /* the policies are unchanged: all should be equal */
    int64_t weight;         /* the extender's weight in kube-scheduler */
    bool all;               /* every case, not only the first */
    Paint paint;
    Buf *out;
} WhatIfPrinter;

void what_if_print(WhatIfPrinter *printer);
