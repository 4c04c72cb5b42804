/* Versions, as in Kubernetes' library semver. A version keeps its text: only its three numbers are
 * parsed, the rest is checked once and compared in place. */

#include "cel/semver.h"

#include <inttypes.h>

#include "base/ascii.h"
#include "cel/library.h"
#include "cel/number.h"

static bool refuse(const char **ret_why, const char *why) {
    if (ret_why)
        *ret_why = why;
    return false;
}

static bool is_number(Str text) {
    for (size_t i = 0; i < text.len; i++) {
        if (!ascii_is_digit(text.ptr[i]))
            return false;
    }
    return text.len > 0;
}

static bool number_parse(Str text, uint64_t *ret, const char **ret_why) {
    if (!is_number(text))
        return refuse(ret_why, "a number was expected");
    if (text.len > 1 && text.ptr[0] == '0')
        return refuse(ret_why, "a number has a leading zero");
    return cel_number_uint(text, ret) || refuse(ret_why, "a number needs more than 64 bits");
}

static bool is_identifier(Str text) {
    for (size_t i = 0; i < text.len; i++) {
        if (!ascii_is_alnum(text.ptr[i]) && text.ptr[i] != '-')
            return false;
    }
    return text.len > 0;
}

/* Identifiers separated by dots; numbers among them are checked with @check_numbers. */
static bool check_identifiers(Str text, bool check_numbers, const char **ret_why) {
    Str identifier;
    uint64_t ignored;

    if (text.len == 0)
        return refuse(ret_why, "nothing follows the hyphen or the plus");
    while (str_split(&text, '.', &identifier)) {
        if (!is_identifier(identifier))
            return refuse(ret_why, identifier.len == 0
                                       ? "an identifier is empty"
                                       : "an identifier has only letters, digits and hyphens");
        if (check_numbers && is_number(identifier) && !number_parse(identifier, &ignored, ret_why))
            return false;
    }
    return true;
}

/* Cuts the text behind the first @mark off @text, into @ret. Returns false if there is no mark. */
static bool cut_behind(Str *text, char mark, Str *ret) {
    size_t at = str_find(*text, mark);

    if (at == SIZE_MAX)
        return false;
    *ret = str_skip(*text, at + 1);
    *text = str_take(*text, at);
    return true;
}

/* Cuts "-rc.1+build.5" off "3-rc.1+build.5", and checks it. */
static bool cut_patch(Str *text, CelSemver *version, const char **ret_why) {
    if (cut_behind(text, '+', &version->build) &&
        !check_identifiers(version->build, false, ret_why))
        return false;
    return !cut_behind(text, '-', &version->pre) || check_identifiers(version->pre, true, ret_why);
}

/* Without leading zeros. As in Kubernetes, "-rc" without a number counts as "0-rc", but parts of
 * less than two characters (@is_short) stay: "" does not count as "0". */
static Str normalise_number(Str text, bool is_short) {
    if (is_short)
        return text;
    while (text.len > 0 && text.ptr[0] == '0')
        text = str_skip(text, 1);
    return text.len > 0 ? text : STR("0");
}

/* Cuts @text at its first two dots. Returns the number of parts. */
static size_t cut_parts(Str text, Str parts[3]) {
    size_t n = 0, dot;

    while (n < 2 && (dot = str_find(text, '.')) != SIZE_MAX) {
        parts[n++] = str_take(text, dot);
        text = str_skip(text, dot + 1);
    }
    parts[n++] = text;
    return n;
}

bool cel_semver_parse(Str text, bool normalise, CelSemver *ret, const char **ret_why) {
    CelSemver version = {0};
    Str parts[3] = {STR("0"), STR("0"), STR("0")};
    size_t n;

    if (normalise && str_has_prefix(text, STR("v")))
        text = str_skip(text, 1);
    n = cut_parts(text, parts);
    if (n < 3 && !normalise)
        return refuse(ret_why, "three numbers are needed, as in 1.2.3");
    for (size_t i = 0; i < 3; i++) {
        bool is_short = parts[i].len < 2;

        /* Only behind a third number: elsewhere number_parse() refuses - and +. */
        if (i == 2 && n == 3 && !cut_patch(&parts[i], &version, ret_why))
            return false;
        if (normalise)
            parts[i] = normalise_number(parts[i], is_short);
        if (!number_parse(parts[i], &version.numbers[i], ret_why))
            return false;
    }
    *ret = version;
    return true;
}

