package server

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/security"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
	"github.com/saranga-mq/saranga/wire/transport"
)

// maxUnread is how many bytes a client may leave unread before its requests are not read any more.
const maxUnread = 16 << 20

// bigFrame is the size from which a frame that is not yet complete is read into memory of its own.
const bigFrame = 16 << 10

// A conn is one client connection.
type conn struct {
	s   *Server
	tc  *transport.Conn
	out *transport.Output
	bc  *broker.Connection
	w   *broker.Work // of the read goroutine while it has a batch

	plain              bool
	anycast, multicast []string

	version atomic.Int32
	dirty   atomic.Bool

	mu       sync.Mutex // guards channels against other goroutines than the reader
	channels channelList
	last     *channel // the one of the last frame
	control  *channel // channel 1

	big   []byte       // a frame that is being read into memory of its own
	batch BatchHandler // was given frames of the batch that is being handled

	stallMu sync.Mutex
	stalled []*broker.Consumer // wait for the output to drain

	// For the TTL, used by the wheel's goroutine alone but for ttl.
	ttlMu     sync.Mutex
	ttl       int64
	lastAlive int64
	lastRead  int64
	rests     bool // it was idle at the last look

	handling sync.Mutex // held while the reader handles frames

	// life is held while the connection is detached, gives a session away, or ends. It comes before all other locks.
	life sync.Mutex

	held     atomic.Bool   // reading is paused until the client has read what was answered
	gone     chan struct{} // closed when the reader has ended
	detached atomic.Bool   // the socket is gone, sessions wait for their client to come back
	ended    atomic.Bool
	admitted atomic.Bool // it has logged in
	outlives atomic.Bool // Disconnect leaves it alone
}

func (c *conn) v() core.Version { return core.Version(c.version.Load()) }

// Version implements Peer.
func (c *conn) Version() core.Version { return c.v() }

// RemoteAddr implements Peer.
func (c *conn) RemoteAddr() string { return c.tc.RemoteAddr() }

// PeerCertificates implements Peer.
func (c *conn) PeerCertificates() []*x509.Certificate { return c.tc.PeerCertificates() }

// AcceptorParam implements Peer.
func (c *conn) AcceptorParam(key string) string {
	if a := c.tc.Acceptor(); a != nil {
		return a.Options().Params[key]
	}
	return ""
}

// Admit implements Peer.
func (c *conn) Admit(max int) {
	c.admitted.Store(true)
	c.s.watchers.remove(c)
	c.tc.SetMaxFrame(max)
	c.tc.Authenticated()
}

// Outlive implements Peer.
func (c *conn) Outlive() {
	c.outlives.Store(true)
	c.bc.Outlive()
}

// Close implements Peer.
func (c *conn) Close(reason error) { c.tc.Close(reason) }

// Send implements Peer.
func (c *conn) Send(channel int64, p core.Packet) {
	c.send(channel, p)
	c.Flush() // and not the output's: what is marked dirty nobody else flushes
}

// SendFrames implements Peer.
func (c *conn) SendFrames(frames []byte, done transport.Releaser) {
	c.out.Lock()
	c.out.AppendRef(frames, done)
	c.out.Unlock()
	c.out.Flush()
}

// send appends a packet of a channel that has no confirmations.
func (c *conn) send(channel int64, p core.Packet) {
	frame := core.Append(nil, channel, p, c.v())
	c.out.Lock()
	c.out.Append(frame)
	c.out.Unlock()
	c.dirty.Store(true)
}

// MarkDirty implements broker.Output.
func (c *conn) MarkDirty() bool { return !c.dirty.Swap(true) }

// Flush implements broker.Output.
func (c *conn) Flush() {
	c.dirty.Store(false)
	c.out.Flush()
}

