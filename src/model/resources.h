#pragma once

/*
 * Resources: amounts by resource name.
 *
 * Units as kube-scheduler counts them: cpu in thousandths of a core, everything
 * else in whole units (bytes, devices); fractions round up, too large saturates.
 */

#include "base/buf.h"
#include "base/quantity.h"
#include "json/fields.h"

/* Per object. Amounts over 0 replace amounts of 0; further ones are left out: a node then offers
 * less; for pods see model/pod.h. */
#define RESOURCES_MAX 64u

typedef struct Resource {
    Str name;
    int64_t amount;
} Resource;

typedef struct Resources {
    Resource *items; /* each name once; no particular order */
    size_t n;
} Resources;

/* Reads an object of quantities (strings or numbers) into Resources, at most RESOURCES_MAX; null is
 * empty. An invalid quantity is the reader's error. */
JsonRead resources_decode;

/* 0 when absent. */
int64_t resources_get(const Resources *resources, Str name);

/* NULL when absent. */
const Resource *resources_find(const Resources *resources, Str name);

/* A quantity in the units above, which depend on @name (cpu or not). */
int64_t resource_amount_of(Str name, Quantity quantity);

/* The same for a text. False, and @ret untouched, when @text is not a quantity. */
bool resource_amount_parse(Str name, Str text, int64_t *ret);

/* The quantity of an amount in these units. */
Quantity resource_quantity_of(Str name, int64_t amount);

/* "250m", "1.5" cores, "1.5Gi": for users. Appends nothing else. */
void resource_amount_print(Str name, int64_t amount, Buf *out);

/* The same in a form that reads back as the same amount: "250m", "1610612736". */
void resource_amount_print_exact(Str name, int64_t amount, Buf *out);
