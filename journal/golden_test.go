package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/journal/internal/golden"
	"github.com/saranga-mq/saranga/wire/buf"
)

// goldenDir is a data directory left by a real broker, and what a real broker saw in it.
type goldenDir struct {
	name   string
	fs     *fs.Mem
	expect expectation
}

type expectation struct {
	NodeID              string
	Addresses           map[string]struct{ Paused, Paging bool }
	Queues              map[string]expectedQueue
	Prepared            []expectedXid
	HeuristicCommitted  int
	HeuristicRolledBack int
	Diverts             []json.RawMessage
	DataPrint           struct {
		RecordCounts  map[string]map[string]int
		PagedMessages []expectedPaged
	}
}

type expectedXid struct {
	FormatID                             int32
	BranchQualifier, GlobalTransactionID string
}

type expectedPaged struct {
	Address     string
	Page        int64
	Index       int
	PageTx      int64
	PageTxKnown bool
	Queues      []struct {
		ID    int64
		Acked bool
	}
}

type expectedQueue struct {
	ID                      int64 `json:"ID"`
	Address, RoutingType    string
	Filter                  *string
	MessageCount            int
	Paused                  bool
	MaxConsumers            int32
	Exclusive, LastValue    bool
	LastValueKey            *string
	PurgeOnNoConsumers      bool
	ConsumersBeforeDispatch int32
	DelayBeforeDispatch     int64
	GroupRebalance          bool
	GroupRebalancePause     bool `json:"groupRebalancePauseDispatch"`
	GroupBuckets            int32
	GroupFirstKey           *string
	RingSize                int64
	Enabled, AutoDelete     bool
	User                    *string
	InternalQueue           bool
	Scheduled               []struct{ MessageID int64 }
	Messages                []expectedMessage
}

type expectedMessage struct {
	ID            int64
	Durable       bool
	Priority      uint8
	Type          message.Type
	Timestamp     int64
	Expiration    int64
	DeliveryCount int32
	Large         bool
	UserID        *string
	BodyLength    int64
	BodySha256    string
	Properties    map[string]struct {
		Type  string
		Value any
	}
}

// Queues a broker makes by itself at start, and the one that it deletes.
var (
	created     = []string{"$sys.mqtt.sessions", "DLQ", "ExpiryQueue"}
	autoDeleted = []string{"b.q2"}
)

func goldens(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob("testdata/golden/*/data.tar.gz")
	if err != nil || len(dirs) != 26 {
		t.Fatalf("%d goldens, %v", len(dirs), err)
	}
	for i := range dirs {
		dirs[i] = filepath.Base(filepath.Dir(dirs[i]))
	}
	return dirs
}

// loadGolden unpacks a golden into memory, under /data.
func loadGolden(t *testing.T, name string) *goldenDir {
	t.Helper()
	dir := filepath.Join("testdata/golden", name)
	g := &goldenDir{name: name, fs: golden.Dir(t, dir)}
	if err := json.Unmarshal(golden.Gunzip(t, filepath.Join(dir, "expected.json.gz")), &g.expect); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *goldenDir) options() StoreOptions { return goldenOptions(g.fs) }

// goldenOptions are those the goldens were written with.
func goldenOptions(fsys fs.FS) StoreOptions {
	return StoreOptions{FS: fsys, Bindings: "/data/bindings", Journal: "/data/journal", Paging: "/data/paging", Large: "/data/large-messages",
		FileSize: 102400, MinFiles: 2, PoolFiles: 10, CompactMinFiles: 10, CompactPercentage: 30, BufferSize: 501760, MaxAttic: 10,
		SyncTransactional: true, SyncNonTransactional: true}
}

// farFuture is after every schedule that the loading broker found due, and before every other.
const farFuture = 2_000_000_000_000

// recovered is a Recovery that keeps what it is given.
type recovered struct {
	configs    []broker.StoredConfig
	addresses  map[int64]broker.AddressRecord
	queues     map[int64]broker.QueueRecord
	paused     map[int64]broker.PauseKind
	refs       []recoveredRef
	prepared   []broker.PreparedTx
	duplicates map[string][]string
	heuristics []bool
}

type recoveredRef struct {
	m         *message.Message
	queue     int64
	count     int32
	scheduled int64
}

