/* Finds berth's pods and the token of their pages through an API server. */

#include "cli/replicas.h"

#include <errno.h>

#include "base/base64.h"
#include "cli/berth-pods.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "kube/api-objects.h"
#include "kube/secret.h"
#include "json/fields.h"

#define REPLICAS_BUDGET ((size_t)64 * 1024 * 1024)
#define TEXT_MAX ((size_t)4 * 1024)

/* The state of a search. */
typedef struct Search {
    const ServerSource *source;
    Replicas *replicas;
    BerthPods pods;
} Search;

/* Each returns 0; or an exit code, after complaining. */

static int out_of_memory(const Search *search) {
    return terminal_out_of_memory("the replies of the API server", search->replicas->arena);
}

/* The answer of the API server, whatever its status. */
static int ask(const Search *search, Str path, BlockingReply *ret) {
    char error[BLOCKING_CLIENT_ERROR_MAX];
    int r = -ENOMEM;

    if (path.ptr)
        r = blocking_client_request_with(search->replicas->client,
            &(BlockingRequest){.path = path.ptr}, search->replicas->arena, ret, error);
    if (r < 0)
        return out_of_memory(search);
    return r > 0 ? terminal_complain("%s", error) : 0;
}

static int complain_of_refusal(
    const Search *search, const BlockingReply *reply, const char *namespace, const char *roles) {
    Arena *arena = search->replicas->arena;
    ApiStatus status;
    Str message = api_status_read(reply->body, arena, &status) ? status.message : STR_NULL;
    Str grant = berth_client_grant(message, namespace, roles, BERTH_CLIENT_VIEWER, arena);

    return terminal_complain("the API server answered %u: %.*s\n  %.*s", reply->status,
        STR_FMT(message), STR_FMT(grant));
}

static int complain_of_reply(const Search *search, const BlockingReply *reply) {
    char error[BLOCKING_CLIENT_ERROR_MAX];

    blocking_client_explain(reply, search->replicas->arena, error);
    return terminal_complain("%s", error);
}

/* @namespace NULL: all. */
static Str pods_path(const Search *search, const char *namespace) {
    Arena *arena = search->replicas->arena;

    if (!namespace)
        return arena_copy(arena, STR("/api/v1/pods?labelSelector=" BERTH_PODS_SELECTOR));
    return arena_printf(
        arena, "/api/v1/namespaces/%s/pods?labelSelector=%s", namespace, BERTH_PODS_SELECTOR);
}

static int complain_of_none(const Search *search, const char *namespace) {
    return terminal_complain(
        "no pod with the label " BERTH_PODS_LABEL " runs in %s%s of %s\n"
        "  if berth is in another namespace: --berth-namespace NAME; in a static pod it listens on "
        "loopback only: --server URL there",
        namespace ? "namespace " : "any namespace", namespace ? namespace : "",
        access_origin(search->replicas->access));
}

/* Everywhere, if we may; or where berth is by default. */
static int find_pods(Search *search) {
    const char *namespace = search->source->namespace;
    BlockingReply reply = {0};
    int r = ask(search, pods_path(search, namespace), &reply);

    if (r == 0 && reply.status == 403 && !namespace) {
        namespace = REPLICAS_NAMESPACE;
        r = ask(search, pods_path(search, namespace), &reply);
    }
    if (r != 0)
        return r;
    if (reply.status == 403)
        return complain_of_refusal(search, &reply, namespace, BERTH_CLIENT_ROLES);
    if (reply.status != 200)
        return complain_of_reply(search, &reply);
    if (!berth_pods_read(reply.body, search->replicas->arena, &search->pods))
        return terminal_complain("the API server sent no list of pods");
    return search->pods.n > 0 ? 0 : complain_of_none(search, namespace);
}

/* Replicas of different installations know nothing of each other. */
static int check_installation(const Search *search) {
    _cleanup_(buf_done) Buf text = BUF_INIT(TEXT_MAX);
    const BerthPod *pods = search->pods.items;
    bool is_one = true;

    for (size_t i = 0; i < search->pods.n; i++) {
        is_one &= str_eq(pods[i].namespace, pods[0].namespace) &&
                  str_eq(pods[i].instance, pods[0].instance);
        buf_printf(&text, "\n  %.*s/%.*s", STR_FMT(pods[i].namespace), STR_FMT(pods[i].name));
    }
    if (is_one)
        return 0;
    return terminal_complain("there are several installations of berth; choose one by "
                             "--berth-namespace NAME, or by --server URL:%.*s",
        STR_FMT(buf_str(&text)));
}

/* A Secret's data.token, decoded; NULL: there is none. The caller's. */
static char *token_of(Str secret, Arena *arena) {
    _cleanup_(secret_buf_done) Buf token = BUF_INIT(ACCESS_TOKEN_MAX);
    static const JsonField token_field = {"data.token", JSON_FIELD_TEXT, 0};
    Str text = STR_NULL, decoded;
    JsonReader reader;

    json_reader_init(&reader, secret);
    json_read_fields(&reader, arena, &token_field, 1, &text);
    (void)buf_reserve(&token, text.len); /* in one allocation: no copies are left */
    if (json_error(&reader) != JSON_OK || !base64_decode(text, &token) || buf_error(&token))
        return NULL;
    decoded = str_trim(buf_str(&token));
    return secret_complaint(SECRET_TOKEN, decoded) ? NULL : secret_copy(decoded);
}

