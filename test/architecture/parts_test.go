package architecture

// everything marks a part that may import every other but main programs.
const everything = "*"

// leaves are the packages below broker that the engine is made of.
var leaves = []string{"broker/config", "broker/filter", "broker/message", "broker/security", "broker/timers"}

// parts says which packages of this module each package may import. A new package comes with a line here and one in
// docs/architecture.md; a new arrow is a decision to be told there.
var parts = map[string][]string{
	"cmd/saranga": {everything},

	// The engine: no socket, no file format.
	"broker":                 join(leaves, "wire/buf"),
	"broker/config":          {},
	"broker/config/create":   {"broker/config"},
	"broker/config/yamlfile": {},
	"broker/filter":          {"broker/filter/xpath"},
	"broker/filter/xpath":    {},
	"broker/logging":         {"broker/config"},
	"broker/message":         {"wire/buf"},
	"broker/netcheck":        {},
	"broker/security":        {"broker/config"},
	"broker/timers":          {},
	"broker/watchdog":        {},
	"broker/management":      join(leaves, "broker", "wire/buf"),
	"broker/brokertest":      join(leaves, "broker", "wire/buf"),

	// Bytes of the protocols. Only a server package knows the engine.
	"wire/buf":         {},
	"wire/transport":   {},
	"wire/core":        {"broker/message", "wire/buf", "wire/transport"},
	"wire/core/client": {"broker/message", "wire/buf", "wire/core", "wire/transport"},
	"wire/core/server": join(leaves, "broker", "wire/buf", "wire/core", "wire/transport"),

	// Everything on disk. journal implements broker.Store; of the engine it knows the interfaces only.
	"journal":          {"broker", "broker/message", "journal/bindings", "journal/fs", "journal/large", "journal/paging", "wire/buf"},
	"journal/bindings": {"broker", "broker/message", "wire/buf"},
	"journal/export":   {"broker", "broker/message", "journal", "journal/bindings", "journal/fs", "journal/large", "journal/paging", "wire/buf"},
	"journal/fs":       {},
	"journal/large":    {"broker/message", "journal/fs", "wire/buf"},
	"journal/lock":     {},
	"journal/paging":   {"broker/message", "journal/fs", "wire/buf"},
	"journal/print":    {"broker", "broker/message", "journal", "journal/bindings", "journal/fs", "journal/large", "journal/paging", "wire/buf"},

	"journal/internal/golden": {"journal/fs"},

	// Other nodes: who is there, who is active, and the copy of the data.
	"cluster":                {"broker/config", "broker/security", "wire/buf", "wire/core", "wire/core/client", "wire/core/server", "wire/transport"},
	"ha":                     {"broker/config", "ha/quorum"},
	"ha/quorum":              {"journal/fs", "journal/lock"},
	"ha/quorum/curator":      {"ha/quorum"},
	"ha/quorum/embedded":     {"ha/quorum", "ha/quorum/curator", "raftfsm", "raftfsm/tree"},
	"ha/quorum/file":         {"ha/quorum"},
	"ha/quorum/zookeeper":    {"ha/quorum", "ha/quorum/curator", "raftfsm/zk/jute"},
	"ha/replication/primary": {"broker/message", "journal", "journal/fs", "journal/large", "journal/paging", "wire/buf", "wire/core", "wire/core/server", "wire/transport"},
	"ha/replication/replica": {"broker/message", "journal", "journal/fs", "journal/lock", "wire/buf", "wire/core"},
	"ha/sharedstore":         {"ha", "ha/quorum", "journal/fs", "journal/lock"},
	"raftfsm":                {"broker/config/yamlfile", "raftfsm/tree"},
	"raftfsm/tree":           {},
	"raftfsm/zk":             {"broker/config/yamlfile", "raftfsm", "raftfsm/tree", "raftfsm/zk/jute"},
	"raftfsm/zk/jute":        {},

	// Clients at work while nodes fail.
	"drill": {"broker/message", "wire/buf", "wire/core", "wire/core/client"},

	// Suites that need more than one process, and what holds the project together.
	"test/architecture":    {},
	"test/bench":           {everything},
	"test/crash":           {everything},
	"test/drill/feature":   {everything},
	"test/drill/lab":       {everything},
	"test/drill/matrix":    {everything},
	"test/drill/netns":     {everything},
	"test/drill/partition": {everything},
	"test/drill/relay":     {everything},
	"test/ha/cluster":      {everything},
	"test/ha/pair":         {everything},
	"test/ha/primary":      {everything},
	"test/ha/quorum":       {everything},
	"test/ha/replica":      {everything},
	"test/ha/sharedstore":  {everything},
	"test/interop":         {everything},
	"test/licenses":        {},
	"test/peers":           {everything},
	"test/soak":            {},
}

// partsInTests says what the tests of a package may import beside that: mostly the other end of what it does.
var partsInTests = map[string][]string{
	"wire/core/server":       {"wire/core/client", "journal", "journal/fs", "broker/config"},
	"drill":                  {"broker", "broker/config", "broker/management", "broker/message", "broker/security", "wire/core/server", "wire/transport"},
	"ha/quorum":              {"ha/quorum/file", "ha/quorum/zookeeper"},
	"ha/quorum/curator":      {"raftfsm/tree"},
	"ha/quorum/zookeeper":    {"raftfsm/tree"},
	"ha/replication/primary": {"broker"},
	"ha/replication/replica": {"broker"},
}

// forTests are packages that every test may import, and nothing else.
var forTests = []string{"broker/brokertest", "journal/internal/golden"}

// programs are packages, with those below them, that nothing outside of test imports.
var programs = []string{"cmd", "test"}

// emptyNames say nothing about what a package holds.
var emptyNames = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base"}

func join(list []string, more ...string) []string {
	return append(append([]string(nil), list...), more...)
}
