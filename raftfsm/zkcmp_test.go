package raftfsm

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

func BenchmarkZooKeeper(b *testing.B) {
	for _, port := range []string{"63181", "63182", "63183"} {
		b.Run(port, func(b *testing.B) {
			c, _, err := zk.Connect([]string{"127.0.0.1:" + port}, 10*time.Second, zk.WithLogInfo(false))
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			acl := zk.WorldACL(zk.PermAll)
			_, _ = c.Create("/locks", nil, 0, acl)
			_, _ = c.Create("/leases", nil, 0, acl)
			b.ResetTimer()
			for b.Loop() {
				m, err := c.Create("/locks/m-", []byte("127.0.0.1"), 3, acl)
				if err != nil {
					b.Fatal(err)
				}
				_, _, _ = c.Children("/locks")
				l, err := c.Create("/leases/l-", []byte("7d444840-9dc0-11d1-b245-5ffdce74fad2"), 3, acl)
				if err != nil {
					b.Fatal(err)
				}
				_, _, _ = c.Children("/leases")
				_ = c.Delete(m, -1)
				_ = c.Delete(l, -1)
			}
		})
	}
}
