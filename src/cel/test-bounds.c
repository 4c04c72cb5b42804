/*
 * Every function of every library, with hostile arguments, little fuel and little memory: it
 * returns a value or an error, and it charges fuel for its work.
 */
#include <math.h>

#include "base/arena.h"
#include "base/test-assert.h"
#include "cel/env.h"
#include "cel/library.h"
#include "cel/test-value.h"
#include "cel/type.h"

/* --- hostile values --------------------------------------------------------------- */

#define POOL_MAX 40

/* Values of one kind, used as arguments. */
typedef struct Pool {
    CelValue values[POOL_MAX];
    size_t n;
} Pool;

typedef struct Pools {
    Arena *arena;
    Pool of[CEL_N_KINDS];
    Pool all;
} Pools;

static void add(Pools *pools, CelValue v) {
    Pool *pool = &pools->of[v.kind];

    assert_true(v.kind != CEL_ERROR && v.kind != CEL_ABSENT && pool->n < POOL_MAX);
    pool->values[pool->n++] = v;
}

/* A list and a map that the host provides, with the elements of a plain one. */
typedef struct Hosted {
    CelList list;
    CelMap map;
    const CelValue *items;
    const CelEntry *entries;
} Hosted;

static CelValue hosted_item(const CelList *list, uint32_t i, CelRun *run) {
    (void)run;
    return ((const Hosted *)(const void *)list)->items[i];
}

static const Hosted *hosted_of(const CelMap *map) {
    return (const Hosted *)(const void *)((const char *)map - offsetof(Hosted, map));
}

static CelEntry hosted_entry(const CelMap *map, uint32_t i, CelRun *run) {
    (void)run;
    return hosted_of(map)->entries[i];
}

static CelValue hosted_find(const CelMap *map, CelValue key, CelRun *run) {
    const CelEntry *entries = hosted_of(map)->entries;

    (void)run;
    for (uint32_t i = 0; i < map->n; i++)
        if (cel_key_equal(entries[i].key, key))
            return entries[i].value;
    return cel_absent();
}

static CelValue no_item(const CelList *list, uint32_t i, CelRun *run) {
    (void)list;
    (void)i;
    return cel_fail(run, "the host cannot fetch it");
}

static CelValue no_find(const CelMap *map, CelValue key, CelRun *run) {
    (void)map;
    (void)key;
    return cel_fail(run, "the host cannot fetch it");
}

static CelEntry no_entry(const CelMap *map, uint32_t i, CelRun *run) {
    (void)map;
    (void)i;
    return (CelEntry){.key = cel_int(1), .value = cel_fail(run, "the host cannot fetch it")};
}

/* Adds the list, or map, twice: as a plain value and as one of the host. */
static void add_list(Pools *pools, const CelValue *items, uint32_t n, uint32_t depth) {
    CelList *plain = ARENA_NEW(pools->arena, CelList);
    Hosted *hosted = ARENA_NEW(pools->arena, Hosted);

    *plain = (CelList){.n = n, .depth = depth, .items = items};
    hosted->items = items;
    hosted->list = (CelList){.n = n, .depth = depth, .at = hosted_item};
    add(pools, cel_list(plain));
    add(pools, cel_list(&hosted->list));
}

static void add_map(Pools *pools, const CelEntry *entries, uint32_t n) {
    CelMap *plain = ARENA_NEW(pools->arena, CelMap);
    Hosted *hosted = ARENA_NEW(pools->arena, Hosted);

    *plain = (CelMap){.n = n, .depth = 2, .entries = entries};
    hosted->entries = entries;
    hosted->map = (CelMap){.n = n, .depth = 2, .find = hosted_find, .at = hosted_entry};
    add(pools, cel_map(plain));
    add(pools, cel_map(&hosted->map));
}

