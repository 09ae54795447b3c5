// Package netns is a small network inside this machine for tests: hosts, each in its own network namespace, on one bridge.
//
//	cmd := exec.Command(os.Args[0], …)
//	netns.Isolate(cmd)          // root, or whoever may make user namespaces
//	cmd.Run()                   // a process that has a network of its own, in which:
//
//	n, err := netns.New()       // the bridge, at 10.99.0.254
//	a, err := n.AddHost()       // 10.99.0.1, on a veth pair
//	b, err := n.AddHost()       // 10.99.0.2
//	a.Start(cmd)                // a process on the host
//	b.Listen("10.99.0.2:80")    // a listener of this process there
//	n.Cut(a.Addr, b.Addr, netns.Silent)   // nothing gets from a to b any more; from b to a everything does
//	n.Heal(a.Addr, b.Addr)
//
// Everything is made by netlink messages (rtnetlink(7)), so no program is needed. Linux only.
package netns
