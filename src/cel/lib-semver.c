/*
 * Versions, as Kubernetes' library of the same name has them. A value is a CelSemver
 * (semver.h) together with the text its last parts point into.
 */
#include <string.h>

#include "cel/library.h"
#include "cel/semver.h"

/* Reading a byte, and checking identifiers, takes as long as copying so many. */
#define READ_BYTES ((size_t)4)

static const CelSemver *semver_of(CelValue v) {
    return v.opaque;
}

/* One piece of memory: the version, then its text. */
static CelValue make_semver(CelRun *run, Str text, bool normalise, const CelSemver *version) {
    CelSemver *copy = cel_alloc(run, sizeof(*copy) + text.len);

    if (!copy)
        return cel_no_memory(run);
    *copy = *version;
    if (version->pre.len + version->build.len > 0) {
        char *at = (char *)(copy + 1);

        memcpy(at, text.ptr, text.len);
        (void)cel_semver_parse(str_of(at, text.len), normalise, copy, NULL); /* it did before */
    }
    return cel_opaque(CEL_SEMVER, copy);
}

static CelValue from_text(CelRun *run, Str text, bool normalise) {
    CelSemver version;
    const char *why;

    if (!cel_charge_bytes(run, READ_BYTES * text.len))
        return cel_exhausted(run);
    if (!cel_semver_parse(text, normalise, &version, &why))
        return cel_fail(
            run, "\"%.*s\" is not a semantic version: %s", STR_FMT(cel_excerpt(text)), why);
    return make_semver(run, text, normalise, &version);
}

CEL_RETURNS(semver_from_string, from_text(run, cel_str(args[0]), /* normalise= */ false))
CEL_RETURNS(semver_normalised, from_text(run, cel_str(args[0]), args[1].boolean))

static CelValue is_text(CelRun *run, Str text, bool normalise) {
    CelSemver version;

    if (!cel_charge_bytes(run, READ_BYTES * text.len))
        return cel_exhausted(run);
    return cel_bool(cel_semver_parse(text, normalise, &version, NULL));
}

CEL_RETURNS(is_semver, is_text(run, cel_str(args[0]), /* normalise= */ false))
CEL_RETURNS(is_semver_normalised, is_text(run, cel_str(args[0]), args[1].boolean))

/* Numbers of a version have 64 bits, an int has one fewer. (Kubernetes wraps around.) */
static CelValue number_of(CelRun *run, CelValue v, size_t i) {
    uint64_t number = semver_of(v)->numbers[i];

    if (number > INT64_MAX)
        return cel_fail(run, "version number out of range of int");
    return cel_int((int64_t)number);
}

CEL_RETURNS(semver_major, number_of(run, args[0], 0))
CEL_RETURNS(semver_minor, number_of(run, args[0], 1))
CEL_RETURNS(semver_patch, number_of(run, args[0], 2))

/* What comparing looks at. Identifiers are cut and judged one by one, which takes longer than
 * comparing bytes: they count four times. */
static size_t semver_size(const void *opaque) {
    return 4 * ((const CelSemver *)opaque)->pre.len;
}

/* Compares, or fails when the run cannot pay for pre-releases that long. */
CEL_FUNCTION(semver_compare) {
    const CelSemver *a = semver_of(args[0]), *b = semver_of(args[1]);
    size_t in_a = semver_size(a), in_b = semver_size(b);

    if (!cel_charge_bytes(run, in_a < in_b ? in_a : in_b))
        return cel_exhausted(run);
    return cel_int(cel_semver_cmp(a, b));
}

CEL_FUNCTION(semver_is_less) {
    CelValue order = semver_compare(run, args, prepared);

    return order.kind == CEL_INT ? cel_bool(order.i < 0) : order;
}

CEL_FUNCTION(semver_is_greater) {
    CelValue order = semver_compare(run, args, prepared);

    return order.kind == CEL_INT ? cel_bool(order.i > 0) : order;
}

static bool semver_equal(const void *a, const void *b) {
    return cel_semver_cmp(a, b) == 0;
}

static void semver_print(const void *opaque, Buf *out) {
    buf_append(out, STR("semver(\""));
    cel_semver_print(opaque, out);
    buf_append(out, STR("\")"));
}

const CelOpaque cel_semver_opaque = {
    .equal = semver_equal, .size = semver_size, .print = semver_print};

#define V "kubernetes.Semver"

static const CelOverloadSpec overloads[] = {
    {"semver", "(string) -> " V, semver_from_string, .cost = CEL_COST_BYTES, .reads_text = true},
    {"semver",
        "(string, bool) -> " V,
        semver_normalised,
        .cost = CEL_COST_BYTES,
        .reads_text = true},
    {"isSemver", "(string) -> bool", is_semver, .cost = CEL_COST_BYTES, .reads_text = true},
    {"isSemver",
        "(string, bool) -> bool",
        is_semver_normalised,
        .cost = CEL_COST_BYTES,
        .reads_text = true},
    {"major", V ".() -> int", semver_major},
    {"minor", V ".() -> int", semver_minor},
    {"patch", V ".() -> int", semver_patch},
    {"compareTo", V ".(" V ") -> int", semver_compare},
    {"isLessThan", V ".(" V ") -> bool", semver_is_less},
    {"isGreaterThan", V ".(" V ") -> bool", semver_is_greater},
};

CEL_LIBRARY(cel_semver_library, "semver", overloads);
