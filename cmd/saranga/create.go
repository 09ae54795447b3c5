package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/broker/config/create"
	"github.com/saranga-mq/saranga/broker/security"
)

// creation is a run of the create command.
type creation struct {
	o    create.Options
	jdbc create.JDBC

	password                                  string
	allowAnonymous, requireLogin              bool
	autoCreate, paging                        bool
	nio, aio, mapped, useJDBC, slave          bool
	noAutotune, force, silent, linux, verbose bool
	securityManager                           string

	cmd *cobra.Command
	ask *prompter
}

func createCommand() *cobra.Command {
	c := &creation{}
	cmd := &cobra.Command{
		Use:   "create <directory>",
		Short: "Create a broker instance.",
		Args:  exactly("directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.cmd = cmd
			return c.run(args[0])
		},
	}
	f, o := cmd.Flags(), &c.o
	f.StringVar(&o.Name, "name", "", "name of the broker (default: the host)")
	f.StringVar(&o.Host, "host", "", "host that the acceptors bind to (default: 0.0.0.0)")
	f.IntVar(&o.DefaultPort, "default-port", 61616, "port of the main acceptor")
	f.IntVar(&o.PortOffset, "port-offset", 0, "number added to all ports")
	f.StringVar(&o.HTTPHost, "http-host", "localhost", "host of the console")
	f.IntVar(&o.HTTPPort, "http-port", 8161, "port of the console")
	f.BoolVar(&o.NoWeb, "no-web", false, "leave the console out")
	f.BoolVar(&o.RelaxJolokia, "relax-jolokia", false, "don't check where requests to the management bridge come from")
	f.StringVar(&o.SSLKey, "ssl-key", "", "key store of the console")
	f.StringVar(&o.SSLKeyPassword, "ssl-key-password", "", "its password")
	f.StringVar(&o.SSLTrust, "ssl-trust", "", "trust store of the console")
	f.StringVar(&o.SSLTrustPassword, "ssl-trust-password", "", "its password")
	f.BoolVar(&o.UseClientAuth, "use-client-auth", false, "ask browsers for a certificate")

	f.StringVar(&o.User, "user", "", "name of the first user")
	f.StringVar(&c.password, "password", "", "its password")
	f.StringVar(&o.Role, "role", "amq", "its roles (comma list)")
	f.BoolVar(&c.allowAnonymous, "allow-anonymous", false, "let clients without a login in as the first user")
	f.BoolVar(&c.requireLogin, "require-login", false, "let no client in without a login")
	f.StringVar(&c.securityManager, "security-manager", "jaas", "jaas, or basic: users are kept in the bindings journal")

	f.StringVar(&o.Data, "data", "data", "data folder")
	f.StringVar(&o.Etc, "etc", "etc", "configuration folder")
	f.StringVar(&o.Home, "home", os.Getenv("ARTEMIS_HOME"), "folder recorded as ARTEMIS_HOME")
	f.StringVar(&o.Encoding, "encoding", "UTF-8", "encoding of text files")
	f.BoolVar(&c.force, "force", false, "overwrite an instance")

	f.BoolVar(&c.nio, "nio", false, "journal type NIO")
	f.BoolVar(&c.aio, "aio", false, "journal type ASYNCIO")
	f.BoolVar(&c.mapped, "mapped", false, "journal type MAPPED")
	f.BoolVar(&o.NoFsync, "no-fsync", false, "don't sync the journal: what was acknowledged may be lost")
	f.BoolVar(&c.noAutotune, "no-autotune", false, "don't measure the disk")
	f.IntVar(&o.JournalMaxIO, "journal-max-io", 4096, "pending writes of an ASYNCIO journal")
	f.IntVar(&o.JournalDeviceBlockSize, "journal-device-block-size", 4096, "block size of the disk in bytes")
	f.IntVar(&o.JournalRetention, "journal-retention", 0, "days to keep old journal files")
	f.StringVar(&o.JournalRetentionMaxBytes, "journal-retention-max-bytes", "", "size of old journal files to keep")
	f.BoolVar(&o.DisablePersistence, "disable-persistence", false, "keep nothing on disk")
	f.BoolVar(&o.PurgePageFolders, "purge-page-folders", false, "remove empty page folders at start")

	f.BoolVar(&c.paging, "paging", false, "full addresses write pages (the default)")
	f.BoolVar(&o.Blocking, "blocking", false, "full addresses block their producers")
	f.BoolVar(&c.autoCreate, "autocreate", false, "create queues and addresses when they are used (the default)")
	f.BoolVar(&o.NoAutoCreate, "no-autocreate", false, "don't")
	f.BoolVar(&o.AutoDelete, "autodelete", false, "delete them when they are no longer used")
	f.StringVar(&o.Queues, "queues", "", "queues to create: name or name:multicast (comma list)")
	f.StringVar(&o.Addresses, "addresses", "", "addresses to create: name or name:anycast (comma list)")
	f.StringVar(&o.GlobalMaxSize, "global-max-size", "", "bytes that all messages in memory may take")
	f.Int64Var(&o.GlobalMaxMessages, "global-max-messages", -1, "number of messages that may be in memory")

	f.BoolVar(&o.NoAMQPAcceptor, "no-amqp-acceptor", false, "no acceptor of its own for AMQP")
	f.BoolVar(&o.NoSTOMPAcceptor, "no-stomp-acceptor", false, "no acceptor of its own for STOMP")
	f.BoolVar(&o.NoMQTTAcceptor, "no-mqtt-acceptor", false, "no acceptor of its own for MQTT")
	f.BoolVar(&o.NoHornetQAcceptor, "no-hornetq-acceptor", false, "no acceptor of its own for HornetQ")
	f.BoolVar(&o.SupportAdvisory, "support-advisory", false, "send advisories to OpenWire clients")
	f.BoolVar(&o.SuppressInternalManagementObjects, "suppress-internal-management-objects", false, "don't show internal resources in management")

	f.BoolVar(&o.Clustered, "clustered", false, "make the broker part of a cluster")
	f.StringVar(&o.ClusterUser, "cluster-user", "", "user of the cluster")
	f.StringVar(&o.ClusterPassword, "cluster-password", "", "its password")
	f.StringVar(&o.StaticCluster, "static-cluster", "", "URIs of the other nodes (comma list)")
	f.StringVar(&o.StaticCluster, "staticCluster", "", "URIs of the other nodes (comma list)")
	f.IntVar(&o.MaxHops, "max-hops", 0, "nodes that a message may travel over")
	f.StringVar(&o.MessageLoadBalancing, "message-load-balancing", "ON_DEMAND", "ON_DEMAND, STRICT, OFF or OFF_WITH_REDISTRIBUTION")
	f.BoolVar(&o.Replicated, "replicated", false, "replicate the data to a backup")
	f.BoolVar(&o.SharedStore, "shared-store", false, "share the data with a backup")
	f.BoolVar(&o.Backup, "backup", false, "the instance is the backup")
	f.BoolVar(&c.slave, "slave", false, "the instance is the backup")
	f.BoolVar(&o.FailoverOnShutdown, "failover-on-shutdown", false, "the backup takes over after a stop, too")

	f.StringArrayVar(&o.QuorumMembers, "quorum-member", nil, "a founder of the quorum, as ID=HOST:PORT; once for each, the same for all instances")
	f.StringVar(&o.QuorumID, "quorum-id", "", "which of them this instance is")
	f.StringVar(&o.QuorumCluster, "quorum-cluster", "", "name of the quorum (default: "+create.DefaultQuorumCluster+")")
	f.StringVar(&o.QuorumZooKeeper, "quorum-zookeeper", "", "HOST:PORT on which the quorum serves ZooKeeper clients")
	f.StringArrayVar(&o.QuorumZooKeeperAllow, "quorum-zookeeper-allow", nil, "network that these may come from besides this machine")

	f.BoolVar(&c.useJDBC, "jdbc", false, "keep messages in a database")
	f.StringVar(&c.jdbc.ConnectionURL, "jdbc-connection-url", "", "URL of the database")
	f.StringVar(&c.jdbc.DriverClassName, "jdbc-driver-class-name", "org.apache.derby.jdbc.EmbeddedDriver", "class of its driver")
	f.StringVar(&c.jdbc.BindingsTable, "jdbc-bindings-table-name", "BINDINGS", "table of bindings")
	f.StringVar(&c.jdbc.MessageTable, "jdbc-message-table-name", "MESSAGES", "table of messages")
	f.StringVar(&c.jdbc.LargeMessageTable, "jdbc-large-message-table-name", "LARGE_MESSAGES", "table of large messages")
	f.StringVar(&c.jdbc.PageStoreTable, "jdbc-page-store-table-name", "PAGE_STORE", "table of pages")
	f.StringVar(&c.jdbc.NodeManagerTable, "jdbc-node-manager-table-name", "NODE_MANAGER_STORE", "table of the lock")
	f.Int64Var(&c.jdbc.NetworkTimeout, "jdbc-network-timeout", 20000, "ms to wait for the database")
	f.Int64Var(&c.jdbc.LockRenewPeriod, "jdbc-lock-renew-period", 4000, "ms between renewals of the lock")
	f.Int64Var(&c.jdbc.LockExpiration, "jdbc-lock-expiration", 20000, "ms that the lock lasts")

	f.StringVar(&o.Ping, "ping", "", "hosts that must answer for the broker to serve (comma list)")
	f.StringVar(&o.JavaMemory, "java-memory", "2G", "memory; half of it is for messages")
	f.StringArrayVar(&o.JavaOptions, "java-options", nil, "further arguments in artemis.profile, -Dname=value for placeholders")
	f.StringArrayVar(&o.JavaUtilityOptions, "java-utility-options", nil, "the same for commands other than run")
	f.BoolVar(&o.Windows, "windows", false, "write scripts for Windows")
	f.BoolVar(&c.linux, "linux", false, "write scripts for Linux (the default)")
	f.BoolVar(&c.linux, "cygwin", false, "write scripts for Cygwin")
	f.BoolVar(&c.silent, "silent", false, "ask nothing; what is needed and not given gets its default or is an error")
	f.BoolVar(&c.verbose, "verbose", false, "say more")
	hide(cmd, "slave", "staticCluster")
	cmd.MarkFlagsMutuallyExclusive("allow-anonymous", "require-login")
	cmd.MarkFlagsMutuallyExclusive("nio", "aio", "mapped")
	cmd.MarkFlagsMutuallyExclusive("paging", "blocking")
	cmd.MarkFlagsMutuallyExclusive("autocreate", "no-autocreate")
	return cmd
}

