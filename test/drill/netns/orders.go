//go:build linux

package netns

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Numbers of linux/veth.h, linux/if_link.h and linux/fib_rules.h that x/sys does not have.
const (
	vethInfoPeer = 1
	fraDst       = 1
	fraSrc       = 2
	fraPriority  = 6
	actTable     = 1
	actBlackhole = 6
)

const create = unix.NLM_F_CREATE | unix.NLM_F_EXCL

// ifinfo is struct ifinfomsg.
func ifinfo(index int32, flags uint32) []byte {
	b := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(b[4:], uint32(index))
	binary.NativeEndian.PutUint32(b[8:], flags)
	binary.NativeEndian.PutUint32(b[12:], flags)
	return b
}

func (s *socket) addBridge(name string) error {
	m := newMessage(unix.RTM_NEWLINK, create, ifinfo(0, 0)...)
	m.text(unix.IFLA_IFNAME, name)
	m.nest(unix.IFLA_LINKINFO, func() { m.text(unix.IFLA_INFO_KIND, "bridge") })
	return s.do(m)
}

// addVeth makes a pair of interfaces: one here on the bridge, its peer in another namespace.
func (s *socket) addVeth(name string, bridge int, peer string, namespace int) error {
	m := newMessage(unix.RTM_NEWLINK, create, ifinfo(0, 0)...)
	m.text(unix.IFLA_IFNAME, name)
	m.uint32(unix.IFLA_MASTER, uint32(bridge))
	m.nest(unix.IFLA_LINKINFO, func() {
		m.text(unix.IFLA_INFO_KIND, "veth")
		m.nest(unix.IFLA_INFO_DATA, func() {
			m.nest(vethInfoPeer, func() {
				m.raw(ifinfo(0, 0))
				m.text(unix.IFLA_IFNAME, peer)
				m.uint32(unix.IFLA_NET_NS_FD, uint32(namespace))
			})
		})
	})
	return s.do(m)
}

func (s *socket) up(index int) error {
	return s.do(newMessage(unix.RTM_NEWLINK, 0, ifinfo(int32(index), unix.IFF_UP)...))
}

func (s *socket) addAddress(index int, a netip.Prefix) error {
	fixed := []byte{unix.AF_INET, byte(a.Bits()), 0, unix.RT_SCOPE_UNIVERSE}
	m := newMessage(unix.RTM_NEWADDR, create, append(fixed, native32(uint32(index))...)...)
	m.bytes(unix.IFA_LOCAL, a.Addr().AsSlice())
	m.bytes(unix.IFA_ADDRESS, a.Addr().AsSlice())
	return s.do(m)
}

// blackhole adds or removes a route to one address that leads nowhere.
func (s *socket) blackhole(to netip.Addr, add bool) error {
	kind, flags := uint16(unix.RTM_DELROUTE), uint16(0)
	if add {
		kind, flags = unix.RTM_NEWROUTE, create
	}
	fixed := []byte{unix.AF_INET, 32, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_STATIC, unix.RT_SCOPE_UNIVERSE, unix.RTN_BLACKHOLE, 0, 0, 0, 0}
	m := newMessage(kind, flags, fixed...)
	m.bytes(unix.RTA_DST, to.AsSlice())
	return s.do(m)
}

// drop adds or removes a rule that ends the way of packets from one address to another. It is looked at before the local table, so that
// it holds for what arrives.
func (s *socket) drop(from, to netip.Addr, add bool) error {
	m := rule(add, 32, 32, 0, actBlackhole)
	m.bytes(fraDst, to.AsSlice())
	m.bytes(fraSrc, from.AsSlice())
	m.uint32(fraPriority, dropPriority)
	return s.do(m)
}

// Priorities of rules. The kernel's own rule for local addresses has 0 and is moved behind the drops.
const (
	dropPriority  = 10
	localPriority = 20
)

// moveLocal puts the lookup of local addresses behind the drops.
func (s *socket) moveLocal() error {
	later := rule(true, 0, 0, unix.RT_TABLE_LOCAL, actTable)
	later.uint32(fraPriority, localPriority)
	if err := s.do(later); err != nil {
		return err
	}
	first := rule(false, 0, 0, unix.RT_TABLE_LOCAL, actTable)
	first.uint32(fraPriority, 0)
	return s.do(first)
}

// rule begins a message about a routing rule (struct fib_rule_hdr).
func rule(add bool, dst, src, table, action byte) *message {
	kind, flags := uint16(unix.RTM_DELRULE), uint16(0)
	if add {
		kind, flags = unix.RTM_NEWRULE, create
	}
	return newMessage(kind, flags, unix.AF_INET, dst, src, 0, table, 0, 0, action, 0, 0, 0, 0)
}
