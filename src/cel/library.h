#pragma once

/*
 * Library: functions that expressions can call, as tables.
 *
 * A library is a table of overloads; the environment (env.h) reads their signatures once. A
 * function receives values of the kinds it declared (elements may be dyn), never an error or
 * CEL_ABSENT. It is pure: the same arguments give the same result.
 *
 *     {"substring", "string.(int, int) -> string", substring_range},
 *     {"math.sqrt", "(double) -> double", math_sqrt},
 *     {"_+_", "(int, int) -> int", add_int, .op = OP_ADD_INT},
 */

#include "cel/run.h"
#include "cel/value.h"

/* @args has the declared number of values, the receiver first. @prepared is the result of the
 * overload's prepare() for its constant argument, or NULL. Returns a value or an error. */
typedef CelValue CelFunction(CelRun *run, const CelValue *args, const void *prepared);

/* The head of a library function; few use all three parameters. */
#define CEL_FUNCTION(name)                                                                         \
    static CelValue name(CelRun *run, const CelValue *args, const void *prepared)

/* The head of a function that is charged for reading @bytes before it runs. */
#define CEL_CHARGED(name, bytes)                                                                   \
    CEL_FUNCTION(name##_charged);                                                                  \
    CEL_FUNCTION(name) {                                                                           \
        return cel_charge_bytes(run, (bytes)) ? name##_charged(run, args, prepared)                \
                                              : cel_exhausted(run);                                \
    }                                                                                              \
    CEL_FUNCTION(name##_charged)

/* A library function that is a single expression. */
#define CEL_RETURNS(name, ...)                                                                     \
    CEL_FUNCTION(name) {                                                                           \
        return __VA_ARGS__;                                                                        \
    }

/* Work on a constant argument, done once when the expression is compiled: a pattern, a time zone.
 * The result is in @arena, lives as long as the program, and is read by several threads. NULL: not
 * possible, with the reason in @ret_error (with validation on, an error of the expression); the
 * function then uses the argument at run time. */
typedef const void *CelPrepare(CelValue argument, Arena *arena, Str *ret_error);

/* How the cost of a call grows with its arguments (cost.h). */
typedef enum CelCost {
    CEL_COST_CALL,     /* 1, for any arguments */
    CEL_COST_BYTES,    /* 0.1 per byte of the first argument */
    CEL_COST_BOTH,     /* 0.1 per byte or element of the first two; of the shorter for bool */
    CEL_COST_PRODUCT,  /* size of the first × size of the second: sets, flatten */
    CEL_COST_REGEX,    /* 0.1 per byte of the text × 0.25 per byte of the pattern */
    CEL_COST_ELEMENTS, /* 1 per element of the first argument */
    CEL_COST_SQUARE,   /* elements²: distinct, sort */
} CelCost;

/* The size of a result, for the cost of its users. */
typedef enum CelResultSize {
    CEL_SIZE_TYPE,    /* only its type is known */
    CEL_SIZE_FIRST,   /* at most that of the first argument: substring, sort */
    CEL_SIZE_SUM,     /* the sum of the first two: + */
    CEL_SIZE_PRODUCT, /* first × second: replace, join (an upper bound) */
    CEL_SIZE_TWICE,   /* at most twice the first and 2 more: quote, base64 */
} CelResultSize;

typedef struct CelOverloadSpec {
    const char *name;
    const char *signature; /* "RECEIVER.(A, B) -> R" or "(A, B) -> R" */
    CelFunction *fn;       /* NULL: declared only; calling it is an error */
    uint16_t op;           /* the machine's own instruction for it (opcode.h); 0: none */
    uint8_t cost;          /* CelCost */
    uint8_t result_size;   /* CelResultSize */
    CelPrepare *prepare;   /* may be NULL */
    uint8_t prepare_arg;   /* which argument it is for */
    bool is_literal; /* Kubernetes checks it at compile time when all arguments are constant: a
                        failure is an error of the expression */
    bool any_kinds;  /* if the checker does not know the kinds, only the first argument's is checked
                        before the call; @fn and @op check the rest: [1][dyn(0u)] */
    bool reads_text; /* reads the characters of strings or orders them, so renaming objects
                        (anonymized bundles) can change its result, unlike == and in */
} CelOverloadSpec;

/* For a row: how its cost and the size of its result grow. */
#define CEL_SIZED(cost_, size_) .cost = CEL_COST_##cost_, .result_size = CEL_SIZE_##size_

/* For a row: it reads the characters of its first argument. */
#define CEL_READS .cost = CEL_COST_BYTES, .reads_text = true

typedef struct CelLibrary {
    const char *name;
    const CelOverloadSpec *overloads;
    size_t n_overloads;
} CelLibrary;

/* All libraries, as cel_NAME_library. */
#define CEL_LIBRARIES(X)                                                                           \
    X(operators), X(conversions), X(standard), X(strings), X(format), X(lists), X(sets),           \
        X(optional), X(math), X(statistics), X(hash), X(encoders), X(json), X(time), X(regex),     \
        X(quantity), X(semver), X(net), X(url), X(formats)

#define X(name) cel_##name##_library
extern const CelLibrary CEL_LIBRARIES(X);
#undef X

/* The same, terminated by NULL. */
extern const CelLibrary *const cel_libraries[];

/* Whether @spec is one of @library's: a host may have a function of the same name. */
static inline bool cel_library_has(const CelLibrary *library, const CelOverloadSpec *spec) {
    for (size_t i = 0; i < library->n_overloads; i++) {
        if (&library->overloads[i] == spec)
            return true;
    }
    return false;
}

/* json.decode() without its limits: JSON as a value, whose strings may be slices of @text. Errors
 * begin with @name. */
CelValue cel_json_decode(CelRun *run, Str text, const char *name);

#define CEL_LIBRARY(variable, title, table)                                                        \
    const CelLibrary variable = {                                                                  \
        .name = (title),                                                                           \
        .overloads = (table),                                                                      \
        .n_overloads = sizeof(table) / sizeof((table)[0]),                                         \
    }
