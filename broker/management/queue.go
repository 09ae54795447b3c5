package management

import (
	"fmt"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/filter"
	"github.com/saranga-mq/saranga/broker/message"
)

// queue is the resource of a queue.
type queue struct {
	g *Registry
	q *broker.Queue
}

// limit is where values are cut when messages are shown.
func (x queue) limit() int { return x.q.Address().Settings().ManagementMessageAttributeMax }

func (x queue) pageSize() int { return x.q.Address().Settings().ManagementBrowsePageSize }

var queueClass = class("QueueControl", "A queue.", func(d *definition[queue]) {
	config := func(name string, t Type, desc string, get func(broker.QueueConfig) any) {
		d.attr(name, t, desc, func(x queue) any { return get(x.q.Config()) })
	}
	count := func(name string, t Type, desc string, get func(broker.Counts) int64) {
		d.attr(name, t, desc, func(x queue) any { return get(x.q.Counts()) })
	}
	durable := func(name string, t Type, desc string, get func(broker.DurableCounts) int64) {
		d.attr(name, t, desc, func(x queue) any { return get(x.q.DurableCounts()) })
	}
	config("Name", String, "Name of the queue.", func(c broker.QueueConfig) any { return c.Name })
	config("Address", String, "Address the queue is bound to.", func(c broker.QueueConfig) any { return c.Address })
	d.attr("ID", Long, "Number of the queue in the broker's files.", func(x queue) any { return x.q.ID })
	config("RoutingType", String, "ANYCAST or MULTICAST.", func(c broker.QueueConfig) any { return c.Routing.String() })
	config("Filter", String, "Selector of the messages the queue takes.", func(c broker.QueueConfig) any { return textOrNull(c.Filter) })
	config("Durable", Bool, "Whether the queue outlives a restart.", func(c broker.QueueConfig) any { return c.Durable })
	config("Temporary", Bool, "Whether the queue goes with the connection that made it.", func(c broker.QueueConfig) any { return c.Temporary })
	config("User", String, "User who created the queue.", func(c broker.QueueConfig) any { return textOrNull(c.User) })
	config("MaxConsumers", Int, "How many consumers there may be, -1 for any number.", func(c broker.QueueConfig) any { return c.MaxConsumers })
	config("Exclusive", Bool, "Whether one consumer gets everything.", func(c broker.QueueConfig) any { return c.Exclusive })
	config("LastValue", Bool, "Whether a message replaces the one before it with the same key.", func(c broker.QueueConfig) any { return c.LastValue })
	config("LastValueKey", String, "Property that is the key of a last-value queue.", func(c broker.QueueConfig) any { return textOrNull(c.LastValueKey) })
	config("PurgeOnNoConsumers", Bool, "Whether messages go with the last consumer.", func(c broker.QueueConfig) any { return c.PurgeOnNoConsumers })
	config("ConsumersBeforeDispatch", Int, "How many consumers must be there before messages are delivered.", func(c broker.QueueConfig) any { return c.ConsumersBeforeDispatch })
	config("DelayBeforeDispatch", Long, "Milliseconds after the first consumer from which messages are delivered in any case.", func(c broker.QueueConfig) any { return c.DelayBeforeDispatch })
	config("GroupRebalance", Bool, "Whether groups are spread anew when a consumer comes.", func(c broker.QueueConfig) any { return c.GroupRebalance })
	config("GroupRebalancePauseDispatch", Bool, "Whether that waits for what is in delivery.", func(c broker.QueueConfig) any { return c.GroupRebalancePauseDisp })
	config("GroupBuckets", Int, "Number of buckets for groups, -1 for one per group.", func(c broker.QueueConfig) any { return c.GroupBuckets })
	config("GroupFirstKey", String, "Property that marks the first message of a group.", func(c broker.QueueConfig) any { return textOrNull(c.GroupFirstKey) })
	config("RingSize", Long, "How many messages the queue keeps, -1 for any number.", func(c broker.QueueConfig) any { return c.RingSize })
	config("Enabled", Bool, "Whether the queue takes new messages.", func(c broker.QueueConfig) any { return c.Enabled })
	config("ConfigurationManaged", Bool, "Whether the queue stands in the configuration file.", func(c broker.QueueConfig) any { return c.ConfigurationManaged })
	config("AutoDelete", Bool, "Whether the queue is deleted when nobody uses it.", func(c broker.QueueConfig) any { return c.AutoDelete })
	config("InternalQueue", Bool, "Whether the queue is the broker's own.", func(c broker.QueueConfig) any { return c.Internal })
	d.attr("RetroactiveResource", Bool, "Whether the queue keeps messages for a retroactive address.", func(x queue) any { return x.g.b.RetroactiveResource(x.q.Name()) })
	d.attr("DeadLetterAddress", String, "Address of messages that could not be delivered.", func(x queue) any { return textOrNull(x.q.Address().Settings().DeadLetterAddress) })
	d.attr("ExpiryAddress", String, "Address of expired messages.", func(x queue) any { return textOrNull(x.q.Address().Settings().ExpiryAddress) })
	d.attr("Paused", Bool, "Whether delivery is paused.", func(x queue) any { return x.q.Counts().Paused })
	d.attr("PersistedPause", Bool, "Whether it stays paused over a restart.", func(x queue) any { return x.q.PersistedPause() })

	count("MessageCount", Long, "Messages waiting, scheduled and in delivery.", func(c broker.Counts) int64 { return c.Messages })
	count("PersistentSize", Long, "Size of those messages in bytes.", func(c broker.Counts) int64 { return c.Size })
	count("DurableMessageCount", Long, "Durable messages.", func(c broker.Counts) int64 { return c.Durable })
	count("DurablePersistentSize", Long, "Size of durable messages in bytes.", func(c broker.Counts) int64 { return c.DurableSize })
	count("ConsumerCount", Int, "Consumers.", func(c broker.Counts) int64 { return int64(c.Consumers) })
	count("DeliveringCount", Int, "Messages delivered and not acknowledged.", func(c broker.Counts) int64 { return c.Delivering })
	count("DeliveringSize", Long, "Size of those messages in bytes.", func(c broker.Counts) int64 { return c.DeliveringSize })
	durable("DurableDeliveringCount", Int, "Durable messages in delivery.", func(c broker.DurableCounts) int64 { return c.Delivering })
	durable("DurableDeliveringSize", Long, "Size of durable messages in delivery.", func(c broker.DurableCounts) int64 { return c.DeliveringSize })
	count("ScheduledCount", Long, "Messages that wait for their time.", func(c broker.Counts) int64 { return c.Scheduled })
	durable("ScheduledSize", Long, "Size of scheduled messages.", func(c broker.DurableCounts) int64 { return c.ScheduledSize })
	durable("DurableScheduledCount", Long, "Durable scheduled messages.", func(c broker.DurableCounts) int64 { return c.DurableSch })
	durable("DurableScheduledSize", Long, "Size of durable scheduled messages.", func(c broker.DurableCounts) int64 { return c.DurableSchSize })
	count("MessagesAdded", Long, "Messages that came since the queue was created.", func(c broker.Counts) int64 { return c.Stats.Added })
	count("MessagesAcknowledged", Long, "Messages acknowledged or moved away.", func(c broker.Counts) int64 { return c.Stats.Acknowledged })
	count("AcknowledgeAttempts", Long, "Attempts to acknowledge.", func(c broker.Counts) int64 { return c.Stats.AckAttempts })
	count("MessagesExpired", Long, "Messages that expired.", func(c broker.Counts) int64 { return c.Stats.Expired })
	count("MessagesKilled", Long, "Messages removed or taken to the dead-letter address.", func(c broker.Counts) int64 { return c.Stats.Killed })
	count("GroupCount", Int, "Message groups that have an owner.", func(c broker.Counts) int64 { return int64(c.Groups) })
	d.attr("PreparedTransactionMessageCount", Int, "Messages acknowledged in prepared transactions.", func(x queue) any { return x.g.b.PreparedAcks(x.q) })
	d.attr("FirstMessageAsJSON", String, "First waiting message, as JSON.", func(x queue) any {
		if first := x.first(waiting); first != nil {
			return JSON([]any{first})
		}
		return "[{}]"
	})
	d.attr("FirstMessageTimestamp", NLong, "When the first waiting message was sent, null without one.", func(x queue) any {
		if first := x.first(waiting); first != nil {
			return first["timestamp"]
		}
		return nil
	})
	d.attr("FirstMessageAge", NLong, "Milliseconds since then.", func(x queue) any {
		if first := x.first(waiting); first != nil {
			return x.g.b.Wheel().Now() - first["timestamp"].(int64)
		}
		return nil
	})

	defineQueueMessages(d)
	defineQueueControl(d)
})

