package broker_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/brokertest"
	"github.com/saranga-mq/saranga/broker/message"
)

// TestEngine runs the scripts in testdata/engine. Each "## name" begins a case with a broker of its own; testdata/engine
// README says what the lines mean.
func TestEngine(t *testing.T) {
	files, err := filepath.Glob("testdata/engine/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runFile(t, file) })
	}
}

type line struct {
	no   int
	text string
}

func runFile(t *testing.T, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var name string
	var lines []line
	flush := func() {
		if name != "" {
			l := lines
			t.Run(name, func(t *testing.T) { runCase(t, l) })
		}
		lines = nil
	}
	s := bufio.NewScanner(f)
	for no := 1; s.Scan(); no++ {
		text := strings.TrimSpace(s.Text())
		switch {
		case strings.HasPrefix(text, "## "):
			flush()
			name = text[3:]
		case text != "" && !strings.HasPrefix(text, "#"):
			lines = append(lines, line{no, text})
		}
	}
	flush()
}

type script struct {
	t       *testing.T
	b       *brokertest.Broker
	options func(*broker.Options)
	clients map[string]*brokertest.Client
	sinks   map[string]*brokertest.Sink
	owners  map[string]string // consumer -> session
	seen    map[string]int
	trace   []string
	posted  map[string]int64
	told    map[string][]string
}

func runCase(t *testing.T, lines []line) {
	s := &script{t: t, clients: map[string]*brokertest.Client{}, sinks: map[string]*brokertest.Sink{}, owners: map[string]string{},
		seen: map[string]int{}, posted: map[string]int64{}, told: map[string][]string{}}
	for _, l := range lines {
		command, want, observed := strings.Cut(l.text, "=>")
		want = strings.TrimSpace(want)
		words := split(strings.TrimSpace(command))
		if words[0] == "options" {
			s.setOptions(words[1:])
			continue
		}
		if s.b == nil {
			s.b = brokertest.New(t, s.options)
		}
		if !observed {
			want = "ok"
		}
		got, commit := s.do(words)
		s.settle()
		for end := time.Now().Add(2 * time.Second); got != want && commit != nil && time.Now().Before(end); {
			s.settle()
			got, commit = s.do(words)
		}
		if commit != nil {
			commit()
		}
		if got != want {
			t.Fatalf("line %d: %s\n got: %s\nwant: %s", l.no, command, got, want)
		}
	}
}

// settle waits until nothing is under way.
func (s *script) settle() {
	s.b.Until("the broker to be idle", func() bool {
		s.b.Store.Settle()
		return !s.b.Busy()
	})
}

// split cuts a line into words; quotes keep spaces, and braces everything.
func split(text string) []string {
	var words []string
	var w strings.Builder
	quoted, any, json := false, false, false
	for _, c := range text {
		switch {
		case c == '{' && !quoted:
			json = true
			w.WriteRune(c)
		case json:
			json = c != '}'
			w.WriteRune(c)
		case c == '"':
			quoted, any = !quoted, true
		case c == ' ' && !quoted:
			if any || w.Len() > 0 {
				words = append(words, w.String())
			}
			w.Reset()
			any = false
		default:
			w.WriteRune(c)
		}
	}
	if any || w.Len() > 0 {
		words = append(words, w.String())
	}
	return words
}

// args are the words after a command: plain ones, and key=value.
type args struct {
	plain []string
	named map[string]string
	keys  []string
}

func parse(words []string) args {
	a := args{named: map[string]string{}}
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok && !strings.HasPrefix(w, "{") {
			a.named[k] = v
			a.keys = append(a.keys, k)
		} else {
			a.plain = append(a.plain, w)
		}
	}
	return a
}

func (a args) has(word string) bool { return slices.Contains(a.plain, word) }

func (a args) get(name, def string) string {
	if v, ok := a.named[name]; ok {
		return v
	}
	return def
}

func (s *script) num(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.t.Fatalf("not a number: %q", text)
	}
	return n
}

func (s *script) setOptions(words []string) {
	a := parse(words)
	s.options = func(o *broker.Options) {
		v := reflect.ValueOf(o).Elem()
		for _, k := range a.keys {
			s.set(v, k, a.named[k])
		}
	}
}

