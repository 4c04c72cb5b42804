/*
 * One mapping and its values, as Go decodes them: numbers are not strings, strings are not numbers,
 * and null fits any type.
 */

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/nsec.h"
#include "cel/time.h"
#include "wiring/read-internal.h"

#define PEM_MAX ((size_t)1024 * 1024)
#define TIME_SHORT NSEC_PER_MSEC /* shorter timeouts are not suggested */

static bool is_in_version(const WiringReading *reading, const WiringField *field) {
    return field->versions == 0 || (field->versions & reading->version) != 0;
}

/* The field of this name, perhaps in another case; NULL: there is none. */
static const WiringField *find_field(
    const WiringReading *reading, const WiringField *fields, size_t n_fields, Str key) {
    for (size_t i = 0; i < n_fields; i++)
        if (is_in_version(reading, &fields[i]) && str_eq_nocase(key, str_from_c(fields[i].name)))
            return &fields[i];
    return NULL;
}

static void complain_of_case(
    WiringReading *reading, const YamlNode *key, const char *what, const WiringField *field) {
    char hint[128];

    (void)snprintf(hint, sizeof(hint), "write \"%s\": capitals count in this format", field->name);
    reader_error_hint(&reading->reader, key, str_from_c(hint), "unknown field \"%.*s\" in %s",
        STR_FMT(key->text), what);
}

static void complain_of_key(WiringReading *reading, const YamlNode *key, const char *what,
    bool is_exact, const WiringField *fields, size_t n_fields) {
    Str known[WIRING_FIELDS_MAX];
    size_t n = 0;

    assert(n_fields <= WIRING_FIELDS_MAX);
    for (size_t i = 0; i < n_fields; i++)
        if (is_in_version(reading, &fields[i]))
            known[n++] = str_from_c(fields[i].name);
    reader_unknown_field(
        &reading->reader, is_exact ? DIAG_ERROR : DIAG_WARNING, key, what, known, n);
}

bool wiring_read_fields(WiringReading *reading, const YamlNode *mapping, const char *what,
    bool is_exact, const WiringField *fields, size_t n_fields, void *into) {
    if (mapping->kind == YAML_NULL)
        return true;
    if (!reader_mapping(&reading->reader, mapping, what))
        return false;
    for (size_t i = 0; i < mapping->n; i++) {
        const YamlNode *key = mapping->pairs[i].key, *value = mapping->pairs[i].value;
        const WiringField *field = find_field(reading, fields, n_fields, key->text);

        if (!field)
            complain_of_key(reading, key, what, is_exact, fields, n_fields);
        else if (is_exact && !str_is(key->text, field->name))
            complain_of_case(reading, key, what, field);
        else if (field->read && (value->kind != YAML_NULL || field->takes_null))
            field->read(reading, value, field->name, (char *)into + field->offset);
    }
    return true;
}

const YamlNode *wiring_find(const YamlNode *mapping, const char *key) {
    const YamlNode *value = yaml_find(mapping, str_from_c(key));

    return value && value->kind != YAML_NULL ? value : NULL;
}

const YamlNode *wiring_place_of(const YamlNode *mapping, const char *key) {
    for (size_t i = 0; mapping->kind == YAML_MAPPING && i < mapping->n; i++)
        if (str_eq_nocase(mapping->pairs[i].key->text, str_from_c(key)))
            return mapping->pairs[i].value;
    return mapping;
}

bool wiring_is_list(WiringReading *reading, const YamlNode *value, const char *name, unsigned max,
    const char *what) {
    if (!reader_sequence(&reading->reader, value, name))
        return false;
    if (value->n <= max)
        return true;
    reader_error(&reading->reader, value, "more than %u %s are not read", max, what);
    reading->is_beyond = true;
    return false;
}

void wiring_read_string(
    WiringReading *reading, const YamlNode *value, const char *name, void *str) {
    (void)reader_string(&reading->reader, value, name, str);
}

void wiring_read_bool(WiringReading *reading, const YamlNode *value, const char *name, void *flag) {
    (void)reader_bool(&reading->reader, value, name, flag);
}

void wiring_read_int64(WiringReading *reading, const YamlNode *value, const char *name, void *n) {
    if (value->kind == YAML_FLOAT && fabs(value->real) >= 0x1p63)
        reader_error(&reading->reader, value, "%s does not fit into 64 bits", name);
    else
        (void)reader_int(&reading->reader, value, name, INT64_MIN, INT64_MAX, n);
}

void wiring_print_time(Buf *out, int64_t nsec) {
    static const struct {
        int64_t nsec;
        const char *unit;
    } units[] = {{NSEC_PER_SEC, "s"}, {NSEC_PER_MSEC, "ms"}, {1000, "us"}, {1, "ns"}};
    size_t i = 0;

    while (nsec % units[i].nsec != 0)
        i++;
    buf_printf(out, "%" PRId64 "%s", nsec / units[i].nsec, units[i].unit);
}

