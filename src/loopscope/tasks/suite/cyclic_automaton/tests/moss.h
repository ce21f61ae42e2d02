#ifndef MOSS_H
#define MOSS_H
#include <stddef.h>
#include <stdint.h>

/* Let the floor `start`, height rows of width cells with a colour from 0 to 5 each, grow `steps` times; write the result to `end`.
   `start` is read-only; the width is a multiple of 64. */
void grow(const uint8_t *start, uint8_t *end, size_t width, size_t height, size_t steps);

#endif