// set sets the field of a struct from text.
func (s *script) set(v reflect.Value, name, text string) {
	f := v.FieldByName(name)
	if !f.IsValid() {
		s.t.Fatalf("no field %s", name)
	}
	if f.Kind() == reflect.Pointer {
		f.Set(reflect.New(f.Type().Elem()))
		f = f.Elem()
	}
	switch f.Kind() {
	case reflect.Bool:
		f.SetBool(text == "true")
	case reflect.String:
		f.SetString(text)
	default:
		switch text {
		case "anycast":
			f.SetInt(int64(message.Anycast))
		case "multicast":
			f.SetInt(int64(message.Multicast))
		default:
			f.SetInt(s.num(text))
		}
	}
}

func outcome(err error) string {
	var e *broker.Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e) && e.Text != "":
		code, _, _ := strings.Cut(e.Text, ":")
		if !strings.HasPrefix(code, "AMQ") {
			code = ""
		}
		return strings.TrimSpace(fmt.Sprintf("error %d %s", e.Code, code))
	case errors.As(err, &e):
		return fmt.Sprintf("error %d", e.Code)
	}
	var x *broker.XAError
	if errors.As(err, &x) {
		return fmt.Sprintf("xa %d", x.Code)
	}
	if e := broker.AsError(err); e.Code != broker.InternalError {
		return fmt.Sprintf("error %d", e.Code)
	}
	return "error " + err.Error()
}

func (s *script) client(name string) *brokertest.Client {
	c := s.clients[name]
	if c == nil {
		if name != "s" {
			s.t.Fatalf("no session %s", name)
		}
		c = s.b.Connect(brokertest.AutoCommit)
		s.clients[name] = c
	}
	return c
}

func (s *script) queue(name string) *broker.Queue {
	q := s.b.Queue(name)
	if q == nil {
		s.t.Fatalf("no queue %s", name)
	}
	return q
}

func (s *script) sink(name string) *brokertest.Sink {
	k := s.sinks[name]
	if k == nil {
		s.t.Fatalf("no consumer %s", name)
	}
	return k
}

