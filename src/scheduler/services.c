/* Reads Services, and finds those that select a pod. */

#include "scheduler/services.h"

#include <errno.h>

#include "json/fields.h"

typedef struct ServiceText {
    Str namespace, selector; /* selector: JSON */
} ServiceText;

/* NULL: no room. */
static NamespaceServices *group_of(Services *services, Str namespace) {
    uint32_t number = intern_add(&services->namespaces, namespace);

    if (number == INTERN_ABSENT)
        return NULL;
    return number <= services->groups.n ? &services->groups.items[number - 1]
                                        : VEC_PUSH(&services->groups, services->arena);
}

/* Decodes the selector from a copy: the object is temporary. */
static void keep_selector(Services *services, JsonReader *reader, const ServiceText *service) {
    NamespaceServices *group =
        group_of(services, str_is_empty(service->namespace) ? STR("default") : service->namespace);
    Str text = arena_copy(services->arena, service->selector);
    Labels *kept = group && text.ptr ? VEC_PUSH(group, services->arena) : NULL;
    JsonReader inner;

    if (!kept) {
        json_fail(reader, JSON_E_MEMORY, "too many Services");
        return;
    }
    json_reader_init(&inner, text);
    labels_decode(&inner, services->arena, kept);
    if (json_error(&inner) != JSON_OK)
        json_fail(reader, json_error(&inner), inner.error_text);
}

void services_add(Services *services, JsonReader *reader) {
    static const JsonField fields[] = {
        JSON_MEMBER("metadata.namespace", TEXT, ServiceText, namespace),
        JSON_MEMBER("spec.selector", RAW, ServiceText, selector),
    };
    ServiceText service = {0};

    JSON_READ_FIELDS(reader, services->arena, fields, &service);
    if (json_error(reader) != JSON_OK)
        return;
    if (services->n++ >= SERVICES_MAX)
        json_fail(reader, JSON_E_RANGE, "more than 200,000 Services");
    else if (!str_is_empty(service.selector))
        keep_selector(services, reader, &service);
}

static bool selects(const Labels *selector, const Labels *labels) {
    for (size_t i = 0; i < selector->n; i++) {
        const Str *value = labels_find(labels, selector->items[i].key);

        if (!value || !str_eq(*value, selector->items[i].value))
            return false;
    }
    return true;
}

static void note_keys(const Labels *selector, const Labels *labels, bool *is_read) {
    for (size_t i = 0; i < labels->n; i++)
        is_read[i] |= labels_find(selector, labels->items[i].key) != NULL;
}

int services_find(const Services *services, const Pod *pod, Arena *arena, Labels *ret) {
    uint32_t number = intern_find(&services->namespaces, pod->namespace);
    const NamespaceServices *group =
        number == INTERN_ABSENT ? NULL : &services->groups.items[number - 1];
    bool *is_read = group ? ARENA_ARRAY(arena, bool, pod->labels.n + 1) : NULL;
    Label *items = group ? ARENA_ARRAY(arena, Label, pod->labels.n + 1) : NULL;

    *ret = (Labels){0};
    if (!group)
        return 0;
    if (!items || !is_read)
        return -ENOMEM;
    for (size_t i = 0; i < group->n; i++)
        if (selects(&group->items[i], &pod->labels))
            note_keys(&group->items[i], &pod->labels, is_read);
    for (size_t i = 0; i < pod->labels.n; i++)
        if (is_read[i])
            items[ret->n++] = pod->labels.items[i];
    ret->items = items;
    return 0;
}
