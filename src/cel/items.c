#include "cel/items.h"

const CelValue *cel_items(CelRun *run, const CelList *list, CelValue *ret_error) {
    static const CelValue nothing;
    CelValue *items;

    if (!cel_charge(run, list->n)) {
        *ret_error = cel_exhausted(run);
        return NULL;
    }
    if (list->items || list->n == 0)
        return list->items ? list->items : &nothing;
    items = cel_list_begin(run, list->n);
    if (!items) {
        *ret_error = cel_no_memory(run);
        return NULL;
    }
    for (uint32_t i = 0; i < list->n; i++) {
        items[i] = cel_list_at(list, i, run);
        if (items[i].kind == CEL_ERROR) {
            *ret_error = items[i];
            return NULL;
        }
    }
    return items;
}
