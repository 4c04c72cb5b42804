#include "cel/entry.h"

#include "base/nsec.h"

CelValue cel_entry_error(void) {
    static const CelError error = {.text = {.ptr = "error", .len = 5}};

    return (CelValue){.kind = CEL_ERROR, .error = &error};
}

uint8_t cel_entry_state(CelKind kind, CelValue v) {
    if (v.kind == CEL_ERROR)
        return v.error->is_limit ? CEL_STATE_ODD : CEL_STATE_ERROR;
    if (v.kind != kind)
        return CEL_STATE_ODD;
    return kind == CEL_BOOL && v.boolean ? CEL_STATE_TRUE : CEL_STATE_FINE;
}

/* False: further away than nanoseconds reach. */
static bool time_of(CelValue v, int64_t *ret) {
    return !__builtin_mul_overflow(v.i, NSEC_PER_SEC, ret) &&
           !__builtin_add_overflow(*ret, (int64_t)v.len, ret);
}

void cel_entry_set(CelColumn *column, size_t i, CelKind kind, CelValue v) {
    uint8_t state = cel_entry_state(kind, v);
    bool is_fine = state == CEL_STATE_FINE;

    switch (column->lane) {
    case CEL_LANE_INT:
        column->ints[i] = is_fine ? v.i : 0;
        break;
    case CEL_LANE_DOUBLE:
        column->doubles[i] = is_fine ? v.d : 0;
        break;
    case CEL_LANE_TIME:
        column->ints[i] = 0;
        if (is_fine && !time_of(v, &column->ints[i])) {
            column->ints[i] = 0;
            state = CEL_STATE_ODD;
        }
        break;
    default:
        break;
    }
    column->states[i] = state;
}

static CelValue timestamp_of(int64_t ns) {
    int64_t sec = ns / NSEC_PER_SEC, rest = ns % NSEC_PER_SEC;

    return rest >= 0 ? cel_timestamp(sec, (uint32_t)rest)
                     : cel_timestamp(sec - 1, (uint32_t)(rest + NSEC_PER_SEC));
}

CelValue cel_entry_get(const CelColumn *column, size_t i, CelKind kind) {
    uint8_t state = column->states ? column->states[i] : CEL_STATE_FINE;

    if (state >= CEL_STATE_ERROR)
        return cel_entry_error();
    switch (column->lane) {
    case CEL_LANE_BOOL:
        return cel_bool(state == CEL_STATE_TRUE);
    case CEL_LANE_INT:
        return (CelValue){.kind = (uint8_t)kind, .i = column->ints[i]};
    case CEL_LANE_DOUBLE:
        return cel_double(column->doubles[i]);
    default:
        return timestamp_of(column->ints[i]);
    }
}
