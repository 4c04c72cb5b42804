#pragma once

/*
 * Shared by the files of the reader: tables of fields, and kube-scheduler's two ways of decoding.
 *
 * From v1beta1 on decoding is strict: case matters, and an unknown field stops kube-scheduler.
 * Legacy decoding, of Policy and v1alpha2, ignores case and unknown fields, and has times in
 * nanoseconds. In both an empty value counts as missing.
 */

#include "base/map.h"
#include "wiring/scheduler-config.h"
#include "yaml/document.h"
#include "yaml/reader.h"

/* The versions that have a field. */
enum {
    IN_V1 = 1,
    IN_BETA = 2,
    IN_ALPHA2 = 4,
    IN_ALPHA1 = 8, /* its extenders are in a Policy */
    IN_POLICY = 16,
};

typedef struct WiringReading {
    YamlReader reader;
    unsigned version; /* one of these */
    SchedulerConfig *config;
    bool is_legacy;           /* legacy decoding of extenders */
    bool is_beta;             /* KubeSchedulerConfiguration, before v1 */
    bool is_beyond;           /* over a limit of berth that kube-scheduler does not have */
    const YamlNode *profiles; /* the list; NULL: none */
    Map managed;              /* resources that an extender manages already */
    bool has_binder;
} WiringReading;

/* @into is the field itself, at its offset in the struct. */
typedef void WiringRead(
    WiringReading *reading, const YamlNode *value, const char *name, void *into);

typedef struct WiringField {
    const char *name;
    WiringRead *read; /* NULL: any value, not read */
    size_t offset;
    unsigned versions; /* that have it; 0: all */
    bool takes_null;   /* else read() is not called for an empty value */
} WiringField;

#define WIRING_FIELD(type, member, key, how, ...)                                                  \
    { .name = (key), .read = (how), .offset = offsetof(type, member), __VA_ARGS__ }

#define WIRING_FIELDS_MAX 32u

/* Reads the fields of @mapping into @into; null has none. @what names it in messages ("an
 * extender"). Returns false if it is not a mapping. */
bool wiring_read_fields(WiringReading *reading, const YamlNode *mapping, const char *what,
    bool is_exact, const WiringField *fields, size_t n_fields, void *into);
#define WIRING_READ_FIELDS(reading, mapping, what, fields, into)                                   \
    wiring_read_fields((reading), (mapping), (what), true, (fields), ELEMENTS_OF(fields), (into))

/* Readers for a table: */
WiringRead wiring_read_string, wiring_read_bool, wiring_read_int64, wiring_read_time;
WiringRead wiring_read_duration, wiring_read_pem, wiring_read_key, wiring_read_flag;
WiringRead wiring_read_election, wiring_read_connection, wiring_read_parallelism;
WiringRead wiring_read_algorithm;

/* Checks podInitialBackoffSeconds and podMaxBackoffSeconds, also against each other. */
void wiring_check_backoff(WiringReading *reading, const YamlNode *root);

/* The value of @key in @mapping; NULL when it is missing or empty. */
const YamlNode *wiring_find(const YamlNode *mapping, const char *key);

/* The node to report a mistake at: the value of @key, ignoring case, else the whole mapping. */
const YamlNode *wiring_place_of(const YamlNode *mapping, const char *key);

/* Whether @value is a list of at most @max elements, berth's limit; kube-scheduler has none. If
 * not, reports it. @what: the elements ("extenders"). */
bool wiring_is_list(WiringReading *reading, const YamlNode *value, const char *name, unsigned max,
    const char *what);

WiringRead wiring_read_extenders; /* the whole list */

/* Appends a time as Go reads it, in the largest unit that is exact: "200ms", "1s". */
void wiring_print_time(Buf *out, int64_t nsec);

/*
 * GoScalar: the scalars of a YAML file as Go reads them.
 *
 * kube-scheduler reads YAML 1.1 and converts it to JSON before it reads any field. So "yes" is not
 * a string, 010 is eight, 1_000 is a number, and 5.0 is as good as 5. Our tree is YAML 1.2.
 */

/* Sets the kind and value of every node of the tree to what kube-scheduler sees. Texts, and so
 * messages, stay as written. */
void go_scalars_resolve(YamlNode *root);
