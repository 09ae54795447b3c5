package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/saranga-mq/saranga/drill"
)

// The exit code of a drill that could not be run; 1 is one that failed.
const drillCannot = exitCode(2)

func drillCommand() *cobra.Command {
	return group("drill", "Prove that a pair of brokers loses nothing: clients work while something is done to the nodes, and what they were told is checked.",
		drillSubcommand(drill.Failover, "Have the active node give way to its backup.", nil),
		drillSubcommand(drill.Failback, "Wait until the former primary is back and active.", func(o *drillOptions, cmd *cobra.Command) {
			cmd.Flags().StringVar(&o.start, "start", "", "command that starts the former primary; without one you are asked to")
		}),
		drillSubcommand(drill.Partition, "Part the network between the nodes for a while.", func(o *drillOptions, cmd *cobra.Command) {
			f := cmd.Flags()
			f.StringVar(&o.cut, "cut", "", "command that parts the network; without one you are asked to")
			f.StringVar(&o.heal, "heal", "", "command that makes it whole again")
			f.IntVar(&o.length, "length", 20, "seconds that the network is parted")
		}),
		drillSubcommand(drill.RollingUpgrade, "Stop, upgrade and start one node after the other.", func(o *drillOptions, cmd *cobra.Command) {
			cmd.Flags().StringVar(&o.restart, "restart", "", "command that stops, upgrades and starts the node named by $DRILL_NODE (host:port); without one you are asked to")
		}),
	)
}

// drillOptions are the options of a drill.
type drillOptions struct {
	connection connectionFlags

	rate                           float64
	before, after, timeout, length int // seconds
	report                         string
	json                           bool
	start, cut, heal, restart      string
	streams                        []string
	columns                        int
}

// drillSubcommand makes the command of a drill; more adds its own options.
func drillSubcommand(name, short string, more func(*drillOptions, *cobra.Command)) *cobra.Command {
	o := &drillOptions{}
	cmd := &cobra.Command{
		Use: name, Short: short, Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, name) },
	}
	o.connection.add(cmd)
	f := cmd.Flags()
	f.Lookup("url").Usage = "URLs of all nodes: tcp://host:port,tcp://host:port"
	f.Float64Var(&o.rate, "rate", 50, "messages a second of each producer")
	f.IntVar(&o.before, "before", 5, "seconds that clients work before something is done")
	f.IntVar(&o.after, "after", 5, "seconds that they work after it")
	f.IntVar(&o.timeout, "timeout", 120, "seconds for each thing that is waited for")
	f.StringSliceVar(&o.streams, "streams", nil, "what clients do (default all: "+strings.Join(streamNames(), ",")+")")
	f.StringVar(&o.report, "report", "", "file for a report to be looked at with a browser")
	f.BoolVar(&o.json, "json", false, "print the report as JSON, and progress on standard error")
	f.IntVar(&o.columns, "columns", 0, "width of the picture (default: that of the terminal)")
	if more != nil {
		more(o, cmd)
	}
	return cmd
}

func streamNames() (names []string) {
	for _, s := range drill.DefaultStreams() {
		names = append(names, s.Name)
	}
	return names
}

// chosen are the streams that were asked for.
func (o *drillOptions) chosen() ([]drill.Stream, error) {
	if len(o.streams) == 0 {
		return drill.DefaultStreams(), nil
	}
	var list []drill.Stream
next:
	for _, name := range o.streams {
		for _, s := range drill.DefaultStreams() {
			if s.Name == name {
				list = append(list, s)
				continue next
			}
		}
		return nil, usageError(fmt.Sprintf("Invalid value for option '--streams': '%s' is none of %s", name, strings.Join(streamNames(), ", ")))
	}
	return list, nil
}

