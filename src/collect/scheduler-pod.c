/*
 * Reads a pod, and finds the configuration of its kube-scheduler:
 *
 * --config=/etc/berth/scheduler.yaml                           the flag names a path,
 * volumeMounts: [{name: config, mountPath: /etc/berth}]        the longest mount above it a volume,
 * volumes: [{name: config, configMap: {name: berth-scheduler}}]    the volume a ConfigMap,
 * scheduler.yaml                                               the rest of the path its key.
 */

#include "collect/scheduler-pod.h"

#include "json/fields.h"

#define CONTAINERS_MAX 32u
#define WORDS_MAX 256u /* of a container's command and arguments */
#define MOUNTS_MAX 64u
#define VOLUMES_MAX 64u
#define ITEMS_MAX 64u /* of a volume's keys */

typedef struct Mount {
    Str volume, path, sub_path;
} Mount;

typedef struct MapKey {
    Str key, path, map_name;
} MapKey;

typedef struct Volume {
    Str name;
    Str host_path; /* empty: it is not the node's */
    bool is_map;   /* a ConfigMap, or several (projected) */
    MapKey items[ITEMS_MAX];
    size_t n_items;
    /* The ConfigMaps of which every key is a file. */
    Str whole_maps[ITEMS_MAX];
    size_t n_whole_maps;
} Volume;

typedef struct Container {
    Str words[WORDS_MAX];
    size_t n_words;
    Mount mounts[MOUNTS_MAX];
    size_t n_mounts;
} Container;

typedef struct Spec {
    Container *containers[CONTAINERS_MAX];
    size_t n_containers;
    Volume *volumes[VOLUMES_MAX];
    size_t n_volumes;
} Spec;

/* --- where the configuration is ---------------------------------------------------------- */

/* The value of --@flag, as --flag=VALUE or --flag VALUE; false: it is not given. */
static bool find_flag(const Container *container, Str flag, Str *ret) {
    for (size_t i = 0; i < container->n_words; i++) {
        Str word = container->words[i];

        if (!str_has_prefix(word, flag))
            continue;
        word = str_skip(word, flag.len);
        if (!str_is_empty(word) && word.ptr[0] == '=') {
            *ret = str_skip(word, 1);
            return true;
        }
        if (str_is_empty(word) && i + 1 < container->n_words) {
            *ret = container->words[i + 1];
            return true;
        }
    }
    return false;
}

static bool is_scheduler(const Container *container) {
    Str program = container->n_words > 0 ? container->words[0] : STR_NULL;
    size_t slash = str_find_last(program, '/');

    return str_has_prefix(
        slash == SIZE_MAX ? program : str_skip(program, slash + 1), STR("kube-scheduler"));
}

/* Images with an entry point of their own need no command: then only the flags identify it. */
static bool has_scheduler_flags(const Container *container) {
    static const Str flags[] = {
        STR("--config"), STR("--policy-config-file"), STR("--policy-configmap")};
    Str value;

    for (size_t i = 0; i < ELEMENTS_OF(flags); i++)
        if (find_flag(container, flags[i], &value))
            return true;
    return false;
}

static const Container *find_container(
    const Spec *spec, bool (*is_right)(const Container *container)) {
    for (size_t i = 0; i < spec->n_containers; i++)
        if (is_right(spec->containers[i]))
            return spec->containers[i];
    return NULL;
}

/* The rest of @path below @folder; false: it is not below it. */
static bool take_below(Str path, Str folder, Str *ret) {
    while (folder.len > 1 && folder.ptr[folder.len - 1] == '/')
        folder.len--;
    if (!str_has_prefix(path, folder))
        return false;
    *ret = str_skip(path, folder.len);
    if (!str_is_empty(*ret) && ret->ptr[0] != '/')
        return false;
    while (!str_is_empty(*ret) && ret->ptr[0] == '/')
        *ret = str_skip(*ret, 1);
    return true;
}

