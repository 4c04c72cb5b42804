/*
 * Other fields of a KubeSchedulerConfiguration: leader election, the connection to the API server,
 * backoff. Few of them matter to an extender; each can keep kube-scheduler from starting.
 */

#include <float.h>

#include "wiring/read-internal.h"

/* kube-scheduler's defaults for times that are not given (0). */
#define LEASE_DEFAULT (INT64_C(15) * 1000 * 1000 * 1000)
#define RENEW_DEFAULT (INT64_C(10) * 1000 * 1000 * 1000)

#define BACKOFF_FIRST_DEFAULT 1
#define BACKOFF_MOST_DEFAULT 10

typedef struct Election {
    bool is_on;
    int64_t lease_nsec, renew_nsec, retry_nsec;
    Str lock, namespace, name;
    Str old_namespace, old_name; /* of v1alpha1 */
} Election;

static const WiringField election_fields[] = {
    WIRING_FIELD(Election, is_on, "leaderElect", wiring_read_bool),
    WIRING_FIELD(Election, lease_nsec, "leaseDuration", wiring_read_duration, .takes_null = true),
    WIRING_FIELD(Election, renew_nsec, "renewDeadline", wiring_read_duration, .takes_null = true),
    WIRING_FIELD(Election, retry_nsec, "retryPeriod", wiring_read_duration, .takes_null = true),
    WIRING_FIELD(Election, lock, "resourceLock", wiring_read_string),
    WIRING_FIELD(Election, name, "resourceName", wiring_read_string),
    WIRING_FIELD(Election, namespace, "resourceNamespace", wiring_read_string),
    WIRING_FIELD(Election, old_name, "lockObjectName", wiring_read_string, .versions = IN_ALPHA1),
    WIRING_FIELD(
        Election, old_namespace, "lockObjectNamespace", wiring_read_string, .versions = IN_ALPHA1),
};

static int64_t or_default(int64_t nsec, int64_t otherwise) {
    return nsec != 0 ? nsec : otherwise;
}

static void check_election(
    WiringReading *reading, const YamlNode *mapping, const Election *election) {
    static const char *const times[] = {"leaseDuration", "renewDeadline", "retryPeriod"};
    const int64_t values[] = {election->lease_nsec, election->renew_nsec, election->retry_nsec};
    YamlReader *reader = &reading->reader;

    for (size_t i = 0; i < ELEMENTS_OF(times); i++)
        if (values[i] < 0)
            reader_error(
                reader, wiring_place_of(mapping, times[i]), "%s must be above 0", times[i]);
    if (or_default(election->lease_nsec, LEASE_DEFAULT) <=
        or_default(election->renew_nsec, RENEW_DEFAULT))
        reader_error_hint(reader, wiring_place_of(mapping, "leaseDuration"),
            STR("not given, they are 15s and 10s"),
            "leaseDuration must be longer than renewDeadline");
    if (!reading->is_beta && election->lock.len > 0 && !str_is(election->lock, "leases"))
        reader_error(reader, wiring_place_of(mapping, "resourceLock"),
            "resourceLock must be leases, not \"%.*s\"", STR_FMT(election->lock));
}

void wiring_read_election(
    WiringReading *reading, const YamlNode *value, const char *name, void *into) {
    Election election = {.is_on = true};
    size_t n_errors = reading->reader.diags->n_errors;
    SchedulerConfig *config = into;

    if (!WIRING_READ_FIELDS(reading, value, name, election_fields, &election))
        return;
    if (str_is_empty(election.name))
        election.name = election.old_name;
    if (str_is_empty(election.namespace))
        election.namespace = election.old_namespace;
    if (election.is_on && reading->reader.diags->n_errors == n_errors)
        check_election(reading, value, &election);
    config->has_leader_election = election.is_on;
    config->lease_namespace = election.namespace;
    config->lease_name = election.name;
}

static void read_qps(WiringReading *reading, const YamlNode *value, const char *name, void *into) {
    double qps;

    (void)reader_number(&reading->reader, value, name, -FLT_MAX, FLT_MAX, &qps);
}

static void read_burst(
    WiringReading *reading, const YamlNode *value, const char *name, void *into) {
    int64_t burst;

    (void)reader_int(&reading->reader, value, name, 0, INT32_MAX, &burst);
}

