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

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/quantity.h"
#include "base/str.h"
#include "model/resources.h"
#include "json/read.h"

typedef struct Amount {
    Str name;
    Quantity quantity;
} Amount;

typedef struct Amounts {
    size_t n;
    Amount items[RESOURCES_MAX]; /* each name once */
} Amounts;

/* Reads an object of quantities into @ret, replacing what was there. False: some were left
 * out. */
bool amounts_decode(JsonReader *reader, Arena *arena, Amounts *ret);

/* NULL when absent. */
const Amount *amounts_find(const Amounts *amounts, Str name);

/* Sets, adds, or takes the larger of, one amount. False: it was left out, and it was not
 * nothing. */
bool amounts_set(Amounts *amounts, Amount amount);
bool amounts_add(Amounts *amounts, Amount amount);
bool amounts_max(Amounts *amounts, Amount amount);

/* The same for each amount of @other. */
bool amounts_add_all(Amounts *amounts, const Amounts *other);
bool amounts_max_all(Amounts *amounts, const Amounts *other);

/* In kube-scheduler's units. 0, or -ENOMEM. */
int amounts_round(const Amounts *amounts, Arena *arena, Resources *ret);
