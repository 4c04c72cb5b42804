/* Compiles the text of an expression. Reports of cel/ have lines and columns of the expression;
 * these are converted to places in the policy file. */

#include "policy/expression.h"

#include <errno.h>

#include "base/error.h"
#include "base/utf8.h"
#include "cel/program.h"
#include "policy/scope.h"

/* Memory for compiling one expression. */
#define SCRATCH_BUDGET ((size_t)64 * 1024 * 1024)

#define EXCERPT_MAX 160u   /* bytes of an expression in a message */
#define TYPE_NAME_MAX 128u /* bytes of a type in a message */

typedef struct ExpressionCompiler {
    YamlReader *reader;
    Scope *scope;
    const YamlNode *at;
    Expression *result;
    DiagList diags; /* with places in the expression */
    Arena *scratch;
    bool uses_refused; /* it uses a variable with errors, already reported */
} ExpressionCompiler;

/* --- places -------------------------------------------------------------------------- */

/* A scalar of a policy file. The places of its bytes are known for literal blocks, and for scalars
 * on one line, plain or quoted, in which only quotes are escaped. */
typedef struct WrittenText {
    Str source;  /* text of the file */
    Place place; /* of the scalar */
    Str text;    /* its value */
} WrittenText;

static size_t count_spaces(Str line) {
    size_t n = 0;

    while (n < line.len && line.ptr[n] == ' ')
        n++;
    return n;
}

/* The indentation of the literal block below line @line. */
static size_t find_indent(const WrittenText *written, size_t line) {
    size_t there = count_spaces(str_line(written->source, line + 1));
    size_t own = count_spaces(str_line(written->text, 1));

    return there > own ? there - own : 0;
}

/* The scalar's first line in the file, from its first byte on. */
static Str first_line(const WrittenText *written) {
    return str_skip(str_line(written->source, written->place.line), written->place.column - 1);
}

/* The quote it is written in; 0: none. */
static char quote_of(const WrittenText *written) {
    Str first = first_line(written);

    return first.len > 0 && (first.ptr[0] == '\'' || first.ptr[0] == '"') ? first.ptr[0] : '\0';
}

/* The character that escapes @c inside quotes; 0: @c needs none. */
static char escape_of(char c, char quote) {
    if (quote == '\'')
        return c == quote ? quote : '\0';
    return quote == '"' && (c == quote || c == '\\') ? '\\' : '\0';
}

/* The length in the file (@there) of the first @n bytes of @text; SIZE_MAX: they differ. */
static size_t measure(Str there, Str text, size_t n, char quote) {
    size_t at = 0;

    for (size_t i = 0; i < n && i < text.len; i++) {
        char escape = escape_of(text.ptr[i], quote);

        if (escape && (at >= there.len || there.ptr[at++] != escape))
            return SIZE_MAX;
        if (at >= there.len || there.ptr[at++] != text.ptr[i])
            return SIZE_MAX;
    }
    return at;
}

/* Converts @within, a place in the text, to a place in the file. Returns false, with @ret
 * unchanged, if that is not known. */
static bool written_find(const WrittenText *written, const Place *within, Place *ret) {
    const Place *begin = &written->place;
    Str wanted = str_line(written->text, within->line), there = first_line(written);
    bool is_block = str_has_prefix(there, STR("|"));
    char quote = quote_of(written);
    size_t before = is_block ? find_indent(written, begin->line) : quote != '\0', from, to;

    if (!is_block && str_find(written->text, '\n') != SIZE_MAX)
        return false;
    if (is_block)
        there = str_line(written->source, begin->line + within->line);
    there = str_skip(there, before);
    from = measure(there, wanted, within->column - 1, quote);
    to = measure(there, wanted, within->column - 1 + within->width, quote);
    if (measure(there, wanted, wanted.len, quote) == SIZE_MAX)
        return false;
    *ret = *begin;
    ret->line = begin->line + (is_block ? within->line : 0);
    ret->column = (is_block ? 1 : begin->column) + before + from;
    ret->width = to > from ? to - from : within->width;
    return true;
}

