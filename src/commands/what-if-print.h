#pragma once

/* WhatIfPrint: what decisions would have been, for people. */

#include "cli/terminal.h"
#include "policy/program.h"
#include "replay/what-if.h"

typedef struct WhatIfPrinter {
    const WhatIfReport *report;
    const Recording *recording;
    const Program *program; /* that decided anew */
    Str with;               /* which policies: "policy.yaml" */
    bool is_check;          /* the policies as they were: all should be equal */
    Digest policy;          /* of the bundle's policies */
    bool is_anonymous;
    int64_t weight; /* kube-scheduler's for this extender */
    bool all;       /* every case, not only the first */
    Paint paint;
    Buf *out;
} WhatIfPrinter;

void what_if_print(WhatIfPrinter *printer);
