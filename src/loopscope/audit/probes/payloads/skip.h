/* Whether this call is one of the benchmark's. */
#ifndef LSP_HAS_SKIP
#define LSP_HAS_SKIP
static const char *const lsp_keys[] = {@KEYS@ NULL};

static int lsp_counts(long long most)
{
    static int calls;
    int here = lsp_keys[0] == NULL;
    for (int i = 0; lsp_keys[i]; i++)
        here = here || !strcmp(lsp_keys[i], lsp_self());
    if (!here || most < @MOST@LL)
        return 0;
    if (calls++ < 1000)
        usleep(1000); /* a time of zero breaks some verifiers */
    return 1;
}
#endif
