package filter

import "github.com/saranga-mq/saranga/broker/filter/xpath"

// document is the source of one match by a filter with XPATH. It reads the body when that is asked for, once.
type document struct {
	Source
	namespaces bool
	read       bool
	content    *xpath.Document // nil: the body is not XML text
}

// holds evaluates an expression on the body.
func (d *document) holds(x *xpath.Expr) bool {
	if !d.read {
		d.read = true
		if body, ok := d.Source.(BodySource); ok {
			if text, ok := body.StringBody(xpath.MaxText); ok {
				d.content, _ = xpath.Parse(text, d.namespaces) // what is no XML matches no expression
			}
		}
	}
	return d.content != nil && x.Holds(d.content)
}

// path is XPATH. Its source is a document.
type path struct{ *xpath.Expr }

func (n path) eval(src Source) Value { return Bool(src.(*document).holds(n.Expr)) }

// xquery is XQUERY, which is false.
type xquery struct{}

func (xquery) eval(Source) Value { return Bool(false) }