// do runs one command. Commands that only look return a function: it is called once the answer counts.
func (s *script) do(words []string) (string, func()) {
	a := parse(words[1:])
	arg := func(i int) string {
		if i >= len(a.plain) {
			s.t.Fatalf("%s: argument %d is missing", words[0], i+1)
		}
		return a.plain[i]
	}
	look := func() {}
	b := s.b
	w := b.NewWork()
	defer w.Flush()
	switch words[0] {
	case "settings":
		if err := b.Settings.Set(arg(0), arg(1)); err != nil {
			return err.Error(), nil
		}
		b.SettingsChanged()
	case "address":
		var types broker.RoutingTypes
		if a.has("anycast") {
			types |= broker.AnycastSet
		}
		if a.has("multicast") {
			types |= broker.MulticastSet
		}
		_, err := b.CreateAddress(arg(0), types, a.has("auto"))
		return outcome(err), nil
	case "deleteaddress":
		return outcome(b.DeleteAddress(w, arg(0), a.has("force"))), nil
	case "queue":
		return s.createQueue(arg(0), a), nil
	case "tempqueue":
		cfg := b.DefaultQueue(arg(0), arg(0))
		cfg.Durable, cfg.Temporary, cfg.AutoCreated = false, true, true
		return outcome(s.client(a.get("s", "s")).CreateQueue(cfg, broker.CreateOptions{AutoCreateAddress: true})), nil
	case "update":
		var u broker.QueueUpdate
		v := reflect.ValueOf(&u).Elem()
		for _, k := range a.keys {
			s.set(v, k, a.named[k])
		}
		_, err := b.UpdateQueue(w, arg(0), u)
		return outcome(err), nil
	case "delete":
		return outcome(b.DeleteQueue(w, arg(0), broker.DeleteQueueOptions{CheckConsumers: a.has("check"), AutoDeleteAddress: a.has("address")})), nil
	case "divert":
		cfg := broker.DivertConfig{Name: arg(0), RoutingType: broker.DivertStrip}
		v := reflect.ValueOf(&cfg).Elem()
		for _, k := range a.keys {
			s.set(v, k, a.named[k])
		}
		return outcome(b.CreateDivert(cfg, true)), nil
	case "session":
		o := brokertest.AutoCommit
		if a.has("tx") {
			o = broker.SessionOptions{}
		}
		o.XA = a.has("xa")
		o.PreAcknowledge = a.has("preack")
		if on := a.get("on", ""); on != "" {
			s.clients[arg(0)] = s.client(on).Open(o)
		} else {
			s.clients[arg(0)] = b.Connect(o)
		}
	case "closesession":
		s.client(arg(0)).Act(func(w *broker.Work) { s.client(arg(0)).Session.Close(w, false) })
	case "disconnect":
		s.client(arg(0)).Disconnect(a.has("lost"))
	case "start":
		s.client(arg(0)).Act(func(w *broker.Work) { s.client(arg(0)).Start(w) })
	case "stop":
		s.client(arg(0)).Act(func(w *broker.Work) { s.client(arg(0)).Stop(w) })
	case "send":
		return s.send(arg(0), a), nil
	case "consumer":
		return s.consumer(arg(0), arg(1), a), nil
	case "credit":
		s.client(s.owners[arg(0)]).Act(func(w *broker.Work) { s.sink(arg(0)).Grant(w, s.num(arg(1))) })
	case "busy":
		s.sink(arg(0)).SetBusy(!a.has("end"))
	case "settled":
		done := false
		c := s.client(s.owners[arg(0)])
		c.Act(func(w *broker.Work) { s.sink(arg(0)).Settled(w, func(*broker.Work) { done = true }) })
		s.settle()
		return fmt.Sprint(done), nil
	case "close":
		c, k := s.client(s.owners[arg(0)]), s.sink(arg(0))
		c.Act(func(w *broker.Work) { c.CloseConsumer(w, k.ID) })
	case "got":
		return s.got(arg(0), a)
	case "gone":
		return fmt.Sprint(s.sink(arg(0)).Gone()), look
	case "closed":
		return fmt.Sprint(s.client(arg(0)).CloseReason()), look
	case "browse":
		return s.browse(arg(0), a), look
	case "ack":
		return s.ack(arg(0), a), nil
	case "ackunanswered":
		c, k := s.client(s.owners[arg(0)]), s.sink(arg(0))
		c.Act(func(w *broker.Work) { c.Acknowledge(w, k.ID, s.id(k, arg(1)), true, broker.Answer{}) })
	case "expired":
		c, k := s.client(s.owners[arg(0)]), s.sink(arg(0))
		c.Act(func(w *broker.Work) { c.Expired(w, k.ID, s.id(k, arg(1))) })
	case "commit":
		c := s.client(arg(0))
		return outcome(c.Do(func(w *broker.Work, x broker.Answer) { c.Commit(w, x) })), nil
	case "rollback":
		c := s.client(arg(0))
		return outcome(c.Do(func(w *broker.Work, x broker.Answer) { c.Rollback(w, a.has("last"), x) })), nil
	case "xa":
		return s.xa(arg(0), arg(1), a), nil
	case "indoubt":
		return fmt.Sprint(len(b.XAInDoubt())), look
	case "count":
		return s.count(arg(0), a.plain[1:]), look
	case "show":
		return s.show(arg(0), a.plain[1:]), look
	case "exists":
		if arg(0) == "queue" {
			return fmt.Sprint(b.Queue(arg(1)) != nil), look
		}
		return fmt.Sprint(b.Address(arg(1)) != nil), look
	case "types":
		x := b.Address(arg(0))
		if x == nil {
			return "absent", look
		}
		return fmt.Sprint(b.Info(x).RoutingTypes.List()), look
	case "queues":
		x := b.Address(arg(0))
		if x == nil {
			return "absent", look
		}
		return strings.Join(b.Info(x).Queues, " "), look
	case "stored":
		text := fmt.Sprintf("%d messages %d orphans", b.Store.Messages(), b.Store.Orphans())
		if n := b.Store.BodyCount(); n > 0 {
			text += fmt.Sprintf(" %d bodies", n)
		}
		return text, look
	case "scan":
		for range max(1, s.num(a.get("times", "1"))) {
			switch arg(0) {
			case "expired":
				b.ScanExpired()
			case "unused":
				b.ScanUnused()
			case "transactions":
				b.ScanTransactions()
			case "slow":
				b.ScanSlowConsumers()
			}
		}
	case "advance":
		b.Advance(s.num(arg(0)))
	case "restart":
		s.clients, s.sinks, s.owners = map[string]*brokertest.Client{}, map[string]*brokertest.Sink{}, map[string]string{}
		b.Restart()
	case "pause":
		return outcome(b.Pause(s.queue(arg(0)), a.has("persist"))), nil
	case "resume":
		return outcome(b.Resume(w, s.queue(arg(0)))), nil
	case "pauseaddress":
		return outcome(b.PauseAddress(b.Address(arg(0)), a.has("persist"))), nil
	case "resumeaddress":
		return outcome(b.ResumeAddress(w, b.Address(arg(0)))), nil
	case "credits":
		return s.credits(arg(0)), nil
	case "disk":
		b.SetDiskFull(a.has("full"))
	case "post":
		s.post(arg(0), a)
	case "postcommit":
		c := s.client(arg(0))
		c.Act(func(w *broker.Work) { c.Commit(w, s.next(arg(0))) })
	case "postack":
		c, k := s.client(s.owners[arg(0)]), s.sink(arg(0))
		c.Act(func(w *broker.Work) { c.Acknowledge(w, k.ID, s.id(k, arg(1)), true, s.next(s.owners[arg(0)])) })
	case "answers":
		return s.answered(arg(0)), func() { delete(s.told, arg(0)) }
	case "nospace":
		refuse := func([]broker.Op) error { return broker.ErrNoSpace }
		switch {
		case a.has("end"):
			refuse = nil
		case a.has("deletions"): // of what is deleted outside a transaction
			refuse = func(ops []broker.Op) error {
				if slices.ContainsFunc(ops, func(op broker.Op) bool { return op.Kind == broker.OpDeleteMessage }) {
					return broker.ErrNoSpace
				}
				return nil
			}
		}
		b.Store.FailAppend(refuse)
	case "fail":
		b.Store.Fail(errors.New("the disk is gone"))
	case "hold":
		b.Store.Hold()
	case "tell":
		b.Store.Tell(int(s.num(arg(0))))
	case "ops":
		return s.ops(), func() { s.trace = nil }
	default:
		return s.manage(words[0], a, arg)
	}
	return "ok", nil
}

