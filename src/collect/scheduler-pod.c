/*
 * Reads a pod, and finds the configuration of its kube-scheduler:
 *
 * --config=/etc/berth/scheduler.yaml                           the flag names a path,
 * volumeMounts: [{name: config, mountPath: /etc/berth}]        the longest mount above it a volume,
 * volumes: [{name: config, configMap: {name: berth-scheduler}}]    the volume a ConfigMap,
 * scheduler.yaml                                               the rest of the path its key.
 */

#include "collect/scheduler-pod.h"

#define CONTAINERS_MAX 32u
#define WORDS_MAX 256u /* of a container's command; of its arguments */
#define MOUNTS_MAX 64u
#define VOLUMES_MAX 64u
#define ITEMS_MAX 64u /* of a volume's keys */

typedef struct Mount {
    Str volume, path, sub_path;
} Mount;

typedef struct MapKey {
    Str key, path;
} MapKey;

typedef struct MapSource { /* a ConfigMap as files */
    bool is_given;
    Str name;
    MapKey *items; /* none: every key is a file */
    size_t n_items;
} MapSource;

typedef struct Volume {
    Str name;
    Str host_path; /* empty: it is not the node's */
    MapSource map, *projected;
    size_t n_projected;
} Volume;

typedef struct Container {
    Str *command, *arguments;
    size_t n_command, n_arguments;
    Mount *mounts;
    size_t n_mounts;
} Container;

/* A pod while it is read. */
typedef struct PodReader {
    SchedulerPod pod;
    Str phase;
    Container *containers, *sidecars;
    size_t n_containers, n_sidecars;
    Volume *volumes;
    size_t n_volumes;
} PodReader;

/* Word @i of the command and its arguments; empty behind the last. */
static Str word_at(const Container *container, size_t i) {
    if (i < container->n_command)
        return container->command[i];
    i -= container->n_command;
    return i < container->n_arguments ? container->arguments[i] : STR_NULL;
}

static size_t count_words(const Container *container) {
    return container->n_command + container->n_arguments;
}

/* The value of @flag, as --flag=VALUE or --flag VALUE; false: it is not given. */
static bool find_flag(const Container *container, Str flag, Str *ret) {
    for (size_t i = 0; i < count_words(container); i++) {
        Str word = word_at(container, i);

        if (!str_has_prefix(word, flag))
            continue;
        word = str_skip(word, flag.len);
        if (!str_has_prefix(word, STR("=")) && (word.len > 0 || i + 1 == count_words(container)))
            continue;
        *ret = word.len > 0 ? str_skip(word, 1) : word_at(container, i + 1);
        return true;
    }
    return false;
}

static bool is_scheduler(const Container *container) {
    return str_has_prefix(str_file_name(word_at(container, 0)), STR("kube-scheduler"));
}

/* Images with an entry point of their own need no command: then only the flags identify it. */
static bool has_scheduler_flags(const Container *container) {
    Str value;

    return find_flag(container, STR("--config"), &value) ||
           find_flag(container, STR("--policy-config-file"), &value) ||
           find_flag(container, STR("--policy-configmap"), &value);
}

