/* Checks nodes and pods in short form and writes them as Kubernetes' JSON. */

#include "policy/short-objects.h"

#include "model/time.h"
#include "policy/reader.h"
#include "json/write.h"

#define OBJECT_TEXT_MAX ((size_t)16 * 1024 * 1024)
#define FIELDS_MAX 32u

typedef enum ShortKind {
    SHORT_TEXT,
    SHORT_TEXTS,  /* a map of scalars: amounts */
    SHORT_LABELS, /* a map of scalars, written as strings even if they look like numbers */
    SHORT_NAMES,  /* a list of scalars */
    SHORT_INT,
    SHORT_BOOL,
    SHORT_READY, /* a bool, or "absent" */
    SHORT_TIME,
    SHORT_IMAGES,
    SHORT_LIST, /* copied unchanged, like mappings: the objects' decoders check them */
    SHORT_MAPPING,
} ShortKind;

typedef struct ShortField {
    Str name;
    ShortKind kind;
    const char *section; /* of the written object: "metadata"; NULL: not just copied */
    Str key;             /* key in that section */
} ShortField;

static const ShortField node_fields[] = {
    {STR("labels"), SHORT_LABELS, "metadata", STR("labels")},
    {STR("annotations"), SHORT_LABELS, "metadata", STR("annotations")},
    {STR("created"), SHORT_TIME, "metadata", STR("creationTimestamp")},
    {STR("taints"), SHORT_LIST, "spec", STR("taints")},
    {STR("ready"), SHORT_READY},
    {STR("cordoned"), SHORT_BOOL, "spec", STR("unschedulable")},
    {STR("conditions"), SHORT_TEXTS},
    {STR("images"), SHORT_IMAGES},
    {STR("allocatable"), SHORT_TEXTS, "status", STR("allocatable")},
    {STR("capacity"), SHORT_TEXTS, "status", STR("capacity")},
    {STR("nodeInfo"), SHORT_TEXTS, "status", STR("nodeInfo")},
};

static const ShortField pod_fields[] = {
    {STR("name"), SHORT_TEXT, "metadata", STR("name")},
    {STR("namespace"), SHORT_TEXT, "metadata", STR("namespace")},
    {STR("uid"), SHORT_TEXT, "metadata", STR("uid")},
    {STR("labels"), SHORT_LABELS, "metadata", STR("labels")},
    {STR("annotations"), SHORT_LABELS, "metadata", STR("annotations")},
    {STR("owner"), SHORT_TEXT},
    {STR("ownerKind"), SHORT_TEXT},
    {STR("created"), SHORT_TIME, "metadata", STR("creationTimestamp")},
    {STR("scheduled"), SHORT_TIME},
    {STR("deleted"), SHORT_TIME, "metadata", STR("deletionTimestamp")},
    {STR("images"), SHORT_NAMES},
    {STR("on"), SHORT_TEXT, "spec", STR("nodeName")},
    {STR("phase"), SHORT_TEXT, "status", STR("phase")},
    {STR("nominated"), SHORT_TEXT, "status", STR("nominatedNodeName")},
    {STR("priority"), SHORT_INT, "spec", STR("priority")},
    {STR("priorityClassName"), SHORT_TEXT, "spec", STR("priorityClassName")},
    {STR("requests"), SHORT_TEXTS},
    {STR("limits"), SHORT_TEXTS},
    {STR("tolerations"), SHORT_LIST, "spec", STR("tolerations")},
    {STR("nodeSelector"), SHORT_LABELS, "spec", STR("nodeSelector")},
    {STR("nodeSelectorTerms"), SHORT_LIST},
    {STR("spec"), SHORT_MAPPING},
};

static bool check_texts(YamlReader *reader, const YamlNode *value, const char *what) {
    bool is_right = reader_mapping(reader, value, what);
    Str text;

    for (size_t i = 0; is_right && i < value->n; i++)
        is_right = reader_label_value(reader, value->pairs[i].value, what, &text);
    return is_right;
}

static bool check_names(YamlReader *reader, const YamlNode *value, const char *what) {
    StrList names;

    return (value->kind == YAML_SEQUENCE && value->n == 0) ||
           reader_string_list(reader, value, what, &names);
}

typedef struct SizedImage {
    StrList names;
    int64_t size;
} SizedImage;

static const Shape size_shape = {.kind = SHAPE_INT, .min = 0, .max = 0x1p63};
static const Field image_fields[] = {
    {REQUIRED("names"), INTO(SizedImage, names, shape_scalars)},
    {OPTIONAL("sizeBytes"), INTO(SizedImage, size, size_shape)},
};
static const Shape image_shape = {SHAPE_OF(image_fields)};

