/* Distinct strings, known by numbers. */

#include "base/intern.h"

#include <assert.h>

uint32_t intern_add(Intern *intern, Str str) {
    uint32_t id = map_find(&intern->map, str);
    Str copy;

    if (id != MAP_NONE)
        return id;
    copy = arena_copy(intern->arena, str);
    if (!copy.ptr || !VEC_ADD(&intern->strings, intern->arena, copy))
        return INTERN_ABSENT;
    id = (uint32_t)intern->strings.n;
    if (map_add(&intern->map, copy, id) == 0)
        return id;
    intern->strings.n--;
    return INTERN_ABSENT;
}

uint32_t intern_find(const Intern *intern, Str str) {
    uint32_t id = map_find(&intern->map, str);

    return id == MAP_NONE ? INTERN_ABSENT : id;
}

Str intern_get(const Intern *intern, uint32_t id) {
    assert(id > 0 && id <= intern->strings.n);
    return intern->strings.items[id - 1];
}
