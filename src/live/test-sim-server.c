/* The API server: its requests, its log, and its watches. */

#include "live/test-sim-server.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/test-sim-check.h"
#include "live/test-sim-net.h"
#include "live/test-sim.h"

#define FIRST_VERSION 1000u
#define WATCHES_MAX 64u
#define TEXT_MAX 1024u
#define BOOKMARK_PAUSE (60 * SIM_SEC)
#define LAG_MAX (30 * SIM_SEC) /* of a watch, behind the log */

typedef struct Watch {
    uint64_t call; /* 0: unused */
    SimKind kind;
    size_t next;     /* the next change to send */
    bool is_listing; /* the initial list is not complete yet */
    bool is_silent;  /* the connection is broken, and neither side knows */
} Watch;

static struct {
    bool exists;
    char holder[256];
    int duration, transitions;
    size_t index; /* in the log: its version */
} lease;

SimServer sim_server;
static Watch watches[WATCHES_MAX];

void sim_server_begin(void) {
    SimChange *log = sim_server.log;
    size_t n_room = sim_server.n_room;

    sim_server = (SimServer){.can_stream = sim_chance(75), .log = log, .n_room = n_room};
    memset(watches, 0, sizeof(watches));
    memset(&lease, 0, sizeof(lease));
}

/* The number behind @prefix in @text; UINT32_MAX: there is none. */
static unsigned number_in(const char *text, const char *prefix) {
    const char *at = strstr(text, prefix);

    return at ? (unsigned)strtoul(at + strlen(prefix), NULL, 10) : UINT32_MAX;
}

/* --- JSON ---------------------------------------------------------------------------------- */

static uint64_t version_of(size_t index) {
    return FIRST_VERSION + index;
}

static char *text_of(void) {
    return sim_allocate(TEXT_MAX);
}

Str sim_pod_json(const SimObject *pod, size_t index) {
    char *text = text_of(), node[32] = "";

    if (pod->node != SIM_NO_NODE)
        (void)snprintf(node, sizeof(node), "\"nodeName\":\"n%u\",", pod->node);
    (void)snprintf(text, TEXT_MAX,
        "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%u\",\"namespace\":\"shop\",\"uid\":\"u-%u\","
        "\"resourceVersion\":\"%" PRIu64 "\",\"annotations\":{\"edit\":\"%u\"}},\"spec\":{%s"
        "\"schedulerName\":\"default-scheduler\",\"containers\":[{\"name\":\"c\",\"resources\":{"
        "\"requests\":{\"cpu\":\"%um\"}}}]},\"status\":{\"phase\":\"%s\"}}",
        pod->name, pod->uid, version_of(index), pod->n_edits, node, pod->cpu,
        pod->has_ended ? "Succeeded" : "Running");
    return str_from_c(text);
}

static Str node_json(const SimObject *node, size_t index) {
    char *text = text_of();

    (void)snprintf(text, TEXT_MAX,
        "{\"kind\":\"Node\",\"metadata\":{\"name\":\"n%u\",\"uid\":\"u-%u\",\"resourceVersion\":"
        "\"%" PRIu64 "\",\"annotations\":{\"edit\":\"%u\"}},\"status\":{\"allocatable\":{\"cpu\":"
        "\"%um\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
        node->name, node->uid, version_of(index), node->n_edits, node->cpu);
    return str_from_c(text);
}

static Str object_json(SimKind kind, const SimObject *object, size_t index) {
    return kind == SIM_NODE ? node_json(object, index) : sim_pod_json(object, index);
}

static Str status_json(unsigned code, const char *reason) {
    char *text = text_of();

    (void)snprintf(text, TEXT_MAX,
        "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":%u,\"reason\":\"%s\",\"message\":"
        "\"simulated\"}",
        code, reason);
    return str_from_c(text);
}

static Str lease_json(void) {
    char *text = text_of();

    (void)snprintf(text, TEXT_MAX,
        "{\"metadata\":{\"name\":\"berth\",\"namespace\":\"kube-system\",\"resourceVersion\":"
        "\"%" PRIu64 "\"},\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":%d,"
        "\"leaseTransitions\":%d}}",
        version_of(lease.index), lease.holder, lease.duration, lease.transitions);
    return str_from_c(text);
}

/* --- watches ------------------------------------------------------------------------------- */

