package quorum

import (
	"errors"
	"testing"
)

// TestCoordinationID has what a real broker told as its node id, or would by the rule.
func TestCoordinationID(t *testing.T) {
	for text, want := range map[string]string{
		"ffffffff-ffff-ffff-ffff-ffffffffffff": "ffffffff.ffff.ff", // told by 2.40.0
		"peer":                                 "peer",
		"peers":                                "peers+",
		"0123456789abcdef":                     "0123456789abcdef",
		"0123456789abcdefg":                    "0123456789abcdef",
		"0123456789-bcde":                      "0123456789.bcde+",
		"-":                                    ".+",
		"\U0001F600\U0001F600":                 "\U0001F600\U0001F600", // two characters of Java each
		"\u20ac":                               "\u20ac+",
		"":                                     "",
	} {
		if got := CoordinationID(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestNodeID has what Artemis' UUID.stringToBytes and UUID make of a text.
func TestNodeID(t *testing.T) {
	for text, want := range map[string]string{
		"d81f6a2c-ecb1-11f1-a88d-02fc00000001": "d81f6a2c-ecb1-11f1-a88d-02fc00000001",
		"D81F6A2CECB111F1A88D02FC00000001":     "d81f6a2c-ecb1-11f1-a88d-02fc00000001",
		"ffffffff-ffff-ffff-ffff-ffffffffffff": "ffffffff-ffff-1fff-bfff-ffffffffffff", // version 1, variant 10
		"":                                     "00000000-0000-1000-8000-000000000000",
		"ab":                                   "ab000000-0000-1000-8000-000000000000",
		"--ab":                                 "ab000000-0000-1000-8000-000000000000",
		"g0":                                   "f0000000-0000-1000-8000-000000000000", // -1 << 4
		"0g":                                   "ff000000-0000-1000-8000-000000000000",
		"a-":                                   "9f000000-0000-1000-8000-000000000000", // '-' in the second place of a pair is a digit
		"peer":                                 "fedf0000-0000-1000-8000-000000000000", // -16+14, 224-1
		"\u20ac1":                              "f1000000-0000-1000-8000-000000000000",
	} {
		got, err := NodeID(text)
		if err != nil || got.String() != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"a", "abc", "ab-", "-", "d81f6a2c-ecb1-11f1-a88d-02fc0000000100"} {
		if got, err := NodeID(text); !errors.Is(err, ErrNodeID) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