/* The token in @secret. *ret_reply is a refusal (403), or was good. */
static int read_token(Search *search, Str secret, BlockingReply *ret_reply) {
    Arena *arena = search->replicas->arena;
    Str namespace = search->pods.items[0].namespace;
    int r = ask(search,
        arena_printf(
            arena, "/api/v1/namespaces/%.*s/secrets/%.*s", STR_FMT(namespace), STR_FMT(secret)),
        ret_reply);

    if (r != 0 || ret_reply->status == 403)
        return r;
    if (ret_reply->status != 200)
        return complain_of_reply(search, ret_reply);
    search->replicas->token = token_of(ret_reply->body, arena);
    secret_wipe(ret_reply->body);
    if (search->replicas->token)
        return 0;
    return terminal_complain("Secret %.*s of namespace %.*s has no token in its key token",
        STR_FMT(secret), STR_FMT(namespace));
}

/* The Roles are called as the Secret of viewers is. */
static const char *roles_of(const Search *search, const BerthPod *pod) {
    Str name = pod->viewer_secret;

    if (!str_has_suffix(name, STR(BERTH_CLIENT_VIEWER)))
        return BERTH_CLIENT_ROLES;
    name = arena_copy(
        search->replicas->arena, str_take(name, name.len - (sizeof(BERTH_CLIENT_VIEWER) - 1)));
    return name.ptr ? name.ptr : BERTH_CLIENT_ROLES;
}

/* The better one of those that we may read. */
static int find_token(Search *search) {
    const BerthPod *pod = &search->pods.items[0];
    const Str secrets[] = {pod->token_secret, pod->viewer_secret};
    BlockingReply reply = {0};
    int r = 0;

    for (size_t i = 0; r == 0 && !search->replicas->token && i < ELEMENTS_OF(secrets); i++)
        if (!str_is_empty(secrets[i]))
            r = read_token(search, secrets[i], &reply);
    if (r != 0 || search->replicas->token)
        return r;
    if (reply.status == 403)
        return complain_of_refusal(search, &reply,
            arena_copy(search->replicas->arena, pod->namespace).ptr, roles_of(search, pod));
    return terminal_complain(
        "berth's pages have no token, so they show only health: install it with one "
        "(pages.generateToken or pages.tokenSecret of the chart), or use --server URL with a "
        "certificate");
}

static int add_replica(Search *search, const BerthPod *pod) {
    Replicas *replicas = search->replicas;
    Arena *arena = replicas->arena;
    Str server = arena_printf(arena, "pod %.*s/%.*s", STR_FMT(pod->namespace), STR_FMT(pod->name));
    Str name = arena_copy(arena, pod->name), namespace = arena_copy(arena, pod->namespace);
    Str path = berth_pod_proxy_path(pod, arena);

    if (!server.ptr || !name.ptr || !namespace.ptr || !path.ptr)
        return out_of_memory(search);
    replicas->names[replicas->n] = name.ptr;
    replicas->items[replicas->n++] = (BerthAccess){
        .server = server.ptr,
        .proxy = {.client = replicas->client,
            .namespace = namespace.ptr,
            .path = path.ptr,
            .token = replicas->token,
            .roles = roles_of(search, pod)},
    };
    return 0;
}

static int find(Search *search) {
    int r;

    progress_begin("looking for berth's pods");
    r = find_pods(search);
    if (r == 0)
        r = check_installation(search);
    if (r == 0)
        r = find_token(search);
    for (size_t i = 0; r == 0 && i < search->pods.n && search->replicas->n < REPLICAS_MAX; i++)
        r = add_replica(search, &search->pods.items[i]);
    progress_end();
    if (r == 0 && search->pods.n > REPLICAS_MAX)
        (void)terminal_complain(
            "there are %zu replicas; only the first %u are asked", search->pods.n, REPLICAS_MAX);
    return r;
}

static int open_cluster(const ServerSource *source, Replicas *ret) {
    Search search = {.source = source, .replicas = ret};
    int r = cluster_source_access(&source->cluster, &ret->access);

    ret->is_cluster = true;
    if (r != 0)
        return r;
    ret->client = client_new(ret->access);
    return ret->client ? find(&search) : out_of_memory(&search);
}

int replicas_open(ServerSource *source, Replicas *ret) {
    int r;

    *ret = (Replicas){.arena = arena_new(REPLICAS_BUDGET)};
    if (!ret->arena)
        return terminal_out_of_memory("the replies of the API server", NULL);
    if (server_source_is_cluster(source))
        return open_cluster(source, ret);
    r = server_source_open(source, ret->arena);
    if (r != 0)
        return r;
    ret->items[0] = source->access;
    ret->names[0] = source->access.server;
    ret->n = 1;
    return 0;
}

void replicas_done(Replicas *replicas) {
    client_free(replicas->client);
    access_free(replicas->access);
    secret_free(replicas->token);
    arena_free(replicas->arena);
    *replicas = (Replicas){0};
}

void replicas_complain(const Replicas *replicas, const char *error) {
    (void)terminal_complain(
        "%s%s", error, replicas->n > 1 ? "\n  the other replicas were asked all the same" : "");
}

const char *replicas_describe(const Replicas *replicas) {
    Str text;

    if (!replicas->is_cluster)
        return replicas->names[0];
    text = arena_printf(replicas->arena, "%zu replica%s of berth in namespace %s", replicas->n,
        replicas->n == 1 ? "" : "s", replicas->items[0].proxy.namespace);
    return text.ptr ? text.ptr : "the replicas of berth";
}
