package server_test

import (
	"path/filepath"
	"testing"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/fs"
)

// onDisk is a broker with a journal in a folder of the test.
func onDisk(t testing.TB) *broker.Broker {
	t.Helper()
	dir := t.TempDir()
	store := journal.NewStore(journal.StoreOptions{FS: fs.OS{}, Bindings: filepath.Join(dir, "bindings"), Journal: filepath.Join(dir, "journal"),
		Paging: filepath.Join(dir, "paging"), Large: filepath.Join(dir, "large"), FileSize: 10 << 20, MinFiles: 2, PoolFiles: 10,
		CompactMinFiles: 10, CompactPercentage: 30, BufferSize: 490 << 10, SyncTransactional: true, SyncNonTransactional: true})
	b := broker.New(broker.Options{Store: store, Wildcards: config.DefaultWildcards(), GlobalMaxBytes: -1, GlobalMaxMessages: -1, MaxRedeliveryRecords: 10,
		Settings: func(string) config.AddressSettings { return config.DefaultAddressSettings() }})
	if err := b.Load(); err != nil {
		t.Fatal(err)
	}
	cfg := b.DefaultQueue("bench", "bench")
	cfg.Routing = message.Anycast
	if _, err := b.CreateQueue(cfg, broker.CreateOptions{AutoCreateAddress: true}); err != nil {
		t.Fatal(err)
	}
	b.Start()
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// BenchmarkCoreDurable is BenchmarkCore with durable messages on a real disk.
func BenchmarkCoreDurable(b *testing.B) {
	br := onDisk(b)
	addr := serve(b, br)
	load(b, addr, "bench", 10_000, 1000, 1024, true)
	b.ReportAllocs()
	b.ResetTimer()
	load(b, addr, "bench", b.N, 1000, 1024, true)
}

// BenchmarkCoreClosedLoop sends one message, waits for it, and sends the next.
func BenchmarkCoreClosedLoop(b *testing.B) {
	for _, durable := range []bool{false, true} {
		b.Run(map[bool]string{false: "nondurable", true: "durable"}[durable], func(b *testing.B) {
			addr := serve(b, onDisk(b))
			b.ResetTimer()
			load(b, addr, "bench", b.N, 1, 1024, durable)
		})
	}
}
