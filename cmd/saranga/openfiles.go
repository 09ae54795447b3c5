package main

import (
	"fmt"
	"strconv"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/saranga-mq/saranga/broker/config"
)

const (
	// filesPerAcceptor is how many connections an acceptor without connectionsAllowed should be able to take.
	filesPerAcceptor = 1024
	// filesOfBroker is for journals, their files opened ahead, large messages being sent, pages, logs and the web server.
	filesOfBroker = 512
)

// checkOpenFiles raises the limit of open files to what the system allows, and warns when that is little.
func checkOpenFiles(log hclog.Logger, c *config.Config) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		log.Warn("the limit of open files is not known", "error", err)
		return
	}
	if l.Cur < l.Max {
		raised := unix.Rlimit{Cur: l.Max, Max: l.Max}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &raised); err == nil {
			l = raised
		}
	}
	if text := fewFiles(uint64(l.Cur), c); text != "" {
		log.Warn(text)
	}
}

// fewFiles returns the warning for a limit that is below what the acceptors and the broker need, "" for one that is not.
func fewFiles(limit uint64, c *config.Config) string {
	need := uint64(filesOfBroker)
	for _, a := range c.Acceptors {
		n, err := strconv.Atoi(a.URL.Params["connectionsAllowed"])
		if err != nil || n < 0 {
			n = filesPerAcceptor
		}
		need += uint64(n)
	}
	if limit >= need {
		return ""
	}
	return fmt.Sprintf("only %d files can be open at once, and the acceptors and the broker itself may need %d: connections will be refused; raise the hard limit (ulimit -Hn, LimitNOFILE= of systemd)", limit, need)
}
