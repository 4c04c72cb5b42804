#include "monitor/process-figures.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "monitor/exposition.h"

static double count_fds(void) {
    DIR *folder = opendir("/proc/self/fd");
    double n = -3; /* ".", ".." and the folder itself */

    if (!folder)
        return 0;
    while (readdir(folder))
        n++;
    (void)closedir(folder);
    return n;
}

static void print_memory(Buf *out) {
    long pages[2] = {0, 0};
    FILE *file = fopen("/proc/self/statm", "re");
    double page = (double)sysconf(_SC_PAGESIZE);

    if (file) {
        if (fscanf(file, "%ld %ld", &pages[0], &pages[1]) != 2)
            pages[0] = pages[1] = 0;
        (void)fclose(file);
    }
    exposition_gauge(
        out, "process_virtual_memory_bytes", "Virtual memory size.", (double)pages[0] * page);
    exposition_gauge(
        out, "process_resident_memory_bytes", "Resident memory size.", (double)pages[1] * page);
}

void process_figures_print(int64_t started_at_sec, Buf *out) {
    struct rusage usage = {0};
    struct rlimit files = {0};

    (void)getrusage(RUSAGE_SELF, &usage);
    (void)getrlimit(RLIMIT_NOFILE, &files);
    exposition_head(out, "process_cpu_seconds_total", "counter", "User and system CPU time spent.");
    buf_printf(out,
        "process_cpu_seconds_total %.6f\n",
        (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
            (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    print_memory(out);
    exposition_gauge(out, "process_open_fds", "Open file descriptors.", count_fds());
    exposition_gauge(out, "process_max_fds", "File descriptors allowed.", (double)files.rlim_cur);
    exposition_gauge(out,
        "process_start_time_seconds",
        "When the process started, since 1970.",
        (double)started_at_sec);
}
