#include "live/nominations.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/test-assert.h"

/*
 * A scenario is a list of steps; those that return something append it to the result.
 *
 *     at MSEC                  the time
 *     pods FIRST LAST          pending pods appear: pFIRST ... of scheduler "default"
 *     urgent N                 one with priority 100
 *     other FIRST LAST         of scheduler "other", which never calls
 *     asks N NODES             a filter request about pN with so many nodes
 *     pace FIRST LAST MSEC     one for each pod, every MSEC, with 5 nodes
 *     quick FIRST LAST MSEC    the same for nominated ones, with 1 node
 *     writes N MSEC            so many patches were written, with that latency
 *     decide                   > a state
 *     list LEAD MAX            > the free pods, and "~" before those that are near: within LEAD ms
 *     plan N NODE              a node is chosen for a pod that is near
 *     planned N                > the node to be returned alone, "*" behind it if nominated; or none
 *     returned N               it was returned alone
 *     claim N NODE LEAD        > whether the pod of the last list could be claimed
 *     claims FIRST LAST        the same for many, for node n, and all of them are shown
 *     shows N NODE             the watch shows the nomination
 *     tried N NODE             the same, and that kube-scheduler tried it in vain
 *     binds N NODE, gone N     the watch shows the end
 *     binds-all FIRST LAST NODE
 *     expire                   > pods whose nomination is to be withdrawn
 *     avoids NODE              > yes or no
 *     begin-list, end-list
 *     figures                  > used/unused/expired free outstanding
 *     outcome N                > of the nomination of pN, in the log
 */

typedef struct Run {
    NominationLog *log;
    Nominations *nominations;
    Arena *arena;
    int64_t now;
    WriteFigures writes;
    FreePod listed[5000];
    size_t n_listed;
    Buf out;
} Run;

static Pod make_pod(Arena *arena, long number) {
    return (Pod){
        .name = arena_printf(arena, "p%ld", number),
        .namespace = STR("ns"),
        .uid = arena_printf(arena, "p%ld", number),
        .scheduler_name = STR("default"),
        .resource_version = STR("7"),
    };
}

static void see(Run *run, const Pod *pod, bool was_tried) {
    nominations_see(run->nominations, pod, STR("{}"), was_tried, run->now);
}

static void show(Run *run, long number, const char *node, bool was_tried) {
    Pod pod = make_pod(run->arena, number);

    pod.nominated_node_name = str_from_c(node);
    see(run, &pod, was_tried);
}

static void bind(Run *run, long number, const char *node) {
    Pod pod = make_pod(run->arena, number);

    pod.node_name = str_from_c(node);
    see(run, &pod, false);
}

static void ask(Run *run, long number, long n_nodes) {
    Pod pod = make_pod(run->arena, number);

    nominations_note_filter(
        run->nominations, pod.uid, pod.scheduler_name, (size_t)n_nodes, run->now);
}

static bool claim(Run *run, long number, const char *node, long lead_msec) {
    char uid[32];

    (void)snprintf(uid, sizeof(uid), "p%ld", number);
    for (size_t i = 0; i < run->n_listed; i++)
        if (str_is(run->listed[i].uid, uid)) {
            NominationRecord record = {.name = run->listed[i].name, .uid = run->listed[i].uid};

            if (!nominations_claim(run->nominations, &run->listed[i], str_from_c(node),
                    lead_msec * NSEC_PER_MSEC, run->now))
                return false;
            nomination_log_add(run->log, &record);
            return true;
        }
    return false;
}

static void print_outcome(Run *run, long number) {
    NominationRecord record;

    assert_true(nomination_log_find(
        run->log, STR_NULL, make_pod(run->arena, number).name, STR_NULL, run->arena, &record));
    buf_printf(&run->out, " %s", nomination_outcome_name(record.outcome));
}

static void list(Run *run, long lead_msec, long max) {
    (void)nominations_decide(run->nominations, &run->writes, run->now);
    run->n_listed = nominations_list(run->nominations, lead_msec * NSEC_PER_MSEC, run->now,
        (size_t)max, run->arena, run->listed);
}

