#pragma once

/* Returns free memory of the heap to the system. malloc keeps small blocks that were freed, and
 * also large ones once they were cut from such memory. Takes about a millisecond for 100 MiB: after
 * work that may have needed much. Any thread. */
void trim_heap(void);
