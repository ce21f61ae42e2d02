/* Packs or restores images: `runner e` or `runner d`. Input: a count; then per image w, h, length (32-bit little endian) and the bytes.
   Output: per image the length and the bytes. */
#include <stdio.h>
#include <stdlib.h>

#include "codec.h"

static void need(void *p, size_t n) {
    if (fread(p, 1, n, stdin) != n) exit(3);
}

int main(int argc, char **argv) {
    uint32_t count, head[3];
    if (argc != 2) return 3;
    need(&count, 4);
    for (uint32_t i = 0; i < count; i++) {
        need(head, 12);
        size_t area = (size_t)head[0] * head[1], cap = 4 * area + 64;
        uint8_t *in = malloc(head[2] + 1), *out = calloc(cap, 1);
        need(in, head[2]);
        size_t n = area;
        if (argv[1][0] == 'e')
            n = encode(in, (int)head[0], (int)head[1], out, cap);
        else
            decode(in, head[2], (int)head[0], (int)head[1], out);
        if (n > cap) return 4;
        uint32_t len = (uint32_t)n;
        fwrite(&len, 4, 1, stdout);
        fwrite(out, 1, n, stdout);
        free(in);
        free(out);
    }
    return fflush(stdout) ? 5 : 0;
}
