package main

import "slices"

// A summary is what the rounds of a broker came to.
type summary struct {
	Median float64 `json:"median"`
	Lowest float64 `json:"lowest"`
	Most   float64 `json:"most"`
	Rounds int     `json:"rounds"`
}

// summarize is false when there is nothing to summarize.
func summarize(list []float64) (summary, bool) {
	if len(list) == 0 {
		return summary{}, false
	}
	sorted := slices.Sorted(slices.Values(list))
	return summary{Median: median(sorted), Lowest: sorted[0], Most: sorted[len(sorted)-1], Rounds: len(sorted)}, true
}

// median of sorted figures; between the middle two if their number is even.
func median(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// figures are the values of a metric by round, of one broker. Rounds without it are missing.
func figures(rounds []round, broker, metric string) map[int]float64 {
	found := map[int]float64{}
	for _, r := range rounds {
		if v, ok := r.Values[metric]; ok && r.Broker == broker && r.Error == "" {
			found[r.Round] = v
		}
	}
	return found
}

func listOf(byRound map[int]float64) (list []float64) {
	for _, v := range byRound {
		list = append(list, v)
	}
	return list
}

// ratios are a's figures by b's of the same round.
func ratios(a, b map[int]float64) (list []float64) {
	for n, v := range a {
		if w, ok := b[n]; ok && w > 0 {
			list = append(list, v/w)
		}
	}
	return list
}
