#pragma once

/*
 * Header: a line that an operator wants every request to carry, such as the tenant's name
 * (X-Scope-OrgID) that multi-tenant servers require.
 */

#include <stddef.h>

#include "base/str.h"

#define HEADER_SIZE_MAX 4096u /* name and value */

typedef struct Header {
    Str name, value;
} Header;

/* What is wrong with one ("is set by berth itself"); NULL: nothing. A header that passes has no
 * line break in it, and overrides none of berth's own. */
const char *header_complaint(Str name, Str value);

/* Owned copies, as values may be secrets; NULL when out of memory. */
Header *headers_copy(const Header *headers, size_t n);
Header *headers_free(Header *headers, size_t n); /* wipes; takes NULL, returns NULL */
