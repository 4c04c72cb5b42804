#pragma once

/* Run: one evaluation and its limits. It allocates from its arena, whose budget bounds memory. Fuel
 * bounds time: one unit per instruction of a loop, per element read, per eight bytes copied or
 * compared. Running out is an error that || does not absorb. A Run belongs to one thread; set it up
 * with CEL_RUN() on the stack. */

#include "cel/limits.h"
#include "cel/value.h"

typedef struct CelZones CelZones; /* zone.h */
typedef struct CelTrace CelTrace; /* code.h */

struct CelRun {
    Arena *arena;
    int64_t fuel;
    const CelZones *zones; /* time zones by name; NULL: UTC and fixed offsets only */
    CelTrace *trace;       /* NULL: not traced */
    const CelError *limit; /* the limit that ended the run: out of fuel or memory */
    CelError over; /* storage for that error, because there may be no memory for one; valid as long
                      as the run */
};

#define CEL_RUN(in_arena) ((CelRun){.arena = (in_arena), .fuel = CEL_FUEL_DEFAULT})

/* Takes @n units. False when fewer are left; the run has ended: return cel_exhausted(). */
static inline bool cel_charge(CelRun *run, uint64_t n) {
    if ((uint64_t)run->fuel < n) { /* fuel is never negative */
        run->fuel = 0;
        return false;
    }
    run->fuel -= (int64_t)n;
    return true;
}

/* Reading up to this many bytes is part of the instruction and costs nothing more. */
#define CEL_FREE_BYTES 64

/* Finding the fewest digits of a double takes as long as copying some hundred bytes. */
#define CEL_DOUBLE_FUEL 40

/* Like cel_charge(), for @bytes copied, compared or searched. */
static inline bool cel_charge_bytes(CelRun *run, size_t bytes) {
    return cel_charge(run, 1 + bytes / 8);
}

/* An error value. Never fails: when out of memory it returns the out-of-memory error. @format is a
 * literal; its arguments are copied. */
CelValue cel_fail(CelRun *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same from an existing text and a hint, which may be empty. Both are copied. */
CelValue cel_fail_hint(CelRun *run, Str text, Str hint);

/* The start of @text for an error message: 64 bytes at most, not cut inside a code point. */
Str cel_excerpt(Str text);

/* "no such overload": the error of every function for wrong kinds. */
CelValue cel_no_overload(CelRun *run);

/* "no such key: zone", with the hint on has() and optional access. */
CelValue cel_no_such_key(CelRun *run, CelValue key);

/* "metric load is absent": the same with another noun than "key". */
CelValue cel_no_such_thing(CelRun *run, const char *what, Str name);

/* Errors that end the run; nothing absorbs them. */
CelValue cel_exhausted(CelRun *run); /* fuel */
CelValue cel_no_memory(CelRun *run);

/* Charges like cel_charge(), for functions that return no value: false, and run->limit is set. */
static inline bool cel_pay(CelRun *run, uint64_t n) {
    return cel_charge(run, n) || cel_exhausted(run).kind != CEL_ERROR;
}

/* The out-of-memory error, for an evaluation in @arena that could not begin. Static. */
const CelError *cel_memory_error(const Arena *arena);

/* The error that ended the run (run->limit is set): for callers of cel_equal(), which returned
 * false. */
static inline CelValue cel_limit(const CelRun *run) {
    return (CelValue){.kind = CEL_ERROR, .error = run->limit};
}

/* Room for @size bytes, or NULL: return cel_no_memory(). Charges nothing. */
void *cel_alloc(CelRun *run, size_t size) MUST_CHECK;

/* Memory for a string of @len bytes, which is charged. NULL: the error is in @ret_error. */
char *cel_text_begin(CelRun *run, size_t len, CelValue *ret_error) MUST_CHECK;

/* A string of the run: copied, and charged. An error value when it does not fit. */
CelValue cel_make_string(CelRun *run, Str text);
CelValue cel_make_bytes(CelRun *run, Str bytes);

/* A copy of @size bytes at @opaque, as a value of a library's own kind. */
CelValue cel_make_opaque(CelRun *run, CelKind kind, const void *opaque, size_t size);

/* optional.of(@v). */
CelValue cel_make_optional(CelRun *run, CelValue v);

/* Room for @n items, to fill and pass to cel_list_end(). NULL: return cel_no_memory(). */
CelValue *cel_list_begin(CelRun *run, size_t n) MUST_CHECK;
/* The list of the first @n of @items (fewer than were begun are fine). Computes its depth; an error
 * when it is too deep. Charges one unit per item; for maps too. */
CelValue cel_list_end(CelRun *run, const CelValue *items, size_t n);

/* The same for maps. An error when two keys are equal (1 and 1u are) or a key is of a kind
 * that maps do not have. */
CelEntry *cel_map_begin(CelRun *run, size_t n) MUST_CHECK;
CelValue cel_map_end(CelRun *run, CelEntry *entries, size_t n);