/* The longest mount above @path. */
static const Mount *find_mount(const Container *container, Str path, Str *ret_rest) {
    const Mount *best = NULL;
    Str rest;

    for (size_t i = 0; i < container->n_mounts; i++) {
        const Mount *mount = &container->mounts[i];

        if (!take_below(path, mount->path, &rest) || (best && mount->path.len < best->path.len))
            continue;
        best = mount;
        *ret_rest = rest;
    }
    return best;
}

static const Volume *find_volume(const Spec *spec, Str name) {
    for (size_t i = 0; i < spec->n_volumes; i++)
        if (str_eq(spec->volumes[i]->name, name))
            return spec->volumes[i];
    return NULL;
}

static Str join(Str folder, Str rest, Arena *arena) {
    while (folder.len > 1 && folder.ptr[folder.len - 1] == '/')
        folder.len--;
    if (str_is_empty(folder) || str_is_empty(rest))
        return str_is_empty(folder) ? rest : folder;
    return arena_printf(arena, "%.*s/%.*s", STR_FMT(folder), STR_FMT(rest));
}

/* Which key of which ConfigMap is the file @path of @volume. */
static bool find_key(const Volume *volume, Str path, SchedulerPod *ret) {
    for (size_t i = 0; i < volume->n_items; i++)
        if (str_eq(volume->items[i].path, path)) {
            ret->map_name = volume->items[i].map_name;
            ret->map_key = volume->items[i].key;
            return true;
        }
    if (volume->n_whole_maps == 0 || str_find(path, '/') != SIZE_MAX)
        return false;
    ret->map_name = volume->whole_maps[0];
    ret->map_key = path;
    return true;
}

static void find_file(
    const Spec *spec, const Container *container, Str path, Arena *arena, SchedulerPod *ret) {
    Str rest = STR_NULL;
    const Mount *mount = find_mount(container, path, &rest);
    const Volume *volume = mount ? find_volume(spec, mount->volume) : NULL;

    ret->origin = CONFIG_ELSEWHERE;
    ret->path = path;
    if (!volume)
        return;
    rest = join(mount->sub_path, rest, arena);
    if (!str_is_empty(volume->host_path)) {
        ret->origin = CONFIG_NODE;
        ret->path = join(volume->host_path, rest, arena);
    } else if (volume->is_map && find_key(volume, rest, ret)) {
        ret->origin = CONFIG_MAP;
        ret->map_namespace = ret->pod.namespace;
    }
}

static void find_config(
    const Spec *spec, const Container *container, Arena *arena, SchedulerPod *ret) {
    Str value;

    if (find_flag(container, STR("--config"), &value) ||
        find_flag(container, STR("--policy-config-file"), &value)) {
        find_file(spec, container, value, arena, ret);
        return;
    }
    ret->origin = CONFIG_DEFAULT;
    if (!find_flag(container, STR("--policy-configmap"), &ret->map_name))
        return;
    ret->origin = CONFIG_MAP;
    ret->map_key = STR("policy.cfg");
    if (!find_flag(container, STR("--policy-configmap-namespace"), &ret->map_namespace))
        ret->map_namespace = STR("kube-system");
}

static void find_scheduler(const Spec *spec, Arena *arena, SchedulerPod *ret) {
    const Container *container = find_container(spec, is_scheduler);

    if (!container)
        container = find_container(spec, has_scheduler_flags);
    if (container)
        find_config(spec, container, arena, ret);
}

/* --- reading a pod ------------------------------------------------------------------------- */

static void read_words(JsonReader *reader, Arena *arena, Container *ret) {
    json_array(reader);
    while (json_element(reader)) {
        Str word = STR_NULL;

        json_string(reader, arena, &word);
        if (ret->n_words < WORDS_MAX)
            ret->words[ret->n_words++] = word;
    }
}

static void read_mount(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"name", JSON_FIELD_TEXT, offsetof(Mount, volume)},
        {"mountPath", JSON_FIELD_TEXT, offsetof(Mount, path)},
        {"subPath", JSON_FIELD_TEXT, offsetof(Mount, sub_path)},
    };
    Container *container = target;

    if (container->n_mounts < MOUNTS_MAX)
        JSON_READ_FIELDS(reader, arena, fields, &container->mounts[container->n_mounts++]);
    else
        json_skip(reader, NULL);
}

