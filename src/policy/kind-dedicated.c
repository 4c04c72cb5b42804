/*
 * dedicated: pools that belong to somebody.
 *
 *     dedicated: {key: example.com/pool}
 *     dedicated: {key: example.com/pool, podKey: team}
 *
 * A node with that label takes only pods with the same value of theirs, and a pod with it goes
 * only to such nodes; nodes and pods without it are everybody's. An empty value is none.
 */

#include "base/cleanup.h"
#include "policy/cel-text.h"
#include "policy/kind.h"

#define NODE_LABELS "node.metadata.labels"
#define POD_LABELS "pod.metadata.labels"

typedef struct Config {
    Str key, pod_key;
} Config;

static void read_key(PolicyReader *reader, const YamlNode *value, void *into) {
    if (reader_string(reader, value, "key", &((Config *)into)->key))
        (void)reader_label_key(reader, value);
}

static void read_pod_key(PolicyReader *reader, const YamlNode *value, void *into) {
    if (reader_string(reader, value, "podKey", &((Config *)into)->pod_key))
        (void)reader_label_key(reader, value);
}

static const Field fields[] = {
    {.name = STR("key"),
        .is_required = true,
        .shape = &shape_string,
        .about = "the node's label that names its pool",
        .read = read_key},
    {.name = STR("podKey"),
        .shape = &shape_string,
        .about = "the pod's label that names the pool it wants; the same key unless given",
        .read = read_pod_key},
};

/* A label for people: "a" in quotes, or absent. */
static void write_value(Buf *out, const char *labels, Str key) {
    buf_append_char(out, '(');
    cel_text_look_up(out, labels, key);
    buf_append(out, STR(" == '' ? 'absent' : '\"' + "));
    cel_text_look_up(out, labels, key);
    buf_append(out, STR(" + '\"')"));
}

static void write_message(Buf *out, const Config *config) {
    _cleanup_(buf_done) Buf words = BUF_INIT(KIND_TEXT_MAX);

    buf_printf(&words, "label %.*s is ", STR_FMT(config->key));
    cel_text_words(out, &words);
    buf_append(out, STR(" + "));
    write_value(out, NODE_LABELS, config->key);
    buf_reset(&words);
    buf_printf(&words, ", the pod's %.*s is ", STR_FMT(config->pod_key));
    buf_append(out, STR(" + "));
    cel_text_words(out, &words);
    buf_append(out, STR(" + "));
    write_value(out, POD_LABELS, config->pod_key);
}

static void write(PolicyReader *reader, const YamlNode *value, RuleText *ret) {
    Config config = {0};

    reader_fields(reader, value, "dedicated", fields, ELEMENTS_OF(fields), &config);
    if (str_is_empty(config.pod_key))
        config.pod_key = config.key;
    cel_text_look_up(&ret->expression, NODE_LABELS, config.key);
    buf_append(&ret->expression, STR(" == "));
    cel_text_look_up(&ret->expression, POD_LABELS, config.pod_key);
    write_message(&ret->message, &config);
}

static const Shape shape = {
    .kind = SHAPE_OBJECT, .fields = fields, .n_fields = ELEMENTS_OF(fields)};

const RuleKind kind_dedicated = {
    .field = STR("dedicated"),
    .summary = "nodes of a pool and pods of that pool, and no others, come together",
    .shape = &shape,
    .write = write,
};
