/* kube/client.h and kube/access.h over simulated connections. */

#include "live/test-sim-net.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/test-sim-berth.h"
#include "live/test-sim-check.h"
#include "live/test-sim.h"

#define CLIENTS_MAX 16u

/* How a request ends. */
typedef enum Fate {
    FATE_ANSWERED,
    FATE_REFUSED,     /* no connection */
    FATE_LOST,        /* before it arrived */
    FATE_ANSWER_LOST, /* after the request was handled */
    FATE_ANSWER_CUT,  /* ... and the answer arrives in part */
    FATE_ERROR,       /* before the server has done anything */
    FATE_ERROR_DONE,  /* ... and after it has */
    _FATES,
} Fate;

struct Call {
    Call *next;
    Client *client;
    uint64_t number;
    CallHandler handler;
    SimRequest request;
    Buf *answer;
    Fate fate;
    bool has_left; /* the request was sent */
    bool was_cut;
    unsigned status;
    int64_t last_at; /* the arrival of its last bytes */
};

/* An event of a call, on its way to the replica. */
typedef struct Delivery {
    struct Delivery *next;
    uint64_t call;
    enum {
        DELIVERY_CONNECTED,
        DELIVERY_HEAD,
        DELIVERY_DATA,
        DELIVERY_DONE,
        DELIVERY_LATE_HEAD
    } type;
    unsigned status;
    CallOutcome outcome;
    bool is_from_server; /* else from a timer of the client */
    Str bytes;
    SimNews news;
} Delivery;

struct Client {
    SimBerth *berth;
    uint64_t number;
    Call *calls;
    Delivery *first, **end; /* events that have arrived */
    bool is_dead;
};

struct Access {
    char unused;
};

static Client *clients[CLIENTS_MAX];

void sim_net_begin(void) {
    memset(clients, 0, sizeof(clients));
}

/* --- access -------------------------------------------------------------------------------- */

int access_find(const char *kubeconfig, const char *context, Access **ret, char *error) {
    *ret = calloc(1, sizeof(Access));
    return *ret ? 0 : -1;
}

Access *access_free(Access *access) {
    free(access);
    return NULL;
}

const char *access_server(const Access *access) {
    return "https://simulated.invalid:6443";
}

const char *access_origin(const Access *access) {
    return "a simulation";
}

bool access_is_insecure(const Access *access) {
    return false;
}

/* --- calls and messages ---------------------------------------------------------------------- */

static Call *find_call(uint64_t number) {
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        for (Call *call = clients[i] ? clients[i]->calls : NULL; call; call = call->next)
            if (call->number == number)
                return call;
    return NULL;
}

bool sim_net_is_open(uint64_t number) {
    return find_call(number) != NULL;
}

static void drop_call(Call *call) {
    Call **at = &call->client->calls;

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    free(call);
}

static void arrive(void *context, uint64_t number) {
    Delivery *message = context;
    const Call *call = find_call(message->call);

    if (!call)
        return;
    if (sim.now < call->client->berth->cut_off_until && message->is_from_server) {
        sim_after(call->client->berth->cut_off_until - sim.now, arrive, message, 0);
        return;
    }
    *call->client->end = message;
    call->client->end = &message->next;
    sim_berth_resume(call->client->berth);
}

/* Sends to the replica, in order with the bytes before. */
static void post(Call *call, int64_t delay, Delivery from) {
    Delivery *message = sim_allocate(sizeof(*message));

    *message = from;
    message->call = call->number;
    message->is_from_server = message->type != DELIVERY_CONNECTED;
    if (sim.now + delay < call->last_at)
        delay = call->last_at - sim.now;
    call->last_at = sim.now + delay;
    sim_after(delay, arrive, message, 0);
}

/* Sends without that order. */
static void post_timer(const Call *call, int64_t delay, Delivery from) {
    Delivery *message = sim_allocate(sizeof(*message));

    *message = from;
    message->call = call->number;
    sim_after(delay, arrive, message, 0);
}

/* --- answers --------------------------------------------------------------------------------- */

/* The rest of the answer does not arrive. */
static void cut(Call *call) {
    call->was_cut = true;
    if (sim_chance(60)) /* else the client's own limits end it */
        post(call, sim_pick(0, 2000) * SIM_MSEC,
            (Delivery){.type = DELIVERY_DONE, .outcome = CALL_BROKEN});
}

