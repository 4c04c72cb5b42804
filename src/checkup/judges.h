#pragma once

/* The function of each row of list.h: a subject in, a verdict out. */

#include "checkup/berths.h"

#define CHECK(code, group, scope, name, title, meaning)                                            \
    void judge_##name(const CheckSubject *at, Verdict *verdict);
#include "checkup/list.h"
#undef CHECK
