package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/saranga-mq/saranga/broker/config"
	"github.com/saranga-mq/saranga/wire/transport"
)

// startedAcceptors are the configurations of the acceptors that were started. The zero value is ready for use.
type startedAcceptors struct {
	mu   sync.Mutex
	list map[string]config.Transport // by name
}

func (s *startedAcceptors) put(t config.Transport) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.list = map[string]config.Transport{}
	}
	s.list[t.Name] = t
}

func (s *startedAcceptors) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.list, name)
}

// get returns the zero Transport for one that was not started.
func (s *startedAcceptors) get(name string) config.Transport {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list[name]
}

// listen starts an acceptor.
func (n *node) listen(t config.Transport) error {
	if t.URL.Scheme != "tcp" {
		n.log.Warn("an acceptor that is not tcp is not started", "acceptor", t.Name, "scheme", t.URL.Scheme)
		return nil
	}
	if t.URL.Params["autoStart"] == "false" {
		n.log.Info("an acceptor with autoStart=false is not started", "acceptor", t.Name)
		return nil
	}
	o, unknown, err := transport.ParseAcceptor(t.Name, t.URL.Host, t.URL.Port, t.URL.Params)
	if err != nil {
		return err
	}
	for _, p := range unknown {
		n.log.Warn("AMQ222203: unknown protocol of an acceptor", "acceptor", t.Name, "protocol", p)
	}
	started, err := n.remoting.Listen(o)
	if err != nil {
		return err
	}
	n.acceptors.put(t)
	protocols := strings.Join(o.Protocols, ",")
	if protocols == "" {
		protocols = "CORE,MQTT,AMQP,STOMP,HORNETQ,OPENWIRE"
	}
	n.log.Info(fmt.Sprintf("AMQ221020: Started EPOLL Acceptor at %s for protocols [%s]", started.Addr(), protocols))
	return nil
}

// relisten stops the acceptors that changed or are not in the list any more, with their connections, and starts those
// that are new. One that could not be started is tried again by the next call.
func (n *node) relisten(list []config.Transport) error {
	want := map[string]config.Transport{}
	for _, t := range list {
		want[t.Name] = t
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, a := range n.remoting.Acceptors() {
		if t, ok := want[a.Name()]; !ok || !reflect.DeepEqual(n.acceptors.get(a.Name()), t) {
			a.Stop(ended)
			n.acceptors.remove(a.Name())
			n.log.Info("an acceptor that was changed or removed is stopped", "acceptor", a.Name())
		}
	}
	var errs []error
	for _, t := range list {
		if n.acceptors.get(t.Name).Name != "" {
			continue
		}
		if err := n.listen(t); err != nil {
			errs = append(errs, fmt.Errorf("AMQ224104: Error starting the Acceptor %s: %w", t.Name, err))
		}
	}
	return errors.Join(errs...)
}

var errNetworkGone = errors.New("the network is not healthy: this broker does not serve until it is back")

// suspend stops all acceptors and ends their connections.
func (n *node) suspend() {
	for _, a := range n.remoting.Acceptors() {
		a.Pause()
	}
	for _, c := range n.remoting.Connections() {
		c.Close(errNetworkGone)
	}
}

// resume undoes suspend.
func (n *node) resume() error {
	var errs []error
	for _, a := range n.remoting.Acceptors() {
		errs = append(errs, a.Resume())
	}
	return errors.Join(errs...)
}
