/* Preloaded into fio: every request that libaio submits first costs the submitting thread HOST_NS of work. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

struct iocb;
typedef struct io_context *io_context_t;

int io_submit(io_context_t context, long count, struct iocb **requests) {
    static int (*submit)(io_context_t, long, struct iocb **);
    static long each;
    struct timespec from, now;
    if (!submit) {
        submit = dlsym(RTLD_NEXT, "io_submit");
        each = atol(getenv("HOST_NS"));
    }
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec < count * each);
    return submit(context, count, requests);
}
