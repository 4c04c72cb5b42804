/*
 * Reads a configuration of kube-scheduler in any of its formats. Configuration of its own plugins
 * is not read.
 */

#include <errno.h>
#include <stdio.h>

#include "wiring/read-internal.h"
#include "json/read.h"

#define GROUP "kubescheduler.config.k8s.io/"
#define DEFAULT_SCHEDULER "default-scheduler"

static void read_percentage(
    WiringReading *reading, const YamlNode *value, const char *name, void *into) {
    int64_t percentage;

    if (reader_int(&reading->reader, value, name, 0, 100, &percentage))
        *(int *)into = (int)percentage;
}

typedef struct Profile {
    Str name;
    int percentage; /* -1: the global one */
} Profile;

static void read_mapping(
    WiringReading *reading, const YamlNode *value, const char *name, void *into) {
    (void)reader_mapping(&reading->reader, value, name);
}

static void read_list(WiringReading *reading, const YamlNode *value, const char *name, void *into) {
    (void)reader_sequence(&reading->reader, value, name);
}

/* Plugins and their configuration are kube-scheduler's own. */
static const WiringField profile_fields[] = {
    WIRING_FIELD(Profile, name, "schedulerName", wiring_read_string),
    WIRING_FIELD(Profile, percentage, "percentageOfNodesToScore", read_percentage),
    {.name = "plugins", .read = read_mapping},
    {.name = "pluginConfig", .read = read_list},
};

/* kube-scheduler names a single profile by default; each of several needs a name. */
static void read_name(WiringReading *reading, const YamlNode *profile, bool is_only, Str name) {
    SchedulerConfig *config = reading->config;
    const YamlNode *at = wiring_find(profile, "schedulerName");

    if (!at && is_only)
        name = STR(DEFAULT_SCHEDULER);
    if (str_is_empty(name)) {
        if (!at || at->kind == YAML_STRING)
            reader_error(&reading->reader, at ? at : profile, "a profile needs a schedulerName");
        return;
    }
    if (str_is_one_of(name, config->scheduler_names, config->n_scheduler_names)) {
        reader_error(&reading->reader, at ? at : profile,
            "another profile has the schedulerName \"%.*s\"", STR_FMT(name));
        return;
    }
    config->scheduler_names[config->n_scheduler_names++] = name;
}

static void read_profiles(
    WiringReading *reading, const YamlNode *value, const char *name, void *into) {
    /* finish_profiles() reads them: it needs the global percentageOfNodesToScore */
    if (wiring_is_list(reading, value, name, WIRING_PROFILES_MAX, "profiles"))
        reading->profiles = value;
}

/* A profile's own percentage overrides the global one; the smallest is the share of nodes that an
 * extender is certain to see. 0 and -1, kube-scheduler's default, count as smallest. */
static void finish_profiles(WiringReading *reading) {
    const YamlNode *list = reading->profiles;
    SchedulerConfig *config = reading->config;
    int all = config->percentage, least = 100;

    if (!list || list->n == 0)
        return;
    config->scheduler_names = ARENA_ARRAY(reading->reader.arena, Str, list->n);
    for (size_t i = 0; config->scheduler_names && i < list->n; i++) {
        Profile profile = {.percentage = -1};
        int percentage;

        if (!WIRING_READ_FIELDS(reading, list->items[i], "a profile", profile_fields, &profile))
            continue;
        read_name(reading, list->items[i], list->n == 1, profile.name);
        percentage = profile.percentage >= 0 ? profile.percentage : all;
        least = percentage < least ? percentage : least;
    }
    config->percentage = least;
}

#define SECTION(key, how, in)                                                                      \
    { .name = (key), .read = (how), .versions = (in) }

#define IN_PROFILED (IN_V1 | IN_BETA | IN_ALPHA2) /* versions with profiles */
#define IN_CONFIG (IN_PROFILED | IN_ALPHA1)
#define IN_ALPHA (IN_ALPHA2 | IN_ALPHA1)

