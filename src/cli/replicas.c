/* Finds berth's pods and the token of their pages through an API server. */

#include "cli/replicas.h"

#include "base/base64.h"
#include "cli/berth-pods.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "kube/api-objects.h"
#include "kube/secret.h"
#include "json/fields.h"

#define REPLICAS_BUDGET ((size_t)64 * 1024 * 1024)
#define TEXT_MAX ((size_t)4 * 1024)

/* Sends a GET to the API server, and returns the reply, whatever its status. */
static BlockingReply get(const Replicas *replicas, Str path) {
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;
    int r = blocking_client_request_with(
        replicas->client, &(BlockingRequest){.path = path.ptr}, replicas->arena, &reply, error);

    if (terminal_check(r, "the replies of the API server", replicas->arena) > 0)
        terminal_fail("%s", error);
    return reply;
}

static _Noreturn void fail_for_refusal(const Replicas *replicas, const BlockingReply *reply,
    const char *namespace, const char *roles) {
    ApiStatus status;
    Str message =
        api_status_read(reply->body, replicas->arena, &status) ? status.message : STR_NULL;
    Str grant = berth_client_grant(message, namespace, roles, BERTH_CLIENT_VIEWER, replicas->arena);

    terminal_fail("the API server answered %u: %.*s\n  %.*s", reply->status, STR_FMT(message),
        STR_FMT(grant));
}

static _Noreturn void fail_for_reply(const Replicas *replicas, const BlockingReply *reply) {
    char error[BLOCKING_CLIENT_ERROR_MAX];

    blocking_client_explain(reply, replicas->arena, error);
    terminal_fail("%s", error);
}

/* @namespace NULL: all. */
static BlockingReply list_pods(const Replicas *replicas, const char *namespace) {
    static const char selector[] = "pods?labelSelector=" BERTH_PODS_SELECTOR;

    return get(replicas,
        namespace ? arena_printf(replicas->arena, "/api/v1/namespaces/%s/%s", namespace, selector)
                  : arena_printf(replicas->arena, "/api/v1/%s", selector));
}

/* Looks in @namespace; if NULL, in all namespaces if we may, else in berth's default namespace. */
static void find_pods(const Replicas *replicas, const char *namespace, BerthPods *ret) {
    BlockingReply reply = list_pods(replicas, namespace);

    if (reply.status == 403 && !namespace) {
        namespace = REPLICAS_NAMESPACE;
        reply = list_pods(replicas, namespace);
    }
    if (reply.status == 403)
        fail_for_refusal(replicas, &reply, namespace, BERTH_CLIENT_ROLES);
    if (reply.status != 200)
        fail_for_reply(replicas, &reply);
    if (!berth_pods_read(reply.body, replicas->arena, ret))
        terminal_fail("the API server sent no list of pods");
    if (ret->n == 0)
        terminal_fail("no pod with the label " BERTH_PODS_LABEL " runs in %s%s of %s\n"
                      "  if berth is in another namespace: --berth-namespace NAME; in a static pod "
                      "it listens on loopback only: --server URL there",
            namespace ? "namespace " : "any namespace", namespace ? namespace : "",
            access_origin(replicas->access));
}

/* Fails if the pods are of several installations, which know nothing of each other. */
static void check_installation(const BerthPods *pods) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    const BerthPod *items = pods->items;
    bool is_one = true;

    for (size_t i = 0; i < pods->n; i++) {
        is_one &= str_eq(items[i].namespace, items[0].namespace) &&
                  str_eq(items[i].instance, items[0].instance);
        buf_printf(&text, "\n  %.*s/%.*s", STR_FMT(items[i].namespace), STR_FMT(items[i].name));
    }
    if (!is_one)
        terminal_fail("there are several installations of berth; choose one by "
                      "--berth-namespace NAME, or by --server URL:%.*s",
            STR_FMT(buf_str(&text)));
}

/* A Secret's data.token, decoded; NULL: there is none. The caller frees it by secret_free(). */
static char *token_of(Str secret, Arena *arena) {
    _cleanup_(secret_buf_done) Buf token = BUF_INIT(ACCESS_TOKEN_MAX);
    static const JsonField fields[] = {{"data.token", JSON_FIELD_TEXT, 0}};
    Str text = STR_NULL, decoded;
    bool is_read = JSON_READ_DOCUMENT(secret, arena, fields, &text);

    (void)buf_reserve(&token, text.len); /* in one allocation: no copies are left */
    if (!is_read || !base64_decode(text, &token) || buf_error(&token))
        return NULL;
    decoded = str_trim(buf_str(&token));
    return secret_complaint(SECRET_TOKEN, decoded) ? NULL : secret_copy(decoded);
}