// Handle implements transport.Handler.
func (c *conn) Handle(tc *transport.Conn, data []byte) (int, error) {
	c.handling.Lock()
	defer c.handling.Unlock()
	c.beginBatch()
	rest := data
	for len(rest) > 0 && !tc.Paused() {
		f, after, need, err := core.Split(rest, c.s.o.MaxFrame)
		if err != nil {
			return len(data) - len(rest), fmt.Errorf("core: %w", err)
		}
		if need > 0 {
			if need >= bigFrame {
				if err := tc.ReadBody(need); err != nil {
					return len(data) - len(rest), err
				}
			}
			break
		}
		if err := c.frame(f); err != nil {
			return len(data) - len(rest), err
		}
		rest = after
	}
	return len(data) - len(rest), nil
}

// Body implements transport.BodyHandler.
func (c *conn) Body(_ *transport.Conn, n int) ([]byte, error) {
	if cap(c.big) < n {
		c.big = make([]byte, n)
	}
	c.big = c.big[:n]
	return c.big, nil
}

// Filled implements transport.BodyHandler.
func (c *conn) Filled(*transport.Conn) error {
	c.handling.Lock()
	defer c.handling.Unlock()
	c.beginBatch()
	f, _, need, err := core.Split(c.big, c.s.o.MaxFrame)
	if err != nil || need > 0 {
		return fmt.Errorf("core: frame of %d bytes: %w", len(c.big), err)
	}
	err = c.frame(f)
	if len(c.big) > 256<<10 {
		c.big = nil // an idle connection keeps no large buffer
	}
	return err
}

func (c *conn) beginBatch() {
	if c.w == nil {
		c.w = c.s.b.LendWork()
	}
	c.w.Begin()
}

// EndOfBatch implements transport.Handler.
func (c *conn) EndOfBatch(*transport.Conn) {
	if h := c.batch; h != nil {
		c.batch = nil
		h.EndOfBatch(c)
	}
	c.w.Flush()
	c.w.GiveBack()
	c.w = nil
	if c.dirty.Load() {
		c.Flush()
	}
	c.out.Lock()
	if c.out.Size() > maxUnread && c.out.Full() && c.held.CompareAndSwap(false, true) {
		c.tc.Pause() // Drained ends it
	}
	c.out.Unlock()
}

// Drained implements transport.Handler.
func (c *conn) Drained(*transport.Conn) {
	if c.held.CompareAndSwap(true, false) {
		c.tc.Resume()
	}
	c.mu.Lock()
	for _, ch := range c.channels {
		ch.pokeStreams(nil)
	}
	c.mu.Unlock()
	c.stallMu.Lock()
	stalled := c.stalled
	c.stalled = nil
	c.stallMu.Unlock()
	if len(stalled) == 0 {
		return
	}
	w := c.s.b.NewWork()
	for _, k := range stalled {
		k.Ready(w)
	}
	w.Flush()
}

// stall notes that a consumer waits for room in the output. Called with the output's lock held.
func (c *conn) stall(k *broker.Consumer) {
	c.stallMu.Lock()
	c.stalled = append(c.stalled, k)
	c.stallMu.Unlock()
}

// Closed implements transport.Handler.
func (c *conn) Closed(_ *transport.Conn, err error) {
	defer close(c.gone)
	c.control.waitIdle() // it may be opening a session, or taking one over
	keep := false
	for _, ch := range c.sessions() {
		if ch.window > 0 && ch.resumable() {
			keep = true
		}
	}
	if keep && c.s.b.Started() {
		c.life.Lock()
		c.detached.Store(true) // before the question whether the server stops: Disconnect ends those that are
		stopped := c.s.isStopped()
		if !stopped {
			for _, ch := range c.sessions() {
				ch.detach()
			}
		}
		c.life.Unlock()
		if !stopped {
			c.s.log.Debug("a connection broke; its sessions wait for the client to come back", "remote", c.RemoteAddr(), "reason", err)
			return
		}
	}
	c.end(true)
}