/* The value that the library's own parser makes of @text. */
static void add_made(Pools *pools, const CelLibrary *library, const char *name, const char *text) {
    CelRun run = CEL_RUN(pools->arena);
    CelValue argument = cel_string(str_from_c(text));

    for (size_t i = 0; i < library->n_overloads; i++) {
        const CelOverloadSpec *spec = &library->overloads[i];

        if (strcmp(spec->name, name) == 0 && strncmp(spec->signature, "(string) -> ", 12) == 0) {
            add(pools, spec->fn(&run, &argument, NULL));
            return;
        }
    }
    fail();
}

static void add_numbers(Pools *pools) {
    static const int64_t ints[] = {0, 1, -1, 2, 7, 63, 64, INT64_MIN, INT64_MAX, UINT32_MAX};
    static const uint64_t uints[] = {0, 1, 64, UINT32_MAX, UINT64_MAX, UINT64_C(1) << 63};
    static const double doubles[] = {
        0, -0.0, 1, -1.5, NAN, INFINITY, -INFINITY, 1e308, -1e308, 5e-324, 0x1p63, -0x1p63, 0x1p64};

    for (size_t i = 0; i < ELEMENTS_OF(ints); i++)
        add(pools, cel_int(ints[i]));
    for (size_t i = 0; i < ELEMENTS_OF(uints); i++)
        add(pools, cel_uint(uints[i]));
    for (size_t i = 0; i < ELEMENTS_OF(doubles); i++)
        add(pools, cel_double(doubles[i]));
    add(pools, cel_bool(false));
    add(pools, cel_bool(true));
    add(pools, cel_null());
    add(pools, cel_duration(0));
    add(pools, cel_duration(INT64_MIN));
    add(pools, cel_duration(INT64_MAX));
    add(pools, cel_timestamp(0, 0));
    add(pools, cel_timestamp(INT64_C(-62135596800), 0));
    add(pools, cel_timestamp(INT64_C(253402300799), 999999999));
    add(pools, cel_type(&cel_int_type));
    add(pools, cel_type(&cel_list_type));
}

static void add_texts(Pools *pools) {
    static const char *const texts[] = {"", "a", "ab", "ä€𝄞", "%s %d %.1000f %x %%", "%", "%.",
        "%q", "-9223372036854775809", "1e999999999999", "0x1p-99999", "1_000", "+", "-", ".",
        "::", "1::", "10.0.0.0/8", "/32", "http://[::1%25a]:80/?a=%zz&b=;#%", "//", "1.2.3-a.1+b",
        "v1", "1.5Gi", "0.000000000000000000000000000000000000000000000000001e70", "1e2147483647",
        "-.9999Ei", "1h-1h", "292y", "9999-12-31T23:59:60Z", "Europe/Berlin", "+99:99",
        "(a*)*[^b]{2,3}(?P<n>", "dns1123Label", "YQ==", "Y"};

    for (size_t i = 0; i < ELEMENTS_OF(texts); i++)
        add(pools, cel_string(str_from_c(texts[i])));
    add(pools, cel_string(STR_NULL)); /* an empty one without an address */
    add(pools, cel_string(STR("a\0b")));
    add(pools, cel_bytes(STR_NULL));
    add(pools, cel_bytes(STR("\xff\xc3\x28\0\xed\xa0\x80")));
    add(pools, cel_bytes(STR("abc")));
}

static void add_opaques(Pools *pools) {
    static const char *const quantities[] = {"0", "-1", "1.5Gi", "9e60", "1n"};
    static const char *const versions[] = {"1.2.3", "18446744073709551615.0.0-a.1+b", "1.2.3-a"};

    for (size_t i = 0; i < ELEMENTS_OF(quantities); i++)
        add_made(pools, &cel_quantity_library, "quantity", quantities[i]);
    for (size_t i = 0; i < ELEMENTS_OF(versions); i++)
        add_made(pools, &cel_semver_library, "semver", versions[i]);
    add_made(pools, &cel_net_library, "ip", "255.255.255.255");
    add_made(pools, &cel_net_library, "ip", "::");
    add_made(pools, &cel_net_library, "cidr", "::/0");
    add_made(pools, &cel_net_library, "cidr", "1.2.3.4/32");
    add_made(pools, &cel_url_library, "url", "http://a:@[::1]:/%20?a&a=1&=;&%zz");
    add_made(pools, &cel_url_library, "url", "/");
    for (size_t i = 0; i < cel_formats_library.n_overloads; i++) {
        const CelOverloadSpec *spec = &cel_formats_library.overloads[i];
        CelRun run = CEL_RUN(pools->arena);

        if (strncmp(spec->signature, "() ->", 5) == 0)
            add(pools, spec->fn(&run, NULL, NULL));
    }
}

