package crash

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/test/peers"
	"github.com/saranga-mq/saranga/wire/core/client"
)

// The goldens of package journal: data folders that real brokers have left, and what a real broker served from them.
const goldens = "../../journal/testdata/golden"

type expectation struct {
	Queues map[string]struct {
		Messages []expected
	}
	DataPrint struct{ PagedMessages []struct{ Address string } }
}

type expected struct {
	ID            int64
	Durable       bool
	Priority      uint8
	Type          uint8
	Timestamp     int64
	Expiration    int64
	DeliveryCount int32
	Large         bool
	BodyLength    int64
	BodySha256    string
}

// instanceOf makes an instance whose data are those of a golden.
func instanceOf(t *testing.T, name string) (peers.Instance, expectation) {
	t.Helper()
	i := peers.NewInstance(t, peers.UnderTest(t), peers.CreateOptions{})
	if err := unpack(filepath.Join(goldens, name, "data.tar.gz"), i.Dir); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(goldens, name, "expected.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var e expectation
	if err := json.NewDecoder(z).Decode(&e); err != nil {
		t.Fatal(err)
	}
	return i, e
}

func unpack(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(dir, "data")); err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(name, 0o755); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		b, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, b, 0o644); err != nil {
			return err
		}
	}
}

// TestGoldensServed starts Saranga on data that real brokers have left, cleanly or killed, and reads them through a client.
func TestGoldensServed(t *testing.T) {
	for _, g := range []struct {
		name string
		skip []string // queues with messages in the encoding of AMQP, which is not served yet
	}{
		{name: "basic"},
		{name: "basickill"},
		{name: "tx"},
		{name: "torn"},
		{name: "topics"},
		{name: "flows"},
		{name: "load"},
		{name: "compact"},
		{name: "cc3"},
		{name: "large", skip: []string{"amqp.std", "large.amqp"}},
		{name: "e256-basic"},
		{name: "e256-tx"},
		{name: "e256-large"},
	} {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			i, want := instanceOf(t, g.name)
			peers.Run(t, peers.UnderTest(t), i)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cfg, err := client.ParseURL(i.URL())
			if err != nil {
				t.Fatal(err)
			}
			cfg.User, cfg.Password = i.User, i.Password
			conn, err := client.Dial(ctx, cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			s, err := conn.NewSession(ctx, autoCommit)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Start(ctx); err != nil {
				t.Fatal(err)
			}
			compared := 0
			for queue, q := range want.Queues {
				if slices.Contains(g.skip, queue) || len(q.Messages) == 0 {
					continue
				}
				got, err := browse(ctx, s, queue)
				if err != nil {
					t.Fatalf("%s: %v", queue, err)
				}
				if !slices.Equal(got, q.Messages) {
					t.Errorf("%s holds\n%+v\nwant\n%+v", queue, got, q.Messages)
				}
				compared += len(got)
			}
			if compared == 0 {
				t.Error("nothing was compared")
			}
		})
	}
}

func browse(ctx context.Context, s *client.Session, queue string) ([]expected, error) {
	c, err := s.NewConsumer(ctx, queue, client.ConsumerOptions{Browse: true})
	if err != nil {
		return nil, err
	}
	var got []expected
	for {
		m, err := c.ReceiveTimeout(ctx, 0)
		if err != nil {
			return nil, err
		}
		if m == nil {
			return got, c.Close(ctx)
		}
		v, err := m.Core()
		if err != nil {
			return nil, err
		}
		r, err := m.Body()
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(body)
		got = append(got, expected{ID: m.ID(), Durable: v.IsDurable(), Priority: v.Priority(), Type: uint8(v.Type()), Timestamp: v.Timestamp(), Expiration: v.Expiration(),
			DeliveryCount: m.DeliveryCount, Large: m.IsLarge(), BodyLength: int64(len(body)), BodySha256: hex.EncodeToString(sum[:])})
	}
}

// TestLivePagesRefused: messages in pages are not served yet, so such data are not touched.
func TestLivePagesRefused(t *testing.T) {
	for _, name := range []string{"paging", "e256-paging"} {
		t.Run(name, func(t *testing.T) {
			i, want := instanceOf(t, name)
			before, err := listing(i.Dir)
			if err != nil {
				t.Fatal(err)
			}
			p, err := peers.Start(t.Context(), peers.UnderTest(t), i, filepath.Join(t.TempDir(), "out"))
			if err == nil {
				p.Kill()
				t.Fatal("the data were served")
			}
			text := err.Error()
			named := slices.ContainsFunc(want.DataPrint.PagedMessages, func(m struct{ Address string }) bool { return strings.Contains(text, m.Address) })
			if !named || !strings.Contains(text, filepath.Join(i.Dir, "data", "paging")) {
				t.Errorf("refused with %v, want address and folder", err)
			}
			after, err := listing(i.Dir)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(after, before) {
				t.Errorf("page files are\n%v\nand were\n%v", after, before)
			}
		})
	}
}

// listing is the names and hashes of the page files of an instance.
func listing(dir string) ([]string, error) {
	var list []string
	err := filepath.WalkDir(filepath.Join(dir, "data", "paging"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		list = append(list, fmt.Sprintf("%s %x", path, sha256.Sum256(b)))
		return err
	})
	if len(list) == 0 {
		err = errors.Join(err, errors.New("there are no page files"))
	}
	return list, err
}
