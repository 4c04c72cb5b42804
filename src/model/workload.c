/* The workload that a pod belongs to. */

#include "model/workload.h"

/* A CronJob's Jobs have names that end in the minutes since 1970: eight digits until 2160. */
#define CRON_DIGITS_MIN 8u

/* @name without @hash and the '-' before it. False: it ends otherwise, or nothing is left. */
static bool cut_hash(Str name, Str hash, Str *ret) {
    size_t behind = hash.len + 1; /* the '-' counts */

    if (str_is_empty(hash) || name.len <= behind || name.ptr[name.len - behind] != '-' ||
        !str_has_suffix(name, hash))
        return false;
    *ret = str_take(name, name.len - behind);
    return true;
}

/* The same for the number that a CronJob appends. */
static bool cut_time(Str name, Str *ret) {
    size_t n_digits = 0;

    while (n_digits < name.len && (unsigned char)(name.ptr[name.len - 1 - n_digits] - '0') < 10)
        n_digits++;
    if (n_digits < CRON_DIGITS_MIN)
        return false;
    return cut_hash(name, str_skip(name, name.len - n_digits), ret);
}

bool workload_find(const Pod *pod, WorkloadName *ret) {
    const Str *hash;

    if (str_is_empty(pod->owner_kind) || str_is_empty(pod->owner_name) ||
        str_is(pod->owner_kind, "Node"))
        return false;
    *ret = (WorkloadName){
        .namespace = pod->namespace, .kind = pod->owner_kind, .name = pod->owner_name};
    if (str_is(pod->owner_kind, "ReplicaSet")) {
        hash = labels_find(&pod->labels, STR("pod-template-hash"));
        if (hash && cut_hash(pod->owner_name, *hash, &ret->name))
            ret->kind = STR("Deployment");
    } else if (str_is(pod->owner_kind, "Job") && cut_time(pod->owner_name, &ret->name)) {
        ret->kind = STR("CronJob");
    }
    return true;
}

size_t workload_print(const WorkloadName *workload, char *out, size_t size) {
    const Str parts[] = {workload->namespace, STR("/"), workload->kind, STR("/"), workload->name};
    size_t len = 0;

    for (size_t i = 0; i < ELEMENTS_OF(parts); i++) {
        if (parts[i].len > 0 && len <= size && parts[i].len <= size - len)
            memcpy(out + len, parts[i].ptr, parts[i].len);
        len += parts[i].len;
    }
    return len;
}

Str workload_of(const Pod *pod, Arena *arena) {
    WorkloadName workload;
    size_t len;
    char *text;

    if (!workload_find(pod, &workload))
        return STR("");
    len = workload.namespace.len + workload.kind.len + workload.name.len + 2;
    text = arena_alloc(arena, len);
    return text ? str_of(text, workload_print(&workload, text, len)) : STR_NULL;
}
