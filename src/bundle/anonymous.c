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
#include "model/time.h"
#include "model/workload.h"

/* Each name of a cluster once, and its replacement. */
#define ANONYMOUS_BUDGET ((size_t)1024 * 1024 * 1024)
#define OBJECT_BUDGET ((size_t)64 * 1024 * 1024)

struct Anonymous {
    Arena *arena;  /* all texts */
    Arena *object; /* for the last anonymized object */
    uint64_t salt[2];
    Map kept;       /* words that stay */
    Map known;      /* names that were hashed: the index of their hash in ... */
    VEC(Str) shown; /* ... this list */
};

static bool is_word(char c) {
    return ascii_is_alnum(c) || c == '.' || c == '_' || c == '/' || c == '-';
}

/* Cuts the next word off the front of @text. False: there is none. */
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

/* Failures stick to the arena. */
static void keep_word(Anonymous *a, Str word) {
    if (word.len > 0 && map_find(&a->kept, word) == MAP_NONE &&
        map_add(&a->kept, arena_copy(a->arena, word), 0) < 0)
        assert(arena_has_failed(a->arena));
}

/* Also parts between dots: node.metadata.labels.pool mentions a key "pool". */
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

/* Whether it is a metric in an annotation, "0.25,2026-01-02T03:04:05Z", or a time alone. */
static bool is_measurement(Str text) {
    size_t comma = str_find(text, ',');
    int64_t at;

    if (time_parse(text, &at))
        return true;
    return comma != SIZE_MAX && is_number(str_take(text, comma)) &&
           time_parse(str_skip(text, comma + 1), &at);
}

/* Whether @text stays unchanged, wherever it stands. */
static bool keeps(const Anonymous *a, Str text) {
    static const char *const plain[] = {"true", "false", "True", "False", "Unknown", NULL};

    return text.len == 0 || map_find(&a->kept, text) != MAP_NONE || is_in_list(text, plain) ||
           is_number(text);
}

/* --- names ------------------------------------------------------------------------------- */