func newRecovered() *recovered {
	return &recovered{addresses: map[int64]broker.AddressRecord{}, queues: map[int64]broker.QueueRecord{}, paused: map[int64]broker.PauseKind{}, duplicates: map[string][]string{}}
}

func (r *recovered) Config(c broker.StoredConfig)           { r.configs = append(r.configs, c) }
func (r *recovered) Address(a broker.AddressRecord)         { r.addresses[a.ID] = a }
func (r *recovered) Queue(q broker.QueueRecord)             { r.queues[q.ID] = q }
func (r *recovered) BindingsLoaded() error                  { return nil }
func (r *recovered) Paused(k broker.PauseKind, id, _ int64) { r.paused[id] = k }
func (r *recovered) Ref(m *message.Message, queue int64, count int32, scheduled int64) bool {
	if _, ok := r.queues[queue]; !ok {
		return false
	}
	m.Retain()
	r.refs = append(r.refs, recoveredRef{m, queue, count, scheduled})
	return true
}
func (r *recovered) Prepared(t broker.PreparedTx) {
	for _, s := range t.Sent {
		s.Msg.Retain()
	}
	r.prepared = append(r.prepared, t)
}
func (r *recovered) Duplicate(address string, id []byte, _ int64) {
	r.duplicates[address] = append(r.duplicates[address], string(id))
}
func (r *recovered) Heuristic(_ int64, _ broker.Xid, commit bool) {
	r.heuristics = append(r.heuristics, commit)
}

func (r *recovered) queue(name string) (broker.QueueRecord, bool) {
	for _, q := range r.queues {
		if q.Name == name {
			return q, true
		}
	}
	return broker.QueueRecord{}, false
}

type noHooks struct{ t testing.TB }

func (noHooks) BatchEnd() {}
func (h noHooks) Fatal(err error) {
	if h.t != nil {
		h.t.Error(err)
	}
}

func loadStore(t testing.TB, o StoreOptions) (*Store, *recovered, error) {
	t.Helper()
	if o.Log == nil {
		o.Log = hclog.New(&hclog.LoggerOptions{Output: io.Discard})
	}
	s, r := NewStore(o), newRecovered()
	if err := s.Load(&message.Pool{}, r); err != nil {
		return s, r, errors.Join(err, s.Close())
	}
	s.Start(noHooks{t})
	return s, r, nil
}

