#pragma once

/*
 * Roll: names of nodes by number, for what is remembered about them.
 *
 * Rows of a cluster change hands, and requests without a cluster have no rows at all; a
 * number of a roll means one name for as long as the roll lives. It only grows. Whoever
 * remembers numbers holds a reference; when too many names in it are of nodes long gone,
 * a new roll is begun and the old one goes with the last that refers to it.
 *
 * Threads: references from any; everything else under the lock of its owner. A name, once
 * taken out, may be read without it for as long as the roll is referenced.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/intern.h"
#include "base/ref.h"
#include "base/str.h"

#define ROLL_NONE 0u /* numbers begin at 1 */

/* No node has a longer name; those that are longer get no number. */
#define ROLL_NAME_MAX 253u

#define ROLL_BUDGET ((size_t)32 * 1024 * 1024)

typedef struct Roll {
    Ref ref;
    Arena *arena;
    Intern names;
    size_t n_users;   /* for its owner: how many things that are kept refer to it */
    size_t n_counted; /* for its owner: bytes of it that are accounted for */
} Roll;

Roll *roll_new(void); /* NULL when out of memory */
Roll *roll_ref(Roll *roll);
Roll *roll_unref(Roll *roll); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Roll *, roll_unref)

/* The number of @name, new or old; ROLL_NONE when it has none and can get none. */
uint32_t roll_add(Roll *roll, Str name);

static inline uint32_t roll_find(const Roll *roll, Str name) {
    return intern_find(&roll->names, name);
}

static inline Str roll_name(const Roll *roll, uint32_t number) {
    return intern_get(&roll->names, number);
}

/* Numbers are up to this one. */
static inline size_t roll_size(const Roll *roll) {
    return roll->names.strings.n;
}

/* What it holds of memory. */
static inline size_t roll_bytes(const Roll *roll) {
    return sizeof(*roll) + arena_size(roll->arena);
}
