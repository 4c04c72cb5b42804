#include "cel/column.h"

CelLane cel_lane_of(const CelType *type) {
    switch (type->kind) {
    case CEL_T_BOOL:
        return CEL_LANE_BOOL;
    case CEL_T_INT:
    case CEL_T_DURATION:
        return CEL_LANE_INT;
    case CEL_T_DOUBLE:
        return CEL_LANE_DOUBLE;
    case CEL_T_TIMESTAMP:
        return CEL_LANE_TIME;
    case CEL_T_STRING:
        return CEL_LANE_TEXT;
    default:
        return CEL_LANE_NONE;
    }
}
