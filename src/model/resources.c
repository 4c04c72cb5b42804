/* Amounts of resources: decoded, found, printed. */

#include "model/resources.h"

#include "model/amounts.h"

void resources_decode(JsonReader *reader, Arena *arena, void *target) {
    SCRATCH Amounts amounts;

    amounts_decode(reader, arena, &amounts);
    if (!json_error(reader) && amount_list_round(AMOUNTS_LIST(&amounts), arena, target) < 0)
        json_fail(reader, JSON_E_MEMORY, "too many resources");
}

const Resource *resources_find(const Resources *resources, Str name) {
    for (size_t i = 0; i < resources->n; i++)
        if (str_eq(resources->items[i].name, name))
            return &resources->items[i];
    return NULL;
}

int64_t resources_get(const Resources *resources, Str name) {
    const Resource *resource = resources_find(resources, name);

    return resource ? resource->amount : 0;
}

int64_t resource_amount_of(Str name, Quantity quantity) {
    return str_eq(name, STR("cpu")) ? quantity_milli(quantity) : quantity_value(quantity);
}

Quantity resource_quantity_of(Str name, int64_t amount) {
    return (Quantity){.nano = (__int128)amount * (str_eq(name, STR("cpu")) ? 1000000 : 1000000000)};
}

bool resource_amount_parse(Str name, Str text, int64_t *ret) {
    Quantity quantity;

    if (!quantity_parse(text, &quantity))
        return false;
    *ret = resource_amount_of(name, quantity);
    return true;
}

static bool is_bytes(Str name) {
    return str_eq(name, STR("memory")) || str_eq(name, STR("ephemeral-storage")) ||
           str_eq(name, STR("storage")) || str_has_prefix(name, STR("hugepages-"));
}

/* Prints in the largest unit that gives a number of at least 1, with up to two decimals,
 * rounded to the nearest. */
static void print_bytes(uint64_t bytes, Buf *out) {
    static const char units[][3] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    size_t unit = 0;
    uint64_t hundredths;

    while (unit < 6 && bytes >> (10 * (unit + 1)) > 0)
        unit++;
    for (;; unit++) {
        unsigned __int128 size = (unsigned __int128)1 << (10 * unit);

        hundredths = (uint64_t)((bytes * (unsigned __int128)100 + size / 2) / size);
        if (hundredths < 102400 || unit == 6)
            break;
    }
    buf_printf(out, "%llu", (unsigned long long)(hundredths / 100));
    if (hundredths % 10 != 0)
        buf_printf(out, ".%02llu", (unsigned long long)(hundredths % 100));
    else if (hundredths % 100 != 0)
        buf_printf(out, ".%llu", (unsigned long long)(hundredths % 100 / 10));
    buf_append(out, str_from_c(units[unit]));
}

/* "23.88": amounts over one core are printed in cores, like whole numbers. */
static void print_cores(int64_t amount, Buf *out) {
    uint64_t size = amount < 0 ? 0 - (uint64_t)amount : (uint64_t)amount;
    unsigned rest = (unsigned)(size % 1000);
    int n_digits = 3;

    for (; n_digits > 1 && rest % 10 == 0; n_digits--)
        rest /= 10;
    buf_printf(out, "%s%llu.%0*u", amount < 0 ? "-" : "", (unsigned long long)(size / 1000),
        n_digits, rest);
}

void resource_amount_print_exact(Str name, int64_t amount, Buf *out) {
    bool is_cpu = str_eq(name, STR("cpu"));
    bool is_whole = is_cpu && amount % 1000 == 0;

    buf_append_int(out, is_whole ? amount / 1000 : amount);
    buf_append(out, is_cpu && !is_whole ? STR("m") : STR_NULL);
}

void resource_amount_print(Str name, int64_t amount, Buf *out) {
    if (str_eq(name, STR("cpu")) && amount % 1000 != 0 && (amount > 1000 || amount < -1000)) {
        print_cores(amount, out);
        return;
    }
    if (!is_bytes(name)) {
        resource_amount_print_exact(name, amount, out);
        return;
    }
    if (amount < 0)
        buf_append_char(out, '-');
    print_bytes(amount < 0 ? 0 - (uint64_t)amount : (uint64_t)amount, out);
}
