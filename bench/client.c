/*
 * Client: sends the same bodies repeatedly over one connection.
 *
 *     client --port 40123 --pid 4711 --path /filter --body names.json --requests 200
 *
 * --body may be repeated: the bodies take turns. --rate N sends N requests a second
 * at most, instead of one after the other.
 *
 * Like kube-scheduler it sends one request at a time over one keep-alive
 * connection. It measures the CPU time of the server's process, which varies
 * less than wall time on a busy machine and excludes this program. Prints one
 * line of JSON.
 *
 * Every reply must be complete and have status 200; anything else ends the run,
 * since rejected requests would make a server look fast.
 */

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define HEAD_MAX 16384u
#define CHUNK_SIZE ((size_t)256 * 1024)
#define USEC_PER_SEC 1e6

#define BODIES_MAX 64u

typedef struct Body {
    const char *file;
    char *data;
    size_t len;
    char head[1024];
    size_t head_len;
} Body;

typedef struct Client {
    uint16_t port;
    pid_t pid;
    const char *path;
    const char *save_file; /* file for the last reply; NULL: none */
    size_t n_requests, n_warmup;
    size_t rate; /* requests a second; 0: as fast as replies come */

    Body bodies[BODIES_MAX];
    size_t n_bodies;
    int fd;
    int save_fd;
} Client;

static __attribute__((noreturn)) void die(const char *what) {
    (void)fprintf(stderr, "client: %s\n", what);
    exit(1);
}

