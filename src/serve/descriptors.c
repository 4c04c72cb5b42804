#include "serve/descriptors.h"

#include <sys/resource.h>

#define SPARE 128u /* files, epoll, the listeners, signals */

void descriptors_make_room(unsigned n_connections) {
    rlim_t wanted = (rlim_t)n_connections + SPARE;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}
