#include "history/roll.h"

#include <stdlib.h>

Roll *roll_new(void) {
    Roll *roll = calloc(1, sizeof(*roll));

    if (!roll)
        return NULL;
    roll->ref = REF_ONE;
    roll->arena = arena_new(ROLL_BUDGET);
    if (!roll->arena)
        return roll_unref(roll);
    roll->names = INTERN_INIT_IN(roll->arena);
    return roll;
}

Roll *roll_ref(Roll *roll) {
    ref_take(&roll->ref);
    return roll;
}

Roll *roll_unref(Roll *roll) {
    if (roll && ref_drop(&roll->ref)) {
        arena_free(roll->arena);
        free(roll);
    }
    return NULL;
}

uint32_t roll_add(Roll *roll, Str name) {
    if (str_is_empty(name) || name.len > ROLL_NAME_MAX)
        return ROLL_NONE;
    return intern_add(&roll->names, name);
}
