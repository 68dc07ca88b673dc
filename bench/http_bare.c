/*
 * The yardstick of bench/http: libmicrohttpd as the service uses it, one body, nothing else.
 *
 *	http_bare PORT BYTES
 */
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct MHD_Response *response;

static enum MHD_Result answer(void *data, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_len, void **closure)
{
    static char seen;

    (void)data;
    (void)url;
    (void)method;
    (void)version;
    (void)upload;
    (void)upload_len;
    if (!*closure) {
        *closure = &seen;
        return MHD_YES;
    }
    return MHD_queue_response(connection, 200, response);
}

int main(int argc, char **argv)
{
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
    const size_t size = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    char *body = calloc(1, size + 1);

    if (!size || !body)
        return 2;
    memset(body, 'x', size);
    response = MHD_create_response_from_buffer(size, body, MHD_RESPMEM_PERSISTENT);
    if (!MHD_start_daemon(flags, (uint16_t)strtoul(argv[1], NULL, 10), NULL, NULL, answer, NULL,
                          MHD_OPTION_THREAD_POOL_SIZE, 2U, MHD_OPTION_END))
        return 1;
    for (;;)
        (void)pause();
}
