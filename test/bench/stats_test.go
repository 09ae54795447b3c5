package main

import (
	"slices"
	"testing"
)

func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		list []float64
		want summary
	}{
		{[]float64{7}, summary{7, 7, 7, 1}},
		{[]float64{5, 1, 3}, summary{3, 1, 5, 3}},
		{[]float64{4, 1, 2, 100}, summary{3, 1, 100, 4}},
	} {
		if got, ok := summarize(c.list); !ok || got != c.want {
			t.Errorf("%v: %+v, want %+v", c.list, got, c.want)
		}
	}
	if s, ok := summarize(nil); ok {
		t.Errorf("of nothing: %+v", s)
	}
}

// A round that failed, or lacks the other broker's part, has no ratio.
func TestRatiosAreOfTheSameRound(t *testing.T) {
	rounds := []round{
		{Broker: sarangaName, Round: 0, Values: values{"rate": 40}},
		{Broker: artemisName, Round: 0, Values: values{"rate": 10}},
		{Broker: artemisName, Round: 1, Values: values{"rate": 20}},
		{Broker: sarangaName, Round: 1, Values: values{"rate": 60}},
		{Broker: sarangaName, Round: 2, Values: values{"rate": 99}, Error: "cut short"},
		{Broker: artemisName, Round: 2, Values: values{"rate": 1}},
		{Broker: sarangaName, Round: 3, Values: values{"rate": 50}},
		{Broker: artemisName, Round: 3, Values: values{"rate": 0}},
	}
	got := ratios(figures(rounds, sarangaName, "rate"), figures(rounds, artemisName, "rate"))
	slices.Sort(got)
	if want := []float64{3, 4}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestOrderAlternates(t *testing.T) {
	var got []int
	for n := range 4 {
		o := order(n)
		got = append(got, o[:]...)
	}
	if want := []int{0, 1, 1, 0, 0, 1, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want A B B A A B B A", got)
	}
}
