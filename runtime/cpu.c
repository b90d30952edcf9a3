#define _GNU_SOURCE /* sched_getaffinity */
#include "cpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char cpu_name[128];
static pthread_once_t cpu_name_once = PTHREAD_ONCE_INIT;

/* The value of a "key : value" line, trimmed into cpu_name. */
static void keep_value(const char *line) {
    const char *value = strchr(line, ':');
    if (!value) return;
    value += 1 + strspn(value + 1, " \t");
    size_t length = strcspn(value, "\n");
    while (length && value[length - 1] == ' ') length--;
    if (length >= sizeof cpu_name) length = sizeof cpu_name - 1;
    memcpy(cpu_name, value, length);
    cpu_name[length] = 0;
}

static void read_cpu_name(void) {
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    char line[512];
    while (!cpu_name[0] && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0) keep_value(line);
    fclose(file);
}

const char *duet_cpu_name(void) {
    pthread_once(&cpu_name_once, read_cpu_name);
    return cpu_name;
}

#if defined __x86_64__ || defined __i386__
bool duet_cpu_has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

bool duet_cpu_has_avx512(void) {
    return duet_cpu_has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl");
}
#else
bool duet_cpu_has_avx2(void) { return false; }
bool duet_cpu_has_avx512(void) { return false; }
#endif

/* A machine with more processors than the set has room for makes the call fail: double the set. */
int duet_cpu_count(void) {
    for (int room = 1024; room <= 1 << 20; room *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)room);
        if (!set) break;
        size_t bytes = CPU_ALLOC_SIZE((size_t)room);
        int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0) return count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}