/* Escapes quotes of @text for that scalar. In @arena; STR_NULL when out of memory. */
static Str written_escape(const WrittenText *written, Str text, Arena *arena) {
    char quote = quote_of(written), *out = ARENA_RAW(arena, char, 2 * text.len + 1);
    size_t n = 0;

    for (size_t i = 0; out && i < text.len; i++) {
        char escape = escape_of(text.ptr[i], quote);

        if (escape)
            out[n++] = escape;
        out[n++] = text.ptr[i];
    }
    return out ? str_of(out, n) : STR_NULL;
}

/* Cuts a long line of an expression, for a message, to the part around @column. */
static Str excerpt(Arena *arena, Str line, size_t column) {
    size_t from, to;

    if (line.len <= EXCERPT_MAX)
        return line;
    from = column - 1 > EXCERPT_MAX / 2 ? column - 1 - EXCERPT_MAX / 2 : 0;
    if (from > line.len - EXCERPT_MAX)
        from = line.len - EXCERPT_MAX;
    from = utf8_take(line, from).len;
    to = utf8_take(line, from + EXCERPT_MAX).len;
    return arena_printf(arena, "%s%.*s%s", from > 0 ? "…" : "",
        STR_FMT(str_skip(str_take(line, to), from)), to < line.len ? "…" : "");
}

/* Adds a report of cel/, with its place in the policy file. */
static void report(YamlReader *reader, const Expression *expression, const Diag *diag) {
    WrittenText written = {reader->source, expression->place, expression->text};
    Place place = expression->place;
    Str text = diag->text, shown;
    bool is_shown = reader->diags->diags.n <
                    DIAG_MAX; /* others are only counted, since finding a place reads the file */
    bool is_found =
        is_shown && !expression->is_built_in && written_find(&written, &diag->place, &place);

    if (is_shown && !is_found && diag->source.len > 0) {
        shown = excerpt(reader->diags->arena, diag->source, diag->place.column);
        text = arena_printf(reader->diags->arena, "%.*s, in \"%.*s\" at column %zu",
            STR_FMT(diag->text), STR_FMT(shown), diag->place.column);
    }
    diag_add(reader->diags, diag->level, place, reader->source, text, diag->hint);
    if (is_shown && !expression->is_built_in && diag->fix.text.ptr &&
        written_find(&written, &diag->fix.place, &place))
        diag_fix(
            reader->diags, place, written_escape(&written, diag->fix.text, reader->diags->arena));
}

void expression_report(
    YamlReader *reader, const Expression *expression, const ExpressionFinding *finding) {
    Diag diag = {
        .level = finding->level,
        .place = cel_place(STR_NULL, expression->text, finding->from, finding->to),
        .text = finding->text,
        .hint = finding->hint,
    };
    const CelFix *fix = &finding->fix;
    Str fixed = str_skip(str_take(expression->text, fix->to), fix->from);

    diag.source = str_line(expression->text, diag.place.line);
    if (fix->text.ptr && str_find(fixed, '\n') == SIZE_MAX)
        diag.fix = (DiagFix){cel_place(STR_NULL, expression->text, fix->from, fix->to), fix->text};
    report(reader, expression, &diag);
}

void expression_warn(YamlReader *reader, const Expression *expression, Str hint, Str text) {
    expression_report(reader, expression,
        &(ExpressionFinding){.level = DIAG_WARNING,
            .to = (uint32_t)expression->text.len,
            .text = text,
            .hint = hint});
}

/* --- its variables --------------------------------------------------------------------- */

/* The variables that an expression uses, also through others, one bit each. */
static uint64_t find_variables(const CelChecked *checked, const Scope *scope) {
    uint64_t found = 0;

    for (uint32_t i = 0; i < checked->tree->n_nodes; i++) {
        uint32_t number = checked->infos[i].field;
        const CelNodeInfo *from = &checked->infos[i > 0 ? i - 1 : 0]; /* operand of a selection */

        if (number >= scope->variables_type.n_fields || checked->tree->nodes[i].n_children != 1)
            continue;
        if (from->ref == CEL_REF_VARIABLE && from->variable->slot == scope->variables_slot)
            found |= (UINT64_C(1) << number) | scope->variables[number].expression.variables;
    }
    return found;
}