static Call *answering(uint64_t number) {
    Call *call = find_call(number);

    return call && !call->was_cut ? call : NULL;
}

void sim_net_head(uint64_t number, unsigned status) {
    Call *call = answering(number);

    if (call && call->fate == FATE_ANSWER_LOST)
        cut(call);
    else if (call)
        post(call, sim_latency(SIM_SEC), (Delivery){.type = DELIVERY_HEAD, .status = status});
}

/* Sends the bytes in one piece, or in two. */
void sim_net_data(uint64_t number, Str bytes, SimNews news) {
    Call *call = answering(number);
    size_t n = bytes.len;

    if (!call || n == 0)
        return;
    if (sim_chance(10) || (call->fate == FATE_ANSWER_CUT && sim_chance(30))) {
        n = (size_t)sim_pick(0, (int64_t)bytes.len - 1);
        post(call, sim_latency(SIM_SEC),
            (Delivery){.type = DELIVERY_DATA, .bytes = str_of(bytes.ptr, n)});
        if (call->fate == FATE_ANSWER_CUT) {
            cut(call);
            return;
        }
        bytes = str_of(bytes.ptr + n, bytes.len - n);
    }
    post(call, sim_latency(SIM_SEC),
        (Delivery){.type = DELIVERY_DATA, .bytes = bytes, .news = news});
}

static void finish_answer(uint64_t number, CallOutcome outcome, SimNews news) {
    Call *call = answering(number);

    if (call)
        post(call, sim_latency(SIM_SEC),
            (Delivery){.type = DELIVERY_DONE, .outcome = outcome, .news = news});
}

void sim_net_done(uint64_t number, CallOutcome outcome) {
    finish_answer(number, outcome, (SimNews){0});
}

void sim_net_answer(uint64_t number, unsigned status, Str body, SimNews news) {
    static const unsigned errors[] = {500, 503, 504, 429};
    const Call *call = find_call(number);

    if (call && call->fate == FATE_ERROR_DONE) {
        status = errors[sim_pick(0, 2)];
        body = STR("{\"kind\":\"Status\",\"code\":500,\"message\":\"simulated\"}");
        news = (SimNews){0};
    }
    sim_net_head(number, status);
    sim_net_data(number, body, (SimNews){0});
    finish_answer(number, CALL_DONE, news);
}

static void answer_failure(const Call *call) {
    static const unsigned errors[] = {500, 503, 429, 409, 403};
    unsigned status = errors[sim_pick(0, strcmp(call->request.method, "GET") == 0 ? 2 : 3)];

    SIM_TRACE("server: %u for %s %s", status, call->request.method, call->request.path);
    sim_net_answer(call->number, status,
        STR("{\"kind\":\"Status\",\"code\":500,\"message\":\"simulated\"}"), (SimNews){0});
}

/* --- requests -------------------------------------------------------------------------------- */

/* The request has arrived at the API server. The replica may have ended. */
static void handle(void *context, uint64_t number) {
    const SimRequest *request = context;
    Call *call = find_call(number);

    if (sim_server.is_down) {
        if (call)
            cut(call);
        return;
    }
    if (call && call->fate == FATE_ERROR)
        answer_failure(call);
    else
        sim_server_handle(request);
}

static void finish(Call *call, CallOutcome outcome) {
    CallHandler handler = call->handler;
    CallResult result = {
        .outcome = outcome,
        .status = call->status,
        .was_sent = call->has_left,
        .retry_after_sec = call->status == 429 ? 1 : -1,
        .error = outcome == CALL_DONE ? "" : "simulated",
    };

    drop_call(call);
    handler.done(handler.context, &result);
}

/* The connection is ready: sends the request. */
static void leave(Call *call) {
    const CallHandler *handler = &call->handler;
    SimRequest *request;
    const char *name, *uid;

    if (sim_server.is_down || call->fate == FATE_REFUSED ||
        (handler->may_send && !handler->may_send(handler->context))) {
        finish(call, CALL_REFUSED);
        return;
    }
    call->has_left = true;
    SIM_TRACE("berth %u: %s %s, fate %d", call->request.berth, call->request.method,
        call->request.path, (int)call->fate);
    name = strstr(call->request.path, "/pods/p");
    uid = strstr(call->request.body, "\"uid\":\"u-");
    if (name && uid)
        sim_check_posted(call->client->berth, (unsigned)strtoul(name + strlen("/pods/p"), NULL, 10),
            (unsigned)strtoul(uid + strlen("\"uid\":\"u-"), NULL, 10));
    if (call->fate == FATE_LOST || sim_berth_loses_requests(call->client->berth)) {
        cut(call);
        return;
    }
    request = sim_allocate(sizeof(*request));
    *request = call->request;
    sim_after(sim_latency(SIM_COMMIT_MAX), handle, request, call->number);
}