func TestGoldens(t *testing.T) {
	for _, name := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			g := loadGolden(t, name)
			g.checkRecordCounts(t)
			live := g.livePages()
			for range 2 { // what the first load has cleaned up changes nothing for the second
				s, r, err := loadStore(t, g.options())
				if len(live) > 0 {
					var refused *LivePagesError
					if !errors.As(err, &refused) || !slices.Contains(live, refused.Address) || !strings.HasPrefix(refused.Folder, "/data/paging/") {
						t.Fatalf("got %v, want a refusal that names one of %v", err, live)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				g.check(t, r)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// checkRecordCounts compares the scan with what data print counted, file by file as they are.
func (g *goldenDir) checkRecordCounts(t *testing.T) {
	t.Helper()
	names := map[Kind]string{Event: "Event", Add: "AddRecord", Update: "Update", AddTx: "AddRecordTX", UpdateTx: "UpdateTX", DeleteTx: "DeleteRecordTX",
		Delete: "DeleteRecord", Prepare: "Prepare", Commit: "Commit", Rollback: "Rollback"}
	for part, o := range map[string]Options{"bindings": goldenBindings(g), "messages": goldenMessages(g)} {
		got := map[string]int{}
		files, err := Files(o.FS, o.Dir, o.Ext)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := fs.ReadFile(o.FS, path.Join(o.Dir, f.Name))
			if err != nil {
				t.Fatal(err)
			}
			var r Record
			for s := NewScanner(b, f.Header, false); s.Next(&r); {
				n := names[r.Kind]
				if r.Kind <= UpdateTx {
					n += fmt.Sprintf(":%d", r.UserType)
				}
				got[n]++
			}
		}
		if want := g.expect.DataPrint.RecordCounts[part]; !maps.Equal(got, want) {
			t.Errorf("%s: records %v, want %v", part, got, want)
		}
	}
}

func goldenBindings(g *goldenDir) Options { o := g.options(); return o.BindingsOptions() }
func goldenMessages(g *goldenDir) Options { o := g.options(); return o.MessagesOptions() }

// livePages are the addresses that have a visible message in a page, according to the real broker.
func (g *goldenDir) livePages() []string {
	ids := map[int64]bool{}
	for _, q := range g.expect.Queues {
		ids[q.ID] = true
	}
	var live []string
	for _, p := range g.expect.DataPrint.PagedMessages {
		for _, q := range p.Queues {
			if p.PageTxKnown && !q.Acked && ids[q.ID] && !slices.Contains(live, p.Address) {
				live = append(live, p.Address)
			}
		}
	}
	return live
}

func (g *goldenDir) check(t *testing.T, r *recovered) {
	t.Helper()
	for name, want := range g.expect.Queues {
		q, ok := r.queue(name)
		if !ok {
			if !slices.Contains(created, name) {
				t.Errorf("queue %s is missing", name)
			}
			continue
		}
		if q.ID != want.ID {
			t.Errorf("queue %s has id %d, want %d", name, q.ID, want.ID)
		}
		if !slices.Contains(created, name) || g.expect.NodeID != "" && want.RoutingType == "ANYCAST" {
			checkQueue(t, r, q, want)
		}
		g.checkMessages(t, r, q, want)
	}
	for _, q := range r.queues {
		if _, ok := g.expect.Queues[q.Name]; !ok && !slices.Contains(autoDeleted, q.Name) {
			t.Errorf("queue %s should not be there", q.Name)
		}
	}
	for name, want := range g.expect.Addresses {
		for _, a := range r.addresses {
			if _, paused := r.paused[a.ID]; a.Name == name && paused != want.Paused {
				t.Errorf("address %s: paused %v, want %v", name, paused, want.Paused)
			}
		}
	}
	var got []expectedXid
	for _, p := range r.prepared {
		got = append(got, expectedXid{p.Xid.Format, hex.EncodeToString([]byte(p.Xid.Branch)), hex.EncodeToString([]byte(p.Xid.Global))})
	}
	if !sameXids(got, g.expect.Prepared) {
		t.Errorf("prepared %v, want %v", got, g.expect.Prepared)
	}
	commits := 0
	for _, c := range r.heuristics {
		if c {
			commits++
		}
	}
	if commits != g.expect.HeuristicCommitted || len(r.heuristics)-commits != g.expect.HeuristicRolledBack {
		t.Errorf("heuristic outcomes %v, want %d commits and %d rollbacks", r.heuristics, g.expect.HeuristicCommitted, g.expect.HeuristicRolledBack)
	}
}

func sameXids(a, b []expectedXid) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		if !slices.Contains(b, x) {
			return false
		}
	}
	return true
}

func checkQueue(t *testing.T, r *recovered, q broker.QueueRecord, want expectedQueue) {
	t.Helper()
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	_, paused := r.paused[q.ID]
	got := fmt.Sprint(q.Address, q.Routing, q.Filter, paused, q.MaxConsumers, q.Exclusive, q.LastValue, q.LastValueKey, q.PurgeOnNoConsumers,
		q.ConsumersBeforeDispatch, q.DelayBeforeDispatch, q.GroupRebalance, q.GroupRebalancePauseDisp, q.GroupBuckets, q.GroupFirstKey, q.RingSize,
		q.Enabled, q.AutoDelete, q.User, q.Internal)
	exp := fmt.Sprint(want.Address, map[string]message.RoutingType{"ANYCAST": message.Anycast, "MULTICAST": message.Multicast}[want.RoutingType],
		text(want.Filter), want.Paused, want.MaxConsumers, want.Exclusive, want.LastValue, text(want.LastValueKey), want.PurgeOnNoConsumers,
		want.ConsumersBeforeDispatch, want.DelayBeforeDispatch, want.GroupRebalance, want.GroupRebalancePause, want.GroupBuckets,
		text(want.GroupFirstKey), want.RingSize, want.Enabled, want.AutoDelete, text(want.User), want.InternalQueue)
	if got != exp {
		t.Errorf("queue %s:\n got  %s\n want %s", q.Name, got, exp)
	}
}

func (g *goldenDir) checkMessages(t *testing.T, r *recovered, q broker.QueueRecord, want expectedQueue) {
	t.Helper()
	held := map[int64]bool{}
	for _, p := range r.prepared {
		for _, a := range p.Acks {
			if a.Queue == q.ID {
				held[a.Msg.ID()] = true
			}
		}
	}
	byID := map[int64]recoveredRef{}
	count := 0
	for _, ref := range r.refs {
		if ref.queue == q.ID {
			count++
			if !held[ref.m.ID()] {
				byID[ref.m.ID()] = ref
			}
		}
	}
	if count != want.MessageCount {
		t.Errorf("%s: %d references, want %d", q.Name, count, want.MessageCount)
	}
	for _, w := range want.Scheduled {
		if ref, ok := byID[w.MessageID]; !ok || ref.scheduled < farFuture {
			t.Errorf("%s: message %d is to be scheduled: %+v", q.Name, w.MessageID, ref)
		}
		delete(byID, w.MessageID)
	}
	for _, w := range want.Messages {
		ref, ok := byID[w.ID]
		if !ok {
			t.Errorf("%s: message %d is missing", q.Name, w.ID)
			continue
		}
		delete(byID, w.ID)
		if ref.count != w.DeliveryCount {
			t.Errorf("%s: message %d has count %d, want %d", q.Name, w.ID, ref.count, w.DeliveryCount)
		}
		if ref.scheduled > farFuture {
			t.Errorf("%s: message %d is scheduled for %d, want visible", q.Name, w.ID, ref.scheduled)
		}
		if ref.m.Encoding() == message.Core {
			checkMessage(t, ref.m, w)
		}
	}
	for id := range byID {
		t.Errorf("%s: message %d should not be visible", q.Name, id)
	}
}

func checkMessage(t *testing.T, m *message.Message, want expectedMessage) {
	t.Helper()
	body := m.Body()
	if m.Large() != nil {
		body = make([]byte, m.Large().Size())
		if n, err := m.Large().ReadAt(body, 0); n != len(body) {
			t.Errorf("message %d: body: %v", m.ID(), err)
		}
	}
	sum := sha256.Sum256(body)
	got := fmt.Sprint(m.IsDurable(), m.Priority(), m.Type(), m.Timestamp(), m.Expiration(), m.Large() != nil, len(body), hex.EncodeToString(sum[:]))
	exp := fmt.Sprint(want.Durable, want.Priority, want.Type, want.Timestamp, want.Expiration, want.Large, want.BodyLength, want.BodySha256)
	if got != exp {
		t.Errorf("message %d:\n got  %s\n want %s", m.ID(), got, exp)
	}
	if u := m.UserID(); u != nil || want.UserID != nil {
		h := hex.EncodeToString(u)
		if want.UserID == nil || strings.ReplaceAll(*want.UserID, "-", "") != h {
			t.Errorf("message %d: user id %s, want %v", m.ID(), h, want.UserID)
		}
	}
	props := map[string]string{}
	p := m.Properties()
	for k, v, ok := p.Next(); ok; k, v, ok = p.Next() {
		props[buf.StringFromSS(k)] = describeValue(v)
	}
	wanted := map[string]string{}
	for k, v := range want.Properties {
		wanted[k] = fmt.Sprint(v.Type, " ", v.Value)
		if v.Type == "double" || v.Type == "float" || v.Type == "int" || v.Type == "long" || v.Type == "short" || v.Type == "byte" {
			wanted[k] = fmt.Sprintf("%s %g", v.Type, v.Value)
		}
	}
	if !reflect.DeepEqual(props, wanted) {
		t.Errorf("message %d: properties %v, want %v", m.ID(), props, wanted)
	}
}

func describeValue(v buf.Value) string {
	name := map[buf.Type]string{buf.TypeNull: "null", buf.TypeBool: "boolean", buf.TypeByte: "byte", buf.TypeBytes: "bytes", buf.TypeShort: "short",
		buf.TypeInt: "int", buf.TypeLong: "long", buf.TypeFloat: "float", buf.TypeDouble: "double", buf.TypeString: "string", buf.TypeChar: "char"}[v.Type]
	if n, ok := v.Int64(); ok {
		return fmt.Sprintf("%s %g", name, float64(n))
	}
	if n, ok := v.Float64(); ok {
		return fmt.Sprintf("%s %g", name, n)
	}
	if c, ok := v.Char(); ok {
		return name + " " + string(rune(c))
	}
	if v.Type == buf.TypeBytes {
		return name + " " + hex.EncodeToString(v.Bytes())
	}
	return fmt.Sprint(name, " ", v.Any())
}
