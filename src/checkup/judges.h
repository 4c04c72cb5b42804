#pragma once

/* The function of each row of list.h: facts in, a verdict out. */

#include "checkup/facts.h"
#include "checkup/verdict.h"

#define CHECK(code, group, is_offline, name, title, meaning)                                       \
    void judge_##name(const InstallationFacts *facts, Verdict *verdict);
#include "checkup/list.h"
#undef CHECK
