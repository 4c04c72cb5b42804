/* The standard functions that are neither operators nor conversions. matches() is in lib-regex.c,
 * times are in lib-time.c. */
#include "base/utf8.h"
#include "cel/library.h"
#include "cel/type.h"

/* In code points, not bytes. */
CEL_FUNCTION(size_of_string) {
    Str text = cel_str(args[0]);

    if (text.len > CEL_FREE_BYTES && !cel_charge_bytes(run, text.len))
        return cel_exhausted(run);
    return cel_int((int64_t)utf8_count(text));
}

CEL_RETURNS(size_of_bytes, cel_int(args[0].len))
CEL_RETURNS(size_of_list, cel_int(args[0].list->n))
CEL_RETURNS(size_of_map, cel_int(args[0].map->n))

/* Parts of strings are compared as bytes: in UTF-8 no character is inside another. */

CEL_FUNCTION(contains) {
    Str text = cel_str(args[0]), part = cel_str(args[1]);

    if (part.len == 0)
        return cel_bool(true);
    if (part.len > text.len)
        return cel_bool(false);
    if (!cel_charge_bytes(run, text.len))
        return cel_exhausted(run);
    return cel_bool(memmem(text.ptr, text.len, part.ptr, part.len) != NULL);
}

CEL_FUNCTION(starts_with) {
    if (args[1].len > CEL_FREE_BYTES && !cel_charge_bytes(run, args[1].len))
        return cel_exhausted(run);
    return cel_bool(str_has_prefix(cel_str(args[0]), cel_str(args[1])));
}

CEL_FUNCTION(ends_with) {
    if (args[1].len > CEL_FREE_BYTES && !cel_charge_bytes(run, args[1].len))
        return cel_exhausted(run);
    return cel_bool(str_has_suffix(cel_str(args[0]), cel_str(args[1])));
}

/* type([1]) is list, without its element type: the elements may be of any kind. */
CEL_FUNCTION(type_of) {
    const CelType *type = cel_type_of(args[0]);

    if (args[0].kind == CEL_RECORD)
        type = cel_record_of(run->arena, args[0].record->type);
    return type ? cel_type(type) : cel_no_memory(run);
}

static const CelOverloadSpec overloads[] = {
    {"size", "(bytes) -> int", size_of_bytes},
    {"size", "(list(A)) -> int", size_of_list},
    {"size", "(map(A, B)) -> int", size_of_map},
    {"size", "(string) -> int", size_of_string, CEL_READS},
    {"size", "bytes.() -> int", size_of_bytes},
    {"size", "list(A).() -> int", size_of_list},
    {"size", "map(A, B).() -> int", size_of_map},
    {"size", "string.() -> int", size_of_string, CEL_READS},
    {"contains", "string.(string) -> bool", contains, CEL_READS},
    {"startsWith", "string.(string) -> bool", starts_with, CEL_READS},
    {"endsWith", "string.(string) -> bool", ends_with, CEL_READS},
    {"type", "(A) -> type(A)", type_of},
};

CEL_LIBRARY(cel_standard_library, "standard", overloads);
