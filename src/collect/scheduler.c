/*
 * kube-scheduler's configurations: those given as files, and those in the cluster.
 *
 * A cluster has them in pods: kubeadm's in kube-system, berth's own second scheduler, and those
 * that the user names. A file on a node cannot be read from here; the hint then names it and the
 * command to run there.
 */

#include <errno.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/url.h"
#include "certs/authority.h"
#include "cli/terminal.h"
#include "collect/collect.h"
#include "collect/scheduler-pod.h"
#include "input/file.h"
#include "kube/api-objects.h"

#define HINT_MAX ((size_t)16 * 1024)
#define PATH_SIZE ((size_t)4096)
#define DIAGS_MAX ((size_t)64 * 1024)

typedef struct Search {
    Collector *collector;
    Buf hint;
    size_t n_pods;      /* pods with a kube-scheduler */
    bool has_default;   /* a kube-scheduler without a file is among the facts */
    bool has_failed;    /* some pods could not be listed */
    SchedulerPod *maps; /* whose ConfigMaps are among the facts already */
    size_t n_maps;
} Search;

/* --- which entry is berth -------------------------------------------------------------------- */

static bool is_named(const Collector *collector, Str prefix) {
    const InstallationFacts *facts = collector->facts;

    if (collector->options->url)
        return wiring_is_same_server(str_from_c(collector->options->url), prefix);
    for (size_t i = 0; i < facts->n_berths; i++)
        if (wiring_is_same_server(facts->berths[i].url, prefix))
            return true;
    return false;
}

/* berth.berth-system.svc, https://berth:8443 */
static bool is_called_berth(const Collector *collector, Str prefix) {
    return str_contains_nocase(prefix, STR("berth"));
}

static bool is_beside_it(const Collector *collector, Str prefix) {
    return address_is_loopback(prefix);
}

static bool is_any(const Collector *collector, Str prefix) {
    return true;
}

/* The surest one first. */
static const struct {
    bool (*is_ours)(const Collector *collector, Str prefix);
    bool is_for_files_only; /* a cluster's scheduler may have other extenders */
    const char *why;        /* NULL: no note is needed */
} heuristics[] = {
    {is_named, false, NULL},
    {is_called_berth, false, "it is the only one with berth in its address"},
    {is_beside_it, false, "it is the only one on loopback, beside kube-scheduler"},
    {is_any, true, "there is no other"},
};

/* The only entry that @is_ours accepts, or the first of those that were named; SIZE_MAX: none. */
static size_t find_only(const Collector *collector, const SchedulerConfig *config,
    bool (*is_ours)(const Collector *collector, Str prefix)) {
    size_t found = SIZE_MAX;

    for (size_t i = 0; i < config->n_extenders; i++) {
        if (!is_ours(collector, config->extenders[i].url_prefix))
            continue;
        if (found != SIZE_MAX && is_ours != is_named)
            return SIZE_MAX;
        found = found == SIZE_MAX ? i : found;
    }
    return found;
}

static size_t find_berth(Collector *collector, const SchedulerConfigFact *fact, bool is_file) {
    const SchedulerConfig *config = &fact->config;
    size_t n_heuristics = collector->options->url ? 1 : ELEMENTS_OF(heuristics);

    for (size_t i = 0; i < n_heuristics; i++) {
        size_t index = SIZE_MAX;

        if (is_file || !heuristics[i].is_for_files_only)
            index = find_only(collector, config, heuristics[i].is_ours);
        if (index == SIZE_MAX)
            continue;
        if (heuristics[i].why)
            collect_note(collector, "%.*s: extender %zu (%.*s) is assumed to be berth: %s\n",
                STR_FMT(fact->origin), index + 1, STR_FMT(config->extenders[index].url_prefix),
                heuristics[i].why);
        return index;
    }
    if (config->n_extenders > 1)
        collect_note(collector,
            "%.*s: which of its %zu extenders is berth? Name it with --url URL\n",
            STR_FMT(fact->origin), config->n_extenders);
    return SIZE_MAX;
}

static void read_client(Collector *collector, SchedulerConfigFact *fact, bool is_file) {
    const ExtenderTls *tls = &fact->config.extenders[fact->berth_index].tls;
    _cleanup_(buf_done) Buf pem = BUF_INIT(COLLECT_CONFIG_MAX);
    char error[FILE_ERROR_MAX > ACCESS_ERROR_MAX ? FILE_ERROR_MAX : ACCESS_ERROR_MAX];
    Str path = arena_copy(collector->arena, tls->cert_file);
    CertificateFacts certificate;
    bool is_read = false;

    if (!str_is_empty(tls->cert_data))
        is_read = base64_decode(tls->cert_data, &pem);
    else if (is_file && str_has_prefix(path, STR("/")))
        is_read = file_read(path.ptr, &pem, error) == 0;
    if (!is_read || pem.len == 0 ||
        certificate_read(buf_str(&pem), collector->arena, &certificate, error) != 0)
        return;
    fact->client_names = certificate.identities;
    fact->n_client_names = certificate.n_identities;
    fact->client_certificate_sec =
        (double)certificate.until_sec - (double)clock_wall_nsec() / NSEC_PER_SEC;
}