static void print_listed(Run *run) {
    for (size_t i = 0; i < run->n_listed; i++)
        buf_printf(
            &run->out, " %s%.*s", run->listed[i].is_near ? "~" : "", STR_FMT(run->listed[i].uid));
    buf_append(&run->out, run->n_listed == 0 ? STR(" none") : STR_NULL);
}

static void plan(Run *run, long number, const char *node) {
    nominations_plan(run->nominations, make_pod(run->arena, number).uid,
        &(PlannedNode){.node = str_from_c(node), .n_feasible = 5, .n_best = 1}, run->now);
}

static void print_planned(Run *run, long number) {
    PlannedNode planned;

    if (!nominations_find_plan(
            run->nominations, make_pod(run->arena, number).uid, run->now, run->arena, &planned)) {
        buf_append(&run->out, STR(" none"));
        return;
    }
    assert_int_equal(planned.n_feasible, 5);
    buf_printf(&run->out, " %.*s%s", STR_FMT(planned.node), planned.is_nominated ? "*" : "");
}

static void print_expired(Run *run) {
    Nomination expired[64];
    size_t n = nominations_expire(run->nominations, run->now, 64, run->arena, expired);

    for (size_t i = 0; i < n; i++) {
        assert_true(str_is_empty(expired[i].node));
        assert_true(str_is(expired[i].resource_version, "7"));
        buf_printf(&run->out, " %.*s", STR_FMT(expired[i].uid));
    }
    buf_append(&run->out, n == 0 ? STR(" none") : STR_NULL);
}

static void print_figures(Run *run) {
    NominationFigures figures = nominations_figures(run->nominations);

    buf_printf(&run->out, " %" PRIu64 "/%" PRIu64 "/%" PRIu64 " %zu %zu", figures.n_used,
        figures.n_unused, figures.n_expired, figures.n_free, figures.n_outstanding);
}

static bool step_cluster(Run *run, const char *verb, const long *n, const char *node) {
    Pod pod = make_pod(run->arena, n[0]);

    if (strcmp(verb, "pods") == 0)
        for (long i = n[0]; i <= n[1]; i++) {
            pod = make_pod(run->arena, i);
            see(run, &pod, false);
        }
    else if (strcmp(verb, "other") == 0)
        for (long i = n[0]; i <= n[1]; i++) {
            pod = make_pod(run->arena, i);
            pod.scheduler_name = STR("other");
            see(run, &pod, false);
        }
    else if (strcmp(verb, "urgent") == 0) {
        pod.priority = 100;
        see(run, &pod, false);
    } else if (strcmp(verb, "shows") == 0)
        show(run, n[0], node, false);
    else if (strcmp(verb, "tried") == 0)
        show(run, n[0], node, true);
    else if (strcmp(verb, "binds") == 0)
        bind(run, n[0], node);
    else if (strcmp(verb, "binds-all") == 0)
        for (long i = n[0]; i <= n[1]; i++)
            bind(run, i, node);
    else if (strcmp(verb, "gone") == 0)
        nominations_forget(run->nominations, pod.uid);
    else if (strcmp(verb, "begin-list") == 0)
        nominations_begin_list(run->nominations);
    else if (strcmp(verb, "end-list") == 0)
        nominations_end_list(run->nominations);
    else
        return false;
    return true;
}

static bool step_scheduler(Run *run, const char *verb, const long *n) {
    if (strcmp(verb, "at") == 0)
        run->now = n[0] * NSEC_PER_MSEC;
    else if (strcmp(verb, "asks") == 0)
        ask(run, n[0], n[1]);
    else if (strcmp(verb, "pace") == 0)
        for (long i = n[0]; i <= n[1]; i++, run->now += n[2] * NSEC_PER_MSEC)
            ask(run, i, 5);
    else if (strcmp(verb, "quick") == 0)
        for (long i = n[0]; i <= n[1]; i++, run->now += n[2] * NSEC_PER_MSEC)
            ask(run, i, 1);
    else if (strcmp(verb, "writes") == 0)
        run->writes =
            (WriteFigures){.n_written = (uint64_t)n[0], .latency_nsec = n[1] * NSEC_PER_MSEC};
    else
        return false;
    return true;
}

