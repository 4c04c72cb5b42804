#include "model/related.h"

#include "model/test-decode.h"

static const char claim_text[] =
    "{\"metadata\":{\"name\":\"data-0\",\"namespace\":\"shop\"},\"spec\":{\"accessModes\":["
    "\"ReadWriteOnce\"],\"storageClassName\":\"fast\",\"volumeName\":\"pv-1\",\"resources\":{"
    "\"requests\":{\"storage\":\"10Gi\"}}},\"status\":{\"phase\":\"Bound\",\"capacity\":{"
    "\"storage\":\"12Gi\"}},\"volume\":{\"metadata\":{\"name\":\"pv-1\"}}}";

static const char volume_text[] =
    "{\"metadata\":{\"name\":\"pv-1\",\"labels\":{\"topology.kubernetes.io/zone\":\"z1__z3\"}},"
    "\"spec\":{\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{"
    "\"key\":\"topology.ebs.csi.aws.com/zone\",\"operator\":\"In\",\"values\":[\"z1\",\"z2\"]},{"
    "\"key\":\"pool\",\"operator\":\"In\",\"values\":[\"x\"]}]}]}}}}";

static JsonError read_claim(Str text, Arena *arena, VolumeClaim *ret) {
    JsonReader reader;

    json_reader_init(&reader, text);
    volume_claim_decode(&reader, arena, ret);
    json_end(&reader);
    return json_error(&reader);
}

static JsonError read_volume(Str text, Arena *arena, PersistentVolume *ret) {
    JsonReader reader;

    json_reader_init(&reader, text);
    persistent_volume_decode(&reader, arena, ret);
    json_end(&reader);
    return json_error(&reader);
}

static JsonError decode_claim(Str text, Arena *arena) {
    VolumeClaim claim;

    return read_claim(text, arena, &claim);
}

static JsonError decode_volume(Str text, Arena *arena) {
    PersistentVolume volume;

    return read_volume(text, arena, &volume);
}

static void test_claim(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(65536);
    VolumeClaim claim;

    (void)state;
    assert_int_equal(read_claim(STR(claim_text), arena, &claim), JSON_OK);
    assert_text("name", claim.name, "data-0");
    assert_text("namespace", claim.namespace, "shop");
    assert_text("class", claim.storage_class, "fast");
    assert_text("volume", claim.volume_name, "pv-1");
    assert_text("phase", claim.phase, "Bound");
    assert_int_equal(claim.requested, INT64_C(10) << 30);
    assert_int_equal(claim.capacity, INT64_C(12) << 30);
    assert_int_equal(claim.n_access_modes, 1);
    assert_text("mode", claim.access_modes[0], "ReadWriteOnce");
    assert_text("its volume", claim.volume.name, "pv-1");
}

/* An amount may be a number; one that cannot be read counts as not given. */
static void test_amounts(void **state) {
    static const struct {
        const char *storage;
        int64_t want;
    } cases[] = {{"5", 5}, {"\"1.5k\"", 1500}, {"\"x\"", 0}, {"null", 0}, {"\"\"", 0}};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(65536);
        VolumeClaim claim;
        Str text =
            arena_printf(arena, "{\"status\":{\"capacity\":{\"storage\":%s}}}", cases[i].storage);

        assert_int_equal(read_claim(text, arena, &claim), JSON_OK);
        assert_case(cases[i].storage, claim.capacity == cases[i].want);
    }
}

static void test_volume(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(65536);
    PersistentVolume volume;
    const Label in_z2[] = {
        {STR("pool"), STR("x")}, {STR("topology.ebs.csi.aws.com/zone"), STR("z2")}};

    (void)state;
    assert_int_equal(read_volume(STR(volume_text), arena, &volume), JSON_OK);
    assert_int_equal(volume.n_zones, 3); /* each once */
    assert_text("first", volume.zones[0], "z1");
    assert_text("second", volume.zones[1], "z2");
    assert_text("of the label", volume.zones[2], "z3");
    assert_true(terms_hold(&volume.terms, STR("n"), &(Labels){in_z2, 2}));
    assert_false(terms_hold(&volume.terms, STR("n"), &(Labels){in_z2, 1}));
    assert_int_equal(read_volume(STR("{\"metadata\":{\"name\":\"local\"}}"), arena, &volume), 0);
    assert_int_equal(volume.n_zones, 0);
    assert_true(terms_hold(&volume.terms, STR("n"), &(Labels){0}));
}

static void test_cuts_and_budgets(void **state) {
    (void)state;
    check_every_cut(STR(claim_text), decode_claim);
    check_every_cut(STR(volume_text), decode_volume);
    check_every_budget(STR(volume_text), decode_volume);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claim),
        cmocka_unit_test(test_amounts),
        cmocka_unit_test(test_volume),
        cmocka_unit_test(test_cuts_and_budgets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
