#pragma once

/*
 * RuleBook: what the filters of a program are called, without the program.
 *
 * Decisions are remembered for longer than policies are in force. A program is large, and
 * keeping old ones for the sake of some names would let memory grow with every reload.
 *
 * Threads: reference and read from any.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/ref.h"
#include "base/str.h"
#include "policy/program.h"

typedef struct RuleNote {
    Str policy, name, reason;
    bool is_unresolvable;
} RuleNote;

typedef struct RuleBook {
    Ref ref;
    Digest digest; /* of the program */
    size_t bytes;
    size_t n_users; /* for its owner: how many things that are kept refer to it */
    size_t n_rules;
    RuleNote rules[]; /* by number of the filter; texts stand behind them */
} RuleBook;

RuleBook *rulebook_new(const Program *program); /* NULL when out of memory */
RuleBook *rulebook_ref(RuleBook *book);
RuleBook *rulebook_unref(RuleBook *book); /* takes NULL, returns NULL */
DEFINE_CLEANUP(RuleBook *, rulebook_unref)

/* Whether it is what rulebook_new(@program) would give. */
bool rulebook_is_of(const RuleBook *book, const Program *program);
