/* Hashes names. Words that policies mention stay, and composed names are hashed part by part. */

#include "bundle/anonymous.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/ascii.h"
#include "base/double.h"
#include "base/map.h"
#include "base/quantity.h"
#include "base/vec.h"
#include "bundle/siphash.h"
#include "cel/graph.h"
#include "cluster/object-fields.h"
#include "model/time.h"
#include "model/workload.h"

/* The memory holds each name of a cluster once, and its replacement. */
#define ANONYMOUS_BUDGET ((size_t)1024 * 1024 * 1024)
#define OBJECT_BUDGET ((size_t)64 * 1024 * 1024)

struct Anonymous {
    Arena *arena;  /* all texts */
    Arena *object; /* for the last anonymized object */
    uint64_t salt[2];
    Map kept;       /* words that stay */
    Map known;      /* names that were hashed, to indexes of shown */
    VEC(Str) shown; /* the hashes */
};

static bool is_word(char c) {
    return ascii_is_alnum(c) || c == '.' || c == '_' || c == '/' || c == '-';
}

/* Takes the next word from @text. Returns false if there is none. */
static bool next_word(Str *text, Str *ret) {
    size_t from = 0, to;

    if (text->len == 0)
        return false;
    while (from < text->len && !is_word(text->ptr[from]))
        from++;
    to = from;
    while (to < text->len && is_word(text->ptr[to]))
        to++;
    *ret = str_of(text->ptr + from, to - from);
    *text = str_skip(*text, to);
    return to > from;
}

/* Errors are kept in the arena (arena_has_failed()). */
static void keep_word(Anonymous *a, Str word) {
    if (word.len > 0 && map_find(&a->kept, word) == MAP_NONE &&
        map_add(&a->kept, arena_copy(a->arena, word), 0) < 0)
        assert(arena_has_failed(a->arena));
}

/* Keeps also parts between dots: node.metadata.labels.pool mentions a key "pool". */
static void keep_words(Anonymous *a, Str text) {
    Str word, part;

    while (next_word(&text, &word)) {
        keep_word(a, word);
        while (str_split(&word, '.', &part))
            keep_word(a, part);
    }
}

Anonymous *anonymous_new(const PolicySource *policies, size_t n_policies, const uint64_t salt[2]) {
    _cleanup_(anonymous_freep) Anonymous *a = calloc(1, sizeof(*a));

    if (!a)
        return NULL;
    a->arena = arena_new(ANONYMOUS_BUDGET);
    a->object = arena_new(OBJECT_BUDGET);
    if (!a->arena || !a->object)
        return NULL;
    a->salt[0] = salt[0];
    a->salt[1] = salt[1];
    a->kept = MAP_INIT_IN(a->arena);
    a->known = MAP_INIT_IN(a->arena);
    for (size_t i = 0; i < n_policies; i++)
        keep_words(a, policies[i].text);
    return arena_has_failed(a->arena) ? NULL : TAKE_PTR(a);
}

Anonymous *anonymous_free(Anonymous *a) {
    if (!a)
        return NULL;
    arena_free(a->arena);
    arena_free(a->object);
    free(a);
    return NULL;
}

/* --- what stays -------------------------------------------------------------------------- */

static bool is_in_list(Str text, const char *const *list) {
    for (; *list; list++)
        if (str_is(text, *list))
            return true;
    return false;
}

static bool is_number(Str text) {
    Quantity quantity;
    double number;

    return double_parse(text, &number, NULL) || quantity_parse(text, &quantity);
}

/* Whether @text is a metric in an annotation, "0.25,2026-01-02T03:04:05Z", or a time alone. */
static bool is_measurement(Str text) {
    size_t comma = str_find(text, ',');
    int64_t at;

    if (time_parse(text, &at))
        return true;
    return comma != SIZE_MAX && is_number(str_take(text, comma)) &&
           time_parse(str_skip(text, comma + 1), &at);
}

/* Whether @text stays unchanged in every field. */
static bool keeps(const Anonymous *a, Str text) {
    static const char *const plain[] = {"true", "false", "True", "False", "Unknown", NULL};

    return text.len == 0 || map_find(&a->kept, text) != MAP_NONE || is_in_list(text, plain) ||
           is_number(text);
}

/* --- names ------------------------------------------------------------------------------- */

