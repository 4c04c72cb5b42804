#pragma once

/* The path of a place in a document, for users who do not see its text: "spec.filters[2].name". */

#include "base/diag.h"
#include "yaml/document.h"

/* Appends the path of the innermost value, or key, that begins at or before @place; nothing for the
 * document as a whole. */
void yaml_path_at(const YamlNode *document, Place place, Buf *out);
