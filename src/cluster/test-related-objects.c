#include "cluster/related-objects.h"

#include "base/test-assert.h"
#include "cluster/snapshot.h"
#include "cluster/store.h"

#define BYTES_MAX ((size_t)1024 * 1024)

static const Pod pod = {.name = STR("p"), .namespace = STR("team-a")};

static int apply(Store *store, const char *json, Arena *arena) {
    RelatedObject object;
    JsonReader reader;

    json_reader_init(&reader, str_from_c(json));
    related_object_decode(RELATED_NAMESPACES, &reader, arena, &object);
    assert_int_equal(json_error(&reader), JSON_OK);
    return store_apply_related(store, RELATED_NAMESPACES, &object);
}

/* The label tier of the pod's namespace, as in the newest snapshot; "?": namespaces are not
 * known, "-": the namespace is not. */
static Str tier(Store *store, Arena *arena) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    const Str *value;
    Related related;

    assert_int_equal(store_publish(store, &snapshot), 0);
    assert_false(store_is_dirty(store));
    assert_int_equal(related_objects_find(snapshot_related(snapshot), &pod, arena, &related), 0);
    if (!related.knows_namespaces)
        return STR("?");
    if (!related.namespace)
        return STR("-");
    value = labels_find(&related.namespace->labels, STR("tier"));
    return value ? arena_copy(arena, *value) : STR("");
}

#define GOLD "{\"metadata\":{\"name\":\"team-a\",\"labels\":{\"tier\":\"gold\"}}}"
#define IRON "{\"metadata\":{\"name\":\"team-a\",\"labels\":{\"tier\":\"iron\"}}}"

static void test_store_follows_events(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BYTES_MAX);
    _cleanup_(store_freep) Store *store = store_new();

    (void)state;
    assert_text("nothing", tier(store, arena), "?");
    assert_int_equal(apply(store, "{\"metadata\":{\"name\":\"other\"}}", arena), 0);
    assert_true(store_is_dirty(store));
    assert_text("another", tier(store, arena), "-");
    assert_int_equal(apply(store, GOLD, arena), 0);
    assert_text("added", tier(store, arena), "gold");
    assert_int_equal(apply(store, GOLD, arena), 0);
    assert_false(store_is_dirty(store));
    assert_int_equal(apply(store, IRON, arena), 0);
    assert_text("modified", tier(store, arena), "iron");
    assert_int_equal(store_remove_related(store, RELATED_NAMESPACES, STR_NULL, STR("team-a")), 0);
    assert_text("deleted", tier(store, arena), "-");
    store_forget_related(store, RELATED_NAMESPACES);
    assert_text("forgotten", tier(store, arena), "?");
}

/* Nothing of a list is visible before its end; then objects that it lacks are gone. */
static void test_lists_replace_everything(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BYTES_MAX);
    _cleanup_(store_freep) Store *store = store_new();
    RelatedObject other = {.name = STR("other"), .text = STR("{}")};

    (void)state;
    store_list_related_begin(store, RELATED_NAMESPACES);
    assert_int_equal(store_list_related(store, RELATED_NAMESPACES, &other), 0);
    assert_text("staged", tier(store, arena), "?");
    assert_int_equal(store_list_related_end(store, RELATED_NAMESPACES), 0);
    assert_text("whole", tier(store, arena), "-");
    assert_int_equal(store_count_related(store, RELATED_NAMESPACES), 1);
    store_list_related_begin(store, RELATED_NAMESPACES); /* an empty list */
    assert_int_equal(store_list_related_end(store, RELATED_NAMESPACES), 0);
    assert_int_equal(store_count_related(store, RELATED_NAMESPACES), 0);
    assert_text("empty", tier(store, arena), "-");
}