// A browser calls visit for messages of a queue that a filter matches, in order, until it returns false.
type browser func(x queue, text string, visit func(*message.Message) bool) error

func waiting(x queue, text string, visit func(*message.Message) bool) error {
	return x.q.Browse(text, func(m *message.Message, _ int32) bool { return visit(m) })
}

func scheduled(x queue, text string, visit func(*message.Message) bool) error {
	return x.q.BrowseScheduled(text, func(m *message.Message, _ int32, _ int64) bool { return visit(m) })
}

func delivering(x queue, text string, visit func(*message.Message) bool) error {
	return x.q.BrowseDelivering(text, func(_ *broker.Consumer, m *message.Message, _ int32) bool { return visit(m) })
}

// first is the first of the messages, nil without one.
func (x queue) first(browse browser) map[string]any {
	var first map[string]any
	browse(x, "", func(m *message.Message) bool {
		first = flat(m, x.limit())
		return false
	})
	return first
}

func orEmpty(first map[string]any) string {
	if first == nil {
		return "{}"
	}
	return JSON(first)
}

// defineQueueMessages are the operations that show messages.
func defineQueueMessages(d *definition[queue]) {
	d.op("listMessages(filter string)", Maps, Info, "Waiting messages that a filter matches.", func(x queue, c *Call) (any, error) { return x.list(waiting, c.text(0)) })
	d.op("listMessagesAsJSON(filter string)", String, Info, "Waiting messages that a filter matches, as JSON.", func(x queue, c *Call) (any, error) { return x.listJSON(waiting, c.text(0)) })
	d.op("listScheduledMessages()", Maps, Info, "Messages that wait for their time.", func(x queue, _ *Call) (any, error) { return x.list(scheduled, "") })
	d.op("listScheduledMessagesAsJSON()", String, Info, "Messages that wait for their time, as JSON.", func(x queue, _ *Call) (any, error) { return x.listJSON(scheduled, "") })
	d.op("listDeliveringMessages()", Map, Info, "Messages delivered and not acknowledged, by consumer.", func(x queue, _ *Call) (any, error) {
		out := map[string]any{}
		for _, l := range x.byConsumer() {
			out[l.consumer] = l.messages
		}
		return out, nil
	})
	d.op("listDeliveringMessagesAsJSON()", String, Info, "Messages delivered and not acknowledged, by consumer, as JSON.", func(x queue, _ *Call) (any, error) {
		out := []any{}
		for _, l := range x.byConsumer() {
			out = append(out, Object{{"consumerName", l.consumer}, {"elements", l.messages}})
		}
		return JSON(out), nil
	})
	d.op("peekFirstMessageAsJSON()", String, Info, "First waiting message.", func(x queue, _ *Call) (any, error) { return orEmpty(x.first(waiting)), nil })
	d.op("peekFirstScheduledMessageAsJSON()", String, Info, "Message whose time comes first.", func(x queue, _ *Call) (any, error) { return orEmpty(x.first(scheduled)), nil })
	d.op("browse()", Composites, Action, "First page of waiting messages.", func(x queue, _ *Call) (any, error) { return x.browse(1, x.pageSize(), "") })
	d.op("browse(filter string)", Composites, Action, "First page of waiting messages that a filter matches.", func(x queue, c *Call) (any, error) { return x.browse(1, x.pageSize(), c.text(0)) })
	d.op("browse(page int, pageSize int)", Composites, Action, "A page of waiting messages; the first is 1.", func(x queue, c *Call) (any, error) { return x.browse(c.int(0), c.int(1), "") })
	d.op("browse(page int, pageSize int, filter string)", Composites, Action, "A page of waiting messages that a filter matches.", func(x queue, c *Call) (any, error) { return x.browse(c.int(0), c.int(1), c.text(2)) })
	d.op("countMessages()", Long, Info, "Number of messages.", func(x queue, _ *Call) (any, error) { return x.q.MessageCount(), nil })
	d.op("countMessages(filter string)", Long, Info, "Number of messages that a filter matches.", func(x queue, c *Call) (any, error) { return x.q.CountMessages(c.text(0)) })
	d.op("countMessages(filter string, groupByProperty string)", String, Info, "Numbers of messages that a filter matches, by the value of a property.", func(x queue, c *Call) (any, error) {
		if c.text(1) == "" {
			n, err := x.q.CountMessages(c.text(0))
			return JSON(Object{{"null", n}}), err
		}
		return x.countBy(waiting, c.text(0), c.text(1))
	})
	d.op("countDeliveringMessages(filter string)", Long, Info, "Number of messages in delivery that a filter matches.", func(x queue, c *Call) (any, error) {
		n := int64(0)
		err := delivering(x, c.text(0), func(*message.Message) bool { n++; return true })
		return n, err
	})
	d.op("countDeliveringMessages(filter string, groupByProperty string)", String, Info, "Numbers of messages in delivery, by the value of a property.", func(x queue, c *Call) (any, error) { return x.countBy(delivering, c.text(0), c.text(1)) })
	d.op("listConsumersAsJSON()", String, Info, "Consumers, as JSON.", func(x queue, _ *Call) (any, error) {
		out := []Object{}
		for _, k := range x.q.Consumers() {
			out = append(out, consumerObject(k, false))
		}
		return JSON(out), nil
	})
	d.op("listGroupsAsJSON()", String, Info, "Message groups and who owns them, as JSON.", func(x queue, _ *Call) (any, error) {
		out := []Object{}
		for _, key := range sortedKeys(x.q.Groups()) {
			k := x.q.Groups()[key]
			if k == nil {
				continue
			}
			out = append(out, Object{{"groupID", key}, {"consumerID", k.ID}, {"connectionID", k.Session.Conn().ID}, {"sessionID", k.Session.Name}, {"browseOnly", k.Browse}, {"creationTime", k.Created}})
		}
		return JSON(out), nil
	})
}

