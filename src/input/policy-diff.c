/* Compares the YAML trees of policies, with sorted keys. Out of memory: the arena has failed. */

#include "input/policy-diff.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "yaml/write.h"

#define TEXT_MAX ((size_t)16 * 1024 * 1024)

/* A policy of one of the sets. */
typedef struct ReadPolicy {
    Str name;
    YamlNode *document, *spec; /* spec NULL: none */
} ReadPolicy;

typedef VEC(ReadPolicy) ReadPolicies;

const char *policy_change_name(PolicyChangeKind kind) {
    static const char *const names[] = {
        [POLICY_CHANGED] = "changed",
        [POLICY_ADDED] = "added",
        [POLICY_REMOVED] = "removed",
    };

    return names[kind];
}

static Str name_of(const YamlNode *node) {
    const YamlNode *name = yaml_find(node, STR("name"));

    return name && yaml_is_scalar(name) ? name->text : STR_NULL;
}

/* Sorts "name" first, as users write it. */
static int compare_pairs(const void *a, const void *b) {
    Str left = ((const YamlPair *)a)->key->text, right = ((const YamlPair *)b)->key->text;

    if (str_is(left, "name") || str_is(right, "name"))
        return str_is(right, "name") - str_is(left, "name");
    return str_cmp(left, right);
}

/* yaml_parse() limits the recursion to YAML_DEPTH_MAX. */
static void sort_keys(YamlNode *node) {
    for (size_t i = 0; i < node->n; i++)
        sort_keys(yaml_child(node, i));
    if (node->kind == YAML_MAPPING && node->n > 0)
        qsort(node->pairs, node->n, sizeof(YamlPair), compare_pairs);
}

static bool is_equal(const YamlNode *a, const YamlNode *b) {
    if (yaml_is_scalar(a) || yaml_is_scalar(b))
        return yaml_is_scalar(a) && yaml_is_scalar(b) && str_eq(a->text, b->text);
    if (a->kind != b->kind || a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if ((a->kind == YAML_MAPPING && !str_eq(a->pairs[i].key->text, b->pairs[i].key->text)) ||
            !is_equal(yaml_child(a, i), yaml_child(b, i)))
            return false;
    return true;
}

/* Writes YAML in kubectl's style; empty if @node is NULL. 0, or -ENOMEM. */
static int write_text(const YamlNode *node, Arena *arena, Str *ret) {
    _cleanup_(buf_done) Buf json = BUF_INIT(TEXT_MAX), text = BUF_INIT(TEXT_MAX);

    *ret = STR_NULL;
    if (!node)
        return 0;
    yaml_to_json(node, &json);
    if (buf_error(&json) < 0 || yaml_from_json(buf_str(&json), &text) < 0)
        return -ENOMEM;
    *ret = arena_copy(arena, buf_str(&text));
    return arena_has_failed(arena) ? -ENOMEM : 0;
}

static int compare_names(const void *a, const void *b) {
    return str_cmp(((const ReadPolicy *)a)->name, ((const ReadPolicy *)b)->name);
}

/* Reads the policies of a set, sorted by name. 0, or -ENOMEM. */
static int read_set(const PolicySource *sources, size_t n, Arena *arena, ReadPolicies *ret) {
    for (size_t i = 0; i < n; i++) {
        DiagList diags = DIAG_LIST_IN(arena);
        YamlStream stream = {0};
        int r = yaml_parse(sources[i].file, sources[i].text, arena, &diags, &stream);

        if (r == -ENOMEM)
            return r;
        for (size_t j = 0; r == 0 && j < stream.n_documents; j++) {
            YamlNode *document = stream.documents[j];

            sort_keys(document);
            (void)VEC_ADD(ret, arena,
                (ReadPolicy){.name = name_of(yaml_find(document, STR("metadata"))),
                    .document = document,
                    .spec = yaml_find(document, STR("spec"))});
        }
    }
    if (ret->n > 0)
        qsort(ret->items, ret->n, sizeof(ReadPolicy), compare_names);
    return arena_has_failed(arena) ? -ENOMEM : 0;
}

typedef struct PartFinder {
    Arena *arena;
    VEC(PolicyPart) parts;
} PartFinder;

static void add_part(PartFinder *finder, PolicyChangeKind kind, Str field, Str name) {
    Str path = str_is_empty(name)
                   ? field
                   : arena_printf(finder->arena, "%.*s/%.*s", STR_FMT(field), STR_FMT(name));

    (void)VEC_ADD(&finder->parts, finder->arena, (PolicyPart){.kind = kind, .path = path});
}

/* Whether @node is a list of items with names, such as rules. */
static bool is_named_list(const YamlNode *node) {
    for (size_t i = 0; node->kind == YAML_SEQUENCE && i < node->n; i++)
        if (str_is_empty(name_of(node->items[i])))
            return false;
    return node->kind == YAML_SEQUENCE;
}

static const YamlNode *find_item(const YamlNode *list, Str name) {
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(name_of(list->items[i]), name))
            return list->items[i];
    return NULL;
}

/* Adds items of @list that @other lacks, as @kind. If @list is the old one (POLICY_REMOVED), adds
 * items that differ, too, as changed. */