/* The hash of @text, also if keeps(). */
static Str hash(Anonymous *a, Str text) {
    uint32_t place = map_find(&a->known, text);
    Str copy, shown;

    if (place != MAP_NONE)
        return a->shown.items[place];
    copy = arena_copy(a->arena, text);
    shown = arena_printf(a->arena, "x-%016" PRIx64, siphash(text, a->salt));
    if (!copy.ptr || !VEC_ADD(&a->shown, a->arena, shown) ||
        map_add(&a->known, copy, (uint32_t)(a->shown.n - 1)) < 0)
        return STR_NULL;
    return shown;
}

Str anonymous_name(Anonymous *a, Str name) {
    return keeps(a, name) ? name : hash(a, name);
}

Str anonymous_text(Anonymous *a, Str text) {
    Str rest = text, word;

    if (is_measurement(text))
        return text;
    while (next_word(&rest, &word))
        if (!keeps(a, word))
            return hash(a, text);
    return text;
}

/* @left, @between and @right as one. */
static Str join(Anonymous *a, Str left, char between, Str right) {
    if (!left.ptr || !right.ptr)
        return STR_NULL;
    return arena_printf(a->arena, "%.*s%c%.*s", STR_FMT(left), between, STR_FMT(right));
}

/* --- keys -------------------------------------------------------------------------------- */

static bool is_domain(Str prefix, Str domain) {
    return str_eq(prefix, domain) || (prefix.len > domain.len && str_has_suffix(prefix, domain) &&
                                         prefix.ptr[prefix.len - domain.len - 1] == '.');
}

static bool is_well_known(Str prefix) {
    return is_domain(prefix, STR("kubernetes.io")) || is_domain(prefix, STR("k8s.io")) ||
           is_domain(prefix, STR("x-k8s.io")) || is_domain(prefix, STR("berth.dev"));
}

Str anonymous_key(Anonymous *a, Str key) {
    static const char *const known[] = {
        "pod-template-hash",
        "controller-revision-hash",
        "pod-template-generation",
        "job-name",
        "controller-uid",
        "cpu",
        "memory",
        "pods",
        "ephemeral-storage",
        "storage",
        NULL,
    };
    static const char *const roles[] = {"control-plane", "master", "worker", "etcd", NULL};
    size_t slash = str_find(key, '/');
    Str prefix = str_take(key, slash), name = slash == SIZE_MAX ? key : str_skip(key, slash + 1);
    bool is_chosen_by_users = is_domain(prefix, STR("node-role.kubernetes.io")) ||
                              is_domain(prefix, STR("node-restriction.kubernetes.io"));

    if (keeps(a, key) || is_in_list(key, known) ||
        (slash == SIZE_MAX && str_has_prefix(key, STR("hugepages-"))))
        return key;
    if (slash == SIZE_MAX)
        return hash(a, key);
    if (is_well_known(prefix) && (!is_chosen_by_users || is_in_list(name, roles)))
        return key;
    return join(a, is_well_known(prefix) ? prefix : anonymous_name(a, prefix), '/',
        str_is_empty(name) ? STR("") : anonymous_name(a, name));
}

/* --- images ------------------------------------------------------------------------------ */

/* Parts of names that are the same in every cluster stay. */
static Str show_segment(Anonymous *a, Str segment) {
    static const char *const common[] = {
        "docker.io", "library", "latest", "sha256", "registry.k8s.io", NULL};

    return is_in_list(segment, common) ? segment : anonymous_name(a, segment);
}

/* Writes a repository: unchanged if policies mention it, else part by part. */
static void show_repository(Anonymous *a, Str text, Buf *out) {
    Str part;

    if (keeps(a, text)) {
        buf_append(out, text);
        return;
    }
    for (bool is_first = true; str_split(&text, '/', &part); is_first = false) {
        if (!is_first)
            buf_append_char(out, '/');
        buf_append(out, show_segment(a, part));
    }
}

#define COMPOSED_MAX ((size_t)64 * 1024) /* an image, or a label with zones, anonymized */

Str anonymous_image(Anonymous *a, Str image) {
    _cleanup_(buf_done) Buf out = BUF_INIT(COMPOSED_MAX);
    Str rest = image;

    if (keeps(a, image))
        return image;
    while (rest.len > 0) {
        size_t n = 0;

        while (n < rest.len && rest.ptr[n] != ':' && rest.ptr[n] != '@')
            n++;
        show_repository(a, str_take(rest, n), &out);
        if (n < rest.len)
            buf_append_char(&out, rest.ptr[n]);
        rest = str_skip(rest, n + 1);
    }
    return buf_error(&out) ? hash(a, image) : arena_copy(a->arena, buf_str(&out));
}

