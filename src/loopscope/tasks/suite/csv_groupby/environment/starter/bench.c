/* bench FILE: summarizes FILE once, writes the rows to standard output and the processor seconds it took to standard error. */
#define _GNU_SOURCE
#include "groupby.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

int main(int argc, char **argv)
{
    struct stat status;
    int file = argc == 2 ? open(argv[1], O_RDONLY) : -1;
    if (file < 0 || fstat(file, &status)) {
        fprintf(stderr, "usage: bench FILE\n");
        return 2;
    }
    station_row *rows = calloc(4096, sizeof *rows);
    struct timespec start, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    const char *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    uint64_t count = groupby(data, (size_t)status.st_size, rows);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    fwrite(&count, sizeof count, 1, stdout);
    fwrite(rows, sizeof *rows, count, stdout);
    fprintf(stderr, "%.9f\n", (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec));
    return 0;
}
