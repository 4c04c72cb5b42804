/* Changes values of policies by name, in their YAML trees. */

#include "input/policy-set.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/diag.h"
#include "base/vec.h"
#include "yaml/document.h"

#define TEXT_MAX ((size_t)16 * 1024 * 1024)
#define NAMES_MAX 256u /* that are looked through for "did you mean" */

typedef struct PolicyTree {
    YamlStream stream;
    bool is_read, is_changed;
} PolicyTree;

typedef struct PolicySetter {
    PolicyTree *trees;
    const PolicySource *sources;
    size_t n;
    Arena *arena;
    const PolicySetting *setting;
    YamlNode *value;
    char *error;
    Str known[NAMES_MAX]; /* names that exist, for suggestions */
    size_t n_known;
} PolicySetter;

bool policy_setting_parse(Str text, PolicySetting *ret) {
    size_t at = str_find(text, '=');

    if (at == SIZE_MAX || at == 0)
        return false;
    *ret = (PolicySetting){.path = str_take(text, at), .value = str_skip(text, at + 1)};
    return true;
}

/* --- errors ----------------------------------------------------------------------------- */

static void add_known(PolicySetter *setter, Str name) {
    if (setter->n_known < NAMES_MAX)
        setter->known[setter->n_known++] = name;
}

/* "there is no WHAT "WORD"; did you mean …?", or all that there are. */
static int unknown(PolicySetter *setter, const char *what, Str word) {
    Str meant = str_nearest(word, setter->known, setter->n_known);
    size_t used =
        (size_t)snprintf(setter->error, POLICY_SET_ERROR_MAX, "%.*s: there is no %s \"%.*s\"",
            STR_FMT(str_take(setter->setting->path, 128)), what, STR_FMT(str_take(word, 64)));

    if (!str_is_empty(meant)) {
        (void)snprintf(setter->error + used, POLICY_SET_ERROR_MAX - used,
            "; did you mean \"%.*s\"?", STR_FMT(str_take(meant, 128)));
        return POLICY_SET_E_UNKNOWN;
    }
    for (size_t i = 0; i < setter->n_known && used < POLICY_SET_ERROR_MAX; i++)
        used += (size_t)snprintf(setter->error + used, POLICY_SET_ERROR_MAX - used, "%s%.*s",
            i == 0 ? "; there are " : ", ", STR_FMT(str_take(setter->known[i], 64)));
    return POLICY_SET_E_UNKNOWN;
}

/* --- the tree ---------------------------------------------------------------------------- */

static YamlPair *find_pair(YamlNode *mapping, Str key) {
    for (size_t i = 0; mapping && mapping->kind == YAML_MAPPING && i < mapping->n; i++)
        if (str_eq(mapping->pairs[i].key->text, key))
            return &mapping->pairs[i];
    return NULL;
}

static YamlNode *find(YamlNode *mapping, Str key) {
    YamlPair *pair = find_pair(mapping, key);

    return pair ? pair->value : NULL;
}

static Str text_of(const YamlNode *node) {
    return node && node->kind == YAML_STRING ? node->text : STR_NULL;
}

/* One more pair at the end. */
static int add_pair(PolicySetter *setter, YamlNode *mapping, Str key) {
    YamlPair *pairs = ARENA_ARRAY(setter->arena, YamlPair, mapping->n + 1);
    YamlNode *name = ARENA_NEW(setter->arena, YamlNode);

    if (!pairs || !name)
        return -ENOMEM;
    if (mapping->n > 0)
        memcpy(pairs, mapping->pairs, mapping->n * sizeof(*pairs));
    *name = (YamlNode){.kind = YAML_STRING, .text = key, .place = mapping->place};
    pairs[mapping->n] = (YamlPair){.key = name, .value = setter->value};
    mapping->pairs = pairs;
    mapping->n++;
    return 0;
}

/* Fields that may be left out, and so need not be there to be set. */
static const Str new_fields[] = {
    STR("weight"),
    STR("onError"),
    STR("onMissing"),
    STR("normalize"),
    STR("reason"),
    STR("messageExpression"),
    STR("unresolvable"),
    STR("mode"),
};

static bool may_be_new(Str field) {
    for (size_t i = 0; i < ELEMENTS_OF(new_fields); i++)
        if (str_eq(field, new_fields[i]))
            return true;
    return false;
}

static void add_known_keys(PolicySetter *setter, const YamlNode *mapping) {
    for (size_t i = 0; mapping->kind == YAML_MAPPING && i < mapping->n; i++)
        add_known(setter, mapping->pairs[i].key->text);
}

/* Sets @path, "headroom.cpu", below @mapping. */
static int set_below(PolicySetter *setter, YamlNode *mapping, Str path, const char *what) {
    bool is_rule = find_pair(mapping, STR("name"));
    Str rest = path, field = STR_NULL;
    YamlPair *pair = NULL;

    while (str_split(&rest, '.', &field)) {
        pair = find_pair(mapping, field);
        if (!pair && !rest.ptr && mapping->kind == YAML_MAPPING && may_be_new(field))
            return add_pair(setter, mapping, field);
        if (!pair) {
            setter->n_known = 0;
            add_known_keys(setter, mapping);
            for (size_t i = 0; is_rule && i < ELEMENTS_OF(new_fields); i++)
                add_known(setter, new_fields[i]);
            return unknown(setter, what, field);
        }
        mapping = pair->value;
    }
    if (!pair)
        return unknown(setter, what, path);
    pair->value = setter->value;
    return 0;
}