/* Adds metrics and cost of the used variables. False: one of them has errors. */
static bool add_variables(Expression *expression) {
    const Scope *scope = expression->scope;
    CelCostRange *cost = &expression->cost;
    bool are_right = true;

    for (uint32_t i = 0; i < scope->variables_type.n_fields; i++) {
        const Expression *variable = &scope->variables[i].expression;

        if (!(expression->variables >> i & 1))
            continue;
        are_right &= variable->checked != NULL;
        expression->metrics |= variable->metrics;
        expression->workload_metrics |= variable->workload_metrics;
        /* An overflow gives the maximum, as in the estimate. */
        if (__builtin_add_overflow(cost->min, variable->cost.min, &cost->min))
            cost->min = UINT64_MAX;
        if (__builtin_add_overflow(cost->max, variable->cost.max, &cost->max))
            cost->max = UINT64_MAX;
    }
    return are_right;
}

static CelComposite composite_of(const Scope *scope, const uint32_t *nodes) {
    return (CelComposite){
        .slot = scope->variables_slot,
        .nodes = nodes,
        .n = scope->variables_type.n_fields,
    };
}

/* By ExpressionType: the type that cel/ expects (NULL: one of two, or any), and words for
 * messages. */
static const struct {
    const CelType *expected;
    const char *name, *hint;
} types[] = {
    [EXPRESSION_BOOL] = {&cel_bool_type, "a bool",
        "write bool(…) around it if it is a bool or a string, or compare it: … == true"},
    [EXPRESSION_NUMBER] = {NULL, "a number", "write double(…) around it"},
    [EXPRESSION_STRING] = {&cel_string_type, "a string", "write string(…) around it"},
    [EXPRESSION_BIND] = {&cel_string_type, "a string", "write string(…) around it"},
    [EXPRESSION_ANY] = {NULL, NULL, NULL},
};

static CelOptions options_of(const Expression *expression, const CelComposite *composite) {
    return (CelOptions){
        .composite = composite,
        .expect = types[expression->type].expected,
        .expect_number = expression->type == EXPRESSION_NUMBER,
        .may_be_unused = expression->type == EXPRESSION_ANY,
    };
}

/* Reports nothing: errors and warnings of variables were reported when they were read. */
int expression_lower_variables(
    const Expression *expression, CelGraph *graph, uint32_t *ret_nodes, CelComposite *ret) {
    const Scope *scope = expression->scope;
    DiagList nothing = DIAG_LIST_IN(graph->arena);

    *ret = composite_of(scope, ret_nodes);
    for (uint32_t i = 0; i < scope->variables_type.n_fields; i++) {
        const Expression *variable = &scope->variables[i].expression;
        CelOptions options = options_of(variable, ret);
        int r;

        ret_nodes[i] = CEL_NO_NODE;
        if (!(expression->variables >> i & 1))
            continue;
        r = cel_lower(graph, variable->checked, &options, &nothing, &ret_nodes[i]);
        if (r != 0)
            return error_fold(r); /* only memory: it was already lowered once */
    }
    return 0;
}

/* --- compiler -------------------------------------------------------------------------- */

static void report_annotations(void *context, const CelGraphNode *annotations) {
    ExpressionCompiler *compiler = context;

    cel_report(&compiler->diags, compiler->at->place.file, compiler->result->text,
        annotations->from, annotations->to,
        STR("annotations of running pods are only kept for keys that policies name"),
        STR("name the key: p.metadata.annotations[?'example.com/key'].orValue('')"));
}

