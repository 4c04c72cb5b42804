/* Reads the extenders of a file with kube-scheduler's validation: an entry that would keep it from
 * starting is an error here, at the line to change. */

#include <stdio.h>

#include "base/label.h"
#include "wiring/read-internal.h"

static const WiringField resource_fields[] = {
    WIRING_FIELD(ManagedResource, name, "name", wiring_read_string),
    WIRING_FIELD(ManagedResource, is_ignored_by_scheduler, "ignoredByScheduler", wiring_read_bool),
};

/* Whether @name has a domain, and is also valid after "requests.", the prefix in quotas. */
static bool is_extended(Str name) {
    size_t slash = str_find(name, '/');
    Str native = STR("kubernetes.io/");
    char quota[LABEL_PREFIX_MAX + LABEL_NAME_MAX + 16];
    int len;

    if (slash == SIZE_MAX || !label_is_key(name) ||
        memmem(name.ptr, name.len, native.ptr, native.len) ||
        str_has_prefix(name, STR("requests.")))
        return false;
    len = snprintf(quota, sizeof(quota), "requests.%.*s", STR_FMT(name));
    return label_is_key(str_of(quota, (size_t)len));
}

static void check_resource(WiringReading *reading, const YamlNode *entry, Str name) {
    const YamlNode *at = wiring_find(entry, "name");
    bool is_new = map_find(&reading->managed, name) == MAP_NONE;

    at = at ? at : entry;
    if (!is_extended(name))
        reader_error_hint(&reading->reader, at,
            STR("only resources of a domain, like example.com/gpu, can be managed by an extender"),
            "\"%.*s\" is no extended resource", STR_FMT(name));
    else if (!is_new || map_add(&reading->managed, name, /* value= */ 0) < 0)
        reader_error_hint(&reading->reader, at,
            STR("a resource belongs to one extender, and is named once"),
            "\"%.*s\" is managed already", STR_FMT(name));
}

static void read_resources(
    WiringReading *reading, const YamlNode *value, const char *name, void *into) {
    ExtenderEntry *entry = into;

    if (!wiring_is_list(reading, value, name, WIRING_RESOURCES_MAX, "resources"))
        return;
    entry->managed = ARENA_ARRAY(reading->reader.arena, ManagedResource, value->n);
    for (size_t i = 0; entry->managed && i < value->n; i++) {
        ManagedResource *resource = &entry->managed[entry->n_managed];
        size_t n_errors = reading->reader.diags->n_errors;

        if (!wiring_read_fields(reading, value->items[i], "a managed resource", !reading->is_legacy,
                resource_fields, ELEMENTS_OF(resource_fields), resource))
            continue;
        if (reading->reader.diags->n_errors == n_errors)
            check_resource(reading, value->items[i], resource->name);
        entry->n_managed++;
    }
}

static const WiringField tls_fields[] = {
    WIRING_FIELD(ExtenderTls, is_insecure, "insecure", wiring_read_bool),
    WIRING_FIELD(ExtenderTls, server_name, "serverName", wiring_read_string),
    WIRING_FIELD(ExtenderTls, ca_file, "caFile", wiring_read_string),
    WIRING_FIELD(ExtenderTls, ca_data, "caData", wiring_read_pem),
    WIRING_FIELD(ExtenderTls, cert_file, "certFile", wiring_read_string),
    WIRING_FIELD(ExtenderTls, cert_data, "certData", wiring_read_pem),
    WIRING_FIELD(ExtenderTls, key_file, "keyFile", wiring_read_string),
    WIRING_FIELD(ExtenderTls, key_data, "keyData", wiring_read_key),
};

/* The line is not shown: it may contain a key. */
static void check_tls(DiagList *diags, Place place, const ExtenderTls *tls) {
    bool has_ca = tls->ca_file.len + tls->ca_data.len > 0;
    bool has_cert = tls->cert_file.len + tls->cert_data.len > 0;
    bool has_key = tls->key_file.len + tls->key_data.len > 0;

    if (has_ca && tls->is_insecure)
        diag_add(diags, DIAG_ERROR, place, STR_NULL,
            STR("a CA and insecure together: kube-scheduler refuses to start"),
            STR("leave insecure out: the CA is what makes the connection safe"));
    if (has_cert != has_key)
        diag_add(diags, DIAG_WARNING, place, STR_NULL,
            has_cert ? STR("a certificate without its key: no client certificate is sent")
                     : STR("a key without its certificate: no client certificate is sent"),
            STR_NULL);
}