/* --- owners and workloads ---------------------------------------------------------------- */

/* Kubernetes' own words, which are not hashed, by kind. */
static const char *const kept_words[][9] = {
    [SORT_OWNER_KIND] = {"ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob",
        "Node", "ReplicationController"},
    [SORT_CONDITION] = {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure",
        "NetworkUnavailable"},
};

static Str show_kind(Anonymous *a, Str kind) {
    return is_in_list(kind, kept_words[SORT_OWNER_KIND]) ? kind : anonymous_name(a, kind);
}

/* If the name begins with its workload's name, the parts are hashed separately, as elsewhere. */
static Str owner_name(Anonymous *a, const Pod *pod) {
    WorkloadName workload;
    Str name = pod->owner_name, end;

    if (!workload_find(pod, &workload) || workload.name.len == name.len)
        return anonymous_name(a, name);
    end = str_skip(name, workload.name.len + 1);
    return join(a, anonymous_name(a, workload.name), '-', anonymous_name(a, end));
}

Str anonymous_workload(Anonymous *a, Str key) {
    Str namespace = STR_NULL, kind = STR_NULL, name;

    if (!str_split(&key, '/', &namespace) || !str_split(&key, '/', &kind))
        return anonymous_name(a, key);
    name = key;
    return join(a, join(a, anonymous_name(a, namespace), '/', show_kind(a, kind)), '/',
        anonymous_name(a, name));
}

Str anonymous_exemption(Anonymous *a, const Exemption *exemption) {
    Str namespace = anonymous_name(a, exemption->namespace);

    if (str_is_empty(exemption->key))
        return namespace;
    return join(a, join(a, namespace, '/', anonymous_key(a, exemption->key)), '=',
        str_is_empty(exemption->value) ? STR("") : anonymous_name(a, exemption->value));
}

/* --- what policies do with strings ------------------------------------------------------- */

static void mark(const Expression *expression, bool *is_used) {
    if (expression_is_given(expression) && !expression->is_built_in)
        is_used[expression->node] = true;
}

/* Marks nodes of the graph that expressions of policies read. Built-in rules are left out: they
 * read only shapes that stay (":TAG" of an image, numbers). */
static void mark_used(const Program *program, bool *is_used) {
    for (size_t i = 0; i < program->n_filters; i++)
        mark(&program->filters[i]->test, is_used);
    for (size_t i = 0; i < program->n_scores; i++)
        mark(&program->scores[i]->value, is_used);
    for (size_t i = 0; i < program->n_policies; i++)
        mark(&program->policies[i].match.expression, is_used);
    for (uint32_t i = cel_graph_size(program->graph); i-- > 0;) { /* arguments come first */
        const CelGraphNode *node = cel_graph_node(program->graph, i);

        for (size_t j = 0; is_used[i] && !node->folded && j < node->n_args; j++)
            is_used[node->args[j]] = true;
    }
}

size_t anonymous_functions(const Program *program, Str ret[static ANONYMOUS_FUNCTIONS_MAX]) {
    bool *is_used = calloc(cel_graph_size(program->graph) + 1, sizeof(*is_used));
    size_t n = 0;

    if (is_used)
        mark_used(program, is_used);
    for (uint32_t i = 0; is_used && i < cel_graph_size(program->graph); i++) {
        const CelGraphNode *node = cel_graph_node(program->graph, i);

        for (size_t j = 0; is_used[i] && !node->folded && j < node->n_overloads; j++) {
            Str name = node->overloads[j]->name;

            if (str_is(name, "@sortByAssociatedKeys"))
                name = STR("sortBy"); /* the macro that calls it */
            if (node->overloads[j]->spec->reads_text && !str_is_one_of(name, ret, n) &&
                n < ANONYMOUS_FUNCTIONS_MAX)
                ret[n++] = name;
        }
    }
    free(is_used);
    return n;
}

/* --- objects: failures are kept in the arenas --------------------------------------------- */

static Str show_condition(Anonymous *a, Str type) {
    return is_in_list(type, kept_words[SORT_CONDITION]) ? type : anonymous_name(a, type);
}

/* Groups of Kubernetes itself stay. */
static Str api_version(Anonymous *a, Str version) {
    bool is_own = str_find(version, '/') == SIZE_MAX || str_has_prefix(version, STR("apps/")) ||
                  str_has_prefix(version, STR("batch/"));

    return is_own ? version : anonymous_name(a, version);
}