/* The hash of @text, also if keeps(). */
static Str hash(Anonymous *a, Str text) {
    uint32_t place = map_find(&a->known, text);
    Str copy, *shown;

    if (place != MAP_NONE)
        return a->shown.items[place];
    copy = arena_copy(a->arena, text);
    shown = VEC_PUSH(&a->shown, a->arena);
    if (!copy.ptr || !shown || map_add(&a->known, copy, (uint32_t)(a->shown.n - 1)) < 0)
        return STR_NULL;
    *shown = arena_printf(a->arena, "x-%016" PRIx64, siphash(text, a->salt));
    return *shown;
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

/* Whether the part after @prefix/ is chosen by the cluster's users. */
static bool names_are_own(Str prefix) {
    return is_domain(prefix, STR("node-role.kubernetes.io")) ||
           is_domain(prefix, STR("node-restriction.kubernetes.io"));
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

    if (keeps(a, key) || is_in_list(key, known) ||
        (slash == SIZE_MAX && str_has_prefix(key, STR("hugepages-"))))
        return key;
    if (slash == SIZE_MAX)
        return hash(a, key);
    if (is_well_known(prefix) && (!names_are_own(prefix) || is_in_list(name, roles)))
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

/* A repository: whole if policies name it, else part by part. */
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

static Str show_kind(Anonymous *a, Str kind) {
    static const char *const kinds[] = {
        "ReplicaSet",
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "Job",
        "CronJob",
        "Node",
        "ReplicationController",
        NULL,
    };

    return is_in_list(kind, kinds) ? kind : anonymous_name(a, kind);
}

/* A name that begins with its workload keeps that shape: both parts are shown as elsewhere. */
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

/* By node of the graph: whether a decision by an expression of a policy reads it. Built-in rules
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

/* --- objects: failures stick to the arenas ------------------------------------------------ */

typedef Str Show(Anonymous *anonymous, Str text);

/* A text of an element, and how it is shown. */
typedef struct ShownField {
    size_t offset;
    Show *show;
} ShownField;

static void show_fields(Anonymous *a, void *item, const ShownField *fields) {
    for (; fields->show; fields++) {
        Str *text = (Str *)(void *)((char *)item + fields->offset);

        *text = fields->show(a, *text);
    }
}

/* A copy of @n elements with these fields shown. NULL when out of memory. */
static void *show_items(
    Anonymous *a, const void *items, size_t n, size_t size, const ShownField *fields) {
    char *copy = arena_zalloc(a->object, n, size);

    if (copy && n > 0)
        memcpy(copy, items, n * size);
    for (size_t i = 0; copy && i < n; i++)
        show_fields(a, copy + i * size, fields);
    return copy;
}

#define SHOWN(a, list, n, ...)                                                                     \
    show_items((a), (list), (n), sizeof(*(list)), (const ShownField[]){__VA_ARGS__, {0}})
#define SHOW(a, list, n, ...) ((list) = SHOWN((a), (list), (n), __VA_ARGS__))
#define FIELD(type, member, show)                                                                  \
    { offsetof(type, member), show }

static void show_labels(Anonymous *a, Labels *labels, Show *value) {
    SHOW(a, labels->items, labels->n, FIELD(Label, key, anonymous_key), FIELD(Label, value, value));
}

static void show_resources(Anonymous *a, Resources *resources) {
    SHOW(a, resources->items, resources->n, FIELD(Resource, name, anonymous_key));
}

static bool has_failed(const Anonymous *a) {
    return arena_has_failed(a->arena) || arena_has_failed(a->object);
}

static Str condition_type(Anonymous *a, Str type) {
    static const char *const types[] = {
        "Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", NULL};

    return is_in_list(type, types) ? type : anonymous_name(a, type);
}

static void show_images(Anonymous *a, Node *node) {
    Image *images =
        show_items(a, node->images, node->n_images, sizeof(*images), (const ShownField[]){{0}});

    for (size_t i = 0; images && i < node->n_images; i++)
        SHOW(a, images[i].names, images[i].n_names, {0, anonymous_image});
    node->images = images;
}

static void show_texts(Anonymous *a, TextList *list) {
    SHOW(a, list->items, list->n, {0, anonymous_name});
}

/* Words of the API, and versions of Kubernetes, which rules compare as such, stay. */
static void show_node_details(Anonymous *a, Node *node) {
    NodeDetails *details;

    if (!node->details)
        return;
    details = SHOWN(a, node->details, 1, FIELD(NodeDetails, provider_id, anonymous_name),
        FIELD(NodeDetails, os_image, anonymous_name),
        FIELD(NodeDetails, kernel_version, anonymous_name),
        FIELD(NodeDetails, container_runtime_version, anonymous_name));
    node->details = details;
    if (!details)
        return;
    show_texts(a, &details->pod_cidrs);
    show_texts(a, &details->volumes_in_use);
    show_texts(a, &details->volumes_attached);
    show_resources(a, &details->capacity);
}

const Node *anonymous_node(Anonymous *a, const Node *node) {
    Node *copy;

    arena_reset(a->object);
    copy = SHOWN(a, node, 1, FIELD(Node, name, anonymous_name), FIELD(Node, uid, anonymous_name));
    if (!copy)
        return NULL;
    show_labels(a, &copy->labels, anonymous_name);
    show_labels(a, &copy->annotations, anonymous_text);
    SHOW(a, copy->taints.items, copy->taints.n, FIELD(Taint, key, anonymous_key),
        FIELD(Taint, value, anonymous_name));
    SHOW(a, copy->conditions, copy->n_conditions, FIELD(Condition, type, condition_type),
        FIELD(Condition, status, anonymous_name));
    show_resources(a, &copy->allocatable);
    show_images(a, copy);
    show_node_details(a, copy);
    SHOW(a, copy->addresses, copy->n_addresses, FIELD(Address, text, anonymous_name));
    return has_failed(a) ? NULL : copy;
}

static void show_amounts(Anonymous *a, AmountList *list) {
    SHOW(a, list->items, list->n, FIELD(Amount, name, anonymous_key));
}

static void show_containers(Anonymous *a, const PodContainer **containers, size_t n) {
    PodContainer *copies = SHOWN(a, *containers, n, FIELD(PodContainer, name, anonymous_name),
        FIELD(PodContainer, image, anonymous_image));

    for (size_t i = 0; copies && i < n; i++) {
        show_amounts(a, &copies[i].requests);
        show_amounts(a, &copies[i].limits);
        SHOW(a, copies[i].ports, copies[i].n_ports, FIELD(ContainerPort, name, anonymous_name),
            FIELD(ContainerPort, host_ip, anonymous_name));
        SHOW(a, copies[i].env, copies[i].n_env, {0, anonymous_name});
    }
    *containers = copies;
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

/* Types of volumes are fields of the API, policies of preemption its words. */
static void show_names(Anonymous *a, PodDetails *details) {
    show_fields(a, details,
        (const ShownField[]){FIELD(PodDetails, priority_class_name, priority_class),
            FIELD(PodDetails, runtime_class_name, anonymous_name),
            FIELD(PodDetails, service_account_name, anonymous_name), {0}});
    SHOW(a, details->scheduling_gates, details->n_scheduling_gates, {0, anonymous_key});
    SHOW(a, details->volumes, details->n_volumes, FIELD(PodVolume, name, anonymous_name),
        FIELD(PodVolume, claim_name, anonymous_name),
        FIELD(PodVolume, storage_class, anonymous_name));
    SHOW(a, details->resource_claims, details->n_resource_claims,
        FIELD(PodResourceClaim, name, anonymous_name),
        FIELD(PodResourceClaim, claim_name, anonymous_name),
        FIELD(PodResourceClaim, template_name, anonymous_name));
    show_amounts(a, &details->requests);
    show_amounts(a, &details->limits);
    show_amounts(a, &details->overhead);
}

/* Operators are words of the API; so are keys of fields. */
static void show_expressions(
    Anonymous *a, const MatchExpression **expressions, size_t n, bool is_field) {
    MatchExpression *copies = SHOWN(a, *expressions, n, {0});

    for (size_t i = 0; copies && i < n; i++) {
        if (!is_field)
            copies[i].key = anonymous_key(a, copies[i].key);
        SHOW(a, copies[i].values, copies[i].n_values, {0, anonymous_name});
    }
    *expressions = copies;
}

static void show_selector(Anonymous *a, LabelSelector *selector) {
    show_labels(a, &selector->labels, anonymous_name);
    show_expressions(a, &selector->expressions, selector->n_expressions, /* is_field= */ false);
}

static void show_node_terms(Anonymous *a, const NodeSelectorTerm **terms, size_t n) {
    NodeSelectorTerm *copies = SHOWN(a, *terms, n, {0});

    for (size_t i = 0; copies && i < n; i++) {
        show_expressions(a, &copies[i].expressions, copies[i].n_expressions, /* is_field= */ false);
        show_expressions(a, &copies[i].fields, copies[i].n_fields, /* is_field= */ true);
    }
    *terms = copies;
}

static void show_pod_terms(Anonymous *a, const PodAffinityTerm **terms, size_t n) {
    PodAffinityTerm *copies =
        SHOWN(a, *terms, n, FIELD(PodAffinityTerm, topology_key, anonymous_key));

    for (size_t i = 0; copies && i < n; i++) {
        show_selector(a, &copies[i].selector);
        show_selector(a, &copies[i].namespace_selector);
        SHOW(a, copies[i].namespaces, copies[i].n_namespaces, {0, anonymous_name});
        SHOW(a, copies[i].match_keys, copies[i].n_match_keys, {0, anonymous_key});
        SHOW(a, copies[i].mismatch_keys, copies[i].n_mismatch_keys, {0, anonymous_key});
    }
    *terms = copies;
}

static void show_affinity(Anonymous *a, PodDetails *details) {
    PodAffinity *affinity = SHOWN(a, details->affinity, details->n_affinity, {0});
    SpreadConstraint *spread = SHOWN(a, details->spread, details->n_spread,
        FIELD(SpreadConstraint, topology_key, anonymous_key));

    for (size_t i = 0; affinity && i < details->n_affinity; i++) {
        show_node_terms(a, &affinity[i].node_required, affinity[i].n_node_required);
        show_node_terms(a, &affinity[i].node_preferred, affinity[i].n_node_preferred);
        show_pod_terms(a, &affinity[i].pods.required, affinity[i].pods.n_required);
        show_pod_terms(a, &affinity[i].pods.preferred, affinity[i].pods.n_preferred);
        show_pod_terms(a, &affinity[i].anti.required, affinity[i].anti.n_required);
        show_pod_terms(a, &affinity[i].anti.preferred, affinity[i].anti.n_preferred);
    }
    for (size_t i = 0; spread && i < details->n_spread; i++) {
        show_selector(a, &spread[i].selector);
        SHOW(a, spread[i].match_keys, spread[i].n_match_keys, {0, anonymous_key});
    }
    details->affinity = details->n_affinity > 0 ? affinity : NULL;
    details->spread = spread;
    details->required_terms = (NodeTerms){0}; /* they are in the affinity */
}

static void show_term(Anonymous *a, NodeTerm *term) {
    Requirement *of =
        SHOWN(a, term->labels.items, term->labels.n, FIELD(Requirement, key, anonymous_key));

    for (size_t i = 0; of && i < term->labels.n; i++)
        SHOW(a, of[i].values, of[i].n_values, {0, anonymous_name});
    term->labels.items = of;
    SHOW(a, term->names, term->n_names, FIELD(NameTest, value, anonymous_name));
}

static void show_terms(Anonymous *a, NodeTerms *terms) {
    SHOW(a, terms->items, terms->n, {0});
    for (size_t i = 0; terms->items && i < terms->n; i++)
        show_term(a, &terms->items[i]);
}

/* The controlling owner has the name that owner_name() made for the pod. */
static void show_owners(Anonymous *a, const Pod *pod, PodDetails *details) {
    PodOwner *owners = SHOWN(a, details->owners, details->n_owners,
        FIELD(PodOwner, kind, show_kind), FIELD(PodOwner, name, anonymous_name),
        FIELD(PodOwner, uid, anonymous_name), FIELD(PodOwner, api_version, api_version));

    for (size_t i = 0; owners && i < details->n_owners; i++)
        if (str_eq(owners[i].uid, pod->owner_uid))
            owners[i].name = pod->owner_name;
    details->owners = owners;
}

static void show_details(Anonymous *a, Pod *pod) {
    PodDetails *details;

    if (!pod->details)
        return;
    details = SHOWN(a, pod->details, 1, {0});
    pod->details = details;
    if (!details)
        return;
    show_labels(a, &details->annotations, anonymous_text);
    show_labels(a, &details->node_selector, anonymous_name);
    show_affinity(a, details);
    show_owners(a, pod, details);
    show_containers(a, &details->containers, details->n_containers);
    show_containers(a, &details->init_containers, details->n_init_containers);
    show_names(a, details);
}

static void show_namespace(Anonymous *a, Related *related) {
    Namespace *namespace;

    if (!related->namespace)
        return;
    namespace = SHOWN(a, related->namespace, 1, FIELD(Namespace, name, anonymous_name));
    related->namespace = namespace;
    if (!namespace)
        return;
    show_labels(a, &namespace->labels, anonymous_name);
    show_labels(a, &namespace->annotations, anonymous_text);
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

/* Zones are read from the two parts again. */
static void show_claims(Anonymous *a, Related *related) {
    SHOW(a, related->claims, related->n_claims, FIELD(VolumeClaim, name, anonymous_name),
        FIELD(VolumeClaim, namespace, anonymous_name),
        FIELD(VolumeClaim, storage_class, anonymous_name),
        FIELD(VolumeClaim, volume_name, anonymous_name),
        FIELD(VolumeClaim, volume.name, anonymous_name),
        FIELD(VolumeClaim, volume.zone_label, zone_label));
    for (size_t i = 0; related->claims && i < related->n_claims; i++)
        show_terms(a, &related->claims[i].volume.terms);
}

static void show_related(Anonymous *a, Pod *pod) {
    Related *related;

    if (!pod->related)
        return;
    related = SHOWN(a, pod->related, 1, {0});
    pod->related = related;
    if (!related)
        return;
    show_namespace(a, related);
    show_claims(a, related);
}

static Str scheduler_name(Anonymous *a, Str name) {
    return str_is(name, "default-scheduler") ? name : anonymous_name(a, name);
}

const Pod *anonymous_pod(Anonymous *a, const Pod *pod) {
    Pod *copy;

    arena_reset(a->object);
    copy = SHOWN(a, pod, 1, FIELD(Pod, name, anonymous_name), FIELD(Pod, namespace, anonymous_name),
        FIELD(Pod, uid, anonymous_name), FIELD(Pod, node_name, anonymous_name),
        FIELD(Pod, nominated_node_name, anonymous_name), FIELD(Pod, scheduler_name, scheduler_name),
        FIELD(Pod, owner_kind, show_kind), FIELD(Pod, owner_uid, anonymous_name));
    if (!copy)
        return NULL;
    copy->owner_name = owner_name(a, pod);
    show_labels(a, &copy->labels, anonymous_name);
    show_resources(a, &copy->requests);
    SHOW(a, copy->tolerations.items, copy->tolerations.n, FIELD(Toleration, key, anonymous_key),
        FIELD(Toleration, value, anonymous_name));
    show_details(a, copy);
    show_related(a, copy);
    return has_failed(a) ? NULL : copy;
}

/* --- for writers ------------------------------------------------------------------------- */

static const Node *mask_node(void *context, const Node *node) {
    return anonymous_node(context, node);
}

static const Pod *mask_pod(void *context, const Pod *pod) {
    return anonymous_pod(context, pod);
}

static Str mask_name(void *context, Str name) {
    return anonymous_name(context, name);
}

ObjectMask anonymous_mask(Anonymous *a) {
    return (ObjectMask){.context = a, .node = mask_node, .pod = mask_pod, .name = mask_name};
}
