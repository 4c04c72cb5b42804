/*
 * A merge sort from the bottom up: runs of 1, 2, 4 … places are merged from one array of
 * numbers into the other. No recursion, stable, n log n comparisons whatever the keys.
 */
#include "cel/order.h"

bool cel_is_comparable(CelKind kind) {
    switch (kind) {
    case CEL_BOOL:
    case CEL_INT:
    case CEL_UINT:
    case CEL_DOUBLE:
    case CEL_STRING:
    case CEL_BYTES:
    case CEL_DURATION:
    case CEL_TIMESTAMP:
        return true;
    default:
        return false;
    }
}

uint64_t cel_compare_price(CelValue a, CelValue b) {
    uint32_t len = a.len < b.len ? a.len : b.len;

    return 1 + (a.kind == CEL_STRING || a.kind == CEL_BYTES ? len / 8 : 0);
}

/* Merges [from, middle) and [middle, to) of @in into the same places of @out. */
static bool merge(CelRun *run, const CelValue *keys, const uint32_t *in, uint32_t *out, size_t from,
    size_t middle, size_t to) {
    size_t left = from, right = middle;

    for (size_t at = from; at < to; at++) {
        bool take_right = left == middle;

        if (left < middle && right < to) {
            CelValue a = keys[in[left]], b = keys[in[right]];

            if (!cel_charge(run, cel_compare_price(a, b)))
                return false;
            take_right = cel_compare(b, a) == CEL_LESS; /* equal: the left one first */
        }
        out[at] = take_right ? in[right++] : in[left++];
    }
    return true;
}

const uint32_t *cel_order(CelRun *run, const CelValue *keys, uint32_t n, CelValue *ret_error) {
    uint32_t *in = cel_alloc(run, 2 * (size_t)n * sizeof(*in)), *out;

    if (!in) {
        *ret_error = cel_no_memory(run);
        return NULL;
    }
    out = in + n;
    for (uint32_t i = 0; i < n; i++)
        in[i] = i;
    for (size_t width = 1; width < n; width *= 2) {
        uint32_t *swap = in;

        for (size_t from = 0; from < n; from += 2 * width) {
            size_t middle = from + width < n ? from + width : n;
            size_t to = middle + width < n ? middle + width : n;

            if (!merge(run, keys, in, out, from, middle, to)) {
                *ret_error = cel_exhausted(run);
                return NULL;
            }
        }
        in = out;
        out = swap;
    }
    return in;
}
