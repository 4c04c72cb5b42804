/* The tables of fields: their declared types and their description. */

#include "cel/env.h"
#include "schema/record.h"
#include "schema/test-scene.h"

static int setup(void **state) {
    static Scene scene;

    scene_init(&scene);
    *state = &scene;
    return 0;
}

static int teardown(void **state) {
    scene_done(*state);
    return 0;
}

/* Types that are constant data equal those that the checker would make. */
static void test_types(void **state) {
    Scene *scene = *state;

    for (size_t i = 0; i < schema_n_records; i++) {
        const CelRecordType *record = &schema_records[i]->type;
        const CelType *made = cel_record_of(scene->arena, record), *of = &schema_records[i]->of;

        assert_true(cel_type_equal(made, of) && of->value_kind == made->value_kind);
        assert_true(of->depth == made->depth && of->weight == made->weight);
        assert_ptr_equal(schema_record_of(of), schema_records[i]);
        for (uint32_t k = 0; k < record->n_fields; k++) {
            _cleanup_(buf_done) Buf text = BUF_INIT(4096);
            const CelType *type = record->fields[k].type, *read;

            if (type->kind == CEL_T_ERROR)
                continue;
            cel_type_print(type, false, &text);
            read = cel_type_read(scene->schema->env, buf_str(&text), scene->arena);
            assert_non_null(read);
            assert_true(cel_type_equal(read, type) && read->value_kind == type->value_kind);
            assert_true(read->depth == type->depth && read->weight == type->weight);
        }
    }
    assert_null(schema_record_of(&cel_string_type));
}

/* Each name is unique; each field has a description. */
static void test_fields(void **state) {
    (void)state;
    for (size_t i = 0; i < schema_n_records; i++) {
        const CelRecordType *record = &schema_records[i]->type;

        for (uint32_t k = 0; k < record->n_fields; k++) {
            assert_int_equal(cel_record_find(record, record->fields[k].name), k);
            assert_true(record->fields[k].about.len > 0);
            assert_true(str_find(record->fields[k].about, '|') == SIZE_MAX);
        }
    }
}

static void test_describe(void **state) {
    static const char *const lines[] = {
        "| `node` | Node | ",
        "\n### Node\n",
        "\n### NodePod\n",
        "| `free` | map(string, double) | always | 64 entries | ",
        "| `creationTimestamp` | timestamp | has() tells | 1 | when it was created |\n",
        "| `name` | string | always | 253 bytes | its name |\n",
        "| `phase` | — | never | — | ",
        "| `domain` | `Node.(string) -> Domain` | ",
    };
    _cleanup_(buf_done) Buf text = BUF_INIT(1 << 20);

    (void)state;
    schema_describe(&text);
    buf_append_char(&text, '\0');
    assert_int_equal(buf_error(&text), 0);
    for (size_t i = 0; i < ELEMENTS_OF(lines); i++)
        assert_case(lines[i], strstr(text.data, lines[i]) != NULL);
}

/* Out of memory leaves no half-made type. */
static void test_memory(void **state) {
    (void)state;
    for (size_t budget = 64; budget < 512 * 1024; budget += budget / 2) {
        _cleanup_(arena_freep) Arena *arena = arena_new(budget);

        assert_non_null(arena);
        if (schema_new(arena))
            return;
    }
    fail_msg("schema_new() takes more than expected");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
