package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFind(t *testing.T) {
	file := filepath.Join(t.TempDir(), "broker.xml")
	text := "<configuration xmlns=\"urn:activemq\">\n<core xmlns=\"urn:activemq:core\">\n<ha-policy>\n<replication>\n<slave>\n<vote-retries>3</vote-retries>\n</slave>\n</replication>\n</ha-policy>\n</core>\n</configuration>\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"ha-policy":                                       3,
		"ha-policy/replication/backup|slave":              5,
		"ha-policy/replication/backup|slave/vote-retries": 6,
		"ha-policy/replication/backup|slave/group-name":   5, // the element around it
		"ha-policy/shared-store":                          3,
		"paging-directory":                                0,
	} {
		if in, line := Find(file, path); in != file || line != want {
			t.Errorf("%s: %s:%d, want line %d", path, in, line, want)
		}
	}
	if in, line := Find(file+".gone", "ha-policy"); in != file+".gone" || line != 0 {
		t.Errorf("a file that is gone: %s:%d", in, line)
	}
}
