/* The path of a place in a document. */

#include "yaml/path.h"

/* In a text that is read from top to bottom, a value goes on until the next one begins. */
static bool begins_by(const YamlNode *node, Place place) {
    return node->place.line < place.line ||
           (node->place.line == place.line && node->place.column <= place.column);
}

/* The last child that begins by @place, with its name or number appended; NULL: none. */
static const YamlNode *append_child(const YamlNode *node, Place place, Buf *out) {
    size_t n = 0;

    if (node->kind == YAML_MAPPING) {
        while (n < node->n && begins_by(node->pairs[n].key, place))
            n++;
        if (n == 0)
            return NULL;
        buf_printf(out, "%s%.*s", out->len > 0 ? "." : "", STR_FMT(node->pairs[n - 1].key->text));
        return node->pairs[n - 1].value;
    }
    if (node->kind != YAML_SEQUENCE)
        return NULL;
    while (n < node->n && begins_by(node->items[n], place))
        n++;
    if (n == 0)
        return NULL;
    buf_printf(out, "[%zu]", n - 1);
    return node->items[n - 1];
}

void yaml_path_at(const YamlNode *document, Place place, Buf *out) {
    const YamlNode *node = document;

    while (node && begins_by(node, place))
        node = append_child(node, place, out);
}
