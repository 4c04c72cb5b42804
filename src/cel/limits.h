#pragma once

/* Limits on the size of expressions and values. Limits of a single step are in its own header:
 * lower.c, format.h, explain.h. */

#define CEL_SOURCE_MAX (10 * 1024) /* bytes of an expression, as in Kubernetes */
#define CEL_NODES_MAX 10000        /* nodes of a tree */
#define CEL_NESTING_MAX 100        /* nested brackets, calls, conditionals */
#define CEL_LOOPS_MAX 8            /* nested loops */
#define CEL_TYPE_DEPTH_MAX 64      /* list(list(… */
#define CEL_TYPE_PARAMS_MAX 8      /* parameters of a type, and of a signature */
#define CEL_TYPE_WEIGHT_MAX 500    /* types inside of one: map(list(int), dyn) has 4 */
#define CEL_TYPE_STEPS_MAX 100000  /* steps to compare types, per checked expression */
#define CEL_VALUE_DEPTH_MAX 128    /* nested lists and maps */
#define CEL_ARGS_MAX 8             /* parameters of a declared function */
#define CEL_REGEX_MAX 2000         /* instructions of a compiled pattern */
#define CEL_JSON_MAX 262144      /* bytes of a text for json.decode: all annotations of an object */
#define CEL_BETA_MAX 1e8         /* a and b of math.betaInc */
#define CEL_BETA_STEPS_MAX 20000 /* terms of its continued fraction; 1e8 needs some thousand */

/* The default budget of one evaluation. */
#define CEL_FUEL_DEFAULT 1000000
#define CEL_MEMORY_DEFAULT (16u * 1024 * 1024)