// closeFor ends the connection by the broker's own decision: its sessions cannot be taken up again.
func (c *conn) closeFor(reason string) {
	for _, ch := range c.sessions() {
		ch.giveUp()
	}
	if c.detached.Load() {
		c.s.endLater(c)
		return
	}
	c.tc.Close(errors.New(reason))
}

// end closes everything that the connection had. Its reader has ended.
func (c *conn) end(lost bool) {
	c.control.waitIdle()
	c.life.Lock()
	defer c.life.Unlock()
	if c.ended.Swap(true) {
		return
	}
	for _, ch := range c.sessions() {
		ch.waitIdle()
		c.s.unregister(ch)
		ch.endStreams()
		ch.abortLarge()
	}
	c.bc.End(c.s.b.NewWork(), lost)
	for _, h := range c.s.handlers {
		h.Gone(c)
	}
	if c.s.o.Topology != nil {
		c.s.o.Topology.Unsubscribe(c)
	}
	c.s.forget(c)
}

func (c *conn) sessions() []*channel {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.channels)
}

// checkTTL ends the connection when nothing has come for its TTL.
func (c *conn) checkTTL(now int64) {
	c.ttlMu.Lock()
	read := c.tc.BytesRead()
	active := (read != c.lastRead || c.tc.Paused()) && !c.detached.Load()
	if active {
		c.lastRead, c.lastAlive = read, now
	} else if !c.rests {
		c.tc.Rest()
	}
	c.rests = !active
	ttl := c.ttl
	dead := ttl >= 0 && now >= c.lastAlive+ttl
	c.ttlMu.Unlock()
	if !dead {
		if !c.detached.Load() {
			c.flushConfirmations()
		}
		return
	}
	if c.ended.Load() {
		return
	}
	c.s.log.Warn("AMQ222061: Client connection failed, clearing up resources for session", "remote", c.RemoteAddr(), "ttl_ms", ttl)
	if c.detached.Load() {
		c.s.endLater(c)
		return
	}
	c.ttlMu.Lock()
	c.lastAlive = now // once
	c.ttlMu.Unlock()
	for _, ch := range c.sessions() {
		ch.giveUp()
	}
	c.tc.Close(fmt.Errorf("nothing was received for %d ms, the connection's TTL", ttl))
}

// flushConfirmations sends the confirmations that the sessions owe.
func (c *conn) flushConfirmations() {
	var owing []*channel
	c.mu.Lock()
	for _, ch := range c.channels {
		if ch.confirms() {
			owing = append(owing, ch)
		}
	}
	c.mu.Unlock()
	for _, ch := range owing {
		ch.flushConfirmations()
	}
}

func (c *conn) setTTL(ttl int64) {
	if c.s.o.TTLOverride != -1 {
		return
	}
	c.ttlMu.Lock()
	c.ttl = ttl
	c.ttlMu.Unlock()
	if ttl > 0 {
		c.tc.SetStallTimeout(max(millis(ttl), transport.DefaultStallTimeout))
	}
}

// frame handles one frame.
func (c *conn) frame(f core.Frame) error {
	if f.Channel >= core.FirstSessionChannel {
		ch := c.last
		if ch == nil || ch.id != f.Channel || ch.sess.Closed() {
			c.mu.Lock()
			ch = c.channels.get(f.Channel)
			c.mu.Unlock()
			if ch == nil {
				if !f.Type.Known() {
					return fmt.Errorf("core: %w %d", core.ErrUnknownPacket, int8(f.Type))
				}
				return nil // no channel of that id: dropped, as Artemis does
			}
			c.last = ch
		}
		return ch.handle(c.w, f)
	}
	if h := c.s.handlers[f.Channel]; h != nil {
		if b, ok := h.(BatchHandler); ok {
			c.batch = b
		}
		return h.HandleFrame(c, f)
	}
	switch f.Channel {
	case core.ChannelPing:
		return c.ping(f)
	case core.ChannelSession:
		return c.control.handle(c.w, f)
	}
	if !f.Type.Known() {
		return fmt.Errorf("core: %w %d", core.ErrUnknownPacket, int8(f.Type))
	}
	return nil
}