/* Collects the fields of objects that it reads. 0, CEL_REFUSED or -ENOMEM. */
static int collect_needs(ExpressionCompiler *compiler, const CelGraph *graph, uint32_t root) {
    if (!schema_check_annotations(graph, root, compiler->scratch, report_annotations, compiler))
        return -ENOMEM;
    if (compiler->diags.n_errors > 0)
        return CEL_REFUSED;
    if (compiler->result->type != EXPRESSION_ANY)
        schema_need(compiler->scope->metrics.schema, graph, &root, 1, compiler->scope->needs);
    return 0;
}

/* Compiles the code of the scalar machine. */
static int compile_code(ExpressionCompiler *compiler) {
    Expression *result = compiler->result;
    CelGraph *graph = cel_graph_new(compiler->scratch, compiler->reader->arena);
    CelEmitOptions emit = {.scratch = compiler->scratch};
    uint32_t nodes[SCOPE_VARIABLES_MAX];
    CelComposite composite;
    CelOptions options = options_of(result, &composite);
    uint32_t root = CEL_NO_NODE;
    const CelGraphNode *node;
    CelCode *code = NULL;
    int r;

    if (!graph)
        return -ENOMEM;
    r = expression_lower_variables(result, graph, nodes, &composite);
    if (r != 0)
        return r;
    r = cel_lower(graph, result->checked, &options, &compiler->diags, &root);
    if (r != 0)
        return r;
    node = cel_graph_node(graph, root);
    result->groups = node->groups;
    result->constant = node->op == OP_CONSTANT &&
                               (node->constant.kind == CEL_BOOL || cel_is_number(node->constant))
                           ? node->constant
                           : cel_absent();
    r = collect_needs(compiler, graph, root);
    if (r != 0)
        return r;
    r = cel_emit(graph, root, &emit, compiler->reader->arena, &code);
    result->code = code;
    return error_fold(r);
}

static int check(ExpressionCompiler *compiler) {
    Expression *result = compiler->result;
    CelOptions options = options_of(result, /* composite= */ NULL);
    CelChecked *checked = NULL;
    int r = cel_compile_tree(compiler->scope->env, compiler->at->place.file, result->text, &options,
        compiler->reader->arena, &compiler->diags, &checked);

    if (r != 0)
        return r;
    result->checked = checked;
    result->variables = find_variables(checked, compiler->scope);
    schema_metrics_named(
        &result->scope->metrics, checked, &result->metrics, &result->workload_metrics);
    r = cel_cost_estimate(checked, compiler->scratch, &result->cost);
    if (r < 0)
        return r;
    compiler->uses_refused = !add_variables(result);
    if (result->cost.max > EXPRESSION_COST_MAX) {
        cel_cost_refuse(checked, result->cost, EXPRESSION_COST_MAX, &compiler->diags);
        return CEL_REFUSED;
    }
    return 0;
}

static void warn_if_dyn(const ExpressionCompiler *compiler, const char *what) {
    const Expression *result = compiler->result;

    if (result->type == EXPRESSION_ANY || cel_checked_type(result->checked)->kind != CEL_T_DYN)
        return;
    expression_warn(compiler->reader, result, str_from_c(types[result->type].hint),
        arena_printf(compiler->scratch,
            "the type of %s is dyn: where its value is not %s, it fails when it is evaluated", what,
            types[result->type].name));
}

/* Checks numbers, which have two types, so that no expected type can be given to cel/. */
static bool has_type(const ExpressionCompiler *compiler, const char *what) {
    const CelType *found = cel_checked_type(compiler->result->checked);
    ExpressionType type = compiler->result->type;
    _cleanup_(buf_done) Buf name = BUF_INIT(TYPE_NAME_MAX);

    if (type != EXPRESSION_NUMBER || found->kind == CEL_T_INT || found->kind == CEL_T_DOUBLE ||
        found->kind == CEL_T_DYN)
        return true;
    cel_type_print(found, /* is_wire= */ false, &name);
    return reader_error_hint(compiler->reader, compiler->at,
        STR("double(…) converts a string or an int"),
        "%s must be a number (double or int), not %.*s", what, STR_FMT(buf_str(&name)));
}