static const Container *find_container(
    const PodReader *pod, bool (*is_right)(const Container *container)) {
    for (size_t i = 0; i < pod->n_containers; i++)
        if (is_right(&pod->containers[i]))
            return &pod->containers[i];
    for (size_t i = 0; i < pod->n_sidecars; i++)
        if (is_right(&pod->sidecars[i]))
            return &pod->sidecars[i];
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

static const Volume *find_volume(const PodReader *pod, Str name) {
    for (size_t i = 0; i < pod->n_volumes; i++)
        if (str_eq(pod->volumes[i].name, name))
            return &pod->volumes[i];
    return NULL;
}

static Str join(Str folder, Str rest, Arena *arena) {
    while (folder.len > 1 && folder.ptr[folder.len - 1] == '/')
        folder.len--;
    if (str_is_empty(folder) || str_is_empty(rest))
        return str_is_empty(folder) ? rest : folder;
    return arena_printf(arena, "%.*s/%.*s", STR_FMT(folder), STR_FMT(rest));
}

/* Finds the ConfigMap and key of the file @path of @volume: an item with this path, else the first
 * ConfigMap without items, whose keys all are files. */
static bool find_key(const Volume *volume, Str path, SchedulerPod *ret) {
    bool is_found = false;

    for (size_t i = 0; i <= volume->n_projected; i++) {
        const MapSource *map = i == 0 ? &volume->map : &volume->projected[i - 1];

        for (size_t k = 0; k < map->n_items; k++)
            if (str_eq(map->items[k].path, path)) {
                ret->map_name = map->name;
                ret->map_key = map->items[k].key;
                return true;
            }
        if (is_found || !map->is_given || map->n_items > 0 || str_find(path, '/') != SIZE_MAX)
            continue;
        ret->map_name = map->name;
        ret->map_key = path;
        is_found = true;
    }
    return is_found;
}

static void find_file(
    const PodReader *pod, const Container *container, Str path, Arena *arena, SchedulerPod *ret) {
    Str rest = STR_NULL;
    const Mount *mount = find_mount(container, path, &rest);
    const Volume *volume = mount ? find_volume(pod, mount->volume) : NULL;

    ret->origin = CONFIG_ELSEWHERE;
    ret->path = path;
    if (!volume)
        return;
    rest = join(mount->sub_path, rest, arena);
    if (!str_is_empty(volume->host_path)) {
        ret->origin = CONFIG_NODE;
        ret->path = join(volume->host_path, rest, arena);
    } else if (find_key(volume, rest, ret)) {
        ret->origin = CONFIG_MAP;
        ret->map_namespace = ret->pod.namespace;
    }
}

static void find_config(const PodReader *pod, Arena *arena, SchedulerPod *ret) {
    const Container *container = find_container(pod, is_scheduler);
    Str value;

    if (!container)
        container = find_container(pod, has_scheduler_flags);
    if (!container)
        return;
    if (find_flag(container, STR("--config"), &value) ||
        find_flag(container, STR("--policy-config-file"), &value)) {
        find_file(pod, container, value, arena, ret);
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

/* Whether it runs berth: the image's own command, or another one, has the argument serve. */
static bool serves(const Container *container) {
    return str_is_one_of(STR("serve"), container->command, container->n_command) ||
           str_is_one_of(STR("serve"), container->arguments, container->n_arguments);
}

static const JsonField mount_fields[] = {
    JSON_MEMBER("name", TEXT, Mount, volume),
    JSON_MEMBER("mountPath", TEXT, Mount, path),
    JSON_MEMBER("subPath", TEXT, Mount, sub_path),
};

static const JsonField container_fields[] = {
    JSON_LIST("command", Container, command, n_command, WORDS_MAX, json_read_text),
    JSON_LIST("args", Container, arguments, n_arguments, WORDS_MAX, json_read_text),
    JSON_LIST_OF("volumeMounts", Container, mounts, n_mounts, MOUNTS_MAX, mount_fields),
};

static const JsonField item_fields[] = {
    JSON_MEMBER("key", TEXT, MapKey, key),
    JSON_MEMBER("path", TEXT, MapKey, path),
};

static void read_map(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("name", TEXT, MapSource, name),
        JSON_LIST_OF("items", MapSource, items, n_items, ITEMS_MAX, item_fields),
    };

    ((MapSource *)target)->is_given = true;
    JSON_READ_FIELDS(reader, arena, fields, target);
}

static const JsonField projection_fields[] = {{"configMap", JSON_FIELD_CUSTOM, .read = read_map}};

static const JsonField volume_fields[] = {
    JSON_MEMBER("name", TEXT, Volume, name),
    JSON_CUSTOM("configMap", Volume, map, read_map),
    JSON_MEMBER("hostPath.path", TEXT, Volume, host_path),
    JSON_LIST_OF("projected.sources", Volume, projected, n_projected, ITEMS_MAX, projection_fields),
};

static void read_condition(JsonReader *reader, Arena *arena, void *target) {
    typedef struct Condition {
        Str type, status;
    } Condition;
    static const JsonField fields[] = {
        JSON_MEMBER("type", TEXT, Condition, type),
        JSON_MEMBER("status", TEXT, Condition, status),
    };
    Condition condition = {0};

    JSON_READ_FIELDS(reader, arena, fields, &condition);
    if (str_is(condition.type, "Ready"))
        *(bool *)target = str_is(condition.status, "True");
}

void scheduler_pod_decode(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("metadata.name", TEXT, PodReader, pod.pod.name),
        JSON_MEMBER("metadata.namespace", TEXT, PodReader, pod.pod.namespace),
        JSON_CUSTOM("metadata.annotations.kubernetes.io/config.mirror", PodReader,
            pod.pod.is_static, json_read_presence),
        JSON_CUSTOM("metadata.deletionTimestamp", PodReader, pod.is_ending, json_read_presence),
        JSON_LIST_OF("spec.containers", PodReader, containers, n_containers, CONTAINERS_MAX,
            container_fields),
        JSON_LIST_OF("spec.initContainers", PodReader, sidecars, n_sidecars, CONTAINERS_MAX,
            container_fields),
        JSON_LIST_OF("spec.volumes", PodReader, volumes, n_volumes, VOLUMES_MAX, volume_fields),
        JSON_MEMBER("spec.nodeName", TEXT, PodReader, pod.pod.node),
        JSON_MEMBER("spec.schedulerName", TEXT, PodReader, pod.pod.scheduler_name),
        JSON_MEMBER("spec.serviceAccountName", TEXT, PodReader, pod.service_account),
        JSON_MEMBER("status.phase", TEXT, PodReader, phase),
        JSON_MEMBER(
            "status.conditions", ARRAY, PodReader, pod.pod.is_ready, .read = read_condition),
    };
    SchedulerPod *ret = target;
    PodReader pod = {0};

    JSON_READ_FIELDS(reader, arena, fields, &pod);
    *ret = pod.pod;
    ret->is_ending |= str_is(pod.phase, "Succeeded") || str_is(pod.phase, "Failed");
    ret->has_berth = find_container(&pod, serves);
    find_config(&pod, arena, ret);
}

typedef struct PodsReader {
    SchedulerPod *items;
    size_t n;
    bool is_list;
} PodsReader;

static void read_pods(JsonReader *reader, Arena *arena, void *target) {
    PodsReader *list = target;

    list->is_list = true;
    JSON_READ_ITEMS(reader, arena, FACTS_PODS_MAX, scheduler_pod_decode, list->items, &list->n);
}

bool scheduler_pods_read(Str text, Arena *arena, SchedulerPod **ret, size_t *ret_n) {
    static const JsonField fields[] = {{"items", JSON_FIELD_CUSTOM, .read = read_pods}};
    PodsReader list = {0};
    bool is_read = JSON_READ_DOCUMENT(text, arena, fields, &list);

    *ret = list.items;
    *ret_n = list.n;
    return is_read && list.is_list;
}
