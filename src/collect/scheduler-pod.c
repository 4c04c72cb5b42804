#include "collect/scheduler-pod-internal.h"

static void read_words(JsonReader *reader, Arena *arena, Container *ret) {
    json_array(reader);
    while (json_element(reader)) {
        Str word = STR_NULL;

        json_string(reader, arena, &word);
        if (ret->n_words < WORDS_MAX)
            ret->words[ret->n_words++] = word;
    }
}

static void read_mount(JsonReader *reader, Arena *arena, Mount *ret) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("name")))
            json_string(reader, arena, &ret->volume);
        else if (json_key_is(reader, key, STR("mountPath")))
            json_string(reader, arena, &ret->path);
        else if (json_key_is(reader, key, STR("subPath")))
            json_string(reader, arena, &ret->sub_path);
        else
            json_skip(reader, NULL);
    }
}

static void read_mounts(JsonReader *reader, Arena *arena, Container *ret) {
    json_array(reader);
    while (json_element(reader)) {
        if (ret->n_mounts < MOUNTS_MAX)
            read_mount(reader, arena, &ret->mounts[ret->n_mounts++]);
        else
            json_skip(reader, NULL);
    }
}

/* The command comes before the arguments, whichever is written first. */
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
            read_mounts(reader, arena, ret);
        else
            json_skip(reader, NULL);
    }
    for (size_t i = 0; arguments && i < arguments->n_words && ret->n_words < WORDS_MAX; i++)
        ret->words[ret->n_words++] = arguments->words[i];
}

static void read_containers(JsonReader *reader, Arena *arena, Spec *ret) {
    json_array(reader);
    while (json_element(reader)) {
        Container *container =
            ret->n_containers < CONTAINERS_MAX ? ARENA_NEW(arena, Container) : NULL;

        if (!container) {
            json_skip(reader, NULL);
            continue;
        }
        ret->containers[ret->n_containers++] = container;
        read_container(reader, arena, container);
    }
}

/* The image starts berth; who starts it by a command still says what it is to do. */
static bool serves(const Container *container) {
    for (size_t i = 0; i < container->n_words; i++)
        if (str_is(container->words[i], "serve"))
            return true;
    return false;
}

static void read_item(JsonReader *reader, Arena *arena, Item *ret) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("key")))
            json_string(reader, arena, &ret->key);
        else if (json_key_is(reader, key, STR("path")))
            json_string(reader, arena, &ret->path);
        else
            json_skip(reader, NULL);
    }
}

/* {name: …, items: […]} of a ConfigMap. Its name may stand behind its items. */
static void read_map(JsonReader *reader, Arena *arena, Volume *ret) {
    size_t before = ret->n_items;
    Str key, name = STR_NULL;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("name"))) {
            json_string(reader, arena, &name);
        } else if (json_key_is(reader, key, STR("items"))) {
            json_array(reader);
            while (json_element(reader)) {
                if (ret->n_items < ITEMS_MAX)
                    read_item(reader, arena, &ret->items[ret->n_items++]);
                else
                    json_skip(reader, NULL);
            }
        } else {
            json_skip(reader, NULL);
        }
    }
    ret->is_map = true;
    for (size_t i = before; i < ret->n_items; i++)
        ret->items[i].map_name = name;
    if (ret->n_items == before && ret->n_whole_maps < ITEMS_MAX)
        ret->whole_maps[ret->n_whole_maps++] = name;
}

/* {configMap: …} of each. */
static void read_projections(JsonReader *reader, Arena *arena, Volume *ret) {
    Str key;

    json_array(reader);
    while (json_element(reader)) {
        json_object(reader);
        while (json_key(reader, &key)) {
            if (json_key_is(reader, key, STR("configMap")))
                read_map(reader, arena, ret);
            else
                json_skip(reader, NULL);
        }
    }
}

static void read_volume(JsonReader *reader, Arena *arena, Volume *ret) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("name"))) {
            json_string(reader, arena, &ret->name);
        } else if (json_key_is(reader, key, STR("configMap"))) {
            read_map(reader, arena, ret);
        } else if (json_key_is(reader, key, STR("hostPath"))) {
            json_string_member(reader, arena, STR("path"), &ret->host_path);
        } else if (json_key_is(reader, key, STR("projected"))) {
            json_object(reader);
            while (json_key(reader, &key)) {
                if (json_key_is(reader, key, STR("sources")))
                    read_projections(reader, arena, ret);
                else
                    json_skip(reader, NULL);
            }
        } else {
            json_skip(reader, NULL);
        }
    }
}

