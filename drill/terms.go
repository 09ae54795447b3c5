package drill

import (
	"cmp"
	"math"
	"slices"
)

// An answer is an acknowledgement: its node was active at some moment from when it was asked to when the answer was there.
type answer struct {
	asked, answered Time
	term            Term
}

// answers calls f with all acknowledgements of nodes that are known, of which there may be millions, in no order.
func answers(h *History, f func(answer)) {
	for _, p := range h.Producers {
		for i := range p.sends.len() {
			if s := p.sends.at(i); s.Outcome == Acknowledged && s.Term != 0 {
				f(answer{s.Sent, s.Answered, s.Term})
			}
		}
	}
	for _, c := range h.Consumers {
		for i := range c.receipts.len() {
			if r := c.receipts.at(i); r.Outcome == Acknowledged && r.Term != 0 {
				f(answer{r.Received, r.Answered, r.Term})
			}
		}
	}
}

// checkTerms looks for two nodes that were active at the same time.
func checkTerms(h *History, v *Verdict) {
	h.mu.Lock()
	terms := append([]TermInfo{{}}, h.terms...)
	h.mu.Unlock()

	first := make([]Time, len(terms))
	for i := range first {
		first[i] = math.MaxUint32
	}
	answers(h, func(a answer) { first[a.term] = min(first[a.term], a.answered) })

	// superseded is when another node first answered in a later activation.
	superseded := make([]Time, len(terms))
	by := make([]Term, len(terms))
	for i, t := range terms {
		superseded[i] = math.MaxUint32
		for j, o := range terms {
			if t.Sequence <= 0 || o.Sequence <= 0 || o.Node == t.Node || first[i] == math.MaxUint32 || first[j] == math.MaxUint32 {
				continue
			}
			switch {
			case o.Sequence == t.Sequence && i < j:
				v.broken(TwoActive, "%s and %s both acknowledged in activation %d", t.Node, o.Node, t.Sequence)
			case o.Sequence > t.Sequence && first[j] < superseded[i]:
				superseded[i], by[i] = first[j], Term(j)
			}
		}
	}
	answers(h, func(a answer) {
		if a.asked > superseded[a.term] {
			t, o := terms[a.term], terms[by[a.term]]
			v.broken(TwoActive, "%s, activation %d, acknowledged after %v what it was asked after %v: %s had acknowledged in activation %d after %v",
				t.Node, t.Sequence, a.answered.Duration(), a.asked.Duration(), o.Node, o.Sequence, superseded[a.term].Duration())
		}
	})
	checkSwitches(h, v, terms)
}

// checkSwitches counts how often the active node must have changed. It is for nodes that do not tell their activation sequence.
func checkSwitches(h *History, v *Verdict, terms []TermInfo) {
	if h.Switches < 0 {
		return
	}
	var all []answer
	nodes := map[string]Term{}
	answers(h, func(a answer) {
		name := terms[a.term].Node // a node has one number here, whatever its activations are
		if _, ok := nodes[name]; !ok {
			nodes[name] = a.term
		}
		all = append(all, answer{a.asked, a.answered, nodes[name]})
	})
	if len(nodes) < 2 {
		return
	}
	if n := fewestSwitches(all); n > h.Switches {
		v.broken(TwoActive, "the active node must have changed %d times for what was acknowledged by whom, and it changed %d times", n, h.Switches)
	}
}

// fewestSwitches is how often the active node changed at least, if each answer's was active at some moment between question and answer.
// Each change is taken to be as late as it can be: at the end of the first answer that cannot be explained without it.
func fewestSwitches(all []answer) int {
	slices.SortFunc(all, func(a, b answer) int {
		return cmp.Or(cmp.Compare(a.answered, b.answered), cmp.Compare(a.asked, b.asked))
	})
	var active Term
	until := map[Term]Time{} // when a node that was active ceased to be
	n := 0
	for _, a := range all {
		switch ceased, was := until[a.term]; {
		case active == 0:
			active = a.term
		case a.term == active || was && a.asked <= ceased:
		default:
			until[active] = a.answered
			active = a.term
			n++
		}
	}
	return n
}
