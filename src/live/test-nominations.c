#include "live/nominations.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/test-assert.h"

/*
 * A scenario is a list of steps; steps with ">" append to the result.
 *
 *     at MSEC                  sets the time
 *     pods FIRST LAST          pending pods appear: pFIRST ... of scheduler "default"
 *     urgent N                 one with priority 100 appears
 *     other FIRST LAST         pods of scheduler "other" appear, which never calls
 *     asks N NODES             a filter request for pN with this number of nodes
 *     pace FIRST LAST MSEC     one for each pod, every MSEC, with 5,000 nodes
 *     few FIRST LAST MSEC      the same with 500 nodes
 *     quick FIRST LAST MSEC    the same with 1 node, as for nominated pods
 *     writes N MSEC            N patches were written so far, with this latency
 *     decide                   > the state
 *     wait MSEC                > whether the reply to a filter MSEC ago must wait
 *     list MAX                 > the free pods
 *     claim N NODE             > whether the pod could be claimed
 *     claims FIRST LAST        claims several pods for node n, and shows the nominations
 *     shows N NODE             the watch shows the nomination
 *     replica N NODE           it shows a nomination by some berth, perhaps another one
 *     tried N NODE             it shows a nomination that kube-scheduler has tried in vain
 *     binds N NODE, gone N     the watch shows the bind, or the deletion
 *     binds-all FIRST LAST NODE
 *     expire                   > pods whose nomination is to be withdrawn
 *     avoids NODE              > yes or no
 *     begin-list, end-list
 *     figures                  > used/unused/expired free outstanding
 *     outcome N                > the outcome of the nomination of pN, from the log
 */