/* Reports an error if it reads the decision outside of bind.annotations. */
static bool reads_decision(const ExpressionCompiler *compiler) {
    const CelChecked *checked = compiler->result->checked;
    const CelTree *tree = checked->tree;

    for (uint32_t i = 0; compiler->result->type != EXPRESSION_BIND && i < tree->n_nodes; i++) {
        if (checked->infos[i].ref != CEL_REF_VARIABLE ||
            checked->infos[i].variable->group != SCHEMA_DECISION)
            continue;
        expression_report(compiler->reader, compiler->result,
            &(ExpressionFinding){.level = DIAG_ERROR,
                .from = tree->nodes[i].from,
                .to = tree->nodes[i].to,
                .text = STR("only expressions of bind.annotations can read decision"),
                .hint = STR("there is no decision before the bind")});
        return true;
    }
    return false;
}

/* An error, because leaving the expression out would change the policy. If the program's memory is
 * exhausted, program.c reports that once. */
static void report_failure(const ExpressionCompiler *compiler, const char *what, int r) {
    if (arena_has_failed(compiler->reader->arena))
        return;
    if (r == -ENOMEM && compiler->scratch && arena_limit_reached(compiler->scratch) > 0)
        reader_error(compiler->reader, compiler->at,
            "%s needs more than %zu MiB of memory to be compiled", what, SCRATCH_BUDGET >> 20);
    else if (r == -ENOMEM)
        reader_error(compiler->reader, compiler->at, "out of memory for compiling %s", what);
    else
        reader_error(compiler->reader, compiler->at, "%s cannot be compiled", what);
}

static bool compile(ExpressionCompiler *compiler, ExpressionType type, const char *what) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_BUDGET);
    int r;

    compiler->scratch = scratch;
    compiler->diags = DIAG_LIST_IN(scratch);
    compiler->result->type = type;
    compiler->result->scope = compiler->scope;
    compiler->result->node = CEL_NO_NODE;
    r = scratch ? check(compiler) : -ENOMEM;
    if (r == 0 && (compiler->uses_refused || reads_decision(compiler) || !has_type(compiler, what)))
        return false;
    if (r == 0)
        r = compile_code(compiler);
    if (r == 0)
        warn_if_dyn(compiler, what);
    for (size_t i = 0; i < compiler->diags.diags.n; i++)
        report(compiler->reader, compiler->result, &compiler->diags.diags.items[i]);
    if (r < 0 || (r > 0 && compiler->diags.n_errors == 0))
        report_failure(compiler, what, r);
    return r == 0;
}

bool expression_read(YamlReader *reader, Scope *scope, const YamlNode *value, const char *what,
    ExpressionType type, Expression *ret) {
    ExpressionCompiler compiler = {.reader = reader, .scope = scope, .at = value, .result = ret};
    Str text;

    if (value->kind == YAML_BOOL || value->kind == YAML_INT || value->kind == YAML_FLOAT)
        text = value->text; /* true and 50 are expressions, too */
    else if (!reader_string(reader, value, what, &text))
        return false;
    if (str_is_empty(str_trim(text)))
        return reader_error(reader, value, "%s is empty", what);
    *ret = (Expression){.text = text, .place = value->place};
    return compile(&compiler, type, what);
}

bool expression_write(YamlReader *reader, Scope *scope, const YamlNode *at, Str text,
    ExpressionType type, Expression *ret) {
    ExpressionCompiler compiler = {.reader = reader, .scope = scope, .at = at, .result = ret};

    *ret = (Expression){
        .text = arena_copy(reader->arena, text),
        .place = at->place,
        .is_built_in = true,
    };
    return ret->text.ptr && compile(&compiler, type, "a built-in rule");
}

int expression_lower(Expression *expression, CelGraph *graph) {
    CelComposite composite = composite_of(expression->scope, expression->scope->nodes);
    CelOptions options = options_of(expression, &composite);
    DiagList nothing = DIAG_LIST_IN(graph->arena);

    /* Errors were already reported when it was lowered alone. */
    return error_fold(cel_lower(graph, expression->checked, &options, &nothing, &expression->node));
}
