package management

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/config"
)

// counters are the message counters of queues: what came and what is there, at the last samples and by hour. A queue has
// one from its first sample or reading on.
type counters struct {
	mu      sync.Mutex
	enabled bool
	period  time.Duration
	maxDays int
	byQueue map[int64]*counter
}

type counter struct {
	count, seenCount int64 // messages added
	depth, seenDepth int64
	countDelta       int64
	depthDelta       int64
	lastAdd, lastAck int64 // ms
	acked            int64
	updated          int64
	base             int64 // added before a reset
	day              []dayCounter
}

// dayCounter is how many messages came in each hour of a day, -1 without a sample.
type dayCounter struct {
	date  string
	hours [24]int64
}

func (c *counters) init(cfg *config.Config) {
	c.enabled, c.period, c.maxDays = cfg.MessageCounterEnabled, cfg.MessageCounterSamplePeriod, cfg.MessageCounterMaxDayHistory
	c.byQueue = map[int64]*counter{}
}

func (c *counters) isEnabled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.enabled
}

func (c *counters) enable(on bool) {
	c.mu.Lock()
	c.enabled = on
	c.mu.Unlock()
}

func (c *counters) samplePeriod() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.period.Milliseconds()
}

func (c *counters) setPeriod(ms int64) error {
	if ms < 1000 {
		return fmt.Errorf("AMQ229008: Message counter sample period must be at least 1000 ms, not %d", ms)
	}
	c.mu.Lock()
	c.period = time.Duration(ms) * time.Millisecond
	c.mu.Unlock()
	return nil
}

func (c *counters) days() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.maxDays
}

func (c *counters) setDays(n int) error {
	if n < 1 {
		return fmt.Errorf("AMQ229009: Invalid message counter max day count: %d", n)
	}
	c.mu.Lock()
	c.maxDays = n
	c.mu.Unlock()
	return nil
}

func (c *counters) resetAll() {
	c.mu.Lock()
	c.byQueue = map[int64]*counter{}
	c.mu.Unlock()
}

func (c *counters) forget() {
	c.mu.Lock()
	for _, k := range c.byQueue {
		k.day = nil
	}
	c.mu.Unlock()
}

func (c *counters) reset(g *Registry, q *broker.Queue) {
	counts := q.Counts()
	c.mu.Lock()
	c.byQueue[q.ID] = &counter{base: counts.Stats.Added}
	c.mu.Unlock()
}

// SampleCounters samples all message counters, when they are enabled. It is to be called once every
// message-counter-sample-period; it returns that in ms.
func (g *Registry) SampleCounters() (period int64) {
	c := &g.counters
	live := map[int64]bool{}
	if c.isEnabled() {
		for _, q := range g.b.Queues() {
			live[q.ID] = true
			counts := q.Counts()
			c.mu.Lock()
			c.of(q.ID).sample(counts, g.b.Wheel().Now(), c.maxDays)
			c.mu.Unlock()
		}
		c.mu.Lock()
		for id := range c.byQueue {
			if !live[id] {
				delete(c.byQueue, id)
			}
		}
		c.mu.Unlock()
	}
	return c.samplePeriod()
}

func (c *counters) of(id int64) *counter {
	k := c.byQueue[id]
	if k == nil {
		k = &counter{}
		c.byQueue[id] = k
	}
	return k
}

func (k *counter) sample(n broker.Counts, now int64, days int) {
	came := n.Stats.Added - k.base - k.count
	if came > 0 {
		k.lastAdd = now
	}
	if gone := n.Stats.Acknowledged; gone > k.acked {
		k.acked, k.lastAck = gone, now
	}
	k.count, k.depth, k.updated = n.Stats.Added-k.base, n.Messages, now
	t := time.UnixMilli(now)
	date := t.Format("1/2/06")
	if len(k.day) == 0 || k.day[len(k.day)-1].date != date {
		d := dayCounter{date: date}
		for i := range d.hours {
			d.hours[i] = -1
		}
		k.day = append(k.day, d)
		k.day = k.day[max(0, len(k.day)-days):]
	}
	k.day[len(k.day)-1].hours[t.Hour()] = max(0, k.day[len(k.day)-1].hours[t.Hour()]) + max(0, came)
}

// read returns a copy of a queue's counter; deltas count from the reading before it.
func (c *counters) read(g *Registry, q *broker.Queue) counter {
	counts := q.Counts()
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(q.ID)
	if c.enabled {
		k.sample(counts, g.b.Wheel().Now(), c.maxDays)
		k.countDelta, k.depthDelta = k.count-k.seenCount, k.depth-k.seenDepth
		k.seenCount, k.seenDepth = k.count, k.depth
	}
	return *k
}

func (k counter) object(q *broker.Queue) Object {
	return Object{{"destinationName", q.Name()}, {"destinationSubscription", nil}, {"destinationDurable", q.Config().Durable}, {"count", k.count}, {"countDelta", k.countDelta},
		{"messageCount", k.depth}, {"messageCountDelta", k.depthDelta}, {"lastAddTimestamp", shortDate(k.lastAdd)}, {"lastAckTimestamp", shortDate(k.lastAck)},
		{"updateTimestamp", shortDate(k.updated)}}
}

func (k counter) history() Object {
	days := []Object{}
	for _, d := range k.day {
		days = append(days, Object{{"date", d.date}, {"counters", d.hours}})
	}
	return Object{{"dayCounters", days}}
}

// cell is a number in a table: empty for nothing.
func cell(n int64, empty string) string {
	if n <= 0 {
		return empty
	}
	return fmt.Sprint(n)
}

func timeCell(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return shortDate(ms)
}

func (k counter) html(q *broker.Queue) string {
	return "<table class=\"activemq-message-counter\">\n<tr><th>Type</th><th>Name</th><th>Subscription</th><th>Durable</th><th>Count</th><th>CountDelta</th><th>Depth</th><th>DepthDelta</th><th>Last Add</th><th>Last Ack</th><th>Last Update</th></tr>\n" +
		fmt.Sprintf("<tr bgcolor=\"#FFFFFF\"><td>Queue</td><td>%s</td><td>-</td><td>-</td><td>%d</td><td>%s</td><td>%d</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n</table>\n",
			escape(q.Name()), k.count, cell(k.countDelta, "-"), k.depth, cell(k.depthDelta, "-"), timeCell(k.lastAdd), timeCell(k.lastAck), timeCell(k.updated))
}

func (k counter) historyHTML(q *broker.Queue) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<ul>\n<li>\n  <ul>\n    <li>Queue '%s'</li>\n    <li><table class=\"activemq-message-counter-history\">\n<tr><th>Date</th>", escape(q.Name()))
	for h := range 24 {
		fmt.Fprintf(&b, "<th>%d</th>", h)
	}
	b.WriteString("<th>Total</th></tr>\n")
	for _, d := range k.day {
		total := int64(0)
		fmt.Fprintf(&b, "<tr bgcolor=\"#FFFFFF\"><td>%s</td>", d.date)
		for _, n := range d.hours {
			fmt.Fprintf(&b, "<td>%s</td>", cell(n, ""))
			total += max(0, n)
		}
		fmt.Fprintf(&b, "<td>%d</td></tr>\n", total)
	}
	b.WriteString("</table></li>\n  </ul>\n</li>\n</ul>\n")
	return b.String()
}
