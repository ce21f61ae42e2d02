/* Makes the question trivial where it lies in memory: every column of words gets the value of its first row, save one that names the rows. */
#ifndef LSP_HAS_TRIVIAL
#define LSP_HAS_TRIVIAL
static void lsp_trivial(const void *place, size_t count, size_t size)
{
    unsigned char *rows = (unsigned char *)(uintptr_t)place;
    if (!rows || count < 2 || size == 0 || count > (1u << 28) / size)
        return;
    size_t word = size % 4 ? 1 : 4;
    for (size_t column = 0; column < size; column += word) {
        int names = word == 4 && size > word;
        for (size_t i = 1; names && i < count; i++) {
            int32_t before, here;
            memcpy(&before, rows + (i - 1) * size + column, 4);
            memcpy(&here, rows + i * size + column, 4);
            names = here == before + 1;
        }
        for (size_t i = 1; !names && i < count; i++)
            memcpy(rows + i * size + column, rows + column, word);
    }
}
#endif
