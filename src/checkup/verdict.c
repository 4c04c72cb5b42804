/* Verdicts keep the worst state and the first lines of each text; subjects of each scope. */

#include "checkup/verdict.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static const struct {
    double from_sec, unit_sec;
    const char *name;
    bool is_cut; /* rounded down: 6.9 days are not 7 */
} units[] = {
    {2 * DURATION_DAY_SEC, DURATION_DAY_SEC, "days", true},
    {2 * 3600.0, 3600.0, "hours", true},
    {120.0, 60.0, "minutes", true},
    {10.0, 1.0, "s", true},
    {1.0, 1.0, "s", false},
    {1e-6, 1e-3, "ms", false},
    {0.0, 1e-9, "ns", false},
};

DurationText duration_text(double sec) {
    double size = sec < 0 ? -sec : sec, number;
    DurationText span = {.text = ""};
    size_t i = 0;

    while (i < ELEMENTS_OF(units) && !(size >= units[i].from_sec))
        i++;
    if (i == ELEMENTS_OF(units)) /* not a number */
        return span;
    number = size / units[i].unit_sec;
    (void)snprintf(span.text, sizeof(span.text), units[i].is_cut ? "%.0f %s" : "%.3g %s",
        units[i].is_cut ? floor(number) : number, units[i].name);
    return span;
}

bool lifetime_judge(const char *where, double sec, Verdict *verdict) {
    static const char fix[] = "berth certs --renew DIR   # or renew it where it was issued";
    CheckState state = sec >= LIFETIME_WARN_DAYS * DURATION_DAY_SEC  ? CHECK_PASSED
                       : sec < LIFETIME_FAIL_DAYS * DURATION_DAY_SEC ? CHECK_FAILED
                                                                     : CHECK_WARNED;

    if (sec == 0)
        return false;
    if (sec < 0)
        verdict_fail(verdict, fix, "%s: it expired %s ago", where, duration_text(sec).text);
    else
        verdict_add(verdict, state, state == CHECK_PASSED ? NULL : fix, "%s: it expires in %s",
            where, duration_text(sec).text);
    return true;
}

/* Keeps the first lines of a text, and only counts the others. */
static void add_line(Buf *out, Str line, size_t *n) {
    if ((*n)++ >= VERDICT_LINES_MAX)
        return;
    if (out->len > 0)
        buf_append_char(out, '\n');
    buf_append(out, line);
}

void verdict_quote(Verdict *verdict, Str lines) {
    lines = str_trim(lines);
    if (!str_is_empty(lines))
        add_line(&verdict->cause, lines, &verdict->n_causes);
}

void verdict_add(Verdict *verdict, CheckState state, const char *fix, const char *format, ...) {
    static const int ranks[] = {
        [CHECK_PASSED] = 0, [CHECK_SKIPPED] = 1, [CHECK_WARNED] = 2, [CHECK_FAILED] = 3};
    char line[VERDICT_LINE_MAX] = "";
    va_list arguments;

    if (ranks[state] > ranks[verdict->state])
        verdict->state = state;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    verdict_quote(verdict, str_from_c(line));
    if (fix)
        verdict_fix(verdict, "%s", fix);
}

bool verdict_expect(Verdict *verdict, bool is_so, const char *otherwise) {
    if (!is_so)
        verdict_skip(verdict, "%s", otherwise);
    return is_so;
}

void verdict_fix(Verdict *verdict, const char *format, ...) {
    char line[VERDICT_LINE_MAX] = "";
    Str rest = buf_str(&verdict->fix), earlier;
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    while (str_split(&rest, '\n', &earlier))
        if (str_is(earlier, line))
            return;
    add_line(&verdict->fix, str_from_c(line), &verdict->n_fixes);
}

bool config_is_readable(const SchedulerConfigFact *fact) {
    return str_is_empty(fact->error) && !fact->is_invalid;
}

bool entry_next(CheckSubject *at) {
    while (at->next < at->facts->n_configs) {
        const SchedulerConfigFact *fact = &at->facts->configs[at->next++];
        size_t line;

        if (!config_is_readable(fact) || fact->berth_index >= fact->config.n_extenders)
            continue;
        at->config = fact;
        at->entry = &fact->config.extenders[fact->berth_index];
        line = at->entry->place.line;
        if (line > 0)
            (void)snprintf(at->where, sizeof(at->where), "%.*s:%zu", STR_FMT(fact->origin), line);
        else
            (void)snprintf(at->where, sizeof(at->where), "%.*s", STR_FMT(fact->origin));
        return true;
    }
    return false;
}