/* --- one configuration ----------------------------------------------------------------------- */

/* Adds a fact. NULL: there are FACTS_CONFIGS_MAX already. */
static SchedulerConfigFact *next_fact(Collector *collector, Str origin) {
    InstallationFacts *facts = collector->facts;
    SchedulerConfigFact *fact;

    if (facts->n_configs == FACTS_CONFIGS_MAX)
        return NULL;
    fact = &facts->configs[facts->n_configs++];
    *fact = (SchedulerConfigFact){.origin = origin, .berth_index = SIZE_MAX};
    fact->config.percentage = -1;
    return fact;
}

static void add_failure(Collector *collector, Str origin, Str error) {
    SchedulerConfigFact *fact = next_fact(collector, origin);

    if (fact)
        fact->error = error;
}

static void find_entry(Collector *collector, SchedulerConfigFact *fact, bool is_file) {
    fact->berth_index = find_berth(collector, fact, is_file);
    if (fact->berth_index != SIZE_MAX)
        read_client(collector, fact, is_file);
}

/* Adds a configuration, without looking for berth's entry. NULL: as next_fact(). */
static SchedulerConfigFact *add_text(Collector *collector, Str origin, Str text) {
    _cleanup_(buf_done) Buf messages = BUF_INIT(DIAGS_MAX);
    SchedulerConfigFact *fact = next_fact(collector, origin);
    DiagList diags = DIAG_LIST_IN(collector->arena);
    int r;

    if (!fact)
        return NULL;
    r = scheduler_config_read(origin, text, collector->arena, &diags, &fact->config);
    if (r == -ENOMEM)
        terminal_out_of_memory("kube-scheduler's configuration", collector->arena);
    if (r == WIRING_E_UNREAD)
        buf_append(&messages, STR("berth does not read it, though kube-scheduler may:\n"));
    diag_list_print(&diags, /* colour= */ false, &messages);
    fact->is_invalid = r < 0;
    if (r != 0) {
        fact->error = arena_copy(collector->arena, str_trim(buf_str(&messages)));
        return fact;
    }
    buf_append(collector->notes, buf_str(&messages));
    return fact;
}

/* --- a v1alpha1 and its Policy, in two files ------------------------------------------------- */

static bool is_policy(const SchedulerConfigFact *fact) {
    return str_is_empty(fact->error) && fact->config.format == WIRING_POLICY;
}

/* The Policy with the file name that @config has, or else the only Policy. SIZE_MAX: none. */
static size_t find_policy(const InstallationFacts *facts, const SchedulerConfig *config) {
    size_t only = SIZE_MAX, n = 0;

    for (size_t i = 0; i < facts->n_configs; i++) {
        if (!is_policy(&facts->configs[i]))
            continue;
        if (str_eq(str_file_name(facts->configs[i].origin), str_file_name(config->policy_file)))
            return i;
        only = i;
        n++;
    }
    return n == 1 ? only : SIZE_MAX;
}

/* Merges the two files of one kube-scheduler into one fact. */
static void join_policy(
    Collector *collector, SchedulerConfigFact *fact, SchedulerConfigFact *policy) {
    fact->origin = arena_printf(
        collector->arena, "%.*s with %.*s", STR_FMT(fact->origin), STR_FMT(policy->origin));
    fact->config.extenders = policy->config.extenders;
    fact->config.n_extenders = policy->config.n_extenders;
    policy->is_joined = true;
}

static bool lacks_policy(const SchedulerConfigFact *fact) {
    return str_is_empty(fact->error) && scheduler_config_lacks_policy(&fact->config);
}

static void join_policies(Collector *collector) {
    InstallationFacts *facts = collector->facts;
    size_t n = 0;

    for (size_t i = 0; i < facts->n_configs; i++) {
        SchedulerConfigFact *fact = &facts->configs[i];
        size_t at = lacks_policy(fact) ? find_policy(facts, &fact->config) : SIZE_MAX;

        if (at != SIZE_MAX)
            join_policy(collector, fact, &facts->configs[at]);
    }
    for (size_t i = 0; i < facts->n_configs; i++)
        if (!facts->configs[i].is_joined)
            facts->configs[n++] = facts->configs[i];
    facts->n_configs = n;
}