func (s *script) manage(command string, a args, arg func(int) string) (string, func()) {
	q := s.queue(arg(0))
	number := func(n int, err error) (string, func()) {
		if err != nil {
			return outcome(err), nil
		}
		return fmt.Sprint(n), nil
	}
	truth := func(ok bool, err error) (string, func()) {
		if err != nil {
			return outcome(err), nil
		}
		return fmt.Sprint(ok), nil
	}
	id := int64(-1)
	if text := a.get("message", ""); text != "" {
		id = s.messageIn(q, text)
	}
	text := a.get("filter", "")
	o := broker.MoveOptions{RejectDuplicates: a.has("unique"), Count: int(s.num(a.get("count", "0")))}
	switch command {
	case "move":
		if id >= 0 {
			return truth(q.MoveMessage(id, arg(1), o))
		}
		return number(q.MoveMessages(text, arg(1), o))
	case "copy":
		return truth(q.CopyMessage(id, arg(1)))
	case "remove":
		if id >= 0 {
			return truth(q.RemoveMessage(id))
		}
		return number(q.RemoveMessages(text))
	case "expire":
		if id >= 0 {
			return truth(q.ExpireMessage(id))
		}
		return number(q.ExpireMessages(text))
	case "deadletter":
		if id >= 0 {
			return truth(q.SendMessageToDeadLetterAddress(id))
		}
		return number(q.SendToDeadLetterAddress(text))
	case "retry":
		if id >= 0 {
			return truth(q.RetryMessage(id))
		}
		return number(q.RetryMessages(text))
	case "priority":
		return number(q.ChangeMessagesPriority(text, uint8(s.num(arg(1)))))
	case "countmessages":
		n, err := q.CountMessages(text)
		return number(int(n), err)
	case "list":
		out, err := s.list(q, text, a.get("show", ""))
		if err != nil {
			return outcome(err), func() {}
		}
		return out, func() {}
	case "scheduled":
		var out []string
		q.BrowseScheduled(text, func(m *message.Message, _ int32, at int64) bool {
			t, _ := m.TextBody()
			out = append(out, fmt.Sprintf("%s+%d", t, at-brokertest.Epoch))
			return true
		})
		return strings.Join(out, " "), func() {}
	case "release":
		w := s.b.NewWork()
		defer w.Flush()
		return number(q.DeliverScheduled(w, func(r *broker.Ref) bool { return true }), nil)
	case "resetgroup":
		w := s.b.NewWork()
		defer w.Flush()
		q.ResetGroup(w, a.get("id", ""))
	default:
		s.t.Fatalf("unknown command %s", command)
	}
	return "ok", nil
}