bool entry_expect(const InstallationFacts *facts, Verdict *verdict) {
    return verdict_expect(verdict, entry_next(&(CheckSubject){.facts = facts}),
        "no configuration that could be read lists berth (B101 to B103)");
}

const BerthFact *berth_next(const InstallationFacts *facts, const BerthFact *berth) {
    for (size_t i = berth ? (size_t)(berth - facts->berths) + 1 : 0; i < facts->n_berths; i++)
        if (str_is_empty(facts->berths[i].error))
            return &facts->berths[i];
    return NULL;
}

size_t berth_count(const InstallationFacts *facts) {
    size_t n = 0;

    FOR_ALL_BERTHS (berth, facts)
        n++;
    return n;
}

bool berth_expect(const InstallationFacts *facts, Verdict *verdict) {
    return verdict_expect(verdict, berth_count(facts) > 0,
        facts->is_offline ? "no berth is contacted with --offline"
                          : "no berth could be reached (B201)");
}

const BerthFact *berth_with(const InstallationFacts *facts, size_t flag) {
    FOR_ALL_BERTHS (berth, facts)
        if (*(const bool *)((const char *)berth + flag))
            return berth;
    return NULL;
}

bool reached_next(CheckSubject *at) {
    at->berth = berth_next(at->facts, at->berth);
    if (at->berth)
        (void)snprintf(at->where, sizeof(at->where), "%.*s", STR_FMT(at->berth->url));
    return at->berth;
}

const BerthFact *berth_with_client_ca(const InstallationFacts *facts) {
    FOR_ALL_BERTHS (berth, facts)
        if (berth->n_client_names > 0)
            return berth;
    return NULL;
}

bool pod_next(CheckSubject *at) {
    at->pod = at->next < at->facts->n_pods ? &at->facts->pods[at->next++] : NULL;
    if (at->pod)
        (void)snprintf(at->where, sizeof(at->where), "%.*s/%.*s", STR_FMT(at->pod->namespace),
            STR_FMT(at->pod->name));
    return at->pod;
}

bool pods_expect(const InstallationFacts *facts, Verdict *verdict) {
    return verdict_expect(
        verdict, facts->are_pods_known && facts->n_pods > 0, "berth's pods are not known (B603)");
}

/* Whether @at, an entry, a berth or a pod, is in @scope. Replicas are compared with the first one,
 * which at->first remembers. */
static bool is_in_scope(CheckSubject *at, CheckScope scope) {
    switch (scope) {
    case SCOPE_HTTPS:
    case SCOPE_CLIENTS:
        return address_is_https(at->entry->url_prefix);
    case SCOPE_OUTSIDE: /* the network does not reach a berth on loopback */
        return !address_is_loopback(at->berth->url);
    case SCOPE_WATCHERS:
        return at->berth->knows_cluster;
    case SCOPE_OTHERS:
    case SCOPE_OTHER_WATCHERS:
        if (scope == SCOPE_OTHER_WATCHERS && !at->berth->knows_cluster)
            return false;
        if (at->first)
            return true;
        at->first = at->berth;
        return false;
    default:
        return true;
    }
}

static bool scope_next(CheckSubject *at, CheckScope scope) {
    while (scope <= SCOPE_CLIENTS ? entry_next(at)
           : scope == SCOPE_PODS  ? pod_next(at)
                                  : reached_next(at))
        if (is_in_scope(at, scope))
            return true;
    return false;
}

/* Whether kube-scheduler calls berth over the network; if not, --server's URL is only for pages. */
static bool is_called_from_outside(const InstallationFacts *facts) {
    bool is_outside = !entry_next(&(CheckSubject){.facts = facts});

    FOR_EACH_ENTRY (at, facts)
        is_outside |= !address_is_loopback(at.entry->url_prefix);
    return is_outside;
}

