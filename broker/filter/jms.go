package filter

import "strings"

// FromJMS translates the header names of a JMS selector into those of a filter, and the two values of
// JMSDeliveryMode. Names inside string literals stay; everything else does too, so that an invalid selector stays one.
//
//	JMSDeliveryMode → AMQDurable      'PERSISTENT'     → 'DURABLE'
//	JMSPriority     → AMQPriority     'NON_PERSISTENT' → 'NON_DURABLE'
//	JMSTimestamp    → AMQTimestamp    JMSExpiration    → AMQExpiration
//	JMSMessageID    → AMQUserID       JMSXGroupID      → AMQGroupID
func FromJMS(selector string) string {
	if !strings.Contains(selector, "JMS") && !strings.Contains(selector, "PERSISTENT'") {
		return selector
	}
	s := readSwitches(selector)
	l := lexer{text: selector, at: s.length, hyphenated: s.hyphenated}
	var out strings.Builder
	copied := 0
	for {
		t := l.next()
		if t.kind == tokenEnd || t.kind == tokenBad {
			break
		}
		replacement := ""
		switch {
		case t.kind == tokenIdentifier && selector[t.at] != '"':
			replacement = jmsHeader(t.text)
		case t.is(tokenString, "PERSISTENT"):
			replacement = "'DURABLE'"
		case t.is(tokenString, "NON_PERSISTENT"):
			replacement = "'NON_DURABLE'"
		}
		if replacement != "" {
			out.WriteString(selector[copied:t.at])
			out.WriteString(replacement)
			copied = l.at
		}
	}
	out.WriteString(selector[copied:])
	return out.String()
}

func jmsHeader(name string) string {
	switch name {
	case "JMSDeliveryMode":
		return Durable
	case "JMSPriority":
		return Priority
	case "JMSTimestamp":
		return Timestamp
	case "JMSMessageID":
		return UserID
	case "JMSExpiration":
		return Expiration
	case "JMSXGroupID":
		return GroupID
	}
	return ""
}
