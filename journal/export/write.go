package export

import (
	"bufio"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/bindings"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/journal/paging"
	"github.com/saranga-mq/saranga/wire/buf"
)

// Options says what to export.
type Options struct {
	Store journal.StoreOptions
	// UndefinedPrefix names the queue of a reference to a queue that does not exist; empty: UndefinedQueue_.
	UndefinedPrefix string
	// Convert makes a Core message of one in another encoding. Nil: such messages are left out and counted.
	Convert func(*message.Message) (*message.Message, error)
}

// Result counts what was exported.
type Result struct {
	Messages int
	// Skipped are messages in an encoding that cannot be converted.
	Skipped int
}

// Write exports the messages with a live reference in the journal, then those that wait in pages.
func Write(w io.Writer, o Options) (Result, error) {
	if o.UndefinedPrefix == "" {
		o.UndefinedPrefix = "UndefinedQueue_"
	}
	e := &exporter{o: o, w: bufio.NewWriterSize(w, 64<<10), queues: map[int64]string{}, state: paging.NewState()}
	err := e.run()
	if err == nil {
		err = e.w.Flush()
	}
	return e.result, err
}

type exporter struct {
	o      Options
	w      *bufio.Writer
	pool   message.Pool
	queues map[int64]string
	refs   map[int64][]int64
	state  *paging.State
	result Result
}

func (e *exporter) run() error {
	e.line(0, "")
	e.line(0, "<activemq-journal>")
	e.line(1, "<bindings>")
	if err := e.bindings(); err != nil {
		return err
	}
	e.line(1, "</bindings>")
	e.line(1, "<messages>")
	if err := e.journal(); err != nil {
		return err
	}
	if err := e.pages(); err != nil {
		return err
	}
	e.line(1, "</messages>")
	_, err := e.w.WriteString("</activemq-journal>")
	return err
}

func (e *exporter) line(depth int, format string, args ...any) {
	e.w.WriteString(strings.Repeat("   ", depth))
	fmt.Fprintf(e.w, format+"\n", args...)
}

// quote is an attribute's value.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder does not fail
	b.WriteByte('"')
	return b.String()
}

