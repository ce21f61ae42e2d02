/* Readings by station in one pass: each byte is looked at once, the name is hashed on the way, stations lie in an open-addressing table. */
#include "groupby.h"
#include <string.h>

#define SLOTS 8192 /* a power of two, at least twice the stations */

typedef struct {
    uint64_t hash;
    station_row *row;
} slot;

static slot table[SLOTS];

static station_row *find(uint64_t hash, const char *name, size_t length, station_row *rows, size_t *count)
{
    for (size_t at = hash & (SLOTS - 1);; at = (at + 1) & (SLOTS - 1)) {
        slot *s = &table[at];
        if (!s->row) {
            station_row *row = &rows[(*count)++];
            memset(row, 0, sizeof *row);
            memcpy(row->name, name, length);
            row->min = INT64_MAX;
            row->max = INT64_MIN;
            s->hash = hash;
            s->row = row;
            return row;
        }
        if (s->hash == hash && memcmp(s->row->name, name, length) == 0 && s->row->name[length] == '\0')
            return s->row;
    }
}

size_t groupby(const char *data, size_t length, station_row *rows)
{
    const char *p = data, *end = data + length;
    size_t count = 0;
    memset(table, 0, sizeof table);
    while (p < end) {
        while (*p++ != ',')
            ;
        const char *name = p;
        uint64_t hash = 0;
        for (; *p != ','; p++)
            hash = hash * 31 + (unsigned char)*p;
        size_t name_length = (size_t)(p++ - name);
        hash ^= hash >> 17;

        int negative = *p == '-';
        p += negative;
        int64_t value = 0;
        for (; *p != '.'; p++)
            value = value * 10 + (*p - '0');
        value = value * 100 + (p[1] - '0') * 10 + (p[2] - '0');
        if (negative)
            value = -value;
        char quality = p[4];
        p += 6;
        if (quality == 'X')
            continue;
        station_row *row = find(hash, name, name_length, rows, &count);
        row->count++;
        row->sum += value;
        if (value < row->min)
            row->min = value;
        if (value > row->max)
            row->max = value;
    }
    return count;
}
