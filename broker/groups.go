package broker

import (
	"strconv"
	"strings"

	"github.com/saranga-mq/saranga/broker/message"
)

// groupKey is the key under which a queue remembers the owner of a message's group: the group id, or its bucket.
func (q *Queue) groupKey(m *message.Message) string {
	v := m.Property(message.PropGroupID)
	text := filterValue(v).String()
	if q.cfg.GroupBuckets <= 0 {
		return text
	}
	var h int32
	if n, ok := strings.CutPrefix(text, "_AMQ_GROUP_BUCKET_INT_KEY_"); ok {
		if i, err := strconv.ParseInt(n, 10, 32); err == nil {
			return strconv.Itoa(int(int32(i)&0x7fffffff) % int(q.cfg.GroupBuckets))
		}
	}
	for _, c := range v.SSBytes() {
		h = h<<5 - h + int32(int8(c))
	}
	return strconv.Itoa(int(h&0x7fffffff) % int(q.cfg.GroupBuckets))
}

// forgetGroups drops the groups that c owns, or all when c is nil.
func (q *Queue) forgetGroups(c *Consumer) {
	gone := false
	for key, owner := range q.groups {
		if c == nil || owner == c {
			delete(q.groups, key)
			gone = true
		}
	}
	if gone && !q.cfg.NonDestructive {
		q.restart()
	}
}

// ResetGroup forgets the owner of a group; an empty id forgets all owners.
func (q *Queue) ResetGroup(w *Work, id string) {
	q.mu.Lock()
	if id == "" {
		q.forgetGroups(nil)
	} else {
		delete(q.groups, id)
		q.restart()
	}
	q.deliver(w)
	q.mu.Unlock()
}

// Groups returns the groups and their owners.
func (q *Queue) Groups() map[string]*Consumer {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make(map[string]*Consumer, len(q.groups))
	for k, c := range q.groups {
		out[k] = c
	}
	return out
}
