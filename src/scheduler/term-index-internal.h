#pragma once

/* TermIndex while it is filled: term-index.c, and term-spread.c for spread constraints. */

#include "base/map.h"
#include "base/vec.h"
#include "scheduler/term-index.h"

#define ROWS STR("\x1f") /* as a topology key: each node is a domain */

/* Terms that select pods of one owner. */
typedef struct OwnerTerms {
    VEC(uint32_t) terms;
} OwnerTerms;

struct TermIndex {
    Arena *arena, *scratch; /* scratch: of one term */
    Map numbers;            /* text of a term to its number */
    VEC(Term) terms;
    VEC(uint32_t) tried; /* terms without an owner */
    Map owner_numbers;
    VEC(OwnerTerms) owners;
    bool has_spread;
    Map key_numbers;
    VEC(Str) keys;
    TermDomains *domains; /* by key */
    Map read_labels;      /* label keys that terms read */
    Map kind_numbers;
    VEC(PodKind) kinds; /* the first one: of pods that no term selects */
    RelatedObjects namespaces;
    Buf text;
};

/* A term to be: those from @first on must all select a pod. */
typedef struct TermSource {
    const Pod *pod;
    const PodAffinityTerm *first;
    size_t n;
    Str key;
    bool is_spread;
    bool by_owner; /* only pods with the same controller */
} TermSource;

/* 0; 1: there are too many; or -ENOMEM. */
int term_index_number(TermIndex *index, const TermSource *source, uint32_t *ret) MUST_CHECK;

/* The number of the key, or -ENOMEM. */
int term_index_number_key(TermIndex *index, Str key) MUST_CHECK;
