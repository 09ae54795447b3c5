package drill

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestBody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := ID{rapid.Uint16().Draw(t, "producer"), rapid.Uint32().Draw(t, "seq")}
		size := rapid.IntRange(0, 5000).Draw(t, "size")
		body := appendBody(nil, "run", id, size)
		if len(body) < size || len(body) > max(size, 80) {
			t.Fatalf("%d bytes, want %d", len(body), size)
		}
		if got, err := parseBody(body, "run"); got != id || err != nil {
			t.Fatalf("%v, %v", got, err)
		}
		if _, err := parseBody(body, "other"); !errors.Is(err, errStranger) {
			t.Fatalf("of another run: %v", err)
		}
		line := bytes.IndexByte(body, '\n')
		cut := rapid.IntRange(line+1, len(body)).Draw(t, "cut")
		if _, err := parseBody(body[:cut], "run"); (cut < len(body)) != errors.Is(err, errDamaged) {
			t.Fatalf("cut at %d of %d: %v", cut, len(body), err)
		}
		if line+1 < len(body) {
			body[rapid.IntRange(line+1, len(body)-1).Draw(t, "byte")] ^= 1
			if got, err := parseBody(body, "run"); got != id || !errors.Is(err, errDamaged) {
				t.Fatalf("with another byte: %v, %v", got, err)
			}
		}
	})
}

func FuzzBody(f *testing.F) {
	f.Add([]byte("saranga.drill run 1 2 50\n"))
	f.Add(appendBody(nil, "run", ID{1, 2}, 100))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		id, err := parseBody(body, "run")
		if err == nil && !bytes.Equal(appendBody(nil, "run", id, len(body)), body) && bytes.Count(body, []byte(" ")) == 4 {
			// Numbers may be written in other ways; what they say must be the same.
			if again, err := parseBody(appendBody(nil, "run", id, 0), "run"); again != id || err != nil {
				t.Errorf("%q is %v, which is not written so", body, id)
			}
		}
	})
}

func TestSplitURLs(t *testing.T) {
	for _, x := range []struct {
		text string
		want []string
	}{
		{"tcp://a:1", []string{"tcp://a:1"}},
		{"tcp://a:1,tcp://b:2", []string{"tcp://a:1", "tcp://b:2"}},
		{"(tcp://a:1,tcp://b)?sslEnabled=true", []string{"tcp://a:1?sslEnabled=true", "tcp://b:61616?sslEnabled=true"}},
		{"tcp://a:1?sslEnabled=true#tcp://b:2", []string{"tcp://a:1?sslEnabled=true", "tcp://b:2?sslEnabled=true"}},
		{"amqp://a:1", nil},
	} {
		got, err := SplitURLs(x.text)
		if len(got) != len(x.want) || (err == nil) != (x.want != nil) {
			t.Errorf("%s: %q, %v, want %q", x.text, got, err, x.want)
			continue
		}
		for i := range got {
			if got[i] != x.want[i] {
				t.Errorf("%s: %q, want %q", x.text, got, x.want)
			}
		}
	}
}

func TestRoles(t *testing.T) {
	active := Status{URL: "tcp://a:1", Serves: true, Active: true, NodeID: "x", Members: []Member{{"y", "c:1", "c:2"}, {"x", "a:1", "b:1"}}}
	synced, shared, lonely := active, active, active
	synced.ReplicaSync, shared.SharedStore, lonely.Members = true, true, nil
	b, c := Status{URL: "tcp://b:1?x=y"}, Status{URL: "tcp://c:1"}
	for _, x := range []struct {
		name string
		list []Status
		want []Role
	}{
		{"nobody", []Status{b, c}, []Role{Away, Away}},
		{"alone", []Status{lonely, b}, []Role{Active, Away}},
		{"copying", []Status{active, b}, []Role{Active, Copying}},
		{"in sync", []Status{b, synced}, []Role{Backup, Active}},
		{"shared store", []Status{shared, b}, []Role{Active, Backup}},
		{"of three one is the backup", []Status{synced, b, c}, []Role{Active, Backup, Away}},
		{"the address that the pair uses is another", []Status{synced, c}, []Role{Active, Backup}},
	} {
		got := Roles(x.list)
		for i := range got {
			if got[i] != x.want[i] {
				t.Errorf("%s: %v, want %v", x.name, got, x.want)
				break
			}
		}
	}
}
