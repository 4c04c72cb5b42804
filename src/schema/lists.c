/* Lists, strings and labels of the model as values. They borrow the arrays; elements are wrapped
 * when they are read. */

#include "schema/schema-internal.h"

SCHEMA_LIST_TYPE(schema_strings_type, &cel_string_type);
SCHEMA_MAP_TYPE(schema_labels_type, &cel_string_type);

CelValue schema_list(
    CelRun *run, SchemaElement *at, const void *items, size_t n, const void *of, size_t size) {
    SchemaList *list = cel_alloc(run, sizeof(*list));

    if (!list)
        return cel_no_memory(run);
    *list = (SchemaList){
        .list = {.n = (uint32_t)n, .depth = 1, .at = at}, .items = items, .of = of, .size = size};
    return cel_list(&list->list);
}

CelValue schema_keep(Arena *arena, const void *value, size_t size) {
    CelRecord *kept = arena_alloc(arena, size);

    if (!kept)
        return cel_absent();
    memcpy(kept, value, size);
    return cel_record(kept);
}

CelValue schema_make(CelRun *run, const void *value, size_t size) {
    CelRecord *made = cel_alloc(run, size);

    if (!made)
        return cel_no_memory(run);
    memcpy(made, value, size);
    return cel_record(made);
}

CelValue schema_item(CelRun *run, const SchemaRecord *type, const void *item) {
    const ItemValue value = {.head = {.type = &type->type}, .item = item};

    return schema_make(run, &value, sizeof(value));
}

static CelValue item_at(const CelList *list, uint32_t i, CelRun *run) {
    const SchemaList *items = schema_list_of(list);

    return schema_item(run, items->of, (const char *)items->items + i * items->size);
}

CelValue schema_items(
    CelRun *run, const SchemaRecord *type, const void *items, size_t n, size_t size) {
    return schema_list(run, item_at, items, n, type, size);
}

static CelValue string_at(const CelList *list, uint32_t i, CelRun *run) {
    return schema_text(((const Str *)schema_list_of(list)->items)[i]);
}

CelValue schema_strings(CelRun *run, const Str *items, size_t n) {
    return schema_list(run, string_at, items, n, NULL, 0);
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
