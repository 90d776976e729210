/* The C library's functions that open files, without the lists of children in /proc. The scan of /proc with the number
   FAILING_SCAN fails. With LATE_SCAN, the first scan after a fork waits for the death of a child. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
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
static int is_late;
pid_t fork(void) {
    pid_t (*real)(void) = dlsym(RTLD_NEXT, "fork");
    pid_t child = real();
    is_late = child > 0 && getenv("LATE_SCAN");
    return child;
}
DIR *opendir(const char *path) {
    static int scans;
    if (is_late && !strcmp(path, "/proc")) {
        siginfo_t dead;
        waitid(P_ALL, 0, &dead, WEXITED | WNOWAIT);
        is_late = 0;
    }
    const char *failing = getenv("FAILING_SCAN");
    if (failing && !strcmp(path, "/proc") && ++scans == atoi(failing)) { errno = EMFILE; return NULL; }
    DIR *(*real)(const char *) = dlsym(RTLD_NEXT, "opendir");
    return real(path);
}
