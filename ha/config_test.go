package ha

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/saranga-mq/saranga/broker/config"
)

// instance parses a broker.xml with that content of core. What this broker refuses as a whole is let through, as for tools.
func instance(t *testing.T, core string) *config.Instance {
	t.Helper()
	file := filepath.Join(t.TempDir(), "broker.xml")
	text := "<configuration xmlns=\"urn:activemq\">\n<core xmlns=\"urn:activemq:core\">\n" + core + "\n</core>\n</configuration>\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := config.ParseBroker(file, text, nil)
	var all config.Errors
	if errors.As(err, &all) {
		for _, e := range all {
			if e.Problem != "is not supported by this broker" {
				t.Fatal(err)
			}
		}
	} else if err != nil {
		t.Fatal(err)
	}
	return &config.Instance{BrokerFile: file, Broker: c}
}

const clustered = `<cluster-password>secret</cluster-password>
<connectors><connector name="a">tcp://127.0.0.1:61616</connector></connectors>
<cluster-connections>
<cluster-connection name="one"><connector-ref>a</connector-ref><retry-interval>700</retry-interval></cluster-connection>
<cluster-connection name="two"><connector-ref>a</connector-ref></cluster-connection>
</cluster-connections>
`

func TestFromConfig(t *testing.T) {
	votes := Voting{Size: -1, Retries: 12, RetryWait: 5 * time.Second, Wait: 30 * time.Second}
	base := ReplicationPolicy{RetryInterval: 700 * time.Millisecond, RetryReplicationWait: 5 * time.Second, InitialSyncTimeout: 30 * time.Second, MaxSavedReplicas: 2, Voting: votes}
	with := func(change func(*ReplicationPolicy)) ReplicationPolicy {
		p := base
		change(&p)
		return p
	}
	curator := &LockManager{Class: "org.apache.activemq.artemis.lockmanager.zookeeper.CuratorDistributedLockManager"}
	// Defaults and names: spec ha §1.1.
	for name, c := range map[string]struct {
		xml  string
		want Policy
		name string
	}{
		"none":         {"", SharedStorePolicy{Alone: true, WaitForActivation: true}, "Primary Only"},
		"live-only":    {"<ha-policy><live-only/></ha-policy>", SharedStorePolicy{Alone: true, WaitForActivation: true}, "Primary Only"},
		"primary-only": {"<ha-policy><primary-only><scale-down><enabled>false</enabled></scale-down></primary-only></ha-policy>", SharedStorePolicy{Alone: true, WaitForActivation: true}, "Primary Only"},
		"LP":           {"<ha-policy><replication><primary/></replication></ha-policy>", base, "Replication Primary w/quorum voting"},
		"LP, all options and old names": {`<ha-policy><replication><master><group-name>g</group-name><cluster-name>two</cluster-name>
			<max-saved-replicated-journals-size>-1</max-saved-replicated-journals-size><check-for-live-server>true</check-for-live-server>
			<initial-replication-sync-timeout>4000</initial-replication-sync-timeout><vote-on-replication-failure>true</vote-on-replication-failure>
			<quorum-size>3</quorum-size><vote-retries>4</vote-retries><vote-retry-wait>6000</vote-retry-wait><quorum-vote-wait>7</quorum-vote-wait>
			<retry-replication-wait>8000</retry-replication-wait><manager/></master></replication></ha-policy>`,
			ReplicationPolicy{GroupName: "g", ClusterName: "two", RetryInterval: 500 * time.Millisecond, RetryReplicationWait: 8 * time.Second, InitialSyncTimeout: 4 * time.Second,
				MaxSavedReplicas: -1, Voting: Voting{CheckForActive: true, OnLoss: true, Size: 3, Retries: 4, RetryWait: 6 * time.Second, Wait: 7 * time.Second}},
			"Replication Primary w/quorum voting"},
		"LB": {"<ha-policy><replication><slave/></replication></ha-policy>", with(func(p *ReplicationPolicy) { p.Backup, p.AllowFailback = true, true }), "Replication Backup w/quorum voting"},
		"QP": {`<ha-policy><replication><primary><coordination-id>abc</coordination-id><manager><properties><property key="namespace" value="n"/></properties></manager></primary></replication></ha-policy>`,
			with(func(p *ReplicationPolicy) {
				p.Voting, p.RetryReplicationWait, p.CoordinationID = Voting{}, 2*time.Second, "abc+" // as Artemis makes it even
				p.Manager = &LockManager{curator.Class, map[string]string{"namespace": "n"}}
			}), "Replication Primary w/lock manager"},
		"QB": {"<ha-policy><replication><backup><allow-failback>false</allow-failback><manager><class-name>c</class-name></manager></backup></replication></ha-policy>",
			with(func(p *ReplicationPolicy) {
				p.Voting, p.RetryReplicationWait, p.Backup, p.Manager = Voting{}, 2*time.Second, true, &LockManager{Class: "c"}
			}), "Replication Backup w/lock manager"},
		"SP": {"<ha-policy><shared-store><master><failover-on-shutdown>true</failover-on-shutdown><wait-for-activation>false</wait-for-activation></master></shared-store></ha-policy>",
			SharedStorePolicy{FailoverOnShutdown: true}, "Shared Store Primary"},
		"SB":      {"<ha-policy><shared-store><slave/></shared-store></ha-policy>", SharedStorePolicy{Backup: true, AllowFailback: true, RestartBackup: true}, "Shared Store Backup"},
		"SB, off": {"<ha-policy><shared-store><backup><allow-failback>false</allow-failback><restart-backup>false</restart-backup><failover-on-shutdown>true</failover-on-shutdown></backup></shared-store></ha-policy>", SharedStorePolicy{Backup: true, FailoverOnShutdown: true}, "Shared Store Backup"},
	} {
		got, err := FromConfig(instance(t, clustered+c.xml))
		if err != nil || !reflect.DeepEqual(got, c.want) || got.Name() != c.name {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
}

func TestFromConfigWithoutCluster(t *testing.T) {
	// Artemis looks for a node with its id only if there is a cluster to ask; the primary is active without a replica.
	got, err := FromConfig(instance(t, "<ha-policy><replication><primary><check-for-active-server>true</check-for-active-server></primary></replication></ha-policy>"))
	if p, ok := got.(ReplicationPolicy); err != nil || !ok || p.Voting.CheckForActive {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFromConfigRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		xml, element string
		line         int
	}{
		"colocated":         {"<ha-policy>\n<replication>\n<colocated/></replication></ha-policy>", "ha-policy/replication/colocated", 5},
		"no cluster":        {"<ha-policy>\n<replication>\n<slave/></replication></ha-policy>", "ha-policy/replication/backup", 5},
		"bad cluster-name":  {clustered + "<ha-policy><replication>\n<primary>\n<cluster-name>three</cluster-name></primary></replication></ha-policy>", "ha-policy/replication/primary/cluster-name", 11},
		"backup scale-down": {clustered + "<ha-policy><shared-store><backup>\n<scale-down/></backup></shared-store></ha-policy>", "ha-policy/shared-store/backup/scale-down", 10},
		"scale-down":        {"<ha-policy><live-only>\n<scale-down/></live-only></ha-policy>", "ha-policy/primary-only/scale-down", 4},
	} {
		in := instance(t, c.xml)
		_, err := FromConfig(in)
		var e *config.Error
		if !errors.As(err, &e) || e.Element != c.element || e.Line != c.line || e.File != in.BrokerFile || e.Problem == "" || e.Remedy == "" {
			t.Errorf("%s: %v, want %s at line %d", name, err, c.element, c.line)
		}
	}
}