// maxListed bounds how many messages one listing shows.
const maxListed = 10000

func (x queue) list(browse browser, text string) ([]any, error) {
	out := []any{}
	err := browse(x, text, func(m *message.Message) bool {
		out = append(out, flat(m, x.limit()))
		return len(out) < maxListed
	})
	return out, err
}

func (x queue) listJSON(browse browser, text string) (any, error) {
	list, err := x.list(browse, text)
	return JSON(list), err
}

// countBy counts messages that a filter matches by the value of a property, as JSON.
func (x queue) countBy(browse browser, text, property string) (any, error) {
	var g grouped
	err := browse(x, text, func(m *message.Message) bool { g.add(m, property); return true })
	return JSON(g.counts), err
}

type inDelivery struct {
	consumer string
	messages []any
}

func (x queue) byConsumer() []inDelivery {
	var out []inDelivery
	n := 0
	x.q.BrowseDelivering("", func(k *broker.Consumer, m *message.Message, _ int32) bool {
		name := consumerText(k)
		if len(out) == 0 || out[len(out)-1].consumer != name {
			out = append(out, inDelivery{consumer: name})
		}
		l := &out[len(out)-1]
		l.messages = append(l.messages, flat(m, x.limit()))
		n++
		return n < maxListed
	})
	return out
}