/* A recorded pod has its own, which counts where a snapshot knows nothing. */
static void test_recorded_objects_of_a_pod(void **state) {
    static const Namespace own = {.name = STR("team-a")};
    static const Related related = {.knows_namespaces = true, .namespace = &own};
    _cleanup_(arena_freep) Arena *arena = arena_new(BYTES_MAX);
    _cleanup_(related_set_unrefp) RelatedSet *set = related_set_new();
    Pod recorded = pod;
    Related found;

    (void)state;
    recorded.related = &related;
    assert_int_equal(related_objects_find(&(RelatedObjects){0}, &recorded, arena, &found), 0);
    assert_ptr_equal(found.namespace, &own);
    assert_int_equal(related_objects_find(&(RelatedObjects){.kinds = {[RELATED_NAMESPACES] = set}},
                         &recorded, arena, &found),
        0);
    assert_null(found.namespace);
}

static void put(Store *store, RelatedKind kind, const char *json, Arena *arena) {
    RelatedObject object;
    JsonReader reader;

    json_reader_init(&reader, str_from_c(json));
    related_object_decode(kind, &reader, arena, &object);
    assert_int_equal(json_error(&reader), JSON_OK);
    assert_int_equal(store_apply_related(store, kind, &object), 0);
}

/* Claims are those of the pod's volumes, in their order, each with its volume. */
static void test_claims_of_a_pod(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BYTES_MAX);
    _cleanup_(store_freep) Store *store = store_new();
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    PodVolume volumes[] = {{.claim_name = STR("b")}, {.name = STR("scratch")},
        {.claim_name = STR("a")}, {.claim_name = STR("none")}};
    PodDetails details = {.volumes = volumes, .n_volumes = ELEMENTS_OF(volumes)};
    Pod with_volumes = pod;
    Related found;

    (void)state;
    with_volumes.details = &details;
    put(store, RELATED_CLAIMS,
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"team-a\"},\"spec\":{\"volumeName\":"
        "\"pv-a\",\"resources\":{\"requests\":{\"storage\":\"1Ki\"}}},\"status\":{\"phase\":"
        "\"Bound\",\"capacity\":{\"storage\":\"2Ki\"}}}",
        arena);
    put(store, RELATED_CLAIMS,
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"other\"},\"status\":{\"phase\":\"Lost\"}}",
        arena);
    put(store, RELATED_CLAIMS,
        "{\"metadata\":{\"name\":\"b\",\"namespace\":\"team-a\"},\"status\":{\"phase\":"
        "\"Pending\"}}",
        arena);
    put(store, RELATED_VOLUMES,
        "{\"metadata\":{\"name\":\"pv-a\"},\"spec\":{\"nodeAffinity\":{\"required\":{"
        "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"x/zone\",\"operator\":\"In\","
        "\"values\":[\"z1\"]}]}]}}}}",
        arena);
    assert_int_equal(store_publish(store, &snapshot), 0);
    assert_int_equal(
        related_objects_find(snapshot_related(snapshot), &with_volumes, arena, &found), 0);
    assert_true(found.knows_claims);
    assert_false(found.knows_namespaces);
    assert_int_equal(found.n_claims, 3);
    assert_text("first", found.claims[0].phase, "Pending");
    assert_text("second", found.claims[1].name, "a");
    assert_int_equal(found.claims[1].requested, 1024);
    assert_int_equal(found.claims[1].capacity, 2048);
    assert_text("its volume", found.claims[1].volume.name, "pv-a");
    assert_int_equal(found.claims[1].volume.n_zones, 1);
    assert_text("its zone", found.claims[1].volume.zones[0], "z1");
    assert_text("unknown", found.claims[2].name, "none");
    assert_text("unknown", found.claims[2].phase, "");
}

