/* berth version: what this is, and what it stands on. */

#include <curl/curl.h>
#include <getopt.h>
#include <gnutls/gnutls.h>
#include <libfyaml.h>
#include <microhttpd.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/usage.h"
#include "version.h"
#include "json/scan.h"

static void print_help(FILE *out) {
    (void)fprintf(out,
        "usage: %s version\n"
        "\n"
        "Prints the version of berth, how it was built, and the versions of the libraries that it\n"
        "runs with.\n",
        program_name);
}

int cmd_version(int argc, char *argv[]) {
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {0}};
    int option = getopt_long(argc, argv, "h", options, NULL);

    if (option == 'h') {
        print_help(stdout);
        return EXIT_FINE;
    }
    if (option != -1 || optind < argc)
        return usage_error("version", option == -1 ? "it takes nothing" : NULL, print_help);
    (void)printf("berth %s\n", BERTH_VERSION);
    (void)printf("compiler       %s\n", __VERSION__);
    (void)printf("libmicrohttpd  %s\n", MHD_get_version());
    (void)printf("gnutls         %s\n", gnutls_check_version(NULL));
    (void)printf("libcurl        %s\n", curl_version_info(CURLVERSION_NOW)->version);
    (void)printf("libfyaml       %s\n", fy_library_version());
    (void)printf("json kernel    %s\n", scan_kernel_name(scan_kernel()));
    return EXIT_FINE;
}