static void check_string(
    WiringReading *reading, const YamlNode *value, const char *name, void *into) {
    Str text;

    (void)reader_string(&reading->reader, value, name, &text);
}

void wiring_read_connection(
    WiringReading *reading, const YamlNode *value, const char *name, void *into) {
    static const WiringField fields[] = {
        WIRING_FIELD(SchedulerConfig, kubeconfig, "kubeconfig", wiring_read_string),
        {.name = "acceptContentTypes", .read = check_string},
        {.name = "contentType", .read = check_string},
        {.name = "qps", .read = read_qps},
        {.name = "burst", .read = read_burst},
    };

    (void)WIRING_READ_FIELDS(reading, value, name, fields, into);
}

static void read_policy_file(
    WiringReading *reading, const YamlNode *value, const char *name, void *into) {
    static const WiringField fields[] = {
        WIRING_FIELD(SchedulerConfig, policy_file, "path", wiring_read_string)};
    SchedulerConfig *config = reading->config;

    if (WIRING_READ_FIELDS(reading, value, name, fields, config) &&
        str_is_empty(config->policy_file))
        reader_error(&reading->reader, value, "the file of the Policy needs a path");
}

static void read_policy_map(
    WiringReading *reading, const YamlNode *value, const char *name, void *into) {
    static const WiringField fields[] = {
        WIRING_FIELD(SchedulerConfig, policy_map_namespace, "namespace", wiring_read_string),
        WIRING_FIELD(SchedulerConfig, policy_map_name, "name", wiring_read_string)};
    SchedulerConfig *config = reading->config;

    if (WIRING_READ_FIELDS(reading, value, name, fields, config) &&
        (str_is_empty(config->policy_map_namespace) || str_is_empty(config->policy_map_name)))
        reader_error(
            &reading->reader, value, "the ConfigMap of the Policy needs a namespace and a name");
}

static void read_policy_source(
    WiringReading *reading, const YamlNode *value, const char *name, void *into) {
    static const WiringField fields[] = {
        {.name = "file", .read = read_policy_file},
        {.name = "configMap", .read = read_policy_map},
    };

    if (WIRING_READ_FIELDS(reading, value, name, fields, into) && !wiring_find(value, "file") &&
        !wiring_find(value, "configMap"))
        reader_error(&reading->reader, value, "policy needs a file or a configMap");
}

void wiring_read_algorithm(
    WiringReading *reading, const YamlNode *value, const char *name, void *into) {
    static const WiringField fields[] = {
        {.name = "policy", .read = read_policy_source},
        {.name = "provider"},
    };

    (void)WIRING_READ_FIELDS(reading, value, name, fields, into);
}

void wiring_read_parallelism(
    WiringReading *reading, const YamlNode *value, const char *name, void *into) {
    int64_t n;

    (void)reader_int(&reading->reader, value, name, 1, INT32_MAX, &n);
}

void wiring_read_flag(WiringReading *reading, const YamlNode *value, const char *name, void *into) {
    bool flag;

    wiring_read_bool(reading, value, name, &flag);
}

static int64_t backoff_of(
    WiringReading *reading, const YamlNode *root, const char *key, int64_t otherwise) {
    const YamlNode *value = wiring_find(root, key);
    int64_t seconds = otherwise;

    if (value)
        (void)reader_int(&reading->reader, value, key, 1, INT64_MAX, &seconds);
    return seconds;
}

void wiring_check_backoff(WiringReading *reading, const YamlNode *root) {
    size_t n_errors = reading->reader.diags->n_errors;
    int64_t first = backoff_of(reading, root, "podInitialBackoffSeconds", BACKOFF_FIRST_DEFAULT);
    int64_t most = backoff_of(reading, root, "podMaxBackoffSeconds", BACKOFF_MOST_DEFAULT);
    const YamlNode *at = wiring_find(root, "podMaxBackoffSeconds");

    if (reading->reader.diags->n_errors == n_errors && most < first)
        reader_error_hint(&reading->reader,
            at ? at : wiring_place_of(root, "podInitialBackoffSeconds"),
            STR("not given, they are 10 and 1"),
            "podMaxBackoffSeconds must not be below podInitialBackoffSeconds");
}
