#pragma once

/* What the rows of list.h name, one function each: facts in, a verdict out. */

#include "checkup/facts.h"
#include "checkup/verdict.h"

#define CHECK(code, group, is_offline, name, title, meaning)                                       \
    void judge_##name(const InstallationFacts *facts, Verdict *verdict);
#include "checkup/list.h"
#undef CHECK
