package config

import (
	"os"
	"reflect"
	"sort"
	"strings"
	"testing"
)

// elementPaths lists every element and attribute path below core, with the
// present names only.
func elementPaths(s *spec, t reflect.Type, under string, out map[string]bool) {
	visit := func(name string, c *spec) {
		path := join(under, name)
		if c.current != "" {
			return
		}
		if c.field == nil {
			elementPaths(c, t, path, out)
			return
		}
		out[path] = true
		ft := elemType(c.field.typ)
		if ft.Kind() == reflect.Slice {
			ft = ft.Elem()
		}
		if ft.Kind() == reflect.Struct {
			elementPaths(specOf(ft), ft, path, out)
		} else if len(c.children)+len(c.attrs) > 0 {
			elementPaths(c, t, path, out)
		}
	}
	for name, c := range s.children {
		visit(name, c)
	}
	for name, c := range s.attrs {
		visit("@"+name, c)
	}
}

func allPaths() map[string]bool {
	out := map[string]bool{}
	t := reflect.TypeFor[Config]()
	elementPaths(specOf(t), t, "", out)
	return out
}

func TestEveryElementHasAnEffect(t *testing.T) {
	paths := allPaths()
	for path := range paths {
		if effectOf(path) == nil {
			t.Errorf("element %s is not in the table", path)
		}
	}
	for _, row := range Elements() {
		known := paths[row.Path]
		for path := range paths {
			known = known || strings.HasPrefix(path, row.Path+"/")
		}
		if !known && row.Path != "diverts/divert/transformer-class-name" {
			t.Errorf("row %s is no element", row.Path)
		}
		if row.Effect == Refused && (row.used == nil || row.Note == "") {
			t.Errorf("row %s has no test or no remedy", row.Path)
		}
		if row.Effect == WithoutEffect && row.Note == "" {
			t.Errorf("row %s has no reason", row.Path)
		}
	}
	if len(paths) < 300 {
		t.Errorf("only %d elements", len(paths))
	}
}

// clusterXML is a cluster connection to another node, with more in it.
func clusterXML(more string) string {
	return `<cluster-password>x</cluster-password><connectors><connector name="c">tcp://h:1</connector></connectors><cluster-connections><cluster-connection name="c"><connector-ref>c</connector-ref>` + more + `<static-connectors><connector-ref>c</connector-ref></static-connectors></cluster-connection></cluster-connections>`
}

// A piece of XML below core for each refused row, with what it needs around it.
var refusedXML = map[string]string{
	"store/database-store": `<store><database-store><message-table-name>M</message-table-name><bindings-table-name>B</bindings-table-name><large-message-table-name>L</large-message-table-name><page-store-table-name>P</page-store-table-name></database-store></store>`,
	"cluster-connections/cluster-connection/message-load-balancing":    clusterXML(`<message-load-balancing>OFF_WITH_REDISTRIBUTION</message-load-balancing>`),
	"cluster-connections/cluster-connection/forward-when-no-consumers": ``,
	"cluster-connections/cluster-connection/@uri":                      `<cluster-password>x</cluster-password><cluster-connections><cluster-connection name="c" uri="static:(tcp://h:1)"><connector-ref>c</connector-ref></cluster-connection></cluster-connections>`,
	"cluster-connections/cluster-connection-uri":                       `<cluster-password>x</cluster-password><cluster-connections><cluster-connection-uri name="c" address="static:(tcp://h:1)"/></cluster-connections>`,
	"broadcast-groups/broadcast-group/jgroups-file":                    `<broadcast-groups><broadcast-group name="g"><jgroups-file>f</jgroups-file><jgroups-channel>c</jgroups-channel><connector-ref>c</connector-ref></broadcast-group></broadcast-groups>`,
	"broadcast-groups/broadcast-group/jgroups-channel":                 ``,
	"discovery-groups/discovery-group/jgroups-file":                    `<discovery-groups><discovery-group name="g"><jgroups-file>f</jgroups-file><jgroups-channel>c</jgroups-channel></discovery-group></discovery-groups>`,
	"discovery-groups/discovery-group/jgroups-channel":                 ``,
	"address-settings/address-setting/redistribution-delay":            clusterXML(`<message-load-balancing>OFF</message-load-balancing>`) + `<address-settings><address-setting match="#"><redistribution-delay>0</redistribution-delay></address-setting></address-settings>`,
	"grouping-handler":                          `<grouping-handler name="g"><type>REMOTE</type><address>jms</address></grouping-handler>`,
	"ha-policy/primary-only/scale-down":         `<ha-policy><primary-only><scale-down><enabled>true</enabled></scale-down></primary-only></ha-policy>`,
	"ha-policy/replication/backup/scale-down":   `<ha-policy><replication><backup><scale-down/></backup></replication></ha-policy>`,
	"ha-policy/replication/colocated":           `<ha-policy><replication><colocated/></replication></ha-policy>`,
	"ha-policy/shared-store/backup/scale-down":  `<ha-policy><shared-store><slave><scale-down/></slave></shared-store></ha-policy>`,
	"ha-policy/shared-store/colocated":          `<ha-policy><shared-store><colocated/></shared-store></ha-policy>`,
	"lock-coordinators/lock-coordinator":        `<lock-coordinators><lock-coordinator name="l"><class-name>C</class-name></lock-coordinator></lock-coordinators>`,
	"acceptors/acceptor/@lock-coordinator":      `<acceptors><acceptor name="a" lock-coordinator="l">tcp://h:1</acceptor></acceptors>`,
	"bridges/bridge":                            `<bridges><bridge name="b"><queue-name>q</queue-name><static-connectors><connector-ref>c</connector-ref></static-connectors></bridge></bridges>`,
	"federations/federation":                    `<federations><federation name="f"/></federations>`,
	"broker-connections/amqp-connection":        `<broker-connections><amqp-connection uri="tcp://h:1" name="x"/></broker-connections>`,
	"connection-routers/connection-router":      `<connection-routers><connection-router name="r"><key-type>CLIENT_ID</key-type></connection-router></connection-routers>`,
	"connector-services/connector-service":      `<connector-services><connector-service name="s"><factory-class>C</factory-class></connector-service></connector-services>`,
	"remoting-incoming-interceptors/class-name": `<remoting-incoming-interceptors><class-name>C</class-name></remoting-incoming-interceptors>`,
	"remoting-outgoing-interceptors/class-name": `<remoting-outgoing-interceptors><class-name>C</class-name></remoting-outgoing-interceptors>`,
	"broker-plugins/broker-plugin":              `<broker-plugins><broker-plugin class-name="C"><property key="k" value="v"/></broker-plugin></broker-plugins>`,
	"security-settings/security-setting-plugin": `<security-settings><security-setting-plugin class-name="C"><setting name="k" value="v"/></security-setting-plugin></security-settings>`,
	"diverts/divert/transformer":                `<diverts><divert name="d"><address>a</address><forwarding-address>b</forwarding-address><transformer-class-name>C</transformer-class-name></divert></diverts>`,
	"diverts/divert/transformer-class-name":     ``,
}