/* The store keeps the fields that expressions read, and no others. */
static void test_kept_texts(void **state) {
    static const struct {
        RelatedKind kind;
        const char *json, *namespace, *kept;
    } cases[] = {
        {RELATED_SERVICES,
            "{\"metadata\":{\"name\":\"o\",\"namespace\":\"team-a\",\"uid\":\"u\"},\"spec\":{"
            "\"selector\":"
            "{\"app\":\"web\"},\"clusterIP\":\"10.0.0.1\"}}",
            "team-a",
            "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"namespace\":"
            "\"team-a\",\"name\":\"o\"},\"spec\":{\"selector\":{\"app\":\"web\"}}}"},
        {RELATED_CLAIMS,
            "{\"metadata\":{\"name\":\"o\",\"namespace\":\"team-a\"},\"spec\":{"
            "\"storageClassName\":"
            "\"fast\",\"volumeName\":\"v\",\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{"
            "\"requests\":{\"storage\":\"1Ki\"}}},\"status\":{\"phase\":\"Bound\"}}",
            "team-a",
            "{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolumeClaim\",\"metadata\":{\"name\":"
            "\"o\","
            "\"namespace\":\"team-a\"},\"spec\":{\"storageClassName\":\"fast\",\"volumeName\":"
            "\"v\","
            "\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":1024}}},"
            "\"status\":{\"phase\":\"Bound\"}}"},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(BYTES_MAX);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        RelatedObject object;
        JsonReader reader;

        json_reader_init(&reader, str_from_c(cases[i].json));
        related_object_decode(cases[i].kind, &reader, arena, &object);
        assert_int_equal(json_error(&reader), JSON_OK);
        assert_text("namespace", object.namespace, cases[i].namespace);
        assert_text("name", object.name, "o");
        assert_text("kept", object.text, cases[i].kept);
    }
}

/* The name is read even if the rest of the object cannot be, so that messages can name it. */
static void test_name_of_an_unreadable_object(void **state) {
    static const struct {
        RelatedKind kind;
        const char *json, *namespace;
    } cases[] = {
        {RELATED_NAMESPACES, "{\"metadata\":{\"name\":\"o\",\"labels\":3}}", ""},
        {RELATED_CLAIMS,
            "{\"metadata\":{\"name\":\"o\",\"namespace\":\"team-a\"},\"spec\":{\"volumeName\":3}}",
            "team-a"},
        {RELATED_VOLUMES,
            "{\"metadata\":{\"name\":\"o\"},\"spec\":{\"nodeAffinity\":{\"required\":3}}}", ""},
        {RELATED_SERVICES,
            "{\"metadata\":{\"name\":\"o\",\"namespace\":\"team-a\"},\"spec\":{\"selector\":3}}",
            "team-a"},
    };
    _cleanup_(arena_freep) Arena *arena = arena_new(BYTES_MAX);

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        RelatedObject object;
        JsonReader reader;

        json_reader_init(&reader, str_from_c(cases[i].json));
        related_object_decode(cases[i].kind, &reader, arena, &object);
        assert_int_equal(json_error(&reader), JSON_E_TYPE);
        assert_text("namespace", object.namespace, cases[i].namespace);
        assert_text("name", object.name, "o");
        assert_text("kept", object.text, "");
    }
}

static void test_kinds(void **state) {
    (void)state;
    assert_int_equal(related_kind_of(STR("Namespace")), RELATED_NAMESPACES);
    assert_int_equal(related_kind_of(STR("PersistentVolumeClaim")), RELATED_CLAIMS);
    assert_int_equal(related_kind_of(STR("PersistentVolume")), RELATED_VOLUMES);
    assert_int_equal(related_kind_of(STR("Service")), RELATED_SERVICES);
    assert_int_equal(related_kind_of(STR("Secret")), _RELATED_KINDS);
    assert_string_equal(related_kind_name(RELATED_NAMESPACES), "namespaces");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_follows_events),
        cmocka_unit_test(test_lists_replace_everything),
        cmocka_unit_test(test_recorded_objects_of_a_pod),
        cmocka_unit_test(test_claims_of_a_pod),
        cmocka_unit_test(test_kept_texts),
        cmocka_unit_test(test_name_of_an_unreadable_object),
        cmocka_unit_test(test_kinds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
