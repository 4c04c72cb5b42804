#pragma once

/*
 * PolicyFigures: how many filters each policy was for, and how many of those it let no node pass.
 *
 * By the policies' names, so that a figure goes on where it was when a policy is loaded again. To
 * count costs a sum over the filters of the policies that apply: names are looked up once for each
 * program.
 *
 * A node that several policies reject is counted for the one whose rule speaks, so a policy may
 * reject all nodes more often than it is known to.
 *
 * Threads: none of its own; whoever has it locks it (rule-figures.c).
 */

#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "extender/verbs.h"
#include "policy/program.h"

/* Names of policies since the start; those beyond are not counted. */
#define POLICY_FIGURES_MAX 4096u

typedef struct PolicyFigures PolicyFigures;

typedef struct PolicyFigure {
    uint64_t n_matched;      /* filters it was for */
    uint64_t n_rejected_all; /* of these: its rules spoke against every node that berth knows */
} PolicyFigure;

PolicyFigures *policy_figures_new(void); /* NULL when out of memory */
PolicyFigures *policy_figures_free(PolicyFigures *figures);
DEFINE_CLEANUP(PolicyFigures *, policy_figures_free)

/* Of a filter; others are passed over. */
void policy_figures_note(PolicyFigures *figures, Program *program, const Decision *decision);

PolicyFigure policy_figures_get(const PolicyFigures *figures, Str policy);

/* As parts of /metrics: the policies of @program, also those that were for no filter yet. */
void policy_figures_print(const PolicyFigures *figures, const Program *program, Buf *out);
