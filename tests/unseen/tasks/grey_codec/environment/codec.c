#include "codec.h"
#include "tuning.h"

/* ---- bits ---- */

typedef struct {
    uint8_t *buf;
    size_t cap, pos;
    uint32_t acc;
    int fill;
} Writer;

static void put_bit(Writer *b, int bit) {
    b->acc = b->acc << 1 | (uint32_t)(bit & 1);
    if (++b->fill == 8) {
        if (b->pos < b->cap) b->buf[b->pos++] = (uint8_t)b->acc;
        b->acc = 0;
        b->fill = 0;
    }
}

static void put_bits(Writer *b, unsigned value, int count) {
    while (count-- > 0) put_bit(b, value >> count & 1);
}

typedef struct {
    const uint8_t *buf;
    size_t n, pos;
    int left;
} Reader;

static int get_bit(Reader *b) {
    if (b->pos >= b->n) return 0;
    int bit = b->buf[b->pos] >> --b->left & 1;
    if (b->left == 0) {
        b->left = 8;
        b->pos++;
    }
    return bit;
}

static unsigned get_bits(Reader *b, int count) {
    unsigned value = 0;
    while (count-- > 0) value = value << 1 | (unsigned)get_bit(b);
    return value;
}

/* ---- model ---- */

static int clamp(int v) { return v < 0 ? 0 : v > 255 ? 255 : v; }

static int predict(const uint8_t *pix, int w, int x, int y) {
    const uint8_t *p = pix + (size_t)y * w + x;
    if (x == 0 && y == 0) return 128;
    if (y == 0) return p[-1];
    if (x == 0) return p[-w];
    int left = p[-1], up = p[-w], upleft = p[-w - 1];
    int upright = x + 1 < w ? p[-w + 1] : up;
    int sum = W_LEFT * left + W_UP * up + W_UPLEFT * upleft + W_UPRIGHT * upright;
    return clamp((sum + 8) >> 4);
}

/* Residual modulo 256 to 0, 1, 2, ...: 0, -1, 1, -2, 2, ... */
static unsigned fold(int residual) {
    int r = (int8_t)residual;
    return r >= 0 ? 2u * (unsigned)r : 2u * (unsigned)(-r) - 1;
}

static int unfold(unsigned m) { return m & 1 ? -(int)((m + 1) / 2) : (int)(m / 2); }

typedef struct {
    int mean; /* in 1 / 256 */
} Model;

static void model_start(Model *m) { m->mean = MEAN_START * 256; }

static int model_k(const Model *m) {
    int k = 0;
    while (k < 7 && (256 << (k + 1)) <= m->mean) k++;
    return k;
}

static void model_update(Model *m, unsigned value) { m->mean += ((int)value * 256 - m->mean) / (1 << MEAN_RATE); }

/* ---- interface ---- */

size_t encode(const uint8_t *pix, int w, int h, uint8_t *out, size_t cap) {
    Writer b = {out, cap, 0, 0, 0};
    Model model;
    model_start(&model);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            unsigned v = fold(pix[(size_t)y * w + x] - predict(pix, w, x, y));
            int k = model_k(&model);
            unsigned q = v >> k;
            if (q < ESCAPE) {
                for (unsigned i = 0; i < q; i++) put_bit(&b, 1);
                put_bit(&b, 0);
                put_bits(&b, v, k);
            } else {
                for (int i = 0; i < ESCAPE; i++) put_bit(&b, 1);
                put_bits(&b, v, 8);
            }
            model_update(&model, v);
        }
    while (b.fill) put_bit(&b, 0);
    return b.pos;
}

void decode(const uint8_t *in, size_t n, int w, int h, uint8_t *pix) {
    Reader b = {in, n, 0, 8};
    Model model;
    model_start(&model);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int k = model_k(&model);
            unsigned q = 0;
            while (q < ESCAPE && get_bit(&b)) q++;
            unsigned v = q < ESCAPE ? q << k | get_bits(&b, k) : get_bits(&b, 8);
            pix[(size_t)y * w + x] = (uint8_t)(predict(pix, w, x, y) + unfold(v));
            model_update(&model, v);
        }
}
