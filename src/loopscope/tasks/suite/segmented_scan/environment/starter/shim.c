/* The counted backend: runs a plan of kernels, each block as fibres that take turns at barriers, and counts what it costs.
   kernels.inc is written by language.py; nothing else of a solution is in here.

   Counted, for the model of a device with MULTIPROCESSORS of equal speed and warps of 32 threads:
   - a transaction for each aligned piece of 32 words that a warp touches with one access (the k-th time that its threads come to it since the last barrier);
   - a barrier for each warp that waits;
   - the operations of each warp between two barriers, which are those of its thread that does most; a warp has one under way at a time, which takes
     LATENCY, and so many warps can take turns: between two barriers a block takes the sum over its warps, or LATENCY times the longest, whichever is more.
   A block goes to the multiprocessor that has least to do so far; a launch costs what the busiest one has, and LAUNCH_COST.

   Faults, which end it: an index that is out of range, a race (a word that one thread writes and another one reads or writes with no barrier
   between, or with another block in the same launch), shared memory read before it is written, a barrier that not all threads of a block reach. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

typedef uint32_t u32;
typedef uint64_t u64;
enum { MULTIPROCESSORS = 8, WARP = 32, TRANSACTION_COST = 16, BARRIER_COST = 8, LATENCY = 4, LAUNCH_COST = 2000 };
enum { MOST_THREADS = 1024, MOST_BLOCKS = 65535, STACK = 64 << 10, SHARED_LIMIT = 12288 };
enum { B_scale, B_shift, B_starts, B_heads, B_out_scale, B_out_shift, B_scratch, BUFFERS };
#define MANY 0xffffffffu

typedef struct {
    u32 write_block, write_epoch, write_thread, read_launch, read_block, read_epoch, read_thread;
} Past; /* of a word */

static u32 *data[BUFFERS], length[BUFFERS], shared_words[SHARED_LIMIT], n, segments;
static Past *past[BUFFERS], shared_past[SHARED_LIMIT];
static u32 thread, threads, block, blocks, serial, launch_first, launch, epoch; /* serial: of blocks, over all launches */
static u64 steps;
static struct { u64 cost, transactions, barriers, steps; } total;

_Noreturn static void fault(const char *why, u32 where)
{
    fprintf(stderr, "launch %u, block %u, thread %u: %s (%u)\n", launch, block, thread, why, where);
    _exit(3);
}

/* -- fibres ---------------------------------------------------------------------------------------------------------- */

static jmp_buf scheduler, fibres[MOST_THREADS];
static ucontext_t entry, left;
static u32 made, waits_at[MOST_THREADS]; /* the barrier's site; 0: it has ended */
static void (*kernel)(void);
static char *stacks;

__attribute__((noinline)) static void give_way(u32 site)
{
    waits_at[thread] = site;
    if (!_setjmp(fibres[thread]))
        _longjmp(scheduler, 1);
}

static void live(void)
{
    for (;;) {
        kernel();
        give_way(0);
    }
}

__attribute__((noinline)) static void resume(void)
{
    if (_setjmp(scheduler))
        return;
    if (thread < made)
        _longjmp(fibres[thread], 1);
    made++;
    getcontext(&entry);
    entry.uc_stack.ss_sp = stacks + (size_t)thread * 2 * STACK + STACK; /* the half below stays out of reach */
    entry.uc_stack.ss_size = STACK;
    entry.uc_link = NULL;
    if (mprotect(entry.uc_stack.ss_sp, STACK, PROT_READ | PROT_WRITE))
        fault("no memory for its stack", thread);
    makecontext(&entry, live, 0);
    swapcontext(&left, &entry);
}

/* -- transactions of a warp between two barriers: a set of (site, how many times, piece) ------------------------------ */

static u64 *keys;
static u32 *stamps, stamp, room = 1 << 14, filled, times[256];

