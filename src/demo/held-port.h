#pragma once

/*
 * ReservedPort: a port of 127.0.0.1 that stays ours, also while nobody listens on it.
 *
 * For servers that go away and come back where they were: until then who connects is refused, as
 * by a machine on which the program has ended, and nobody else can be given the port meanwhile.
 */

#include <stdint.h>

typedef struct ReservedPort {
    int fd; /* bound, never listening; -1: none */
    uint16_t number;
} ReservedPort;

#define RESERVED_PORT_NONE ((ReservedPort){.fd = -1})

/* 0, or a negative errno. */
int reserved_port_open(ReservedPort *port);
void reserved_port_done(ReservedPort *port);