func (s *script) list(q *broker.Queue, filter, show string) (string, error) {
	var out []string
	err := q.Browse(filter, func(m *message.Message, count int32) bool {
		t, _ := m.TextBody()
		if show != "" {
			t += "/" + prop(m, show)
		}
		out = append(out, t)
		return true
	})
	return strings.Join(out, " "), err
}

func prop(m *message.Message, name string) string {
	if !m.HasProperty(name) {
		return "absent"
	}
	return fmt.Sprint(brokertest.Value(m.Property(name)))
}

func (s *script) messageIn(q *broker.Queue, text string) int64 {
	id := int64(0)
	q.Browse("", func(m *message.Message, _ int32) bool {
		if t, _ := m.TextBody(); t == text {
			id = m.ID()
		}
		return id == 0
	})
	return id
}

func (s *script) createQueue(name string, a args) string {
	address := a.get("Address", name)
	cfg := s.b.DefaultQueue(address, name)
	cfg.Routing = message.Anycast
	v := reflect.ValueOf(&cfg).Elem()
	for _, k := range a.keys {
		s.set(v, k, a.named[k])
	}
	_, err := s.b.CreateQueue(cfg, broker.CreateOptions{AutoCreateAddress: !a.has("noauto"), IgnoreExisting: a.has("ignore")})
	return outcome(err)
}

// texts expands 0..3.
func (s *script) texts(words []string) []string {
	var out []string
	for _, w := range words {
		if lo, hi, ok := strings.Cut(w, ".."); ok {
			for i := s.num(lo); i <= s.num(hi); i++ {
				out = append(out, fmt.Sprint(i))
			}
			continue
		}
		out = append(out, w)
	}
	return out
}

// next is the answer of the next request that is not waited for; they count from 1 in each session.
func (s *script) next(session string) broker.Answer {
	s.posted[session]++
	return broker.Answer{Kind: 2, ID: s.posted[session]}
}

// post sends without waiting for the answer.
func (s *script) post(address string, a args) {
	routing := message.Anycast
	session := a.get("s", "s")
	c := s.client(session)
	for _, text := range a.plain[1:] {
		if text == "transient" {
			continue
		}
		m := brokertest.Text(address, text, routing)
		m.Durable = !a.has("transient")
		if id := a.get("dup", ""); id != "" {
			m.Set(message.PropDuplicateID, id)
		}
		built, err := s.b.Pool().Build(m)
		if err != nil {
			s.t.Fatal(err)
		}
		c.Act(func(w *broker.Work) {
			if err := c.Session.Send(w, built, broker.SendOptions{Routing: message.Unspecified, Answer: s.next(session)}); err != nil {
				s.t.Fatal(err)
			}
		})
	}
}

// answered shows which of those have been answered since the last time.
func (s *script) answered(session string) string {
	for _, x := range s.client(session).Answers() {
		text := fmt.Sprint(x.ID)
		if x.Err != nil {
			text += "/" + outcome(x.Err)
		}
		s.told[session] = append(s.told[session], text)
	}
	return strings.Join(s.told[session], " ")
}

func (s *script) send(address string, a args) string {
	routing := message.Unspecified
	durable := true
	var texts []string
	for _, w := range a.plain[1:] {
		switch w {
		case "anycast":
			routing = message.Anycast
		case "multicast":
			routing = message.Multicast
		case "transient":
			durable = false
		default:
			texts = append(texts, w)
		}
	}
	now := s.b.Clock.Now()
	result := ""
	for _, text := range s.texts(texts) {
		m := brokertest.Text(address, text, routing)
		m.Durable = durable
		for _, k := range a.keys {
			v := a.named[k]
			switch k {
			case "s", "large":
			case "prio":
				m.Priority = uint8(s.num(v))
			case "expires":
				m.Expiration = now + s.num(v)
			case "at":
				m.Set(message.PropScheduled, now+s.num(v))
			case "group":
				m.Set(message.PropGroupID, v)
			case "seq":
				m.Set(message.PropGroupSequence, int32(s.num(v)))
			case "dup":
				m.Set(message.PropDuplicateID, v)
			case "dupbytes":
				m.Set(message.PropDuplicateID, []byte(v+"\x00"))
			case "lv":
				m.Set(message.PropLastValue, v)
			case "to":
				m.Set(message.PropRouteTo, s.ids(v))
			case "ackedby":
				m.Set(message.PropAckRouteTo, s.ids(v))
			default:
				if n, err := strconv.ParseInt(v, 10, 32); err == nil {
					m.Set(k, int32(n))
				} else {
					m.Set(k, v)
				}
			}
		}
		c := s.client(a.get("s", "s"))
		if size := s.num(a.get("large", "0")); size > 0 {
			m.Body = nil
			result = outcome(c.SendLarge(m, make([]byte, size)))
		} else {
			result = outcome(c.Send(m))
		}
		if result != "ok" {
			return result
		}
	}
	return result
}

