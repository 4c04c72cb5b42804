#include "base/intern.h"

#include <assert.h>

#define INTERN_FIRST 16u

static int grow(Intern *intern) {
    size_t size = intern->size ? intern->size * 2 : INTERN_FIRST;
    Str *strings = ARENA_ARRAY(intern->arena, Str, size);

    if (!strings)
        return -1;
    if (intern->n_strings > 0)
        memcpy(strings, intern->strings, intern->n_strings * sizeof(Str));
    intern->strings = strings;
    intern->size = size;
    return 0;
}

uint32_t intern_add(Intern *intern, Str str) {
    uint32_t id = map_find(&intern->map, str);
    Str copy;

    if (id != MAP_NONE)
        return id;
    if (intern->n_strings == intern->size && grow(intern) < 0)
        return INTERN_ABSENT;
    copy = arena_copy(intern->arena, str);
    if (!copy.ptr)
        return INTERN_ABSENT;
    id = (uint32_t)(intern->n_strings + 1);
    if (map_add(&intern->map, copy, id) < 0)
        return INTERN_ABSENT;
    intern->strings[intern->n_strings++] = copy;
    return id;
}

uint32_t intern_find(const Intern *intern, Str str) {
    uint32_t id = map_find(&intern->map, str);

    return id == MAP_NONE ? INTERN_ABSENT : id;
}

Str intern_get(const Intern *intern, uint32_t id) {
    assert(id > 0 && id <= intern->n_strings);
    return intern->strings[id - 1];
}
