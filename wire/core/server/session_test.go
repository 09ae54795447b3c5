package server_test

import (
	"slices"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

// Sessions, sends, transactions, administration: core-protocol §4.6 to §4.10, §6, §11 rows 12, 13, 20 to 24, 33 to 36, 38,
// 40 and 41.

// TestSendAnswers: what a durable send is answered with, by version.
func TestSendAnswers(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.CreateAnycast("q")
	for v := core.Version(121); v <= 136; v++ {
		p := w.connect(v).open(core.CreateSession{AutoCommitSends: true, AutoCommitAcks: true, ConfirmationWindowSize: -1})
		m := text("q", "x", nil)
		if v < 129 {
			body, headers, err := core.SplitMessage(m, 136)
			if err != nil {
				t.Fatal(err)
			}
			m = core.AppendMessage(nil, body, headers, v)
		}
		p.do(&core.Send{Message: m, RequiresResponse: true, CorrelationID: 4242})
		f := p.nextFrame()
		size, id := 13, int64(0)
		if v >= 130 {
			size, id = 21, 4242
		}
		got, err := core.Decode(f.Type, f.Payload, v)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Raw) != size {
			t.Errorf("version %d: an answer of %d bytes, want %d", v, len(f.Raw), size)
		}
		if v >= 130 {
			is(t, got, nullTo(id))
		}
	}
	w.Until("all to be there", func() bool { return w.Queue("q").MessageCount() == 16 })
}

func TestSendRefused(t *testing.T) {
	w := newWorld(t, nil, nil)
	p := w.client()
	headers := func() []byte {
		_, h, err := core.SplitMessage(text("q", "", nil), 136)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}()
	is(t, p.ask(&core.SendContinuation{Body: []byte("x"), RequiresResponse: true, CorrelationID: -77}), exceptionTo(-77, 104, "AMQ229030: large-message not initialized on server"))
	is(t, p.ask(&core.Send{Message: core.AppendMessage(nil, nil, append(make([]byte, 9), headers[8+1+4+2:]...), 136), RequiresResponse: true, CorrelationID: 5}),
		exceptionTo(5, 104, "AMQ229029: No address configured on the Server's Session"))
	// without a routing type nothing is created and the message is gone
	is(t, p.ask(&core.Send{Message: text("nowhere", "x", nil), RequiresResponse: true, CorrelationID: 6}), nullTo(6))
	if w.Address("nowhere") != nil {
		t.Error("an address was created")
	}
	// with one there is
	is(t, p.ask(&core.Send{Message: text("somewhere", "x", func(b *message.Builder) { b.Set(message.PropRoutingType, int8(message.Anycast)) }), RequiresResponse: true, CorrelationID: 7}), nullTo(7))
	if w.Queue("somewhere") == nil {
		t.Error("no queue was created")
	}
}

func TestDuplicates(t *testing.T) {
	w := newWorld(t, nil, nil)
	q := w.CreateAnycast("q")
	m := text("q", "x", func(b *message.Builder) { b.Set(message.PropDuplicateID, "one") })
	p := w.client()
	for id := int64(1); id <= 2; id++ {
		is(t, p.ask(&core.Send{Message: m, RequiresResponse: true, CorrelationID: id}), nullTo(id))
	}
	if n := q.MessageCount(); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
	tx := w.connect(136).open(core.CreateSession{ConfirmationWindowSize: -1})
	tx.do(&core.Send{Message: m})
	got, ok := tx.ask(&core.Commit{CorrelationID: buf.Of(int64(-3))}).(*core.Exception)
	if !ok || got.Code != 113 || got.CorrelationID != buf.Of(int64(-3)) {
		t.Errorf("commit: %+v", got)
	}
	is(t, tx.ask(&core.Commit{CorrelationID: buf.Of(int64(-4))}), nullTo(-4)) // a new transaction
}

