#pragma once

/* Parses YAML for tests; in errors, the file is "f.yaml". */

#include "base/test-assert.h"
#include "yaml/document.h"

#define ARENA_SIZE ((size_t)256 << 20)

static inline int parse(Str source, Arena *arena, DiagList *diags, YamlStream *ret) {
    *diags = DIAG_LIST_IN(arena);
    return yaml_parse(STR("f.yaml"), source, arena, diags, ret);
}
