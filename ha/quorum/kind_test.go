package quorum_test

import (
	"strings"
	"testing"

	"github.com/saranga-mq/saranga/ha/quorum"
	"github.com/saranga-mq/saranga/ha/quorum/file"
	"github.com/saranga-mq/saranga/ha/quorum/zookeeper"
)

func TestNew(t *testing.T) {
	type properties = map[string]string
	const old = "org.apache.activemq.artemis.quorum.zookeeper.CuratorDistributedPrimitiveManager"
	folder := t.TempDir()
	for _, c := range []struct {
		class      string
		properties properties
		want       []string // in the error; none: there is no error
	}{
		{"", properties{"connect-string": "h:1"}, nil},
		{quorum.ClassCurator, properties{"connect-string": "h:1,i:2,[::1]:3/root", "namespace": "a", "session-ms": "8000", "session-percent": "50",
			"connection-ms": "1000", "retries": "-1", "retries-ms": "10"}, nil},
		{old, properties{"connect-string": "h"}, nil},
		{quorum.ClassFile, properties{"locks-folder": folder}, nil},
		{"", nil, []string{"connect-string", "missing"}},
		{"", properties{"connect-string": "h:1", "session": "1"}, []string{`"session"`, "connect-string, namespace, session-ms, session-percent, connection-ms, retries, retries-ms"}},
		{"", properties{"connect-string": "h:1", "session-ms": "8s"}, []string{"session-ms", "8s"}},
		{"", properties{"connect-string": "h:1", "session-percent": "101"}, []string{"session-percent", "100"}},
		{"", properties{"connect-string": "h:1", "namespace": "/a"}, []string{"namespace"}},
		{"", properties{"connect-string": "h:port"}, []string{"connect string", "h:port"}},
		{"", properties{"connect-string": "h:1,,i:1"}, []string{"connect string"}},
		{quorum.ClassFile, nil, []string{"locks-folder", "missing"}},
		{quorum.ClassFile, properties{"locks-folder": folder + "/none"}, []string{"locks-folder", "exist"}},
		{quorum.ClassFile, properties{"locks-folder": folder, "connect-string": "h:1"}, []string{"connect-string", "locks-folder"}},
		{"com.acme.Locks", nil, []string{"com.acme.Locks", quorum.ClassCurator, old, quorum.ClassFile}},
	} {
		m, err := quorum.New(c.class, c.properties, zookeeper.Kind(nil), file.Kind())
		if (err == nil) != (c.want == nil) || (m == nil) != (err != nil) {
			t.Errorf("%s %v: %v, %v", c.class, c.properties, m, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s %v: %v does not name %s", c.class, c.properties, err, w)
			}
		}
	}
}