static void add_files(Collector *collector) {
    for (size_t i = 0; i < collector->options->n_configs; i++) {
        const ConfigText *config = &collector->options->configs[i];

        if (str_is_empty(config->error))
            (void)add_text(collector, config->origin, config->text);
        else
            add_failure(collector, config->origin, config->error);
    }
    join_policies(collector);
    for (size_t i = 0; i < collector->facts->n_configs; i++)
        if (str_is_empty(collector->facts->configs[i].error))
            find_entry(collector, &collector->facts->configs[i], /* is_file= */ true);
}

/* --- ConfigMaps ------------------------------------------------------------------------------ */

/* data[@name]; false when it is not there. */
static bool read_key(Str body, Arena *arena, Str name, Str *ret) {
    static const JsonField fields[] = {{"data", JSON_FIELD_RAW, 0}};
    Str data = STR_NULL;
    JsonReader reader;

    if (!JSON_READ_DOCUMENT(body, arena, fields, &data))
        return false;
    json_reader_init(&reader, data);
    json_string_member(&reader, arena, name, ret);
    return ret->ptr && json_error(&reader) == JSON_OK;
}

static bool is_known_map(Search *search, const SchedulerPod *pod) {
    for (size_t i = 0; i < search->n_maps; i++) {
        const SchedulerPod *known = &search->maps[i];

        if (str_eq(known->map_namespace, pod->map_namespace) &&
            str_eq(known->map_name, pod->map_name) && str_eq(known->map_key, pod->map_key))
            return true;
    }
    if (search->n_maps < FACTS_CONFIGS_MAX)
        search->maps[search->n_maps++] = *pod;
    return false;
}

static Str map_origin(const SchedulerPod *pod, Arena *arena) {
    return arena_printf(arena, "ConfigMap %.*s/%.*s (%.*s)", STR_FMT(pod->map_namespace),
        STR_FMT(pod->map_name), STR_FMT(pod->map_key));
}

/* Reads the text in the ConfigMap of @pod. STR_NULL, with the reason in *ret_error: none. */
static Str read_map(Search *search, const SchedulerPod *pod, Str *ret_error) {
    Collector *collector = search->collector;
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_SIZE);
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;
    Str text = STR_NULL;

    *ret_error = STR("the ConfigMap has no such key");
    buf_append(&path, STR("/api/v1/namespaces/"));
    url_escape(&path, pod->map_namespace);
    buf_append(&path, STR("/configmaps/"));
    url_escape(&path, pod->map_name);
    if (!collect_get(collector, url_text(&path), &reply, error))
        *ret_error = arena_copy(collector->arena, str_from_c(error));
    else if (!read_key(reply.body, collector->arena, pod->map_key, &text))
        return STR_NULL;
    return text;
}

/* Joins a v1alpha1 with its Policy, in the ConfigMap that it names, or beside it in its own. */
static void follow_policy(Search *search, const SchedulerPod *pod, SchedulerConfigFact *fact) {
    const SchedulerConfig *config = &fact->config;
    Collector *collector = search->collector;
    SchedulerPod place = *pod;
    SchedulerConfigFact *policy;
    Str error, text;

    if (config->policy_map_name.len > 0) {
        place.map_namespace = config->policy_map_namespace;
        place.map_name = config->policy_map_name;
        place.map_key = STR("policy.cfg");
    } else if (str_eq(str_folder(config->policy_file), str_folder(pod->path))) {
        place.map_key = str_file_name(config->policy_file);
    } else {
        return;
    }
    text = read_map(search, &place, &error);
    policy = text.ptr ? add_text(collector, map_origin(&place, collector->arena), text) : NULL;
    if (!policy || !is_policy(policy))
        return;
    join_policy(collector, fact, policy);
    collector->facts->n_configs--;
}

static void add_map(Search *search, const SchedulerPod *pod) {
    Collector *collector = search->collector;
    Str origin = map_origin(pod, collector->arena), error, text;
    SchedulerConfigFact *fact;

    if (is_known_map(search, pod))
        return;
    text = read_map(search, pod, &error);
    if (!text.ptr) {
        add_failure(collector, origin, error);
        return;
    }
    fact = add_text(collector, origin, text);
    if (fact && lacks_policy(fact))
        follow_policy(search, pod, fact);
    if (fact && str_is_empty(fact->error))
        find_entry(collector, fact, /* is_file= */ false);
}

/* --- pods ------------------------------------------------------------------------------------ */

static void add_default(Search *search, const SchedulerPod *pod) {
    if (!search->has_default)
        (void)next_fact(
            search->collector, arena_printf(search->collector->arena,
                                   "pod %.*s/%.*s (without --config: kube-scheduler's defaults)",
                                   STR_FMT(pod->pod.namespace), STR_FMT(pod->pod.name)));
    search->has_default = true;
}