static void insert(u64 key)
{
    u32 at = (u32)(key * 0x9e3779b97f4a7c15u >> 40) & (room - 1);
    while (stamps[at] == stamp && keys[at] != key)
        at = (at + 1) & (room - 1);
    filled += stamps[at] != stamp;
    stamps[at] = stamp;
    keys[at] = key;
}

static void grow(void)
{
    u64 *old = keys;
    u32 *marks = stamps, before = room;
    if (room >= 1 << 23)
        fault("too many accesses without a barrier", filled);
    room *= 2;
    keys = malloc(room * sizeof *keys);
    stamps = calloc(room, sizeof *stamps);
    if (!keys || !stamps)
        fault("no memory to count in", room);
    filled = 0;
    for (u32 at = 0; at < before; at++)
        if (marks[at] == stamp)
            insert(old[at]);
    free(old);
    free(marks);
}

static void touch(u32 buffer, u32 site, u32 index)
{
    if (filled * 2 > room)
        grow();
    insert((u64)site << 56 | (u64)(times[site]++ & 0xffffff) << 32 | (u64)buffer << 28 | index >> 5);
}

/* -- accessors ------------------------------------------------------------------------------------------------------- */

static void note_read(Past *word, u32 where)
{
    if ((word->write_block >= launch_first && word->write_block != serial) || (word->write_epoch == epoch && word->write_thread != thread))
        fault("it reads what another thread writes, with no barrier between", where);
    if (word->read_launch != launch || word->read_block != serial) {
        word->read_block = word->read_launch == launch ? MANY : serial;
        word->read_launch = launch;
    }
    word->read_thread = word->read_epoch == epoch && word->read_thread != thread ? MANY : thread;
    word->read_epoch = epoch;
}

static void note_write(Past *word, u32 where)
{
    if ((word->write_block >= launch_first && word->write_block != serial) || (word->write_epoch == epoch && word->write_thread != thread))
        fault("two threads write one word, with no barrier between", where);
    if ((word->read_launch == launch && word->read_block != serial) || (word->read_epoch == epoch && word->read_thread != thread))
        fault("it writes what another thread reads, with no barrier between", where);
    word->write_block = serial;
    word->write_epoch = epoch;
    word->write_thread = thread;
}

static u32 LOAD(u32 buffer, u32 site, u32 index)
{
    if (index >= length[buffer])
        fault("LOAD out of range", index);
    touch(buffer, site, index);
    if (past[buffer])
        note_read(past[buffer] + index, index);
    return data[buffer][index];
}

static void STORE(u32 buffer, u32 site, u32 index, u32 value)
{
    if (index >= length[buffer] || !past[buffer])
        fault("STORE out of range", index);
    touch(buffer, site, index);
    note_write(past[buffer] + index, index);
    data[buffer][index] = value;
}

static u32 GET(u32 offset, u32 words, u32 index)
{
    if (index >= words)
        fault("GET out of range", index);
    Past *word = shared_past + offset + index;
    if (word->write_block != serial)
        fault("shared memory that this block has not written", index);
    note_read(word, index);
    return shared_words[offset + index];
}

static void PUT(u32 offset, u32 words, u32 index, u32 value)
{
    if (index >= words)
        fault("PUT out of range", index);
    note_write(shared_past + offset + index, index);
    shared_words[offset + index] = value;
}

static void BARRIER(u32 site) { give_way(site); }
static inline u32 DIVIDE(u32 a, u32 b) { return b ? a / b : MANY; }
static inline u32 MODULO(u32 a, u32 b) { return b ? a % b : MANY; }
static inline u32 SHIFT_LEFT(u32 a, u32 b) { return a << (b & 31); }
static inline u32 SHIFT_RIGHT(u32 a, u32 b) { return a >> (b & 31); }
#define STEP(count) ((void)(steps += (count)))
#define THREAD thread
#define THREADS threads
#define BLOCK block
#define BLOCKS blocks
#define N n
#define SEGMENTS segments
#define PLAN_N n
#define PLAN_SEGMENTS segments
#define DEVICE static
#define KERNEL static
#define LAUNCH(name, grid, size) run(name, grid, size)
static void run(void (*name)(void), u32 grid, u32 size);
#include "kernels.inc"

