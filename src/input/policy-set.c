/* Changes values of policies by name, in their YAML trees. */

#include "input/policy-set.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/ascii.h"

#define TEXT_MAX ((size_t)16 * 1024 * 1024)
#define NAMES_MAX 256u /* names that are compared for "did you mean" */
#define SET_FILE "--set %.*s"

typedef struct PolicyTree {
    YamlStream stream;
    bool is_read, is_changed;
} PolicyTree;

typedef struct PolicySetter {
    PolicyTree *trees;
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

/* --- paths ------------------------------------------------------------------------------ */

/* Cuts ["TEXT"] off the front; @ret_rest: the text after it. Returns false if there is none. */
static bool take_quoted(Str path, Str *ret_text, Str *ret_rest) {
    Str rest;
    size_t end;

    if (path.len < 4 || path.ptr[0] != '[' || str_find(STR("\"'"), path.ptr[1]) == SIZE_MAX)
        return false;
    rest = str_skip(path, 2);
    end = str_find(rest, path.ptr[1]);
    if (end == SIZE_MAX || end + 1 >= rest.len || rest.ptr[end + 1] != ']')
        return false;
    *ret_text = str_take(rest, end);
    *ret_rest = str_skip(rest, end + 2);
    return true;
}

/* Drops the dot after a key. False: there is no dot, bracket or end, so the key is longer. */
static bool end_key(Str rest, Str *ret_rest) {
    if (rest.len > 1 && rest.ptr[0] == '.')
        rest = str_skip(rest, 1);
    else if (rest.len > 0 && rest.ptr[0] != '[')
        return false;
    *ret_rest = rest;
    return true;
}

/* Whether @path begins with @name, as NAME or ["NAME"]; @ret_rest is the part after it. */
static bool take_name(Str path, Str name, Str *ret_rest) {
    Str text, rest;

    if (take_quoted(path, &text, &rest))
        return str_eq(text, name) && end_key(rest, ret_rest);
    return !str_is_empty(name) && str_has_prefix(path, name) &&
           end_key(str_skip(path, name.len), ret_rest);
}

/* The first key of @path, if it is no known name; @ret_quoted: it was in brackets. */
static Str take_key(Str path, Str *ret_rest, bool *ret_quoted) {
    Str key, rest = STR_NULL;
    size_t dot, bracket;

    *ret_quoted = take_quoted(path, &key, &rest) && end_key(rest, ret_rest);
    if (*ret_quoted)
        return key;
    dot = str_find(path, '.');
    bracket = str_find(str_skip(path, 1), '[');
    bracket = bracket == SIZE_MAX ? SIZE_MAX : bracket + 1;
    key = str_take(path, dot < bracket ? dot : bracket);
    rest = str_skip(path, key.len);
    *ret_rest = str_has_prefix(rest, STR(".")) ? str_skip(rest, 1) : rest;
    return key;
}

/* Whether @path begins with [N]. */
static bool take_index(Str path, size_t *ret, Str *ret_rest) {
    size_t end = str_find(path, ']');
    int64_t index;

    if (path.len < 3 || path.ptr[0] != '[' || end == SIZE_MAX ||
        !str_to_int64(str_skip(str_take(path, end), 1), &index) || index < 0)
        return false;
    *ret = (size_t)index;
    return end_key(str_skip(path, end + 1), ret_rest);
}

static bool needs_brackets(Str key) {
    for (size_t i = 0; i < key.len; i++)
        if (!ascii_is_alnum(key.ptr[i]) && key.ptr[i] != '_' && key.ptr[i] != '-' &&
            key.ptr[i] != '/')
            return true;
    return str_is_empty(key);
}

void policy_path_add(Buf *path, Str key) {
    char quote = str_find(key, '"') == SIZE_MAX ? '"' : '\'';

    if (!needs_brackets(key)) {
        buf_append(path, path->len > 0 ? STR(".") : STR_NULL);
        buf_append(path, key);
        return;
    }
    buf_printf(path, "[%c%.*s%c]", quote, STR_FMT(key), quote);
}

static void add_known(PolicySetter *setter, Str name) {
    if (setter->n_known < NAMES_MAX)
        setter->known[setter->n_known++] = name;
}

/* Writes "there is no WHAT "WORD"; did you mean …?", or lists the known names. */
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

/* The pair of @mapping with the longest key that @path begins with. NULL: none. */
static YamlPair *find_pair(YamlNode *mapping, Str path, Str *ret_rest) {
    YamlPair *found = NULL;
    Str rest;

    for (size_t i = 0; mapping->kind == YAML_MAPPING && i < mapping->n; i++) {
        Str key = mapping->pairs[i].key->text;

        if (!take_name(path, key, &rest) || (found && found->key->text.len > key.len))
            continue;
        found = &mapping->pairs[i];
        *ret_rest = rest;
    }
    return found;
}

/* Adds the pair @key and the new value at the end. */
static int add_pair(PolicySetter *setter, YamlNode *mapping, Str key) {
    YamlPair *pairs = ARENA_ARRAY(setter->arena, YamlPair, mapping->n + 1);
    YamlNode *name = ARENA_NEW(setter->arena, YamlNode);

    if (!pairs || !name)
        return -ENOMEM;
    if (mapping->n > 0)
        memcpy(pairs, mapping->pairs, mapping->n * sizeof(*pairs));
    *name = (YamlNode){.kind = YAML_STRING, .text = key, .place = setter->value->place};
    name->place.column = 1;
    name->place.width = setter->setting->path.len;
    pairs[mapping->n] = (YamlPair){.key = name, .value = setter->value};
    mapping->pairs = pairs;
    mapping->n++;
    return 0;
}

/* Optional fields: they can be set even if the policy does not have them. */
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
    return str_is_one_of(field, new_fields, ELEMENTS_OF(new_fields));
}

