package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseProfile(t *testing.T) {
	const text = `#!/bin/sh
# comment with 'a quote
ARTEMIS_INSTANCE='/opt/my inst'   # trailing
ARTEMIS_ETC_DIR="$ARTEMIS_INSTANCE/etc"
URI=file:${ARTEMIS_INSTANCE}/
if [ -z "$JAVA_ARGS" ]; then
    JAVA_ARGS="-Xms512M -Xmx2G \
      -Da=1 -Db=${ARTEMIS_ETC_DIR}/x -Dempty -Dq=\"z\""
fi
JAVA_ARGS="$JAVA_ARGS -Xmx3g"
export ARTEMIS_CLUSTER_PROPS='-Dc=$not'
if [ "$1" = "run" ]; then :
    DEBUG=run
elif [ -n "$ARTEMIS_INSTANCE" ]; then
    DEBUG=elif
else
    DEBUG=else
fi
if [ "$1" != "run" ]
then
    DEBUG=other
else
    if [ -z "$NOPE" ]; then NESTED=yes; fi
fi
DEFAULT=${NOPE:-dflt}
ulimit -n 100
X=$(date)
export PATH
`
	p, warns := ParseProfile("artemis.profile", text, noEnv)
	for name, want := range map[string]string{
		"ARTEMIS_ETC_DIR": "/opt/my inst/etc", "URI": "file:/opt/my inst/", "DEBUG": "run", "NESTED": "yes", "DEFAULT": "dflt",
	} {
		if p.Vars[name] != want {
			t.Errorf("%s = %q, want %q", name, p.Vars[name], want)
		}
	}
	if want := map[string]string{"a": "1", "b": "/opt/my", "empty": "", "q": `"z"`, "c": "$not"}; !reflect.DeepEqual(p.Properties, want) {
		t.Errorf("properties %v, want %v", p.Properties, want)
	}
	if p.MaxHeap != 3<<30 {
		t.Errorf("heap %d", p.MaxHeap)
	}
	var lines []string
	for _, w := range warns {
		lines = append(lines, w.Problem)
	}
	if len(warns) != 2 || !strings.Contains(lines[0], "ulimit") || warns[0].Line != 26 || !strings.Contains(lines[1], "date") {
		t.Errorf("warnings %v", warns)
	}
	env := func(name string) (string, bool) { return "-Xmx1M -De=2", name == "JAVA_ARGS" }
	p, _ = ParseProfile("artemis.profile", "if [ -z \"$JAVA_ARGS\" ]; then\nJAVA_ARGS=-Xmx9G\nfi\n", env)
	if p.MaxHeap != 1<<20 || p.Properties["e"] != "2" {
		t.Errorf("JAVA_ARGS of the environment: %+v", p)
	}
	if _, warns = ParseProfile("p", "JAVA_ARGS=-Xmxhuge", noEnv); len(warns) != 1 {
		t.Errorf("bad -Xmx: %v", warns)
	}
}