func TestFullAddress(t *testing.T) {
	w := newWorld(t, nil, nil)
	for name, settings := range map[string]string{
		"fail":  `{"maxSizeMessages":1,"addressFullMessagePolicy":"FAIL"}`,
		"block": `{"maxSizeMessages":1,"addressFullMessagePolicy":"BLOCK"}`,
		"drop":  `{"maxSizeMessages":1,"addressFullMessagePolicy":"DROP"}`,
	} {
		if err := w.Settings.Set(name, settings); err != nil {
			t.Fatal(err)
		}
		w.CreateAnycast(name)
	}
	credits := func(form core.Type, address string) core.Packet {
		return &core.Credits{Form: form, Credits: 1000, Address: address}
	}
	p := w.client()
	for _, name := range []string{"fail", "block", "drop"} {
		is(t, p.ask(credits(core.TypeRequestCredits, name)), credits(core.TypeCredits, name))
		p.sendTexts(name, "one")
	}
	is(t, p.ask(credits(core.TypeRequestCredits, "fail")), credits(core.TypeFailCredits, "fail"))
	is(t, p.ask(credits(core.TypeRequestCredits, "drop")), credits(core.TypeCredits, "drop"))
	p.do(credits(core.TypeRequestCredits, "block"))
	p.quiet()
	// credits are advice
	is(t, p.ask(&core.Send{Message: text("fail", "two", nil), RequiresResponse: true, CorrelationID: 8}), exceptionTo(8, 210, `AMQ229102: Address "fail" is full.`))
	is(t, p.ask(&core.Send{Message: text("drop", "two", nil), RequiresResponse: true, CorrelationID: 9}), nullTo(9))
	is(t, p.ask(&core.Send{Message: text("block", "two", nil), RequiresResponse: true, CorrelationID: 10}), nullTo(10))
	for name, want := range map[string]int64{"fail": 1, "drop": 1, "block": 2} {
		if n := w.Queue(name).MessageCount(); n != want {
			t.Errorf("%s: %d messages, want %d", name, n, want)
		}
	}
	// room is granted when there is some again
	for _, name := range []string{"block", "fail"} {
		if _, err := w.Queue(name).RemoveMessages(""); err != nil {
			t.Fatal(err)
		}
		is(t, p.next(), credits(core.TypeCredits, name))
	}
	// a session that is gone is not waited for
	p.sendTexts("block", "three")
	p.do(credits(core.TypeRequestCredits, "block"))
	is(t, p.ask(&core.Close{}), null())
	if _, err := w.Queue("block").RemoveMessages(""); err != nil {
		t.Fatal(err)
	}
	p.write(ping())
	is(t, p.next(), &core.Ping{TTL: 60000})
}

func TestSessionClose(t *testing.T) {
	w := newWorld(t, nil, nil)
	p := w.client()
	p.do(&core.Close{}, &core.Close{}, &core.Stop{})
	is(t, p.next(), null())
	p.write(ping())
	is(t, p.next(), &core.Ping{TTL: 60000})
	p.open(core.CreateSession{ConfirmationWindowSize: -1}) // the channel is free
	is(t, p.ask(&core.Stop{}), null())
}

func TestMetadata(t *testing.T) {
	w := newWorld(t, nil, nil)
	one, other := w.client(), w.client()
	unique := &core.AddMetadata{Form: core.TypeUniqueAddMetadata, Key: "jms-client-id", Data: "me", RequiresConfirmation: true}
	is(t, one.ask(&core.AddMetadata{Form: core.TypeAddMetadata, Key: "k", Data: "v"}), null())
	is(t, one.ask(&core.AddMetadata{Key: "k", Data: "v", RequiresConfirmation: true}), null())
	one.do(&core.AddMetadata{Key: "k", Data: "v"})
	is(t, one.ask(unique), null())
	is(t, one.ask(unique), null())
	is(t, other.ask(unique), exception(114, "AMQ229035: Metadata jms-client-id=me had been set already"))
	if id := w.Session(one.name).Conn().ClientID(); id != "me" {
		t.Errorf("client id %q", id)
	}
	is(t, one.ask(&core.Close{}), null())
	is(t, other.ask(unique), null())
}

// TestCommitForms: below version 132, and where a client does not wait, there is no correlation id.
func TestCommitForms(t *testing.T) {
	w := newWorld(t, nil, nil)
	p := w.client()
	is(t, p.ask(&core.Commit{}), null())
	is(t, p.ask(&core.Commit{CorrelationID: buf.Of(int64(-2))}), nullTo(-2))
	is(t, p.ask(&core.Rollback{}), null())
}