static Fate pick_fate(void) {
    if (!sim_chance(sim.fault_percent))
        return FATE_ANSWERED;
    return (Fate)sim_pick(FATE_ANSWERED, _FATES - 1);
}

static char *copy(Str text) {
    char *to = sim_allocate(text.len + 1);

    if (text.len > 0)
        memcpy(to, text.ptr, text.len);
    return to;
}

Call *client_call(Client *client, const CallOptions *options, const CallHandler *handler) {
    Call *call = calloc(1, sizeof(*call));

    if (!call)
        abort();
    *call = (Call){
        .next = client->calls,
        .client = client,
        .number = sim_number(),
        .handler = *handler,
        .answer = options->answer,
        .fate = pick_fate(),
        .request =
            {
                .berth = client->berth->index,
                .method = options->method, /* static */
                .path = copy(str_from_c(options->path)),
                .body = copy(options->body),
            },
    };
    call->request.call = call->number;
    client->calls = call;
    if (client->is_dead)
        return call;
    post(call, sim_latency(SIM_SEC), (Delivery){.type = DELIVERY_CONNECTED});
    if (options->total_sec > 0)
        post_timer(call, options->total_sec * SIM_SEC,
            (Delivery){.type = DELIVERY_DONE, .outcome = CALL_TIMEOUT});
    if (options->first_byte_sec > 0)
        post_timer(call, options->first_byte_sec * SIM_SEC, (Delivery){.type = DELIVERY_LATE_HEAD});
    return call;
}

void call_cancel(Call *call) {
    if (call)
        drop_call(call);
}

/* --- the client ------------------------------------------------------------------------------ */

Client *client_new(Access *access) {
    Client *client = calloc(1, sizeof(*client));

    if (!client)
        abort();
    client->berth = sim_berth_current;
    client->end = &client->first;
    client->berth->client = client;
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        if (!clients[i]) {
            clients[i] = client;
            return client;
        }
    abort();
}

Client *client_free(Client *client) {
    if (!client)
        return NULL;
    while (client->calls)
        drop_call(client->calls);
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        if (clients[i] == client)
            clients[i] = NULL;
    client->berth->client = NULL;
    free(client);
    return NULL;
}

void sim_net_kill(Client *client) {
    client->is_dead = true;
    client->first = NULL;
    client->end = &client->first;
}

static bool take_data(const Call *call, Str bytes) {
    if (call->handler.data)
        return call->handler.data(call->handler.context, bytes);
    if (call->answer)
        buf_append(call->answer, bytes);
    return true;
}

static void take(Call *call, const Delivery *message) {
    uint64_t number = call->number;
    const CallHead head = {.status = message->status,
        .content_type = STR("application/json"),
        .retry_after_sec = message->status == 429 ? 1 : -1};

    switch (message->type) {
    case DELIVERY_CONNECTED:
        leave(call);
        break;
    case DELIVERY_HEAD:
        call->status = message->status;
        if (call->handler.head)
            call->handler.head(call->handler.context, &head);
        break;
    case DELIVERY_DATA:
        if (take_data(call, message->bytes))
            sim_check_news(call->client->berth, &message->news);
        else if (find_call(number))
            finish(call, CALL_ENDED);
        break;
    case DELIVERY_DONE:
        sim_check_news(call->client->berth, &message->news);
        finish(call, message->outcome);
        break;
    case DELIVERY_LATE_HEAD:
        if (call->status == 0)
            finish(call, CALL_TIMEOUT);
        break;
    }
}

int client_wait(Client *client, int timeout_msec) {
    if (!client->first)
        sim_berth_wait(client->berth, timeout_msec * SIM_MSEC);
    while (client->first) {
        const Delivery *message = client->first;
        Call *call = find_call(message->call);

        client->first = message->next;
        if (!client->first)
            client->end = &client->first;
        if (call)
            take(call, message);
    }
    return 0;
}

void client_wake(Client *client) {
    sim_berth_wake(client->berth);
}
