/* Finds the numbers in policies that `--set` can change, with their paths. */

#include <errno.h>

#include "base/ascii.h"
#include "input/policy-set.h"

#define PATH_MAX_BYTES ((size_t)4096)
#define AMOUNT_MAX 32u /* bytes of "1h30m" */

typedef struct Finder {
    Arena *arena;
    PolicyNumbers numbers;
    Str policy, rule;
    bool is_score;
    Buf *path;       /* of the current node */
    size_t own;      /* bytes of the path before the field */
    bool has_failed; /* the path had no room */
} Finder;

/* Whether it is like "500m", "2Gi", "10%", "90s", "1h30m". Quoted texts may be values of labels. */
static bool is_amount(const YamlNode *node) {
    if (node->kind != YAML_STRING || !node->is_plain || node->text.len > AMOUNT_MAX ||
        str_is_empty(node->text) || !ascii_is_digit(node->text.ptr[0]))
        return false;
    for (size_t i = 0; i < node->text.len; i++)
        if (!ascii_is_alnum(node->text.ptr[i]) && node->text.ptr[i] != '.' &&
            node->text.ptr[i] != '%')
            return false;
    return true;
}

static void add_number(Finder *finder, Str value, YamlKind kind) {
    Str path = arena_copy(finder->arena, buf_str(finder->path));

    finder->has_failed |= buf_error(finder->path) != 0;
    if (finder->numbers.n < POLICY_NUMBERS_MAX)
        (void)VEC_ADD(&finder->numbers, finder->arena,
            (PolicyNumber){.path = path,
                .policy = finder->policy,
                .rule = finder->rule,
                .field = str_skip(path, finder->own),
                .is_score = finder->is_score,
                .value = value,
                .is_text = kind == YAML_STRING});
}

/* yaml_parse() limits the recursion to YAML_DEPTH_MAX. */
static void find_below(Finder *finder, const YamlNode *node) {
    /* Fields that hold labels and names, not numbers. */
    static const Str names[] = {STR("match"), STR("nodeLabels"), STR("podSelector"),
        STR("matchLabels"), STR("name"), STR("reason"), STR("expression"), STR("messageExpression"),
        STR("filters"), STR("scores")};
    size_t len = finder->path->len;

    if (node->kind == YAML_INT || node->kind == YAML_FLOAT || is_amount(node))
        add_number(finder, node->text, node->kind);
    for (size_t i = 0; node->kind == YAML_MAPPING && i < node->n; i++) {
        if (str_is_one_of(node->pairs[i].key->text, names, ELEMENTS_OF(names)))
            continue;
        policy_path_add(finder->path, node->pairs[i].key->text);
        find_below(finder, node->pairs[i].value);
        finder->path->len = len;
    }
    for (size_t i = 0; node->kind == YAML_SEQUENCE && i < node->n; i++) {
        buf_printf(finder->path, "[%zu]", i);
        find_below(finder, node->items[i]);
        finder->path->len = len;
    }
}

static void find_in_rule(Finder *finder, const YamlNode *rule, bool is_score) {
    size_t len = finder->path->len;

    finder->rule = yaml_text(yaml_find(rule, STR("name")));
    finder->is_score = is_score;
    if (str_is_empty(finder->rule))
        return;
    buf_append_char(finder->path, '.');
    buf_append(finder->path, finder->rule);
    finder->own = finder->path->len + 1;
    find_below(finder, rule);
    if (is_score && !yaml_find(rule, STR("weight"))) {
        buf_append(finder->path, STR(".weight"));
        add_number(finder, STR("1"), YAML_FLOAT);
    }
    finder->path->len = len;
}

static void find_in_rules(Finder *finder, const YamlNode *rules, bool is_score) {
    for (size_t i = 0; rules && rules->kind == YAML_SEQUENCE && i < rules->n; i++)
        find_in_rule(finder, rules->items[i], is_score);
}

/* Names of policies and rules are letters, digits and dots: they need no brackets. */
static void find_in_policy(Finder *finder, const YamlNode *document) {
    const YamlNode *spec = yaml_find(document, STR("spec"));

    finder->rule = STR_NULL;
    finder->is_score = false;
    finder->policy = yaml_text(yaml_find(yaml_find(document, STR("metadata")), STR("name")));
    if (str_is_empty(finder->policy) || !spec || spec->kind != YAML_MAPPING)
        return;
    buf_reset(finder->path);
    buf_append(finder->path, finder->policy);
    finder->own = finder->path->len + 1;
    find_below(finder, spec);
    find_in_rules(finder, yaml_find(spec, STR("filters")), false);
    find_in_rules(finder, yaml_find(spec, STR("scores")), true);
}

int policy_numbers(const PolicySource *sources, size_t n, Arena *arena, PolicyNumbers *ret) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_MAX_BYTES);
    Finder finder = {.arena = arena, .path = &path};

    for (size_t i = 0; i < n; i++) {
        DiagList diags = DIAG_LIST_IN(arena);
        YamlStream stream;
        int r = yaml_parse(sources[i].file, sources[i].text, arena, &diags, &stream);

        if (r == -ENOMEM)
            return r;
        for (size_t j = 0; r == 0 && j < stream.n_documents; j++)
            find_in_policy(&finder, stream.documents[j]);
    }
    *ret = finder.numbers;
    return finder.has_failed || arena_has_failed(arena) ? -ENOMEM : 0;
}