// ping handles channel 0.
func (c *conn) ping(f core.Frame) error {
	p, err := core.Decode(f.Type, f.Payload, c.v())
	if err != nil {
		return err
	}
	switch p := p.(type) {
	case *core.Ping:
		c.setTTL(p.TTL)
		c.send(core.ChannelPing, p)
	case *core.SubscribeTopology:
		if p.Form == core.TypeSubscribeTopologyV2 {
			c.version.Store(int32(p.ClientVersion))
		}
		c.topology()
	}
	return nil
}

// topology tells the nodes of the cluster: those of the acceptor's cluster connection, or this one.
func (c *conn) topology() {
	if t := c.s.o.Topology; t != nil && t.Subscribe(c) {
		c.watch()
		return
	}
	form := c.v().TopologyForm()
	if form == core.TypeClusterTopologyV3 {
		form = core.TypeClusterTopologyV2 // what an acceptor without a cluster connection sends
	}
	c.send(core.ChannelPing, &core.ClusterTopology{Form: form, NodeID: c.s.o.NodeID, UniqueEventID: c.s.b.Wheel().Now(), Last: true, ServerVersion: core.VersionCurrent})
}

// controlPacket handles channel 1, on a goroutine that may block.
func (c *conn) controlPacket(f core.Frame) error {
	p, err := core.Decode(f.Type, f.Payload, c.v())
	if err != nil {
		return err
	}
	switch p := p.(type) {
	case *core.CreateSession:
		c.createSession(p)
	case *core.ReattachSession:
		c.reattach(p)
	case *core.CheckForFailover:
		c.send(core.ChannelSession, &core.CheckForFailoverReply{OK: true})
	case *core.CreateQueue, *core.CreateQueueV2:
		c.s.log.Warn("a client asked for a queue outside a session, which is ignored", "remote", c.RemoteAddr())
	}
	return nil
}

// exception sends an error on channel 1, which never has a correlation id.
func (c *conn) exception(code core.Code, text string) {
	c.send(core.ChannelSession, &core.Exception{Code: code, Message: buf.Of(text)})
}

// createSession opens a session (core-protocol §4.4).
func (c *conn) createSession(p *core.CreateSession) {
	if !p.Version.Compatible() {
		c.exception(core.Code(broker.IncompatibleVersions), "AMQ229033: Server and client versions incompatible")
		return
	}
	if !c.s.b.Started() {
		c.exception(core.Code(broker.SessionCreationRejected), "AMQ229034: Server not started")
		return
	}
	if c.version.CompareAndSwap(0, int32(p.Version)); c.v() != p.Version {
		c.s.log.Warn("a session was created with another version than its connection's, which stays", "remote", c.RemoteAddr(), "session_version", p.Version, "connection_version", c.v())
	}
	if p.ClientID.Valid && p.ClientID.V != "" {
		c.bc.SetClientID(p.ClientID.V)
	}
	credentials := security.Credentials{User: p.User.V, Password: p.Password.V, PeerCertificates: c.tc.PeerCertificates(), Remote: c.RemoteAddr()}
	who, err := c.s.o.Login(credentials)
	if err != nil {
		var auth *security.AuthenticationError
		if errors.As(err, &auth) {
			c.exception(core.Code(broker.SecurityException), auth.Error())
			return
		}
		c.s.log.Error("login failed", "remote", c.RemoteAddr(), "error", err)
		c.exception(core.Code(broker.InternalError), "")
		return
	}
	c.Admit(c.s.o.MaxFrame)
	if p.ChannelID < core.FirstSessionChannel {
		c.exception(core.Code(broker.IllegalState), fmt.Sprintf("channel %d is reserved", p.ChannelID))
		return
	}
	if c.inUse(p.ChannelID) {
		c.exception(core.Code(broker.IllegalState), fmt.Sprintf("channel %d is in use", p.ChannelID))
		return
	}
	ch := &channel{id: p.ChannelID, s: c.s, window: p.ConfirmationWindowSize, minLarge: int(max(p.MinLargeMessageSize, 1024)), confirmations: core.NewConfirmations(p.ConfirmationWindowSize, c.s.o.ResendCache)}
	ch.conn.Store(c)
	var login *security.Login
	if c.s.o.Watch != nil {
		login = c.s.o.Watch(credentials, who)
	}
	sess, err := c.bc.NewSession(broker.SessionOptions{Name: p.Name, Principal: who, Login: login, Client: ch, AutoCommitSends: p.AutoCommitSends, AutoCommitAcks: p.AutoCommitAcks,
		PreAcknowledge: p.PreAcknowledge, XA: p.XA, DefaultAddress: p.DefaultAddress.V, CloseRemotely: ch.closeRemotely})
	if err != nil {
		e := broker.AsError(err)
		c.exception(core.Code(e.Code), e.Text)
		return
	}
	ch.sess = sess
	c.mu.Lock()
	c.channels.put(ch)
	c.mu.Unlock()
	c.s.register(ch)
	c.send(core.ChannelSession, &core.CreateSessionResponse{ServerVersion: core.VersionCurrent})
}