func (e *exporter) bindings() error {
	var addresses []broker.AddressRecord
	queues := map[int64]broker.QueueRecord{}
	if _, err := journal.Read(e.o.Store.BindingsOptions(), journal.Visitor{Record: func(r *journal.Record) error {
		switch r.UserType {
		case bindings.TypeAddress:
			a, err := bindings.ReadAddress(r.ID, r.Payload)
			if err != nil {
				return err
			}
			if i := slices.IndexFunc(addresses, func(x broker.AddressRecord) bool { return x.ID == a.ID }); i >= 0 {
				addresses[i] = a
			} else {
				addresses = append(addresses, a)
			}
		case bindings.TypeQueue:
			q, err := bindings.ReadQueue(r.ID, r.Payload)
			if err != nil {
				return err
			}
			queues[r.ID] = q
		}
		return nil
	}}); err != nil {
		return err
	}
	for _, a := range addresses {
		var types []string
		for _, t := range a.RoutingTypes.List() {
			types = append(types, t.String())
		}
		e.line(2, "<address-binding routing-types=%s name=%s id=\"%d\"/>", quote(strings.Join(types, ",")), quote(a.Name), a.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(queues)) {
		q := queues[id]
		e.queues[id] = q.Name
		e.line(2, "<queue-binding address=%s filter-string=%s name=%s id=\"%d\" routing-type=%s/>", quote(q.Address), quote(q.Filter), quote(q.Name), id, quote(q.Routing.String()))
	}
	return nil
}

// journal reads the messages journal twice: which references are live, and then the messages that have any.
func (e *exporter) journal() error {
	e.refs = map[int64][]int64{}
	o := e.o.Store.MessagesOptions()
	if _, err := journal.Read(o, journal.Visitor{Record: func(r *journal.Record) error {
		in := buf.NewReader(r.Payload)
		switch r.UserType {
		case 32:
			e.refs[r.ID] = append(e.refs[r.ID], in.Int64())
		case 33:
			queue := in.Int64()
			if i := slices.Index(e.refs[r.ID], queue); i >= 0 {
				e.refs[r.ID] = slices.Delete(e.refs[r.ID], i, i+1)
			}
		default:
			return e.state.Record(r.UserType, r.Payload, r.Kind == journal.Update || r.Kind == journal.UpdateTx, false)
		}
		return in.Err()
	}}); err != nil {
		return err
	}
	_, err := journal.Read(o, journal.Visitor{Record: func(r *journal.Record) error {
		if r.UserType != message.RecordMessage && r.UserType != message.RecordLargeMessage || len(e.refs[r.ID]) == 0 {
			return nil
		}
		return e.message(r.ID, r.UserType, r.Payload, e.refs[r.ID])
	}})
	return err
}

func (e *exporter) pages() error {
	folders, _, err := paging.Folders(e.o.Store.FS, e.o.Store.Paging)
	if err != nil {
		return err
	}
	for _, f := range folders {
		for _, page := range f.Pages {
			if _, _, err := f.Read(page, func(m *paging.Message) error {
				if known, _ := e.state.Transaction(m.Tx); !known {
					return nil
				}
				var left []int64
				for _, q := range m.Queues {
					if !e.state.Acked(q, m) {
						left = append(left, q)
					}
				}
				if len(left) == 0 {
					return nil
				}
				return e.message(-1, m.RecordType, m.Record, left)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// message writes one message; id -1 takes the message's own.
func (e *exporter) message(id int64, recordType byte, payload []byte, queues []int64) error {
	m, err := e.pool.FromRecord(recordType, payload)
	if err != nil {
		return err
	}
	defer func() { m.Release() }()
	if id < 0 {
		id = m.ID()
	}
	if m.IsLarge() {
		body, err := openBody(e.o.Store, id)
		if err != nil {
			return err
		}
		m.SetLarge(body)
	}
	if m.Encoding() != message.Core {
		if e.o.Convert == nil {
			e.result.Skipped++
			return nil
		}
		core, err := e.o.Convert(m)
		if err != nil {
			return fmt.Errorf("convert message %d: %w", id, err)
		}
		m.Release()
		m = core
	}
	user := ""
	if u := m.UserID(); len(u) == 16 {
		h := hex.EncodeToString(u)
		user = fmt.Sprintf(" user-id=%q", h[:8]+"-"+h[8:12]+"-"+h[12:16]+"-"+h[16:20]+"-"+h[20:])
	}
	e.line(2, "<message id=\"%d\" priority=\"%d\" expiration=\"%d\" timestamp=\"%d\" type=%s%s>", id, m.Priority(), m.Expiration(), m.Timestamp(), quote(messageTypes[m.Type()]), user)
	e.properties(m)
	e.line(3, "<queues>")
	for _, q := range queues {
		name, ok := e.queues[q]
		if !ok {
			name = e.o.UndefinedPrefix + strconv.FormatInt(q, 10)
		}
		e.line(4, "<queue name=%s/>", quote(name))
	}
	e.line(3, "</queues>")
	if err := e.body(m); err != nil {
		return fmt.Errorf("body of message %d: %w", id, err)
	}
	e.line(2, "</message>")
	e.result.Messages++
	return nil
}

func (e *exporter) properties(m *message.Message) {
	props := m.Properties()
	if props.Len() == 0 {
		return
	}
	e.line(3, "<properties>")
	for k, v, ok := props.Next(); ok; k, v, ok = props.Next() {
		value, kind := property(v)
		if kind != "" {
			kind = " type=" + quote(kind)
		}
		e.line(4, "<property name=%s value=%s%s/>", quote(buf.StringFromSS(k)), quote(value), kind)
	}
	e.line(3, "</properties>")
}

func property(v buf.Value) (value, kind string) {
	switch v.Type {
	case buf.TypeNull:
		return nullValue, "bytes"
	case buf.TypeBool:
		return strconv.FormatBool(v.Bool()), "boolean"
	case buf.TypeByte, buf.TypeShort, buf.TypeInt, buf.TypeLong:
		n, _ := v.Int64()
		return strconv.FormatInt(n, 10), map[buf.Type]string{buf.TypeByte: "byte", buf.TypeShort: "short", buf.TypeInt: "integer", buf.TypeLong: "long"}[v.Type]
	case buf.TypeFloat:
		f, _ := v.Float64()
		return javaFloat(f, 32), "float"
	case buf.TypeDouble:
		f, _ := v.Float64()
		return javaFloat(f, 64), "double"
	case buf.TypeBytes:
		return base64.URLEncoding.EncodeToString(v.Bytes()), "bytes"
	case buf.TypeString:
		s, _ := v.Text()
		return s, "simple-string"
	}
	c, _ := v.Char()
	return string(rune(c)), ""
}

// javaFloat is Java's text of a float or double.
func javaFloat(f float64, bits int) string {
	abs := f
	if abs < 0 {
		abs = -abs
	}
	switch s := strconv.FormatFloat(f, 'g', -1, bits); {
	case s == "NaN":
		return s
	case s == "+Inf" || s == "-Inf":
		return strings.TrimPrefix(strings.Replace(s, "Inf", "Infinity", 1), "+")
	}
	if f == 0 || abs >= 1e-3 && abs < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, bits)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, bits), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exponent)
	return mantissa + "E" + strconv.Itoa(n)
}

func (e *exporter) body(m *message.Message) error {
	body := m.Large()
	if body == nil {
		e.line(3, "<body>")
		e.line(4, "<![CDATA[%s]]>", base64.URLEncoding.EncodeToString(m.Body()))
		e.line(3, "</body>")
		return nil
	}
	e.line(3, `<body isLarge="true">`)
	in := bufio.NewReaderSize(io.NewSectionReader(body, 0, body.Size()), 256<<10)
	for chunk := make([]byte, largeChunk); ; {
		n, err := io.ReadFull(in, chunk)
		if n > 0 {
			e.line(4, "<![CDATA[%s]]>", base64.URLEncoding.EncodeToString(chunk[:n]))
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			break
		}
		if err != nil {
			return err
		}
	}
	e.line(3, "</body>")
	return nil
}

// fileBody is a large body that is only read.
type fileBody struct {
	f    fs.File
	size int64
}

func openBody(o journal.StoreOptions, id int64) (message.Body, error) {
	f, err := o.FS.OpenRead(o.Large + "/" + strconv.FormatInt(id, 10) + ".msg")
	if err != nil {
		return nil, fmt.Errorf("large message %d: %w", id, err)
	}
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("large message %d: %w", id, err)
	}
	return &fileBody{f, size}, nil
}

func (b *fileBody) Size() int64                             { return b.size }
func (b *fileBody) ReadAt(p []byte, off int64) (int, error) { return b.f.ReadAt(p, off) }
func (b *fileBody) Discard()                                {}
func (b *fileBody) Retain()                                 {}
func (b *fileBody) Release()                                { _ = b.f.Close() }