/* Called if @path begins with no key of @mapping: adds the key, or writes an error. */
static int add_field(
    PolicySetter *setter, YamlNode *mapping, Str path, bool is_rule, const char *what) {
    bool is_quoted;
    Str rest, key = take_key(path, &rest, &is_quoted);

    if (str_is_empty(rest) && mapping->kind == YAML_MAPPING && (is_quoted || may_be_new(key)))
        return add_pair(setter, mapping, key);
    setter->n_known = 0;
    for (size_t i = 0; mapping->kind == YAML_MAPPING && i < mapping->n; i++)
        add_known(setter, mapping->pairs[i].key->text);
    for (size_t i = 0; is_rule && i < ELEMENTS_OF(new_fields); i++)
        add_known(setter, new_fields[i]);
    return unknown(setter, what, key);
}

/* Sets @path, "headroom.cpu", below @node. */
static int set_below(PolicySetter *setter, YamlNode *node, Str path, const char *what) {
    bool is_rule = yaml_find(node, STR("name"));
    YamlNode **slot = NULL;
    size_t index;

    do {
        YamlPair *pair = find_pair(node, path, &path);

        if (pair)
            slot = &pair->value;
        else if (node->kind == YAML_SEQUENCE && take_index(path, &index, &path)) {
            if (index >= node->n)
                return unknown(setter, "item", setter->setting->path);
            slot = &node->items[index];
        } else
            return add_field(setter, node, path, is_rule, what);
        node = *slot;
    } while (!str_is_empty(path));
    *slot = setter->value;
    return 0;
}

/* --- policies and rules ------------------------------------------------------------------ */

/* Whether @path begins with @name and goes on; @ret: the rest. */
static bool cut_name(Str path, Str name, Str *ret) {
    Str rest;

    if (!take_name(path, name, &rest) || str_is_empty(rest))
        return false;
    *ret = rest;
    return true;
}

/* The rule of @spec with the longest name that @path begins with; NULL: none. */
static YamlNode *find_rule(PolicySetter *setter, YamlNode *spec, Str path, Str *ret_rest) {
    static const Str lists[] = {STR("filters"), STR("scores")};
    YamlNode *found = NULL;
    size_t longest = 0;

    for (size_t i = 0; i < ELEMENTS_OF(lists); i++) {
        YamlNode *list = yaml_find(spec, lists[i]);

        for (size_t j = 0; list && list->kind == YAML_SEQUENCE && j < list->n; j++) {
            Str name = yaml_text(yaml_find(list->items[j], STR("name")));

            add_known(setter, name);
            if (name.len > longest && cut_name(path, name, ret_rest)) {
                found = list->items[j];
                longest = name.len;
            }
        }
    }
    return found;
}

static int set_in_policy(PolicySetter *setter, YamlNode *spec, Str path) {
    YamlNode *params = yaml_find(spec, STR("params")), *rule;
    Str rest = STR_NULL, key;
    bool is_quoted;

    setter->n_known = 0;
    key = take_key(path, &rest, &is_quoted);
    if (cut_name(path, STR("params"), &rest)) {
        if (params)
            return set_below(setter, params, rest, "parameter");
        return unknown(setter, "parameter", rest);
    }
    add_known(setter, STR("params"));
    rule = find_rule(setter, spec, path, &rest);
    if (rule)
        return set_below(setter, rule, rest, "field");
    if (yaml_find(spec, key) || may_be_new(path))
        return set_below(setter, spec, path, "field");
    return unknown(setter, "rule", key);
}

