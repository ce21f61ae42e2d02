#ifndef GROUPBY_H
#define GROUPBY_H
#include <stddef.h>
#include <stdint.h>

#define NAME_MAX_BYTES 24 /* a station's name, padded with zero bytes */

/* What is known of one station. Readings are counted in hundredths. 56 bytes, no padding. */
typedef struct {
    char name[NAME_MAX_BYTES];
    int64_t count;
    int64_t sum;
    int64_t min;
    int64_t max;
} station_row;

/* Summarize `length` bytes of readings at `data` (read-only, not terminated by a zero byte) into `rows`, in the order in which stations
   first appear; returns their number. There is room for every station. */
size_t groupby(const char *data, size_t length, station_row *rows);

#endif