/* Suggests the time in the notation of this format. */
static void hint_of_time(bool is_number, int64_t nsec, Buf *out) {
    if (is_number) {
        buf_printf(out,
            "write %" PRId64 ": this format counts nanoseconds; texts like \"1s\" are for v1",
            nsec);
        return;
    }
    buf_append(out, STR("write \""));
    wiring_print_time(out, nsec);
    buf_append(out, STR("\": nanoseconds are how the legacy Policy counts"));
}

/* @is_number: the format has a number of nanoseconds, not a text. */
static void complain_of_time(WiringReading *reading, const YamlNode *value, const char *name,
    bool is_number, bool has_time, int64_t nsec) {
    _cleanup_(buf_done) Buf hint = BUF_INIT(256);

    if (has_time && nsec >= TIME_SHORT)
        hint_of_time(is_number, nsec, &hint);
    else if (!is_number)
        buf_append(&hint, STR("a number and its unit, like 200ms, 1s or 1m30s"));
    reader_wrong_kind(&reading->reader, value, name,
        is_number ? "a whole number of nanoseconds" : "a duration", buf_str(&hint));
}

static bool read_time(
    WiringReading *reading, const YamlNode *value, const char *name, bool is_number, int64_t *ret) {
    int64_t time = value->integer;
    bool has_time = value->kind == YAML_INT ||
                    (value->kind == YAML_STRING && cel_duration_parse(value->text, &time));

    if (has_time && (value->kind == YAML_INT) == is_number) {
        *ret = time;
        return true;
    }
    complain_of_time(reading, value, name, is_number, has_time, time);
    return false;
}

/* An empty time is an error: Go passes "null" to the type, which accepts strings only. */
void wiring_read_duration(
    WiringReading *reading, const YamlNode *value, const char *name, void *nsec) {
    (void)read_time(reading, value, name, /* is_number= */ false, nsec);
}

static void check_time(
    WiringReading *reading, const YamlNode *value, const char *name, int64_t nsec) {
    if (nsec < 0)
        reader_warning(
            &reading->reader, value, STR_NULL, "%s is negative: calls have no limit at all", name);
    else if (nsec > 0 && nsec < TIME_SHORT)
        reader_warning(&reading->reader, value,
            reading->is_legacy ? STR("this format counts nanoseconds: 1000000000 is a second")
                               : STR_NULL,
            "%s is %" PRId64 " ns: every call will fail", name, nsec);
}

/* Reads a timeout: in the legacy formats a number, which may be empty. */
void wiring_read_time(WiringReading *reading, const YamlNode *value, const char *name, void *nsec) {
    if (value->kind == YAML_NULL && reading->is_legacy)
        return;
    if (read_time(reading, value, name, reading->is_legacy, nsec))
        check_time(reading, value, name, *(int64_t *)nsec);
}

/* The line itself is not shown: it may be a key. */
static void complain_of_pem(
    WiringReading *reading, const YamlNode *value, const char *name, const char *why, Str hint) {
    char text[64];

    (void)snprintf(text, sizeof(text), "%s %s", name, why);
    diag_add(reading->reader.diags, DIAG_ERROR, value->place, STR_NULL, str_from_c(text), hint);
}

/* Reads base64 of PEM with a block of @kind; keeps it as written in the file. */
static void read_pem(
    WiringReading *reading, const YamlNode *value, const char *name, Str kind, Str *ret) {
    static const Str hint =
        STR("base64 -w0 FILE makes it; the name of a file goes into caFile, certFile or keyFile");
    _cleanup_(buf_done) Buf pem = BUF_INIT(PEM_MAX);
    Str begin = STR("-----BEGIN ");

    if (value->kind != YAML_STRING || !base64_decode(value->text, &pem)) {
        complain_of_pem(reading, value, name, "is no base64", hint);
        return;
    }
    *ret = value->text;
    if (value->text.len == 0)
        return;
    if (!pem.data || pem.len == 0 || !memmem(pem.data, pem.len, begin.ptr, begin.len))
        complain_of_pem(reading, value, name, "is base64, but not of PEM", hint);
    else if (!memmem(pem.data, pem.len, kind.ptr, kind.len))
        complain_of_pem(reading, value, name,
            str_is(kind, "PRIVATE KEY-----") ? "has no private key in it"
                                             : "has no certificate in it",
            STR_NULL);
}

void wiring_read_pem(WiringReading *reading, const YamlNode *value, const char *name, void *str) {
    read_pem(reading, value, name, STR("-----BEGIN CERTIFICATE-----"), str);
}

void wiring_read_key(WiringReading *reading, const YamlNode *value, const char *name, void *str) {
    read_pem(reading, value, name, STR("PRIVATE KEY-----"), str);
}
