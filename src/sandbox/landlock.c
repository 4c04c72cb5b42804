/*
 * Files that may be opened, by Landlock. The folders that the caller names, and what libc, GnuTLS
 * and libcurl read: names of hosts, certificate authorities, time zones, modules.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/sandbox-internal.h"

/* Newer than the headers of Debian 12. */
#define ACCESS_TRUNCATE (UINT64_C(1) << 14)
#define ACCESS_IOCTL_DEV (UINT64_C(1) << 15)

#define ACCESS_ALL_V1 ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
#define ACCESS_READ ((uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR))
/* A new file, put in the place of an old one. */
#define ACCESS_WRITE                                                                               \
    ((uint64_t)(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |                      \
                LANDLOCK_ACCESS_FS_REMOVE_FILE | ACCESS_TRUNCATE))
#define ACCESS_OF_FILES                                                                            \
    ((uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE))

#define LINKS_MAX 16 /* one behind the other */

typedef struct Rules {
    int fd;
    uint64_t handled; /* by this kernel */
} Rules;

/* /proc: berth's own figures; Landlock itself hides memory and files of other processes there. */
static const char *const system_paths[] = {
    "/usr",
    "/lib",
    "/lib64",
    "/etc/ca-certificates",
    "/etc/gai.conf",
    "/etc/gnutls",
    "/etc/host.conf",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/pki",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl",
    "/etc/zoneinfo",
    "/proc",
    "/sys/devices/system/cpu",
};

/* DHCP clients and administrators put new files in their place. */
static const char *const replaced_paths[] = {"/etc/hosts", "/etc/resolv.conf"};

/* @path itself, and everything below. False: it is not there. */
static bool allow(const Rules *rules, const char *path, uint64_t access) {
    struct landlock_path_beneath_attr rule = {.allowed_access = access & rules->handled};
    struct stat status;
    int fd = open(path, O_PATH | O_CLOEXEC);

    if (fd < 0)
        return false;
    if (fstat(fd, &status) == 0 && !S_ISDIR(status.st_mode))
        rule.allowed_access &= ACCESS_OF_FILES;
    rule.parent_fd = fd;
    if (rule.allowed_access != 0)
        (void)syscall(SYS_landlock_add_rule, rules->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    (void)close(fd);
    return true;
}

/* The folder that has @path. */
static void folder_of(const char *path, char ret[static PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;

    if (!slash)
        (void)snprintf(ret, PATH_MAX, ".");
    else
        (void)snprintf(ret, PATH_MAX, "%.*s", len > 0 ? (int)len : 1, path);
}

static bool is_root(const char *path) {
    struct stat root, status;

    return stat("/", &root) == 0 && stat(path, &status) == 0 && root.st_ino == status.st_ino &&
           root.st_dev == status.st_dev;
}

/* A file that is mounted, as one of a container: no rename can replace it. */
static bool is_mounted_file(const char *path) {
    struct statx status;

    return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) == 0 &&
           !S_ISDIR(status.stx_mode) && (status.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* The folder of a file, as another may be put in its place; but never all of the file system. */
static bool allow_replaced(const Rules *rules, const char *path, uint64_t access) {
    char folder[PATH_MAX];
    struct stat status;
    bool is_folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);

    folder_of(path, folder);
    if (is_folder || is_mounted_file(path) || is_root(folder))
        return !is_root(path) && allow(rules, path, access);
    return allow(rules, folder, access);
}

/* If the first @len bytes of @path are a symbolic link: where it leads to, and the rest of @path.
 */
static bool follow(
    const char *path, size_t len, char target[static PATH_MAX], char ret_path[static PATH_MAX]) {
    char link[PATH_MAX], folder[PATH_MAX], text[PATH_MAX];
    ssize_t n;

    (void)snprintf(link, sizeof(link), "%.*s", (int)len, path);
    n = readlink(link, text, sizeof(text) - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    folder_of(link, folder);
    if (text[0] == '/')
        folder[0] = '\0';
    return snprintf(target, PATH_MAX, "%s%s%s", folder, folder[0] ? "/" : "", text) < PATH_MAX &&
           snprintf(ret_path, PATH_MAX, "%s%s", target, path + len) < PATH_MAX;
}

/* The folders that the links on the way to @path lead into: links are swapped for others whose
 * targets are beside the old ones (volumes of Kubernetes, git-sync, certbot). */
static bool allow_links(const Rules *rules, const char *path, uint64_t access, int depth) {
    char target[PATH_MAX], folder[PATH_MAX], next[PATH_MAX];
    bool is_there = allow_replaced(rules, path, access);

    for (size_t i = 1; depth < LINKS_MAX && path[i - 1]; i++) {
        if ((path[i] && path[i] != '/') || !follow(path, i, target, next))
            continue;
        folder_of(target, folder);
        if (!is_root(folder))
            (void)allow(rules, folder, access);
        return allow_links(rules, next, access, depth + 1);
    }
    return is_there;
}

/* The files of a folder may be links, too. */
static void allow_links_in(const Rules *rules, const char *folder, uint64_t access) {
    DIR *entries = opendir(folder);
    struct dirent *entry;
    char path[PATH_MAX];

    if (!entries)
        return;
    while ((entry = readdir(entries)))
        if (entry->d_type == DT_LNK && entry->d_name[0] != '.' &&
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) < PATH_MAX)
            (void)allow_links(rules, path, access, 0);
    (void)closedir(entries);
}

int landlock_enter(SandboxPath *paths, size_t n_paths) {
    struct landlock_ruleset_attr attributes = {0};
    int abi, r;
    Rules rules;

    abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi < 0)
        return -errno;
    rules.handled = attributes.handled_access_fs =
        ACCESS_ALL_V1 | (abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) |
        (abi >= 3 ? ACCESS_TRUNCATE : 0) | (abi >= 5 ? ACCESS_IOCTL_DEV : 0);
    rules.fd = (int)syscall(
        SYS_landlock_create_ruleset, &attributes, sizeof(attributes.handled_access_fs), 0);
    if (rules.fd < 0)
        return -errno;
    for (size_t i = 0; i < ELEMENTS_OF(system_paths); i++)
        (void)allow(&rules, system_paths[i], ACCESS_READ);
    for (size_t i = 0; i < ELEMENTS_OF(replaced_paths); i++)
        (void)allow_links(&rules, replaced_paths[i], ACCESS_READ, 0);
    for (size_t i = 0; i < n_paths; i++) {
        const char *path = paths[i].path;
        uint64_t access = paths[i].is_written ? ACCESS_WRITE : ACCESS_READ;

        if (!path || path[0] == '\0' || strcmp(path, "-") == 0)
            continue;
        paths[i].is_refused = !allow_links(&rules, path, access, 0);
        if (!paths[i].is_written)
            allow_links_in(&rules, path, access);
    }
    r = syscall(SYS_landlock_restrict_self, rules.fd, 0) < 0 ? -errno : abi;
    (void)close(rules.fd);
    return r;
}
