#pragma once

/* Parts of the machine: calls whose overload depends on the arguments (the first whose kinds fit;
 * when none does, the error spells the call with kinds: "no such overload: int + string"), and
 * running loops over lists and maps. Functions of loops return an error, or any other value for
 * success. */

#include "cel/code.h"
#include "cel/run.h"

/* The one overload that could take them. */
CelValue cel_call_checked(
    CelRun *run, const CelCallee *callee, const CelValue *args, uint32_t n_args);

/* One of several: @callees and those that follow in the table. */
CelValue cel_call_dispatch(
    CelRun *run, const CelCallee *callees, const CelValue *args, uint32_t n_args);

typedef struct CelLoop {
    CelValue locals[2];
    uint64_t turn; /* the number of this turn, in the whole run */
    CelValue range;
    uint32_t i, n;
    uint8_t level;
    bool is_pairs;
    bool is_decided;       /* all(): an element was false; exists(): one was true */
    uint32_t cost;         /* fuel for a turn */
    const CelError *error; /* all(), exists(): the first one */
    union {
        CelValue *items;   /* what map() and filter() build */
        CelEntry *entries; /* what transformMap() builds */
    };
    uint32_t n_built, room;
    struct CelLoop *below; /* the loop that ran when this one began */
    struct CelLoop *outer; /* the loop of the same level that this one hides */
} CelLoop;

/* Before the first turn. An error when @range is neither a list nor a map. */
CelValue cel_loop_begin(CelLoop *loop, const CelLoopCode *code, CelValue range, CelRun *run);

/* The next element into the variables: a list's element, with its index before it if there are two;
 * a map's key, and its value. The caller checked that there is one. */
CelValue cel_loop_next(CelLoop *loop, CelRun *run);

CelValue cel_loop_add_item(CelLoop *loop, CelValue v, CelRun *run);

/* An entry under the loop's first variable. */
CelValue cel_loop_add_entry(CelLoop *loop, CelValue v, CelRun *run);

/* transformMapEntry(): all entries of the map @v. */
CelValue cel_loop_add_entries(CelLoop *loop, CelValue v, CelRun *run);

/* The final result of all() or exists(). A decided one ignores errors. */
static inline CelValue cel_loop_verdict(const CelLoop *loop, bool is_all) {
    if (!loop->is_decided && loop->error)
        return (CelValue){.kind = CEL_ERROR, .error = loop->error};
    return cel_bool(loop->is_decided != is_all);
}