/* Lists of every kind: a list(dyn) may hold elements that a function does not expect. */
static void add_containers(Pools *pools) {
    static const CelList unreachable = {.n = 2, .depth = 1, .at = no_item};
    static const CelMap unfindable = {.n = 2, .depth = 1, .find = no_find, .at = no_entry};
    static const CelKind kinds[] = {CEL_INT, CEL_UINT, CEL_DOUBLE, CEL_STRING, CEL_BYTES, CEL_BOOL,
        CEL_NULL, CEL_DURATION, CEL_TIMESTAMP, CEL_URL, CEL_OPTIONAL};
    CelRun run = CEL_RUN(pools->arena);
    CelEntry *entries = ARENA_ARRAY(pools->arena, CelEntry, 8);
    CelValue *mixed = ARENA_ARRAY(pools->arena, CelValue, CEL_N_KINDS);
    uint32_t n = 0;

    add(pools, cel_none());
    for (CelKind kind = CEL_NULL; kind < CEL_N_KINDS; kind++)
        if (pools->of[kind].n > 0)
            mixed[n++] = pools->of[kind].values[0];
    add_list(pools, NULL, 0, 1);
    add_list(pools, mixed, n, 2);
    for (size_t i = 0; i < ELEMENTS_OF(kinds); i++)
        add_list(pools, pools->of[kinds[i]].values, (uint32_t)pools->of[kinds[i]].n, 2);
    add(pools, cel_list(&unreachable));
    for (uint32_t i = 0; i < 8; i++)
        entries[i] = (CelEntry){.key = i % 2 ? cel_int(i) : cel_uint(i), .value = mixed[i]};
    add_map(pools, NULL, 0);
    add_map(pools, entries, 8);
    add(pools, cel_map(&unfindable));
    add(pools, cel_make_optional(&run, pools->of[CEL_LIST].values[2]));
    add(pools, cel_make_optional(&run, pools->of[CEL_MAP].values[2]));
    add(pools, cel_make_optional(&run, cel_int(1)));
    add_list(pools, pools->of[CEL_OPTIONAL].values, (uint32_t)pools->of[CEL_OPTIONAL].n, 4);
    add_list(pools, pools->of[CEL_LIST].values, 4, 3);
}

static void fill_pools(Pools *pools) {
    add_numbers(pools);
    add_texts(pools);
    add_opaques(pools);
    add_containers(pools);
    for (CelKind kind = CEL_NULL; kind < CEL_N_KINDS; kind++)
        for (size_t i = 0; i < pools->of[kind].n && i < 2; i++)
            pools->all.values[pools->all.n++] = pools->of[kind].values[i];
}

/* --- every function ----------------------------------------------------------------- */

/* Calls the function and checks properties that every result has. */
static void call(const CelOverloadSpec *spec, const CelValue *args, int64_t fuel, size_t budget) {
    _cleanup_(arena_freep) Arena *arena = arena_new(budget);
    _cleanup_(buf_done) Buf out = BUF_INIT(TEST_BUDGET);
    CelRun run = CEL_RUN(arena);
    CelValue v;

    run.fuel = fuel;
    v = spec->fn(&run, args, NULL);
    assert_case(spec->name, v.kind != CEL_ABSENT && v.kind < CEL_N_KINDS);
    assert_case(spec->name, run.fuel >= 0 && run.fuel <= fuel);
    if (run.limit) /* a limit that was reached is returned */
        assert_case(spec->name, v.kind == CEL_ERROR && v.error == run.limit);
    assert_case(spec->name, cel_depth(v) <= CEL_VALUE_DEPTH_MAX);
    if (v.kind == CEL_LIST && v.list->items) /* errors are returned, not stored in a list */
        for (uint32_t i = 0; i < v.list->n; i++)
            assert_case(spec->name, v.list->items[i].kind > CEL_ERROR);
    run.fuel = CEL_FUEL_DEFAULT;
    cel_value_print(v, &run, 0, &out); /* every part can be read */
    assert_case(spec->name, out.len > 0);
}