// TestFailedTransaction: a commit after a failed acknowledgement tells its reason and rolls back; then there is a new one.
func TestFailedTransaction(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.CreateAnycast("q")
	w.client().sendTexts("q", "a", "b")
	p := w.connect(136).open(core.CreateSession{ConfirmationWindowSize: -1})
	p.attach(0, "q", -1)
	list := p.messages(1, "a", "b")
	p.do(&core.Acknowledge{MessageID: list[0].id})
	unknown := exception(104, "AMQ229027: Could not find reference on consumer ID=0, messageId = 12345678 queue = q")
	is(t, p.ask(&core.Acknowledge{Individual: true, MessageID: 12345678, RequiresResponse: true}), unknown)
	p.do(&core.Commit{CorrelationID: buf.Of(int64(-9))})
	var answer core.Packet
	var again []got
	for len(again) < 1 || answer == nil { // the redelivery may come before or after the answer
		f := p.nextFrame()
		if f.Type == core.TypeReceive {
			var r core.Receive
			if err := r.Decode(f.Payload, 136); err != nil {
				t.Fatal(err)
			}
			again = append(again, got{count: r.DeliveryCount})
			continue
		}
		answer, _ = core.Decode(f.Type, append([]byte(nil), f.Payload...), 136)
	}
	is(t, answer, exceptionTo(-9, 104, "AMQ229027: Could not find reference on consumer ID=0, messageId = 12345678 queue = q"))
	if again[0].count != 2 {
		t.Errorf("redelivered with count %d, want 2", again[0].count)
	}
	is(t, p.ask(&core.Commit{CorrelationID: buf.Of(int64(-10))}), nullTo(-10))
}

// TestPoison: what the broker itself cannot do makes the transaction rollback-only, a refusal does not.
func TestPoison(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.CreateAnycast("a")
	p := w.connect(136).open(core.CreateSession{ConfirmationWindowSize: -1})
	queue := &core.CreateQueueV2{CreateQueue: core.CreateQueue{Address: "a", Name: "a", Durable: true, RequiresResponse: true}, RoutingType: core.RoutingAnycast, MaxConsumers: -1}
	p.do(&core.Send{Message: text("a", "x", nil)})
	is(t, p.ask(queue), exception(101, "AMQ229019: Queue a already exists on address a"))
	queue.RequiresResponse = false
	p.do(queue)
	is(t, p.ask(&core.Commit{CorrelationID: buf.Of(int64(-2))}), nullTo(-2))
	p.do(&core.Send{Message: text("a", "x", nil)})
	is(t, p.ask(&core.CreateAddress{Address: "a", RoutingTypes: []core.RoutingType{core.RoutingMulticast}, RequiresResponse: true}), exception(0, ""))
	is(t, p.ask(&core.Commit{CorrelationID: buf.Of(int64(-3))}),
		exceptionTo(-3, 999, "AMQ229209: Can't remove routing type ANYCAST, queues exists for address: a. Please delete queues before removing this routing type."))
	if n := w.Queue("a").MessageCount(); n != 1 {
		t.Errorf("%d messages, want the one committed", n)
	}
}

