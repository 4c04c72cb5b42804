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

/* Amounts are 2 KB, of which a pod uses 100 bytes, and no more than is filled is read. Zeroing
 * each (-ftrivial-auto-var-init) would be 7 % of the time it takes to read a pod. */
#if __has_attribute(uninitialized)
#define SCRATCH __attribute__((uninitialized))
#else
#define SCRATCH
#endif

typedef struct Amounts {
    size_t n;
    Amount items[RESOURCES_MAX]; /* each name once */
} Amounts;

/* Reads an object of quantities into @ret, replacing its contents. False: some were left out. */
bool amounts_decode(JsonReader *reader, Arena *arena, Amounts *ret);

/* The same into an AmountList. */
JsonRead amount_list_decode;

/* In @arena; out of memory is an error of the reader. */
AmountList amount_list_keep(JsonReader *reader, Arena *arena, const Amounts *amounts, bool is_cut);

/* NULL when absent. */
const Amount *amounts_find(const Amounts *amounts, Str name);

typedef enum AmountsRule {
    AMOUNTS_SET,
    AMOUNTS_ADD,
    AMOUNTS_MAX, /* the larger of both */
} AmountsRule;

/* Sets, adds, or takes the larger of, each of @n amounts. False: one was left out, and it was not
 * nothing. */
bool amounts_put(Amounts *amounts, const Amount *items, size_t n, AmountsRule rule);
bool amounts_set(Amounts *amounts, Amount amount);
static inline bool amounts_put_all(Amounts *amounts, const Amounts *other, AmountsRule rule) {
    return amounts_put(amounts, other->items, other->n, rule);
}

/* The same of a list. False also if something was left out when the list was read. */
static inline bool amounts_put_list(Amounts *amounts, const AmountList *list, AmountsRule rule) {
    return amounts_put(amounts, list->items, list->n, rule) && !list->is_cut;
}

/* NULL when absent. */
const Amount *amount_list_find(const AmountList *list, Str name);

/* In kube-scheduler's units. 0, or -ENOMEM. */
int amounts_round(const Amounts *amounts, Arena *arena, Resources *ret);
int amount_list_round(const AmountList *list, Arena *arena, Resources *ret);
