#pragma once

/*
 * Amounts: exact quantities by resource name, while they are still being summed.
 *
 * kube-scheduler adds quantities and rounds the total, so two containers of 0.5m
 * cpu ask for 1m, not for 2m. Resources are what is left after rounding.
 *
 * A fixed array: nothing to allocate, and what a document can make grow ends at
 * RESOURCES_MAX. When all places are taken an amount of nothing (0 or less) gives way to
 * another name; where there is none, the new one is left out.
 */

#include "base/quantity.h"
#include "model/resources.h"
#include "json/fields.h"

typedef struct Amount {
    Str name;
    Quantity quantity;
} Amount;

/* As many as there are. To Kubernetes {} and null are two things here. */
typedef struct AmountList {
    const Amount *items;
    size_t n;
    bool is_given;
    bool is_cut; /* some were left out */
} AmountList;

/* The resources of a container or of a pod as a whole. */
typedef struct ResourceRequirements {
    AmountList requests, limits;
} ResourceRequirements;

/* 2 KB, of which a pod uses 100 bytes: a SCRATCH variable, set by amounts_clear(). */
typedef struct Amounts {
    size_t n;
    bool is_cut; /* since amounts_clear(): one was left out, and it was not nothing */
    Amount items[RESOURCES_MAX]; /* each name once */
} Amounts;

/* They as a list, borrowed. */
#define AMOUNTS_LIST(amounts)                                                                      \
    (&(AmountList){.items = (amounts)->items, .n = (amounts)->n, .is_cut = (amounts)->is_cut})

static inline void amounts_clear(Amounts *amounts) {
    amounts->n = 0;
    amounts->is_cut = false;
}

/* Reads an object of quantities into @ret, replacing its contents. */
void amounts_decode(JsonReader *reader, Arena *arena, Amounts *ret);

/* The same into an AmountList; and an object of two such, into ResourceRequirements. */
JsonRead amount_list_decode, resource_requirements_decode;

/* In @arena; out of memory is an error of the reader. */
AmountList amount_list_keep(JsonReader *reader, Arena *arena, const Amounts *amounts);

typedef enum AmountsRule {
    AMOUNTS_SET,
    AMOUNTS_ADD,
    AMOUNTS_MAX, /* the larger of both */
} AmountsRule;

/* Sets, adds, or takes the larger of, an amount. */
void amounts_put(Amounts *amounts, Amount amount, AmountsRule rule);

/* The same of all amounts of a list; what was left out there is left out here. */
void amounts_put_list(Amounts *amounts, const AmountList *list, AmountsRule rule);

/* NULL when absent. */
const Amount *amount_list_find(const AmountList *list, Str name);

/* In kube-scheduler's units. 0, or -ENOMEM. */
int amount_list_round(const AmountList *list, Arena *arena, Resources *ret);