static const WiringField root_fields[] = {
    SECTION("apiVersion", NULL, 0),
    SECTION("kind", NULL, 0),
    SECTION("extenders", wiring_read_extenders, IN_PROFILED | IN_POLICY),
    SECTION("predicates", NULL, IN_POLICY),
    SECTION("priorities", NULL, IN_POLICY),
    SECTION("profiles", read_profiles, IN_PROFILED),
    SECTION("schedulerName", NULL, IN_ALPHA1), /* read_only_name() */
    SECTION("algorithmSource", wiring_read_algorithm, IN_ALPHA1),
    WIRING_FIELD(SchedulerConfig, percentage, "percentageOfNodesToScore", read_percentage,
        .versions = IN_CONFIG),
    SECTION("leaderElection", wiring_read_election, IN_CONFIG),
    SECTION("clientConnection", wiring_read_connection, IN_CONFIG),
    SECTION("parallelism", wiring_read_parallelism, IN_PROFILED),
    SECTION("enableProfiling", wiring_read_flag, IN_CONFIG),
    SECTION("enableContentionProfiling", wiring_read_flag, IN_CONFIG),
    SECTION("podInitialBackoffSeconds", NULL, IN_CONFIG), /* wiring_check_backoff() */
    SECTION("podMaxBackoffSeconds", NULL, IN_CONFIG),
    SECTION("delayCacheUntilActive", wiring_read_flag, IN_PROFILED),
    SECTION("healthzBindAddress", NULL, IN_BETA | IN_ALPHA),
    SECTION("metricsBindAddress", NULL, IN_BETA | IN_ALPHA),
    SECTION("disablePreemption", NULL, IN_ALPHA),
    SECTION("bindTimeoutSeconds", NULL, IN_ALPHA),
    SECTION("hardPodAffinitySymmetricWeight", NULL, IN_ALPHA1 | IN_POLICY),
    SECTION("alwaysCheckAllPredicates", NULL, IN_POLICY),
    SECTION("plugins", read_mapping, IN_ALPHA1),
    SECTION("pluginConfig", read_list, IN_ALPHA1),
};

typedef struct Version {
    WiringRelease release;
    unsigned version;
} Version;

static const Version versions[] = {
    {{WIRING_V1, STR(GROUP "v1"), 25, 0}, IN_V1},
    {{WIRING_V1, STR(GROUP "v1beta3"), 23, 28}, IN_BETA},
    {{WIRING_V1, STR(GROUP "v1beta2"), 22, 27}, IN_BETA},
    {{WIRING_V1, STR(GROUP "v1beta1"), 19, 22}, IN_BETA},
    {{WIRING_V1, STR(GROUP "v1alpha2"), 18, 18}, IN_ALPHA2},
    {{WIRING_V1, STR(GROUP "v1alpha1"), 16, 18}, IN_ALPHA1},
    {{WIRING_POLICY, STR("v1"), 16, 22}, IN_POLICY},
    {{WIRING_POLICY, STR(GROUP "v1"), 17, 22}, IN_POLICY},
};

static const Version *find_version(WiringFormat format, Str api_version) {
    for (size_t i = 0; i < ELEMENTS_OF(versions); i++)
        if (versions[i].release.format == format &&
            str_eq(versions[i].release.api_version, api_version))
            return &versions[i];
    return NULL;
}

const WiringRelease *wiring_release_find(WiringFormat format, Str api_version) {
    const Version *version = find_version(format, api_version);

    return version ? &version->release : NULL;
}

static void complain_of_version(WiringReading *reading, const YamlNode *at) {
    Str known[ELEMENTS_OF(versions)], meant;
    char hint[128] = "kube-scheduler 1.25 and later read " GROUP "v1";
    size_t n = 0;

    for (size_t i = 0; i < ELEMENTS_OF(versions); i++)
        if (versions[i].release.format == WIRING_V1)
            known[n++] = versions[i].release.api_version;
    meant = str_nearest(at->text, known, n);
    if (!str_is_empty(meant))
        (void)snprintf(hint, sizeof(hint), "did you mean \"%.*s\"?", STR_FMT(meant));
    reader_error_hint(&reading->reader, at, str_from_c(hint),
        "no kube-scheduler reads extenders from apiVersion \"%.*s\"", STR_FMT(at->text));
}

