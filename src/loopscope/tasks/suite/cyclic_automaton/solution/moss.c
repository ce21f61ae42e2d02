/* Six colours of moss, 64 cells at a time: a colour is three bits, kept in three planes of words, one bit of each for every cell.
   Whether a neighbour has a cell's next colour, and whether two have, are then a few bit operations for 64 cells at once. */
#include "moss.h"
#include <stdlib.h>

typedef uint64_t word;
enum { PLANES = 3, BITS = 64 };

/* Set in `*one` and `*two` where at least one and two neighbours were found, `near` being the next one's planes. */
static inline void look(const word *near, const word *next, word *one, word *two)
{
    word same = ~((near[0] ^ next[0]) | (near[1] ^ next[1]) | (near[2] ^ next[2]));
    *two |= *one & same;
    *one |= same;
}

/* One word of a row, seen from itself and from the cells to its left and right: shifted planes, the row being a ring. */
static inline void around(const word *row, size_t at, size_t words, word *left, word *own, word *right)
{
    const word *before = row + PLANES * (at ? at - 1 : words - 1), *after = row + PLANES * (at + 1 < words ? at + 1 : 0);
    for (int p = 0; p < PLANES; p++) {
        word w = row[PLANES * at + p];
        left[p] = w << 1 | before[p] >> (BITS - 1);
        own[p] = w;
        right[p] = w >> 1 | after[p] << (BITS - 1);
    }
}

static void grow_row(const word *above, const word *row, const word *below, word *to, size_t words)
{
    for (size_t at = 0; at < words; at++) {
        word left[3][PLANES], own[3][PLANES], right[3][PLANES], one = 0, two = 0;
        around(above, at, words, left[0], own[0], right[0]);
        around(row, at, words, left[1], own[1], right[1]);
        around(below, at, words, left[2], own[2], right[2]);
        const word *b = own[1];
        word next[PLANES] = {~b[0], (b[1] ^ b[0]) & ~b[2], (b[2] & ~b[0]) | (b[1] & b[0])};
        for (int r = 0; r < 3; r++) {
            look(left[r], next, &one, &two);
            look(right[r], next, &one, &two);
        }
        look(own[0], next, &one, &two);
        look(own[2], next, &one, &two);
        for (int p = 0; p < PLANES; p++)
            to[PLANES * at + p] = (next[p] & two) | (b[p] & ~two);
    }
}

void grow(const uint8_t *start, uint8_t *end, size_t width, size_t height, size_t steps)
{
    size_t words = width / BITS, row = words * PLANES;
    word *from = calloc(height * row, sizeof *from), *to = calloc(height * row, sizeof *to);
    for (size_t n = 0; n < height * words; n++)
        for (int bit = 0; bit < BITS; bit++)
            for (int p = 0; p < PLANES; p++)
                from[PLANES * n + p] |= (word)(start[BITS * n + bit] >> p & 1) << bit;
    for (size_t step = 0; step < steps; step++) {
        for (size_t y = 0; y < height; y++)
            grow_row(from + (y ? y - 1 : height - 1) * row, from + y * row, from + (y + 1 < height ? y + 1 : 0) * row, to + y * row, words);
        word *other = from;
        from = to;
        to = other;
    }
    for (size_t n = 0; n < height * words; n++)
        for (int bit = 0; bit < BITS; bit++)
            end[BITS * n + bit] = (uint8_t)((from[PLANES * n] >> bit & 1) | (from[PLANES * n + 1] >> bit & 1) << 1 | (from[PLANES * n + 2] >> bit & 1) << 2);
    free(from);
    free(to);
}