// hide keeps options out of the usage.
func hide(cmd *cobra.Command, options ...string) {
	for _, name := range options {
		cmd.Flags().Lookup(name).Hidden = true
	}
}

func (c *creation) run(directory string) error {
	c.ask = newPrompter(c.cmd, c.silent)
	dir, err := filepath.Abs(directory)
	if err != nil {
		return fmt.Errorf("create %s: %w", directory, err)
	}
	c.o.Directory = dir
	if c.o.Saranga, err = os.Executable(); err != nil {
		return fmt.Errorf("create %s: find this program: %w", directory, err)
	}
	if c.slave {
		c.o.Backup = true
	}
	if c.useJDBC {
		c.o.JDBC = &c.jdbc
	}
	if err := c.chooseJournal(); err != nil {
		return err
	}
	if err := c.chooseCluster(); err != nil {
		return err
	}
	generated, err := c.chooseLogin()
	if err != nil {
		return err
	}

	out := c.cmd.OutOrStdout()
	fmt.Fprintf(out, "Creating Saranga instance at: %s\n", dir)
	files, err := create.Plan(c.o)
	if err != nil {
		return err
	}
	if err := c.checkFree(files); err != nil {
		return err
	}
	if !c.noAutotune && !c.o.DisablePersistence && !c.useJDBC {
		c.autotune(out)
		if files, err = create.Plan(c.o); err != nil {
			return err
		}
	}
	if err := create.Apply(files, c.force); err != nil {
		return err
	}
	if generated {
		if err := c.keepPassword(out); err != nil {
			return err
		}
	}
	c.sayWhatNext(out)
	return nil
}

