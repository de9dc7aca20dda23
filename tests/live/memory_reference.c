/* The reference for the memory probe: the same measurements in plain C, with buffers of the same size on huge pages.
 * memory_reference chase|read|update BYTES SECONDS CPU... prints ns per dependent access, or bytes a second that one
 * thread per CPU reads, or reads and writes back (x[i]++), together. All are timed on their thread's CPU clock, as in
 * the probe. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static size_t bytes;
static double seconds;
static pthread_barrier_t ready;
enum work { READ, UPDATE };
static enum work work;

struct worker { pthread_t thread; int cpu; double rate; uint64_t sum; };

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static uint64_t *buffer(void) {
    uint64_t *words = aligned_alloc(2 << 20, bytes);
    if (!words) exit(1);
    madvise(words, bytes, MADV_HUGEPAGE);
    for (size_t i = 0; i < bytes / 8; i++) words[i] = i;
    return words;
}

static uint64_t random_word(void) {
    static uint64_t x = 88172645463325252ull;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
}

static void chase(int cpu) {
    pin(cpu);
    uint64_t *ring = buffer();
    size_t lines = bytes / 64;
    uint64_t *order = malloc(lines * 8);
    for (size_t i = 0; i < lines; i++) order[i] = i;
    for (size_t i = lines - 1; i > 0; i--) { /* Sattolo */
        size_t j = random_word() % i;
        uint64_t swap = order[i];
        order[i] = order[j], order[j] = swap;
    }
    for (size_t i = 0; i < lines; i++) ring[i * 8] = order[i] * 8;
    uint64_t at = 0, hops = 0;
    double end = now(CLOCK_MONOTONIC) + seconds, began = now(CLOCK_THREAD_CPUTIME_ID);
    while (now(CLOCK_MONOTONIC) < end) {
        for (int i = 0; i < 512; i++) at = ring[at];
        hops += 512;
    }
    double spent = now(CLOCK_THREAD_CPUTIME_ID) - began;
    printf("%.6g %llu\n", spent / hops * 1e9, (unsigned long long)at);
}

static uint64_t block_of(uint64_t *words, size_t count) {
    uint64_t sum = 0;
    if (work == READ)
        for (size_t i = 0; i < count; i++) sum += words[i];
    else
        for (size_t i = 0; i < count; i++) words[i]++;
    return sum;
}

static void *working(void *argument) {
    struct worker *self = argument;
    pin(self->cpu);
    uint64_t *words = buffer(), sum = 0;
    size_t block = 1 << 16, at = 0, moved = 0, times = work == UPDATE ? 2 : 1;
    pthread_barrier_wait(&ready);
    double end = now(CLOCK_MONOTONIC) + seconds, began = now(CLOCK_THREAD_CPUTIME_ID);
    while (now(CLOCK_MONOTONIC) < end) {
        sum += block_of(words + at, block);
        at = (at + block) % (bytes / 8);
        moved += block * 8 * times;
    }
    self->rate = moved / (now(CLOCK_THREAD_CPUTIME_ID) - began);
    self->sum = sum + words[at];
    return NULL;
}

int main(int count, char **arguments) {
    if (count < 5) return 2;
    bytes = strtoull(arguments[2], NULL, 10);
    seconds = strtod(arguments[3], NULL);
    int workers = count - 4;
    if (!strcmp(arguments[1], "chase")) {
        chase(atoi(arguments[4]));
        return 0;
    }
    work = !strcmp(arguments[1], "read") ? READ : UPDATE;
    struct worker *worker = calloc(workers, sizeof *worker);
    pthread_barrier_init(&ready, NULL, workers);
    double rate = 0;
    uint64_t sum = 0;
    for (int i = 0; i < workers; i++) {
        worker[i].cpu = atoi(arguments[4 + i]);
        pthread_create(&worker[i].thread, NULL, working, &worker[i]);
    }
    for (int i = 0; i < workers; i++) {
        pthread_join(worker[i].thread, NULL);
        rate += worker[i].rate, sum += worker[i].sum;
    }
    printf("%.6g %llu\n", rate, (unsigned long long)sum);
    return 0;
}
