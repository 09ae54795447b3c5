package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/wire/core/client"
)

func checkCommand() *cobra.Command {
	return group("check", "Check that a node or a queue does what it should.", checkNodeCommand(), checkQueueCommand())
}

// A check is one thing that is looked at. A wrong state is a checkFailure, any other error one of the check itself.
type check struct {
	name string
	run  func(ctx context.Context) error
}

type checkFailure string

func (f checkFailure) Error() string { return string(f) }

// checkFlags are the options of all checks.
type checkFlags struct {
	connection connectionFlags

	name      string
	up        bool
	failAtEnd bool
	timeout   int // ms
}

func (c *checkFlags) add(cmd *cobra.Command) {
	c.connection.add(cmd)
	f := cmd.Flags()
	f.StringVar(&c.name, "name", "", "name of what is checked")
	f.BoolVar(&c.up, "up", false, "check that it is up (the default)")
	f.BoolVar(&c.failAtEnd, "fail-at-end", false, "go on after a check that failed")
	f.IntVar(&c.timeout, "timeout", 30000, "ms for all checks")
}

// errTimeout is the end of the time for checks.
var errTimeout = errors.New("timeout")

// runChecks runs checks and reports; the exit code tells whether all went well.
func (c *checkFlags) runChecks(ctx context.Context, cmd *cobra.Command, title string, checks []check) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(c.timeout)*time.Millisecond, errTimeout)
	defer cancel()
	out := cmd.OutOrStdout()
	begin := time.Now()
	fmt.Fprintf(out, "Running %s\n", title)
	var failures, broken, run int
	var problems []string
	for _, k := range checks {
		if len(problems) > 0 && !c.failAtEnd {
			break
		}
		fmt.Fprintf(out, "Checking that %s ... ", k.name)
		err := k.run(ctx)
		run++
		var failure checkFailure
		var problem string
		switch {
		case err == nil:
			fmt.Fprintln(out, "success")
			continue
		case errors.As(err, &failure):
			failures++
			problem = "failure: " + failure.Error()
		case context.Cause(ctx) == errTimeout:
			broken++
			problem = "error: timeout"
		default:
			broken++
			problem = "error: " + reason(err)
		}
		fmt.Fprintln(out, problem)
		problems = append(problems, problem)
	}
	fmt.Fprintf(out, "Checks run: %d, Failures: %d, Errors: %d, Skipped: %d, Time elapsed: %.3f sec - %s\n",
		run, failures, broken, len(checks)-run, time.Since(begin).Seconds(), title)
	if len(problems) == 0 {
		return nil
	}
	why := problems[0]
	if c.failAtEnd {
		why = "checks not successful"
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s failed. Reason: %s\n", title, why)
	return exitCode(1)
}

// attribute reads an attribute into v.
func attribute(ctx context.Context, m *client.Management, resource, name string, v any) error {
	answer, err := m.Attribute(ctx, resource, name)
	if err != nil {
		return fmt.Errorf("Failed to get %s.%s. Reason: %s", resource, name, reason(err)) //lint:ignore ST1005 Artemis' own words
	}
	return answer.Into(v)
}

// nodeCheck is a run of check node.
type nodeCheck struct {
	checkFlags

	live, primary, backup bool
	peers                 int
	diskUsage, memory     int // percent, -1: what the broker is configured with
}

func checkNodeCommand() *cobra.Command {
	n := &nodeCheck{}
	cmd := &cobra.Command{
		Use: "node", Short: "Check a node.", Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return n.connection.manage(cmd, func(ctx context.Context, m *client.Management) error {
				return n.runChecks(ctx, cmd, "NodeCheck", n.checks(cmd, m))
			})
		},
	}
	n.add(cmd)
	f := cmd.Flags()
	f.BoolVar(&n.live, "live", false, "check that the node has a primary")
	f.BoolVar(&n.primary, "primary", false, "check that the node has a primary")
	f.BoolVar(&n.backup, "backup", false, "check that the node has a backup")
	f.IntVar(&n.peers, "peers", 0, "nodes that the cluster has at least")
	f.IntVar(&n.diskUsage, "diskUsage", 0, "percent of the disk in use at most; -1: max-disk-usage")
	f.IntVar(&n.memory, "memoryUsage", 0, "percent of the memory for messages in use at most; -1: 100")
	hide(cmd, "live")
	return cmd
}

