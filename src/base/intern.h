#pragma once

/*
 * Intern: gives each distinct string a number (id).
 *
 * Ids are dense and start at 1; 0 means "absent", so that a column of ids needs
 * no second column for that. Equal ids mean equal strings, so comparing labels
 * of thousands of nodes is cheap.
 *
 * The strings are copied into the arena the interner was given and live as long
 * as it does.
 */

#include "base/map.h"
#include "base/vec.h"

#define INTERN_ABSENT 0u

typedef struct Intern {
    Arena *arena;
    Map map;
    VEC(Str) strings; /* by id - 1 */
} Intern;

#define INTERN_INIT_IN(where) ((Intern){.arena = (where), .map = MAP_INIT_IN(where)})

/* The id of @str, new or old; INTERN_ABSENT when out of memory or budget. */
uint32_t intern_add(Intern *intern, Str str) MUST_CHECK;

/* The id of @str, or INTERN_ABSENT when it was never added. */
uint32_t intern_find(const Intern *intern, Str str);

/* The string of @id, which must be valid. */
Str intern_get(const Intern *intern, uint32_t id);
