/* berth version: what this is, and what it stands on. */

#include <curl/curl.h>
#include <gnutls/gnutls.h>
#include <libfyaml.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "version.h"
#include "json/scan.h"

int cmd_version(int argc, char *argv[]) {
    if (argc > 1) {
        (void)fprintf(stderr, "usage: %s version\n", program_name);
        return strcmp(argv[1], "--help") == 0 ? EXIT_FINE : EXIT_USAGE;
    }
    (void)printf("berth %s\n", BERTH_VERSION);
    (void)printf("compiler       %s\n", __VERSION__);
    (void)printf("libmicrohttpd  %s\n", MHD_get_version());
    (void)printf("gnutls         %s\n", gnutls_check_version(NULL));
    (void)printf("libcurl        %s\n", curl_version_info(CURLVERSION_NOW)->version);
    (void)printf("libfyaml       %s\n", fy_library_version());
    (void)printf("json kernel    %s\n", scan_kernel_name(scan_kernel()));
    return EXIT_FINE;
}
