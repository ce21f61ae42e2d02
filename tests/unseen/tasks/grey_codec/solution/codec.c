/* Several predictors, two of them least-squares fits to the pixels around, each with a logistic distribution as wide as its
   recent errors nearby; their mixture, weighted by how well each did nearby, drives a range coder. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec.h"
#include "tuning.h"

#define SIDE 256
#define TAPS 6
#define TOTAL 65536u

/* ---- range coder ---- */

typedef struct {
    uint32_t low, range, code;
    uint8_t *out;
    const uint8_t *in;
    size_t pos, cap;
} Coder;

static void shift(Coder *c, int decoding) {
    while ((c->low ^ (c->low + c->range)) < (1u << 24) || (c->range < TOTAL && ((c->range = -c->low & (TOTAL - 1)), 1))) {
        if (decoding) {
            c->code = c->code << 8 | (c->pos < c->cap ? c->in[c->pos] : 0);
            c->pos++;
        } else if (c->pos < c->cap)
            c->out[c->pos++] = (uint8_t)(c->low >> 24);
        c->low <<= 8;
        c->range <<= 8;
    }
}

/* ---- model ---- */

typedef struct {
    double pred[EXPERTS], scale[EXPERTS], weight[EXPERTS];
} Mix;

static float err[EXPERTS][SIDE][SIDE], loss[EXPERTS][SIDE][SIDE];
static const int DX[TAPS] = {-1, 0, -1, 1, -2, 0}, DY[TAPS] = {0, -1, -1, -1, 0, -2};

static double fade[2 * SIDE];

static int clampi(int v, int a, int b) { return v < a ? a : v > b ? b : v; }

static int at(const uint8_t *pix, int w, int x, int y) {
    if (y < 0) return pix[clampi(x, 0, w - 1)];
    if (x < 0) return y > 0 ? pix[(y - 1) * w] : pix[0];
    if (x >= w) return y > 0 ? pix[(y - 1) * w + w - 1] : pix[w - 1];
    return pix[y * w + x];
}

static double fit(const uint8_t *pix, int w, int x, int y, int radius, int taps) {
    double a[TAPS][TAPS + 1] = {{0}}, sol[TAPS], mean = 0;
    double here[TAPS];
    for (int i = 0; i < taps; i++) {
        here[i] = at(pix, w, x + DX[i], y + DY[i]);
        mean += here[i] / taps;
    }
    for (int dy = -radius; dy <= 0; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
            int u = x + dx, v = y + dy;
            if (dy == 0 && dx >= 0) break;
            if (u < 0 || u >= w || v < 0 || (v == 0 && u == 0)) continue;
            double f[TAPS], t = pix[v * w + u] - mean;
            int far = abs(dx) + abs(dy);
            double diff = 0;
            for (int i = 0; i < taps; i++) {
                f[i] = at(pix, w, u + DX[i], v + DY[i]) - mean;
                diff += fabs(f[i] + mean - here[i]);
            }
            double g = fade[far] / (FIT_SOFT + diff / taps);
            for (int i = 0; i < taps; i++) {
                for (int j = 0; j <= i; j++) a[i][j] += g * f[i] * f[j];
                a[i][TAPS] += g * f[i] * t;
            }
        }
    for (int i = 0; i < taps; i++) {
        a[i][i] += FIT_RIDGE;
        a[i][TAPS] += FIT_RIDGE * (i < 2 ? 0.5 : 0);
    }
    /* Cholesky on the lower triangle */
    for (int i = 0; i < taps; i++) {
        for (int j = 0; j <= i; j++) {
            double s = a[i][j];
            for (int k = 0; k < j; k++) s -= a[i][k] * a[j][k];
            a[i][j] = i == j ? sqrt(s > 1e-9 ? s : 1e-9) : s / a[j][j];
        }
        double s = a[i][TAPS];
        for (int k = 0; k < i; k++) s -= a[i][k] * sol[k];
        sol[i] = s / a[i][i];
    }
    double p = mean;
    for (int i = taps - 1; i >= 0; i--) {
        for (int k = i + 1; k < taps; k++) sol[i] -= a[k][i] * sol[k];
        sol[i] /= a[i][i];
        p += sol[i] * (here[i] - mean);
    }
    return p;
}

static double nearby(float f[SIDE][SIDE], int w, int x, int y, double start, double pull) {
    static const int nx[8] = {-1, 0, -1, 1, -2, 0, -1, 1}, ny[8] = {0, -1, -1, -1, 0, -2, -2, -2};
    static const double g[8] = {1, 1, 0.7, 0.7, 0.5, 0.5, 0.4, 0.4};
    double s = pull * start, n = pull;
    for (int i = 0; i < 8; i++) {
        int u = x + nx[i], v = y + ny[i];
        if (u < 0 || u >= w || v < 0) continue;
        s += g[i] * f[v][u];
        n += g[i];
    }
    return s / n;
}

