/* bench FILE: grows the floor of FILE once, writes the result to standard output and the seconds of processor it took to standard error. */
#define _GNU_SOURCE
#include "moss.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    uint32_t head[3]; /* width, height, steps */
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file || fread(head, sizeof head, 1, file) != 1) {
        fprintf(stderr, "usage: bench FILE\n");
        return 2;
    }
    size_t size = (size_t)head[0] * head[1];
    uint8_t *start = malloc(size), *end = calloc(size, 1);
    if (fread(start, 1, size, file) != size)
        return 2;
    struct timespec before, after;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    grow(start, end, head[0], head[1], head[2]);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    fwrite(end, 1, size, stdout);
    fprintf(stderr, "%.9f\n", (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec));
    return 0;
}
