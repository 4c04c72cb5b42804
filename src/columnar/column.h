#pragma once

/*
 * Column: one value of an expression for each of many rows.
 *
 * The lane defines how values are stored. Each row has a state: OK; ERROR (the scalar machine can
 * find out which); or FALLBACK: the lane cannot hold the value or the kernel cannot compute it (a
 * timestamp beyond 2262, a value of another kind than declared), so the scalar machine computes it
 * again. In lane BOOL the state is the value.
 *
 * Strings are codes: indexes into a dictionary of the block (PlanBlock), which has each distinct
 * string once. A function that reads only one string is computed once per distinct string.
 */

#include "cel/type.h"
#include "cel/value.h"

typedef enum ColumnLane {
    LANE_BOOL,   /* states only */
    LANE_INT,    /* int, and duration in nanoseconds */
    LANE_DOUBLE, /* double */
    LANE_TIME,   /* timestamp, in nanoseconds since 1970 */
    LANE_TEXT,   /* string, as codes */
    LANE_NONE,   /* none of these: for the scalar machine */
} ColumnLane;

/* States. */
enum {
    COLUMN_FALSE = 0,
    COLUMN_OK = 0, /* lanes other than BOOL */
    COLUMN_TRUE = 1,
    COLUMN_ERROR = 2,
    COLUMN_FALLBACK = 3,
};

/* Each distinct string once; immutable. */
typedef struct Dictionary {
    uint32_t n;
    const CelValue *values; /* strings */
} Dictionary;

typedef struct Column {
    ColumnLane lane;
    uint8_t *states; /* NULL: all fine (never NULL in lane BOOL) */
    union {
        int64_t *ints; /* INT, TIME */
        double *doubles;
        uint16_t *codes; /* TEXT */
    };
    const Dictionary *dictionary; /* TEXT, when one serves the whole column */
} Column;

/* The lane that holds values of @type, or LANE_NONE. */
ColumnLane column_lane_of(const CelType *type);

/* The state of @v in a column of values of @kind: ERROR if it is one; FALLBACK for another kind, or
 * an error that ends the scalar machine's run. */
uint8_t column_state_of(CelKind kind, CelValue v);

/* Writes entry @i of a column whose values are of @kind; not for strings. @column has states. */
void column_set(Column *column, size_t i, CelKind kind, CelValue v);

/* Entry @i, which must not be FALLBACK, as a value; column_error() if it is ERROR. Not for
 * strings. */
CelValue column_get(const Column *column, size_t i, CelKind kind);

/* The value that stands for every ERROR: columns do not keep the text of errors. */
CelValue column_error(void);

/* Whether any of @n states (NULL: none) is not OK. */
bool column_has_states(const uint8_t *states, size_t n);
