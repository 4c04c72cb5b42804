/* Exact quantities by resource name, while they are summed. */

#include "model/amounts.h"

#include <errno.h>

const Amount *amount_list_find(const AmountList *list, Str name) {
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(list->items[i].name, name))
            return &list->items[i];
    return NULL;
}

static bool is_nothing(Quantity quantity) {
    return quantity.nano <= 0;
}

/* The place for a new entry; NULL when there is none. */
static Amount *claim(Amounts *amounts) {
    if (amounts->n < RESOURCES_MAX)
        return &amounts->items[amounts->n++];
    for (size_t i = 0; i < RESOURCES_MAX; i++)
        if (is_nothing(amounts->items[i].quantity))
            return &amounts->items[i];
    return NULL;
}

void amounts_put(Amounts *amounts, Amount amount, AmountsRule rule) {
    Amount *entry = (Amount *)(uintptr_t)amount_list_find(AMOUNTS_LIST(amounts), amount.name);

    if (!entry) {
        entry = claim(amounts);
        if (entry)
            *entry = amount;
        else
            amounts->is_cut |= !is_nothing(amount.quantity);
    } else if (rule == AMOUNTS_ADD) {
        entry->quantity = quantity_add(entry->quantity, amount.quantity);
    } else if (rule == AMOUNTS_SET || quantity_cmp(amount.quantity, entry->quantity) > 0) {
        entry->quantity = amount.quantity;
    }
}

void amounts_put_list(Amounts *amounts, const AmountList *list, AmountsRule rule) {
    for (size_t i = 0; i < list->n; i++)
        amounts_put(amounts, list->items[i], rule);
    amounts->is_cut |= list->is_cut;
}

/* A string or a number; null is zero, as in Go. */
static Quantity decode_quantity(JsonReader *reader, Arena *arena) {
    Quantity quantity = {0};
    Str text = STR_NULL;

    if (json_null(reader))
        return quantity;
    if (json_peek(reader) == JSON_NUMBER)
        json_number(reader, &text);
    else
        json_string(reader, arena, &text);
    if (!json_error(reader) && !quantity_parse(str_trim(text), &quantity))
        json_fail(reader, JSON_E_TYPE, "not a quantity");
    return quantity;
}

void amounts_decode(JsonReader *reader, Arena *arena, Amounts *ret) {
    Str key;

    amounts_clear(ret);
    json_object(reader);
    while (json_key(reader, &key)) {
        Amount amount = {.name = reader->escaped ? json_unescape(key, arena) : key};

        if (!amount.name.ptr) {
            json_fail(reader, JSON_E_MEMORY, "too many resources");
            return;
        }
        amount.quantity = decode_quantity(reader, arena);
        amounts_put(ret, amount, AMOUNTS_SET);
    }
}

AmountList amount_list_keep(JsonReader *reader, Arena *arena, const Amounts *amounts) {
    Amount *items = amounts->n > 0 ? ARENA_RAW(arena, Amount, amounts->n) : NULL;
    AmountList list = {.items = items, .is_given = true, .is_cut = amounts->is_cut};

    if (items) {
        memcpy(items, amounts->items, amounts->n * sizeof(*items));
        list.n = amounts->n;
    } else if (amounts->n > 0) {
        json_fail(reader, JSON_E_MEMORY, "too many resources");
    }
    return list;
}

void amount_list_decode(JsonReader *reader, Arena *arena, void *target) {
    AmountList *list = target;
    SCRATCH Amounts amounts;

    *list = (AmountList){0};
    if (json_null(reader))
        return;
    amounts_decode(reader, arena, &amounts);
    *list = amount_list_keep(reader, arena, &amounts);
}

void resource_requirements_decode(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_CUSTOM("limits", ResourceRequirements, limits, amount_list_decode),
        JSON_CUSTOM("requests", ResourceRequirements, requests, amount_list_decode),
    };

    *(ResourceRequirements *)target = (ResourceRequirements){0};
    JSON_READ_KEYS(reader, arena, fields, target);
}

int amount_list_round(const AmountList *list, Arena *arena, Resources *ret) {
    Resource *items = ARENA_ARRAY(arena, Resource, list->n);

    if (!items)
        return -ENOMEM;
    for (size_t i = 0; i < list->n; i++) {
        Str name = list->items[i].name;
        int64_t rounded = resource_amount_of(name, list->items[i].quantity);

        /* The API server rejects negative amounts; here they count as 0. */
        items[i] = (Resource){.name = name, .amount = rounded > 0 ? rounded : 0};
    }
    *ret = (Resources){.items = items, .n = list->n};
    return 0;
}