static int set_one(PolicySetter *setter) {
    Str path = setter->setting->path, rest, in_policy = STR_NULL;
    PolicyTree *changed = NULL;
    YamlNode *found = NULL;
    size_t longest = 0;
    bool is_quoted;

    assert(setter->trees);
    setter->n_known = 0;
    for (size_t i = 0; i < setter->n; i++) {
        PolicyTree *tree = &setter->trees[i];

        for (size_t j = 0; tree->is_read && j < tree->stream.n_documents; j++) {
            YamlNode *document = tree->stream.documents[j];
            YamlNode *spec = yaml_find(document, STR("spec"));
            Str name = yaml_text(yaml_find(yaml_find(document, STR("metadata")), STR("name")));

            add_known(setter, name);
            if (!spec || spec->kind != YAML_MAPPING || name.len <= longest ||
                !cut_name(path, name, &rest))
                continue;
            changed = tree;
            found = spec;
            in_policy = rest;
            longest = name.len;
        }
    }
    if (!found)
        return unknown(setter, "policy", take_key(path, &rest, &is_quoted));
    changed->is_changed = true;
    return set_in_policy(setter, found, in_policy);
}

/* Columns of the value become columns of "PATH=VALUE". */
static void move_places(YamlNode *node, size_t by) {
    node->place.column += node->place.line == 1 ? by : 0;
    for (size_t i = 0; i < node->n; i++) {
        if (node->kind == YAML_MAPPING)
            move_places(node->pairs[i].key, by);
        move_places(yaml_child(node, i), by);
    }
}

static int read_value(PolicySetter *setter) {
    const PolicySetting *setting = setter->setting;
    Str file = arena_printf(setter->arena, SET_FILE, STR_FMT(setting->path));
    DiagList diags = DIAG_LIST_IN(setter->arena);
    YamlStream stream;
    int r = file.ptr ? yaml_parse(file, setting->value, setter->arena, &diags, &stream) : -ENOMEM;

    if (r == -ENOMEM)
        return r;
    if (r == 0 && stream.n_documents == 1) {
        setter->value = stream.documents[0];
        move_places(setter->value, setting->path.len + 1);
        return 0;
    }
    (void)snprintf(setter->error, POLICY_SET_ERROR_MAX, "%.*s: \"%.*s\" is not a value",
        STR_FMT(str_take(setting->path, 128)), STR_FMT(str_take(setting->value, 128)));
    return POLICY_SET_E_UNKNOWN;
}

/* Writes the documents as JSON, which is YAML, too. */
static int write_tree(const YamlStream *stream, Arena *arena, Str *ret) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);

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
    PolicySetter setter = {
        .trees = ARENA_ARRAY(arena, PolicyTree, n),
        .n = n,
        .arena = arena,
        .error = error,
    };
    int r = setter.trees ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && n_settings > 0 && i < n; i++) {
        DiagList diags = DIAG_LIST_IN(arena);

        r = yaml_parse(sources[i].file, sources[i].text, arena, &diags, &setter.trees[i].stream);
        setter.trees[i].is_read = r == 0;
        r = r == -ENOMEM ? r : 0; /* the compiler reports other errors */
    }
    for (size_t i = 0; r == 0 && i < n_settings; i++) {
        setter.setting = &settings[i];
        r = read_value(&setter);
        if (r == 0)
            r = set_one(&setter);
    }
    for (size_t i = 0; r == 0 && i < n; i++) {
        ret[i] = sources[i];
        if (!setter.trees || !setter.trees[i].is_changed)
            continue;
        ret[i].tree = &setter.trees[i].stream;
        r = write_tree(ret[i].tree, arena, &ret[i].text);
    }
    return r;
}

void policy_set_show(const PolicySetting *settings, size_t n_settings, DiagList *diags) {
    for (size_t i = 0; i < diags->diags.n; i++) {
        Diag *diag = &diags->diags.items[i];

        for (size_t j = 0; j < n_settings; j++) {
            const PolicySetting *setting = &settings[j];

            if (str_has_prefix(diag->place.file, STR("--set ")) &&
                str_eq(str_skip(diag->place.file, 6), setting->path))
                diag->source = arena_printf(diags->arena, "%.*s=%.*s", STR_FMT(setting->path),
                    STR_FMT(str_take(setting->value, str_find(setting->value, '\n'))));
        }
    }
}
