/*
 * --config=/etc/berth/scheduler.yaml                           the flag names a path,
 * volumeMounts: [{name: config, mountPath: /etc/berth}]        the longest mount above it a volume,
 * volumes: [{name: config, configMap: {name: berth-scheduler}}]    the volume a ConfigMap,
 * scheduler.yaml                                               and what is left of the path its
 * key.
 */

#include "base/cleanup.h"
#include "collect/scheduler-pod-internal.h"

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

/* Images with an entry point of their own need no command: then only the flags tell. */
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

/* What is left of @path below @folder; false: it is not below it. */
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

void scheduler_pod_find_config(const Spec *spec, Arena *arena, SchedulerPod *ret) {
    const Container *container = find_container(spec, is_scheduler);

    if (!container)
        container = find_container(spec, has_scheduler_flags);
    if (container)
        find_config(spec, container, arena, ret);
}
