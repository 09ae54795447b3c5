package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/core/client"
)

const defaultURL = "tcp://localhost:61616"

// connectionFlags are the options of all commands that talk to a broker.
type connectionFlags struct {
	url, acceptor, user, password, clientID, protocol string
	silent, verbose                                   bool
}

func (f *connectionFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.url, "url", defaultURL, "URL of the broker")
	flags.StringVar(&f.acceptor, "acceptor", "", "acceptor in the instance's broker.xml to take the URL from")
	flags.StringVar(&f.user, "user", "", "user")
	flags.StringVar(&f.password, "password", "", "password")
	flags.StringVar(&f.clientID, "clientID", "", "client id")
	flags.StringVar(&f.protocol, "protocol", "CORE", "protocol to use")
	flags.BoolVar(&f.silent, "silent", false, "ask nothing")
	flags.BoolVar(&f.verbose, "verbose", false, "say more")
}

// begin checks the options, completes the URL and says what is run.
func (f *connectionFlags) begin(cmd *cobra.Command) error {
	if !strings.EqualFold(f.protocol, "CORE") {
		return usageError(fmt.Sprintf("Invalid value for option '--protocol': '%s' is not CORE", f.protocol))
	}
	if !cmd.Flag("url").Changed {
		f.url = acceptorURL(cmd, f.acceptor)
	}
	if f.verbose {
		sayCommand(cmd)
	}
	return nil
}

// sayCommand prints what --verbose starts with.
func sayCommand(cmd *cobra.Command) {
	var b strings.Builder
	b.WriteString("Executing " + cmd.CommandPath())
	for _, arg := range commandLine(cmd) {
		b.WriteString(" " + arg)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s \nHome::%s, Instance::%s\n", b.String(), orNull(envHome()), orNull(instanceDir(cmd)))
}

// acceptorURL is the URL of an acceptor of the instance, that named artemis unless another is asked for. Without a
// readable configuration it is the default URL.
func acceptorURL(cmd *cobra.Command, name string) string {
	if name == "" {
		name = "artemis"
	}
	var f instanceFlags
	in, _, err := f.load(cmd, nil, config.Options{Tool: true})
	if err != nil {
		return defaultURL
	}
	a := in.Broker.Acceptor(name)
	if a == nil || a.URL.Scheme != "tcp" {
		return defaultURL
	}
	host := a.URL.Host
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = "localhost"
	}
	return fmt.Sprintf("tcp://%s:%d", host, a.URL.Port)
}

// connect prints the URL and opens a connection, as establish does.
func (f *connectionFlags) connect(cmd *cobra.Command, question string, configure func(*client.Config), open func(context.Context, *client.Conn) error) (*client.Conn, error) {
	fmt.Fprintf(cmd.OutOrStdout(), "Connection brokerURL = %s\n", f.url)
	return f.establish(cmd, question, configure, open)
}

// establish opens a connection, which the caller closes. open makes on it what the command needs, a session mostly,
// which checks the login. After a failure it asks for what may have been wrong and tries once more.
func (f *connectionFlags) establish(cmd *cobra.Command, question string, configure func(*client.Config), open func(context.Context, *client.Conn) error) (*client.Conn, error) {
	conn, err := f.dial(cmd.Context(), configure, open)
	if err == nil {
		return conn, nil
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "Connection failed::%s\n", reason(err))
	if f.silent {
		return nil, exitCode(1)
	}
	ask := newPrompter(cmd, false)
	changed := false
	if !errors.Is(err, core.SecurityException) {
		if f.url, err = ask.text("--url", question+" (e.g. "+defaultURL+")", ""); err != nil {
			return nil, err
		}
		changed = true
	}
	if f.user == "" {
		if f.user, err = ask.text("--user", "Type the username for a retry", ""); err != nil {
			return nil, err
		}
		changed = true
	}
	if f.password == "" {
		if f.password, err = ask.secret("--password", "Type the password for a retry", ""); err != nil {
			return nil, err
		}
		changed = true
	}
	if !changed {
		return nil, exitCode(1)
	}
	conn, err = f.dial(cmd.Context(), configure, open)
	if err != nil {
		return nil, errors.New(reason(err))
	}
	return conn, nil
}

// What a retry is asked for, by commands that manage and by those that send or receive.
const (
	managementRetry = "Type in the connection URL for a retry"
	messagingRetry  = "Type in the broker URL for a retry"
)

// dial connects and opens. configure may change the configuration that the URL gives.
func (f *connectionFlags) dial(ctx context.Context, configure func(*client.Config), open func(context.Context, *client.Conn) error) (*client.Conn, error) {
	cfg, err := client.ParseURL(f.url)
	if err != nil {
		return nil, err
	}
	if f.user != "" {
		cfg.User, cfg.Password = f.user, f.password
	}
	if f.clientID != "" {
		cfg.ClientID = f.clientID
	}
	if configure != nil {
		configure(&cfg)
	}
	conn, err := client.Dial(ctx, cfg)
	if err != nil {
		return nil, &connectError{err}
	}
	if err := open(ctx, conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// connectError is a connection that could not be made.
type connectError struct{ cause error }

func (e *connectError) Error() string {
	return "Failed to create session factory: " + e.cause.Error()
}

func (e *connectError) Unwrap() error { return e.cause }

// reason is what a user is told of an error: the broker's words when it is one of the broker's.
func reason(err error) string {
	var told *core.Error
	var refused *client.ManagementError
	var connect *connectError
	switch {
	case errors.As(err, &connect):
		return connect.Error()
	case errors.As(err, &refused):
		return refused.Message
	case errors.As(err, &told) && told.Message != "":
		return told.Message
	}
	return err.Error()
}

// manage connects, opens management and has work done with it.
func (f *connectionFlags) manage(cmd *cobra.Command, work func(ctx context.Context, m *client.Management) error) error {
	if err := f.begin(cmd); err != nil {
		return err
	}
	return f.manageMore(cmd, work)
}

// manageMore is manage of a command that has called begin.
func (f *connectionFlags) manageMore(cmd *cobra.Command, work func(ctx context.Context, m *client.Management) error) error {
	var m *client.Management
	conn, err := f.connect(cmd, managementRetry, nil, func(ctx context.Context, c *client.Conn) (err error) {
		m, err = c.NewManagement(ctx, "")
		return err
	})
	if err != nil {
		return err
	}
	err = work(cmd.Context(), m)
	closing, cancel := closeContext(cmd.Context())
	defer cancel()
	m.Close(closing) // its temporary queue goes with the connection at the latest
	conn.Close()
	return err
}

// closeTimeout bounds the orderly end of a command that is done.
const closeTimeout = 5 * time.Second

// closeContext is for closing things, also when the command was told to stop.
func closeContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
}

// refused tells that the broker did not do something. As with Artemis the exit code stays 0.
func refused(cmd *cobra.Command, err error, format string, args ...any) error {
	var answer *client.ManagementError
	if !errors.As(err, &answer) {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s. Reason: %s\n", fmt.Sprintf(format, args...), answer.Message)
	return nil
}