func TestAdministration(t *testing.T) {
	w := newWorld(t, nil, nil)
	p := w.client()
	queue := func(address, name string, filter buf.Null[string]) core.Packet {
		return &core.CreateQueueV2{CreateQueue: core.CreateQueue{Address: address, Name: name, Filter: filter, Durable: true, RequiresResponse: true}, RoutingType: core.RoutingAnycast, MaxConsumers: -1}
	}
	shared := func(address, name, filter string, durable bool) core.Packet {
		s := &core.CreateSharedQueueV2{Address: address, Name: name, Durable: durable, RequiresResponse: true}
		if filter != "" {
			s.Filter = buf.Of(filter)
		}
		return s
	}
	address := func(name string, autoCreated bool, types ...core.RoutingType) core.Packet {
		return &core.CreateAddress{Address: name, RoutingTypes: types, RequiresResponse: true, AutoCreated: autoCreated}
	}
	for _, c := range []struct {
		name     string
		ask, get core.Packet
	}{
		{"create", queue("q", "q", buf.Null[string]{}), null()},
		{"create again", queue("q", "q", buf.Null[string]{}), exception(101, "AMQ229019: Queue q already exists on address q")},
		{"create elsewhere", queue("z", "q", buf.Null[string]{}), exception(101, "AMQ229019: Queue q already exists on address q")},
		{"bad filter", queue("q", "bad", buf.Of("a b c")), exception(103, "AMQ229020: Invalid filter: a b c")},
		{"no name", queue("q", "", buf.Null[string]{}), exception(104, "AMQ229216: Invalid queue name: ")},
		{"delete a missing one", &core.DeleteQueue{Name: "missing"}, exception(100, "")},
		{"address", address("a", false, core.RoutingAnycast), null()},
		{"address again", address("a", false, core.RoutingAnycast), null()},
		{"address again, by itself", address("a", true, core.RoutingAnycast), null()},
		{"address with another type", address("a", false, core.RoutingAnycast, core.RoutingMulticast), null()},
		{"address without the type of a queue", address("q", false, core.RoutingMulticast), exception(0, "")},
		{"shared", shared("t", "cid.sub", "", true), null()},
		{"shared again", shared("t", "cid.sub", "", true), null()},
		{"shared elsewhere", shared("u", "cid.sub", "", true), exception(118, "AMQ229082: Queue cid.sub already exists on another subscription")},
		{"shared with a filter", shared("t", "cid.sub", "x = 1", true), exception(118, "AMQ229083: Queue cid.sub has a different filter than requested")},
		{"consumer of a missing queue", &core.CreateConsumer{QueueName: "missing", RequiresResponse: true}, exception(100, "AMQ229017: Queue missing does not exist")},
		{"consumer with a bad filter", &core.CreateConsumer{QueueName: "q", Filter: buf.Of("bad ===="), RequiresResponse: true}, exception(103, "AMQ229020: Invalid filter: bad ====")},
		{"close an unknown consumer", &core.ConsumerClose{ConsumerID: 99}, null()},
		{"ack of an unknown consumer", &core.Acknowledge{ConsumerID: 99, MessageID: 1, RequiresResponse: true}, exception(104, "AMQ229028: Consumer 99 doesn't exist on the server")},
	} {
		t.Run(c.name, func(t *testing.T) { is(t, p.ask(c.ask), c.get) })
	}
	// a shared subscription that is not durable is shown as temporary and goes with its last consumer
	is(t, p.ask(shared("t", "nonDurable.cid.sub", "", false)), null())
	r, ok := p.ask(&core.CreateConsumer{ConsumerID: 1, QueueName: "nonDurable.cid.sub", RequiresResponse: true}).(*core.QueueQueryResponse)
	if !ok || !r.Temporary || r.Durable || r.ConsumerCount != 1 {
		t.Errorf("%+v", r)
	}
	is(t, p.ask(&core.ConsumerClose{ConsumerID: 1}), null())
	if w.Queue("nonDurable.cid.sub") != nil {
		t.Error("the queue is still there")
	}
}

// TestDestroyed: a queue with consumers is not deleted by a client. An operator can; its consumers are told.
func TestDestroyed(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.CreateAnycast("q")
	p := w.client()
	p.attach(3, "q", -1)
	is(t, p.ask(&core.DeleteQueue{Name: "q"}), exception(104, "AMQ229025: Cannot delete queue q on binding q - it has consumers = org.apache.activemq.artemis.core.postoffice.impl.LocalQueueBinding"))
	work := w.NewWork()
	if err := w.DeleteQueue(work, "q", broker.DeleteQueueOptions{RemoveConsumers: true}); err != nil {
		t.Fatal(err)
	}
	work.Flush()
	is(t, p.next(), &core.DisconnectConsumer{ConsumerID: 3})
	is(t, p.ask(&core.ConsumerClose{ConsumerID: 3}), null())
}

