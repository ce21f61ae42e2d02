/* Running composition of affine steps, anew in each segment. See the task's instruction; this file is yours to change. */

#define GROUP 16 /* threads of a block: each takes one segment */
#define PIECE 4  /* elements that are staged in shared memory at a time */

SHARED(piece_a, PIECE)
SHARED(piece_b, PIECE)

DEVICE u32 least(u32 x, u32 y)
{
    return x < y ? x : y;
}

KERNEL void scan_segments(void)
{
    u32 last = least(BLOCK * GROUP + GROUP, SEGMENTS);
    u32 mine = least(BLOCK * GROUP + THREAD, last);
    u32 begin = LOAD(starts, BLOCK * GROUP), end = LOAD(starts, last);
    u32 from = LOAD(starts, mine), to = LOAD(starts, least(mine + 1, last));
    u32 a = 1, b = 0;
    for (u32 piece = begin; piece < end; piece += PIECE) {
        u32 stop = least(piece + PIECE, end);
        for (u32 i = piece + THREAD; i < stop; i += GROUP) {
            PUT(piece_a, i - piece, LOAD(scale, i));
            PUT(piece_b, i - piece, LOAD(shift, i));
        }
        BARRIER();
        for (u32 i = piece; i < stop; i++) {
            if (i >= from && i < to) {
                b = GET(piece_a, i - piece) * b + GET(piece_b, i - piece);
                a = GET(piece_a, i - piece) * a;
                PUT(piece_a, i - piece, a);
                PUT(piece_b, i - piece, b);
            }
        }
        BARRIER();
        for (u32 i = piece + THREAD; i < stop; i += GROUP) {
            STORE(out_scale, i, GET(piece_a, i - piece));
            STORE(out_shift, i, GET(piece_b, i - piece));
        }
        BARRIER();
    }
}

PLAN void plan(void)
{
    LAUNCH(scan_segments, (SEGMENTS + GROUP - 1) / GROUP, GROUP);
}
