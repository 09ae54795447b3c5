package zk

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"
)

// quiet is the log of the client under test.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// goClient connects with an unmodified Go client.
func goClient(t *testing.T, s served) (*gozk.Conn, <-chan gozk.Event) {
	t.Helper()
	c, events, err := gozk.Connect([]string{s.Addr()}, 6*time.Second, gozk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, events
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%v, want %v", err, want)
	}
}

func nextEvent(t *testing.T, from <-chan gozk.Event) gozk.Event {
	t.Helper()
	select {
	case e := <-from:
		return e
	case <-time.After(patience):
		t.Fatal("no event")
		return gozk.Event{}
	}
}

func TestGoClientNodes(t *testing.T) {
	s := serve(t, nil)
	c, _ := goClient(t, s)
	open := gozk.WorldACL(gozk.PermAll)

	if path := must(c.Create("/a", []byte("one"), 0, open))(t); path != "/a" {
		t.Error(path)
	}
	_, err := c.Create("/a", nil, 0, open)
	wantErr(t, err, gozk.ErrNodeExists)
	_, err = c.Create("/x/y", nil, 0, open)
	wantErr(t, err, gozk.ErrNoNode)
	data, stat, err := c.Get("/a")
	if err != nil || string(data) != "one" || stat.Version != 0 || stat.DataLength != 3 || stat.Czxid != stat.Mzxid || stat.Ctime == 0 {
		t.Errorf("%q %+v %v", data, stat, err)
	}
	if stat := must(c.Set("/a", []byte("two"), 0))(t); stat.Version != 1 || stat.Mzxid <= stat.Czxid {
		t.Errorf("%+v", stat)
	}
	_, err = c.Set("/a", []byte("three"), 0)
	wantErr(t, err, gozk.ErrBadVersion)
	for range 3 {
		must(c.Create("/a/n-", nil, gozk.FlagSequence, open))(t)
	}
	must(c.CreateContainer("/a/box", nil, gozk.FlagContainer, open))(t)
	names, stat, err := c.Children("/a")
	if want := []string{"box", "n-0000000000", "n-0000000001", "n-0000000002"}; err != nil || !slices.Equal(names, want) || stat.NumChildren != 4 {
		t.Errorf("%v %+v %v", names, stat, err)
	}
	wantErr(t, c.Delete("/a", -1), gozk.ErrNotEmpty)
	wantErr(t, c.Delete("/a/box", 5), gozk.ErrBadVersion)
	for _, n := range names {
		if err := c.Delete("/a/"+n, -1); err != nil {
			t.Error(err)
		}
	}
	if err := c.Delete("/a", 1); err != nil {
		t.Error(err)
	}
	if ok, _, err := c.Exists("/a"); ok || err != nil {
		t.Error(ok, err)
	}
	must(c.Create("/e", nil, gozk.FlagEphemeral, open))(t)
	_, err = c.Create("/e/f", nil, 0, open)
	wantErr(t, err, gozk.ErrNoChildrenForEphemerals)
	if _, stat, _ := c.Exists("/e"); stat.EphemeralOwner != c.SessionID() {
		t.Errorf("owner %#x, want %#x", stat.EphemeralOwner, c.SessionID())
	}
	if path := must(c.Sync("/nowhere"))(t); path != "/nowhere" {
		t.Error(path)
	}
	acl, _, err := c.GetACL("/e")
	if err != nil || !slices.Equal(acl, open) {
		t.Error(acl, err)
	}
	if stat := must(c.SetACL("/e", gozk.WorldACL(gozk.PermRead|gozk.PermAdmin), 0))(t); stat.Aversion != 1 {
		t.Errorf("%+v", stat)
	}
	_, err = c.Set("/e", nil, -1)
	wantErr(t, err, gozk.ErrNoAuth)
}

func TestGoClientMulti(t *testing.T) {
	s := serve(t, nil)
	c, _ := goClient(t, s)
	open := gozk.WorldACL(gozk.PermAll)
	res, err := c.Multi(
		&gozk.CreateRequest{Path: "/m", Data: []byte("1"), Acl: open},
		&gozk.CheckVersionRequest{Path: "/m", Version: 0},
		&gozk.SetDataRequest{Path: "/m", Data: []byte("2"), Version: 0},
		&gozk.CreateRequest{Path: "/m/s-", Acl: open, Flags: gozk.FlagSequence},
		&gozk.DeleteRequest{Path: "/m/s-0000000000", Version: -1},
	)
	if err != nil || len(res) != 5 || res[0].String != "/m" || res[2].Stat.Version != 1 || res[3].String != "/m/s-0000000000" {
		t.Fatalf("%+v %v", res, err)
	}
	res, err = c.Multi(&gozk.SetDataRequest{Path: "/m", Version: -1}, &gozk.DeleteRequest{Path: "/gone", Version: -1}, &gozk.DeleteRequest{Path: "/m", Version: -1})
	wantErr(t, err, gozk.ErrNoNode)
	if len(res) != 3 || res[0].Error != nil || !errors.Is(res[1].Error, gozk.ErrNoNode) || res[2].Error == nil {
		t.Errorf("%+v", res)
	}
	if data, stat, err := c.Get("/m"); string(data) != "2" || stat.Version != 1 || err != nil {
		t.Error("the failed multi changed something:", data, stat, err)
	}
}

