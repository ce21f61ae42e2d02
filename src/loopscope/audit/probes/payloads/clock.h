/* Every clock of this program runs a thousand times slower. */
#ifndef LSP_HAS_CLOCK
#define LSP_HAS_CLOCK
static long long lsp_slow(long long id)
{
    static long long origin[16];
    struct timespec real;
    syscall(SYS_clock_gettime, (long)id, &real);
    long long now = real.tv_sec * 1000000000LL + real.tv_nsec;
    long long *first = &origin[id & 15];
    if (!*first)
        *first = now;
    return *first + (now - *first) / 1000;
}

LSP_C __attribute__((weak)) int clock_gettime(clockid_t id, struct timespec *out) LSP_QUIET
{
    long long now = lsp_slow(id);
    out->tv_sec = now / 1000000000LL;
    out->tv_nsec = now % 1000000000LL;
    return 0;
}

LSP_C __attribute__((weak)) int gettimeofday(struct timeval *__restrict out, void *__restrict zone) LSP_QUIET
{
    long long now = lsp_slow(CLOCK_REALTIME);
    (void)zone;
    out->tv_sec = now / 1000000000LL;
    out->tv_usec = now % 1000000000LL / 1000;
    return 0;
}

LSP_C __attribute__((weak)) clock_t clock(void) LSP_QUIET
{
    return (clock_t)(lsp_slow(CLOCK_PROCESS_CPUTIME_ID) / 1000);
}
#endif
