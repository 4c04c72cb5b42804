/* berth version: versions of the program and of its libraries. */

#include <curl/curl.h>
#include <gnutls/gnutls.h>
#include <libfyaml.h>
#include <microhttpd.h>
#include <stdio.h>

#include "commands/commands.h"
#include "version.h"
#include "json/scan.h"

static int run(void *settings, const Arguments *arguments) {
    (void)printf("berth %s\n", BERTH_VERSION);
    (void)printf("compiler       %s\n", __VERSION__);
    (void)printf("libmicrohttpd  %s\n", MHD_get_version());
    (void)printf("gnutls         %s\n", gnutls_check_version(NULL));
    (void)printf("libcurl        %s\n", curl_version_info(CURLVERSION_NOW)->version);
    (void)printf("libfyaml       %s\n", fy_library_version());
    (void)printf("json kernel    %s\n", scan_kernel_name(scan_kernel()));
    return EXIT_FINE;
}

const Command version_command = {
    .name = "version",
    .summary = "version, build and libraries",
    .about = "Prints the version of berth, its compiler, and the versions of the libraries that it "
             "runs with.",
    .run = run,
};
