package drill

import "fmt"

// A Rule is a promise that a History may show to be broken.
type Rule uint8

const (
	// Lost: a message that was acknowledged did not come, or was given back and did not come again.
	Lost Rule = iota
	// Duplicate: a message came more often than it can have been stored, which is once with duplicate detection or a single attempt,
	// else once for each attempt. That it comes again after a receipt whose acknowledgement nobody answered, or was rolled back, is no
	// duplicate.
	Duplicate
	// NeverSent: a message came that no producer sent, or that was sent elsewhere.
	NeverSent
	// Undone: a message came that was refused or rolled back.
	Undone
	// Partial: a part of a transaction came, and another part did not.
	Partial
	// Order: a producer that sends one message at a time had an earlier one come, for the first time, after a later one, in a queue that
	// one consumer takes from.
	Order
	// Damaged: a message came with another body than it was sent with.
	Damaged
	// TwoActive: a node acknowledged what it was asked after another node had acknowledged something in a later activation, or more
	// changes of the active node are needed to explain who acknowledged what than there were.
	TwoActive

	rules
)

var ruleNames = [rules]string{
	Lost: "lost", Duplicate: "duplicate", NeverSent: "never sent", Undone: "undone and delivered", Partial: "part of a transaction", Order: "out of order",
	Damaged: "damaged", TwoActive: "two active nodes",
}

func (r Rule) String() string {
	if r < rules {
		return ruleNames[r]
	}
	return fmt.Sprintf("rule %d", uint8(r))
}

// Rules are all rules, in the order of reports.
func Rules() []Rule {
	list := make([]Rule, rules)
	for i := range list {
		list[i] = Rule(i)
	}
	return list
}

// A Violation is one case of a broken Rule.
type Violation struct {
	Rule Rule
	Text string
}

func (v Violation) String() string { return v.Rule.String() + ": " + v.Text }

// examples is how many violations of a rule are kept in full.
const examples = 5

// Counts are numbers of messages.
type Counts struct {
	Sent         uint64 // to the broker, each message once
	Acknowledged uint64 // sends that the broker answered
	Refused      uint64 // sends that it refused or rolled back
	Unknown      uint64 // sends that nobody answered in the end
	Repeated     uint64 // sends that were made more than once

	Received    uint64 // deliveries
	Consumed    uint64 // deliveries whose acknowledgement the broker answered
	Redelivered uint64 // deliveries after the first one of a message in a queue, allowed ones too
}
