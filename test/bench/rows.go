package main

import (
	"context"
	"slices"
	"strings"
)

// A row is something measured on both brokers.
type row struct {
	name    string // for -rows
	title   string
	checks  []check
	measure func(context.Context, *bench, *side) (values, error)
}

// A check is a line of the result: a metric of a row and what it must reach. Bounds that are 0 are none.
type check struct {
	metric  string
	label   string  // with the unit
	atLeast float64 // ratio Saranga : Artemis
	atMost  float64 // ratio Saranga : Artemis
	most    float64 // Saranga's own figure
}

// Metrics that several rows have.
const (
	metricRate = "rate"
	metricCPU  = "cpu"
	metricP50  = "p50"
	metricP99  = "p99"
	metricP999 = "p99.9"
	metricPeak = "peak"
)

func rate(atLeast float64) check {
	return check{metric: metricRate, label: "messages/s", atLeast: atLeast}
}
func cpu(atMost float64) check {
	return check{metric: metricCPU, label: "broker CPU µs/message", atMost: atMost}
}

// latency are the lines of times; only the median has a target.
func latency(p50AtMost float64) []check {
	return []check{{metric: metricP50, label: "p50 µs", atMost: p50AtMost}, {metric: metricP99, label: "p99 µs"}, {metric: metricP999, label: "p99.9 µs"}}
}

var peak = check{metric: metricPeak, label: "peak memory MiB"}

func checks(lists ...[]check) []check { return slices.Concat(lists...) }

