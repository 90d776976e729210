/* A service for /etc/nsswitch.conf, which knows a user and a host that no file and no DNS server knows: the user with
 * the caller's id is "module-user", and module.zklock.test is 127.0.0.1. With NSS_ZKLOCK_HANGS in the environment it
 * never answers who a user is, like a service whose server is away. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <nss.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum nss_status _nss_zklock_getpwuid_r(uid_t uid, struct passwd *user, char *buffer, size_t size, int *error) {
    static char name[] = "module-user", empty[] = "", root[] = "/";
    (void)buffer, (void)size, (void)error;
    while (getenv("NSS_ZKLOCK_HANGS"))
        pause();
    if (uid != getuid())
        return NSS_STATUS_NOTFOUND;
    *user = (struct passwd){name, empty, uid, getgid(), empty, root, empty};
    return NSS_STATUS_SUCCESS;
}

enum nss_status _nss_zklock_gethostbyname4_r(const char *name, struct gaih_addrtuple **result, char *buffer,
                                             size_t size, int *error, int *host_error, int32_t *ttl) {
    struct gaih_addrtuple *found = *result ? *result : (struct gaih_addrtuple *)buffer;
    (void)ttl;
    if (strcmp(name, "module.zklock.test") != 0) {
        *error = ENOENT, *host_error = HOST_NOT_FOUND;
        return NSS_STATUS_NOTFOUND;
    }
    if (!*result && size < sizeof *found) {
        *error = ERANGE, *host_error = NETDB_INTERNAL;
        return NSS_STATUS_TRYAGAIN;
    }
    *found = (struct gaih_addrtuple){NULL, (char *)name, AF_INET, {htonl(INADDR_LOOPBACK)}, 0};
    *result = found;
    return NSS_STATUS_SUCCESS;
}