typedef struct Run {
    NominationLog *log;
    Nominations *nominations;
    Arena *arena;
    int64_t now;
    WriteFigures writes;
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

static void see(Run *run, const Pod *pod, PendingStatus status) {
    nominations_see(run->nominations, pod, STR("{}"), status, run->now);
}

static void show(Run *run, long number, const char *node, PendingStatus status) {
    Pod pod = make_pod(run->arena, number);

    pod.nominated_node_name = str_from_c(node);
    see(run, &pod, status);
}

static void bind(Run *run, long number, const char *node) {
    Pod pod = make_pod(run->arena, number);

    pod.node_name = str_from_c(node);
    see(run, &pod, (PendingStatus){0});
}

static void ask(Run *run, long number, long n_nodes) {
    Pod pod = make_pod(run->arena, number);

    nominations_note_filter(
        run->nominations, pod.uid, pod.scheduler_name, (size_t)n_nodes, run->now);
}

static bool claim(Run *run, long number, const char *node) {
    Pod pod = make_pod(run->arena, number);

    if (!nominations_claim(run->nominations, pod.uid, str_from_c(node), run->now))
        return false;
    nomination_log_add(run->log, &(NominationRecord){.name = pod.name, .uid = pod.uid});
    return true;
}

static void print_outcome(Run *run, long number) {
    NominationRecord record;

    assert_true(nomination_log_find(
        run->log, STR_NULL, make_pod(run->arena, number).name, STR_NULL, run->arena, &record));
    buf_printf(&run->out, " %s", nomination_outcomes[record.outcome].name);
}

static void print_list(Run *run, size_t max) {
    FreePod listed[16];
    size_t n = nominations_list(run->nominations, run->now, max, run->arena, listed);

    for (size_t i = 0; i < n; i++)
        buf_printf(&run->out, " %.*s", STR_FMT(listed[i].uid));
    buf_append(&run->out, n == 0 ? STR(" none") : STR_NULL);
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
            see(run, &pod, (PendingStatus){0});
        }
    else if (strcmp(verb, "other") == 0)
        for (long i = n[0]; i <= n[1]; i++) {
            pod = make_pod(run->arena, i);
            pod.scheduler_name = STR("other");
            see(run, &pod, (PendingStatus){0});
        }
    else if (strcmp(verb, "urgent") == 0) {
        pod.priority = 100;
        see(run, &pod, (PendingStatus){0});
    } else if (strcmp(verb, "shows") == 0)
        show(run, n[0], node, (PendingStatus){0});
    else if (strcmp(verb, "tried") == 0)
        show(run, n[0], node, (PendingStatus){.was_tried = true});
    else if (strcmp(verb, "replica") == 0)
        show(run, n[0], node, (PendingStatus){.is_nominated = true});
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
            ask(run, i, 5000);
    else if (strcmp(verb, "few") == 0)
        for (long i = n[0]; i <= n[1]; i++, run->now += n[2] * NSEC_PER_MSEC)
            ask(run, i, 500);
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
    else if (strcmp(verb, "wait") == 0)
        buf_printf(&run->out, " %s",
            nominations_wait(run->nominations, run->now - n[0] * NSEC_PER_MSEC, run->now) ? "yes"
                                                                                          : "no");
    else if (strcmp(verb, "list") == 0)
        print_list(run, (size_t)n[0]);
    else if (strcmp(verb, "claim") == 0)
        buf_printf(&run->out, " %s", claim(run, n[0], node) ? "yes" : "no");
    else if (strcmp(verb, "claims") == 0) {
        for (long i = n[0]; i <= n[1]; i++)
            if (claim(run, i, "n"))
                show(run, i, "n", (PendingStatus){.is_nominated = true});
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

/* "VERB [NUMBER or WORD]...": numbers, and at most one word, in any order. */
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
        "asks 900 5; pods 0 99; list 9; claim 0 n1; claim 1 n1; claim 2 n1; claim 3 n1; claim 4 "
        "n1; claim 5 n1; claim 6 n1; shows 0 n1; shows 1 n1; shows 2 n1; shows 4 n1; tried 5 n1; "
        "outcome 0; binds 0 n1; binds 1 n2; gone 2; binds 3 n2; shows 4 n2; expire; shows 5; at "
        "700000; "
        "expire; outcome 0; outcome 1; outcome 2; outcome 3; outcome 4; outcome 5; outcome 6",
        "p0 p1 p2 p3 p4 p5 p6 p7 p8 yes yes yes yes yes yes yes outstanding p5 none used unused "
        "dropped rejected dropped expired rejected"},
    {"few pods", "asks 900 5; pods 0 48; decide; pods 49 49; decide", "idle nominating"},
    {"it goes on while 16 are left",
        "asks 900 5; pods 0 49; decide; pace 0 33 20; decide; asks 34 5; decide; asks 900 5; pods "
        "50 83; decide; pods 84 84; decide",
        "nominating nominating idle idle nominating"},
    {"it goes on while 16 are nominated",
        "asks 900 5; pods 0 49; decide; claims 0 49; decide; binds-all 0 33 n; decide; binds 34 n; "
        "decide",
        "nominating nominating nominating idle"},
    {"pods of another scheduler", "asks 900 5; other 0 99; list 5; pods 100 102; at 2000; list 5",
        "none p100 p101 p102"},
    {"in the order of kube-scheduler", "asks 900 5; pods 0 99; urgent 200; list 3", "p200 p0 p1"},
    {"a pod that was asked about is not nominated",
        "asks 900 5; pods 0 99; list 2; asks 0 5; claim 0 n1; claim 1 n1; at 3000; list 1",
        "p0 p1 no yes p2"},
    {"a filter request that overtakes the watch",
        "asks 900 5; asks 0 5; pods 0 99; at 3000; list 1", "p1"},
    {"a filter waits until kube-scheduler knows 16 nominations",
        "asks 900 5; pods 0 199; pace 0 9 20; decide; claims 10 24; at 300; wait 0; claims 25 25; "
        "wait 0; at 319; wait 19; at 320; wait 20",
        "nominating yes yes yes no"},
    {"a filter waits again when nominations are used up",
        "asks 900 5; pods 0 199; pace 0 9 20; decide; claims 10 25; at 300; asks 10 1; wait 0",
        "nominating yes"},
    {"100 ms at most",
        "asks 900 5; pods 0 199; pace 0 9 20; decide; claims 10 12; at 300; wait 99; wait 100; "
        "wait 0",
        "nominating yes no yes"},
    {"after a wait in vain none does for a while, and longer after each",
        "asks 900 5; pods 0 199; pace 0 9 20; decide; claim 10 n; wait 99; wait 100; wait 0; at "
        "250; wait 0; at 251; wait 0; at 351; wait 100; at 450; wait 0; at 451; wait 0",
        "nominating yes yes no no no yes no no yes"},
    {"a filter waits for as long as kube-scheduler's cache lags behind",
        "asks 900 5; pods 0 199; pace 0 9 20; decide; claims 10 40; at 300; asks 10 5; quick 11 40 "
        "0; claims 41 70; at 350; wait 50; at 399; wait 99; at 400; wait 0",
        "nominating yes yes no"},
    {"until it lags less",
        "asks 900 5; pods 0 199; pace 0 9 20; decide; claims 10 40; at 300; asks 10 5; quick 11 40 "
        "0; claims 41 70; at 350; asks 41 1; wait 0",
        "nominating no"},
    {"the pause ends with a nomination",
        "asks 900 5; pods 0 199; pace 0 9 20; decide; claim 10 n; wait 100; at 251; wait 100; at "
        "252; shows 10 n; at 352; wait 100; asks 10 1; claim 11 n; wait 100; at 403; wait 0",
        "nominating yes no no no yes no yes"},
    {"nominations that kube-scheduler does not take delay it once",
        "asks 900 5; pods 0 199; pace 0 9 20; decide; claims 10 12; at 400; wait 99; wait 100; at "
        "449; wait 0; at 450; wait 0; at 550; wait 100; at 649; wait 0",
        "nominating yes no no yes no no"},
    {"nothing waits for pods that are left alone",
        "asks 900 5; pods 0 199; pace 0 9 20; wait 0; decide; wait 0; pace 10 184 20; wait 0; "
        "claim 185 n; wait 0; asks 185 5; wait 0",
        "no nominating yes no yes yes no"},
    {"nothing waits for nominations that were withdrawn or used",
        "asks 900 5; pods 0 59; decide; pace 0 47 20; claims 48 50; wait 0; at 1100; wait 0; shows "
        "48; binds 49 n; gone 50; claim 51 n; gone 51; wait 0",
        "nominating yes no yes no"},
    {"nothing waits for a fast kube-scheduler",
        "asks 900 5; pods 0 199; pace 0 49 4; writes 20 40; claims 60 62; decide; wait 0",
        "outpaced no"},
    {"the measured cycle excludes waits",
        "asks 900 5; pods 0 199; decide; asks 0 5; at 101; wait 100; at 105; asks 1 5; writes 20 "
        "40; "
        "decide",
        "nominating no outpaced"},
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
        "asks 900 5; pods 0 199; pace 0 49 6; writes 20 10; decide", "outpaced"},
    {"with few candidates a longer cycle does not pay, either",
        "asks 900 5; pods 0 199; few 0 49 20; writes 20 10; decide; few 50 99 40; decide",
        "outpaced nominating"},
    {"one long pause is no slow kube-scheduler",
        "asks 900 5; pods 0 199; few 0 49 8; at 700; few 50 51 8; writes 20 10; decide",
        "outpaced"},
    {"latency is not known yet", "asks 900 5; pods 0 199; pace 0 49 12; writes 15 400; decide",
        "nominating"},
    {"nor is one at the beginning",
        "asks 900 5; pods 0 199; asks 0 500; at 300; few 1 10 8; writes 20 10; decide", "outpaced"},
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
        "asks 900 5; pods 0 99; list 1; claim 0 n; asks 0 5; shows 0 n; binds 0 m; figures; "
        "avoids n",
        "p0 yes 0/1/0 99 0 no"},
    {"a nomination that was never shown has no result",
        "asks 900 5; pods 0 99; list 1; claim 0 n; binds 0 n; figures", "p0 yes 0/0/0 99 0"},
    {"a withdrawal that does not show is sent again, and counts once",
        "asks 900 5; pods 0 99; claims 0 0; tried 0 n; expire; at 9000; expire; at 10002; expire; "
        "figures; shows 0; at 30000; expire; figures",
        "p0 none p0 0/0/1 99 1 none 0/0/1 99 0"},
    {"a pod that gets a node while its nomination is withdrawn counts once",
        "asks 900 5; pods 0 99; claims 0 0; tried 0 n; expire; binds 0 m; figures",
        "p0 0/0/1 99 0"},
    {"a patch that comes after the pod was tried is withdrawn",
        "asks 900 5; pods 0 99; list 1; claim 0 n; tried 0; expire; shows 0 n; expire",
        "p0 yes none p0"},
    {"a patch that was given up and comes nevertheless is withdrawn",
        "asks 900 5; pods 0 99; list 1; claim 0 n; pace 5 24 1500; at 30501; expire; "
        "outcome 0; shows 0 n; expire; shows 0; outcome 0; figures",
        "p0 yes none rejected p0 rejected 0/0/0 79 0"},
    {"kube-scheduler removes a nomination when it cannot place the pod: it has failed",
        "asks 900 5; pods 0 99; claims 0 0; tried 0; outcome 0; figures; avoids n",
        "expired 0/0/1 99 0 yes"},
    {"a nomination that another client removes has not failed",
        "asks 900 5; pods 0 99; claims 0 0; shows 0; outcome 0; figures; avoids n",
        "dropped 0/0/0 99 0 no"},
    {"pods of a scheduler that does not call are no backlog",
        "asks 900 5; other 0 99; pods 100 100; decide", "idle"},
    {"they are after its first call", "pods 0 99; decide; asks 900 5; decide", "idle nominating"},
    {"withdrawn after a while, if a scheduler works",
        "asks 900 5; pods 0 99; claims 0 0; pace 5 24 1500; expire; at 30001; expire; figures",
        "none p0 0/0/1 79 1"},
    {"after an absence kube-scheduler gets the same time",
        "asks 900 5; pods 0 99; claims 0 0; at 60000; pace 5 24 1500; expire; at 90001; "
        "expire",
        "none p0"},
    {"withdrawn later if no scheduler works",
        "asks 900 5; pods 0 99; claims 0 0; at 60000; expire; at 600001; expire", "none p0"},
    {"withdrawn at once if kube-scheduler tried it in vain",
        "asks 900 5; pods 0 99; claims 0 1; tried 0 n; expire; figures", "p0 0/0/1 98 2"},
    {"a nomination during an evaluation is not withdrawn",
        "asks 900 5; pods 0 99; claims 0 0; at 150; asks 0 5; expire; binds 0 m; figures; avoids n",
        "none 0/1/0 99 0 no"},
    {"withdrawn if kube-scheduler's own filters reject the node",
        "asks 900 5; pods 0 99; claims 0 0; at 300; asks 0 5; expire; binds 0 m; figures; avoids n",
        "p0 0/0/1 99 0 yes"},
    {"withdrawn if kube-scheduler sends other nodes",
        "asks 900 5; pods 0 99; claims 0 1; asks 0 1; expire; asks 0 4; expire", "none p0"},
    {"another client has replaced the nomination",
        "asks 900 5; pods 0 99; claims 0 0; shows 0 other; at 700000; expire", "none"},
    {"a nomination of another replica, or of an earlier process, is no preemption",
        "asks 900 5; pods 0 99; replica 0 n; decide; figures; replica 0 n; asks 0 1; binds 0 n; "
        "figures",
        "nominating 0/0/0 99 1 0/0/0 99 0"},
    {"a nomination of another replica is withdrawn in the same way",
        "asks 900 5; pods 0 99; replica 0 n; tried 0 n; expire; shows 0; figures; avoids n",
        "p0 0/0/0 99 0 yes"},
    {"a removed nomination of another replica does not count",
        "asks 900 5; pods 0 99; replica 0; figures; asks 1 5; replica 1 n; decide; figures",
        "0/0/0 100 0 nominating 0/0/0 99 0"},
    {"preemption", "asks 900 5; pods 0 99; shows 0 other; decide; at 60001; decide; list 1",
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
    {"deleted pods", "asks 900 5; pods 0 99; claims 0 0; gone 0; gone 1; figures", "0/0/0 98 0"},
    {"few new pods wait for the next round",
        "asks 900 5; pods 0 99; claims 0 95; list 1; at 1001; list 1", "none p96"},
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
