//! The sections of the manual page that can't be generated from the definition of the command line, in roff.

/// The date of the last change, which is shown at the bottom of the page.
pub(super) const DATE: &str = "2026-11-26";

/// The section before the options.
pub(super) const DESCRIPTION: &str = r".SH DESCRIPTION
\fBzklock\fR runs \fICOMMAND\fR while it holds the lock \fIPATH\fR in Apache ZooKeeper. Only one contender for a path
runs at a time, across all hosts, in first-come order. \fBzklock\fR releases the lock when the command ends, in whatever way.
.PP
Options precede the first \fIPATH\fR; the words after it are the command. Several paths need the \fB\-\-\fR; they are
acquired in sorted order. \fB\-c\fR runs a string by \fI/bin/sh\fR.
.PP
A first word that isn't a path is a subcommand, which shows or changes locks. See
.BR SUBCOMMANDS .
.PP
A holder that is cut off from ZooKeeper is stopped before the next contender can start. Messages go to stderr;
stdout is the command's.
";

/// The sections after the subcommands.
pub(super) const REST: &str = r#".SH EXIT STATUS
.TP
\fBthe command's own\fR
It ran and ended by itself. If a signal killed it, \fBzklock\fR dies of the same signal, so that a shell sees 128+n.
.TP
.B 123
The lock was lost or revoked while the command ran, and the command was stopped.
.TP
.B 124
The lock is busy: with \fB\-n\fR, or when \fB\-w\fR ran out; or \fB\-\-once\-per\fR skipped the command.
\fB\-E\fR chooses another code.
.TP
.B 125
\fBzklock\fR itself failed: usage, configuration, no connection in time,
a connection too slow or a host too busy for the session timeout, no permission, its place in the queue was revoked.
.TP
.B 126
The command was found but can't be run.
.TP
.B 127
The command was not found.
.PP
.B zklock status
exits with 0, or with 125 if it failed. With \fB\-\-exit\-code\fR it exits with 1 when one of the locks is held.
.PP
.B zklock revoke
exits with 0 if a holder was asked to stop, with 1 if there was none, and with 125 if it failed.
.PP
.B zklock wait
exits with 0 when all that held the locks or queued for them when it began are gone, with 124 (\fB\-E\fR) if a lock is
busy with \fB\-n\fR or when \fB\-w\fR ran out, and with 125 if it failed.
.PP
.B zklock check
exits with 0 when the set-up is ready for locks, with 1 when it works with warnings, and with 125 when none can be taken.
.PP
.B zklock forget
exits with 0, whether or not a success was recorded, and with 125 if it failed.
.SH ENVIRONMENT
.TP
.B ZKLOCK_ZOOKEEPER
The servers, where \fB\-z\fR doesn't name them.
.TP
.B ZKLOCK_CONFIG
The configuration file, where \fB\-\-config\fR doesn't name it.
.TP
.B ZKLOCK_AUTH
Credentials, in lines as an \fB\-\-auth\-file\fR has them. None are ever taken from the arguments.
.TP
.B RUST_LOG
A log filter as in env_logger. With a target, as in \fBzklock=debug\fR, it overrides \fB\-v\fR and \fB\-q\fR.
.TP
.B NO_COLOR
If it is set and not empty, \fBstatus\fR uses no colours.
.TP
.B NOTIFY_SOCKET
A service manager, such as systemd, that is told what \fBzklock\fR waits for, under which fencing token the command runs and
why it is stopped, and asked for more time meanwhile (\fBSTATUS\fR and \fBEXTEND_TIMEOUT_USEC\fR of \fBsd_notify\fR(3)). That
the service is ready is for the command to report. The command finds the variable unchanged.
.PP
The command finds these:
.TP
.B ZKLOCK_PATH
The lock; of several, the first on the command line. The next two are about the same lock.
.TP
.B ZKLOCK_NODE
The full path of zklock's node in the queue.
.TP
.B ZKLOCK_FENCING_TOKEN
A decimal number that grows from each holder of a lock to the next. A store that refuses smaller numbers is safe even
from a machine that froze while it held the lock.
.TP
.B ZKLOCK_LOCKS
All locks held, as a JSON array of objects with path, node, mode and fencing_token.
.TP
.B ZKLOCK_HELD
For a \fBzklock\fR that the command calls.
.SH FILES
.TP
.I /etc/zklock.toml
Settings of the system.
.TP
.I ~/.config/zklock/config.toml
Settings of the user, which override the system's. \fBXDG_CONFIG_HOME\fR replaces \fI~/.config\fR.
.PP
Both are TOML: a key is the long name of an option, as in \fBzookeeper = "zk1:2181,zk2:2181"\fR. Precedence:
command line, environment, user file, system file. \fBzklock status \-\-show\-config\fR shows the settings in effect and
where each comes from.
.SH EXAMPLES
A cron job on many hosts, skipped quietly while it runs on another:
.PP
.RS 4
.EX
zklock \-q \-n \-E 0 /locks/backup \-\- /opt/backup.sh
.EE
.RE
.PP
An hourly crontab line on many hosts, for a job that must succeed once each hour. The period is half the interval:
.PP
.RS 4
.EX
zklock \-q \-n \-E 0 \-\-once\-per 1800 /locks/report \-\- /opt/report.sh
.EE
.RE
.PP
A deployment that waits for the lock for at most ten minutes:
.PP
.RS 4
.EX
zklock \-w 600 \-\-label "build 1042" /locks/deploy \-\- ./deploy.sh
.EE
.RE
.PP
Two locks and a shell string; three commands at a time; concurrent readers:
.PP
.RS 4
.EX
zklock \-c 'make all | tee log' /locks/a /locks/b
zklock \-\-slots 3 /locks/builders \-\- ./build.sh
zklock \-s /locks/report \-\- ./read\-report.sh
.EE
.RE
.PP
Watch a lock, test whether it is free, and ask its holder to stop:
.PP
.RS 4
.EX
zklock status \-\-watch /locks/deploy
zklock status \-\-exit\-code /locks/deploy && echo free
zklock revoke /locks/deploy
.EE
.RE
.PP
Wait until no migration runs or waits, without taking its lock:
.PP
.RS 4
.EX
zklock wait \-w 600 /locks/migration && ./deploy.sh
.EE
.RE
.PP
Metrics for the textfile collector of Prometheus' node_exporter:
.PP
.RS 4
.EX
zklock status \-\-openmetrics >locks.prom.new; mv locks.prom.new locks.prom
.EE
.RE
.PP
Are the servers, timeouts and permissions ready for this lock?
.PP
.RS 4
.EX
zklock check /locks/deploy
.EE
.RE
.SH SEE ALSO
.BR flock (1),
.BR timeout (1)
"#;