func TestGoClientWatches(t *testing.T) {
	s := serve(t, nil)
	a, _ := goClient(t, s)
	b, _ := goClient(t, s)
	open := gozk.WorldACL(gozk.PermAll)
	_, _, exists, err := a.ExistsW("/w")
	if err != nil {
		t.Fatal(err)
	}
	must(b.Create("/w", nil, 0, open))(t)
	if e := nextEvent(t, exists); e.Type != gozk.EventNodeCreated || e.Path != "/w" {
		t.Error(e)
	}
	_, _, data, err := a.GetW("/w")
	if err != nil {
		t.Fatal(err)
	}
	_, _, children, err := a.ChildrenW("/w")
	if err != nil {
		t.Fatal(err)
	}
	must(b.Set("/w", []byte("x"), -1))(t)
	if e := nextEvent(t, data); e.Type != gozk.EventNodeDataChanged {
		t.Error(e)
	}
	must(b.Create("/w/c", nil, 0, open))(t)
	if e := nextEvent(t, children); e.Type != gozk.EventNodeChildrenChanged || e.Path != "/w" {
		t.Error(e)
	}
}

func TestGoClientLock(t *testing.T) {
	s := serve(t, nil)
	a, _ := goClient(t, s)
	b, _ := goClient(t, s)
	open := gozk.WorldACL(gozk.PermAll)
	first, second := gozk.NewLock(a, "/lock/it", open), gozk.NewLock(b, "/lock/it", open)
	if err := first.Lock(); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() { got <- second.Lock() }()
	until(t, "the second contender stands in line and watches", func() bool {
		names, _, err := a.Children("/lock/it")
		s.mu.Lock()
		defer s.mu.Unlock()
		return err == nil && len(names) == 2 && s.watches.Len() > 0
	})
	select {
	case err := <-got:
		t.Fatalf("two hold the lock (%v)", err)
	default:
	}
	a.Close() // ends its session, and with it its lock
	select {
	case err := <-got:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatal("the lock is not passed on")
	}
	if err := second.Unlock(); err != nil {
		t.Error(err)
	}
}

// TestGoClientReattach cuts the connections: the client comes back with the same session, its watches and its ephemeral node.
func TestGoClientReattach(t *testing.T) {
	s := serve(t, nil)
	c, events := goClient(t, s)
	must(c.Create("/e", nil, gozk.FlagEphemeral, gozk.WorldACL(gozk.PermAll)))(t)
	_, _, watch, err := c.GetW("/e")
	if err != nil {
		t.Fatal(err)
	}
	before := c.SessionID()
	s.endAll(errors.New("the test wants it"))
	for e := nextEvent(t, events); e.State != gozk.StateDisconnected; e = nextEvent(t, events) {
	}
	for e := nextEvent(t, events); e.State != gozk.StateHasSession; e = nextEvent(t, events) {
	}
	if c.SessionID() != before {
		t.Fatalf("session %#x, had %#x", c.SessionID(), before)
	}
	must(c.Set("/e", []byte("x"), -1))(t)
	if e := nextEvent(t, watch); e.Type != gozk.EventNodeDataChanged {
		t.Error(e)
	}
}

func TestGoClientExpiry(t *testing.T) {
	s := serve(t, nil)
	c, events := goClient(t, s)
	other, _ := goClient(t, s)
	must(c.Create("/e", nil, gozk.FlagEphemeral, gozk.WorldACL(gozk.PermAll)))(t)
	_, _, watch, err := other.ExistsW("/e")
	if err != nil {
		t.Fatal(err)
	}
	s.member.expire(t, c.SessionID())
	if e := nextEvent(t, watch); e.Type != gozk.EventNodeDeleted {
		t.Error(e)
	}
	for e := nextEvent(t, events); e.State != gozk.StateExpired; e = nextEvent(t, events) {
	}
}

func TestGoClientFourLetterWords(t *testing.T) {
	s := serve(t, nil)
	goClient(t, s)
	if ok := gozk.FLWRuok([]string{s.Addr()}, patience); !ok[0] {
		t.Error("ruok is not answered")
	}
	got, ok := gozk.FLWSrvr([]string{s.Addr()}, patience)
	if !ok || got[0].Mode != gozk.ModeStandalone || got[0].NodeCount != 6 || got[0].Connections < 1 || !strings.HasPrefix(got[0].Version, "3.9.") {
		t.Errorf("%v %+v", ok, got[0])
	}
}
