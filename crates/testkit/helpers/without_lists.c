/* The C library's functions that open files, without the lists of children in /proc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest); \
        const char *last = strrchr(path, '/'); \
        if (last && !strcmp(last, "/children")) { errno = ENOENT; return -1; } \
        int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, #name); \
        return real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
