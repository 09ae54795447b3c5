package main

import (
	"errors"
	"strings"
)

// allowed are the licences of software that may be linked, and words that only they have, in lower case with single
// blanks. Words behind "but not" belong to a similar licence.
var allowed = []struct {
	licence string
	words   []string
	butNot  string
}{
	{"Apache-2.0", []string{"apache license", "version 2.0"}, ""},
	{"MPL-2.0", []string{"mozilla public license", "version 2.0"}, ""},
	{"MIT", []string{"permission is hereby granted, free of charge, to any person obtaining a copy of this software"}, ""},
	{"BSD-3-Clause", []string{"redistributions of source code must retain", "redistributions in binary form must reproduce", "neither the name"}, ""},
	{"BSD-2-Clause", []string{"redistributions of source code must retain", "redistributions in binary form must reproduce"}, "neither the name"},
	{"ISC", []string{"permission to use, copy, modify, and", "distribute this software for any purpose with or without fee is hereby granted"}, ""},
	{"Zlib", []string{"this software is provided 'as-is', without any express or implied", "altered source versions must be plainly marked"}, ""},
}

// restricted are words of licences that are not allowed. MPL-2.0 names some of them as secondary licences.
var restricted = []string{"general public license", "advertising materials mentioning features", "server side public license", "business source license", "commons clause"}

// Recognise names the licences in a text. It is an error when there is none, or one that is not allowed.
func Recognise(text string) ([]string, error) {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	var found []string
	mpl := false
	for _, a := range allowed {
		all := a.butNot == "" || !strings.Contains(text, a.butNot)
		for _, w := range a.words {
			all = all && strings.Contains(text, w)
		}
		if all {
			found = append(found, a.licence)
			mpl = mpl || a.licence == "MPL-2.0"
		}
	}
	for _, w := range restricted {
		if strings.Contains(text, w) && !mpl {
			return nil, errors.New("the licence is not allowed: it says " + w)
		}
	}
	if found == nil {
		return nil, errors.New("the licence is not known")
	}
	return found, nil
}
