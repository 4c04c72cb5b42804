#include "commands/eval-functions.h"

#include <string.h>

#include "cel/library.h"

/* Operators have names that nobody can write: _+_, !_, @in. */
static bool is_operator(const char *name) {
    return strpbrk(name, "@_!-") != NULL;
}

/* "string.(int) -> string" and "charAt": "string.charAt(int) -> string". */
static void print_overload(const CelOverloadSpec *spec, Buf *out) {
    const char *arguments = strstr(spec->signature, ".(");
    const char *rest = arguments ? arguments + 1 : spec->signature;

    buf_append(out, STR("  "));
    if (arguments)
        buf_printf(out, "%.*s.", (int)(arguments - spec->signature), spec->signature);
    buf_printf(out, "%s%s\n", spec->name, rest);
}

void eval_functions_print(Buf *out) {
    for (size_t i = 0; cel_libraries[i]; i++) {
        bool has_title = false;

        for (size_t k = 0; k < cel_libraries[i]->n_overloads; k++) {
            const CelOverloadSpec *spec = &cel_libraries[i]->overloads[k];

            if (is_operator(spec->name))
                continue;
            if (!has_title)
                buf_printf(out, "%s%s\n", out->len > 0 ? "\n" : "", cel_libraries[i]->name);
            has_title = true;
            print_overload(spec, out);
        }
    }
}