func consumerText(k *broker.Consumer) string {
	filter := "null"
	if f := k.Filter(); f != "" {
		filter = "FilterImpl [sfilterString=" + f + "]"
	}
	return fmt.Sprintf("ServerConsumer [id=%s:%s:%d, filter=%s, binding=%s]", k.Session.Conn().ID, k.Session.Name, k.ID, filter, bindingText(k.Queue))
}

// bindingText describes the binding of a queue.
func bindingText(q *broker.Queue) string {
	c := q.Config()
	return fmt.Sprintf("LocalQueueBinding [address=%s, queue=QueueImpl[name=%s, temp=%t]]", c.Address, c.Name, c.Temporary)
}

func (x queue) browse(page, size int, text string) (any, error) {
	out := []compositeData{}
	if page < 1 || size < 1 {
		return out, nil
	}
	if _, err := filter.Parse(text); err != nil {
		return nil, fmt.Errorf("AMQ229020: Invalid filter: %s", text)
	}
	skip := int64(page-1) * int64(size)
	size = min(size, maxListed)
	err := x.q.Browse(text, func(m *message.Message, count int32) bool {
		if skip > 0 {
			skip--
			return true
		}
		out = append(out, composite(m, count, x.limit()))
		return len(out) < size
	})
	return out, err
}