func (n *nodeCheck) checks(cmd *cobra.Command, m *client.Management) []check {
	var list []check
	add := func(name string, run func(context.Context) error) { list = append(list, check{name, run}) }
	given := func(option string) bool { return cmd.Flag(option).Changed }
	if n.up || !(n.live || n.primary || n.backup || given("peers") || given("diskUsage") || given("memoryUsage")) {
		add("the node is started", func(ctx context.Context) error {
			var started bool
			if err := attribute(ctx, m, client.BrokerResource, "Started", &started); err != nil {
				return err
			}
			if !started {
				return checkFailure("The node isn't started")
			}
			return nil
		})
	}
	if n.live || n.primary {
		add("the node has a primary", func(ctx context.Context) error { return n.hasServer(ctx, m, "primary") })
	}
	if n.backup {
		add("the node has a backup", func(ctx context.Context) error { return n.hasServer(ctx, m, "backup") })
	}
	if given("peers") {
		add(fmt.Sprintf("there are %d peers", n.peers), func(ctx context.Context) error {
			nodes, err := topology(ctx, m)
			if err != nil {
				return err
			}
			if count := countServers(nodes); count < n.peers {
				return checkFailure(fmt.Sprintf("Insufficient peers: %d", n.peers))
			}
			return nil
		})
	}
	if given("diskUsage") {
		add(fmt.Sprintf("the disk usage is less then %d", n.diskUsage), func(ctx context.Context) error {
			return usageBelow(ctx, m, "DiskStoreUsage", 100, n.diskUsage, "MaxDiskUsage")
		})
	}
	if given("memoryUsage") {
		add(fmt.Sprintf("the memory usage is less then %d", n.memory), func(ctx context.Context) error {
			return usageBelow(ctx, m, "AddressMemoryUsagePercentage", 1, n.memory, "")
		})
	}
	return list
}

// hasServer checks that the topology names a primary or a backup for the node asked for, which is the one connected to
// if no name is given.
func (n *nodeCheck) hasServer(ctx context.Context, m *client.Management, kind string) error {
	id := n.name
	if id == "" {
		if err := attribute(ctx, m, client.BrokerResource, "NodeID", &id); err != nil {
			return err
		}
	}
	nodes, err := topology(ctx, m)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if node.NodeID == id && (kind == "primary" && node.Primary != "" || kind == "backup" && node.Backup != "") {
			return nil
		}
	}
	return checkFailure(fmt.Sprintf("No %s found for the node %s", kind, id))
}

// countServers counts primaries and backups.
func countServers(nodes []topologyNode) (n int) {
	for _, node := range nodes {
		if node.Primary != "" {
			n++
		}
		if node.Backup != "" {
			n++
		}
	}
	return n
}

// usageBelow checks an attribute, which scaled is in percent. With a limit of -1 it is compared with the attribute
// limitName, or 100 without one.
func usageBelow(ctx context.Context, m *client.Management, name string, scale float64, limit int, limitName string) error {
	var usage float64
	if err := attribute(ctx, m, client.BrokerResource, name, &usage); err != nil {
		return err
	}
	if limit == -1 {
		limit = 100
		if limitName != "" {
			if err := attribute(ctx, m, client.BrokerResource, limitName, &limit); err != nil {
				return err
			}
		}
	}
	if percent := int(usage * scale); percent > limit {
		return checkFailure(fmt.Sprintf("The %s %d is less than %d", name, percent, limit))
	}
	return nil
}

// queueCheck is a run of check queue.
type queueCheck struct {
	checkFlags

	browse, consume, produce int

	conn  *client.Conn
	admin *client.Management
}

func checkQueueCommand() *cobra.Command {
	q := &queueCheck{}
	cmd := &cobra.Command{
		Use: "queue", Short: "Check a queue.", Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return q.run(cmd) },
	}
	q.add(cmd)
	f := cmd.Flags()
	f.IntVar(&q.browse, "browse", 0, "messages to look at; -1: as many as there are")
	f.IntVar(&q.consume, "consume", 0, "messages to receive; -1: one if there is one")
	f.IntVar(&q.produce, "produce", 0, "messages to send")
	return cmd
}