// TestSilence: requests that want no answer get none when they fail, either.
func TestSilence(t *testing.T) {
	w := newWorld(t, nil, nil)
	p := w.client()
	p.do(&core.CreateConsumer{QueueName: "missing"}, &core.CreateQueueV2{CreateQueue: core.CreateQueue{Address: "a", Name: "a", Filter: buf.Of("a b c")}, MaxConsumers: -1},
		&core.Acknowledge{ConsumerID: 9, MessageID: 1}, &core.Send{Message: text("nowhere", "x", nil)}, &core.FlowToken{ConsumerID: 77, Credits: 5},
		&core.CreateProducer{ID: 1, Address: buf.Of("a")}, &core.RemoveProducer{ID: 2}, &core.ForceDelivery{ConsumerID: 7}, &core.Expired{ConsumerID: 9, MessageID: 1})
	p.quiet()
}

// TestTrue: any byte but 0 is true.
func TestTrue(t *testing.T) {
	w := newWorld(t, nil, nil)
	p := w.client()
	f := core.Append(nil, 10, &core.CreateAddress{Address: "a", RoutingTypes: []core.RoutingType{core.RoutingAnycast}, RequiresResponse: true}, 136)
	for i, b := range f {
		if b == 0xff {
			f[i] = 1
		}
	}
	p.write(f)
	is(t, p.next(), null())
}

func TestProducers(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.CreateAnycast("q")
	p := w.client()
	p.do(&core.CreateProducer{ID: 7, Address: buf.Of("q")})
	for sender := range int32(9) { // ids that nobody knows are fine
		is(t, p.ask(&core.Send{Message: text("q", "x", nil), RequiresResponse: true, CorrelationID: 1, SenderID: sender}), nullTo(1))
	}
	is(t, p.ask(&core.Send{Message: text("q", "x", nil), RequiresResponse: true, CorrelationID: 1, SenderID: 7}), nullTo(1))
	list := w.Session(p.name).Producers()
	if len(list) != 1 || list[0].Name != "7" || list[0].Address != "q" {
		t.Fatalf("%+v", list)
	}
	if n, size, _ := list[0].Sent(); n != 2 || size <= 0 {
		t.Errorf("%d messages of %d bytes", n, size)
	}
	p.do(&core.RemoveProducer{ID: 7})
	p.quiet()
	if len(w.Session(p.name).Producers()) != 0 {
		t.Error("the producer is still there")
	}
}

