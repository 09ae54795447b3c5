package export

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/saranga-mq/saranga/broker/message"
)

// Address is an address of an export.
type Address struct {
	ID           int64
	Name         string
	RoutingTypes []message.RoutingType
}

// Queue is a queue of an export. Legacy tells that it is a 1.x <binding>, whose names may have a jms. prefix.
type Queue struct {
	ID      int64
	Name    string
	Address string
	Filter  string
	Routing message.RoutingType
	Legacy  bool
}

// Message is the head of an exported message. Its properties have the types message.Builder.Set takes.
type Message struct {
	ID         int64
	Priority   uint8
	Expiration int64
	Timestamp  int64
	Type       message.Type
	UserID     []byte // 16 bytes, or nil
	Properties []Property
	Queues     []string
	Large      bool
	// Body is read to its end by Handler.Message, or thrown away.
	Body io.Reader
}

// Property is one property of a message.
type Property struct {
	Name  string
	Value any
}

// Handler takes what a file holds, in its order. An error ends the import.
type Handler interface {
	Address(Address) error
	Queue(Queue) error
	Message(*Message) error
}

// maxAttribute bounds the text of one attribute, in bytes.
const maxAttribute = 64 << 20

// Read reads an export. Its memory is that of the properties of one message: bodies are streamed.
func Read(in io.Reader, h Handler) error {
	r := &reader{d: xml.NewDecoder(in), h: h}
	r.d.Strict = true
	for {
		t, err := r.d.RawToken()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = r.token(t)
		}
		if err != nil {
			line, column := r.d.InputPos()
			return fmt.Errorf("export: line %d, column %d: %w", line, column, err)
		}
	}
}

type reader struct {
	d *xml.Decoder
	h Handler
	m *Message
}

func (r *reader) token(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		a, err := attributes(t.Attr)
		if err != nil {
			return err
		}
		return r.start(t.Name.Local, a)
	case xml.EndElement:
		if t.Name.Local == "message" && r.m != nil {
			m := r.m
			r.m = nil
			m.Body = strings.NewReader("")
			return r.h.Message(m)
		}
	}
	return nil
}

func attributes(list []xml.Attr) (map[string]string, error) {
	a := map[string]string{}
	for _, x := range list {
		if len(x.Value) > maxAttribute {
			return nil, fmt.Errorf("attribute %s has %d bytes", x.Name.Local, len(x.Value))
		}
		a[x.Name.Local] = x.Value
	}
	return a, nil
}

func (r *reader) start(name string, a map[string]string) (err error) {
	number := func(key string, bits int) int64 {
		if a[key] == "" {
			return 0
		}
		n, e := strconv.ParseInt(a[key], 10, bits)
		if e != nil && err == nil {
			err = fmt.Errorf("attribute %s of <%s>: %w", key, name, e)
		}
		return n
	}
	routing := func(s string) message.RoutingType {
		switch s {
		case "ANYCAST":
			return message.Anycast
		case "MULTICAST":
			return message.Multicast
		}
		if err == nil {
			err = fmt.Errorf("routing type %q of <%s>", s, name)
		}
		return message.Unspecified
	}
	switch name {
	case "address-binding":
		b := Address{ID: number("id", 64), Name: a["name"]}
		for _, s := range strings.Split(a["routing-types"], ",") {
			if s = strings.TrimSpace(s); s != "" {
				b.RoutingTypes = append(b.RoutingTypes, routing(s))
			}
		}
		if err == nil {
			err = r.h.Address(b)
		}
	case "queue-binding":
		q := Queue{ID: number("id", 64), Name: a["name"], Address: a["address"], Filter: a["filter-string"], Routing: routing(a["routing-type"])}
		if err == nil {
			err = r.h.Queue(q)
		}
	case "binding": // 1.x
		q := Queue{ID: number("id", 64), Name: a["queue-name"], Address: a["address"], Filter: a["filter-string"], Routing: message.Anycast, Legacy: true}
		if strings.HasPrefix(q.Address, "jms.topic.") {
			q.Routing = message.Multicast
		}
		if err == nil {
			err = r.h.Queue(q)
		}
	case "message":
		m := &Message{ID: number("id", 64), Priority: uint8(number("priority", 8)), Expiration: number("expiration", 64), Timestamp: number("timestamp", 64)}
		if err == nil && int8(m.Priority) < 0 {
			err = fmt.Errorf("priority %s", a["priority"])
		}
		found := false
		for t, s := range messageTypes {
			if s == a["type"] {
				m.Type, found = t, true
			}
		}
		if !found {
			return fmt.Errorf("message type %q", a["type"])
		}
		if u := strings.ReplaceAll(a["user-id"], "-", ""); u != "" {
			b, e := hex.DecodeString(u)
			if e != nil || len(b) != 16 {
				return fmt.Errorf("user id %q", a["user-id"])
			}
			m.UserID = b
		}
		r.m = m
	case "property":
		if r.m == nil {
			return errors.New("<property> outside of a message")
		}
		v, e := value(a["type"], a["value"])
		if e != nil {
			return fmt.Errorf("property %s: %w", a["name"], e)
		}
		r.m.Properties = append(r.m.Properties, Property{a["name"], v})
	case "queue":
		if r.m == nil {
			return errors.New("<queue> outside of a message")
		}
		r.m.Queues = append(r.m.Queues, a["name"])
	case "body":
		return r.body(a["isLarge"] == "true")
	}
	return err
}

// value is a property's value. A char has no type in the file: it is a string of one character.
func value(kind, s string) (any, error) {
	integer := func(bits int) (int64, error) { return strconv.ParseInt(s, 10, bits) }
	switch kind {
	case "boolean":
		return strings.EqualFold(s, "true"), nil
	case "byte":
		n, err := integer(8)
		return int8(n), err
	case "short":
		n, err := integer(16)
		return int16(n), err
	case "integer":
		n, err := integer(32)
		return int32(n), err
	case "long":
		return integer(64)
	case "float":
		f, err := strconv.ParseFloat(s, 32)
		return float32(f), err
	case "double":
		return strconv.ParseFloat(s, 64)
	case "bytes":
		if s == nullValue {
			return nil, nil
		}
		return base64.URLEncoding.DecodeString(s)
	case "string", "simple-string", "":
		if s == nullValue {
			return nil, nil
		}
		return s, nil
	}
	return nil, fmt.Errorf("type %q", kind)
}

// body hands the message out, its body being read from the file as it goes.
func (r *reader) body(large bool) error {
	m := r.m
	if m == nil {
		return errors.New("<body> outside of a message")
	}
	r.m = nil
	m.Large = large
	b := &body{d: r.d}
	m.Body = b
	if err := r.h.Message(m); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, b)
	return err
}

// body decodes the CDATA sections up to </body>.
type body struct {
	d    *xml.Decoder
	left []byte
	err  error
}

func (b *body) Read(p []byte) (int, error) {
	for len(b.left) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.next()
	}
	n := copy(p, b.left)
	b.left = b.left[n:]
	return n, nil
}

func (b *body) next() {
	t, err := b.d.RawToken()
	switch t := t.(type) {
	case xml.CharData:
		text := strings.TrimSpace(string(t))
		b.left, err = base64.URLEncoding.DecodeString(text)
		if err != nil {
			err = fmt.Errorf("body: %w", err)
		}
	case xml.StartElement:
		err = fmt.Errorf("<%s> in a body", t.Name.Local)
	case xml.EndElement:
		err = io.EOF
	}
	if err == io.EOF && t == nil {
		err = io.ErrUnexpectedEOF
	}
	b.err = err
}
