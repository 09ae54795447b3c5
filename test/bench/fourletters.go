package main

import (
	"io"
	"net"
	"time"
)

// askFourLetters sends a four-letter word to a ZooKeeper server and returns the answer, "" if there is none.
func askFourLetters(address, word string) string {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return ""
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := io.WriteString(c, word); err != nil {
		return ""
	}
	answer, _ := io.ReadAll(c) // what came until the server or the deadline ended it
	return string(answer)
}