func (c *conn) inUse(channel int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.channels.get(channel) != nil
}

// reattach moves a session of a broken connection to this one (core-protocol §4.7).
func (c *conn) reattach(p *core.ReattachSession) {
	refuse := func() {
		c.send(core.ChannelSession, &core.ReattachSessionResponse{LastConfirmedCommandID: -1})
	}
	ch := c.s.channel(p.Name)
	if ch == nil {
		refuse()
		return
	}
	old := ch.conn.Load()
	if old == c || c.inUse(ch.id) {
		refuse()
		return
	}
	// Nothing that still lies in the old socket may be handled once the count has been told; and where the session cannot
	// be taken along, its temporary queues must be gone before the client makes them anew.
	old.tc.Close(errors.New("the client came back on another connection"))
	select {
	case <-old.gone:
	case <-c.tc.Done():
		return
	}
	if !c.take(ch, old, p.LastConfirmedCommandID) {
		if !ch.resumable() {
			old.end(true)
		}
		refuse()
		return
	}
	c.Admit(c.s.o.MaxFrame)
	if len(old.sessions()) == 0 {
		c.s.endLater(old)
	}
}

// take moves a session here from a connection that is detached.
func (c *conn) take(ch *channel, old *conn, last int32) bool {
	old.life.Lock()
	defer old.life.Unlock()
	if old.ended.Load() || ch.conn.Load() != old || !ch.resumable() || c.s.isStopped() {
		return false
	}
	c.version.CompareAndSwap(0, old.version.Load())
	if !ch.moveTo(c, last) {
		return false
	}
	old.mu.Lock()
	old.channels.remove(ch.id)
	old.mu.Unlock()
	return true
}

// A channelList holds the session channels of a connection by id: most have one or two.
type channelList []*channel

func (l channelList) find(id int64) (int, bool) {
	return slices.BinarySearchFunc(l, id, func(ch *channel, id int64) int { return cmp.Compare(ch.id, id) })
}

// get returns the channel of that id, nil if there is none.
func (l channelList) get(id int64) *channel {
	if i, ok := l.find(id); ok {
		return l[i]
	}
	return nil
}

// put adds a channel in place of one with its id.
func (l *channelList) put(ch *channel) {
	i, ok := l.find(ch.id)
	if ok {
		(*l)[i] = ch
		return
	}
	*l = slices.Insert(*l, i, ch)
}

func (l *channelList) remove(id int64) {
	if i, ok := l.find(id); ok {
		*l = slices.Delete(*l, i, i+1)
	}
}