static void look(const uint8_t *pix, int w, int x, int y, Mix *m, const double *usual) {
    if (x == 0 && y == 0) {
        for (int j = 0; j < EXPERTS; j++) m->pred[j] = 128, m->scale[j] = 40, m->weight[j] = 1.0 / EXPERTS;
        return;
    }
    double l = at(pix, w, x - 1, y), u = l, ul = l, ur = l;
    if (y > 0) u = at(pix, w, x, y - 1), ul = at(pix, w, x - 1, y - 1), ur = at(pix, w, x + 1, y - 1);
    double hi = l > u ? l : u, lo = l > u ? u : l;
    m->pred[0] = ul >= hi ? lo : ul <= lo ? hi : l + u - ul;
    m->pred[1] = (l + u) / 2 + (ur - ul) / 4;
    m->pred[2] = 0.9 * (l + u) - 0.8 * ul;
    m->pred[3] = y ? fit(pix, w, x, y, FIT_NEAR, 4) : l;
    m->pred[4] = y ? fit(pix, w, x, y, FIT_FAR, TAPS) : l;
    double top = 1e30, all = 0, blend = 0;
    for (int j = 0; j < EXPERTS; j++) {
        m->weight[j] = nearby(loss[j], w, x, y, 3, 0.2);
        if (m->weight[j] < top) top = m->weight[j];
    }
    for (int j = 0; j < EXPERTS - 1; j++) {
        double e = nearby(err[j], w, x, y, usual[j], 0.5);
        double g = 1 / (0.05 + e * e * e);
        blend += g * m->pred[j];
        all += g;
    }
    m->pred[EXPERTS - 1] = blend / all;
    all = 0;
    for (int j = 0; j < EXPERTS; j++) {
        all += m->weight[j] = exp(-TRUST * (m->weight[j] - top));
        m->scale[j] = 0.12 + WIDTH * nearby(err[j], w, x, y, usual[j], PULL);
        if (m->pred[j] < 0) m->pred[j] = 0;
        if (m->pred[j] > 255) m->pred[j] = 255;
    }
    for (int j = 0; j < EXPERTS; j++) m->weight[j] /= all;
}

static double below(const Mix *m, double edge, int j) { return 1 / (1 + exp((m->pred[j] - edge) / m->scale[j])); }

static uint32_t cum(const Mix *m, int k) {
    double f = 0;
    if (k <= 0) return 0;
    if (k >= 256) return TOTAL;
    for (int j = 0; j < EXPERTS; j++) f += m->weight[j] * below(m, k - 0.5, j);
    return (uint32_t)k + (uint32_t)((TOTAL - 256) * (f < 1 ? f : 1));
}

static void learn(const Mix *m, int x, int y, int value, double *usual) {
    for (int j = 0; j < EXPERTS; j++) {
        double p = below(m, value + 0.5, j) - below(m, value - 0.5, j), e = fabs(value - m->pred[j]);
        loss[j][y][x] = (float)-log(p + 1e-4);
        err[j][y][x] = (float)(e < 40 ? e : 40);
        usual[j] += (err[j][y][x] - usual[j]) * 0.02;
    }
}

static size_t run(Coder *c, int decoding, uint8_t *pix, int w, int h) {
    Mix m;
    double usual[EXPERTS];
    for (int j = 0; j < EXPERTS; j++) usual[j] = 4;
    for (int i = 0; i < 2 * SIDE; i++) fade[i] = pow(FIT_FADE, i);
    c->range = 0xffffffffu;
    if (decoding)
        for (int i = 0; i < 4; i++) c->code = c->code << 8 | (c->pos < c->cap ? c->in[c->pos] : 0), c->pos++;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            look(pix, w, x, y, &m, usual);
            int v = 0;
            uint32_t unit = c->range / TOTAL;
            if (decoding) {
                uint32_t want = (c->code - c->low) / unit;
                for (int step = 128; step; step >>= 1)
                    if (cum(&m, v + step) <= want) v += step;
                pix[y * w + x] = (uint8_t)v;
            } else
                v = pix[y * w + x];
            uint32_t a = cum(&m, v), b = cum(&m, v + 1);
            c->low += a * unit;
            c->range = (b - a) * unit;
            shift(c, decoding);
            learn(&m, x, y, v, usual);
        }
    if (!decoding) { /* the fewest bytes that name a point of the interval; the decoder reads zeros after them */
        for (int bytes = 1; bytes <= 4; bytes++) {
            uint32_t mask = bytes == 4 ? 0 : 0xffffffffu >> (8 * bytes);
            uint32_t point = (c->low + mask) & ~mask;
            if (point - c->low < c->range && point >= c->low) {
                for (int i = 0; i < bytes && c->pos < c->cap; i++) c->out[c->pos++] = (uint8_t)(point >> (24 - 8 * i));
                break;
            }
        }
        while (c->pos && c->out[c->pos - 1] == 0) c->pos--;
    }
    return c->pos;
}

size_t encode(const uint8_t *pix, int w, int h, uint8_t *out, size_t cap) {
    Coder c = {0};
    static uint8_t copy[SIDE * SIDE];
    memcpy(copy, pix, (size_t)w * h);
    c.out = out;
    c.cap = cap;
    return run(&c, 0, copy, w, h);
}

void decode(const uint8_t *in, size_t n, int w, int h, uint8_t *pix) {
    Coder c = {0};
    c.in = in;
    c.cap = n;
    run(&c, 1, pix, w, h);
}
