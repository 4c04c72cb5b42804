#pragma once

/*
 * Column: one value of an expression for each of many rows.
 *
 * A column has a lane, which says how its values are stored, and a state for each row: fine,
 * an error (which one is not kept: who wants to tell it runs the scalar machine on that
 * row), or odd. Odd is a row that the lane cannot hold or the kernel cannot decide (a timestamp
 * beyond the year 2262, a value of another kind than was declared): it is worked out again,
 * alone, by the scalar machine. Nothing else is ever guessed.
 *
 * In the lane BOOL the state is the value.
 *
 * Strings are codes: numbers of the entries of a dictionary, one for each block of rows
 * (plan.h: CelKept), in which each distinct string stands once. What is the same function of
 * a string for all rows is computed once for each entry.
 */

#include <stddef.h>
#include <stdint.h>

#include "cel/type.h"
#include "cel/value.h"

typedef enum CelLane {
    CEL_LANE_BOOL,   /* states only */
    CEL_LANE_INT,    /* int, and duration in nanoseconds */
    CEL_LANE_DOUBLE, /* double */
    CEL_LANE_TIME,   /* timestamp, in nanoseconds since 1970 */
    CEL_LANE_TEXT,   /* string, as codes */
    CEL_LANE_NONE,   /* none of these: the scalar machine's */
} CelLane;

/* States. */
enum {
    CEL_STATE_FALSE = 0,
    CEL_STATE_FINE = 0, /* lanes other than BOOL */
    CEL_STATE_TRUE = 1,
    CEL_STATE_ERROR = 2,
    CEL_STATE_ODD = 3,
};

/* Each distinct string once; immutable. */
typedef struct CelDictionary {
    uint32_t n;
    const CelValue *values; /* strings */
} CelDictionary;

typedef struct CelColumn {
    CelLane lane;
    uint8_t *states; /* NULL: all fine (never NULL in lane BOOL) */
    union {
        int64_t *ints; /* INT, TIME */
        double *doubles;
        uint16_t *codes; /* TEXT */
    };
    const CelDictionary *dictionary; /* TEXT, when one serves the whole column */
} CelColumn;

/* The lane that holds values of @type, or CEL_LANE_NONE. */
CelLane cel_lane_of(const CelType *type);