static void call_starved(const CelOverloadSpec *spec, const CelValue *args) {
    static const struct {
        int64_t fuel;
        size_t budget;
    } limits[] = {{CEL_FUEL_DEFAULT, 1 << 16}, {CEL_FUEL_DEFAULT, 0}, {CEL_FUEL_DEFAULT, 64},
        {CEL_FUEL_DEFAULT, 200}, {0, 1 << 16}, {1, 1 << 16}, {2, 1 << 16}, {5, 1 << 16},
        {20, 1 << 16}};

    for (size_t i = 0; i < ELEMENTS_OF(limits); i++)
        call(spec, args, limits[i].fuel, limits[i].budget);
}

static const Pool *pool_of(const Pools *pools, const CelType *type) {
    return type->value_kind == CEL_ABSENT ? &pools->all : &pools->of[type->value_kind];
}

#define COMBINATIONS_MAX 1500 /* of arguments; beyond that a sample is tried */

/* Tries all combinations of the pools' values, or an evenly spread sample. */
static void try_overload(const Pools *pools, const CelOverloadSpec *spec, const CelOverload *read) {
    size_t n = 1, step = 1;

    for (size_t i = 0; i < read->n_args; i++)
        n *= pool_of(pools, read->args[i])->n;
    assert_case(spec->name, n > 0);
    if (n > COMBINATIONS_MAX)
        step = n / COMBINATIONS_MAX | 1;
    for (size_t number = 0; number < n; number += step) {
        CelValue args[CEL_ARGS_MAX];
        size_t rest = number;

        for (size_t i = 0; i < read->n_args; i++) {
            const Pool *pool = pool_of(pools, read->args[i]);

            args[i] = pool->values[rest % pool->n];
            rest /= pool->n;
        }
        call_starved(spec, args);
    }
}

static void test_every_function_with_hostile_arguments(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(16 * TEST_BUDGET);
    Pools *pools = ARENA_NEW(arena, Pools);
    size_t n = 0;

    (void)state;
    pools->arena = arena;
    fill_pools(pools);
    for (size_t l = 0; cel_libraries[l]; l++) {
        for (size_t i = 0; i < cel_libraries[l]->n_overloads; i++) {
            const CelOverloadSpec *spec = &cel_libraries[l]->overloads[i];
            CelOverload read;

            assert_true(cel_signature_read(NULL, str_from_c(spec->signature), arena, &read));
            if (!spec->fn)
                continue;
            try_overload(pools, spec, &read);
            n++;
        }
    }
    assert_true(n > 250);
}

/* --- cost of work --------------------------------------------------------------------- */

static const CelOverloadSpec *find(const CelLibrary *library, const char *name, const char *text) {
    for (size_t i = 0; i < library->n_overloads; i++)
        if (strcmp(library->overloads[i].name, name) == 0 &&
            strcmp(library->overloads[i].signature, text) == 0)
            return &library->overloads[i];
    print_error("%s has no %s %s\n", library->name, name, text);
    fail();
    return NULL;
}

/* The fuel that a call takes. */
static int64_t price(const CelLibrary *library, const char *name, const char *signature,
    const CelValue *args, Arena *arena) {
    CelRun run = CEL_RUN(arena);
    CelValue v = find(library, name, signature)->fn(&run, args, NULL);

    assert_case(name, v.kind != CEL_ABSENT);
    return CEL_FUEL_DEFAULT - run.fuel;
}

