package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/wire/core/client"
)

// statColumn is a column of queue stat: its name in options and header, and the key of its value in listQueues.
type statColumn struct{ name, key string }

var statColumns = []statColumn{
	{"NAME", "name"}, {"ADDRESS", "address"}, {"CONSUMER_COUNT", "consumerCount"}, {"MESSAGE_COUNT", "messageCount"},
	{"MESSAGES_ADDED", "messagesAdded"}, {"DELIVERING_COUNT", "deliveringCount"}, {"MESSAGES_ACKED", "messagesAcked"},
	{"SCHEDULED_COUNT", "scheduledCount"}, {"ROUTING_TYPE", "routingType"}, {"INTERNAL", "internalQueue"},
}

var statOperations = []string{"CONTAINS", "NOT_CONTAINS", "EQUALS", "GREATER_THAN", "LESS_THAN"}

// managementPrefix is that of the queues that management clients, this one too, get their answers on.
const managementPrefix = "activemq.management"

// queueStat is a run of queue stat.
type queueStat struct {
	connection connectionFlags

	queueName, field, operation, value                   string
	maxRows, maxColumnSize                               int
	sleep, loopSleep                                     int64 // ms
	clustered, json, singleLine, loop, includeManagement bool
}

func queueStatCommand() *cobra.Command {
	s := &queueStat{}
	cmd := &cobra.Command{
		Use: "stat",
		Short: "Print counters of queues: CONSUMER_COUNT, consumers; MESSAGE_COUNT, messages in the queue, with scheduled ones and those in delivery; " +
			"MESSAGES_ADDED, messages ever put into the queue; DELIVERING_COUNT, messages sent to consumers and not acknowledged; MESSAGES_ACKED, messages acknowledged. " +
			"Choose queues either with --queueName, a part of the name, or with --field, --operation and --value.",
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	s.connection.add(cmd)
	f := cmd.Flags()
	f.StringVar(&s.queueName, "queueName", "", "part of the name")
	f.StringVar(&s.field, "field", "", "column to choose by")
	f.StringVar(&s.operation, "operation", "", "how the column is compared: "+strings.Join(statOperations, ", "))
	f.StringVar(&s.value, "value", "", "what it is compared with")
	f.IntVar(&s.maxRows, "maxRows", 50, "queues to show at most")
	f.IntVar(&s.maxColumnSize, "maxColumnSize", 25, "characters in a column; -1: no bound")
	f.BoolVar(&s.clustered, "clustered", false, "show the queues of all nodes of the cluster")
	f.BoolVar(&s.json, "json", false, "print JSON")
	f.BoolVar(&s.singleLine, "single-line-header", false, "don't break the names of columns")
	f.BoolVar(&s.includeManagement, "include-management", false, "show queues of management clients too")
	f.Int64Var(&s.sleep, "sleep", -1, "print again after so many ms, and so on")
	f.BoolVar(&s.loop, "loop", false, "print again every second, or every --loop-sleep ms")
	f.Int64Var(&s.loopSleep, "loop-sleep", -1, "ms between prints")
	hide(cmd, "loop", "loop-sleep")
	return cmd
}

func (s *queueStat) run(cmd *cobra.Command) error {
	return s.connection.manage(cmd, func(ctx context.Context, m *client.Management) error {
		filter, problem := s.filter()
		if problem != "" {
			fmt.Fprintln(cmd.ErrOrStderr(), problem)
			return nil
		}
		for {
			if err := s.show(ctx, cmd, m, filter); err != nil {
				return err
			}
			period := s.period()
			if period < 0 {
				return nil
			}
			if !pause(ctx, period) {
				return nil
			}
		}
	})
}

// pause waits; it tells whether the context still goes on.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// period is the time between prints, negative for one print.
func (s *queueStat) period() time.Duration {
	switch {
	case s.sleep > 0:
		return time.Duration(s.sleep) * time.Millisecond
	case s.loopSleep > 0:
		return time.Duration(s.loopSleep) * time.Millisecond
	case s.loop:
		return time.Second
	}
	return -1
}

// filter makes the options of listQueues, or says what is wrong with those of the command.
func (s *queueStat) filter() (options, problem string) {
	field, operation, value := "", "", ""
	switch {
	case s.queueName != "" && s.field != "":
		return "", "'--field' and '--queueName' cannot be specified together"
	case s.queueName != "":
		field, operation, value = "name", "CONTAINS", s.queueName
	case s.field != "":
		i := slices.IndexFunc(statColumns, func(c statColumn) bool { return c.name == s.field })
		if i < 0 {
			return "", fmt.Sprintf("'--field' must be set to one of the following [%s]", strings.Join(columnNames(), ", "))
		}
		if s.value == "" {
			return "", "'--value' needs to be set when '--field' is specified"
		}
		if !slices.Contains(statOperations, s.operation) {
			return "", fmt.Sprintf("'--operation' must be set to one of the following [%s]", strings.Join(statOperations, ", "))
		}
		field, operation, value = statColumns[i].key, s.operation, s.value
	}
	b, err := json.Marshal(map[string]string{"field": field, "operation": operation, "value": value, "sortField": "name", "sortOrder": "asc"})
	if err != nil {
		return "", err.Error()
	}
	return string(b), ""
}

func columnNames() []string {
	var names []string
	for _, c := range statColumns {
		names = append(names, c.name)
	}
	return names
}

// topologyNode is an entry of listNetworkTopology.
type topologyNode struct {
	NodeID  string `json:"nodeID"`
	Primary string `json:"primary"` // host:port
	Backup  string `json:"backup"`
}

// topology returns the nodes of the cluster.
func topology(ctx context.Context, m *client.Management) ([]topologyNode, error) {
	answer, err := m.Invoke(ctx, client.BrokerResource, "listNetworkTopology")
	if err != nil {
		return nil, err
	}
	var nodes []topologyNode
	if err := json.Unmarshal([]byte(answer.Text()), &nodes); err != nil {
		return nil, fmt.Errorf("read the topology: %w", err)
	}
	return nodes, nil
}

func (s *queueStat) show(ctx context.Context, cmd *cobra.Command, m *client.Management, filter string) error {
	out := cmd.OutOrStdout()
	nodes, err := topology(ctx, m)
	if err != nil && s.clustered {
		return refused(cmd, err, "Failed to list the topology")
	}
	if !s.clustered || len(nodes) <= 1 {
		if err := s.printQueues(ctx, out, m, filter); err != nil {
			return refused(cmd, err, "Failed to list queues")
		}
		if len(nodes) > 1 && !s.json {
			fmt.Fprintf(out, "\nThe cluster has %d nodes; --clustered shows the queues of all.\n", len(nodes))
		}
		return nil
	}
	for _, node := range nodes {
		url := "tcp://" + node.Primary
		if !s.json {
			fmt.Fprintf(out, "%s\n>>> Queue stats on node %s, url=%s\n", ruler, node.NodeID, url)
		}
		if err := s.printNode(ctx, out, url, filter); err != nil {
			return refused(cmd, err, "Failed to list queues on node %s", node.NodeID)
		}
	}
	return nil
}

// printNode connects to a node and prints its queues.
func (s *queueStat) printNode(ctx context.Context, out io.Writer, url, filter string) error {
	f := s.connection
	f.url = url
	var m *client.Management
	conn, err := f.dial(ctx, nil, func(ctx context.Context, c *client.Conn) (err error) {
		m, err = c.NewManagement(ctx, "")
		return err
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	return s.printQueues(ctx, out, m, filter)
}

func (s *queueStat) printQueues(ctx context.Context, out io.Writer, m *client.Management, filter string) error {
	answer, err := m.Invoke(ctx, client.BrokerResource, "listQueues", filter, 1, s.maxRows)
	if err != nil {
		return err
	}
	if s.json {
		fmt.Fprintln(out, answer.Text())
		return nil
	}
	var list struct {
		Data  []map[string]any `json:"data"`
		Count int              `json:"count"`
	}
	if err := json.Unmarshal([]byte(answer.Text()), &list); err != nil {
		return fmt.Errorf("read the list of queues: %w", err)
	}
	s.table(list.Data).print(out)
	if list.Count > s.maxRows {
		fmt.Fprintf(out, "WARNING: the displayed queues are %d/%d, set maxRows to display more queues.\n", s.maxRows, list.Count)
	}
	return nil
}

// table lays the rows of listQueues out.
func (s *queueStat) table(rows []map[string]any) *table {
	t := &table{width: s.maxColumnSize}
	for i, c := range statColumns {
		title := []string{c.name, ""}
		if s.singleLine {
			title = title[:1]
		} else if first, second, ok := strings.Cut(c.name, "_"); ok {
			title = []string{first, second}
		}
		t.columns = append(t.columns, column{title: title, left: i < 2})
	}
	for _, row := range rows {
		if !s.includeManagement && strings.HasPrefix(fmt.Sprint(row["name"]), managementPrefix) {
			continue
		}
		cells := make([]string, len(statColumns))
		for i, c := range statColumns {
			if v, ok := row[c.key]; ok {
				cells[i] = fmt.Sprint(v)
			}
		}
		t.rows = append(t.rows, cells)
	}
	return t
}
