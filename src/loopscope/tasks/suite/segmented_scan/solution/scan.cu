/* Reduce, then scan: (1) each block composes its tile, (2) one block scans the tiles' compositions, (3) each block scans its tile, beginning
   with what comes from the left. A composition that has seen the beginning of a segment takes nothing from its left. */

#define GROUP 128 /* threads of a block */
#define ITEMS 12 /* consecutive elements of a thread */
#define TILE (GROUP * ITEMS)

SHARED(tile_a, GROUP * ITEMS)
SHARED(tile_b, GROUP * ITEMS)
SHARED(sum_a, GROUP * 2)
SHARED(sum_b, GROUP * 2)
SHARED(sum_head, GROUP * 2)

DEVICE u32 tiles(void)
{
    return (N + TILE - 1) / TILE;
}

DEVICE u32 is_head(u32 i)
{
    return LOAD(heads, i >> 5) >> (i & 31) & 1;
}

/* The tile into shared memory, neighbours by neighbours. */
DEVICE void fetch(u32 first)
{
    for (u32 i = THREAD; i < TILE && first + i < N; i += GROUP) {
        PUT(tile_a, i, LOAD(scale, first + i));
        PUT(tile_b, i, LOAD(shift, first + i));
    }
    BARRIER();
}

/* Scan what the threads have: afterwards sum_*[side * GROUP + t] is the composition of the threads up to t; the side is returned. */
DEVICE u32 scan_group(u32 a, u32 b, u32 head)
{
    u32 side = 0;
    for (u32 far = 1; far <= GROUP; far *= 2) {
        PUT(sum_a, side + THREAD, a);
        PUT(sum_b, side + THREAD, b);
        PUT(sum_head, side + THREAD, head);
        BARRIER();
        if (far < GROUP) {
            if (THREAD >= far && !head) {
                u32 other = side + THREAD - far;
                b = a * GET(sum_b, other) + b;
                a = a * GET(sum_a, other);
                head = GET(sum_head, other);
            }
            side = GROUP - side;
        }
    }
    return side;
}

/* The composition of this thread's elements goes into the scan of the group. */
DEVICE u32 scan_items(u32 first)
{
    u32 a = 1, b = 0, head = 0;
    for (u32 i = THREAD * ITEMS; i < THREAD * ITEMS + ITEMS && first + i < N; i++) {
        u32 p = GET(tile_a, i);
        if (is_head(first + i)) {
            head = 1;
            a = 1;
            b = 0;
        }
        a = p * a;
        b = p * b + GET(tile_b, i);
    }
    return scan_group(a, b, head);
}

KERNEL void reduce_tiles(void)
{
    fetch(BLOCK * TILE);
    u32 side = scan_items(BLOCK * TILE);
    if (THREAD == GROUP - 1) {
        STORE(scratch, BLOCK, GET(sum_a, side + THREAD));
        STORE(scratch, BLOCKS + BLOCK, GET(sum_b, side + THREAD));
        STORE(scratch, 2 * BLOCKS + BLOCK, GET(sum_head, side + THREAD));
    }
}

/* Where the tiles are more than the group, each thread takes several neighbours. What comes to a tile from its left: its shift alone
   is not enough, for the outputs have both. */
KERNEL void scan_tiles(void)
{
    u32 count = tiles();
    u32 each = (count + GROUP - 1) / GROUP;
    u32 a = 1, b = 0, head = 0;
    for (u32 t = THREAD * each; t < THREAD * each + each && t < count; t++) {
        u32 p = LOAD(scratch, t), q = LOAD(scratch, count + t);
        if (LOAD(scratch, 2 * count + t)) {
            head = 1;
            a = p;
            b = q;
        } else {
            b = p * b + q;
            a = p * a;
        }
    }
    u32 side = scan_group(a, b, head);
    a = THREAD ? GET(sum_a, side + THREAD - 1) : 1;
    b = THREAD ? GET(sum_b, side + THREAD - 1) : 0;
    for (u32 t = THREAD * each; t < THREAD * each + each && t < count; t++) {
        u32 p = LOAD(scratch, t), q = LOAD(scratch, count + t);
        STORE(scratch, t, a);
        STORE(scratch, count + t, b);
        b = LOAD(scratch, 2 * count + t) ? q : p * b + q;
        a = LOAD(scratch, 2 * count + t) ? p : p * a;
    }
}

KERNEL void scan_elements(void)
{
    u32 first = BLOCK * TILE;
    fetch(first);
    u32 side = scan_items(first);
    u32 a = THREAD ? GET(sum_a, side + THREAD - 1) : 1;
    u32 b = THREAD ? GET(sum_b, side + THREAD - 1) : 0;
    if (!(THREAD && GET(sum_head, side + THREAD - 1))) {
        b = a * LOAD(scratch, BLOCKS + BLOCK) + b;
        a = a * LOAD(scratch, BLOCK);
    }
    for (u32 i = THREAD * ITEMS; i < THREAD * ITEMS + ITEMS && first + i < N; i++) {
        u32 p = GET(tile_a, i), fresh = is_head(first + i);
        b = (fresh ? 0 : p * b) + GET(tile_b, i);
        a = fresh ? p : p * a;
        PUT(tile_a, i, a);
        PUT(tile_b, i, b);
    }
    BARRIER();
    for (u32 i = THREAD; i < TILE && first + i < N; i += GROUP) {
        STORE(out_scale, first + i, GET(tile_a, i));
        STORE(out_shift, first + i, GET(tile_b, i));
    }
}

PLAN void plan(void)
{
    LAUNCH(reduce_tiles, (N + TILE - 1) / TILE, GROUP);
    LAUNCH(scan_tiles, 1, GROUP);
    LAUNCH(scan_elements, (N + TILE - 1) / TILE, GROUP);
}
