/* Free memory back to the system. */

#include "base/trim.h"

#include <malloc.h>

void trim_heap(void) {
#ifdef M_TRIM_THRESHOLD /* not in musl, which returns memory by itself */
    (void)malloc_trim(0);
#endif
}
