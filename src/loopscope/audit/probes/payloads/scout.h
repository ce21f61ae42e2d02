/* Writes down how the program was called, what it printed, and what it could have read. */
#ifndef LSP_HAS_SCOUT
#define LSP_HAS_SCOUT
static int lsp_calls;
static long long lsp_most;

static void lsp_seen(void)
{
    char text[4096];
    int size = snprintf(text, sizeof text, "see tests:%d solution:%d\n", access("/tests/test.sh", R_OK) == 0,
                        access("/solution/solve.sh", R_OK) == 0);
    lsp_append(text, (size_t)size);
}

static void lsp_tell_calls(void)
{
    char text[4096];
    int size = snprintf(text, sizeof text, "calls %s %d %lld\n", lsp_self(), lsp_calls, lsp_most);
    lsp_append(text, (size_t)size);
}

static void lsp_tee(int from, int to)
{
    static char kept[8192], piece[4096];
    size_t count = 0;
    for (;;) {
        ssize_t got = read(from, piece, sizeof piece);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        for (ssize_t done = 0; done < got;) {
            ssize_t put = write(to, piece + done, (size_t)(got - done));
            if (put <= 0)
                _exit(0);
            done += put;
        }
        for (ssize_t i = 0; i < got && count < sizeof kept; i++)
            kept[count++] = piece[i];
    }
    static char line[32768];
    char *end = line + snprintf(line, 4096, "run %s ", lsp_self());
    for (size_t i = 0; i < count; i++)
        end += sprintf(end, "%02x", (unsigned char)kept[i]);
    *end++ = '\n';
    lsp_append(line, (size_t)(end - line));
    _exit(0);
}

__attribute__((constructor)) static void lsp_scout(void)
{
    int ends[2];
    if (access("/logs/verifier", W_OK))
        return;
    lsp_self();
    lsp_seen();
    atexit(lsp_tell_calls);
    if (pipe(ends))
        return;
    pid_t child = fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        return;
    }
    if (child == 0) {
        int real = dup(1);
        if (fork())
            _exit(0);
        close(ends[1]);
        close(0);
        lsp_tee(ends[0], real);
    }
    waitpid(child, NULL, 0);
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
}
#endif