// What looks like a refused element but must be accepted.
var acceptedXML = []string{
	`<ha-policy><live-only><scale-down><enabled>false</enabled></scale-down></live-only></ha-policy>`,
	`<bridges/>`,
	`<grouping-handler name="g"><type>LOCAL</type><address>jms</address></grouping-handler>`,
	`<cluster-password>x</cluster-password><connectors><connector name="c">tcp://h:1</connector></connectors><cluster-connections><cluster-connection name="c"><connector-ref>c</connector-ref></cluster-connection></cluster-connections>`,
	clusterXML(`<message-load-balancing>OFF</message-load-balancing>`) + `<address-settings><address-setting match="#"><redistribution-delay>-1</redistribution-delay></address-setting></address-settings>`,
	`<address-settings><address-setting match="#"><redistribution-delay>0</redistribution-delay></address-setting></address-settings>`,
	`<discovery-groups><discovery-group name="g"><group-address>231.7.7.7</group-address><group-port>9876</group-port></discovery-group></discovery-groups>`,
	`<broker-plugins><broker-plugin class-name="org.apache.activemq.artemis.core.server.plugin.impl.LoggingActiveMQServerPlugin"/></broker-plugins>`,
	`<diverts><divert name="d"><address>a</address><forwarding-address>b</forwarding-address><transformer><class-name>` + AddHeaders + `</class-name><property key="k" value="v"/></transformer></divert></diverts>`,
	`<address-settings><address-setting match="#"><retroactive-message-count>1</retroactive-message-count></address-setting></address-settings>`,
	`<store><file-store/></store>`,
}

func coreXML(inner string) string {
	return `<configuration xmlns="urn:activemq" xmlns:xi="http://www.w3.org/2001/XInclude">` + "\n" + `<core xmlns="urn:activemq:core">` + "\n" + inner + "\n</core></configuration>"
}

func TestRefusedElementsStopTheStart(t *testing.T) {
	for _, row := range Elements() {
		if row.Effect != Refused {
			continue
		}
		xml, ok := refusedXML[row.Path]
		if !ok {
			t.Errorf("no example for refused %s", row.Path)
			continue
		}
		if xml == "" {
			continue
		}
		_, _, err := ParseBroker("b.xml", coreXML(xml), nil)
		errs, _ := err.(Errors)
		if len(errs) != 1 || errs[0].Element != row.Path || errs[0].Line != 3 || errs[0].Remedy == "" {
			t.Errorf("%s: %v", row.Path, err)
		}
	}
	for _, xml := range acceptedXML {
		if _, _, err := ParseBroker("b.xml", coreXML(xml), nil); err != nil {
			t.Errorf("%s: %v", xml, err)
		}
	}
}

