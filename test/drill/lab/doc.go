// Package lab has what drills and suites of several processes are done with: nodes, pairs of them with each policy for high availability,
// a real ZooKeeper, and members of a Raft quorum.
//
//	zk := lab.StartZooKeeper(t, dir)
//	p := lab.NewPair(t, dir, lab.Saranga, lab.Artemis, zk.Policy("pair", 6*time.Second))
//	p.Primary.Start()
//	p.Primary.Serves()
//	p.Backup.Start()
//	p.Backup.Says(lab.Announced)
//	p.Primary.Kill()
//	p.Backup.Serves()
//
// A Process knows no test: its methods return errors. Everything else belongs to one, fails it, and may be used by its goroutine only;
// what still runs when it ends is killed, and what it printed is shown if the test failed.
package lab
