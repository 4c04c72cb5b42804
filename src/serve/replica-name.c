#include "serve/replica-name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"

#define NAME_MAX_LEN 253

/* Uniqueness, not secrecy: where the system has no random bytes yet, the clock will do. */
static uint64_t random_part(void) {
    uint64_t number;

    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
        number = (uint64_t)clock_wall_nsec() ^ ((uint64_t)getpid() << 48);
    return number;
}

const char *replica_name_make(char ret[static REPLICA_NAME_MAX]) {
    const char *pod = getenv("POD_NAME");
    char host[NAME_MAX_LEN + 1] = "";

    if (!pod || !pod[0]) {
        (void)gethostname(host, sizeof(host) - 1);
        pod = host[0] ? host : "berth";
    }
    (void)snprintf(ret, REPLICA_NAME_MAX, "%.*s_%016" PRIx64, NAME_MAX_LEN, pod, random_part());
    return ret;
}