// TestBalancing: which cluster connections would move messages, which no node does yet. The only other refusals here are those
// of HA policies.
func TestBalancing(t *testing.T) {
	const pair, shared, alone = `<ha-policy><replication><primary/></replication></ha-policy>`, `<ha-policy><shared-store><backup/></shared-store></ha-policy>`, `<ha-policy><primary-only/></ha-policy>`
	const element = "cluster-connections/cluster-connection/message-load-balancing"
	for _, c := range []struct {
		policy, more string
		refused      bool
	}{
		{"", "", true},
		{alone, "", true},
		{alone, "<message-load-balancing>OFF</message-load-balancing>", false},
		{alone, "<message-load-balancing>ON_DEMAND</message-load-balancing>", true},
		{pair, "", false},
		{pair, "<message-load-balancing>ON_DEMAND</message-load-balancing>", false},
		{pair, "<message-load-balancing>OFF</message-load-balancing>", false},
		{pair, "<message-load-balancing>STRICT</message-load-balancing>", true},
		{pair, "<message-load-balancing>OFF_WITH_REDISTRIBUTION</message-load-balancing>", true},
		{pair, "<forward-when-no-consumers>true</forward-when-no-consumers>", true},
		{pair, "<forward-when-no-consumers>false</forward-when-no-consumers>", false},
		{shared, "", false},
		{shared, "<message-load-balancing>STRICT</message-load-balancing>", true},
	} {
		_, _, err := ParseBroker("b.xml", coreXML(c.policy+clusterXML(c.more)), nil)
		refused := false
		errs, _ := err.(Errors)
		for _, e := range errs {
			switch {
			case e.Element == element && e.Line == 3 && e.File == "b.xml":
				refused = true
			case !strings.HasPrefix(e.Element, "ha-policy/"):
				t.Errorf("%+v: %v", c, e)
			}
		}
		if refused != c.refused {
			t.Errorf("%+v: refused %v", c, refused)
		}
	}
}

func TestElementsWithoutEffectAreNamedOnce(t *testing.T) {
	xml := `<journal-max-io>1</journal-max-io><journal-buffer-timeout>0</journal-buffer-timeout><name>x</name>
<address-settings><address-setting match="a"><page-size-bytes>1M</page-size-bytes></address-setting>
<address-setting match="b"><page-size-bytes>1M</page-size-bytes></address-setting></address-settings>`
	_, warns, err := ParseBroker("b.xml", coreXML(xml), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range warns {
		if w.Kind == NoEffect {
			got = append(got, w.Element)
		}
	}
	sort.Strings(got)
	if want := "address-settings/address-setting/page-size-bytes journal-buffer-timeout journal-max-io"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestDefaultClusterPasswordStopsTheStart(t *testing.T) {
	const cluster = `<connectors><connector name="c">tcp://h:1</connector></connectors><cluster-connections><cluster-connection name="c"><connector-ref>c</connector-ref></cluster-connection></cluster-connections>`
	for _, xml := range []string{cluster, `<cluster-password>CHANGE ME!!</cluster-password>` + cluster} {
		_, _, err := ParseBroker("b.xml", coreXML(xml), nil)
		errs, _ := err.(Errors)
		if len(errs) != 1 || errs[0].Element != "cluster-password" || errs[0].Line != 3 {
			t.Errorf("%v", err)
		}
	}
}

// The part of docs/COMPAT.md between the markers is what ElementTable prints. Run
// with CONFIG_TABLE=write to bring it up to date.
func TestCompatTable(t *testing.T) {
	const file, begin, end = "../../docs/COMPAT.md", "<!-- config-table:begin -->\n", "<!-- config-table:end -->"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	have, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no config-table markers", file)
	}
	if have == ElementTable() {
		return
	}
	if os.Getenv("CONFIG_TABLE") == "write" {
		if err := os.WriteFile(file, []byte(before+begin+ElementTable()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("the config table in %s is not up to date: run CONFIG_TABLE=write go test ./broker/config -run TestCompatTable", file)
}

// Every list of structs has a field that broker properties can name entries by.
func TestListsHaveKeys(t *testing.T) {
	var walk func(reflect.Type)
	walk = func(ty reflect.Type) {
		switch ty.Kind() {
		case reflect.Pointer:
			walk(ty.Elem())
		case reflect.Slice:
			if ty.Elem().Kind() == reflect.Struct {
				keyField(reflect.New(ty.Elem()).Elem()) // panics if there is none
				walk(ty.Elem())
			}
		case reflect.Struct:
			for i := range ty.NumField() {
				if ty.Field(i).IsExported() && ty != reflect.TypeFor[TransportURL]() {
					walk(ty.Field(i).Type)
				}
			}
		}
	}
	walk(reflect.TypeFor[Config]())
}
