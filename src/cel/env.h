#pragma once

/* Env: the names an expression can use: variables, functions with their overloads, record types,
 * and the container in which short names are looked up first. cel_env_new() declares the language
 * and its libraries; cel_env_extend() makes an environment that inherits from another. One thread
 * builds an Env; any number of threads read a finished one. */

#include "cel/library.h"
#include "cel/type.h"

typedef struct CelEnv CelEnv;

/* One function with one signature. */
typedef struct CelOverload {
    const CelOverloadSpec *spec;
    Str name;         /* the function's */
    bool is_receiver; /* args[0] is the receiver */
    uint8_t n_args;   /* receiver included */
    uint8_t n_params; /* type parameters in it; their PARAMs are numbered from 0 */
    const CelType *args[CEL_ARGS_MAX];
    const CelType *result;
} CelOverload;

typedef struct CelGraph CelGraph; /* graph.h */
typedef struct CelVariable CelVariable;

/* Adds the variable's expression to @graph. Returns its node; CEL_NO_NODE: out of memory. */
typedef uint32_t CelExpand(CelGraph *graph, const CelVariable *variable);

struct CelVariable {
    Str name; /* may have dots: "com.example.x" */
    const CelType *type;
    uint32_t slot;     /* its index in the array of values passed to a run */
    uint32_t max_size; /* bytes or elements at most, for the cost; 0: not known */
    uint8_t group;     /* 0 to 7, chosen by the host: variables that change together (graph.h) */
    bool is_constant;  /* has no slot: @value is known before any run, as for a type's name */
    CelValue value;
    CelExpand *expand; /* has no slot: replaced by another expression; NULL: an ordinary variable */
    const void *context; /* the host's, for expand() */
};

/* The language, its libraries and the names of its types. Everything lies in @arena. NULL
 * when out of memory. */
CelEnv *cel_env_new(Arena *arena) MUST_CHECK;

/* A new environment in @arena that inherits from @parent, which must outlive it. Slots of new
 * variables follow the parent's. */
CelEnv *cel_env_extend(const CelEnv *parent, Arena *arena) MUST_CHECK;

/* "com.example": x is first com.example.x, then com.x, then x. Copied. 0 or -ENOMEM. */
int cel_env_set_container(CelEnv *env, Str container) MUST_CHECK;

/* Declares a variable; the name is copied, @type borrowed. A name declared again hides the
 * older one. @ret_slot may be NULL. 0 or -ENOMEM, also if @type is NULL, so that
 * callers need not check the type they make. */
int cel_env_add_variable(CelEnv *env, Str name, const CelType *type, uint32_t max_size,
    uint8_t group, uint32_t *ret_slot) MUST_CHECK;

/* Declares a name whose value is known when an expression is compiled. Parts that depend only on it
 * are computed then, including fields of a record (its get() is called with a run of the compiler,
 * maybe more than once). The name is copied; @type and the data of @value must outlive everything
 * compiled with this environment. 0 or -ENOMEM, as above. */
int cel_env_add_constant(CelEnv *env, Str name, const CelType *type, CelValue value) MUST_CHECK;

/* Declares a name that stands for an expression; @expand adds it to each graph that uses the name.
 * The name is copied, the rest borrowed as above. 0 or -ENOMEM, as above. */
int cel_env_add_meaning(
    CelEnv *env, Str name, const CelType *type, CelExpand *expand, const void *context) MUST_CHECK;

/* Declares one more overload of a function; @spec is borrowed. 0, -ENOMEM, or CEL_ENV_BAD_SIGNATURE
 * when its signature cannot be read. */
#define CEL_ENV_BAD_SIGNATURE 1
int cel_env_add_overload(CelEnv *env, const CelOverloadSpec *spec) MUST_CHECK;

/* Makes a record's type known by its name; @record is borrowed. 0 or -ENOMEM. */
int cel_env_add_record(CelEnv *env, const CelRecordType *record) MUST_CHECK;

/* Raises the slot of the next new variable to @slot, if it is lower: for environments whose
 * expressions share a graph. */
void cel_env_skip_slots(CelEnv *env, uint32_t slot);

/* The number of slots that a run needs. */
uint32_t cel_env_n_slots(const CelEnv *env);

/* The variable with this full name; containers are ignored. NULL: not declared. */
const CelVariable *cel_env_variable(const CelEnv *env, Str name);

/* Whether there is a function @name with (or without) a receiver. */
bool cel_env_has_function(const CelEnv *env, Str name, bool is_receiver);

/* All overloads of @name, the parent's included; 0: no such function. */
size_t cel_env_overloads(const CelEnv *env, Str name, const CelOverload *const **ret);

Str cel_env_container(const CelEnv *env);

/* The type of a record by its name; NULL: none. */
const CelType *cel_env_record(const CelEnv *env, Str name);

/* @best (the result for other names) or @name: the one closer to @word; STR_NULL: neither is. */
Str cel_nearer(Str word, Str best, Str name);

/* The names most like @word, for "did you mean". STR_NULL: none. */
Str cel_env_nearest_variable(const CelEnv *env, Str word);
Str cel_env_nearest_function(const CelEnv *env, Str word, bool is_receiver);

/* Types and functions, read from text (signature.c): "list(T)", "string.(int, int) -> string",
 * "(list(T), T) -> bool"; also as the conformance vectors spell them: param(T), wrapper(int),
 * opaque(tuple, int), google.protobuf.Timestamp. @env knows the records; may be NULL. */

/* NULL when the text cannot be read, or when @arena is full. */
const CelType *cel_type_read(const CelEnv *env, Str text, Arena *arena);

/* Fills in all of @ret but its name and spec. False when the text cannot be parsed, or when @arena
 * is full (arena_has_failed()). */
bool cel_signature_read(const CelEnv *env, Str text, Arena *arena, CelOverload *ret);