// ids are the ids of queues as a message names them: of those named, or the numbers.
func (s *script) ids(names string) []byte {
	var out []byte
	for _, name := range strings.Split(names, ",") {
		id, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			id = s.queue(name).ID
		}
		out = binary.BigEndian.AppendUint64(out, uint64(id))
	}
	return out
}

func (s *script) consumer(name, queue string, a args) string {
	o := broker.ConsumerOptions{Queue: queue, Filter: a.get("filter", ""), Browse: a.has("browse"), Priority: int32(s.num(a.get("prio", "0")))}
	owner := a.get("s", "s")
	k, err := s.client(owner).Consume(o, s.num(a.get("credit", "1000")))
	if err == nil {
		s.sinks[name], s.owners[name] = k, owner
		delete(s.seen, name)
		if a.has("slow") {
			k.SetPlain(false)
		}
	}
	return outcome(err)
}

// got shows what has come since the last time: texts, with more columns by count or show=property.
func (s *script) got(name string, a args) (string, func()) {
	all := s.sink(name).Got()
	var out []string
	for _, d := range all[s.seen[name]:] {
		t := d.Text
		if a.has("count") {
			t += fmt.Sprintf("/%d", d.Count)
		}
		if a.has("routing") {
			t += "/" + d.Prop(message.PropRoutingType)
		}
		if a.has("address") {
			t += "/" + d.Address
		}
		if a.has("expiration") {
			if d.Expiration == 0 {
				t += "/0"
			} else {
				t += fmt.Sprintf("/%+d", d.Expiration-brokertest.Epoch)
			}
		}
		if show := a.get("show", ""); show != "" {
			for _, p := range strings.Split(show, ",") {
				t += "/" + d.Prop(p)
			}
		}
		out = append(out, t)
	}
	return strings.Join(out, " "), func() { s.seen[name] = len(all) }
}

func (s *script) browse(queue string, a args) string {
	c := s.client("s")
	k, err := c.Consume(broker.ConsumerOptions{Queue: queue, Browse: true, Filter: a.get("filter", "")}, 100000)
	if err != nil {
		return outcome(err)
	}
	s.settle()
	c.Act(func(w *broker.Work) { c.CloseConsumer(w, k.ID) })
	return strings.Join(k.Texts(), " ")
}

func (s *script) id(k *brokertest.Sink, text string) int64 {
	got := k.Got()
	for i := len(got) - 1; i >= 0; i-- {
		if got[i].Text == text {
			return got[i].ID
		}
	}
	s.t.Fatalf("message %s was not delivered", text)
	return 0
}

// ack acknowledges messages by their text; all: everything up to the last that came.
func (s *script) ack(name string, a args) string {
	c, k := s.client(s.owners[name]), s.sink(name)
	got := k.Got()
	if a.has("all") {
		if len(got) == 0 {
			return "ok"
		}
		id := got[len(got)-1].ID
		return outcome(c.Do(func(w *broker.Work, x broker.Answer) { c.Acknowledge(w, k.ID, id, true, x) }))
	}
	result := ""
	for _, text := range a.plain[1:] {
		if text == "individual" {
			continue
		}
		id := int64(999999999)
		if text != "unknown" {
			id = s.id(k, text)
		}
		result = outcome(c.Do(func(w *broker.Work, x broker.Answer) { c.Acknowledge(w, k.ID, id, !a.has("individual"), x) }))
	}
	return result
}