func TestXA(t *testing.T) {
	w := newWorld(t, nil, nil)
	q := w.CreateAnycast("q")
	p := w.connect(136).open(core.CreateSession{XA: true, ConfirmationWindowSize: -1})
	id := func(name string) buf.Xid { return buf.Xid{FormatID: 1, Branch: "b", Global: name} }
	code := func(op core.Type, name string, flag bool) int32 {
		t.Helper()
		r, ok := p.ask(&core.XA{Op: op, Xid: id(name), Flag: flag}).(*core.XAResponse)
		if !ok || r.Error != (r.Code != 0) {
			t.Errorf("%v %s: %+v", op, name, r)
			return 1
		}
		return r.Code
	}
	for _, c := range []struct {
		op   core.Type
		name string
		flag bool
		want int32
	}{
		{core.TypeXAEnd, "none", false, -4},
		{core.TypeXAPrepare, "none", false, -4},
		{core.TypeXACommit, "none", false, -4},
		{core.TypeXARollback, "none", false, -4},
		{core.TypeXAForget, "none", false, -4},
		{core.TypeXAJoin, "none", false, -4},
		{core.TypeXAResume, "none", false, -4},
		{core.TypeXASuspend, "", false, -6},
		{core.TypeXAStart, "empty", false, 0},
		{core.TypeXACommit, "empty", true, -6},
		{core.TypeXAPrepare, "empty", false, -6},
		{core.TypeXASuspend, "", false, 0},
		{core.TypeXAPrepare, "empty", false, -6},
		{core.TypeXAResume, "empty", false, 0},
		{core.TypeXAEnd, "empty", false, 0},
		{core.TypeXAPrepare, "empty", false, 0}, // and not 3, read only
		{core.TypeXACommit, "empty", false, 0},
		{core.TypeXACommit, "empty", false, -4},
		{core.TypeXAStart, "one", false, 0},
		{core.TypeXAStart, "one", false, 0}, // the first is rolled back
		{core.TypeXAEnd, "one", false, 0},
		{core.TypeXARollback, "one", false, 0},
	} {
		if got := code(c.op, c.name, c.flag); got != c.want {
			t.Errorf("%v %s: %d, want %d", c.op, c.name, got, c.want)
		}
	}
	code(core.TypeXAStart, "sent", false)
	p.do(&core.Send{Message: text("q", "x", nil)})
	code(core.TypeXAEnd, "sent", false)
	other := w.connect(136).open(core.CreateSession{XA: true, ConfirmationWindowSize: -1})
	if r := other.ask(&core.XA{Op: core.TypeXAStart, Xid: id("sent")}).(*core.XAResponse); r.Code != -8 {
		t.Errorf("start of a known branch: %+v", r)
	}
	code(core.TypeXAPrepare, "sent", false)
	if n := q.MessageCount(); n != 0 {
		t.Errorf("%d messages before the commit", n)
	}
	// a prepared branch outlives its connection
	p.c.Close()
	w.Until("the session to end", func() bool { return w.Session(p.name) == nil })
	is(t, other.ask(&core.XAInDoubtXids{}), &core.XAInDoubtXidsResponse{Xids: []buf.Xid{id("sent")}})
	is(t, other.ask(&core.XA{Op: core.TypeXACommit, Xid: id("sent")}), xa(0))
	brokertest.Until(t, "the message", func() bool { return q.MessageCount() == 1 })
	is(t, other.ask(&core.XASetTimeout{Seconds: 7}), &core.XASetTimeoutResponse{OK: true})
	is(t, other.ask(&core.XAGetTimeout{}), &core.XAGetTimeoutResponse{Seconds: 300})
	// after a failover a branch that has lost work cannot be prepared
	other.do(&core.XA{Op: core.TypeXAFailed, Xid: id("lost")})
	if r := other.ask(&core.XA{Op: core.TypeXAEnd, Xid: id("lost")}).(*core.XAResponse); r.Code != 0 {
		t.Errorf("end: %+v", r)
	}
	is(t, other.ask(&core.XA{Op: core.TypeXAPrepare, Xid: id("lost")}), exception(999, "Can't commit as a Failover happened during the operation"))
}

func TestQueries(t *testing.T) {
	w := newWorld(t, map[string]string{"anycastPrefix": "queue://", "multicastPrefix": "topic://"}, nil)
	for _, name := range []string{"news.a", "news.b.c", "other"} {
		w.CreateAnycast(name)
	}
	for _, c := range []struct {
		v      core.Version
		ask    string
		exists bool
		queues []string
	}{
		{136, "news.a", true, []string{"news.a"}},
		{136, "queue://news.a", true, []string{"news.a"}},
		{136, "news.a::whatever", true, []string{"news.a"}},
		{129, "news.a::whatever", true, []string{"news.a::news.a"}},
		{136, "news.#", false, []string{"news.a", "news.b.c"}},
		{136, "news.*", false, []string{"news.a"}},
		{136, "none", false, nil},
		{136, "activemq.management", true, nil},
		{136, "activemq.notifications", true, nil},
	} {
		p := w.connect(c.v).open(core.CreateSession{ConfirmationWindowSize: -1})
		r, ok := p.ask(&core.BindingQuery{Address: c.ask}).(*core.BindingQueryResponse)
		if !ok {
			t.Fatalf("%+v", r)
		}
		slices.Sort(r.QueueNames)
		if r.Exists != c.exists || !slices.Equal(r.QueueNames, c.queues) {
			t.Errorf("version %d: binding query %s: %t %v, want %t %v", c.v, c.ask, r.Exists, r.QueueNames, c.exists, c.queues)
		}
	}
	for _, c := range []struct {
		v             core.Version
		ask           string
		exists        bool
		address, name string
		messages      int64
	}{
		{136, "news.a", true, "news.a", "news.a", 0},
		{136, "news.a::news.a", true, "news.a", "news.a", 0},
		{136, "queue://news.a", true, "news.a", "news.a", 0},
		{122, "news.a", true, "jms.queue.news.a", "news.a", 0},
		{136, "none", false, "none", "none", 0},
		{136, "x::none", false, "x", "none", 0},
		{136, "activemq.management", true, "activemq.management", "activemq.management", -1},
	} {
		p := w.connect(c.v).open(core.CreateSession{ConfirmationWindowSize: -1})
		r, ok := p.ask(&core.QueueQuery{Name: c.ask}).(*core.QueueQueryResponse)
		if !ok || r.Exists != c.exists || r.Address != buf.Of(c.address) || r.Name != buf.Of(c.name) || r.MessageCount != c.messages {
			t.Errorf("version %d: queue query %s: %+v", c.v, c.ask, r)
		}
	}
}