static Str event_json(WatchEventType type, Str object) {
    static const char *const names[] = {
        [EVENT_ADDED] = "ADDED",
        [EVENT_MODIFIED] = "MODIFIED",
        [EVENT_DELETED] = "DELETED",
        [EVENT_BOOKMARK] = "BOOKMARK",
        [EVENT_ERROR] = "ERROR",
    };
    char *text = text_of();

    (void)snprintf(
        text, TEXT_MAX, "{\"type\":\"%s\",\"object\":%.*s}\n", names[type], STR_FMT(object));
    return str_from_c(text);
}

static Str bookmark_json(size_t index, bool ends_list) {
    char *text = text_of();

    (void)snprintf(text, TEXT_MAX,
        "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%" PRIu64
        "\"%s}}}\n",
        version_of(index) - 1,
        ends_list ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
    return str_from_c(text);
}

static Watch *find_watch(uint64_t call) {
    for (size_t i = 0; i < WATCHES_MAX; i++)
        if (watches[i].call == call)
            return &watches[i];
    return NULL;
}

static void close_watch(Watch *watch, CallOutcome outcome) {
    sim_net_done(watch->call, outcome);
    *watch = (Watch){0};
}

static void send_change(const Watch *watch, size_t index, SimNews news) {
    const SimChange *change = &sim_server.log[index];
    Str text = event_json(change->type, object_json(change->kind, &change->object, index));

    sim_net_data(watch->call, text, news);
    if (sim_chance(sim.fault_percent / 4)) /* a duplicate */
        sim_net_data(watch->call, text, news);
}

/* Sends all new changes to a watch. @news goes with each; SIM_NEWS_SEEN gets its index. */
static void send_changes(Watch *watch, SimNews news) {
    for (; watch->next < sim_server.n_log; watch->next++) {
        if (sim_server.log[watch->next].kind != watch->kind)
            continue;
        if (news.type == SIM_NEWS_SEEN)
            news.index = watch->next + 1;
        send_change(watch, watch->next, news);
    }
}

static void pump(void *context, uint64_t call) {
    Watch *watch = call ? find_watch(call) : NULL;

    if (watch && !watch->is_silent && !watch->is_listing)
        send_changes(watch, (SimNews){.type = SIM_NEWS_SEEN, .kind = watch->kind});
}

static void send_bookmark(void *context, uint64_t call) {
    Watch *watch = find_watch(call);

    if (!watch || !sim_net_is_open(call)) {
        if (watch)
            *watch = (Watch){0};
        return;
    }
    sim_after(BOOKMARK_PAUSE, send_bookmark, NULL, call);
    pump(NULL, call);
    if (!watch->is_silent && !watch->is_listing)
        sim_net_data(call, bookmark_json(watch->next, /* ends_list= */ false),
            (SimNews){SIM_NEWS_SEEN, watch->kind, watch->next});
}

static void end_watch(void *context, uint64_t call) {
    Watch *watch = find_watch(call);

    if (watch)
        close_watch(watch, CALL_DONE);
}

static void break_watch(void *context, uint64_t call) {
    Watch *watch = find_watch(call);

    if (watch)
        close_watch(watch, CALL_BROKEN);
}

void sim_cut_watches(size_t percent) {
    for (size_t i = 0; i < WATCHES_MAX; i++) {
        Watch *watch = &watches[i];

        if (watch->call == 0 || !sim_chance(percent))
            continue;
        switch (sim_pick(0, 3)) {
        case 0:
            close_watch(watch, CALL_DONE);
            break;
        case 1: /* in the middle of an event */
            sim_net_data(watch->call, STR("{\"type\":\"MODIFIED\",\"obj"), (SimNews){0});
            close_watch(watch, CALL_BROKEN);
            break;
        case 2: /* until TCP's keepalive ends it */
            watch->is_silent = true;
            sim_after(sim_pick(1, 39) * SIM_SEC, break_watch, NULL, watch->call);
            break;
        default:
            sim_net_data(watch->call,
                event_json(EVENT_ERROR, status_json(sim_chance(50) ? 410 : 500, "Expired")),
                (SimNews){0});
            close_watch(watch, CALL_DONE);
            break;
        }
    }
}

/* Returns an unused entry for a new watch. Entries of closed calls are unused. */
static Watch *add_watch(uint64_t call, SimKind kind, size_t next) {
    for (size_t i = 0; i < WATCHES_MAX; i++)
        if (watches[i].call == 0 || !sim_net_is_open(watches[i].call)) {
            watches[i] = (Watch){.call = call, .kind = kind, .next = next};
            sim_after(BOOKMARK_PAUSE, send_bookmark, NULL, call);
            return &watches[i];
        }
    abort();
}

/* --- the log --------------------------------------------------------------------------------- */

static size_t commit(SimKind kind, WatchEventType type, const SimObject *object) {
    size_t index = sim_server.n_log++;

    if (index == sim_server.n_room) {
        sim_server.n_room = sim_server.n_room ? sim_server.n_room * 2 : 256;
        sim_server.log = realloc(sim_server.log, sim_server.n_room * sizeof(*sim_server.log));
        if (!sim_server.log)
            abort();
    }
    sim_server.log[index] =
        (SimChange){.kind = kind, .type = type, .object = object ? *object : (SimObject){0}};
    for (size_t i = 0; i < WATCHES_MAX; i++)
        if (watches[i].call != 0 && watches[i].kind == kind)
            sim_after(sim_latency(LAG_MAX), pump, NULL, watches[i].call);
    return index;
}

static SimObject *objects_of(SimKind kind, size_t *ret_n) {
    *ret_n = kind == SIM_NODE ? SIM_NODES_MAX : SIM_PODS_MAX;
    return kind == SIM_NODE ? sim_server.nodes : sim_server.pods;
}

static SimObject *object_of(SimKind kind, unsigned name) {
    size_t n;

    return &objects_of(kind, &n)[name];
}

static void add(SimKind kind, const SimObject *from) {
    SimObject *object = object_of(kind, from->name);

    *object = *from;
    object->exists = true;
    object->uid = sim_server.n_uids++;
    if (sim_server.n_uids == SIM_UIDS_MAX)
        abort();
    SIM_TRACE("world: %c%u made, uid %u, cpu %um%s", kind == SIM_NODE ? 'n' : 'p', object->name,
        object->uid, object->cpu, kind == SIM_POD && object->node != SIM_NO_NODE ? ", bound" : "");
    (void)commit(kind, EVENT_ADDED, object);
}

void sim_add_node(unsigned name, unsigned cpu) {
    add(SIM_NODE, &(SimObject){.name = name, .cpu = cpu});
}

void sim_add_pod(unsigned name, unsigned cpu, unsigned node) {
    add(SIM_POD, &(SimObject){.name = name, .cpu = cpu, .node = node});
}

void sim_remove(SimKind kind, unsigned name) {
    SimObject *object = object_of(kind, name);

    SIM_TRACE("world: %c%u deleted, uid %u", kind == SIM_NODE ? 'n' : 'p', name, object->uid);
    object->exists = false;
    (void)commit(kind, EVENT_DELETED, object);
}

void sim_edit(SimKind kind, unsigned name) {
    SimObject *object = object_of(kind, name);

    object->n_edits++;
    (void)commit(kind, EVENT_MODIFIED, object);
}

void sim_end_pod(unsigned name) {
    SimObject *pod = object_of(SIM_POD, name);

    SIM_TRACE("world: p%u has ended, uid %u", name, pod->uid);
    pod->has_ended = true;
    (void)commit(SIM_POD, EVENT_MODIFIED, pod);
}

void sim_forget_changes(void) {
    SIM_TRACE("server: changes before %zu are forgotten", sim_server.n_log);
    sim_server.n_forgotten = sim_server.n_log;
}

static bool is_on(const SimObject *pod, unsigned node) {
    return pod->exists && !pod->has_ended && pod->node == node;
}

unsigned sim_cpu_used(unsigned node) {
    unsigned cpu = 0;

    for (size_t i = 0; i < SIM_PODS_MAX; i++)
        if (is_on(&sim_server.pods[i], node))
            cpu += sim_server.pods[i].cpu;
    return cpu;
}

unsigned sim_pods_on(unsigned node) {
    unsigned n = 0;

    for (size_t i = 0; i < SIM_PODS_MAX; i++)
        n += is_on(&sim_server.pods[i], node);
    return n;
}

/* --- lists ----------------------------------------------------------------------------------- */

/* The objects before change @index. */
static void state_at(SimKind kind, size_t index, SimObject *ret, size_t *ret_index, size_t n) {
    memset(ret, 0, n * sizeof(*ret));
    for (size_t i = 0; i < index; i++) {
        const SimChange *change = &sim_server.log[i];

        if (change->kind != kind)
            continue;
        ret[change->object.name] = change->object;
        ret_index[change->object.name] = i;
    }
}

/* Sends the changes since a streamed list began, and the bookmark that ends it. */
static void end_stream(void *context, uint64_t call) {
    Watch *watch = find_watch(call);

    if (!watch || watch->is_silent)
        return;
    watch->is_listing = false;
    send_changes(watch, (SimNews){0});
    sim_net_data(call, bookmark_json(watch->next, /* ends_list= */ true),
        (SimNews){SIM_NEWS_SEEN, watch->kind, watch->next});
}

static void stream_list(uint64_t call, SimKind kind) {
    size_t n, index[SIM_PODS_MAX];
    SimObject state[SIM_PODS_MAX];
    Watch *watch = add_watch(call, kind, sim_server.n_log);

    watch->is_listing = true;
    (void)objects_of(kind, &n);
    state_at(kind, sim_server.n_log, state, index, n);
    sim_net_head(call, 200);
    for (size_t i = 0; i < n; i++)
        if (state[i].exists)
            sim_net_data(call, event_json(EVENT_ADDED, object_json(kind, &state[i], index[i])),
                (SimNews){0});
    sim_after(sim_chance(30) ? sim_pick(0, 3 * SIM_SEC) : 0, end_stream, NULL, call);
}

/* A token is "INDEX-FIRST": the list is as before this change, and goes on with this name. */
static void answer_page(uint64_t call, SimKind kind, const char *token) {
    size_t n, index[SIM_PODS_MAX], at = sim_server.n_log, first = 0, last, used;
    SimObject state[SIM_PODS_MAX];
    size_t room = SIM_PODS_MAX * TEXT_MAX;
    char *text = sim_allocate(room), more[32] = "";
    bool is_first = true;

    (void)objects_of(kind, &n);
    if (token) {
        at = number_in(token, "");
        first = number_in(token, "-");
    }
    if (at < sim_server.n_forgotten) {
        sim_net_answer(call, 410, status_json(410, "Expired"), (SimNews){0});
        return;
    }
    last = first + (size_t)sim_pick(1, (int64_t)n);
    if (last < n)
        (void)snprintf(more, sizeof(more), "%zu-%zu", at, last);
    else
        last = n;
    state_at(kind, at, state, index, n);
    used = (size_t)snprintf(text, room,
        "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"%" PRIu64
        "\",\"continue\":\"%s\"},\"items\":[",
        version_of(at) - 1, more);
    for (size_t i = first; i < last; i++) {
        if (!state[i].exists)
            continue;
        used += (size_t)snprintf(text + used, room - used, "%s%.*s", is_first ? "" : ",",
            STR_FMT(object_json(kind, &state[i], index[i])));
        is_first = false;
    }
    (void)snprintf(text + used, room - used, "]}");
    sim_net_answer(
        call, 200, str_from_c(text), last < n ? (SimNews){0} : (SimNews){SIM_NEWS_SEEN, kind, at});
}

static void start_watch(uint64_t call, SimKind kind, const char *path) {
    const char *version = strstr(path, "&resourceVersion=");
    size_t next = version ? strtoul(version + strlen("&resourceVersion="), NULL, 10) + 1 : 0;

    if (next < FIRST_VERSION || next - FIRST_VERSION < sim_server.n_forgotten) {
        if (sim_chance(50)) {
            sim_net_answer(call, 410, status_json(410, "Expired"), (SimNews){0});
            return;
        }
        sim_net_answer(
            call, 200, event_json(EVENT_ERROR, status_json(410, "Expired")), (SimNews){0});
        return;
    }
    (void)add_watch(call, kind, next - FIRST_VERSION);
    sim_net_head(call, 200);
    sim_after(sim_latency(LAG_MAX), pump, NULL, call);
}

static void handle_collection(const SimRequest *request, SimKind kind) {
    const char *token = strstr(request->path, "&continue=");

    if (strstr(request->path, "sendInitialEvents")) {
        if (!sim_server.can_stream) {
            sim_net_answer(request->call, 422, status_json(422, "Invalid"), (SimNews){0});
            return;
        }
        stream_list(request->call, kind);
    } else if (strstr(request->path, "watch=1")) {
        start_watch(request->call, kind, request->path);
    } else {
        answer_page(request->call, kind, token ? token + strlen("&continue=") : NULL);
        return;
    }
    sim_after(
        number_in(request->path, "timeoutSeconds=") * SIM_SEC, end_watch, NULL, request->call);
}

/* --- pods and Bindings ------------------------------------------------------------------------ */

static void bind_pod(const SimRequest *request, SimObject *pod) {
    unsigned uid = number_in(request->body, "\"uid\":\"u-");
    unsigned node = number_in(request->body, "\"kind\":\"Node\",\"name\":\"n");
    size_t index;

    if (node >= SIM_NODES_MAX) {
        sim_fail("a Binding is what the API server reads", "%s", request->body);
        return;
    }
    if (uid != pod->uid || pod->node != SIM_NO_NODE || pod->has_ended) {
        SIM_TRACE("server: conflict: p%u uid %u to n%u, is uid %u on n%u", pod->name, uid, node,
            pod->uid, pod->node);
        sim_net_answer(request->call, 409, status_json(409, "Conflict"), (SimNews){0});
        return;
    }
    pod->node = node;
    index = commit(SIM_POD, EVENT_MODIFIED, pod);
    SIM_TRACE("server: bound p%u uid %u to n%u for berth %u", pod->name, uid, node, request->berth);
    sim_check_binding(pod);
    sim_net_answer(request->call, 201, STR("{\"kind\":\"Status\",\"status\":\"Success\"}"),
        (SimNews){SIM_NEWS_BOUND, SIM_POD, index});
}

void sim_bind(SimObject *pod, unsigned node) {
    if (!pod->exists || pod->node != SIM_NO_NODE || pod->has_ended)
        return;
    pod->node = node;
    (void)commit(SIM_POD, EVENT_MODIFIED, pod);
    SIM_TRACE("server: kube-scheduler bound p%u uid %u to n%u", pod->name, pod->uid, node);
    sim_check_binding(pod);
}

/* The last change that bound or created the pod. */
static size_t last_change(const SimObject *pod) {
    for (size_t i = sim_server.n_log; i-- > 0;)
        if (sim_server.log[i].kind == SIM_POD && sim_server.log[i].object.uid == pod->uid)
            return i;
    abort();
}

static void handle_pod(const SimRequest *request) {
    unsigned name = number_in(request->path, "/pods/p");
    SimObject *pod = name < SIM_PODS_MAX ? &sim_server.pods[name] : NULL;
    size_t index;

    if (!pod || !pod->exists) {
        sim_net_answer(request->call, 404, status_json(404, "NotFound"), (SimNews){0});
    } else if (strcmp(request->method, "POST") == 0) {
        bind_pod(request, pod);
    } else {
        index = last_change(pod);
        sim_net_answer(request->call, 200, sim_pod_json(pod, index),
            pod->node != SIM_NO_NODE ? (SimNews){SIM_NEWS_BOUND, SIM_POD, index} : (SimNews){0});
    }
}

/* --- the Lease -------------------------------------------------------------------------------- */

static void take_lease(const SimRequest *request) {
    const char *holder = strstr(request->body, "\"holderIdentity\":\"");

    if (!holder) {
        sim_fail("a Lease is what the API server reads", "%s", request->body);
        return;
    }
    holder += strlen("\"holderIdentity\":\"");
    (void)snprintf(lease.holder, sizeof(lease.holder), "%.*s", (int)strcspn(holder, "\""), holder);
    lease.duration = (int)number_in(request->body, "\"leaseDurationSeconds\":");
    lease.transitions = (int)number_in(request->body, "\"leaseTransitions\":");
    lease.exists = true;
    lease.index = commit(SIM_LEASE, EVENT_MODIFIED, NULL);
    SIM_TRACE("server: lease of \"%s\"", lease.holder);
}

static void handle_lease(const SimRequest *request) {
    bool is_read = strcmp(request->method, "GET") == 0;
    bool is_new = strcmp(request->method, "POST") == 0;

    if (!lease.exists && !is_new) {
        sim_net_answer(request->call, 404, status_json(404, "NotFound"), (SimNews){0});
        return;
    }
    if (!is_read) {
        bool is_current =
            is_new ? !lease.exists
                   : number_in(request->body, "\"resourceVersion\":\"") == version_of(lease.index);

        if (!is_current) {
            sim_net_answer(request->call, 409, status_json(409, "Conflict"), (SimNews){0});
            return;
        }
        take_lease(request);
    }
    sim_net_answer(request->call, is_new ? 201 : 200, lease_json(), (SimNews){0});
}

void sim_server_handle(const SimRequest *request) {
    if (strstr(request->path, "/leases"))
        handle_lease(request);
    else if (strncmp(request->path, "/api/v1/namespaces/shop/pods/", 29) == 0)
        handle_pod(request);
    else if (strncmp(request->path, "/api/v1/nodes?", 14) == 0)
        handle_collection(request, SIM_NODE);
    else if (strncmp(request->path, "/api/v1/pods?", 13) == 0)
        handle_collection(request, SIM_POD);
    else if (strcmp(request->path, "/version") == 0)
        sim_net_answer(request->call, 404, status_json(404, "NotFound"), (SimNews){0});
    else
        sim_fail("requests are known", "%s %s", request->method, request->path);
}
