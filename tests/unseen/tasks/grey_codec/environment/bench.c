/* Local evaluation: codes and restores the images in data/ and prints the mean bits per pixel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec.h"

#define MAX_IMAGES 64

typedef struct {
    int w, h;
    uint8_t *pix, *code;
    size_t n;
} Image;

static int load(const char *name, Image *im) {
    FILE *f = fopen(name, "r");
    int top;
    if (!f) return 0;
    if (fscanf(f, "P2 %d %d %d", &im->w, &im->h, &top) != 3) exit(2);
    im->pix = malloc((size_t)im->w * im->h);
    for (int i = 0; i < im->w * im->h; i++) {
        int v;
        if (fscanf(f, "%d", &v) != 1) exit(2);
        im->pix[i] = (uint8_t)v;
    }
    fclose(f);
    return 1;
}

int main(void) {
    static Image im[MAX_IMAGES];
    int count = 0;
    double bits = 0, pixels = 0;
    for (; count < MAX_IMAGES; count++) {
        char name[32];
        snprintf(name, sizeof name, "data/%02d.pgm", count);
        if (!load(name, &im[count])) break;
    }
    if (!count) {
        fprintf(stderr, "no images in data/\n");
        return 2;
    }
    for (int i = 0; i < count; i++) {
        size_t area = (size_t)im[i].w * im[i].h, cap = 4 * area + 64;
        im[i].code = malloc(cap);
        im[i].n = encode(im[i].pix, im[i].w, im[i].h, im[i].code, cap);
        if (im[i].n > cap) {
            fprintf(stderr, "image %d: %zu bytes do not fit\n", i, im[i].n);
            return 1;
        }
        bits += 8.0 * im[i].n;
        pixels += area;
    }
    for (int i = count - 1; i >= 0; i--) { /* another order: images are coded independently */
        size_t area = (size_t)im[i].w * im[i].h;
        uint8_t *back = calloc(area, 1);
        decode(im[i].code, im[i].n, im[i].w, im[i].h, back);
        if (memcmp(back, im[i].pix, area)) {
            fprintf(stderr, "image %d is not restored\n", i);
            return 1;
        }
        free(back);
    }
    printf("score: %.4f\n", bits / pixels);
    return 0;
}