static void step_nominations(Run *run, const char *verb, const long *n, const char *node) {
    if (strcmp(verb, "decide") == 0)
        buf_printf(&run->out, " %s",
            nominator_state_name(nominations_decide(run->nominations, &run->writes, run->now)));
    else if (strcmp(verb, "list") == 0) {
        list(run, n[0], n[1]);
        print_listed(run);
    } else if (strcmp(verb, "plan") == 0)
        plan(run, n[0], node);
    else if (strcmp(verb, "planned") == 0)
        print_planned(run, n[0]);
    else if (strcmp(verb, "returned") == 0)
        nominations_note_returned(run->nominations, make_pod(run->arena, n[0]).uid);
    else if (strcmp(verb, "claim") == 0)
        buf_printf(&run->out, " %s", claim(run, n[0], node, n[1]) ? "yes" : "no");
    else if (strcmp(verb, "claims") == 0) {
        list(run, 0, ELEMENTS_OF(run->listed));
        for (long i = n[0]; i <= n[1]; i++)
            if (claim(run, i, "n", 0))
                show(run, i, "n", false);
    } else if (strcmp(verb, "expire") == 0)
        print_expired(run);
    else if (strcmp(verb, "avoids") == 0)
        buf_printf(&run->out, " %s",
            nominations_avoids(run->nominations, str_from_c(node), run->now) ? "yes" : "no");
    else if (strcmp(verb, "outcome") == 0)
        print_outcome(run, n[0]);
    else if (strcmp(verb, "figures") == 0)
        print_figures(run);
    else
        fail_msg("no such step: %s", verb);
}

/* "VERB [NUMBER | WORD]...", numbers and one word in any order. */
static void step(Run *run, char *text) {
    char *save, *verb = strtok_r(text, " ", &save), *word;
    const char *node = "";
    long n[3] = {0};
    size_t n_numbers = 0;

    while ((word = strtok_r(NULL, " ", &save)))
        if (word[0] >= '0' && word[0] <= '9')
            n[n_numbers++] = strtol(word, NULL, 10);
        else
            node = word;
    if (!step_cluster(run, verb, n, node) && !step_scheduler(run, verb, n))
        step_nominations(run, verb, n, node);
}