// TestPrefixes: the acceptor's prefixes are taken off everywhere and decide the routing type.
func TestPrefixes(t *testing.T) {
	w := newWorld(t, map[string]string{"anycastPrefix": "queue://", "multicastPrefix": "topic://"}, nil)
	p := w.client()
	p.sendTexts("queue://a", "x")
	p.sendTexts("topic://b", "y")
	if w.Queue("a") == nil || w.Queue("a").MessageCount() != 1 || w.Address("b") == nil || w.Queue("b") != nil {
		t.Error("the addresses were not created by their prefixes")
	}
	p.attach(0, "queue://a", -1)
	p.messages(1, "x")
	is(t, p.ask(&core.CreateQueueV2{CreateQueue: core.CreateQueue{Address: "topic://b", Name: "q", RequiresResponse: true}, RoutingType: core.RoutingUnset, MaxConsumers: -1}), null())
	if got := w.Queue("q").Config().Routing; got != message.Multicast {
		t.Errorf("routing type %v", got)
	}
	credits := &core.Credits{Form: core.TypeRequestCredits, Credits: 7, Address: "topic://b"}
	is(t, p.ask(credits), &core.Credits{Form: core.TypeCredits, Credits: 7, Address: "topic://b"})
	is(t, p.ask(&core.ConsumerClose{}), null())
	is(t, p.ask(&core.DeleteQueue{Name: "queue://a"}), null())
}

// TestQueueName: names are not normalised, and one on a qualified name is taken apart.
func TestQueueNames(t *testing.T) {
	w := newWorld(t, nil, nil)
	p := w.client()
	create := func(address, name string) core.Packet {
		return &core.CreateQueueV2{CreateQueue: core.CreateQueue{Address: address, Name: name, Durable: true, RequiresResponse: true}, RoutingType: core.RoutingMulticast, MaxConsumers: -1}
	}
	for _, c := range []struct{ address, name, queue, on string }{
		{"t", `cid1.dur\.sub`, `cid1.dur\.sub`, "t"},
		{"t", "nonDurable.cid1.sub", "nonDurable.cid1.sub", "t"},
		{"other", "u::q", "q", "u"},
	} {
		is(t, p.ask(create(c.address, c.name)), null())
		if q := w.Queue(c.queue); q == nil || q.Name() != c.queue || q.Address().Name() != c.on {
			t.Errorf("%s on %s: %+v", c.name, c.address, q)
		}
	}
	// a message to a qualified name goes to that queue only and keeps the name
	is(t, p.ask(create("t", "another")), null())
	is(t, p.ask(&core.Send{Message: text("t::another", "x", nil), RequiresResponse: true, CorrelationID: 3}), nullTo(3))
	if n, m := w.Queue("another").MessageCount(), w.Queue("nonDurable.cid1.sub").MessageCount(); n != 1 || m != 0 {
		t.Errorf("%d and %d messages", n, m)
	}
	if r, ok := p.ask(&core.CreateConsumer{QueueName: "t::another", RequiresResponse: true}).(*core.QueueQueryResponse); !ok || r.Name != buf.Of("another") {
		t.Fatalf("%+v", r)
	}
	p.do(&core.FlowToken{Credits: -1}, &core.Start{})
	r, ok := p.next().(*core.Receive)
	if !ok {
		t.Fatal("no message")
	}
	if m, err := message.ParseCore(r.Message); err != nil || m.Address() != "t::another" {
		t.Errorf("address %q, %v", m.Address(), err)
	}
}
