// Package replica holds the replica against real Artemis: it registers at a real primary, replicates while clients work, sees the primary
// killed, and what brokers then find in its folders is exactly what the clients were told.
package replica