/* Reads the schedulerName of v1alpha1, which has no profiles. */
static void read_only_name(WiringReading *reading, const YamlNode *root) {
    const YamlNode *at = wiring_find(root, "schedulerName");
    SchedulerConfig *config = reading->config;
    Str *name = at ? ARENA_NEW(reading->reader.arena, Str) : NULL;

    if (!name || !reader_string(&reading->reader, at, "schedulerName", name) || str_is_empty(*name))
        return;
    config->scheduler_names = name;
    config->n_scheduler_names = 1;
}

static void read_config(WiringReading *reading, const YamlNode *root, const YamlNode *api_version) {
    const Version *version = find_version(WIRING_V1, api_version->text);
    SchedulerConfig *config = reading->config;
    char text[WIRING_RELEASE_TEXT_MAX];

    if (!version) {
        complain_of_version(reading, api_version);
        return;
    }
    reading->version = version->version;
    reading->is_legacy = (version->version & IN_ALPHA) != 0;
    reading->is_beta = version->release.last > 0;
    if (reading->is_beta)
        reader_warning(&reading->reader, api_version, STR("1.25 and later read " GROUP "v1"),
            "only kube-scheduler %s reads this apiVersion",
            wiring_release_print(&version->release, text));
    config->has_leader_election = true;
    (void)WIRING_READ_FIELDS(reading, root, "KubeSchedulerConfiguration", root_fields, config);
    if (reading->version == IN_ALPHA1)
        read_only_name(reading, root);
    else
        finish_profiles(reading);
    wiring_check_backoff(reading, root);
}

static void read_policy(WiringReading *reading, const YamlNode *root, const YamlNode *api_version) {
    if (!wiring_release_find(WIRING_POLICY, api_version->text))
        reader_error(&reading->reader, api_version,
            "apiVersion of a Policy must be v1, not \"%.*s\"", STR_FMT(api_version->text));
    reading->version = IN_POLICY;
    reading->is_legacy = true;
    (void)WIRING_READ_FIELDS(reading, root, "Policy", root_fields, reading->config);
}

/* A hint for other kinds that users pass by mistake. */
static Str hint_of_kind(Str kind) {
    static const struct {
        Str kind, hint;
    } hints[] = {
        {STR("ConfigMap"),
            STR("the file is in its data: kubectl get configmap NAME -n NAMESPACE -o "
                "jsonpath='{.data.KEY}'")},
        {STR("Pod"), STR("the file is what its --config names, mostly by a hostPath or ConfigMap")},
        {STR("Deployment"), STR("the file is what its --config names, mostly by a ConfigMap")},
        {STR("PlacementPolicy"), STR("policies are checked by: berth check FILE")},
    };

    for (size_t i = 0; i < ELEMENTS_OF(hints); i++)
        if (str_eq(hints[i].kind, kind))
            return hints[i].hint;
    return STR_NULL;
}

/* A required string. NULL after an error. */
static const YamlNode *need_text(WiringReading *reading, const YamlNode *root, const char *key) {
    const YamlNode *value = wiring_find(root, key);
    Str text;

    if (!value)
        reader_error(&reading->reader, root, "%s is missing", key);
    return value && reader_string(&reading->reader, value, key, &text) ? value : NULL;
}

static void read_document(WiringReading *reading, const YamlNode *root) {
    const YamlNode *kind, *api_version;

    if (!reader_mapping(&reading->reader, root, "kube-scheduler's configuration"))
        return;
    kind = need_text(reading, root, "kind");
    api_version = need_text(reading, root, "apiVersion");
    if (!kind || !api_version)
        return;
    reading->config->api_version = api_version->text;
    if (str_is(kind->text, "KubeSchedulerConfiguration"))
        read_config(reading, root, api_version);
    else if (str_is(kind->text, "Policy")) {
        reading->config->format = WIRING_POLICY;
        read_policy(reading, root, api_version);
    } else
        reader_error_hint(&reading->reader, kind, hint_of_kind(kind->text),
            "kind must be KubeSchedulerConfiguration (or Policy, before 1.23), not \"%.*s\"",
            STR_FMT(kind->text));
}

