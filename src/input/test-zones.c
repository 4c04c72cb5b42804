#include "input/zones.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/test-assert.h"

#define FOLDER TEST_DATA "/cel/zoneinfo"
#define SUMMER INT64_C(1751328000) /* 2025-07-01 */

static const CelZone *look_up(const Zones *zones, const char *name) {
    const CelZones *finder = zones_finder(zones);

    return finder->find(finder, str_from_c(name));
}

static void test_finds_zones(void **state) {
    _cleanup_(zones_freep) Zones *zones = zones_new_in(FOLDER);
    const CelZone *berlin = look_up(zones, "Europe/Berlin");

    (void)state;
    assert_non_null(berlin);
    assert_int_equal(cel_zone_offset(berlin, SUMMER), 7200);
    assert_ptr_equal(look_up(zones, "Europe/Berlin"), berlin); /* kept */
    assert_non_null(look_up(zones, "Etc/GMT+5"));
    assert_int_equal(cel_zone_offset(look_up(zones, "Etc/GMT+5"), 0), -18000);
}

static void test_rejects_invalid_names(void **state) {
    static const char *const names[] = {"", "Europe", "Europe/", "europe/berlin", "Europe/Atlantis",
        "/Europe/Berlin", "../zoneinfo/Europe/Berlin", "Europe/../Europe/Berlin", "./Europe/Berlin",
        "Europe\\Berlin", "Europe/Berlin ", "Europe/B\xc3\xa9rlin",
        "E234567890123456789012345678901234567890123456789012345678901234567890"};
    _cleanup_(zones_freep) Zones *zones = zones_new_in(FOLDER);

    (void)state;
    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < ELEMENTS_OF(names); i++)
            assert_case(names[i], look_up(zones, names[i]) == NULL);
    assert_null(zones_finder(zones)->find(zones_finder(zones), STR("Europe/Berlin\0")));
    assert_non_null(look_up(zones, "Europe/Berlin"));
}

/* Names that do not exist do not evict those that do. */
static void test_many_absent(void **state) {
    _cleanup_(zones_freep) Zones *zones = zones_new_in(FOLDER);

    (void)state;
    for (int i = 0; i < 4 * ZONES_ABSENT_MAX; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "Nowhere/%d", i);
        assert_case(name, look_up(zones, name) == NULL);
    }
    assert_non_null(look_up(zones, "Asia/Kolkata"));
}

static void test_no_folder(void **state) {
    _cleanup_(zones_freep) Zones *zones = zones_new_in(FOLDER "/nowhere");

    (void)state;
    assert_null(look_up(zones, "Europe/Berlin"));
}

/* Zones of the system, if it has any. */
static void test_system(void **state) {
    _cleanup_(zones_freep) Zones *zones = zones_new();
    const CelZone *zone;

    (void)state;
    if (access("/usr/share/zoneinfo/America/New_York", R_OK) < 0)
        skip();
    zone = look_up(zones, "America/New_York");
    assert_non_null(zone);
    assert_int_equal(cel_zone_offset(zone, SUMMER), -4 * 3600);
    assert_int_equal(cel_zone_offset(zone, SUMMER + INT64_C(184) * 86400), -5 * 3600);
}

/* --- threads ---------------------------------------------------------------- */

static const char *const zone_names[] = {"Europe/Berlin", "Asia/Kolkata", "Nowhere/Town",
    "Pacific/Apia", "America/New_York", "Nowhere/Else", "Africa/Cairo"};

static _Atomic(const CelZone *) first_answers[ELEMENTS_OF(zone_names)];

/* All threads get the same zone for a name. */
static void *look_up_all(void *arg) {
    const Zones *zones = arg;
    uintptr_t n_wrong = 0;

    for (size_t i = 0; i < 2000; i++) {
        size_t k = i % ELEMENTS_OF(zone_names);
        const CelZone *zone = look_up(zones, zone_names[k]), *expected = NULL;

        if ((zone == NULL) != (zone_names[k][0] == 'N'))
            n_wrong++;
        if (!zone)
            continue;
        if (!atomic_compare_exchange_strong(&first_answers[k], &expected, zone) && expected != zone)
            n_wrong++;
        if (cel_zone_offset(zone, (int64_t)i * 86400) == INT32_MIN)
            n_wrong++;
    }
    return (void *)n_wrong; // NOLINT(performance-no-int-to-ptr)
}

static void test_threads(void **state) {
    _cleanup_(zones_freep) Zones *zones = zones_new_in(FOLDER);
    pthread_t threads[4];

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_up_all, zones), 0);
    for (size_t i = 0; i < ELEMENTS_OF(threads); i++) {
        void *n_wrong;

        assert_int_equal(pthread_join(threads[i], &n_wrong), 0);
        assert_null(n_wrong);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_zones),
        cmocka_unit_test(test_rejects_invalid_names),
        cmocka_unit_test(test_many_absent),
        cmocka_unit_test(test_no_folder),
        cmocka_unit_test(test_system),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
