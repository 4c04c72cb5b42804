/* Lists, strings and labels of the model as values. They borrow the arrays; elements are wrapped
 * when they are read. */

#include "schema/schema-internal.h"

SCHEMA_LIST_TYPE(schema_strings_type, &cel_string_type);
SCHEMA_MAP_TYPE(schema_labels_type, &cel_string_type);

typedef struct ItemList {
    CelList list;
    const SchemaRecord *type;
    const char *items;
    size_t size; /* of one */
} ItemList;

CelValue schema_item(CelRun *run, const SchemaRecord *type, const void *item) {
    ItemValue *value = cel_alloc(run, sizeof(*value));

    if (!value)
        return cel_no_memory(run);
    *value = (ItemValue){.head = {.type = &type->type}, .item = item};
    return cel_record(&value->head);
}

static CelValue item_at(const CelList *list, uint32_t i, CelRun *run) {
    const ItemList *items = OBJECT_OF(list, ItemList, list);

    return schema_item(run, items->type, items->items + i * items->size);
}

CelValue schema_items(
    CelRun *run, const SchemaRecord *type, const void *items, size_t n, size_t size) {
    ItemList *list = cel_alloc(run, sizeof(*list));

    if (!list)
        return cel_no_memory(run);
    *list = (ItemList){.list = {.n = (uint32_t)n, .depth = 1, .at = item_at},
        .type = type,
        .items = items,
        .size = size};
    return cel_list(&list->list);
}

typedef struct StringList {
    CelList list;
    const Str *items;
} StringList;

static CelValue string_at(const CelList *list, uint32_t i, CelRun *run) {
    return schema_text(OBJECT_OF(list, StringList, list)->items[i]);
}

CelValue schema_strings(CelRun *run, const Str *items, size_t n) {
    StringList *list = cel_alloc(run, sizeof(*list));

    if (!list)
        return cel_no_memory(run);
    *list = (StringList){.list = {.n = (uint32_t)n, .depth = 1, .at = string_at}, .items = items};
    return cel_list(&list->list);
}

typedef struct LabelMap {
    CelMap map;
    const Labels *labels;
} LabelMap;

static CelValue label_find(const CelMap *map, CelValue key, CelRun *run) {
    const Str *value;

    if (key.kind != CEL_STRING)
        return cel_absent();
    value = labels_find(OBJECT_OF(map, LabelMap, map)->labels, cel_str(key));
    return value ? schema_text(*value) : cel_absent();
}

static CelEntry label_at(const CelMap *map, uint32_t i, CelRun *run) {
    const Label *label = &OBJECT_OF(map, LabelMap, map)->labels->items[i];

    return (CelEntry){.key = schema_text(label->key), .value = schema_text(label->value)};
}

CelValue schema_labels(CelRun *run, const Labels *labels) {
    LabelMap *map = cel_alloc(run, sizeof(*map));

    if (!map)
        return cel_no_memory(run);
    *map = (LabelMap){
        .map = {.n = (uint32_t)labels->n, .depth = 1, .find = label_find, .at = label_at},
        .labels = labels};
    return cel_map(&map->map);
}
