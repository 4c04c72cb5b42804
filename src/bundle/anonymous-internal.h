#pragma once

/* Anonymous, from the inside: for anonymous.c and anonymous-object.c. */

#include "base/map.h"
#include "base/vec.h"
#include "bundle/anonymous.h"
#include "model/workload.h"

struct Anonymous {
    Arena *arena;  /* all texts */
    Arena *object; /* of the object that was shown last */
    uint64_t salt[2];
    Map kept;       /* words that stay */
    Map known;      /* names to a place in ... */
    VEC(Str) shown; /* ... what they are shown as */
};

/* One of @list, which ends with NULL. */
bool anonymous_is_listed(Str text, const char *const *list);

Str anonymous_kind(Anonymous *anonymous, Str kind);

/* The name of the pod's owner. */
Str anonymous_owner(Anonymous *anonymous, const Pod *pod);