static const struct {
    const char *name, *steps, *result;
} scenarios[] = {
    {"nothing is known of a scheduler that never called", "pods 0 99; decide", "idle"},
    {"outcomes of nominations",
        "asks 900 5; pods 0 99; list 0 9; claim 0 n1; claim 1 n1; claim 2 n1; claim 3 n1; claim 4 "
        "n1; claim 5 n1; claim 6 n1; shows 0 n1; shows 1 n1; shows 2 n1; shows 4 n1; tried 5 n1; "
        "outcome 0; binds 0 n1; binds 1 n2; gone 2; binds 3 n2; shows 4 n2; expire; shows 5; at "
        "700000; "
        "expire; outcome 0; outcome 1; outcome 2; outcome 3; outcome 4; outcome 5; outcome 6",
        "p0 p1 p2 p3 p4 p5 p6 p7 p8 yes yes yes yes yes yes yes outstanding p5 none used unused "
        "dropped rejected dropped expired rejected"},
    {"few pods", "asks 900 5; pods 0 48; decide; pods 49 49; decide", "idle nominating"},
    {"pods of another scheduler",
        "asks 900 5; other 0 99; list 0 5; pods 100 149; at 2000; list 0 3", "none p100 p101 p102"},
    {"in the order of kube-scheduler", "asks 900 5; pods 0 99; urgent 200; list 0 3", "p200 p0 p1"},
    {"a pod that was asked about is not nominated",
        "asks 900 5; pods 0 99; list 0 2; asks 0 5; claim 0 n1; claim 1 n1; at 3000; list 0 1",
        "p0 p1 no yes p2"},
    {"a filter request that overtakes the watch",
        "asks 900 5; asks 0 5; pods 0 99; at 3000; list 0 1", "p1"},
    {"the pods that kube-scheduler reaches first are not nominated",
        "asks 900 5; pods 0 99; pace 0 9 20; list 100 8; at 3000; list 100 1",
        "~p10 ~p11 ~p12 ~p13 ~p14 ~p15 p16 p17 p10"},
    {"also if it is faster than expected",
        "asks 900 5; pods 0 99; pace 0 9 20; list 100 9; pace 10 11 20; claim 16 n1 100; claim 17 "
        "n1 "
        "100; claim 18 n1 100",
        "~p10 ~p11 ~p12 ~p13 ~p14 ~p15 p16 p17 p18 no no yes"},
    {"pods without a nomination take as long as they do, however fast nominated ones were",
        "asks 900 5; pods 0 199; pace 0 9 20; claims 16 99; quick 16 99 2; list 100 8",
        "~p10 ~p11 ~p12 ~p13 ~p14 ~p15 p100 p101"},
    {"a pod is planned once",
        "asks 900 5; pods 0 99; pace 0 9 20; list 40 4; plan 10 n; plan 11 n; list 40 3",
        "~p10 ~p11 ~p12 p13 ~p12 p13 p14"},
    {"if patches are slow, the pods of the next second are planned",
        "asks 900 5; pods 0 199; pace 0 49 50; writes 20 400; list 100 99",
        "~p50 ~p51 ~p52 ~p53 ~p54 ~p55 ~p56 ~p57 ~p58 ~p59 ~p60 ~p61 ~p62 ~p63 ~p64 ~p65 ~p66 ~p67 "
        "~p68 ~p69 ~p70"},
    {"and that only if they are enough for a round",
        "asks 900 5; pods 0 199; pace 0 49 100; writes 20 900; list 100 99", "none"},
    {"no pod is planned for a kube-scheduler that is fast",
        "asks 900 5; pods 0 199; pace 0 49 4; writes 20 40; list 100 99", "none"},
    {"a planned node is returned alone, once",
        "asks 900 5; pods 0 99; pace 0 9 20; decide; planned 10; plan 10 n; planned 10; asks 10 5; "
        "planned 10; returned 10; planned 10",
        "nominating none n n none"},
    {"if kube-scheduler asks again, it gets all nodes, and the node is avoided",
        "asks 900 5; pods 0 99; pace 0 9 20; decide; plan 10 n; plan 11 n; asks 10 5; returned 10; "
        "avoids n; asks 10 5; planned 10; avoids n; planned 11",
        "nominating no none yes none"},
    {"a node that was returned alone and not taken is avoided",
        "asks 900 5; pods 0 99; pace 0 9 20; decide; plan 10 n; plan 11 m; asks 10 5; returned 10; "
        "asks 11 5; returned 11; binds 10 n; binds 11 n; avoids n; avoids m",
        "nominating no yes"},
    {"a plan expires",
        "asks 900 5; pods 0 199; pace 0 9 20; decide; plan 50 n; pace 10 40 100; planned 50; pace "
        "41 49 300; planned 50",
        "nominating n none"},
    {"then the pod is planned again",
        "asks 900 5; pods 0 99; pace 0 9 20; decide; plan 12 n; list 40 4; pace 10 11 1000; list "
        "40 "
        "2; pace 40 43 900; list 4000 8",
        "nominating ~p10 ~p11 p13 p14 p13 p14 ~p12 ~p13 ~p14 p21 p22 p23 p24 p25"},
    {"plans are used to the end of a backlog",
        "asks 900 5; pods 0 59; pace 0 9 20; decide; plan 12 n; decide; pace 20 29 20; decide; "
        "planned 12",
        "nominating nominating idle n"},
    {"a plan for a node whose nomination was not used",
        "asks 900 5; pods 0 99; pace 0 9 20; claims 50 50; plan 10 n; planned 10; binds 50 m; "
        "planned 10",
        "n none"},
    {"a plan during preemption",
        "asks 900 5; pods 0 99; pace 0 9 20; decide; plan 10 n; shows 90 other; decide; planned 10",
        "nominating preemption none"},
    {"a nomination that comes too late: its node is returned alone",
        "asks 900 5; pods 0 99; list 0 1; plan 0 n; claim 0 n; asks 0 5; planned 0; shows 0 n; "
        "binds 0 n; figures",
        "p0 yes n* 1/0/0 99 0"},
    {"once",
        "asks 900 5; pods 0 99; list 0 1; plan 0 n; claim 0 n; asks 0 5; returned 0; asks 0 5; "
        "planned 0; avoids n",
        "p0 yes none yes"},
    {"it is the pod's outcome if the patch never comes",
        "asks 900 5; pods 0 99; list 0 1; plan 0 n; claim 0 n; asks 0 5; returned 0; binds 0 n; "
        "outcome 0; figures",
        "p0 yes returned 0/0/0 99 0"},
    {"not if kube-scheduler knew it, and asks about others",
        "asks 900 5; pods 0 99; list 0 1; plan 0 n; claim 0 n; shows 0 n; at 1000; asks 0 5; "
        "planned 0",
        "p0 yes none"},
    {"kube-scheduler is slow", "asks 900 5; pods 0 199; pace 0 49 20; writes 20 40; decide",
        "nominating"},
    {"kube-scheduler is fast", "asks 900 5; pods 0 199; pace 0 49 4; writes 20 40; decide",
        "outpaced"},
    {"the API server is slow", "asks 900 5; pods 0 199; pace 0 49 20; writes 20 400; decide",
        "outpaced"},
    {"the API server was slow for a moment",
        "asks 900 5; pods 0 199; pace 0 49 20; writes 20 400; decide; at 1200; decide; at 1300; "
        "decide; decide; writes 36 40; decide",
        "outpaced outpaced outpaced nominating nominating"},
    {"the API server stays slow: it is tried again after twice the time",
        "asks 900 5; pods 0 199; pace 0 49 20; writes 20 400; decide; at 1300; decide; writes 36 "
        "400; decide; at 1799; decide; decide; at 1800; decide; decide",
        "outpaced outpaced outpaced outpaced outpaced outpaced nominating"},
    {"a cycle of kube-scheduler is shorter than a nomination pays for",
        "asks 900 5; pods 0 199; pace 0 49 9; writes 20 10; decide", "outpaced"},
    {"latency is not known yet", "asks 900 5; pods 0 199; pace 0 49 12; writes 15 400; decide",
        "nominating"},
    {"kube-scheduler is away",
        "asks 900 5; pods 0 199; pace 0 49 4; writes 20 40; at 2000; decide; at 9000; decide",
        "outpaced nominating"},
    {"pods that arrive one by one are no pace",
        "asks 900 5; pods 0 0; asks 0 5; at 200; pods 1 1; asks 1 5; pods 2 99; writes 20 40; "
        "decide",
        "nominating"},
    {"used and unused",
        "asks 900 5; pods 0 99; claims 0 2; binds 0 n; binds 1 m; figures; avoids n",
        "1/1/0 97 1 yes"},
    {"a node is avoided for a while",
        "asks 900 5; pods 0 99; claims 0 0; binds 0 m; at 61000; avoids n", "no"},
    {"a nomination that came too late says nothing about its node",
        "asks 900 5; pods 0 99; list 0 1; claim 0 n; asks 0 5; shows 0 n; binds 0 m; figures; "
        "avoids n",
        "p0 yes 0/1/0 99 0 no"},
    {"one that never came into force has no result",
        "asks 900 5; pods 0 99; list 0 1; claim 0 n; binds 0 n; figures", "p0 yes 0/0/0 99 0"},
    {"a withdrawal that does not show is sent again, and counts once",
        "asks 900 5; pods 0 99; claims 0 0; tried 0 n; expire; at 9000; expire; at 10002; expire; "
        "figures; shows 0; at 30000; expire; figures",
        "p0 none p0 0/0/1 99 1 none 0/0/1 99 0"},
    {"a pod that gets a node while its nomination is withdrawn counts once",
        "asks 900 5; pods 0 99; claims 0 0; tried 0 n; expire; binds 0 m; figures",
        "p0 0/0/1 99 0"},
    {"a patch that comes after the pod was tried is withdrawn",
        "asks 900 5; pods 0 99; list 0 1; claim 0 n; tried 0; expire; shows 0 n; expire",
        "p0 yes none p0"},
    {"a patch that was given up and comes nevertheless is withdrawn",
        "asks 900 5; pods 0 99; list 0 1; claim 0 n; pace 5 24 1500; at 30501; expire; "
        "outcome 0; shows 0 n; expire; shows 0; outcome 0; figures",
        "p0 yes none rejected p0 rejected 0/0/0 79 0"},
    {"kube-scheduler removes a nomination when it cannot place the pod: it has failed",
        "asks 900 5; pods 0 99; claims 0 0; tried 0; outcome 0; figures; avoids n",
        "expired 0/0/1 99 0 yes"},
    {"one that another removes has not",
        "asks 900 5; pods 0 99; claims 0 0; shows 0; outcome 0; figures; avoids n",
        "dropped 0/0/0 99 0 no"},
    {"pods of a scheduler that does not call are no backlog",
        "asks 900 5; other 0 99; pods 100 100; decide", "idle"},
    {"they are from its first call on", "pods 0 99; decide; asks 900 5; decide", "idle nominating"},
    {"withdrawn after a while, if a scheduler works",
        "asks 900 5; pods 0 99; claims 0 0; pace 5 24 1500; expire; at 30001; expire; figures",
        "none p0 0/0/1 79 1"},
    {"kube-scheduler gets that time, too, for those that were made while it was away",
        "asks 900 5; pods 0 99; claims 0 0; at 60000; pace 5 24 1500; expire; at 90001; "
        "expire",
        "none p0"},
    {"later if none does", "asks 900 5; pods 0 99; claims 0 0; at 60000; expire; at 600001; expire",
        "none p0"},
    {"withdrawn at once if kube-scheduler tried it in vain",
        "asks 900 5; pods 0 99; claims 0 1; tried 0 n; expire; figures", "p0 0/0/1 98 2"},
    {"one that comes while kube-scheduler evaluates the pod, too",
        "asks 900 5; pods 0 99; claims 0 0; at 150; asks 0 5; expire; binds 0 m; figures; avoids n",
        "none 0/1/0 99 0 no"},
    {"its own filters reject the node",
        "asks 900 5; pods 0 99; claims 0 0; at 300; asks 0 5; expire; binds 0 m; figures; avoids n",
        "p0 0/0/1 99 0 yes"},
    {"or asks about other nodes, too",
        "asks 900 5; pods 0 99; claims 0 1; asks 0 1; expire; asks 0 4; expire", "none p0"},
    {"another has taken its nomination",
        "asks 900 5; pods 0 99; claims 0 0; shows 0 other; at 700000; expire", "none"},
    {"preemption", "asks 900 5; pods 0 99; shows 0 other; decide; at 60001; decide; list 0 1",
        "preemption nominating p1"},
    {"many outstanding",
        "asks 900 5; pods 0 4199; claims 0 4100; decide; figures; binds 0 n; decide",
        "full 0/0/0 199 4000 nominating"},
    {"many unused ones",
        "asks 900 5; pods 0 199; claims 0 31; binds-all 0 30 m; decide; binds 31 m; "
        "decide; at 300001; decide",
        "nominating paused nominating"},
    {"a third may be unused",
        "asks 900 5; pods 0 199; claims 0 63; binds-all 0 44 n; binds-all 45 63 m; "
        "decide",
        "nominating"},
    {"pods that a list lacks are gone",
        "asks 900 5; pods 0 99; claims 0 9; begin-list; pods 0 4; pods 50 54; end-list; figures",
        "0/0/0 5 0"},
    {"deleted ones", "asks 900 5; pods 0 99; claims 0 0; gone 0; gone 1; figures", "0/0/0 98 0"},
    {"few more pods wait for a round",
        "asks 900 5; pods 0 99; claims 0 95; list 0 1; at 1001; list 0 1", "none p96"},
};

static void test_scenarios(void **state) {
    for (size_t i = 0; i < ELEMENTS_OF(scenarios); i++) {
        static Run run;
        char *steps = strdup(scenarios[i].steps), *save, *text;
        Str result;

        run = (Run){.log = nomination_log_new(), .now = 1, .out = BUF_INIT(65536)};
        run.nominations = nominations_new(run.log);
        run.arena = arena_new((size_t)64 * 1024 * 1024);
        assert_non_null(run.nominations);
        assert_non_null(run.arena);
        assert_non_null(steps);
        for (text = strtok_r(steps, ";", &save); text; text = strtok_r(NULL, ";", &save))
            step(&run, text);
        result = str_trim(buf_str(&run.out));
        if (!str_is(result, scenarios[i].result))
            fail_msg("%s: %.*s", scenarios[i].name, STR_FMT(result));
        buf_done(&run.out);
        nominations_free(run.nominations);
        nomination_log_free(run.log);
        arena_free(run.arena);
        free(steps);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scenarios),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