/* The command comes before the arguments, in any order in the file. */
static void read_container(JsonReader *reader, Arena *arena, Container *ret) {
    Container *arguments = ARENA_NEW(arena, Container);
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("command")))
            read_words(reader, arena, ret);
        else if (arguments && json_key_is(reader, key, STR("args")))
            read_words(reader, arena, arguments);
        else if (json_key_is(reader, key, STR("volumeMounts")))
            json_read_array(reader, arena, read_mount, ret);
        else
            json_skip(reader, NULL);
    }
    for (size_t i = 0; arguments && i < arguments->n_words && ret->n_words < WORDS_MAX; i++)
        ret->words[ret->n_words++] = arguments->words[i];
}

/* The image starts berth; a command of its own still has the word serve. */
static bool serves(const Container *container) {
    for (size_t i = 0; i < container->n_words; i++)
        if (str_is(container->words[i], "serve"))
            return true;
    return false;
}

static void note_berth(const Container *container, SchedulerPod *pod) {
    Str value;

    if (!serves(container))
        return;
    pod->has_berth = pod->pod.has_arguments = true;
    pod->pod.answers_reviews |= find_flag(container, STR("--admission-listen"), &value);
}

static void read_item(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"key", JSON_FIELD_TEXT, offsetof(MapKey, key)},
        {"path", JSON_FIELD_TEXT, offsetof(MapKey, path)},
    };
    Volume *volume = target;

    if (volume->n_items < ITEMS_MAX)
        JSON_READ_FIELDS(reader, arena, fields, &volume->items[volume->n_items++]);
    else
        json_skip(reader, NULL);
}

/* {name: …, items: […]} of a ConfigMap. Its name may come after its items. */
static void read_map(JsonReader *reader, Arena *arena, void *target) {
    Volume *volume = target;
    size_t before = volume->n_items;
    Str key, name = STR_NULL;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("name")))
            json_string(reader, arena, &name);
        else if (json_key_is(reader, key, STR("items")))
            json_read_array(reader, arena, read_item, volume);
        else
            json_skip(reader, NULL);
    }
    volume->is_map = true;
    for (size_t i = before; i < volume->n_items; i++)
        volume->items[i].map_name = name;
    if (volume->n_items == before && volume->n_whole_maps < ITEMS_MAX)
        volume->whole_maps[volume->n_whole_maps++] = name;
}

static void read_projection(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {{"configMap", JSON_FIELD_CUSTOM, .read = read_map}};

    JSON_READ_FIELDS(reader, arena, fields, target);
}

/* A pod while it is read. */
typedef struct PodReader {
    SchedulerPod pod;
    Str phase;
    Spec *spec;
} PodReader;

static void read_one_container(JsonReader *reader, Arena *arena, void *target) {
    Spec *spec = ((PodReader *)target)->spec;
    Container *container = spec->n_containers < CONTAINERS_MAX ? ARENA_NEW(arena, Container) : NULL;

    if (!container) {
        json_skip(reader, NULL);
        return;
    }
    spec->containers[spec->n_containers++] = container;
    read_container(reader, arena, container);
}

static void read_volume(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"name", JSON_FIELD_TEXT, offsetof(Volume, name)},
        {"configMap", JSON_FIELD_CUSTOM, .read = read_map},
        {"hostPath.path", JSON_FIELD_TEXT, offsetof(Volume, host_path)},
        {"projected.sources", JSON_FIELD_ARRAY, .read = read_projection},
    };
    Spec *spec = ((PodReader *)target)->spec;
    Volume *volume = spec->n_volumes < VOLUMES_MAX ? ARENA_NEW(arena, Volume) : NULL;

    if (!volume) {
        json_skip(reader, NULL);
        return;
    }
    spec->volumes[spec->n_volumes++] = volume;
    JSON_READ_FIELDS(reader, arena, fields, volume);
}

