/* Exact quantities by resource name, while they are summed. */

#include "model/amounts.h"

#include <errno.h>

static size_t locate(const Amounts *amounts, Str name) {
    size_t i = 0;

    while (i < amounts->n && !str_eq(amounts->items[i].name, name))
        i++;
    return i;
}

const Amount *amounts_find(const Amounts *amounts, Str name) {
    size_t i = locate(amounts, name);

    return i < amounts->n ? &amounts->items[i] : NULL;
}

static bool is_nothing(Quantity quantity) {
    return quantity.nano <= 0;
}

static size_t locate_nothing(const Amounts *amounts) {
    size_t i = 0;

    while (i < amounts->n && !is_nothing(amounts->items[i].quantity))
        i++;
    return i;
}

/* The entry of that name, a new one if there is none; NULL when full. */
static Amount *claim(Amounts *amounts, Str name, bool *ret_is_new) {
    size_t i = locate(amounts, name);

    *ret_is_new = i == amounts->n;
    if (!*ret_is_new)
        return &amounts->items[i];
    if (i == RESOURCES_MAX)
        i = locate_nothing(amounts);
    if (i == RESOURCES_MAX)
        return NULL;
    if (i == amounts->n)
        amounts->n++;
    amounts->items[i] = (Amount){.name = name};
    return &amounts->items[i];
}

bool amounts_set(Amounts *amounts, Amount amount) {
    return amounts_put(amounts, &amount, 1, AMOUNTS_SET);
}

bool amounts_put(Amounts *amounts, const Amount *items, size_t n, AmountsRule rule) {
    bool has_room = true, is_new;

    for (size_t i = 0; i < n; i++) {
        Amount *entry = claim(amounts, items[i].name, &is_new);

        if (!entry)
            has_room &= is_nothing(items[i].quantity);
        else if (rule == AMOUNTS_ADD)
            entry->quantity = quantity_add(entry->quantity, items[i].quantity);
        else if (rule == AMOUNTS_SET || is_new ||
                 quantity_cmp(items[i].quantity, entry->quantity) > 0)
            entry->quantity = items[i].quantity;
    }
    return has_room;
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

bool amounts_decode(JsonReader *reader, Arena *arena, Amounts *ret) {
    bool has_room = true;
    Str key;

    ret->n = 0;
    json_object(reader);
    while (json_key(reader, &key)) {
        Amount amount = {.name = reader->escaped ? json_unescape(key, arena) : key};

        if (!amount.name.ptr) {
            json_fail(reader, JSON_E_MEMORY, "too many resources");
            return false;
        }
        amount.quantity = decode_quantity(reader, arena);
        has_room &= amounts_set(ret, amount);
    }
    return has_room;
}

AmountList amount_list_keep(JsonReader *reader, Arena *arena, const Amounts *amounts, bool is_cut) {
    AmountList list = {.is_given = true, .is_cut = is_cut};
    Amount *items;

    if (amounts->n == 0)
        return list;
    items = ARENA_RAW(arena, Amount, amounts->n);
    if (!items) {
        json_fail(reader, JSON_E_MEMORY, "too many resources");
        return list;
    }
    memcpy(items, amounts->items, amounts->n * sizeof(*items));
    list.items = items;
    list.n = amounts->n;
    return list;
}

void amount_list_decode(JsonReader *reader, Arena *arena, void *target) {
    AmountList *list = target;
    SCRATCH Amounts amounts;
    bool is_cut;

    *list = (AmountList){0};
    if (json_null(reader))
        return;
    is_cut = !amounts_decode(reader, arena, &amounts);
    *list = amount_list_keep(reader, arena, &amounts, is_cut);
}

const Amount *amount_list_find(const AmountList *list, Str name) {
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(list->items[i].name, name))
            return &list->items[i];
    return NULL;
}

static int round_up(const Amount *amounts, size_t n, Arena *arena, Resources *ret) {
    Resource *items = ARENA_ARRAY(arena, Resource, n);

    if (!items)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const Amount *amount = &amounts[i];
        int64_t rounded = resource_amount_of(amount->name, amount->quantity);

        /* The API server rejects negative amounts; here they count as 0. */
        items[i] = (Resource){.name = amount->name, .amount = rounded > 0 ? rounded : 0};
    }
    *ret = (Resources){.items = items, .n = n};
    return 0;
}

int amounts_round(const Amounts *amounts, Arena *arena, Resources *ret) {
    return round_up(amounts->items, amounts->n, arena, ret);
}

int amount_list_round(const AmountList *list, Arena *arena, Resources *ret) {
    return round_up(list->items, list->n, arena, ret);
}
