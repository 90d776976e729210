/* The command of the escape tests: processes that leave their group, session, user, environment and parent in every
 * way there is. Each writes a line every few milliseconds, so that a process that lives too long is seen.
 *
 * In C, since a link of the chain must start and end within 5 ms, and since a fork is safe only in a program without
 * threads. Nothing multiplies: a process here forks at most once for each kind, and ends by itself at the deadline.
 *
 *   beat lead FILE NAME MILLIS DEAF KIND...   the command: starts the kinds, and ends them after MILLIS; exits with 7
 *   beat loop FILE NAME KIND DEADLINE         one that beats
 *   beat idle COUNT, beat busy COUNT          processes that sleep or spin until stdin ends
 *
 * A line is: NANOSECONDS NAME KIND WORD, the time that of CLOCK_BOOTTIME. FILE.NAME.stop tells all of NAME to end. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PULSE_MS = 3, LINK_MS = 5, LONGEST_S = 15, LONGEST_IDLE_S = 3600 };

static const char *self, *file, *name;
static char stop[4096];
static int out;
static long long deadline;

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void nap(int milliseconds)
{
    struct timespec time = { 0, milliseconds * 1000000L };
    nanosleep(&time, NULL);
}

/* One write to the end of the file, so that the kernel orders all lines. */
static void say(const char *kind, const char *word)
{
    char line[256];
    int length = snprintf(line, sizeof line, "%lld %s %s %s\n", now(), name, kind, word);
    if (write(out, line, length) != length)
        _exit(98);
}

static int is_over(void)
{
    return access(stop, F_OK) == 0 || now() > deadline;
}

static void loop(const char *kind)
{
    while (!is_over()) {
        say(kind, "alive");
        nap(PULSE_MS);
    }
    _exit(0);
}

static void setup(const char *path, const char *who)
{
    file = path;
    name = who;
    snprintf(stop, sizeof stop, "%s.%s.stop", file, name);
    out = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (out < 0)
        _exit(97);
}

/* A daemon: its parent ends, and it leaves its session. */
static void become_daemon(void)
{
    setsid();
    pid_t child = fork();
    if (child != 0)
        _exit(child < 0);
    if (chdir("/") != 0)
        _exit(96);
}

/* A chain of processes, one at a time: each has its own session and ends after 5 ms. */
static void chain(void)
{
    while (!is_over()) {
        setsid();
        say("chain", "alive");
        nap(LINK_MS);
        pid_t successor = fork();
        if (successor != 0)
            _exit(successor < 0);
    }
    _exit(0);
}

/* An orphan below this subreaper becomes its child, and not zklock's. */
static void reaper(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t child = fork();
    if (child == 0) {
        become_daemon();
        loop("reaped");
    }
    while (!is_over()) {
        say("reaper", "alive");
        nap(PULSE_MS);
    }
    while (wait(NULL) > 0)
        ;
    _exit(0);
}

static void become(const char *kind)
{
    char until[32], command[8192];
    snprintf(until, sizeof until, "%lld", deadline);
    if (strcmp(kind, "plain") == 0) {
        loop(kind);
    } else if (strcmp(kind, "setsid") == 0) {
        setsid();
        loop(kind);
    } else if (strcmp(kind, "daemon") == 0) {
        become_daemon();
        loop(kind);
    } else if (strcmp(kind, "chain") == 0) {
        chain();
    } else if (strcmp(kind, "reaper") == 0) {
        reaper();
    } else if (strcmp(kind, "bare") == 0) {
        execlp("env", "env", "-i", self, "loop", file, name, kind, until, (char *)NULL);
    } else if (strcmp(kind, "user") == 0) {
        snprintf(command, sizeof command, "exec '%s' loop '%s' %s %s %s", self, file, name, kind, until);
        execlp("su", "su", "nobody", "-s", "/bin/sh", "-c", command, (char *)NULL);
    }
    _exit(95);
}

static int lead(int milliseconds, int deaf, char **kinds)
{
    /* Every descendant keeps this open, so it closes when the last of them has ended. */
    int living[2];
    long long end = now() + milliseconds * 1000000LL;
    deadline = now() + LONGEST_S * 1000000000LL;
    say("lead", "begin");
    if (pipe(living) != 0)
        return 94;
    for (; *kinds; kinds++) {
        pid_t child = fork();
        if (child < 0)
            return 93;
        if (child == 0) {
            close(living[0]);
            if (deaf)
                signal(SIGTERM, SIG_IGN);
            become(*kinds);
        }
    }
    if (deaf > 1)
        signal(SIGTERM, SIG_IGN);
    close(living[1]);
    while (now() < end) {
        say("lead", "alive");
        nap(PULSE_MS);
    }
    close(open(stop, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    struct pollfd all_gone = { living[0], POLLIN, 0 };
    while (poll(&all_gone, 1, PULSE_MS) == 0)
        say("lead", "alive");
    say("lead", "end");
    return 7;
}

static int crowd(int count, int spins)
{
    for (int i = 0; i < count; i++) {
        pid_t child = fork();
        if (child < 0)
            return 93;
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            alarm(LONGEST_IDLE_S);
            for (volatile long turns = 0;; turns++)
                if (!spins)
                    pause();
        }
    }
    puts("ready");
    fflush(stdout);
    char nothing;
    while (read(0, &nothing, 1) > 0)
        ;
    return 0; /* The others die with this process. */
}

int main(int count, char **words)
{
    const char *verb = count > 2 ? words[1] : "";
    self = words[0];
    /* Some shells and services that start tests leave it ignored or blocked. */
    signal(SIGCHLD, SIG_DFL);
    if (strcmp(verb, "lead") == 0 && count >= 6) {
        setup(words[2], words[3]);
        return lead(atoi(words[4]), atoi(words[5]), words + 6);
    }
    if (strcmp(verb, "loop") == 0 && count == 6) {
        setup(words[2], words[3]);
        deadline = atoll(words[5]);
        loop(words[4]);
    }
    if (strcmp(verb, "idle") == 0 || strcmp(verb, "busy") == 0)
        return crowd(atoi(words[2]), strcmp(verb, "busy") == 0);
    return 2;
}