static void read_volumes(JsonReader *reader, Arena *arena, Spec *ret) {
    json_array(reader);
    while (json_element(reader)) {
        Volume *volume = ret->n_volumes < VOLUMES_MAX ? ARENA_NEW(arena, Volume) : NULL;

        if (!volume) {
            json_skip(reader, NULL);
            continue;
        }
        ret->volumes[ret->n_volumes++] = volume;
        read_volume(reader, arena, volume);
    }
}

static void read_spec(JsonReader *reader, Arena *arena, Spec *spec, SchedulerPod *ret) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("containers")) ||
            json_key_is(reader, key, STR("initContainers"))) /* sidecars are some of these */
            read_containers(reader, arena, spec);
        else if (json_key_is(reader, key, STR("volumes")))
            read_volumes(reader, arena, spec);
        else if (json_key_is(reader, key, STR("nodeName")))
            json_string(reader, arena, &ret->pod.node);
        else if (json_key_is(reader, key, STR("schedulerName")))
            json_string(reader, arena, &ret->pod.scheduler_name);
        else if (json_key_is(reader, key, STR("serviceAccountName")))
            json_string(reader, arena, &ret->service_account);
        else
            json_skip(reader, NULL);
    }
}

static void read_annotations(JsonReader *reader, SchedulerPod *ret) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        ret->pod.is_static |= json_key_is(reader, key, STR("kubernetes.io/config.mirror"));
        json_skip(reader, NULL);
    }
}

static void read_metadata(JsonReader *reader, Arena *arena, SchedulerPod *ret) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("name"))) {
            json_string(reader, arena, &ret->pod.name);
        } else if (json_key_is(reader, key, STR("namespace"))) {
            json_string(reader, arena, &ret->pod.namespace);
        } else if (json_key_is(reader, key, STR("annotations"))) {
            read_annotations(reader, ret);
        } else if (json_key_is(reader, key, STR("deletionTimestamp"))) {
            ret->is_ending = true;
            json_skip(reader, NULL);
        } else {
            json_skip(reader, NULL);
        }
    }
}

static void read_condition(JsonReader *reader, Arena *arena, SchedulerPod *ret) {
    Str key, type = STR_NULL, status = STR_NULL;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("type")))
            json_string(reader, arena, &type);
        else if (json_key_is(reader, key, STR("status")))
            json_string(reader, arena, &status);
        else
            json_skip(reader, NULL);
    }
    if (str_is(type, "Ready"))
        ret->pod.is_ready = str_is(status, "True");
}

static void read_status(JsonReader *reader, Arena *arena, SchedulerPod *ret) {
    Str key, phase = STR_NULL;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("phase"))) {
            json_string(reader, arena, &phase);
        } else if (json_key_is(reader, key, STR("conditions"))) {
            json_array(reader);
            while (json_element(reader))
                read_condition(reader, arena, ret);
        } else {
            json_skip(reader, NULL);
        }
    }
    ret->is_ending |= str_is(phase, "Succeeded") || str_is(phase, "Failed");
}

void scheduler_pod_decode(JsonReader *reader, Arena *arena, SchedulerPod *ret) {
    Spec *spec = ARENA_NEW(arena, Spec);
    Str key;

    *ret = (SchedulerPod){0};
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("metadata")))
            read_metadata(reader, arena, ret);
        else if (spec && json_key_is(reader, key, STR("spec")))
            read_spec(reader, arena, spec, ret);
        else if (json_key_is(reader, key, STR("status")))
            read_status(reader, arena, ret);
        else
            json_skip(reader, NULL);
    }
    if (!spec)
        return;
    for (size_t i = 0; i < spec->n_containers; i++)
        ret->has_berth |= serves(spec->containers[i]);
    scheduler_pod_find_config(spec, arena, ret);
}

bool scheduler_pods_read(Str text, Arena *arena, SchedulerPod *ret, size_t max, size_t *ret_n) {
    JsonReader reader;
    bool is_list = false;
    Str key;

    *ret_n = 0;
    json_reader_init(&reader, text);
    json_object(&reader);
    while (json_key(&reader, &key)) {
        if (!json_key_is(&reader, key, STR("items"))) {
            json_skip(&reader, NULL);
            continue;
        }
        is_list = true;
        json_array(&reader);
        while (json_element(&reader)) {
            if (*ret_n < max)
                scheduler_pod_decode(&reader, arena, &ret[(*ret_n)++]);
            else
                json_skip(&reader, NULL);
        }
    }
    json_end(&reader);
    return is_list && json_error(&reader) == JSON_OK;
}