/* -- launches -------------------------------------------------------------------------------------------------------- */

static u64 run_block(void)
{
    u64 cost = 0;
    u32 running = threads, warps = (threads + WARP - 1) / WARP;
    serial++;
    memset(shared_past, 0, SHARED_TOTAL * sizeof *shared_past);
    while (running) {
        u64 sum = 0, longest = 0;
        epoch++;
        for (u32 warp = 0; warp < warps; warp++) {
            u64 most = 0;
            stamp++;
            filled = 0;
            for (thread = warp * WARP; thread < threads && thread < (warp + 1) * WARP; thread++) {
                steps = 0;
                memset(times, 0, SITES_TOTAL * sizeof *times);
                resume();
                most = steps > most ? steps : most;
            }
            total.transactions += filled;
            total.steps += most;
            sum += most;
            longest = most > longest ? most : longest;
            cost += (u64)filled * TRANSACTION_COST;
        }
        cost += sum > LATENCY * longest ? sum : LATENCY * longest;
        for (thread = 1; thread < threads; thread++)
            if (waits_at[thread] != waits_at[0])
                fault("not all threads of the block reach the same barrier", waits_at[thread]);
        if (!waits_at[0])
            running = 0;
        else {
            total.barriers += warps;
            cost += (u64)warps * BARRIER_COST;
        }
    }
    return cost;
}

static void run(void (*name)(void), u32 grid, u32 size)
{
    u64 busy[MULTIPROCESSORS] = {0}, most = 0;
    launch++;
    kernel = name;
    blocks = grid;
    threads = size;
    launch_first = serial + 1;
    if (grid < 1 || grid > MOST_BLOCKS || size < 1 || size > MOST_THREADS)
        fault("it is no launch of 1 to 65535 blocks of 1 to 1024 threads", grid);
    for (block = 0; block < blocks; block++) {
        int least = 0;
        for (int m = 1; m < MULTIPROCESSORS; m++)
            least = busy[m] < busy[least] ? m : least;
        busy[least] += run_block();
    }
    for (int m = 0; m < MULTIPROCESSORS; m++)
        most = busy[m] > most ? busy[m] : most;
    total.cost += most + LAUNCH_COST;
}

static void take(void *to, size_t size)
{
    if (fread(to, 1, size, stdin) != size)
        _exit(2);
}

int main(void)
{
    u32 head[3]; /* elements, segments, poison; then scale, shift, starts, heads */
    take(head, sizeof head);
    n = head[0];
    segments = head[1];
    u64 noise = head[2] + 0x9e3779b97f4a7c15u;
    u32 sizes[BUFFERS] = {n, n, segments + 1, (n + 31) / 32, n, n, 2 * n + 64};
    for (u32 b = 0; b < BUFFERS; b++) {
        length[b] = sizes[b];
        data[b] = malloc(sizes[b] * sizeof(u32));
        if (b < B_out_scale)
            take(data[b], sizes[b] * sizeof(u32));
        else {
            past[b] = calloc(sizes[b], sizeof(Past));
            for (u32 at = 0; at < sizes[b]; at++) {
                noise ^= noise << 13, noise ^= noise >> 7, noise ^= noise << 17;
                data[b][at] = (u32)(noise >> 16);
            }
        }
    }
    stacks = mmap(NULL, (size_t)MOST_THREADS * 2 * STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    keys = malloc(room * sizeof *keys);
    stamps = calloc(room, sizeof *stamps);
    if (stacks == MAP_FAILED || !keys || !stamps)
        return 2;
    plan();
    fwrite(&total, sizeof total, 1, stdout);
    fwrite(data[B_out_scale], sizeof(u32), n, stdout);
    fwrite(data[B_out_shift], sizeof(u32), n, stdout);
    return 0;
}