func (o *drillOptions) run(cmd *cobra.Command, name string) error {
	if err := o.connection.begin(cmd); err != nil {
		return err
	}
	streams, err := o.chosen()
	if err != nil {
		return err
	}
	urls, err := drill.SplitURLs(o.connection.url)
	if err != nil {
		return usageError(err.Error())
	}
	for option, seconds := range map[string]int{"before": o.before, "after": o.after, "timeout": o.timeout, "length": o.length} {
		if seconds < 0 {
			return usageError(fmt.Sprintf("Invalid value for option '--%s': '%d' is below 0", option, seconds))
		}
	}
	if o.rate <= 0 {
		return usageError("Invalid value for option '--rate': it must be above 0")
	}
	progress := &lines{out: cmd.OutOrStdout()}
	if o.json {
		progress.out = cmd.ErrOrStderr()
	}
	login := drill.Core{User: o.connection.user, Password: o.connection.password}
	again := login
	again.Reconnect, again.Others = true, urls
	c := drill.Conductor{
		Workload: drill.Workload{URLs: urls, Dialers: []drill.Dialer{login, again}, Streams: streams, Rate: o.rate},
		Admin:    drill.Admin{User: o.connection.user, Password: o.connection.password},
		Operator: &drillOperator{o: o, in: bufio.NewReader(cmd.InOrStdin()), out: progress},
		Before:   duration(o.before), After: duration(o.after), Timeout: duration(o.timeout), Cut: duration(o.length),
		Log: progress.say,
	}
	if o.connection.verbose {
		c.Workload.Log = progress.say
	}
	report, err := c.Run(cmd.Context(), name)
	if err != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), err)
		return drillCannot
	}
	if o.json {
		err = report.WriteJSON(cmd.OutOrStdout())
	} else {
		_, err = io.WriteString(cmd.OutOrStdout(), "\n"+report.Text(o.pictureColumns(cmd.OutOrStdout(), urls)))
	}
	if err == nil && o.report != "" {
		err = writeReport(report, o.report)
	}
	if err != nil {
		return err
	}
	if !report.Passed() {
		return exitCode(1)
	}
	return nil
}

// duration makes seconds a duration, in which 0 is none and not the default.
func duration(seconds int) time.Duration {
	return max(time.Duration(seconds)*time.Second, time.Millisecond)
}

func writeReport(r *drill.Report, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return errors.Join(r.WriteHTML(f), f.Close())
}

// pictureColumns is how many columns the picture has beside the names of nodes.
func (o *drillOptions) pictureColumns(out io.Writer, urls []string) int {
	width := 100
	if f, ok := out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			width = w
		}
	}
	if o.columns > 0 {
		width = o.columns
	}
	names := len("acknowledged")
	for _, url := range urls {
		names = max(names, len(drill.NodeName(url)))
	}
	return max(width-names-2, 20)
}

// lines writes lines of several goroutines.
type lines struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *lines) say(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.out, line)
}

// Write implements io.Writer, for the output of commands.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

// A drillOperator does what a drill asks for by the commands that were given, or asks the person at the terminal.
type drillOperator struct {
	o   *drillOptions
	in  *bufio.Reader
	out *lines

	answer chan error // of a read that goes on, nil if there is none
}

// Do implements drill.Operator.
func (d *drillOperator) Do(ctx context.Context, t drill.Task) error {
	command := map[drill.TaskKind]string{drill.Start: d.o.start, drill.CutNet: d.o.cut, drill.HealNet: d.o.heal, drill.Restart: d.o.restart}[t.Kind]
	if command == "" {
		return d.ask(ctx, t)
	}
	c := exec.CommandContext(ctx, "sh", "-c", command)
	c.Env = append(os.Environ(), "DRILL_TASK="+string(t.Kind), "DRILL_NODE="+drill.NodeName(t.URL))
	c.Stdout, c.Stderr = d.out, d.out
	c.WaitDelay = time.Second // what it has started in the background may keep its output
	if err := c.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("command %q: %w", command, err)
	}
	return nil
}

// ask has a person do it.
func (d *drillOperator) ask(ctx context.Context, t drill.Task) error {
	if d.o.connection.silent {
		return fmt.Errorf("%w: nobody is to be asked, and no command does this", drill.ErrCannot)
	}
	d.out.say("\n" + t.Text + ", then press Enter.")
	if d.answer == nil {
		answer := make(chan error, 1)
		d.answer = answer
		go func() { // a read of standard input cannot be ended: after an interrupt it ends with the process
			_, err := d.in.ReadString('\n')
			answer <- err
		}()
	}
	select {
	case err := <-d.answer:
		d.answer = nil
		if err != nil {
			return fmt.Errorf("%w: %w", drill.ErrCannot, errNoLine)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