func (c *creation) chooseJournal() error {
	switch {
	case c.nio:
		c.o.Journal = create.NIO
	case c.aio:
		c.o.Journal = create.AIO
	case c.mapped:
		c.o.Journal = create.Mapped
	}
	switch strings.ToLower(c.securityManager) {
	case "jaas":
	case "basic":
		c.o.BasicSecurity = true
	default:
		return usageError(fmt.Sprintf("Invalid value for option '--security-manager': '%s' is neither jaas nor basic", c.securityManager))
	}
	return nil
}

func (c *creation) chooseCluster() (err error) {
	o := &c.o
	if !o.Clustered && o.StaticCluster == "" && !o.Replicated && !o.SharedStore {
		return nil
	}
	if o.Host == "" && !c.silent {
		if o.Host, err = c.ask.text("--host", "Other nodes connect to this one: which of its hosts should they use?", ""); err != nil {
			return err
		}
	}
	if o.ClusterUser == "" {
		if o.ClusterUser, err = c.ask.text("--cluster-user", "What is the user of the cluster, the same on all nodes?", ""); err != nil {
			return err
		}
	}
	if o.ClusterPassword == "" {
		o.ClusterPassword, err = c.ask.secret("--cluster-password", "What is its password?", "")
	}
	return err
}

// chooseLogin settles the first user. generated tells that its password was made here.
func (c *creation) chooseLogin() (generated bool, err error) {
	o := &c.o
	if o.User == "" {
		if o.User, err = c.ask.text("--user", "What is the name of the first user?", "admin"); err != nil {
			return false, err
		}
	}
	if c.password == "" && !c.silent {
		if c.password, err = c.ask.secret("--password", "What is its password? (empty: a random one)", ""); err != nil {
			return false, err
		}
	}
	if c.password == "" {
		c.password, generated = rand.Text(), true
	}
	if o.PasswordHash, err = security.HashPassword(c.password); err != nil {
		return false, fmt.Errorf("create %s: %w", o.Directory, err)
	}
	o.AllowAnonymous = c.allowAnonymous
	if !c.allowAnonymous && !c.requireLogin {
		o.AllowAnonymous, err = c.ask.yes("--allow-anonymous | --require-login", "Allow anonymous access?", true)
	}
	return generated, err
}

