package peers

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
)

// Instance is a broker instance directory and what a client needs to reach it.
type Instance struct {
	Dir  string // holds etc, data, log
	Port int    // of the acceptor "artemis" on 127.0.0.1

	User, Password string // of a user in the role that may do everything
}

// URL is the Core address of the instance's acceptor, without parameters.
func (i Instance) URL() string { return fmt.Sprintf("tcp://127.0.0.1:%d", i.Port) }

// Etc is the path of a file in the instance's configuration folder.
func (i Instance) Etc(name string) string { return filepath.Join(i.Dir, "etc", name) }

// WriteEtc replaces a file of the instance's configuration.
func (i Instance) WriteEtc(name, content string) error {
	if err := os.WriteFile(i.Etc(name), []byte(content), 0o600); err != nil {
		return fmt.Errorf("write configuration of instance %s: %w", i.Dir, err)
	}
	return nil
}

// CreateOptions are the choices a suite makes about an instance. The zero value is an instance for
// functional tests: one acceptor, no web server, NIO journal, no autotune, 512 MiB of Java memory.
type CreateOptions struct {
	// AsShipped keeps what the create command does on its own: all acceptors, the web server,
	// journal autotune, default memory. Ports are moved by --port-offset.
	AsShipped bool
	// Flags are further flags of the create command.
	Flags []string
}

const (
	adminUser     = "admin"
	adminPassword = "admin"
)

// flags are the arguments of the create command, which both brokers understand, and the port that follows from them.
func (o CreateOptions) flags(dir string) ([]string, int, error) {
	args := []string{"create", dir, "--silent", "--user", adminUser, "--password", adminPassword,
		"--require-login", "--host", "127.0.0.1", "--nio"}
	if o.AsShipped {
		offset, err := freeOffset()
		if err != nil {
			return nil, 0, err
		}
		args = append(args, "--port-offset", fmt.Sprint(offset))
		return append(args, o.Flags...), corePort + offset, nil
	}
	port, err := FreePort()
	if err != nil {
		return nil, 0, err
	}
	args = append(args, "--default-port", fmt.Sprint(port), "--no-autotune", "--no-web", "--java-memory", "512M",
		"--no-amqp-acceptor", "--no-stomp-acceptor", "--no-mqtt-acceptor", "--no-hornetq-acceptor")
	return append(args, o.Flags...), port, nil
}

// Ports an instance listens on as shipped, before the offset.
const corePort = 61616

var shippedPorts = []int{corePort, 5672, 61613, 1883, 5445, 8161}

// FreePort finds a port below the kernel's range for outgoing connections, so that no
// client of a parallel test takes it between now and the broker's bind.
func FreePort() (int, error) {
	const low, high, tries = 20000, 32000, 100
	for range tries {
		if port := low + rand.IntN(high-low); isFree(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port found in %d tries between %d and %d", tries, low, high)
}

func freeOffset() (int, error) {
	const highest, tries = 3500, 100
next:
	for range tries {
		offset := 1 + rand.IntN(highest)
		for _, port := range shippedPorts {
			if !isFree(port + offset) {
				continue next
			}
		}
		return offset, nil
	}
	return 0, fmt.Errorf("no port offset with all of %v free found in %d tries", shippedPorts, tries)
}

func isFree(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}
