#pragma once

/* Calls functions of a library directly through its table; each case has its own arena and run. */

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/test-assert.h"
#include "cel/library.h"

#define CALL_ARGS 4

/* A call and its expected result: as cel_value_print() writes it, or "error: " and a part of the
 * text. */
typedef struct LibraryCase {
    const char *name, *signature;
    CelValue args[CALL_ARGS];
    const char *want;
} LibraryCase;

static inline CelValue text(const char *c) {
    return cel_string(str_from_c(c));
}

/* A list over a static array. */
#define LIST(...)                                                                                  \
    cel_list(&(CelList){.n = sizeof((CelValue[]){__VA_ARGS__}) / sizeof(CelValue),                 \
        .depth = 2,                                                                                \
        .items = (CelValue[]){__VA_ARGS__}})
#define EMPTY_LIST cel_list(&(CelList){.depth = 1})

/* A list of the host: the numbers @n, …, 2, 1. */
static inline CelValue countdown_at(const CelList *list, uint32_t i, CelRun *run) {
    (void)run;
    return cel_int((int64_t)list->n - i);
}
#define COUNTDOWN(count) cel_list(&(CelList){.n = (count), .depth = 1, .at = countdown_at})

static inline CelValue library_call(
    const CelLibrary *library, const LibraryCase *wanted, CelRun *run) {
    for (size_t i = 0; i < library->n_overloads; i++) {
        const CelOverloadSpec *spec = &library->overloads[i];

        if (strcmp(spec->name, wanted->name) == 0 &&
            strcmp(spec->signature, wanted->signature) == 0)
            return spec->fn(run, wanted->args, NULL);
    }
    print_error("%s has no %s %s\n", library->name, wanted->name, wanted->signature);
    fail();
    return cel_absent();
}

static inline void library_check(const CelLibrary *library, const LibraryCase *wanted) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 20);
    _cleanup_(buf_done) Buf got = BUF_INIT(1 << 20);
    CelRun run = CEL_RUN(arena);
    CelValue v = library_call(library, wanted, &run);

    if (v.kind != CEL_ERROR) {
        cel_value_print(v, &run, 0, &got);
        assert_text(wanted->name, buf_str(&got), wanted->want);
        return;
    }
    buf_printf(&got, "error: %.*s", STR_FMT(v.error->text));
    if (strncmp(wanted->want, "error: ", 7) != 0 ||
        !memmem(got.data, got.len, wanted->want + 7, strlen(wanted->want + 7)))
        assert_text(wanted->name, buf_str(&got), wanted->want);
}

#define library_check_all(library, cases)                                                          \
    do {                                                                                           \
        for (size_t _i = 0; _i < ELEMENTS_OF(cases); _i++)                                         \
            library_check(&(library), &(cases)[_i]);                                               \
    } while (0)

/* Runs every case with every smaller amount of fuel, and with very little memory: it must end with
 * the limit's error or with the same result. */
static inline void library_starve(const CelLibrary *library, const LibraryCase *wanted) {
    for (int64_t fuel = 0; fuel < 64; fuel++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(fuel < 32 ? 1 << 20 : 48);
        CelRun run = CEL_RUN(arena);
        CelValue v;

        run.fuel = fuel < 32 ? fuel : CEL_FUEL_DEFAULT;
        v = library_call(library, wanted, &run);
        assert_case(wanted->name, run.fuel >= 0);
        if (run.limit) /* a limit that was reached is returned */
            assert_case(wanted->name, v.kind == CEL_ERROR && v.error->is_limit);
        else if (v.kind == CEL_ERROR)
            assert_case(wanted->name, strncmp(wanted->want, "error: ", 7) == 0);
        else
            assert_case(wanted->name, strncmp(wanted->want, "error: ", 7) != 0);
    }
}

#define library_starve_all(library, cases)                                                         \
    do {                                                                                           \
        for (size_t _i = 0; _i < ELEMENTS_OF(cases); _i++)                                         \
            library_starve(&(library), &(cases)[_i]);                                              \
    } while (0)
