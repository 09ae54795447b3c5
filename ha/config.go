package ha

import (
	"fmt"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/ha/quorum"
)

// FromConfig makes the policy that an instance's ha-policy asks for; none is a primary without a backup. What is wrong or
// not built is a *config.Error with file, line and element.
//
// Source: spec ha §1.1; Artemis FileConfigurationParser, ConfigurationUtils.getHAPolicy.
func FromConfig(in *config.Instance) (Policy, error) {
	c := in.Broker
	p := parser{in: in}
	switch h := &c.HAPolicy; h.Kind() {
	case config.ReplicationPrimaryLock, config.ReplicationPrimaryVoting:
		return p.primary(h.Replication.Primary)
	case config.ReplicationBackupLock, config.ReplicationBackupVoting:
		return p.backup(h.Replication.Backup)
	case config.SharedStorePrimary:
		s := h.SharedStore.Primary
		return SharedStorePolicy{FailoverOnShutdown: s.FailoverOnShutdown, WaitForActivation: s.WaitForActivation}, nil
	case config.SharedStoreBackup:
		s := h.SharedStore.Backup
		if err := p.noScaleDown(s.ScaleDown, "ha-policy/shared-store/backup|slave/scale-down"); err != nil {
			return nil, err
		}
		return SharedStorePolicy{Backup: true, FailoverOnShutdown: s.FailoverOnShutdown, AllowFailback: s.AllowFailback, RestartBackup: s.RestartBackup}, nil
	case config.Colocated:
		path := "ha-policy/replication/colocated"
		if h.SharedStore != nil && h.SharedStore.Colocated != nil {
			path = "ha-policy/shared-store/colocated"
		}
		return nil, p.fault(path, "colocated backups aren't built yet", "run the backup as a broker of its own")
	}
	if h := c.HAPolicy.PrimaryOnly; h != nil {
		if err := p.noScaleDown(h.ScaleDown, "ha-policy/primary-only|live-only/scale-down"); err != nil {
			return nil, err
		}
	}
	return SharedStorePolicy{Alone: true, WaitForActivation: true}, nil
}

// parser turns the typed tree into policies.
type parser struct{ in *config.Instance }

func (p parser) primary(r *config.ReplicationPrimary) (Policy, error) {
	const path = "ha-policy/replication/primary|master"
	out := ReplicationPolicy{
		GroupName: r.GroupName, ClusterName: r.ClusterName, RetryReplicationWait: r.RetryReplicationWait,
		InitialSyncTimeout: r.InitialReplicationSyncTimeout, MaxSavedReplicas: r.MaxSavedReplicatedJournalsSize,
	}
	alone := len(p.in.Broker.ClusterConnections)+len(p.in.Broker.ClusterURIs) == 0
	if r.Manager != nil {
		out.Manager = manager(r.Manager)
		out.CoordinationID = quorum.CoordinationID(r.CoordinationID)
	} else {
		// Without a cluster nobody can be asked.
		out.Voting = Voting{CheckForActive: r.CheckForActiveServer && !alone, OnLoss: r.VoteOnReplicationFailure, Size: r.QuorumSize,
			Retries: r.VoteRetries, RetryWait: r.VoteRetryWait, Wait: r.QuorumVoteWait}
	}
	if alone {
		return out, nil // active without a replica; nobody can register
	}
	return p.clustered(out, path)
}

func (p parser) backup(r *config.ReplicationBackup) (Policy, error) {
	const path = "ha-policy/replication/backup|slave"
	if err := p.noScaleDown(r.ScaleDown, path+"/scale-down"); err != nil {
		return nil, err
	}
	out := ReplicationPolicy{
		Backup: true, AllowFailback: r.AllowFailback,
		GroupName: r.GroupName, ClusterName: r.ClusterName, RetryReplicationWait: r.RetryReplicationWait,
		InitialSyncTimeout: r.InitialReplicationSyncTimeout, MaxSavedReplicas: r.MaxSavedReplicatedJournalsSize,
	}
	if r.Manager != nil {
		out.Manager = manager(r.Manager)
	} else {
		out.Voting = Voting{OnLoss: r.VoteOnReplicationFailure, Size: r.QuorumSize, Retries: r.VoteRetries, RetryWait: r.VoteRetryWait, Wait: r.QuorumVoteWait}
	}
	return p.clustered(out, path)
}

func manager(m *config.LockManager) *LockManager {
	return &LockManager{Class: m.ClassName, Properties: m.Properties}
}

// clustered finds the cluster-connection that replication uses.
func (p parser) clustered(out ReplicationPolicy, path string) (Policy, error) {
	list := p.in.Broker.ClusterConnections
	for i := range list {
		if out.ClusterName == "" || list[i].Name == out.ClusterName {
			out.RetryInterval = list[i].RetryInterval
			return out, nil
		}
	}
	if out.ClusterName != "" {
		return nil, p.fault(path+"/cluster-name", fmt.Sprintf("there is no cluster-connection %q", out.ClusterName), "name one, or remove the element to use the first")
	}
	if len(p.in.Broker.ClusterURIs) > 0 {
		return out, nil
	}
	return nil, p.fault(path, "replication needs a cluster-connection to find the other node", "add one")
}

func (p parser) noScaleDown(s *config.ScaleDown, path string) error {
	if s == nil || !s.Enabled {
		return nil
	}
	return p.fault(path, "messages can't be moved to another broker yet", "set enabled to false or remove it")
}

func (p parser) fault(path, problem, remedy string) error {
	file, line := config.Find(p.in.BrokerFile, path)
	return &config.Error{File: file, Line: line, Element: newNames(path), Problem: problem, Remedy: remedy}
}

// newNames is the path with the names of now.
func newNames(path string) string {
	var out []byte
	skip := false
	for i := range len(path) {
		switch path[i] {
		case '|':
			skip = true
		case '/':
			skip = false
		}
		if !skip {
			out = append(out, path[i])
		}
	}
	return string(out)
}
