#ifndef CODEC_H
#define CODEC_H
#include <stddef.h>
#include <stdint.h>

/* Pixels lie row by row, one byte each; 1 <= w, h <= 256.
   encode writes at most cap bytes to out and returns how many; cap is 4 * w * h + 64.
   decode restores the w * h pixels from exactly those n bytes. */
size_t encode(const uint8_t *pix, int w, int h, uint8_t *out, size_t cap);
void decode(const uint8_t *in, size_t n, int w, int h, uint8_t *pix);

#endif
