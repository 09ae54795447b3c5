package main

import (
	"strings"
	"testing"
)

// queueRows are the queues of the goldens queue-stat and queue-stat-maxcols, in the keys of listQueues.
func queueRows() []map[string]any {
	var rows []map[string]any
	for _, line := range strings.Split(strings.TrimSpace(`
$sys.mqtt.sessions $sys.mqtt.sessions 0 0 0 0 0 0 ANYCAST true
11e51dcb-fd99-4c41-9db2-e5ecedc94ac4 news 1 0 0 0 0 0 MULTICAST false
DLQ DLQ 0 0 0 0 0 0 ANYCAST false
ExpiryQueue ExpiryQueue 0 1 1 0 0 0 ANYCAST false
TEST TEST 0 0 1 0 1 0 ANYCAST false
activemq.management.7bb9b9ca-cbce-47c7-96e7-c9ccd408b515 activemq.management.7bb9b9ca-cbce-47c7-96e7-c9ccd408b515 1 0 1 0 1 0 MULTICAST false
amqpq amqpq 0 1 1 0 0 0 ANYCAST false
bridgeq bridgeq 0 0 0 0 0 0 ANYCAST false
core-client-1.sub1 news 1 1 1 1 0 0 MULTICAST false
news.s1 news 0 0 0 0 0 0 MULTICAST false
orders orders 1 11 11 3 0 1 ANYCAST false
owq owq 0 1 1 0 0 0 ANYCAST false
owq2 owq2 1 0 0 0 0 0 ANYCAST false`), "\n") {
		row := map[string]any{}
		for i, cell := range strings.Fields(line) {
			row[statColumns[i].key] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

func TestQueueStatLayout(t *testing.T) {
	for _, c := range []struct {
		golden string
		stat   queueStat
		rows   int
	}{
		{"queue-stat", queueStat{maxColumnSize: 25}, 13},
		{"queue-stat-maxcols", queueStat{maxColumnSize: 10}, 2},
	} {
		_, want, _ := strings.Cut(readGolden(t, c.golden).Stdout, "\n") // without the URL
		want, _, _ = strings.Cut(want, "WARNING:")
		var b strings.Builder
		c.stat.table(queueRows()[:c.rows]).print(&b)
		if got := b.String(); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.golden, got, want)
		}
	}
}

func TestTableCells(t *testing.T) {
	for _, c := range []struct {
		width int
		cell  string
		want  string // lines joined by |
	}{
		{25, "short", "short"},
		{5, "12345", "12345"},
		{5, "123456789", "12345|  678|  9"},
		{5, "äöüß€𝄞", "äöüß€|  𝄞"},
		{1, "abc", "a|  b|  c"},
		{-1, strings.Repeat("x", 100), strings.Repeat("x", 100)},
		{25, "", ""},
	} {
		if got := strings.Join((&table{width: c.width}).split(c.cell), "|"); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.cell, c.width, got, c.want)
		}
	}
}