// checkFree refuses to write over an instance before anything is done in its place.
func (c *creation) checkFree(files []create.File) error {
	for _, f := range files {
		if c.force || filepath.Base(f.Path) != "login.config" {
			continue
		}
		if _, err := os.Lstat(f.Path); !errors.Is(err, os.ErrNotExist) {
			return &create.Exists{Path: f.Path}
		}
	}
	return nil
}

// passwordFile is where a password that nobody chose is kept, in the etc folder.
const passwordFile = "initial-password"

func (c *creation) keepPassword(out io.Writer) error {
	etc := c.o.Etc
	if !filepath.IsAbs(etc) {
		etc = filepath.Join(c.o.Directory, etc)
	}
	path := filepath.Join(etc, passwordFile)
	if err := os.WriteFile(path, []byte(c.password+"\n"), 0o600); err != nil {
		return fmt.Errorf("create %s: keep the password: %w", c.o.Directory, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return fmt.Errorf("create %s: keep the password: %w", c.o.Directory, err)
	}
	fmt.Fprintf(out, "\nThe password of user %s is %s (kept in %s, which only its owner can read).\n", c.o.User, c.password, path)
	return nil
}

func (c *creation) sayWhatNext(out io.Writer) {
	bin := filepath.Join(c.o.Directory, "bin")
	if c.o.AllowAnonymous && !c.o.BasicSecurity {
		fmt.Fprintf(out, "\nWARNING: clients without a login are let in as user %s, who may do everything (role %s).\n"+
			"Create the instance with --require-login, or remove GuestLoginModule from login.config, to change that.\n", c.o.User, c.o.Role)
	}
	if c.useJDBC {
		fmt.Fprint(out, "\nWARNING: the instance keeps messages in a database, which only Artemis itself can do.\n")
	}
	c.sayQuorum(out)
	script, service := filepath.Join(bin, "artemis"), filepath.Join(bin, "artemis-service")
	fmt.Fprintf(out, "\nYou can now start the broker by executing:  \n\n   \"%s\" run\n", script)
	if c.o.Windows {
		return
	}
	fmt.Fprintf(out, "\nOr you can run the broker in the background using:\n\n   \"%s\" start\n\n", service)
}
