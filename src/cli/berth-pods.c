/* Reads a list of pods: which of them are berths, and where their pages are. */

#include "cli/berth-pods.h"

#include <inttypes.h>
#include <stdlib.h>

#include "json/fields.h"

#define CONTAINER "berth"
#define PORT "pages"         /* of the container */
#define TOKEN_VOLUME "pages" /* with the Secret of --pages-token-file */
#define VIEWER_VOLUME "viewer"

typedef struct Fields {
    BerthPod pod;
    Str phase, deleted;
} Fields;

typedef struct Container {
    Str name, scheme;
    int64_t port;
} Container;

static void read_port(JsonReader *reader, Arena *arena, void *target) {
    typedef struct Port {
        Str name;
        int64_t number;
    } Port;
    static const JsonField fields[] = {
        JSON_MEMBER("name", TEXT, Port, name),
        JSON_MEMBER("containerPort", INT, Port, number),
    };
    Port port = {0};

    JSON_READ_FIELDS(reader, arena, fields, &port);
    if (str_is(port.name, PORT))
        *(int64_t *)target = port.number;
}

static void read_container(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("name", TEXT, Container, name),
        JSON_MEMBER("ports", ARRAY, Container, port, .read = read_port),
        JSON_MEMBER("livenessProbe.httpGet.scheme", TEXT, Container, scheme),
    };
    Container container = {0};
    BerthPod *pod = target;

    JSON_READ_FIELDS(reader, arena, fields, &container);
    if (!str_is(container.name, CONTAINER))
        return;
    pod->port = container.port;
    pod->is_tls = str_is(container.scheme, "HTTPS");
}

static void read_volume(JsonReader *reader, Arena *arena, void *target) {
    typedef struct Volume {
        Str name, secret;
    } Volume;
    static const JsonField fields[] = {
        JSON_MEMBER("name", TEXT, Volume, name),
        JSON_MEMBER("secret.secretName", TEXT, Volume, secret),
    };
    BerthPod *pod = target;
    Volume volume = {0};

    JSON_READ_FIELDS(reader, arena, fields, &volume);
    if (str_is(volume.name, TOKEN_VOLUME))
        pod->token_secret = volume.secret;
    else if (str_is(volume.name, VIEWER_VOLUME))
        pod->viewer_secret = volume.secret;
}

static void read_pod(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("metadata.name", TEXT, Fields, pod.name),
        JSON_MEMBER("metadata.namespace", TEXT, Fields, pod.namespace),
        JSON_MEMBER("metadata.deletionTimestamp", TEXT, Fields, deleted),
        JSON_MEMBER("metadata.labels.app.kubernetes.io/instance", TEXT, Fields, pod.instance),
        JSON_MEMBER("spec.containers", ARRAY, Fields, pod, .read = read_container),
        JSON_MEMBER("spec.volumes", ARRAY, Fields, pod, .read = read_volume),
        JSON_MEMBER("status.phase", TEXT, Fields, phase),
    };
    BerthPods *pods = target;
    Fields read = {0};

    JSON_READ_FIELDS(reader, arena, fields, &read);
    if (read.pod.port <= 0 || read.pod.port > UINT16_MAX)
        return; /* kube-scheduler's own pod has the label, too */
    if (!str_is(read.phase, "Running") || !str_is_empty(read.deleted) || pods->n == BERTH_PODS_MAX)
        pods->n_others++;
    else
        pods->items[pods->n++] = read.pod;
}

static int compare(const void *a, const void *b) {
    const BerthPod *x = a, *y = b;
    int order = str_cmp(x->namespace, y->namespace);

    return order != 0 ? order : str_cmp(x->name, y->name);
}

bool berth_pods_read(Str list, Arena *arena, BerthPods *ret) {
    static const JsonField fields[] = {{"items", JSON_FIELD_ARRAY, .read = read_pod}};
    bool is_read;

    *ret = (BerthPods){0};
    is_read = JSON_READ_DOCUMENT(list, arena, fields, ret);
    qsort(ret->items, ret->n, sizeof(ret->items[0]), compare);
    return is_read;
}

Str berth_pod_proxy_path(const BerthPod *pod, Arena *arena) {
    return arena_printf(arena, "/api/v1/namespaces/%.*s/pods/%s:%.*s:%" PRId64 "/proxy",
        STR_FMT(pod->namespace), pod->is_tls ? "https" : "http", STR_FMT(pod->name), pod->port);
}
