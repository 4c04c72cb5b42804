/* Column: its lane, and single entries written and read as values of the scalar machine. */

#include "columnar/column.h"

#include "base/nsec.h"

ColumnLane column_lane_of(const CelType *type) {
    switch (type->kind) {
    case CEL_T_BOOL:
        return LANE_BOOL;
    case CEL_T_INT:
    case CEL_T_DURATION:
        return LANE_INT;
    case CEL_T_DOUBLE:
        return LANE_DOUBLE;
    case CEL_T_TIMESTAMP:
        return LANE_TIME;
    case CEL_T_STRING:
        return LANE_TEXT;
    default:
        return LANE_NONE;
    }
}

CelValue column_error(void) {
    static const CelError error = {.text = {.ptr = "error", .len = 5}};

    return (CelValue){.kind = CEL_ERROR, .error = &error};
}

uint8_t column_state_of(CelKind kind, CelValue v) {
    if (v.kind == CEL_ERROR)
        return v.error->is_limit ? COLUMN_FALLBACK : COLUMN_ERROR;
    if (v.kind != kind)
        return COLUMN_FALLBACK;
    return kind == CEL_BOOL && v.boolean ? COLUMN_TRUE : COLUMN_OK;
}

/* Returns false if it is further away than nanoseconds reach. */
static bool time_of(CelValue v, int64_t *ret) {
    return !__builtin_mul_overflow(v.i, NSEC_PER_SEC, ret) &&
           !__builtin_add_overflow(*ret, (int64_t)v.len, ret);
}

void column_set(Column *column, size_t i, CelKind kind, CelValue v) {
    uint8_t state = column_state_of(kind, v);
    bool is_fine = state == COLUMN_OK;

    switch (column->lane) {
    case LANE_INT:
        column->ints[i] = is_fine ? v.i : 0;
        break;
    case LANE_DOUBLE:
        column->doubles[i] = is_fine ? v.d : 0;
        break;
    case LANE_TIME:
        column->ints[i] = 0;
        if (is_fine && !time_of(v, &column->ints[i])) {
            column->ints[i] = 0;
            state = COLUMN_FALLBACK;
        }
        break;
    default:
        break;
    }
    column->states[i] = state;
}

CelValue column_get(const Column *column, size_t i, CelKind kind) {
    uint8_t state = column->states ? column->states[i] : COLUMN_OK;
    uint32_t nanos;
    int64_t sec;

    if (state >= COLUMN_ERROR)
        return column_error();
    switch (column->lane) {
    case LANE_BOOL:
        return cel_bool(state == COLUMN_TRUE);
    case LANE_INT:
        return (CelValue){.kind = (uint8_t)kind, .i = column->ints[i]};
    case LANE_DOUBLE:
        return cel_double(column->doubles[i]);
    default:
        sec = nsec_split(column->ints[i], &nanos);
        return cel_timestamp(sec, nanos);
    }
}

bool column_has_states(const uint8_t *states, size_t n) {
    uint8_t any = COLUMN_OK;

    for (size_t i = 0; states && i < n; i++)
        any |= states[i];
    return any != COLUMN_OK;
}
