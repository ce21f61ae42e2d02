/* Readings by station. See the task's instruction; this file is yours to change. */
#define _GNU_SOURCE
#include "groupby.h"
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1      /* lists of stations, chosen by the length of the name and its first letter */
#define STATIONS 4096  /* most stations in one list */
#define CHUNK 64       /* bytes fetched at a time when looking for the end of a line */
#define LINE 256       /* longest line */

typedef struct {
    size_t used;
    station_row *rows[STATIONS];
} bucket;

static bucket buckets[BUCKETS];

static station_row *find(const char *name, station_row *rows, size_t *count)
{
    bucket *b = &buckets[(strlen(name) * 7 + (unsigned char)name[0]) % BUCKETS];
    for (size_t i = 0; i < b->used; i++)
        if (strcmp(b->rows[i]->name, name) == 0)
            return b->rows[i];
    station_row *row = &rows[(*count)++];
    memset(row, 0, sizeof *row);
    strncpy(row->name, name, NAME_MAX_BYTES - 1);
    row->min = INT64_MAX;
    row->max = INT64_MIN;
    b->rows[b->used++] = row;
    return row;
}

/* "-12.34" -> -1234 */
static int64_t hundredths(const char *text)
{
    double value = strtod(text, NULL) * 100.0;
    return (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

size_t groupby(const char *data, size_t length, station_row *rows)
{
    size_t count = 0, at = 0;
    memset(buckets, 0, sizeof buckets);
    while (at < length) {
        char line[LINE + CHUNK];
        size_t filled = 0, end = 0;
        for (;;) {
            size_t take = length - at - filled < CHUNK ? length - at - filled : CHUNK;
            memcpy(line + filled, data + at + filled, take);
            line[filled + take] = '\0';
            char *newline = strchr(line, '\n');
            filled += take;
            if (newline || take == 0) {
                end = newline ? (size_t)(newline - line) : filled;
                break;
            }
        }
        line[end] = '\0';
        at += end + 1;

        strtok(line, ",");
        char *name = strtok(NULL, ",");
        char *reading = strtok(NULL, ",");
        char *quality = strtok(NULL, ",");
        if (quality[0] == 'X')
            continue;
        station_row *row = find(name, rows, &count);
        int64_t value = hundredths(reading);
        row->count++;
        row->sum += value;
        if (value < row->min)
            row->min = value;
        if (value > row->max)
            row->max = value;
    }
    return count;
}
