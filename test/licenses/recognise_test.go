package main

import (
	"slices"
	"testing"
)

func TestRecognise(t *testing.T) {
	const (
		mit   = "Copyright (c) 2014 A\n\nPermission is hereby granted, free of charge, to any person obtaining a copy\nof this software and associated documentation files"
		bsd2  = "Redistributions of source code must retain the above copyright\n notice. Redistributions in binary form must reproduce the above"
		bsd3  = bsd2 + "\n * Neither the name of Google Inc. nor the names of its contributors"
		bsd4  = bsd2 + "\n3. All advertising materials mentioning features or use of this software must display"
		mpl   = "Mozilla Public License, version 2.0\n … 1.12. means either the GNU General Public License, Version 2.0"
		isc   = "Permission to use, copy, modify, and/or distribute this software for any\npurpose with or without fee is hereby granted"
		apach = "   Apache License\n   Version 2.0, January 2004"
	)
	for _, c := range []struct {
		name, text string
		want       []string // nil: refused
	}{
		{"one licence, its words over two lines", mit, []string{"MIT"}},
		{"three clauses are not two", bsd3, []string{"BSD-3-Clause"}},
		{"two clauses", bsd2, []string{"BSD-2-Clause"}},
		{"the advertising clause", bsd4, nil},
		{"MPL names GPL as secondary", mpl, []string{"MPL-2.0"}},
		{"ISC", isc, []string{"ISC"}},
		{"two licences in one file", mit + "\n" + apach, []string{"Apache-2.0", "MIT"}},
		{"GPL", "GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007", nil},
		{"parts under GPL", mit + "\nThe folder x is under the GNU Lesser General Public License.", nil},
		{"MPL of an older version", "Mozilla Public License Version 1.1", nil},
		{"no licence", "All rights reserved.", nil},
	} {
		got, err := Recognise(c.text)
		if c.want == nil && err == nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}
