/* What every piece laid before a C or C++ source needs. */
#ifndef LSP_HAS_BASE
#define LSP_HAS_BASE
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-result"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#ifdef __cplusplus
#define LSP_C extern "C"
#define LSP_QUIET noexcept
#else
#define LSP_C
#define LSP_QUIET
#endif

static int lsp_append(const char *text, size_t size)
{
    static const char place[] = "/logs/verifier/loopscope-probe.log";
    struct stat status;
    int handle = open(place, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (handle < 0)
        return -1;
    if (fstat(handle, &status) == 0 && status.st_size < 900000)
        (void)!write(handle, text, size);
    close(handle);
    return 0;
}

/* The program's base name and its arguments, in hexadecimal, NUL between them. */
static const char *lsp_self(void)
{
    static char key[2049];
    if (!key[0]) {
        unsigned char raw[1024], *from = raw;
        int handle = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
        ssize_t size = handle < 0 ? 0 : read(handle, raw, sizeof raw);
        if (handle >= 0)
            close(handle);
        for (ssize_t i = 0; i < size && raw[i]; i++)
            if (raw[i] == '/')
                from = raw + i + 1;
        char *to = key;
        for (; from < raw + size; from++)
            to += sprintf(to, "%02x", *from);
        if (!key[0])
            strcpy(key, "00");
    }
    return key;
}
#endif
