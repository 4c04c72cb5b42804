#include "load/source.h"

const Source *sources_find(const Sources *sources, Str name) {
    Str wanted = str_is_empty(name) ? STR(SOURCE_DEFAULT_NAME) : name;

    for (size_t i = 0; i < sources->n; i++)
        if (str_eq(sources->items[i].name, wanted))
            return &sources->items[i];
    return NULL;
}
