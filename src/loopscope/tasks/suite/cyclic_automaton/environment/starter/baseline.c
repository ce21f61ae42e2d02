/* Six colours of moss on a floor without edges. See the task's instruction; this file is yours to change. */
#include "moss.h"
#include <stdlib.h>
#include <string.h>

#define COLOURS 6
#define NEEDED 2     /* neighbours of the next colour that make a cell take it */
#define BLOCK 3      /* side of the squares of cells that are fetched with their border, then worked on */
#define STOP_EARLY 0 /* 1: look at no more neighbours when enough are found */

static void grow_block(const uint8_t *from, uint8_t *to, size_t width, size_t height, size_t top, size_t left)
{
    int near[BLOCK + 2][BLOCK + 2];
    for (size_t y = 0; y < BLOCK + 2; y++)
        for (size_t x = 0; x < BLOCK + 2; x++)
            near[y][x] = from[(top + y + height - 1) % height * width + (left + x + width - 1) % width];
    size_t rows = height - top < BLOCK ? height - top : BLOCK;
    size_t columns = width - left < BLOCK ? width - left : BLOCK;
    for (size_t y = 0; y < rows; y++)
        for (size_t x = 0; x < columns; x++) {
            int own = near[y + 1][x + 1], next = (own + 1) % COLOURS, found = 0;
            for (size_t dy = 0; dy < 3; dy++)
                for (size_t dx = 0; dx < 3; dx++)
                    if (!STOP_EARLY || found < NEEDED)
                        found += near[y + dy][x + dx] == next; /* a cell never has its own next colour */
            to[(top + y) * width + left + x] = (uint8_t)(found >= NEEDED ? next : own);
        }
}

void grow(const uint8_t *start, uint8_t *end, size_t width, size_t height, size_t steps)
{
    size_t size = width * height;
    uint8_t *from = malloc(size), *to = malloc(size);
    memcpy(from, start, size);
    for (size_t step = 0; step < steps; step++) {
        for (size_t top = 0; top < height; top += BLOCK)
            for (size_t left = 0; left < width; left += BLOCK)
                grow_block(from, to, width, height, top, left);
        uint8_t *other = from;
        from = to;
        to = other;
    }
    memcpy(end, from, size);
    free(from);
    free(to);
}
