#pragma once

/*
 * Amounts: exact quantities by resource name, while they are still being summed.
 *
 * kube-scheduler adds quantities and rounds the total, so two containers of 0.5m
 * cpu request 1m, not 2m. Resources are the rounded amounts.
 *
 * A fixed array of RESOURCES_MAX, so that nothing is allocated and a document cannot
 * make it grow. When it is full, a new name replaces an amount of 0 or less; if there is
 * none, the new name is left out.
 */

#include "base/quantity.h"
#include "model/resources.h"
#include "json/fields.h"

typedef struct Amount {
    Str name;
    Quantity quantity;
} Amount;

/* An array of exactly its length. Kubernetes distinguishes {} (is_given) from null. */
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
    bool is_cut;                 /* an amount over 0 was left out since amounts_clear() */
    Amount items[RESOURCES_MAX]; /* each name once */
} Amounts;

/* @amounts as an AmountList that borrows them. */
#define AMOUNTS_LIST(amounts)                                                                      \
    (&(AmountList){.items = (amounts)->items, .n = (amounts)->n, .is_cut = (amounts)->is_cut})

static inline void amounts_clear(Amounts *amounts) {
    amounts->n = 0;
    amounts->is_cut = false;
}

/* Reads an object of quantities into @ret, replacing its contents. */
void amounts_decode(JsonReader *reader, Arena *arena, Amounts *ret);

/* Read such an object into an AmountList, and {requests, limits} into ResourceRequirements. */
JsonRead amount_list_decode, resource_requirements_decode;

/* A copy of @amounts in @arena; out of memory is an error of the reader. */
AmountList amount_list_keep(JsonReader *reader, Arena *arena, const Amounts *amounts);

typedef enum AmountsRule {
    AMOUNTS_SET,
    AMOUNTS_ADD,
    AMOUNTS_MAX, /* the larger of both */
} AmountsRule;

/* Sets, adds, or takes the larger of, an amount. */
void amounts_put(Amounts *amounts, Amount amount, AmountsRule rule);

/* The same for all amounts of @list; passes on its is_cut. */
void amounts_put_list(Amounts *amounts, const AmountList *list, AmountsRule rule);

/* NULL when absent. */
const Amount *amount_list_find(const AmountList *list, Str name);

/* Rounds @list to kube-scheduler's units; items of @ret are in @arena. 0, or -ENOMEM. */
int amount_list_round(const AmountList *list, Arena *arena, Resources *ret);