/* --- policies and rules ------------------------------------------------------------------ */

/* The part of @path after "NAME.". False: it does not begin so. */
static bool cut_name(Str path, Str name, Str *ret) {
    if (str_is_empty(name) || path.len <= name.len + 1 || !str_has_prefix(path, name) ||
        path.ptr[name.len] != '.')
        return false;
    *ret = str_skip(path, name.len + 1);
    return true;
}

/* The rule of @spec that @path begins with; NULL: none. */
static YamlNode *find_rule(PolicySetter *setter, YamlNode *spec, Str path, Str *ret_rest) {
    static const Str lists[] = {STR("filters"), STR("scores")};

    for (size_t i = 0; i < ELEMENTS_OF(lists); i++) {
        YamlNode *list = find(spec, lists[i]);

        for (size_t j = 0; list && list->kind == YAML_SEQUENCE && j < list->n; j++) {
            Str name = text_of(find(list->items[j], STR("name")));

            add_known(setter, name);
            if (cut_name(path, name, ret_rest))
                return list->items[j];
        }
    }
    return NULL;
}

static int set_in_policy(PolicySetter *setter, YamlNode *spec, Str path) {
    YamlNode *params = find(spec, STR("params")), *rule;
    Str rest = STR_NULL, first = str_take(path, str_find(path, '.'));

    setter->n_known = 0;
    if (cut_name(path, STR("params"), &rest)) {
        if (params)
            return set_below(setter, params, rest, "parameter");
        return unknown(setter, "parameter", rest);
    }
    add_known(setter, STR("params"));
    rule = find_rule(setter, spec, path, &rest);
    if (rule)
        return set_below(setter, rule, rest, "field");
    if (find(spec, first) || may_be_new(path))
        return set_below(setter, spec, path, "field");
    return unknown(setter, "rule", first);
}

static int set_one(PolicySetter *setter) {
    Str path = setter->setting->path, rest;

    assert(setter->trees);
    setter->n_known = 0;
    for (size_t i = 0; i < setter->n; i++) {
        PolicyTree *tree = &setter->trees[i];

        for (size_t j = 0; tree->is_read && j < tree->stream.n_documents; j++) {
            YamlNode *document = tree->stream.documents[j];
            YamlNode *spec = find(document, STR("spec"));
            Str name = text_of(find(find(document, STR("metadata")), STR("name")));

            add_known(setter, name);
            if (!spec || spec->kind != YAML_MAPPING || !cut_name(path, name, &rest))
                continue;
            tree->is_changed = true;
            return set_in_policy(setter, spec, rest);
        }
    }
    return unknown(setter, "policy", str_take(path, str_find(path, '.')));
}

/* --- texts ------------------------------------------------------------------------------- */

static int read_trees(PolicySetter *setter) {
    for (size_t i = 0; i < setter->n; i++) {
        DiagList diags = DIAG_LIST_IN(setter->arena);
        int r = yaml_parse(setter->sources[i].file, setter->sources[i].text, setter->arena, &diags,
            &setter->trees[i].stream);

        if (r == -ENOMEM)
            return r;
        setter->trees[i].is_read = r == 0; /* else the compiler reports it */
    }
    return 0;
}

static int read_value(PolicySetter *setter) {
    DiagList diags = DIAG_LIST_IN(setter->arena);
    YamlStream stream;
    int r = yaml_parse(STR("value"), setter->setting->value, setter->arena, &diags, &stream);

    if (r == -ENOMEM)
        return r;
    if (r == 0 && stream.n_documents == 1) {
        setter->value = stream.documents[0];
        return 0;
    }
    (void)snprintf(setter->error, POLICY_SET_ERROR_MAX, "%.*s: \"%.*s\" is not a value",
        STR_FMT(str_take(setter->setting->path, 128)),
        STR_FMT(str_take(setter->setting->value, 128)));
    return POLICY_SET_E_UNKNOWN;
}

static int write_tree(const PolicySetter *setter, size_t i, Arena *arena, Str *ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    const YamlStream *stream = &setter->trees[i].stream;

    for (size_t j = 0; j < stream->n_documents; j++) {
        buf_append(&text, STR("---\n"));
        yaml_to_json(stream->documents[j], &text);
        buf_append_char(&text, '\n');
    }
    *ret = arena_copy(arena, buf_str(&text));
    return buf_error(&text) || !ret->ptr ? -ENOMEM : 0;
}

int policy_set(const PolicySource *sources, size_t n, const PolicySetting *settings,
    size_t n_settings, Arena *arena, PolicySource *ret, char *error) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(arena_left(arena)); /* for the trees */
    PolicySetter setter = {
        .trees = scratch ? ARENA_ARRAY(scratch, PolicyTree, n) : NULL,
        .sources = sources,
        .n = n,
        .arena = scratch,
        .error = error,
    };
    int r = setter.trees ? 0 : -ENOMEM;

    if (r == 0 && n_settings > 0)
        r = read_trees(&setter);
    for (size_t i = 0; r == 0 && i < n_settings; i++) {
        setter.setting = &settings[i];
        r = read_value(&setter);
        if (r == 0)
            r = set_one(&setter);
    }
    for (size_t i = 0; r == 0 && i < n; i++) {
        ret[i] = sources[i];
        if (setter.trees && setter.trees[i].is_changed)
            r = write_tree(&setter, i, arena, &ret[i].text);
    }
    return r;
}