static void check_json(WiringReading *reading, Str file) {
    JsonReader json;
    char text[128];

    json_reader_init(&json, reading->reader.source);
    json_skip(&json, NULL);
    json_end(&json);
    if (json_error(&json) == JSON_OK)
        return;
    (void)snprintf(text, sizeof(text), "this is no JSON: %s", json.error_text);
    diag_add(reading->reader.diags, DIAG_ERROR,
        yaml_place(file, reading->reader.source, json.error_at), reading->reader.source,
        str_from_c(text), STR("a file that begins with { is read as JSON, not as YAML"));
}

/* Checks the lines before the first document that is not empty. */
static void check_head(WiringReading *reading, const YamlNode *root) {
    Str rest = reading->reader.source, line;
    size_t n_marks = 0;

    for (size_t i = 1; i < root->place.line && str_split(&rest, '\n', &line); i++) {
        YamlNode at = {.place = {.file = root->place.file, .line = i, .column = 1, .width = 3}};

        if (str_has_prefix(line, STR("%YAML")) && !str_has_prefix(line, STR("%YAML 1.1")))
            reader_error(&reading->reader, &at, "kube-scheduler reads YAML 1.1 only");
        if (str_has_prefix(line, STR("---")) && n_marks++ > 0)
            reader_error(&reading->reader, &at,
                "the document before this line is empty, and kube-scheduler reads that one");
    }
}

/* kube-scheduler reads a text that begins with a brace as JSON only. */
static void read_first(WiringReading *reading, Str file, YamlNode *root) {
    if (str_has_prefix(str_trim(reading->reader.source), STR("{"))) {
        check_json(reading, file);
    } else {
        check_head(reading, root);
        go_scalars_resolve(root);
    }
    read_document(reading, root);
}

/* The document after the first: the Policy of a v1alpha1, or one that is ignored. */
static void read_second(WiringReading *reading, YamlNode *root) {
    const YamlNode *kind = root->kind == YAML_MAPPING ? wiring_find(root, "kind") : NULL;
    const YamlNode *api_version;

    if (scheduler_config_lacks_policy(reading->config) && kind && str_is(kind->text, "Policy")) {
        go_scalars_resolve(root);
        api_version = need_text(reading, root, "apiVersion");
        if (api_version)
            read_policy(reading, root, api_version);
        return;
    }
    reader_warning(&reading->reader, root, STR_NULL,
        "kube-scheduler reads the first document only; this one is not seen");
}

/* Whether kube-scheduler may accept the file that berth cannot read. */
static bool is_unread(const WiringReading *reading, const YamlStream *stream, size_t n_errors) {
    return reading->is_beyond || (stream->n_unsupported > 0 && stream->n_unsupported == n_errors);
}

int scheduler_config_read(Str file, Str text, Arena *arena, DiagList *diags, SchedulerConfig *ret) {
    WiringReading reading = {
        .reader = {.arena = arena, .diags = diags}, .config = ret, .managed = MAP_INIT_IN(arena)};
    size_t n_errors = diags->n_errors, from = diags->diags.n;
    YamlStream stream = {0};
    int r;

    *ret = (SchedulerConfig){.percentage = -1};
    r = yaml_parse(file, text, arena, diags, &stream);
    if (r < 0 && is_unread(&reading, &stream, diags->n_errors - n_errors))
        return WIRING_E_UNREAD;
    if (r < 0)
        return r;
    reading.reader.source = stream.source;
    if (stream.n_documents == 0)
        diag_add(diags, DIAG_ERROR, (Place){.file = file}, STR_NULL, STR("it is empty"), STR_NULL);
    else
        read_first(&reading, file, stream.documents[0]);
    if (stream.n_documents > 1)
        read_second(&reading, stream.documents[1]);
    diag_list_sort(diags, from);
    if (ret->n_scheduler_names == 0 && (ret->scheduler_names = ARENA_NEW(arena, Str)))
        ret->scheduler_names[ret->n_scheduler_names++] = STR(DEFAULT_SCHEDULER);
    if (arena_has_failed(arena))
        return -ENOMEM;
    if (diags->n_errors == n_errors)
        return 0;
    return is_unread(&reading, &stream, diags->n_errors - n_errors) ? WIRING_E_UNREAD : -EINVAL;
}