static void read_tls(WiringReading *reading, const YamlNode *value, const char *name, void *into) {
    ExtenderTls *tls = into;
    size_t n_errors = reading->reader.diags->n_errors;

    if (!wiring_read_fields(
            reading, value, name, !reading->is_legacy, tls_fields, ELEMENTS_OF(tls_fields), tls))
        return;
    tls->is_given = true;
    if (reading->reader.diags->n_errors == n_errors)
        check_tls(reading->reader.diags, value->place, tls);
}

static const WiringField extender_fields[] = {
    WIRING_FIELD(ExtenderEntry, url_prefix, "urlPrefix", wiring_read_string),
    WIRING_FIELD(ExtenderEntry, filter_verb, "filterVerb", wiring_read_string),
    WIRING_FIELD(ExtenderEntry, preempt_verb, "preemptVerb", wiring_read_string),
    WIRING_FIELD(ExtenderEntry, prioritize_verb, "prioritizeVerb", wiring_read_string),
    WIRING_FIELD(ExtenderEntry, weight, "weight", wiring_read_int64),
    WIRING_FIELD(ExtenderEntry, bind_verb, "bindVerb", wiring_read_string),
    WIRING_FIELD(ExtenderEntry, is_https, "enableHTTPS", wiring_read_bool),
    WIRING_FIELD(ExtenderEntry, tls, "tlsConfig", read_tls),
    WIRING_FIELD(ExtenderEntry, timeout_nsec, "httpTimeout", wiring_read_time, .takes_null = true),
    WIRING_FIELD(ExtenderEntry, is_node_cache_capable, "nodeCacheCapable", wiring_read_bool),
    {.name = "managedResources", .read = read_resources}, /* two fields of the entry */
    WIRING_FIELD(ExtenderEntry, is_ignorable, "ignorable", wiring_read_bool),
};

/* @is_clean: the entry has no error. Else a field that seems missing may be misspelt. */
static void check_extender(
    WiringReading *reading, const YamlNode *mapping, const ExtenderEntry *entry, bool is_clean) {
    YamlReader *reader = &reading->reader;

    if (is_clean && str_is_empty(entry->url_prefix))
        reader_warning(reader, wiring_place_of(mapping, "urlPrefix"), STR_NULL,
            "no urlPrefix: kube-scheduler starts, and every call fails");
    if (is_clean && entry->prioritize_verb.len > 0 && entry->weight <= 0)
        reader_error_hint(reader, wiring_place_of(mapping, "weight"),
            STR("5 is at most 29 % of a node's total; without prioritizeVerb none is needed"),
            "prioritizeVerb needs a weight above 0");
    if (entry->bind_verb.len > 0 && reading->has_binder)
        reader_error(
            reader, wiring_place_of(mapping, "bindVerb"), "only one extender can have a bindVerb");
    reading->has_binder |= entry->bind_verb.len > 0;
}

void wiring_read_extenders(
    WiringReading *reading, const YamlNode *value, const char *name, void *config) {
    SchedulerConfig *into = config;

    if (!wiring_is_list(reading, value, name, WIRING_EXTENDERS_MAX, "extenders"))
        return;
    into->extenders = ARENA_ARRAY(reading->reader.arena, ExtenderEntry, value->n);
    for (size_t i = 0; into->extenders && i < value->n; i++) {
        ExtenderEntry *entry = &into->extenders[into->n_extenders];
        size_t n_errors = reading->reader.diags->n_errors;

        entry->place = value->items[i]->place;
        if (!wiring_read_fields(reading, value->items[i], "an extender", !reading->is_legacy,
                extender_fields, ELEMENTS_OF(extender_fields), entry))
            continue;
        check_extender(
            reading, value->items[i], entry, reading->reader.diags->n_errors == n_errors);
        into->n_extenders++;
    }
}