/* Checks an image: a name, a list of names, or both with a size: {names: [a, b], sizeBytes: 1}. */
static bool check_image(YamlReader *reader, const YamlNode *image) {
    SizedImage sized;
    Str text;

    if (image->kind == YAML_SEQUENCE)
        return check_names(reader, image, "an image");
    if (image->kind != YAML_MAPPING)
        return reader_label_value(reader, image, "an image", &text);
    return reader_fields(reader, image, "an image", &image_shape, &sized);
}

static bool check_images(YamlReader *reader, const YamlNode *value) {
    bool is_right = reader_sequence(reader, value, "images");

    for (size_t i = 0; is_right && i < value->n; i++)
        is_right = check_image(reader, value->items[i]);
    return is_right;
}

static bool check_field(YamlReader *reader, const ShortField *field, const YamlNode *value) {
    const char *what = field->name.ptr;
    int64_t number;
    bool is_true;
    Str text;

    switch (field->kind) {
    case SHORT_TEXT:
        return reader_label_value(reader, value, what, &text);
    case SHORT_TEXTS:
    case SHORT_LABELS:
        return check_texts(reader, value, what);
    case SHORT_NAMES:
        return check_names(reader, value, what);
    case SHORT_INT:
        return reader_int(reader, value, what, INT32_MIN, INT32_MAX, &number);
    case SHORT_READY:
    case SHORT_BOOL:
        return (field->kind == SHORT_READY && str_is(yaml_text(value), "absent")) ||
               reader_bool(reader, value, what, &is_true);
    case SHORT_TIME:
        return (value->kind == YAML_STRING && time_parse(value->text, &number)) ||
               reader_wrong_kind(reader, value, what, "a time like 2026-01-31T20:00:00Z", STR_NULL);
    case SHORT_IMAGES:
        return check_images(reader, value);
    case SHORT_LIST:
        return reader_sequence(reader, value, what);
    case SHORT_MAPPING:
        return reader_mapping(reader, value, what);
    }
    return false;
}

/* Checks that the fields of @object are known and have the kinds of the table. Reports all
 * mistakes. */
static bool check_fields(YamlReader *reader, const YamlNode *object, const char *what,
    const ShortField *fields, size_t n_fields) {
    bool is_right = reader_mapping(reader, object, what);
    Str known[FIELDS_MAX];

    for (size_t i = 0; i < n_fields; i++)
        known[i] = fields[i].name;
    for (size_t i = 0; object->kind == YAML_MAPPING && i < object->n; i++) {
        const YamlPair *pair = &object->pairs[i];
        size_t at = 0;

        while (at < n_fields && !str_eq(known[at], pair->key->text))
            at++;
        if (at == n_fields)
            reader_unknown_field(reader, DIAG_ERROR, pair->key, what, known, n_fields);
        is_right &= at < n_fields && check_field(reader, &fields[at], pair->value);
    }
    return is_right;
}

static void write_tree(JsonWriter *writer, Str key, const YamlNode *value) {
    _cleanup_(buf_done) Buf json = BUF_INIT(OBJECT_TEXT_MAX);

    if (!value)
        return;
    yaml_to_json(value, &json);
    json_write_key(writer, key);
    json_write_raw(writer, buf_str(&json));
}

/* Begins a section of the written object with the fields that are copied to it. */
static void write_section(JsonWriter *writer, const char *section, const YamlNode *object,
    const ShortField *fields, size_t n_fields) {
    json_member_object(writer, section);
    for (size_t i = 0; i < n_fields; i++) {
        const YamlNode *value = yaml_find(object, fields[i].name);

        if (!value || !fields[i].section || strcmp(fields[i].section, section) != 0)
            continue;
        if (fields[i].kind == SHORT_LABELS) {
            json_member_object(writer, fields[i].key.ptr);
            for (size_t k = 0; k < value->n; k++)
                json_write_member(writer, value->pairs[k].key->text, value->pairs[k].value->text);
            json_write_end_object(writer);
        } else if (fields[i].kind == SHORT_TEXT || fields[i].kind == SHORT_TIME)
            json_write_member(writer, fields[i].key, value->text);
        else
            write_tree(writer, fields[i].key, value);
    }
}

static void write_conditions(JsonWriter *writer, const YamlNode *node) {
    const YamlNode *ready = yaml_find(node, STR("ready"));
    const YamlNode *others = yaml_find(node, STR("conditions"));

    json_member_array(writer, "conditions");
    if (!ready || ready->kind == YAML_BOOL)
        json_write(
            writer, "{type: 'Ready', status: %s}", !ready || ready->boolean ? "True" : "False");
    for (size_t i = 0; others && i < others->n; i++)
        json_write(writer, "{type: %.*s, status: %.*s}", STR_FMT(others->pairs[i].key->text),
            STR_FMT(others->pairs[i].value->text));
    json_write_end_array(writer);
}