static void compare_items(PartFinder *finder, Str field, const YamlNode *list,
    const YamlNode *other, PolicyChangeKind kind) {
    for (size_t i = 0; i < list->n; i++) {
        Str name = name_of(list->items[i]);
        const YamlNode *same = find_item(other, name);

        if (!same)
            add_part(finder, kind, field, name);
        else if (kind == POLICY_REMOVED && !is_equal(list->items[i], same))
            add_part(finder, POLICY_CHANGED, field, name);
    }
}

static void compare_field(
    PartFinder *finder, Str field, const YamlNode *before, const YamlNode *after) {
    size_t n = finder->parts.n;

    if (!before || !after) {
        add_part(finder, after ? POLICY_ADDED : POLICY_REMOVED, field, STR_NULL);
        return;
    }
    if (is_equal(before, after))
        return;
    if (is_named_list(before) && is_named_list(after)) {
        compare_items(finder, field, before, after, POLICY_REMOVED);
        compare_items(finder, field, after, before, POLICY_ADDED);
    }
    if (finder->parts.n == n) /* not such a list, or only the order differs */
        add_part(finder, POLICY_CHANGED, field, STR_NULL);
}

/* Compares the fields by name. */
static void compare_specs(PartFinder *finder, const YamlNode *before, const YamlNode *after) {
    for (size_t i = 0; before && before->kind == YAML_MAPPING && i < before->n; i++) {
        Str field = before->pairs[i].key->text;

        compare_field(finder, field, before->pairs[i].value, yaml_find(after, field));
    }
    for (size_t i = 0; after && after->kind == YAML_MAPPING && i < after->n; i++) {
        Str field = after->pairs[i].key->text;

        if (!yaml_find(before, field))
            compare_field(finder, field, NULL, after->pairs[i].value);
    }
}

/* @before or @after may be NULL. */
static int compare_policies(
    const ReadPolicy *before, const ReadPolicy *after, Arena *arena, PolicyDiff *ret) {
    PolicyChange *change = &ret->items[ret->n];
    PartFinder finder = {.arena = arena};
    int r = 0;

    assert(before || after);
    *change = (PolicyChange){.kind = !before  ? POLICY_ADDED
                                     : !after ? POLICY_REMOVED
                                              : POLICY_CHANGED,
        .name = before ? before->name : after->name};
    if (before && after)
        compare_specs(&finder, before->spec, after->spec);
    if (before && after && finder.parts.n == 0) {
        ret->n_equal++;
        return 0;
    }
    change->parts = finder.parts.items;
    change->n_parts = finder.parts.n;
    if (before)
        r = write_text(before->spec, arena, &change->before);
    if (r == 0 && after)
        r = write_text(after->spec, arena, &change->after);
    ret->n++;
    return r;
}

int policy_diff(const PolicySource *before, size_t n_before, const PolicySource *after,
    size_t n_after, Arena *arena, PolicyDiff *ret) {
    ReadPolicies old = {0}, new = {0};
    size_t i = 0, j = 0;
    int r = read_set(before, n_before, arena, &old);

    if (r == 0)
        r = read_set(after, n_after, arena, &new);
    *ret = (PolicyDiff){.items = ARENA_ARRAY(arena, PolicyChange, old.n + new.n)};
    if (!ret->items)
        r = -ENOMEM;
    while (r == 0 && (i < old.n || j < new.n)) {
        int order = i == old.n   ? 1
                    : j == new.n ? -1
                                 : str_cmp(old.items[i].name, new.items[j].name);

        r = compare_policies(
            order <= 0 ? &old.items[i] : NULL, order >= 0 ? &new.items[j] : NULL, arena, ret);
        i += order <= 0;
        j += order >= 0;
    }
    return r == 0 && arena_has_failed(arena) ? -ENOMEM : r;
}

static bool has_name(const ReadPolicies *policies, Str name) {
    for (size_t i = 0; i < policies->n; i++)
        if (str_eq(policies->items[i].name, name))
            return true;
    return false;
}

int policy_diff_keep_others(const PolicySource *before, size_t n_before, const PolicySource *after,
    size_t n_after, Arena *arena, const PolicySource **ret, size_t *ret_n) {
    ReadPolicies old = {0}, new = {0};
    PolicySource *sources;
    int r = read_set(before, n_before, arena, &old);

    if (r == 0)
        r = read_set(after, n_after, arena, &new);
    sources = ARENA_ARRAY(arena, PolicySource, n_after + old.n);
    if (r < 0 || !sources)
        return -ENOMEM;
    for (*ret_n = 0; *ret_n < n_after; (*ret_n)++)
        sources[*ret_n] = after[*ret_n];
    for (size_t i = 0; r == 0 && i < old.n; i++) {
        if (has_name(&new, old.items[i].name))
            continue;
        sources[*ret_n].file = arena_printf(arena, "%.*s, in force", STR_FMT(old.items[i].name));
        r = write_text(old.items[i].document, arena, &sources[(*ret_n)++].text);
    }
    *ret = sources;
    return r < 0 || arena_has_failed(arena) ? -ENOMEM : 0;
}
