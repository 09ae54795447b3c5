package logging

import (
	"strings"

	"github.com/hashicorp/go-hclog"
)

// parseLevel reads a level of log4j. FATAL lets nothing through, as no message here is fatal in its sense.
func parseLevel(text string) (hclog.Level, bool) {
	switch strings.ToUpper(strings.TrimSpace(text)) {
	case "OFF", "FATAL":
		return hclog.Off, true
	case "ERROR":
		return hclog.Error, true
	case "WARN":
		return hclog.Warn, true
	case "INFO":
		return hclog.Info, true
	case "DEBUG":
		return hclog.Debug, true
	case "TRACE", "ALL":
		return hclog.Trace, true
	}
	return hclog.NoLevel, false
}

func levelName(level hclog.Level) string {
	switch level {
	case hclog.Trace:
		return "TRACE"
	case hclog.Debug:
		return "DEBUG"
	case hclog.Warn:
		return "WARN"
	case hclog.Error:
		return "ERROR"
	case hclog.Off:
		return "OFF"
	default:
		return "INFO"
	}
}