/* Writes images in any of the forms that check_image() accepts. */
static void write_images(JsonWriter *writer, const YamlNode *images) {
    json_member_array(writer, "images");
    for (size_t i = 0; images && i < images->n; i++) {
        const YamlNode *sized = images->items[i];
        const YamlNode *image =
            sized->kind == YAML_MAPPING ? yaml_find(sized, STR("names")) : sized;
        bool is_list = image->kind == YAML_SEQUENCE;

        json_write_object(writer);
        write_tree(writer, STR("sizeBytes"), yaml_find(sized, STR("sizeBytes")));
        json_member_array(writer, "names");
        for (size_t n = 0; n < (is_list ? image->n : 1); n++)
            json_write_string(writer, is_list ? image->items[n]->text : image->text);
        json_write(writer, "]}");
    }
    json_write_end_array(writer);
}

bool short_node_json(YamlReader *reader, const YamlPair *node, Buf *out) {
    static const size_t n = ELEMENTS_OF(node_fields);
    JsonWriter writer = JSON_WRITER(out);

    if (!check_fields(reader, node->value, "a node", node_fields, n))
        return false;
    json_write_object(&writer);
    write_section(&writer, "metadata", node->value, node_fields, n);
    json_write(&writer, "name: %.*s}", STR_FMT(node->key->text));
    write_section(&writer, "spec", node->value, node_fields, n);
    json_write_end_object(&writer);
    write_section(&writer, "status", node->value, node_fields, n);
    write_conditions(&writer, node->value);
    write_images(&writer, yaml_find(node->value, STR("images")));
    json_write(&writer, "}}");
    return true;
}

/* Writes one container per image, or one without an image. All requests are in the first. */
static void write_containers(JsonWriter *writer, const YamlNode *pod) {
    const YamlNode *images = yaml_find(pod, STR("images"));

    json_member_array(writer, "containers");
    for (size_t i = 0; i < (images ? images->n : 1); i++) {
        json_write(writer, "{");
        if (images)
            json_write_member(writer, STR("image"), images->items[i]->text);
        json_write(writer, "resources: {");
        write_tree(writer, STR("requests"), i == 0 ? yaml_find(pod, STR("requests")) : NULL);
        write_tree(writer, STR("limits"), i == 0 ? yaml_find(pod, STR("limits")) : NULL);
        json_write(writer, "}}");
    }
    json_write_end_array(writer);
}

/* Writes the controlling owner. Its kind is ReplicaSet unless ownerKind names another. */
static void write_owner(JsonWriter *writer, const YamlNode *owner, const YamlNode *kind) {
    if (owner)
        json_write(writer,
            "ownerReferences: [{uid: %.*s, name: %.*s, kind: %.*s, controller: true}]",
            STR_FMT(owner->text), STR_FMT(owner->text),
            STR_FMT(kind ? kind->text : STR("ReplicaSet")));
}

bool short_pod_json(YamlReader *reader, const YamlNode *pod, Buf *out) {
    static const size_t n = ELEMENTS_OF(pod_fields);
    const YamlNode *more =
        yaml_find(pod, STR("spec")); /* other fields of the spec, copied unchanged */
    const YamlNode *terms = yaml_find(pod, STR("nodeSelectorTerms"));
    const YamlNode *bound_at = yaml_find(pod, STR("scheduled"));
    JsonWriter writer = JSON_WRITER(out);

    if (!check_fields(reader, pod, "a pod", pod_fields, n))
        return false;
    json_write_object(&writer);
    write_section(&writer, "metadata", pod, pod_fields, n);
    write_owner(&writer, yaml_find(pod, STR("owner")), yaml_find(pod, STR("ownerKind")));
    json_write_end_object(&writer);
    write_section(&writer, "spec", pod, pod_fields, n);
    if (terms) {
        json_write(
            &writer, "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {");
        write_tree(&writer, STR("nodeSelectorTerms"), terms);
        json_write(&writer, "}}}");
    }
    for (size_t i = 0; more && i < more->n; i++)
        write_tree(&writer, more->pairs[i].key->text, more->pairs[i].value);
    write_containers(&writer, pod);
    json_write_end_object(&writer);
    write_section(&writer, "status", pod, pod_fields, n);
    if (bound_at)
        json_write(&writer,
            "conditions: [{type: 'PodScheduled', status: 'True', lastTransitionTime: %.*s}]",
            STR_FMT(bound_at->text));
    json_write(&writer, "}}");
    return true;
}
