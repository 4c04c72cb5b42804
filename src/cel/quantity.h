#pragma once

/* A quantity in expressions: exact, with up to 68 digits before the point. A greater one is an
 * error "out of range"; nothing saturates, except that Kubernetes itself caps an amount with a
 * binary suffix at 2^63-1 when it is read. */

#include "base/buf.h"
#include "base/quantity.h"

#define CEL_QUANTITY_LIMBS 4

typedef struct CelQuantity {
    uint64_t limbs[CEL_QUANTITY_LIMBS]; /* nano-units without sign, the lowest first */
    bool is_negative;                   /* never for 0 */
    uint8_t format;                     /* QuantityFormat */
} CelQuantity;

#define CEL_QUANTITY_INVALID 1 /* no quantity */
#define CEL_QUANTITY_RANGE 2   /* too great */

/* 0 or one of the two; then @ret is undefined. */
int cel_quantity_parse(Str text, CelQuantity *ret) MUST_CHECK;

CelQuantity cel_quantity_from_int(int64_t value);
CelQuantity cel_quantity_from_quantity(Quantity quantity, QuantityFormat format);

/* -1, 0, 1; by the number, in any format. */
int cel_quantity_sign(const CelQuantity *amount);
int cel_quantity_cmp(const CelQuantity *a, const CelQuantity *b);

/* Returns false if out of range. The result has the format of @a, of @b when @a is 0. */
bool cel_quantity_add(const CelQuantity *a, const CelQuantity *b, CelQuantity *ret) MUST_CHECK;
bool cel_quantity_sub(const CelQuantity *a, const CelQuantity *b, CelQuantity *ret) MUST_CHECK;

/* Returns false if it is not a whole number, or not within 64 bits. */
bool cel_quantity_to_int(const CelQuantity *amount, int64_t *ret);

/* The nearest double; ties to even. */
double cel_quantity_to_double(const CelQuantity *amount);

/* In canonical form, as apimachinery writes it: the greatest suffix of its family that leaves
 * no fraction ("1Gi" for 1024Mi, "1500m" for 1.5); binary ones only from 1Ki on and for
 * whole numbers, decimal ones otherwise. */
void cel_quantity_print(const CelQuantity *amount, Buf *out);
