package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"
)

// neighbours are processes that use all the CPU they get.
type neighbours []*exec.Cmd

func startNeighbours(n int) (list neighbours, err error) {
	for range n {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			list.end()
			return nil, fmt.Errorf("start a busy neighbour: %w", err)
		}
		list = append(list, cmd)
	}
	return list, nil
}

func (l neighbours) end() {
	for _, cmd := range l {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// amongNeighbours loads a pair fully beside two busy processes for each core, and counts what must not happen meanwhile: that
// somebody takes over or goes on alone. Both raise the activation sequence; a backup that was lost synchronises again.
func amongNeighbours(ctx context.Context, b *bench, s *side) (_ values, err error) {
	p, err := b.warmPair(ctx, s)
	if err != nil {
		return nil, err
	}
	list, err := startNeighbours(2 * runtime.NumCPU())
	if err != nil {
		return nil, err
	}
	defer list.end()
	sequences, syncs := p.primary.sequence(), p.backup.said(codeSynced)
	f, err := openFlow(ctx, p.primary.instance, flowOptions{queue: b.queue(), size: bodySize, durable: true, window: flowWindow})
	if err != nil {
		return nil, err
	}
	begin, worst := time.Now(), time.Duration(0)
	for at, n := begin, int64(0); time.Since(begin) < b.Neighbours && pause(f.ctx, 10*time.Millisecond); {
		if now := f.received.Load(); now != n {
			worst = max(worst, time.Since(at))
			at, n = time.Now(), now
		}
	}
	n, took := f.received.Load(), time.Since(begin)
	v := values{"minutes": took.Minutes(), metricRate: float64(n) / took.Seconds(), "pause": millis(worst)}
	list.end()
	err = f.close()
	v["failovers"] = float64(p.primary.sequence() - sequences + int64(p.backup.said(codeSynced)-syncs))
	if !p.healthy() {
		v["failovers"]++
		return v, errors.Join(err, fmt.Errorf("a node has ended:\n%s\n%s", p.primary.tail(), p.backup.tail()))
	}
	return v, err
}
