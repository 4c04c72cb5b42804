#pragma once

/* DecisionLetters: what became of a node, in one letter. */

#include "replay/recording.h"

static const char decision_letters[] = {
    [RECORDED_PASSED] = 'p',
    [RECORDED_REJECTED] = 'r',
    [RECORDED_UNKNOWN] = 'u',
    [RECORDED_NARROWED] = 'n',
    [RECORDED_LATE] = 'l',
    [RECORDED_SCORED] = 's',
};