func (s *script) count(name string, fields []string) string {
	q := s.b.Queue(name)
	if q == nil {
		return "absent"
	}
	c := q.Counts()
	all := map[string]any{"messages": c.Messages, "delivering": c.Delivering, "scheduled": c.Scheduled, "durable": c.Durable, "consumers": c.Consumers,
		"groups": c.Groups, "added": c.Stats.Added, "acked": c.Stats.Acknowledged, "expired": c.Stats.Expired, "killed": c.Stats.Killed,
		"attempts": c.Stats.AckAttempts, "paused": c.Paused, "size": c.Size, "deliveringsize": c.DeliveringSize}
	if len(fields) == 0 {
		fields = []string{"messages"}
	}
	var out []string
	for _, f := range fields {
		v, ok := all[f]
		if !ok {
			s.t.Fatalf("no counter %s", f)
		}
		out = append(out, fmt.Sprint(v))
	}
	return strings.Join(out, " ")
}

func (s *script) show(name string, fields []string) string {
	q := s.b.Queue(name)
	if q == nil {
		return "absent"
	}
	cfg := q.Config()
	v := reflect.ValueOf(cfg)
	var out []string
	for _, f := range fields {
		out = append(out, fmt.Sprint(v.FieldByName(f).Interface()))
	}
	return strings.Join(out, " ")
}

func (s *script) xid(name string) broker.Xid {
	return broker.Xid{Format: 1, Global: name, Branch: "b"}
}

func (s *script) xa(session, what string, a args) string {
	c := s.client(session)
	x := s.xid(a.get("x", "x"))
	var xe *broker.XAError
	var err error
	answered := func(request func(w *broker.Work, answer broker.Answer) *broker.XAError) {
		err = c.Do(func(w *broker.Work, answer broker.Answer) {
			if xe = request(w, answer); xe != nil {
				c.Done(w, answer, nil)
			}
		})
	}
	switch what {
	case "start":
		c.Act(func(w *broker.Work) { xe = c.XAStart(w, x) })
	case "end":
		xe = c.XAEnd(x)
	case "join":
		xe = c.XAJoin(x)
	case "suspend":
		xe = c.XASuspend()
	case "resume":
		xe = c.XAResume(x)
	case "prepare":
		answered(func(w *broker.Work, answer broker.Answer) *broker.XAError { return c.XAPrepare(w, x, answer) })
	case "commit":
		answered(func(w *broker.Work, answer broker.Answer) *broker.XAError {
			return c.XACommit(w, x, a.has("onephase"), answer)
		})
	case "rollback":
		answered(func(w *broker.Work, answer broker.Answer) *broker.XAError { return c.XARollback(w, x, answer) })
	case "forget":
		c.Act(func(w *broker.Work) { xe = c.XAForget(w, x) })
	case "timeout":
		c.SetXATimeout(s.num(a.get("seconds", "0")))
	case "heuristic":
		ok, e := s.b.CompleteHeuristically(s.b.NewWork(), x, a.has("commit"))
		if e != nil {
			return outcome(e)
		}
		return fmt.Sprint(ok)
	default:
		s.t.Fatalf("unknown xa command %s", what)
	}
	if xe != nil {
		return outcome(xe)
	}
	return outcome(err)
}

func (s *script) credits(address string) string {
	switch granted, failed := s.client("s").RequestCredits(address, 1, func(int32) {}); {
	case granted:
		return "granted"
	case failed:
		return "failed"
	}
	return "waits"
}

var kinds = map[broker.OpKind]string{broker.OpAddMessage: "add", broker.OpAddRef: "ref", broker.OpAckRef: "ack", broker.OpDeliveryCount: "count",
	broker.OpScheduled: "scheduled", broker.OpDeleteMessage: "delete", broker.OpAddDuplicate: "dup", broker.OpDeleteRecord: "deleterecord",
	broker.OpHeuristic: "heuristic", broker.OpPrepare: "prepare", broker.OpCommit: "commit", broker.OpRollback: "rollback"}

// ops shows the operations appended since the last time, those in a transaction in parentheses.
func (s *script) ops() string {
	for _, op := range s.b.Store.Ops() {
		text := kinds[op.Kind]
		if op.Kind == broker.OpDeliveryCount {
			text += fmt.Sprint(op.N)
		}
		if op.Tx != 0 {
			text = "(" + text + ")"
		}
		s.trace = append(s.trace, text)
	}
	return strings.Join(s.trace, " ")
}