// rows are all, in the order of measuring. The targets are those that the project set itself.
var rows = []*row{
	{"startup", "Startup of an empty instance to the acceptor open", []check{
		{metric: "start", label: "ms", atMost: 1. / 20, most: 100},
		{metric: "first-start", label: "ms, first start after create"},
		{metric: "rss", label: "memory when started MiB", most: 30},
	}, startup},
	{"core", "Core, lean client, 1 KiB, window 1,000", []check{rate(4), cpu(1. / 8), peak}, onWarm(flowRow(false))},
	{"core-persistent", "Core persistent, lean client, 1 KiB, window 1,000", []check{rate(4), cpu(1. / 10), peak}, onWarm(flowRow(true))},
	{"closed", "Closed loop, one in flight", checks(latency(1./2), []check{{metric: "wake", label: "two threads waking each other, p50 µs"}, cpu(0), peak}), onWarm(besideWakes)},
	{"closed-durable", "Closed loop, one in flight, durable", checks(latency(1/2.2), []check{
		{metric: "bare", label: "bare write + fdatasync, p50 µs"},
		{metric: "rested", label: "the same after 100 µs of rest, p50 µs"},
		{metric: "to-bare", label: "p50 by that of the bare write + fdatasync", most: 1.4},
		cpu(0), peak}), onWarm(besideBare)},
	{"core-1mib", "Core 1 MiB persistent, lean client, window 8", []check{rate(2), {metric: "bare", label: "bare files of 1 MiB, written and synced one by one, /s"}, cpu(0), peak}, onWarm(largeRow)},
	{"100-queues", "Core persistent over 100 queues, lean client, 1 KiB, window 100 each", []check{rate(0), cpu(1. / 8), peak}, onWarm(queuesRow)},
	{"perf", "Core, Artemis' perf client, 1 KiB", []check{rate(1), cpu(1. / 3), {metric: metricP99, label: "transfer p99 µs"}, peak},
		onWarm(perfRow{pending: 100, size: bodySize}.measure)},
	{"perf-persistent", "Core persistent, Artemis' perf client, 1 KiB", []check{rate(1.3), cpu(1. / 3), {metric: metricP99, label: "transfer p99 µs"}, peak},
		onWarm(perfRow{pending: 100, size: bodySize, persistent: true}.measure)},
	{"perf-1mib", "Core 1 MiB persistent, Artemis' perf client", []check{rate(1.3), cpu(1. / 3), peak},
		onWarm(perfRow{pending: 8, size: 1 << 20, persistent: true}.measure)},
	{"perf-100-queues", "Core persistent over 100 queues, Artemis' perf client, 1 KiB", []check{rate(1.3), cpu(1. / 3), peak},
		onWarm(perfRow{pending: 10, size: bodySize, persistent: true, destinations: 100}.measure)},
	{"latency", "Core at half of the lower throughput", checks(latency(0), []check{rate(0), cpu(0), peak}), onWarm(pacedRow(false))},
	{"latency-persistent", "Core persistent at half of the lower throughput", checks(latency(0), []check{rate(0), cpu(0), peak}), onWarm(pacedRow(true))},
	{"backlog", "Backlog of 1 KiB non-durable messages, then churned at that depth", []check{
		{metric: "messages", label: "messages queued"},
		{metric: "push-rate", label: "pushed messages/s"},
		{metric: "queued", label: "resident MiB when queued"},
		{metric: "resident", label: "resident MiB, most while churned", most: 1536},
		{metric: "gc", label: "garbage collection while both, % of a core", most: 25},
		rate(0), cpu(0)}, backlog},
	{"stalled-plain", "Durable closed loop beside a consumer that stalls: plain", stallChecks, onWarm(stallRow(stallKind{}))},
	{"stalled-tls", "Durable closed loop beside a consumer that stalls: TLS", stallChecks, onWarm(stallRow(stallKind{tls: true}))},
	{"stalled-filter", "Durable closed loop beside a consumer that stalls: filtering", stallChecks, onWarm(stallRow(stallKind{filter: "kind = 'wanted'"}))},
	{"idle", "Idle connections, one session each", []check{
		{metric: "connections", label: "connections"},
		{metric: "connection", label: "resident KiB per connection", most: 10}}, idle},
	{"pair-persistent", "Replicating pair: Core persistent, lean client, 1 KiB, window 1,000", pairChecks(rate(3), cpu(1./5)), onPair(pairFlow)},
	{"pair-perf-persistent", "Replicating pair: Core persistent, Artemis' perf client, 1 KiB", []check{rate(1.2), cpu(1. / 5), {metric: metricP99, label: "transfer p99 µs"}}, onPair(pairPerf)},
	{"pair-closed", "Replicating pair: one client sends and waits, durable", checks(latency(1./2), []check{
		{metric: "bare", label: "bare write + fdatasync, p50 µs"},
		{metric: "loopback", label: "bare loopback round trip, p50 µs"},
		{metric: "to-bare", label: "p50 by the sum of both", most: 1.6}}, pairChecks(cpu(0))), onPair(sendAndWait)},
	{"pair-outage-zookeeper", "kill -9 of the active node of a pair, both pairs on ZooKeeper, sessions of " + equalSession + " ms", outage(check{atMost: 1}), outageOnZooKeeper.measure},
	{"pair-outage-equal", "The same, Saranga on its Raft members", outage(check{atMost: 1}), outageEqual.measure},
	{"pair-outage-default", "The same with each one's defaults, the Raft leader elsewhere", outage(check{most: 2.5}), outageLeaderLives.measure},
	{"pair-outage-leader", "The same, the Raft leader killed with it", outage(check{most: 4}), onlySaranga(outageLeaderDies.measure)},
	{"pair-lock", "Lock acquired and released, three Raft members and three ZooKeeper servers, same client", []check{
		{metric: "lock", label: "p50 µs, at all three", atMost: 1.5}, {metric: "lock-p99", label: "p99 µs"},
		{metric: "leader", label: "p50 µs at the leader"}, {metric: "follower", label: "p50 µs at followers"}}, lockTimes},
	{"pair-sessions", "1,000 sessions that ping, at one of three members or servers", []check{
		{metric: "busiest", label: "% of a core above idle, busiest member", most: 5}, {metric: "idle", label: "% of a core when idle, busiest member"},
		{metric: "sessions", label: "sessions"}}, sessionCost},
	{"pair-sync", "Initial synchronisation of a backup", []check{
		{metric: "sync", label: "s from the first file to the last", atMost: 1. / 2},
		{metric: "join", label: "s from the start of the backup's process"},
		{metric: "size", label: "MiB on the backup"},
		{metric: "before", label: "p99 µs of a paced durable load before"},
		{metric: "during", label: "p99 µs meanwhile"},
		{metric: "factor", label: "by how much it rose", most: 3}}, initialSync},
	{longRow, "Replicating pair under full load beside busy processes, two for each core", []check{
		{metric: "failovers", label: "failovers, lost backups", most: .5},
		{metric: "minutes", label: "minutes"}, {metric: "pause", label: "longest time without a message ms"}, rate(0)}, amongNeighbours},
}

var stallChecks = []check{
	{metric: "before", label: "p99 µs before"},
	{metric: "beside", label: "p99 µs beside the stalled one"},
	{metric: "factor", label: "by how much it rose", most: 2},
}

func (r *row) wanted(names []string) bool { return slices.Contains(names, r.name) }

// rounds is how often a row is measured of so many rounds. What counts of a long row is that nothing happens in it.
func (r *row) rounds(wanted int) int {
	if r.name == longRow {
		return 1
	}
	return wanted
}

func rowNames() (names []string) {
	for _, r := range rows {
		names = append(names, r.name)
	}
	return names
}

// pairChecks are lines of a pair, CPU by node behind the others.
func pairChecks(list ...check) []check {
	return append(list, check{metric: "cpu-primary", label: "of that the primary"}, check{metric: "cpu-backup", label: "and the backup"})
}

// longRow is measured once.
const longRow = "pair-neighbours"

// groupOfPairs stands for all rows of pairs in -rows.
const groupOfPairs = "pairs"

// expandGroups puts the rows of a group in its place.
func expandGroups(names []string) (rows []string) {
	for _, name := range names {
		if name != groupOfPairs {
			rows = append(rows, name)
			continue
		}
		for _, row := range rowNames() {
			if strings.HasPrefix(row, "pair-") {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// outage is the line of an outage with that target.
func outage(c check) []check {
	c.metric, c.label = "outage", "s without service"
	return []check{c}
}
