/* The namespace of the pod to be placed as a value. Its labels and annotations are an error where
 * namespaces are not known. */

#include "schema/schema-internal.h"

typedef struct NamespaceValue {
    CelRecord head, metadata;
    const Pod *pod;
} NamespaceValue;

/* @labels: a member of the Namespace. */
static CelValue labels_at(CelRun *run, const Pod *pod, size_t labels) {
    const Related *related = pod->related;

    if (!related || !related->knows_namespaces)
        return cel_fail(run, "namespaces are not known: no API server, no right to list them, or "
                             "none in the --cluster file");
    if (!related->namespace)
        return cel_fail(run, "namespace \"%.*s\" is not known", STR_FMT(pod->namespace));
    return schema_labels(run, (const Labels *)((const char *)related->namespace + labels));
}

#define METADATA(X)                                                                                \
    X(name, WORD(pod->namespace), "pod.metadata.namespace")                                        \
    X(labels, VALUE(schema_labels_type, LABELS_ASSUMED),                                           \
        labels_at(run, pod, offsetof(Namespace, labels)),                                          \
        "its labels; labels[?'key'] where one may be missing")                                     \
    X(annotations, VALUE(schema_labels_type, ANNOTATIONS_MAX),                                     \
        labels_at(run, pod, offsetof(Namespace, annotations)),                                     \
        "its annotations; those with a value over 4 KiB are left out")
SCHEMA_RECORD(schema_namespace_metadata, "NamespaceMetadata",
    const Pod *pod = OBJECT_OF(record, NamespaceValue, metadata)->pod, METADATA);

#define NAMESPACE(X)                                                                               \
    X(metadata, VALUE(schema_namespace_metadata.of, 0), cel_record(&value->metadata),              \
        "its metadata; needs get, list and watch on namespaces")
SCHEMA_RECORD(schema_namespace_record, "Namespace",
    const NamespaceValue *value = OBJECT_OF(record, NamespaceValue, head), NAMESPACE);

CelValue schema_namespace(const Pod *pod, Arena *arena) {
    NamespaceValue *value = ARENA_RAW(arena, NamespaceValue, 1);

    if (!value)
        return cel_absent();
    *value = (NamespaceValue){.head = {.type = &schema_namespace_record.type},
        .metadata = {.type = &schema_namespace_metadata.type},
        .pod = pod};
    return cel_record(&value->head);
}