static Str priority_class(Anonymous *a, Str name) {
    return str_has_prefix(name, STR("system-")) ? name : anonymous_name(a, name);
}

static Str scheduler_name(Anonymous *a, Str name) {
    return str_is(name, "default-scheduler") ? name : anonymous_name(a, name);
}

/* A label can name several zones, joined by "__": each is hashed by itself. */
static Str zone_label(Anonymous *a, Str label) {
    _cleanup_(buf_done) Buf out = BUF_INIT(COMPOSED_MAX);

    while (label.len > 0) {
        const char *next = memmem(label.ptr, label.len, "__", 2);
        size_t len = next ? (size_t)(next - label.ptr) : label.len;

        buf_append(&out, anonymous_name(a, str_take(label, len)));
        buf_append(&out, next ? STR("__") : STR(""));
        label = str_skip(label, next ? len + 2 : len);
    }
    return arena_copy(a->object, buf_str(&out));
}

static Str (*const show_text[])(Anonymous *a, Str text) = {
    [SORT_NAME] = anonymous_name,
    [SORT_KEY] = anonymous_key,
    [SORT_IMAGE] = anonymous_image,
    [SORT_TEXT] = anonymous_text,
    [SORT_OWNER_KIND] = show_kind,
    [SORT_API_VERSION] = api_version,
    [SORT_CONDITION] = show_condition,
    [SORT_PRIORITY_CLASS] = priority_class,
    [SORT_SCHEDULER] = scheduler_name,
    [SORT_ZONES] = zone_label,
};

static void show_fields(Anonymous *a, const ObjectType *type, void *item);

/* A copy of @n elements with names replaced. NULL when out of memory. */
static void *show_items(Anonymous *a, const ObjectType *type, const void *items, size_t n) {
    char *copy = arena_zalloc(a->object, n, type->size);

    if (copy && n > 0)
        memcpy(copy, items, n * type->size);
    for (size_t i = 0; copy && i < n; i++)
        show_fields(a, type, copy + i * type->size);
    return copy;
}

static void show_fields(Anonymous *a, const ObjectType *type, void *item) {
    for (size_t i = 0; i < type->n_fields; i++) {
        const ObjectField *field = &type->fields[i];
        void *at = field_at(field, item);

        if (field->kind == FIELD_TEXT && field->sort != SORT_WORD)
            *(Str *)at = show_text[field->sort](a, *(Str *)at);
        else if (field->kind == FIELD_STRUCT)
            show_fields(a, field->of, at);
        else if (field->of && field_count(field, item) > 0)
            *(void **)at =
                show_items(a, field->of, field_items(field, item), field_count(field, item));
    }
}

static bool has_failed(const Anonymous *a) {
    return arena_has_failed(a->arena) || arena_has_failed(a->object);
}

static const Node *show_node(void *context, const Node *node) {
    Anonymous *a = context;
    const Node *copy;

    arena_reset(a->object);
    copy = show_items(a, &node_type, node, 1);
    return has_failed(a) ? NULL : copy;
}

/* Gives the controlling owner the name that owner_name() makes for the pod. */
static void show_owner(Anonymous *a, const Pod *pod, Pod *copy) {
    const PodDetails *details = copy->details;

    copy->owner_name = owner_name(a, pod);
    for (size_t i = 0; details && details->owners && i < details->n_owners; i++)
        if (str_eq(details->owners[i].uid, copy->owner_uid))
            ((PodOwner *)(uintptr_t)details->owners)[i].name = copy->owner_name;
}

static const Pod *show_pod(void *context, const Pod *pod) {
    Anonymous *a = context;
    Pod *copy;

    arena_reset(a->object);
    copy = show_items(a, &pod_type, pod, 1);
    if (!copy)
        return NULL;
    show_owner(a, pod, copy);
    if (pod->details && copy->details) /* the terms are in the affinity */
        ((PodDetails *)(uintptr_t)copy->details)->required_terms = (NodeTerms){0};
    if (pod->related)
        copy->related = show_items(a, &related_type, pod->related, 1);
    return has_failed(a) ? NULL : copy;
}

static Str show_name(void *context, Str name) {
    return anonymous_name(context, name);
}

ObjectMask anonymous_mask(Anonymous *a) {
    return (ObjectMask){.context = a, .node = show_node, .pod = show_pod, .name = show_name};
}