#define LONG 16000

/* LONG bytes: @unit repeated, between @head and @tail. */
static CelValue long_text(Arena *arena, const char *head, const char *unit, const char *tail) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEST_BUDGET);

    buf_append(&out, str_from_c(head));
    while (out.len < LONG)
        buf_append(&out, str_from_c(unit));
    buf_append(&out, str_from_c(tail));
    return cel_string(arena_copy(arena, buf_str(&out)));
}

static CelValue made(const CelLibrary *library, const char *name, const char *signature,
    CelValue text, Arena *arena) {
    CelRun run = CEL_RUN(arena);
    CelValue v = find(library, name, signature)->fn(&run, &text, NULL);

    assert_case(name, v.kind != CEL_ERROR);
    return v;
}

/* Comparing two equal values that do not share memory reads all of them. */
static void test_equality_charges(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    CelValue url = long_text(arena, "/", "a", ""), version = long_text(arena, "1.2.3-", "a.", "a");
    CelValue urls[2], versions[2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        urls[i] = made(&cel_url_library, "url", "(string) -> kubernetes.URL", url, arena);
        versions[i] =
            made(&cel_semver_library, "semver", "(string) -> kubernetes.Semver", version, arena);
    }
    assert_true(price(&cel_operators_library, "_==_", "(A, A) -> bool", urls, arena) >= LONG / 8);
    assert_true(
        price(&cel_operators_library, "_==_", "(A, A) -> bool", versions, arena) >= LONG / 8);
}

/* Hashing a string reads all of it, whether it is found or not. */
static void test_distinct_charges_for_hashing(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    const CelValue texts[] = {long_text(arena, "1", "x", ""), long_text(arena, "2", "x", "")};
    const CelList list = {.n = 2, .depth = 1, .items = texts};
    const CelValue argument = cel_list(&list);

    (void)state;
    assert_true(price(&cel_lists_library, "distinct", "list(T).() -> list(T)", &argument, arena) >=
                2 * LONG / 8);
}

/* Each match is a separate search. */
static void test_replace_and_split_charge_per_match(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    const CelValue args[] = {long_text(arena, "", "abc", ""), S("abc"), S("")};

    (void)state;
    assert_true(price(&cel_strings_library, "replace", "string.(string, string) -> string", args,
                    arena) >= LONG / 3 + LONG / 8);
    assert_true(price(&cel_strings_library, "split", "string.(string) -> list(string)", args,
                    arena) >= 2 * LONG / 3 + LONG / 8);
}

/* Printing a number costs as much as reading hundreds of bytes. */
static void test_printing_numbers_charges(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    const CelValue d = cel_double(1.7976931348623157e308);
    const CelList list = {.n = 1, .depth = 1, .items = &d};
    const CelValue fixed[] = {S("%.0f"), cel_list(&list)}, shortest[] = {S("%s"), cel_list(&list)};

    (void)state;
    assert_true(price(&cel_conversions_library, "string", "(double) -> string", &d, arena) >= 20);
    assert_true(
        price(&cel_format_library, "format", "string.(list(dyn)) -> string", fixed, arena) >= 80);
    assert_true(price(&cel_format_library, "format", "string.(list(dyn)) -> string", shortest,
                    arena) >= CEL_DOUBLE_FUEL);
}

/* Looking for an unknown zone may read the disk. */
static void test_unknown_zones_charge(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    const CelValue args[] = {cel_timestamp(0, 0), S("Europe/Atlantis")};

    (void)state;
    assert_true(
        price(&cel_time_library, "getHours", "timestamp.(string) -> int", args, arena) >= 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_function_with_hostile_arguments),
        cmocka_unit_test(test_equality_charges),
        cmocka_unit_test(test_distinct_charges_for_hashing),
        cmocka_unit_test(test_replace_and_split_charge_per_match),
        cmocka_unit_test(test_printing_numbers_charges),
        cmocka_unit_test(test_unknown_zones_charge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
