package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// messagingFlags are the options of producer, consumer and browser.
type messagingFlags struct {
	connection connectionFlags

	destination    string
	count          int64
	sleep          int // ms
	threads        int
	commitInterval int64
	textSize       int
}

func (f *messagingFlags) add(cmd *cobra.Command) {
	f.connection.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.destination, "destination", "queue://TEST", "queue://NAME, topic://NAME or ADDRESS::QUEUE")
	flags.Int64Var(&f.count, "message-count", 1000, "messages, for each thread")
	flags.IntVar(&f.sleep, "sleep", 0, "ms to wait after each message")
	flags.IntVar(&f.threads, "threads", 1, "how many do it at the same time")
	flags.Int64Var(&f.commitInterval, "commit-interval", 0, "messages in a transaction; 0: none")
	flags.IntVar(&f.textSize, "txt-size", 0, "characters of a text")
	hide(cmd, "txt-size")
}

// A worker is one thread of such a command. Its lines go out whole.
type worker struct {
	*messagingFlags
	name    string // "Producer ActiveMQQueue[TEST], thread=0"
	d       destination
	session *client.Session
	out     io.Writer
}

func (w *worker) say(format string, args ...any) {
	fmt.Fprintf(w.out, "%s %s\n", w.name, fmt.Sprintf(format, args...))
}

func (w *worker) detail(format string, args ...any) {
	if w.connection.verbose {
		fmt.Fprintf(w.out, format+"\n", args...)
	}
}

// pause sleeps between messages; it tells whether to go on.
func (w *worker) pause(ctx context.Context) bool {
	if w.sleep > 0 {
		return pause(ctx, time.Duration(w.sleep)*time.Millisecond)
	}
	return ctx.Err() == nil
}

func (w *worker) elapsed(begin time.Time) {
	took := time.Since(begin)
	w.say("Elapsed time in second : %d s", int64(took.Seconds()))
	w.say("Elapsed time in milli second : %d milli seconds", took.Milliseconds())
}

// lockedWriter lets several goroutines write lines.
type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

// run connects and lets the workers, called kind in what they print, do their work; before has its say after the URL
// was printed.
func (f *messagingFlags) run(cmd *cobra.Command, kind string, before func(io.Writer), work func(context.Context, *worker) error) error {
	d, err := parseDestination(f.destination)
	if err != nil {
		return err
	}
	if err := f.connection.begin(cmd); err != nil {
		return err
	}
	out := &lockedWriter{out: cmd.OutOrStdout()}
	fmt.Fprintf(out, "Connection brokerURL = %s\n", f.connection.url)
	before(out)
	options := client.SessionOptions{AutoCommitSends: f.commitInterval <= 0, AutoCommitAcks: f.commitInterval <= 0}
	var first *client.Session
	conn, err := f.connection.establish(cmd, messagingRetry, nil, func(ctx context.Context, c *client.Conn) (err error) {
		first, err = c.NewSession(ctx, options)
		return err
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	failures := make(chan error, f.threads)
	for i := range f.threads {
		s := first
		if i > 0 {
			if s, err = conn.NewSession(ctx, options); err != nil {
				return err
			}
		}
		w := &worker{messagingFlags: f, name: fmt.Sprintf("%s %s, thread=%d", kind, d, i), d: d, session: s, out: out}
		go func() { failures <- work(ctx, w) }()
	}
	var failed error
	for range f.threads {
		if err := <-failures; err != nil && failed == nil {
			failed = err
			cancel()
		}
	}
	if failed != nil && cmd.Context().Err() == nil {
		return errors.New(reason(failed))
	}
	return nil
}

// describe is how a message is named in output: its text, or its id.
func describe(m *client.Message) string {
	if text, ok := m.Text(); ok {
		return text
	}
	v, err := m.Core()
	if err != nil {
		return "?"
	}
	return v.UserIDText()
}

// filler is a text of that many characters.
func filler(n int) string {
	const words = "the quick brown fox jumps over the lazy dog and runs on through the wood "
	return strings.Repeat(words, n/len(words)+1)[:n]
}

// details is what --verbose shows of a browsed message, in the form of a JMS client of Artemis.
func details(v *message.Message, id int64) string {
	mode := "NON-PERSISTENT"
	if v.IsDurable() {
		mode = "PERSISTENT"
	}
	var props []string
	for p := v.Properties(); ; {
		key, value, ok := p.Next()
		if !ok {
			break
		}
		props = append(props, fmt.Sprintf("%s=%v", buf.StringFromSS(key), value.Any()))
	}
	jms := v.UserIDText()
	return fmt.Sprintf("ActiveMQMessage[%s]:%s/ClientMessageImpl[messageID=%d, durable=%t, address=%s,userID=%s,properties=TypedProperties[%s]]",
		jms, mode, id, v.IsDurable(), v.Address(), strings.TrimPrefix(jms, "ID:"), strings.Join(props, ", "))
}
