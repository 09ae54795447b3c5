// Package logging gives hclog loggers that obey a log4j2.properties of Artemis: its levels, its console and files, its
// patterns and rolling, and its audit logs. Lines look as Artemis prints them:
//
//	2026-01-02 03:04:05,678 INFO  [org.apache.activemq.artemis.core.server] AMQ221007: Server is now active
//
// # The file
//
// A properties file, UTF-8 or UTF-16 with its mark, of which this is understood; the rest is warned of:
//
//	monitorInterval = 5                         seconds between looks at the file; 0 never
//	property.<name> = …                         for ${name}; ${sys:name} and ${env:name} come from outside, ${…:-default}
//	rootLogger = LEVEL, appender, …             or level, appenderRef.<x>.ref, appenderRef.<x>.level
//	logger.<id>.name, .level, .additivity, .appenderRef.<x>.ref, .appenderRef.<x>.level
//	appender.<id>.type                          Console, File, RollingFile (also …RandomAccessFile), Null
//	appender.<id>.name, .target, .fileName, .append, .layout.pattern, .filter.<x> (a ThresholdFilter)
//	appender.<id>.filePattern                   %d{date pattern}, %i, .gz
//	appender.<id>.policies.<x>.type             Cron-, TimeBased-, SizeBased- and OnStartupTriggeringPolicy
//	appender.<id>.strategy.min, .max, .fileIndex
//
// A logger has the level of the nearest logger above it that has one, and the appenders of all of them up to the first
// with additivity=false. Layouts know %d %level %logger %msg %n %t %pid %r with widths; what only Java has (exceptions,
// diagnostic context, source location) prints nothing. A pattern that is not understood is replaced by the default.
//
// Differences from log4j: an old file is never overwritten where the pattern has no number (it gets ".2"); following
// lines of a message are indented and control characters escaped, so that no client can forge a line.
//
// # Outputs
//
// Each appender has a goroutine that writes; callers only format into its buffer. When 1 MiB waits, a caller waits
// 200 ms for room, once; then messages are dropped, counted, and told when the output takes something again. Whoever
// ends the process calls [Logging.Close], or [Logging.Flush], first.
//
// # API
//
//	func Open(o Options) (*Logging, error)
//	type Options struct { File string; Lookup func(name string) (string, bool); Stdout, Stderr io.Writer }
//	func (l *Logging) Logger(name string) hclog.Logger       // Server, Journal, Critical, AuditBase, …
//	func (l *Logging) SetLevel(name string, level hclog.Level)
//	func (l *Logging) Reload() error
//	func (l *Logging) Flush() bool
//	func (l *Logging) Close() error
package logging