static void read_mirror(JsonReader *reader, Arena *arena, void *target) {
    ((PodReader *)target)->pod.pod.is_static = true;
    json_skip(reader, NULL);
}

static void read_deletion(JsonReader *reader, Arena *arena, void *target) {
    ((PodReader *)target)->pod.is_ending = true;
    json_skip(reader, NULL);
}

static void read_condition(JsonReader *reader, Arena *arena, void *target) {
    typedef struct Condition {
        Str type, status;
    } Condition;
    static const JsonField fields[] = {
        {"type", JSON_FIELD_TEXT, offsetof(Condition, type)},
        {"status", JSON_FIELD_TEXT, offsetof(Condition, status)},
    };
    Condition condition = {0};

    JSON_READ_FIELDS(reader, arena, fields, &condition);
    if (str_is(condition.type, "Ready"))
        ((PodReader *)target)->pod.pod.is_ready = str_is(condition.status, "True");
}

#define AT(member) offsetof(PodReader, pod.member)

void scheduler_pod_decode(JsonReader *reader, Arena *arena, SchedulerPod *ret) {
    static const JsonField fields[] = {
        {"metadata.name", JSON_FIELD_TEXT, AT(pod.name)},
        {"metadata.namespace", JSON_FIELD_TEXT, AT(pod.namespace)},
        {"metadata.annotations.kubernetes.io/config.mirror", JSON_FIELD_CUSTOM,
            .read = read_mirror},
        {"metadata.deletionTimestamp", JSON_FIELD_CUSTOM, .read = read_deletion},
        {"spec.containers", JSON_FIELD_ARRAY, .read = read_one_container},
        {"spec.initContainers", JSON_FIELD_ARRAY, .read = read_one_container}, /* sidecars */
        {"spec.volumes", JSON_FIELD_ARRAY, .read = read_volume},
        {"spec.nodeName", JSON_FIELD_TEXT, AT(pod.node)},
        {"spec.schedulerName", JSON_FIELD_TEXT, AT(pod.scheduler_name)},
        {"spec.serviceAccountName", JSON_FIELD_TEXT, AT(service_account)},
        {"status.phase", JSON_FIELD_TEXT, offsetof(PodReader, phase)},
        {"status.conditions", JSON_FIELD_ARRAY, .read = read_condition},
    };
    PodReader pod = {.spec = ARENA_NEW(arena, Spec)};

    *ret = (SchedulerPod){0};
    if (!pod.spec) {
        json_fail(reader, JSON_E_MEMORY, "out of memory for kube-scheduler's pod");
        return;
    }
    JSON_READ_FIELDS(reader, arena, fields, &pod);
    *ret = pod.pod;
    ret->is_ending |= str_is(pod.phase, "Succeeded") || str_is(pod.phase, "Failed");
    for (size_t i = 0; i < pod.spec->n_containers; i++)
        note_berth(pod.spec->containers[i], ret);
    find_scheduler(pod.spec, arena, ret);
}

typedef struct PodList {
    SchedulerPod *items;
    size_t n, max;
    bool is_list;
} PodList;

static void read_pod(JsonReader *reader, Arena *arena, void *target) {
    PodList *list = target;

    if (list->n < list->max)
        scheduler_pod_decode(reader, arena, &list->items[list->n++]);
    else
        json_skip(reader, NULL);
}

static void read_pods(JsonReader *reader, Arena *arena, void *target) {
    ((PodList *)target)->is_list = true;
    json_read_array(reader, arena, read_pod, target);
}

bool scheduler_pods_read(Str text, Arena *arena, SchedulerPod *ret, size_t max, size_t *ret_n) {
    static const JsonField fields[] = {{"items", JSON_FIELD_CUSTOM, .read = read_pods}};
    PodList list = {.items = ret, .max = max};
    JsonReader reader;

    json_reader_init(&reader, text);
    JSON_READ_FIELDS(&reader, arena, fields, &list);
    json_end(&reader);
    *ret_n = list.n;
    return list.is_list && json_error(&reader) == JSON_OK;
}
