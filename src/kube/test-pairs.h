#pragma once

/* The certificates of a test program: two CAs, and certificates of servers and clients. */

#include <signal.h>

#include "base/cleanup.h"
#include "kube/test-server.h"

static TestPair ca, other_ca;
static TestPair loopback, named, expired, early; /* servers, signed by ca */
static TestPair client_pair, other_client;       /* clients, signed by ca and by other_ca */

static inline int make_pairs(void **state) {
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    ca = test_pair_new(&(TestPairOptions){.common_name = "ca", .is_ca = true});
    other_ca = test_pair_new(&(TestPairOptions){.common_name = "other ca", .is_ca = true});
    loopback = test_pair_new(
        &(TestPairOptions){.common_name = "api", .is_for_loopback = true, .issuer = &ca});
    named = test_pair_new(
        &(TestPairOptions){.common_name = "x", .dns = "named.example", .issuer = &ca});
    expired = test_pair_new(&(TestPairOptions){
        .common_name = "old", .is_for_loopback = true, .has_expired = true, .issuer = &ca});
    early = test_pair_new(&(TestPairOptions){
        .common_name = "new", .is_for_loopback = true, .is_early = true, .issuer = &ca});
    client_pair = test_pair_new(
        &(TestPairOptions){.common_name = "berth", .is_for_clients = true, .issuer = &ca});
    other_client = test_pair_new(
        &(TestPairOptions){.common_name = "berth", .is_for_clients = true, .issuer = &other_ca});
    return 0;
}

static inline int drop_pairs(void **state) {
    TestPair *pairs[] = {
        &ca, &other_ca, &loopback, &named, &expired, &early, &client_pair, &other_client};

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(pairs); i++)
        test_pair_done(pairs[i]);
    return 0;
}
