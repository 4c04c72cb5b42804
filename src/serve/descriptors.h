#pragma once

/* Makes room for so many connections, each of which is a descriptor, beside everything else that is
 * open: the usual soft limit of 1,024 leaves none for files and epoll. What the hard limit does not
 * allow is left to the kernel. */
void descriptors_make_room(unsigned n_connections);