/* After a call that sets errno. */
static __attribute__((noreturn)) void die_errno(const char *what) {
    (void)fprintf(stderr, "client: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double clock_usec(clockid_t clock) {
    struct timespec now;

    if (clock_gettime(clock, &now) < 0)
        die_errno("clock_gettime");
    return (double)now.tv_sec * USEC_PER_SEC + (double)now.tv_nsec / 1e3;
}

/* VmRSS of the server in kB. */
static long server_rss(pid_t pid) {
    char path[64], line[256];
    long kilobytes = -1;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    if (!file)
        die_errno(path);
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kilobytes = strtol(line + 6, NULL, 10);
    (void)fclose(file);
    return kilobytes;
}

static void body_load(const Client *client, Body *body) {
    struct stat status;
    int fd = open(body->file, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &status) < 0)
        die_errno(body->file);
    body->len = (size_t)status.st_size;
    body->data = mmap(NULL, body->len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (body->data == MAP_FAILED)
        die_errno(body->file);
    (void)close(fd);
    body->head_len = (size_t)snprintf(body->head, sizeof(body->head),
        "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUser-Agent: Go-http-client/1.1\r\n"
        "Content-Length: %zu\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\n",
        client->path, client->port, body->len);
}

static void client_connect(Client *client) {
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(client->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int yes = 1;

    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->fd < 0 || connect(client->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        die_errno("connect");
    if (setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) < 0)
        die_errno("TCP_NODELAY");
}

static void request_send(const Client *client, const Body *body) {
    size_t sent = 0, total = body->head_len + body->len;

    while (sent < total) {
        size_t in_body = sent > body->head_len ? sent - body->head_len : 0;
        struct iovec parts[2] = {
            {(void *)(uintptr_t)(body->head + sent), body->head_len - sent},
            {body->data + in_body, body->len - in_body},
        };
        bool head_done = sent >= body->head_len;
        struct msghdr message = {
            .msg_iov = parts + (head_done ? 1 : 0),
            .msg_iovlen = head_done ? 1 : 2,
        };
        ssize_t n = sendmsg(client->fd, &message, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            die_errno("the server closed the connection before it had the body");
        sent += (size_t)n;
    }
}

static size_t receive(const Client *client, char *into, size_t size) {
    ssize_t n;

    do
        n = recv(client->fd, into, size, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        die_errno("recv");
    if (n == 0)
        die("the server closed the connection in the middle of a reply");
    return (size_t)n;
}

static void save(const Client *client, const char *data, size_t len) {
    if (client->save_fd >= 0 && write(client->save_fd, data, len) != (ssize_t)len)
        die_errno(client->save_file);
}

/* The length of the body that @head announces; ends the program if it is not the
 * head of a reply with status 200. */
static size_t head_parse(const char *head) {
    const char *line = strcasestr(head, "\r\nContent-Length:");

    if (strncmp(head, "HTTP/1.1 200", 12) != 0) {
        (void)fprintf(stderr, "client: %.*s\n", (int)strcspn(head, "\r\n"), head);
        exit(1);
    }
    if (!line)
        die("a reply without Content-Length");
    return strtoull(line + strlen("\r\nContent-Length:"), NULL, 10);
}

/* Reads one reply to its end. Returns the size of its body. */
static size_t reply_receive(const Client *client) {
    static char chunk[CHUNK_SIZE];
    char head[HEAD_MAX + 1];
    size_t have = 0, length, received;
    char *end = NULL;

    while (!end) {
        if (have == HEAD_MAX)
            die("the head of the reply has no end");
        have += receive(client, head + have, HEAD_MAX - have);
        head[have] = '\0';
        end = strstr(head, "\r\n\r\n");
    }
    received = have - (size_t)(end + 4 - head);
    end[2] = '\0'; /* the body starts here */
    length = head_parse(head);
    save(client, end + 4, received);
    while (received < length) {
        size_t rest = length - received;
        size_t n = receive(client, chunk, rest < sizeof(chunk) ? rest : sizeof(chunk));

        save(client, chunk, n);
        received += n;
    }
    if (received > length)
        die("more than Content-Length came");
    return length;
}

static int compare(const void *a, const void *b) {
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double percentile(const double *sorted, size_t n, unsigned percent) {
    size_t at = (n * percent + 99) / 100;

    return sorted[at > 0 ? at - 1 : 0];
}

/* Waits until request @i is due. A late request does not make later ones early. */
static void pace(const Client *client, double start_usec, size_t i) {
    double wait =
        start_usec + (double)i * USEC_PER_SEC / (double)client->rate - clock_usec(CLOCK_MONOTONIC);

    if (wait > 0)
        (void)usleep((useconds_t)wait);
}

static void run(Client *client) {
    double *wall = calloc(client->n_requests, sizeof(*wall));
    clockid_t server_clock;
    size_t reply_len = 0;
    double before, cpu, begin;

    assert(client->n_bodies > 0);
    if (!wall)
        die("out of memory");
    if ((errno = clock_getcpuclockid(client->pid, &server_clock)))
        die_errno("the server's clock");
    for (size_t i = 0; i < client->n_warmup; i++) {
        request_send(client, &client->bodies[i % client->n_bodies]);
        (void)reply_receive(client);
    }
    before = clock_usec(server_clock);
    begin = clock_usec(CLOCK_MONOTONIC);
    for (size_t i = 0; i < client->n_requests; i++) {
        double start;

        if (i + 1 == client->n_requests && client->save_file)
            client->save_fd =
                open(client->save_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (client->rate > 0)
            pace(client, begin, i);
        start = clock_usec(CLOCK_MONOTONIC);
        request_send(client, &client->bodies[i % client->n_bodies]);
        reply_len = reply_receive(client);
        wall[i] = clock_usec(CLOCK_MONOTONIC) - start;
    }
    cpu = clock_usec(server_clock) - before;
    qsort(wall, client->n_requests, sizeof(*wall), compare);
    (void)printf(
        "{\"requests\":%zu,\"cpu_usec_per_request\":%.2f,\"wall_p50_usec\":%.1f,"
        "\"wall_p99_usec\":%.1f,\"request_bytes\":%zu,\"reply_bytes\":%zu,\"rss_kb\":%ld}\n",
        client->n_requests, cpu / (double)client->n_requests,
        percentile(wall, client->n_requests, 50), percentile(wall, client->n_requests, 99),
        client->bodies[0].len, reply_len, server_rss(client->pid));
    free(wall);
}

static size_t to_number(const char *text) {
    char *end;
    unsigned long value;

    errno = 0;
    value = strtoul(text, &end, 10);
    if (errno || end == text || *end != '\0') {
        (void)fprintf(stderr, "client: not a number: %s\n", text);
        exit(2);
    }
    return value;
}

static void usage(void) {
    (void)fputs("usage: client --port PORT --pid PID --path /filter --body FILE\n"
                "              [--requests N] [--warmup N] [--rate N] [--save FILE]\n",
        stderr);
    exit(2);
}

static void add_body(Client *client, const char *file) {
    if (client->n_bodies == BODIES_MAX)
        usage();
    client->bodies[client->n_bodies++].file = file;
}

static void options_parse(Client *client, int argc, char *argv[]) {
    static const struct option options[] = {
        {"port", required_argument, NULL, 'p'},
        {"pid", required_argument, NULL, 'i'},
        {"path", required_argument, NULL, 'a'},
        {"body", required_argument, NULL, 'b'},
        {"requests", required_argument, NULL, 'r'},
        {"warmup", required_argument, NULL, 'w'},
        {"rate", required_argument, NULL, 't'},
        {"save", required_argument, NULL, 's'},
        {0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'p':
            client->port = (uint16_t)to_number(optarg);
            break;
        case 'i':
            client->pid = (pid_t)to_number(optarg);
            break;
        case 'a':
            client->path = optarg;
            break;
        case 'b':
            add_body(client, optarg);
            break;
        case 'r':
            client->n_requests = to_number(optarg);
            break;
        case 'w':
            client->n_warmup = to_number(optarg);
            break;
        case 't':
            client->rate = to_number(optarg);
            break;
        case 's':
            client->save_file = optarg;
            break;
        default:
            usage();
        }
    }
    if (!client->port || !client->pid || !client->path || !client->n_bodies || !client->n_requests)
        usage();
}

int main(int argc, char *argv[]) {
    Client client = {.n_requests = 100, .n_warmup = 10, .fd = -1, .save_fd = -1};

    options_parse(&client, argc, argv);
    for (size_t i = 0; i < client.n_bodies; i++)
        body_load(&client, &client.bodies[i]);
    client_connect(&client);
    run(&client);
    (void)close(client.fd);
    return 0;
}
