/* Replaces expected values in the text of a test file. */

#include <errno.h>
#include <stdlib.h>

#include "suite/suite.h"
#include "yaml/document.h"

static int compare_places(const void *a, const void *b) {
    const SuiteFailure *x = *(const SuiteFailure *const *)a;
    const SuiteFailure *y = *(const SuiteFailure *const *)b;

    if (x->place.line != y->place.line)
        return x->place.line < y->place.line ? -1 : 1;
    return (x->place.column > y->place.column) - (x->place.column < y->place.column);
}

/* Collects the failures with a right value, in the order of the text. "*" can fail for several
 * nodes, and then has no value that is right for all. */
static size_t collect(const Suite *suite, const SuiteFailure **ret) {
    size_t n = 0, n_kept = 0;

    for (size_t i = 0; i < suite->n_cases; i++)
        for (size_t k = 0; k < suite->cases[i].failures.n; k++)
            ret[n++] = &suite->cases[i].failures.items[k];
    if (n > 0)
        qsort(ret, n, sizeof(*ret), compare_places);
    for (size_t i = 0; i < n;) {
        size_t next = i + 1;

        while (next < n && compare_places(&ret[i], &ret[next]) == 0)
            next++;
        if (next == i + 1 && ret[i]->right.len > 0)
            ret[n_kept++] = ret[i];
        i = next;
    }
    return n_kept;
}

static void replace(const Suite *suite, const SuiteFailure **failures, size_t n, Buf *out) {
    size_t at = 0;

    buf_append(out, str_take(suite->text, suite->text.len - suite->source.len));
    for (size_t i = 0; i < n; i++) {
        const Place *place = &failures[i]->place;
        Str line = str_line(suite->source, place->line);
        size_t start = (size_t)(line.ptr - suite->source.ptr) + place->column - 1;

        buf_append(out, str_take(str_skip(suite->source, at), start - at));
        buf_append(out, failures[i]->right);
        at = start + place->width;
    }
    buf_append(out, str_skip(suite->source, at));
}

int suite_update(const Suite *suite, Arena *arena, Buf *out, size_t *ret_n) {
    DiagList diags = DIAG_LIST_IN(arena);
    const SuiteFailure **failures;
    YamlStream stream;
    size_t n = 0;
    int r;

    for (size_t i = 0; i < suite->n_cases; i++)
        n += suite->cases[i].failures.n;
    failures = ARENA_ARRAY(arena, const SuiteFailure *, n);
    if (!failures)
        return -ENOMEM;
    *ret_n = collect(suite, failures);
    replace(suite, failures, *ret_n, out);
    if (buf_error(out))
        return -ENOMEM;
    r = yaml_parse(suite->file, buf_str(out), arena, &diags, &stream);
    return r == -EINVAL ? SUITE_E_INVALID : r;
}