// grouped counts messages by the value of a property, in the order of appearance.
type grouped struct {
	counts Object
	at     map[string]int
}

func (g *grouped) add(m *message.Message, property string) {
	key := "null"
	if m.HasProperty(property) {
		key = javaText(propertyValue(m.Property(property), -1))
	}
	i, known := g.at[key]
	if !known {
		if g.at == nil {
			g.at = map[string]int{}
		}
		i = len(g.counts)
		g.at[key] = i
		g.counts = append(g.counts, Member{key, int64(0)})
	}
	g.counts[i].Value = g.counts[i].Value.(int64) + 1
}

// defineQueueControl are the operations that change something.
func defineQueueControl(d *definition[queue]) {
	moveMany := func(x queue, filter, target string, reject bool, count int) (any, error) {
		return x.q.MoveMessages(filter, target, broker.MoveOptions{RejectDuplicates: reject, Count: count})
	}
	d.op("moveMessage(messageID long, otherQueueName string)", Bool, Action, "Moves a message to another queue.", func(x queue, c *Call) (any, error) {
		return x.q.MoveMessage(c.long(0), c.text(1), broker.MoveOptions{})
	})
	d.op("moveMessage(messageID long, otherQueueName string, rejectDuplicates bool)", Bool, Action, "Moves a message to another queue.", func(x queue, c *Call) (any, error) {
		return x.q.MoveMessage(c.long(0), c.text(1), broker.MoveOptions{RejectDuplicates: c.bool(2)})
	})
	d.op("moveMessages(filter string, otherQueueName string)", Int, Action, "Moves messages to another queue.", func(x queue, c *Call) (any, error) { return moveMany(x, c.text(0), c.text(1), false, 0) })
	d.op("moveMessages(filter string, otherQueueName string, rejectDuplicates bool)", Int, Action, "Moves messages to another queue.", func(x queue, c *Call) (any, error) { return moveMany(x, c.text(0), c.text(1), c.bool(2), 0) })
	d.op("moveMessages(flushLimit int, filter string, otherQueueName string, rejectDuplicates bool)", Int, Action, "Moves messages to another queue.", func(x queue, c *Call) (any, error) { return moveMany(x, c.text(1), c.text(2), c.bool(3), 0) })
	d.op("moveMessages(flushLimit int, filter string, otherQueueName string, rejectDuplicates bool, messageCount int)", Int, Action, "Moves some messages to another queue.", func(x queue, c *Call) (any, error) {
		return moveMany(x, c.text(1), c.text(2), c.bool(3), c.int(4))
	})
	d.op("copyMessage(messageID long, targetQueue string)", Bool, Action, "Copies a message to another queue.", func(x queue, c *Call) (any, error) { return x.q.CopyMessage(c.long(0), c.text(1)) })
	d.op("removeMessage(messageID long)", Bool, Action, "Deletes a message.", func(x queue, c *Call) (any, error) { return x.q.RemoveMessage(c.long(0)) })
	d.op("removeMessages(filter string)", Int, Action, "Deletes messages.", func(x queue, c *Call) (any, error) { return x.q.RemoveMessages(c.text(0)) })
	d.op("removeMessages(flushLimit int, filter string)", Int, Action, "Deletes messages.", func(x queue, c *Call) (any, error) { return x.q.RemoveMessages(c.text(1)) })
	d.op("removeAllMessages()", Int, Action, "Deletes all messages.", func(x queue, _ *Call) (any, error) { return x.q.RemoveMessages("") })
	d.op("expireMessage(messageID long)", Bool, Action, "Lets a message expire.", func(x queue, c *Call) (any, error) { return x.q.ExpireMessage(c.long(0)) })
	d.op("expireMessages(filter string)", Int, Action, "Lets messages expire.", func(x queue, c *Call) (any, error) { return x.q.ExpireMessages(c.text(0)) })
	d.op("retryMessage(messageID long)", Bool, Action, "Sends a message back to where it was before it expired or died.", func(x queue, c *Call) (any, error) { return x.q.RetryMessage(c.long(0)) })
	d.op("retryMessages()", Int, Action, "Sends all messages back to where they were.", func(x queue, _ *Call) (any, error) { return x.q.RetryMessages("") })
	d.op("retryMessages(filter string)", Int, Action, "Sends messages back to where they were.", func(x queue, c *Call) (any, error) { return x.q.RetryMessages(c.text(0)) })
	d.op("sendMessageToDeadLetterAddress(messageID long)", Bool, Action, "Takes a message to the dead-letter address.", func(x queue, c *Call) (any, error) {
		return x.q.SendMessageToDeadLetterAddress(c.long(0))
	})
	d.op("sendMessagesToDeadLetterAddress(filter string)", Int, Action, "Takes messages to the dead-letter address.", func(x queue, c *Call) (any, error) { return x.q.SendToDeadLetterAddress(c.text(0)) })
	d.op("changeMessagePriority(messageID long, newPriority int)", Bool, Action, "Changes the priority of a message.", func(x queue, c *Call) (any, error) {
		p, err := priority(c.int(1))
		if err != nil {
			return nil, err
		}
		return x.q.ChangeMessagePriority(c.long(0), p)
	})
	d.op("changeMessagesPriority(filter string, newPriority int)", Int, Action, "Changes the priority of messages.", func(x queue, c *Call) (any, error) {
		p, err := priority(c.int(1))
		if err != nil {
			return nil, err
		}
		return x.q.ChangeMessagesPriority(c.text(0), p)
	})
	d.op("deliverScheduledMessage(messageID long)", Void, Action, "Delivers a scheduled message before its time.", func(x queue, c *Call) (any, error) {
		return nil, x.release(func(m *message.Message) bool { return m.ID() == c.long(0) })
	})
	d.op("deliverScheduledMessages(filter string)", Void, Action, "Delivers scheduled messages before their time.", func(x queue, c *Call) (any, error) {
		f, err := filter.Parse(c.text(0))
		if err != nil {
			return nil, fmt.Errorf("AMQ229020: Invalid filter: %s", c.text(0))
		}
		return nil, x.release(func(m *message.Message) bool { return f == nil || f.Match(broker.Filterable(m)) })
	})
	defineSendMessage(d, func(x queue, c *Call, id bool) (any, error) { return x.g.sendMessage(c, x.q.Address().Name(), x.q, id) })

	d.op("pause()", Void, Action, "Stops delivery until a restart.", func(x queue, _ *Call) (any, error) { return nil, x.g.b.Pause(x.q, false) })
	d.op("pause(persist bool)", Void, Action, "Stops delivery, if asked for over restarts too.", func(x queue, c *Call) (any, error) { return nil, x.g.b.Pause(x.q, c.bool(0)) })
	d.op("resume()", Void, Action, "Starts delivery again.", func(x queue, _ *Call) (any, error) {
		return nil, x.g.work(func(w *broker.Work) error { return x.g.b.Resume(w, x.q) })
	})
	enable := func(on bool) func(queue, *Call) (any, error) {
		return func(x queue, _ *Call) (any, error) {
			return nil, x.g.work(func(w *broker.Work) error {
				_, err := x.g.b.UpdateQueue(w, x.q.Name(), broker.QueueUpdate{Enabled: &on, Filter: x.q.Config().Filter})
				return err
			})
		}
	}
	d.op("enable()", Void, Action, "Lets the queue take new messages.", enable(true))
	d.op("disable()", Void, Action, "Lets the queue ignore new messages.", enable(false))
	d.op("resetAllGroups()", Void, Action, "Forgets the owners of all message groups.", func(x queue, _ *Call) (any, error) {
		return nil, x.g.work(func(w *broker.Work) error { x.q.ResetGroup(w, ""); return nil })
	})
	d.op("resetGroup(groupID string)", Void, Action, "Forgets the owner of a message group.", func(x queue, c *Call) (any, error) {
		return nil, x.g.work(func(w *broker.Work) error { x.q.ResetGroup(w, c.text(0)); return nil })
	})
	d.op("flushExecutor()", Void, Action, "Waits until what is under way has been done.", func(x queue, _ *Call) (any, error) { return nil, x.g.b.Sync() })
	reset := func(name, desc string, f func(*broker.QueueStats)) {
		d.op(name+"()", Void, Action, desc, func(x queue, _ *Call) (any, error) { x.q.ResetStats(f); return nil, nil })
	}
	reset("resetMessagesAdded", "Sets the counter of messages added to zero.", func(s *broker.QueueStats) { s.Added = 0 })
	reset("resetMessagesAcknowledged", "Sets the counter of acknowledged messages to zero.", func(s *broker.QueueStats) { s.Acknowledged, s.AckAttempts = 0, 0 })
	reset("resetMessagesExpired", "Sets the counter of expired messages to zero.", func(s *broker.QueueStats) { s.Expired = 0 })
	reset("resetMessagesKilled", "Sets the counter of killed messages to zero.", func(s *broker.QueueStats) { s.Killed = 0 })

	d.op("listMessageCounter()", String, Info, "Message counter, as JSON.", func(x queue, _ *Call) (any, error) { return JSON(x.g.counters.read(x.g, x.q).object(x.q)), nil })
	d.op("listMessageCounterAsHTML()", String, Info, "Message counter, as HTML.", func(x queue, _ *Call) (any, error) { return x.g.counters.read(x.g, x.q).html(x.q), nil })
	d.op("listMessageCounterHistory()", String, Info, "Message counter by day and hour, as JSON.", func(x queue, _ *Call) (any, error) { return JSON(x.g.counters.read(x.g, x.q).history()), nil })
	d.op("listMessageCounterHistoryAsHTML()", String, Info, "Message counter by day and hour, as HTML.", func(x queue, _ *Call) (any, error) { return x.g.counters.read(x.g, x.q).historyHTML(x.q), nil })
	d.op("resetMessageCounter()", Void, Info, "Starts the message counter over.", func(x queue, _ *Call) (any, error) { x.g.counters.reset(x.g, x.q); return nil, nil })
}

func priority(n int) (uint8, error) {
	if n < 0 || n > 9 {
		return 0, fmt.Errorf("AMQ229048: invalid new Priority value: %d. It must be between 0 and 9 (both included)", n)
	}
	return uint8(n), nil
}

func (x queue) release(match func(*message.Message) bool) error {
	return x.g.work(func(w *broker.Work) error {
		x.q.DeliverScheduled(w, func(r *broker.Ref) bool { return match(r.Msg) })
		return nil
	})
}

// work runs f with a work of its own.
func (g *Registry) work(f func(*broker.Work) error) error {
	w := g.b.NewWork()
	err := f(w)
	w.Flush()
	return err
}