static void add_pod(Search *search, const SchedulerPod *pod) {
    const PodFact *fact = &pod->pod;

    if (pod->is_ending || pod->origin == CONFIG_NO_SCHEDULER)
        return;
    search->n_pods++;
    if (pod->origin == CONFIG_MAP)
        add_map(search, pod);
    else if (pod->origin == CONFIG_DEFAULT)
        add_default(search, pod);
    else if (pod->origin == CONFIG_NODE)
        buf_printf(&search->hint,
            "kube-scheduler of pod %.*s/%.*s reads a file of node %.*s; there, run: berth check "
            "--offline %.*s\n",
            STR_FMT(fact->namespace), STR_FMT(fact->name), STR_FMT(fact->node), STR_FMT(pod->path));
    else
        buf_printf(&search->hint,
            "kube-scheduler of pod %.*s/%.*s reads %.*s, which is in no ConfigMap: give its text "
            "with --scheduler-config\n",
            STR_FMT(fact->namespace), STR_FMT(fact->name), STR_FMT(pod->path));
}

static void add_listed(Search *search, const char *path) {
    SchedulerPod *pods = NULL;
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;
    size_t n = 0;
    bool is_list;

    is_list = collect_get(search->collector, path, &reply, error);
    if (is_list) {
        is_list = scheduler_pods_read(reply.body, search->collector->arena, &pods, &n);
        (void)snprintf(error, sizeof(error), "the API server's answer is no list of pods");
    }
    if (!is_list)
        buf_printf(&search->hint, "pods of kube-scheduler cannot be listed: %s\n", error);
    search->has_failed |= !is_list;
    for (size_t i = 0; is_list && i < n; i++)
        add_pod(search, &pods[i]);
}

/* Adds a pod that the user named. */
static void add_named(Search *search, const char *name) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_SIZE);
    Str origin = arena_printf(search->collector->arena, "pod %s", name);
    Str rest = str_from_c(name), namespace = STR_NULL;
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;
    JsonReader reader;
    SchedulerPod pod;

    (void)str_split(&rest, '/', &namespace);
    pod_path(&path, namespace, rest);
    if (!collect_get(search->collector, url_text(&path), &reply, error)) {
        add_failure(
            search->collector, origin, arena_copy(search->collector->arena, str_from_c(error)));
        return;
    }
    json_reader_init(&reader, reply.body);
    scheduler_pod_decode(&reader, search->collector->arena, &pod);
    if (json_error(&reader) != JSON_OK || pod.origin == CONFIG_NO_SCHEDULER)
        add_failure(search->collector, origin, STR("there is no kube-scheduler in it"));
    else
        add_pod(search, &pod);
}

static void search_cluster(Search *search) {
    static const char *const lists[] = {
        "/api/v1/namespaces/kube-system/pods?labelSelector=component%3Dkube-scheduler&limit=16",
        "/api/v1/pods?labelSelector=app.kubernetes.io%2Fpart-of%3Dberth%2C"
        "app.kubernetes.io%2Fcomponent%3Dscheduler&limit=16",
    };
    const CollectOptions *options = search->collector->options;

    for (size_t i = 0; i < ELEMENTS_OF(lists); i++)
        add_listed(search, lists[i]);
    for (size_t i = 0; i < options->n_scheduler_pods; i++)
        add_named(search, options->scheduler_pods[i]);
    if (search->n_pods == 0 && !search->has_failed)
        buf_append(&search->hint,
            STR("no pod of kube-scheduler was found (component=kube-scheduler in kube-system): "
                "name it with --scheduler-pod NAMESPACE/NAME, or give its configuration with "
                "--scheduler-config FILE\n"));
}

void collect_scheduler_configs(Collector *collector) {
    InstallationFacts *facts = collector->facts;
    Search search = {.collector = collector, .hint = BUF_INIT(HINT_MAX)};

    search.maps = ARENA_ARRAY(collector->arena, SchedulerPod, FACTS_CONFIGS_MAX);
    facts->configs = ARENA_ARRAY(collector->arena, SchedulerConfigFact, FACTS_CONFIGS_MAX);
    add_files(collector);
    if (collector->client && str_is_empty(facts->cluster_error))
        search_cluster(&search);
    else if (facts->n_configs == 0 && !collector->client)
        buf_append(&search.hint,
            STR("neither --scheduler-config nor an API server (--kubeconfig, --in-cluster) was "
                "given"));
    facts->config_hint = arena_copy(collector->arena, str_trim(buf_str(&search.hint)));
    buf_done(&search.hint);
}