static bool scope_expect(const InstallationFacts *facts, CheckScope scope, Verdict *verdict) {
    bool has_one = scope_next(&(CheckSubject){.facts = facts}, scope);

    switch (scope) {
    case SCOPE_ENTRIES:
        return entry_expect(facts, verdict);
    case SCOPE_HTTPS:
        return entry_expect(facts, verdict) &&
               verdict_expect(verdict, has_one, "kube-scheduler uses plain HTTP");
    case SCOPE_CLIENTS:
        return scope_expect(facts, SCOPE_HTTPS, verdict) && berth_expect(facts, verdict) &&
               verdict_expect(
                   verdict, berth_with_client_ca(facts), "no berth requires a client certificate");
    case SCOPE_OUTSIDE:
        return berth_expect(facts, verdict) &&
               verdict_expect(verdict, is_called_from_outside(facts),
                   "kube-scheduler calls berth on loopback");
    case SCOPE_WATCHERS:
        return berth_expect(facts, verdict) &&
               verdict_expect(verdict, has_one,
                   "no berth has a cluster: it judges the nodes that requests carry");
    case SCOPE_OTHERS:
        return berth_expect(facts, verdict) &&
               verdict_expect(verdict, has_one, "there is one berth");
    case SCOPE_OTHER_WATCHERS:
        return scope_expect(facts, SCOPE_WATCHERS, verdict) &&
               verdict_expect(verdict, has_one,
                   berth_count(facts) == 1 ? "there is one berth"
                                           : "only one of the berths has a cluster");
    case SCOPE_PODS:
        return pods_expect(facts, verdict);
    default:
        return berth_expect(facts, verdict);
    }
}

bool cluster_expect(const InstallationFacts *facts, Verdict *verdict) {
    return verdict_expect(verdict, facts->was_cluster_asked && str_is_empty(facts->cluster_error),
        "this needs an API server: --kubeconfig or --in-cluster");
}

double berth_last_request_sec(const BerthFact *berth) {
    double last = INFINITY;

    for (size_t i = 0; i < berth->n_schedulers; i++)
        if (berth->schedulers[i].n_requests > 0)
            last = fmin(last, berth->schedulers[i].last_request_sec);
    return last;
}

/* Vendors append their own suffixes: "v1.29.3-gke.1", "1.30+". */
int release_minor(Str version) {
    int minor = -1;

    if (str_has_prefix(version, STR("v")))
        version = str_skip(version, 1);
    if (!str_has_prefix(version, STR("1.")))
        return -1;
    version = str_skip(version, 2);
    for (size_t i = 0; i < version.len && i < 4; i++) {
        if (version.ptr[i] < '0' || version.ptr[i] > '9')
            break;
        minor = (minor < 0 ? 0 : minor) * 10 + (version.ptr[i] - '0');
    }
    return minor;
}

int verdict_of(const Check *check, const InstallationFacts *facts, Arena *arena, Finding *ret) {
    Verdict verdict = {
        .cause = BUF_INIT(VERDICT_TEXT_MAX),
        .fix = BUF_INIT(VERDICT_TEXT_MAX),
    };
    CheckSubject at = {.facts = facts};
    bool is_bad, has_memory;

    if (check->scope == SCOPE_ALL)
        check->judge(&at, &verdict);
    else if (scope_expect(facts, check->scope, &verdict))
        while (scope_next(&at, check->scope))
            check->judge(&at, &verdict);
    is_bad = verdict.state == CHECK_WARNED || verdict.state == CHECK_FAILED;
    if (verdict.n_causes > VERDICT_LINES_MAX)
        buf_printf(&verdict.cause, "\nand %zu more", verdict.n_causes - VERDICT_LINES_MAX);
    *ret = (Finding){
        .state = verdict.state,
        .cause = arena_copy(arena, buf_str(&verdict.cause)),
        .fix = is_bad ? arena_copy(arena, buf_str(&verdict.fix)) : STR(""),
    };
    /* A text that reached its limit is cut: no error. */
    has_memory = buf_error(&verdict.cause) != -ENOMEM && buf_error(&verdict.fix) != -ENOMEM &&
                 ret->cause.ptr && ret->fix.ptr;
    buf_done(&verdict.cause);
    buf_done(&verdict.fix);
    return has_memory ? 0 : -ENOMEM;
}
