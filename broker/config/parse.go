package config

import (
	"errors"
	"fmt"
	"reflect"
)

// parser reads one broker.xml with what it includes.
type parser struct {
	*report
	lookup  Lookup
	workDir string
	// tool leaves out refusals and warnings of no effect: a tool that only
	// looks at files can work on any configuration.
	tool bool
	// lenient turns structural faults into warnings, as Artemis does on reload.
	lenient bool
}

// ParseBroker reads broker.xml from its text; file is its path, used in
// messages and to find included files. Placeholders are answered by lookup, or
// replaced by their defaults if it is nil. The error is Errors; the Config is
// returned with it as far as it could be read.
func ParseBroker(file, text string, lookup Lookup) (*Config, []Warning, error) {
	if lookup == nil {
		lookup = noLookup
	}
	p := &parser{report: &report{}, lookup: lookup}
	c, d := p.broker(file, text)
	p.finish(c, d)
	return c, p.warns, p.err()
}

// broker reads the file. The decoder is nil if there is no core element.
func (p *parser) broker(file, text string) (*Config, *decoder) {
	c := blank()
	root, err := p.tree(file, text)
	if err != nil {
		p.add(err)
		return c, nil
	}
	core := root.find("core")
	if core == nil {
		p.fail(position{file, root.at.line}, root.name, "there is no core element", `put the settings in <core xmlns="urn:activemq:core">`)
		return c, nil
	}
	d := &decoder{report: p.report, seen: map[string]position{}, space: coreNS, origin: file, lenient: p.lenient}
	p.codec(core, d)
	if core.space != coreNS {
		p.fail(core.at, "core", fmt.Sprintf("the element is in namespace %q", core.space), fmt.Sprintf("write <core xmlns=%q>", coreNS))
		return c, d
	}
	d.decode(core, reflect.ValueOf(c).Elem(), "")
	if jms := root.find("jms"); jms != nil && jms.space == jmsNS {
		d.legacyJMS(jms, c)
	}
	return c, d
}

// tree substitutes, parses, includes and substitutes again.
func (p *parser) tree(file, text string) (*node, error) {
	text, err := Substitute(text, p.lookup)
	if err != nil {
		return nil, &Error{File: file, Problem: err.Error(), Remedy: "correct the placeholders"}
	}
	root, err := parseXML(file, text)
	if err != nil {
		return nil, err
	}
	inc := includer{workDir: p.workDir}
	if err := inc.resolve(root, 0); err != nil {
		return nil, err
	}
	err = root.mapText(func(s string) (string, error) { return Substitute(s, p.lookup) })
	return root, err
}

// codec sets how secrets are decoded. The elements that say so may come after
// the first secret, so they are looked for ahead.
func (p *parser) codec(core *node, d *decoder) {
	text := ""
	if n := core.child("password-codec"); n != nil {
		text = n.text
	}
	codec, err := NewCodec(text, p.lookup)
	if err != nil {
		at := position{core.at.file, core.at.line}
		if n := core.child("password-codec"); n != nil {
			at = n.at
		}
		p.fail(at, "password-codec", err.Error(), "use the default codec and mask the passwords again")
		codec, _ = NewCodec("", p.lookup)
	}
	var mask *bool
	if n := core.child("mask-password"); n != nil {
		if value, err := parseBool(n.text); err == nil {
			mask = &value
		}
	}
	d.unmask = func(text string) (string, error) { return codec.Unmask(text, mask) }
}

// add takes an error that is an *Error or Errors.
func (p *parser) add(err error) {
	var one *Error
	var many Errors
	switch {
	case errors.As(err, &many):
		p.errs = append(p.errs, many...)
	case errors.As(err, &one):
		p.errs = append(p.errs, one)
	default:
		p.errs = append(p.errs, &Error{Problem: err.Error()})
	}
}

// finish checks what concerns several elements and derives defaults. d may be nil.
func (p *parser) finish(c *Config, d *decoder) {
	if d == nil {
		return
	}
	c.derive()
	d.unite(c)
	d.crossCheck(c, p.tool)
	if !p.tool {
		d.applyEffects(c, position{file: d.origin})
	}
}
