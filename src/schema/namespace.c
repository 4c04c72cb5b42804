/* The namespace of the pod to be placed as a value. Its labels and annotations are an error where
 * namespaces are not known. */

#include "schema/schema-internal.h"

typedef struct NamespaceValue {
    CelRecord head, metadata;
    const Pod *pod;
} NamespaceValue;

static const Pod *pod_of(const CelRecord *metadata) {
    return OBJECT_OF(metadata, NamespaceValue, metadata)->pod;
}

/* @labels: a member of the Namespace. */
static CelValue labels_at(const CelRecord *metadata, CelRun *run, size_t labels) {
    const Pod *pod = pod_of(metadata);
    const Related *related = pod->related;

    if (!related || !related->knows_namespaces)
        return cel_fail(run, "namespaces are not known: no API server, no right to list them, or "
                             "none in the --cluster file");
    if (!related->namespace)
        return cel_fail(run, "namespace \"%.*s\" is not known", STR_FMT(pod->namespace));
    return schema_labels(run, (const Labels *)((const char *)related->namespace + labels));
}

GET(metadata_name, schema_text(pod_of(record)->namespace))
GET(metadata_labels, labels_at(record, run, offsetof(Namespace, labels)))
GET(metadata_annotations, labels_at(record, run, offsetof(Namespace, annotations)))

#define METADATA(X)                                                                                \
    X("name", TEXT(WORD_MAX_BYTES), metadata_name, "pod.metadata.namespace")                       \
    X("labels", VALUE(schema_labels_type, LABELS_ASSUMED), metadata_labels,                        \
        "its labels; labels[?'key'] where one may be missing")                                     \
    X("annotations", VALUE(schema_labels_type, POD_ANNOTATIONS_MAX), metadata_annotations,         \
        "its annotations; those with a value over 4 KiB are left out")
SCHEMA_RECORD(schema_namespace_metadata, "NamespaceMetadata", METADATA);

GET(namespace_metadata, cel_record(&OBJECT_OF(record, NamespaceValue, head)->metadata))

#define NAMESPACE(X)                                                                               \
    X("metadata", VALUE(schema_namespace_metadata.of, 0), namespace_metadata,                      \
        "its metadata; needs get, list and watch on namespaces")
SCHEMA_RECORD(schema_namespace_record, "Namespace", NAMESPACE);

CelValue schema_namespace(const Pod *pod, Arena *arena) {
    NamespaceValue *value = ARENA_RAW(arena, NamespaceValue, 1);

    if (!value)
        return cel_absent();
    *value = (NamespaceValue){.head = {.type = &schema_namespace_record.type},
        .metadata = {.type = &schema_namespace_metadata.type},
        .pod = pod};
    return cel_record(&value->head);
}