func (q *queueCheck) run(cmd *cobra.Command) error {
	if err := q.connection.begin(cmd); err != nil {
		return err
	}
	conn, err := q.connection.connect(cmd, managementRetry, nil, func(ctx context.Context, c *client.Conn) (err error) {
		q.admin, err = c.NewManagement(ctx, "")
		return err
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	q.conn = conn
	if q.name == "" {
		if q.name, err = newPrompter(cmd, q.connection.silent).text("--name", "What is the name of the queue?", ""); err != nil {
			return err
		}
	}
	return q.runChecks(cmd.Context(), cmd, "QueueCheck", q.checks())
}

func (q *queueCheck) checks() []check {
	var list []check
	if q.up || q.browse == 0 && q.consume == 0 && q.produce == 0 {
		list = append(list, check{fmt.Sprintf("the queue %s exists and is not paused", q.name), q.isUp})
	}
	if q.produce > 0 {
		list = append(list, check{fmt.Sprintf("a producer can send %d messages to the queue %s", q.produce, q.name), q.canProduce})
	}
	if q.browse != 0 {
		list = append(list, check{fmt.Sprintf("a consumer can browse %s", howMany(q.browse, q.name)), func(ctx context.Context) error { return q.canReceive(ctx, q.browse, true) }})
	}
	if q.consume != 0 {
		list = append(list, check{fmt.Sprintf("a consumer can consume %s", howMany(q.consume, q.name)), func(ctx context.Context) error { return q.canReceive(ctx, q.consume, false) }})
	}
	return list
}

func howMany(n int, queue string) string {
	if n < 0 {
		return "the queue " + queue
	}
	return fmt.Sprintf("%d messages from the queue %s", n, queue)
}

func (q *queueCheck) isUp(ctx context.Context) error {
	var paused bool
	if err := attribute(ctx, q.admin, client.QueueResource(q.name), "Paused", &paused); err != nil {
		return err
	}
	if paused {
		return checkFailure("The queue is paused")
	}
	return nil
}

// session opens a session and finds the queue on its address.
func (q *queueCheck) session(ctx context.Context) (*client.Session, destination, error) {
	s, err := q.conn.NewSession(ctx, client.SessionOptions{AutoCommitSends: true, AutoCommitAcks: true})
	if err != nil {
		return nil, destination{}, err
	}
	found, err := s.QueueQuery(ctx, q.name)
	if err == nil && !found.Exists {
		err = fmt.Errorf("AMQ229017: Queue %s does not exist", q.name)
	}
	if err != nil {
		return nil, destination{}, errors.Join(err, s.Close(ctx))
	}
	return s, destination{name: found.Address.V + "::" + q.name, address: found.Address.V, queue: q.name}, nil
}

func (q *queueCheck) canProduce(ctx context.Context) error {
	s, d, err := q.session(ctx)
	if err != nil {
		return err
	}
	p, err := s.NewProducer(ctx, d.name)
	if err != nil {
		return err
	}
	for n := range q.produce {
		if err := p.Send(ctx, newTextMessage(d, fmt.Sprintf("check message: %d", n))); err != nil {
			return err
		}
	}
	return s.Close(ctx)
}

// canReceive checks that there are n messages, waiting for those to consume; with a negative n, that it can be tried.
func (q *queueCheck) canReceive(ctx context.Context, n int, browse bool) error {
	s, d, err := q.session(ctx)
	if err != nil {
		return err
	}
	verb, wait := "consume", time.Duration(q.timeout)*time.Millisecond
	if browse || n < 0 {
		wait = 0
	}
	if browse {
		verb = "browse"
	}
	c, err := s.NewConsumer(ctx, d.queue, client.ConsumerOptions{Browse: browse})
	if err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	for got := range max(n, 1) {
		m, err := c.ReceiveTimeout(ctx, wait)
		if err == nil && m == nil && n < 0 {
			break
		}
		if err == nil && m == nil {
			err = checkFailure(fmt.Sprintf("Insufficient messages to %s: %d", verb, got))
		}
		if err != nil {
			return errors.Join(err, s.Close(ctx))
		}
		if browse {
			continue
		}
		if err := m.Ack(); err != nil {
			return err
		}
	}
	return s.Close(ctx)
}