/* Numbers are below other identifiers. Numbers compare by value, the others by bytes. */
static int identifier_cmp(Str a, Str b) {
    bool a_is_number = is_number(a), b_is_number = is_number(b);

    if (a_is_number != b_is_number)
        return a_is_number ? -1 : 1;
    if (a_is_number && a.len != b.len) /* no leading zeros: the longer one is greater */
        return a.len < b.len ? -1 : 1;
    return str_cmp(a, b);
}

static int pre_cmp(Str a, Str b) {
    Str identifier_a, identifier_b;

    if (a.len == 0 || b.len == 0) /* a release is above all its pre-releases */
        return (a.len == 0) - (b.len == 0);
    for (;;) {
        bool a_has = str_split(&a, '.', &identifier_a), b_has = str_split(&b, '.', &identifier_b);
        int order;

        if (!a_has || !b_has)
            return (int)a_has - (int)b_has;
        order = identifier_cmp(identifier_a, identifier_b);
        if (order != 0)
            return order < 0 ? -1 : 1;
    }
}

int cel_semver_cmp(const CelSemver *a, const CelSemver *b) {
    for (size_t i = 0; i < 3; i++) {
        if (a->numbers[i] != b->numbers[i])
            return a->numbers[i] < b->numbers[i] ? -1 : 1;
    }
    return pre_cmp(a->pre, b->pre);
}

void cel_semver_print(const CelSemver *version, Buf *out) {
    buf_printf(out, "%" PRIu64 ".%" PRIu64 ".%" PRIu64, version->numbers[0], version->numbers[1],
        version->numbers[2]);
    if (version->pre.len > 0)
        buf_printf(out, "-%.*s", STR_FMT(version->pre));
    if (version->build.len > 0)
        buf_printf(out, "+%.*s", STR_FMT(version->build));
}

/* Reading a byte, and checking identifiers, takes as long as copying this many. */
#define READ_BYTES ((size_t)4)

static const CelSemver *semver_of(CelValue v) {
    return v.opaque;
}

/* In one allocation: the version, then its text. */
static CelValue make_semver(CelRun *run, Str text, bool normalise, const CelSemver *version) {
    CelSemver *copy = cel_alloc(run, sizeof(*copy) + text.len);

    if (!copy)
        return cel_no_memory(run);
    *copy = *version;
    if (version->pre.len + version->build.len > 0) {
        char *at = (char *)(copy + 1);

        memcpy(at, text.ptr, text.len);
        (void)cel_semver_parse(str_of(at, text.len), normalise, copy, NULL); /* cannot fail */
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

/* The cost of comparing. Identifiers are split and classified one by one, which takes longer than
 * comparing bytes: they count four times. */
static size_t semver_size(const void *opaque) {
    return 4 * ((const CelSemver *)opaque)->pre.len;
}

/* Comparing long pre-releases costs fuel. */
CEL_FUNCTION(semver_compare) {
    const CelSemver *a = semver_of(args[0]), *b = semver_of(args[1]);
    size_t in_a = semver_size(a), in_b = semver_size(b);

    if (!cel_charge_bytes(run, in_a < in_b ? in_a : in_b))
        return cel_exhausted(run);
    return cel_int(cel_semver_cmp(a, b));
}

static CelValue order_is(CelValue order, int wanted) {
    return order.kind == CEL_INT ? cel_bool(order.i * wanted > 0) : order;
}

CEL_RETURNS(semver_is_less, order_is(semver_compare(run, args, prepared), -1))
CEL_RETURNS(semver_is_greater, order_is(semver_compare(run, args, prepared), 1))

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
    {"semver", "(string) -> " V, semver_from_string, CEL_READS},
    {"semver", "(string, bool) -> " V, semver_normalised, CEL_READS},
    {"isSemver", "(string) -> bool", is_semver, CEL_READS},
    {"isSemver", "(string, bool) -> bool", is_semver_normalised, CEL_READS},
    {"major", V ".() -> int", semver_major},
    {"minor", V ".() -> int", semver_minor},
    {"patch", V ".() -> int", semver_patch},
    {"compareTo", V ".(" V ") -> int", semver_compare},
    {"isLessThan", V ".(" V ") -> bool", semver_is_less},
    {"isGreaterThan", V ".(" V ") -> bool", semver_is_greater},
};

CEL_LIBRARY(cel_semver_library, "semver", overloads);