/* The token in @secret; NULL: we may not read it, and *ret_reply is the refusal. */
static char *read_token(
    const Replicas *replicas, Str namespace, Str secret, BlockingReply *ret_reply) {
    char *token;

    *ret_reply = get(replicas, arena_printf(replicas->arena, "/api/v1/namespaces/%.*s/secrets/%.*s",
                                   STR_FMT(namespace), STR_FMT(secret)));
    if (ret_reply->status == 403)
        return NULL;
    if (ret_reply->status != 200)
        fail_for_reply(replicas, ret_reply);
    token = token_of(ret_reply->body, replicas->arena);
    secret_wipe(ret_reply->body);
    if (!token)
        terminal_fail("Secret %.*s of namespace %.*s has no token in its key token",
            STR_FMT(secret), STR_FMT(namespace));
    return token;
}

/* The prefix of the Roles' names is that of the viewers' Secret. */
static const char *roles_of(const BerthPod *pod, Arena *arena) {
    Str name = pod->viewer_secret, suffix = STR(BERTH_CLIENT_VIEWER);

    return str_has_suffix(name, suffix)
               ? arena_copy(arena, str_take(name, name.len - suffix.len)).ptr
               : BERTH_CLIENT_ROLES;
}

/* The token with more rights, of those that we may read. */
static char *find_token(const Replicas *replicas, const BerthPod *pod) {
    const Str secrets[] = {pod->token_secret, pod->viewer_secret};
    BlockingReply reply = {0};
    char *token = NULL;

    for (size_t i = 0; !token && i < ELEMENTS_OF(secrets); i++)
        if (!str_is_empty(secrets[i]))
            token = read_token(replicas, pod->namespace, secrets[i], &reply);
    if (!token && reply.status == 403)
        fail_for_refusal(replicas, &reply, arena_copy(replicas->arena, pod->namespace).ptr,
            roles_of(pod, replicas->arena));
    if (!token)
        terminal_fail(
            "berth's pages have no token, so they show only health: install it with one "
            "(pages.generateToken or pages.tokenSecret of the chart), or use --server URL with a "
            "certificate");
    return token;
}

static BerthAccess access_of(const Replicas *replicas, const BerthPod *pod) {
    Arena *arena = replicas->arena;

    return (BerthAccess){
        .server =
            arena_printf(arena, "pod %.*s/%.*s", STR_FMT(pod->namespace), STR_FMT(pod->name)).ptr,
        .proxy = {.client = replicas->client,
            .namespace = arena_copy(arena, pod->namespace).ptr,
            .path = berth_pod_proxy_path(pod, arena).ptr,
            .token = replicas->token,
            .roles = roles_of(pod, arena)},
    };
}

static void open_cluster(const ServerSource *source, Replicas *ret) {
    BerthPods pods;

    ret->is_cluster = true;
    ret->access = cluster_source_access(&source->cluster);
    ret->client = terminal_need(client_new(ret->access), "the replies of the API server");
    progress_begin("looking for berth's pods");
    find_pods(ret, source->namespace, &pods);
    check_installation(&pods);
    ret->token = find_token(ret, &pods.items[0]);
    for (; ret->n < pods.n && ret->n < REPLICAS_MAX; ret->n++) {
        ret->names[ret->n] = arena_copy(ret->arena, pods.items[ret->n].name).ptr;
        ret->items[ret->n] = access_of(ret, &pods.items[ret->n]);
    }
    progress_end();
    if (pods.n > REPLICAS_MAX)
        terminal_warn("there are %zu replicas; only the first %u are asked", pods.n, REPLICAS_MAX);
}

void replicas_open(ServerSource *source, Replicas *ret) {
    *ret = (Replicas){.arena = terminal_arena("the replies of the API server", REPLICAS_BUDGET)};
    if (server_source_is_cluster(source, ret->arena)) {
        open_cluster(source, ret);
        return;
    }
    server_source_open(source, ret->arena);
    ret->items[0] = source->access;
    ret->names[0] = source->access.server;
    ret->n = 1;
}

void replicas_done(Replicas *replicas) {
    client_free(replicas->client);
    access_free(replicas->access);
    secret_free(replicas->token);
    arena_free(replicas->arena);
    *replicas = (Replicas){0};
}

void replicas_complain(const Replicas *replicas, const char *error) {
    terminal_warn(
        "%s%s", error, replicas->n > 1 ? "\n  the other replicas were asked all the same" : "");
}

const char *replicas_describe(const Replicas *replicas) {
    if (!replicas->is_cluster)
        return replicas->names[0];
    return arena_printf(replicas->arena, "%zu replica%s of berth in namespace %s", replicas->n,
        PLURAL(replicas->n), replicas->items[0].proxy.namespace)
        .ptr;
}
