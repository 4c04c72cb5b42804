/* Mistakes of one policy, each with the path of its field. */

#include "input/policy-mistakes.h"

#include <errno.h>

#include "base/visible.h"
#include "input/policies.h"

#define CHECK_BUDGET ((size_t)64 * 1024 * 1024)
#define PATH_MAX_BYTES ((size_t)4 * 1024)
#define LINE_MAX_BYTES ((size_t)4 * 1024)

static void write_mistake(const YamlNode *document, const Diag *diag, Buf *out) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_BYTES);

    if (document && diag->place.line > 0)
        yaml_path_at(document, diag->place, &path);
    if (path.len > 0)
        visible_print(out, "{}: ", buf_str(&path));
    (void)visible_append(out, diag->text);
    if (!str_is_empty(diag->hint))
        visible_print(out, "; {}", diag->hint);
}

/* Writes the @n_all diagnostics of @level; those for which @out has no room are only counted. */
static void write_level(
    const YamlNode *document, const DiagList *diags, DiagLevel level, size_t n_all, Buf *out) {
    size_t n = 0;

    for (size_t i = 0; i < diags->diags.n; i++) {
        _cleanup_(buf_done) Buf line = BUF_INIT(LINE_MAX_BYTES);
        const Diag *diag = &diags->diags.items[i];

        if (diag->level != level)
            continue;
        write_mistake(document, diag, &line);
        if (out->len + line.len + 64 > out->ceiling)
            break;
        buf_printf(out, "%s%.*s", n++ > 0 ? "\n" : "", STR_FMT(buf_str(&line)));
    }
    if (n < n_all)
        buf_printf(out, "%sand %zu more", n > 0 ? "\n" : "", n_all - n);
}

int policy_check_alone(Str name, Str text, Program **ret, Buf *mistakes, Buf *warnings) {
    _cleanup_(arena_freep) Arena *arena = arena_new(CHECK_BUDGET);
    DiagList diags = DIAG_LIST_IN(arena), again = DIAG_LIST_IN(arena);
    PolicySource source = {.text = text};
    const YamlNode *document = NULL;
    YamlStream stream;
    int r;

    if (!arena)
        return -ENOMEM;
    source.file = arena_printf(arena, POLICY_OBJECT_FILE "%.*s", STR_FMT(name));
    if (!source.file.ptr)
        return -ENOMEM;
    r = policies_compile(&source, 1, &diags, ret);
    if (r != POLICIES_E_INVALID && (r < 0 || !warnings || diags.n_warnings == 0))
        return r;
    if (yaml_parse(source.file, text, arena, &again, &stream) == 0 && stream.n_documents > 0)
        document = stream.documents[0];
    write_level(document, &diags, DIAG_ERROR, diags.n_errors, mistakes);
    if (warnings)
        write_level(document, &diags, DIAG_WARNING, diags.n_warnings, warnings);
    return r;
}
