package print

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/saranga-mq/saranga/broker/message"
	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/journal/paging"
	"github.com/saranga-mq/saranga/wire/buf"
)

// Options says what to print.
type Options struct {
	Store  journal.StoreOptions
	NodeID string

	Safe         bool // no bodies, no properties
	Reclaimed    bool // also records of the files' former uses
	SkipBindings bool
	SkipJournal  bool
	MaxPages     int            // per address; negative: all
	Location     *time.Location // of timestamps; nil: local
}

const rule = "********************************************"

// Data prints everything.
func Data(w io.Writer, o Options) error {
	out := bufio.NewWriterSize(w, 64<<10)
	p := &printer{o: o, w: out}
	if p.o.Location == nil {
		p.o.Location = time.Local
	}
	p.title("Server's ID=" + o.NodeID)
	if !o.SkipBindings {
		p.title("B I N D I N G S  J O U R N A L")
		if err := p.journal(o.Store.BindingsOptions()); err != nil {
			return err
		}
	}
	if !o.SkipJournal {
		p.title("M E S S A G E S   J O U R N A L")
		if err := p.journal(o.Store.MessagesOptions()); err != nil {
			return err
		}
	}
	p.title("P A G I N G")
	if err := p.pages(); err != nil {
		return err
	}
	return out.Flush()
}

type printer struct {
	o    Options
	w    *bufio.Writer
	pool message.Pool
}

func (p *printer) line(format string, args ...any) {
	fmt.Fprintf(p.w, format+"\n", args...)
}

func (p *printer) title(s string) {
	p.line("%s\n%s\n%s", rule, s, rule)
	if strings.HasPrefix(s, "Server") {
		p.line("")
	}
}

var operations = map[journal.Kind]string{journal.Event: "Event", journal.Add: "AddRecord", journal.Update: "Update", journal.AddTx: "AddRecordTX",
	journal.UpdateTx: "UpdateTX", journal.DeleteTx: "DeleteRecordTX", journal.Delete: "DeleteRecord", journal.Prepare: "Prepare",
	journal.Commit: "Commit", journal.Rollback: "Rollback"}

// journal prints one journal: the records of each file, then what is left.
func (p *printer) journal(o journal.Options) error {
	p.line("Journal path: %s", o.Dir)
	files, err := journal.Files(o.FS, o.Dir, o.Ext)
	if err != nil {
		return err
	}
	for _, f := range files {
		p.line("#JournalFileImpl: (%s id = %d, recordID = %d) (size=%d)", f.Name, f.ID, f.ID&0x7fffffff, f.Size)
		b, err := fs.ReadFile(o.FS, path.Join(o.Dir, f.Name))
		if err != nil {
			return err
		}
		var r journal.Record
		for s := journal.NewScanner(b, f.Header, p.o.Reclaimed); s.Next(&r); {
			p.operation(&r)
		}
	}
	return p.surviving(o)
}

func (p *printer) operation(r *journal.Record) {
	op := operations[r.Kind]
	switch r.Kind {
	case journal.Event, journal.Add, journal.Update:
		p.line("operation@%s;recordID=%d;%s", op, r.ID, p.info(r))
	case journal.AddTx, journal.UpdateTx, journal.DeleteTx:
		p.line("operation@%s;txID=%d,recordID=%d;%s", op, r.Tx, r.ID, p.info(r))
	case journal.Delete:
		p.line("operation@%s;recordID=%d", op, r.ID)
	case journal.Prepare:
		p.line("operation@%s,txID=%d,numberOfRecords=%d,extraData=%s, xid=%s", op, r.Tx, r.N, base64.StdEncoding.EncodeToString(r.Payload), xidText(r.Payload))
	case journal.Commit:
		p.line("operation@%s;txID=%d,numberOfRecords=%d", op, r.Tx, r.N)
	case journal.Rollback:
		p.line("operation@%s;txID=%d", op, r.Tx)
	}
}

func (p *printer) info(r *journal.Record) string {
	update := r.Kind == journal.Update || r.Kind == journal.UpdateTx || r.Kind == journal.DeleteTx
	text := "(safe data)"
	if !p.o.Safe {
		text = p.describe(r)
	}
	return fmt.Sprintf("userRecordType=%d;isUpdate=%t;compactCount=%d;%s", r.UserType, update, r.Compact, text)
}

// counts is the summary of messages and references.
type counts struct {
	messages, large int
	refs            map[int64]int
}

func (c *counts) record(r *journal.Record) {
	switch in := buf.NewReader(r.Payload); r.UserType {
	case 45:
		c.messages++
	case 30:
		c.large++
	case 32:
		c.refs[in.Int64()]++
	case 33:
		c.refs[in.Int64()]--
	}
}

func (p *printer) counts(prefix string, c *counts) {
	p.line("%smessage count=%d", prefix, c.messages)
	p.line("%slarge message count=%d", prefix, c.large)
	p.line("%smessage reference count", prefix)
	for _, q := range slices.Sorted(maps.Keys(c.refs)) {
		if n := c.refs[q]; n != 0 {
			p.line("queue id %d,count=%d", q, n)
		}
	}
}

// surviving prints what a load would find.
func (p *printer) surviving(o journal.Options) error {
	p.line("\n### Surviving Records Summary ###")
	left, prepared := counts{refs: map[int64]int{}}, counts{refs: map[int64]int{}}
	pageCounts := map[int64]int64{}
	var txs, failed []*journal.Transaction
	if _, err := journal.Read(o, journal.Visitor{
		Record: func(r *journal.Record) error {
			left.record(r)
			p.line("recordID=%d;%s", r.ID, p.info(r))
			if in := buf.NewReader(r.Payload); r.UserType == paging.TypeCounter || r.UserType == paging.TypeCounterDelta {
				queue := in.Int64()
				if r.UserType == paging.TypeCounter {
					pageCounts[queue] = in.Int64()
				} else {
					pageCounts[queue] += int64(in.Int32())
				}
				p.line("##SubsCounter for queue=%d, value=%d\n", queue, pageCounts[queue])
			}
			return nil
		},
		Prepared: func(t *journal.Transaction) error { txs = append(txs, t); return nil },
		Failed:   func(t *journal.Transaction) error { failed = append(failed, t); return nil },
	}); err != nil {
		return err
	}
	if len(pageCounts) > 0 {
		p.line("### Page Counters")
		for _, q := range slices.Sorted(maps.Keys(pageCounts)) {
			p.line("Queue %d value=%d", q, pageCounts[q])
		}
	}
	p.line("\n### Prepared TX ###")
	for _, t := range txs {
		p.line("%d", t.ID)
		for i := range t.Records {
			r := &t.Records[i]
			if r.Kind != journal.DeleteTx {
				prepared.record(r)
			}
			p.line("- recordID=%d;%s", r.ID, p.info(r))
		}
	}
	for q, n := range prepared.refs { // acknowledgements in doubt are not counted
		if n < 0 {
			delete(prepared.refs, q)
		}
	}
	if len(failed) > 0 {
		p.line("\n### Failed Transactions (Missing commit/prepare/rollback record) ###")
		for _, t := range failed {
			p.line("Transaction %d failed with these records:", t.ID)
			for i := range t.Records {
				p.line("- recordID=%d;%s", t.Records[i].ID, p.info(&t.Records[i]))
			}
		}
	}
	p.line("\n### Message Counts ###")
	p.counts("", &left)
	p.counts("prepared ", &prepared)
	p.line("")
	return nil
}

// pages prints the page folders, with what each queue has done with each message.
func (p *printer) pages() error {
	o := p.o.Store
	state, queues := paging.NewState(), map[int64]bool{}
	if _, err := journal.Read(o.MessagesOptions(), journal.Visitor{Record: func(r *journal.Record) error {
		return state.Record(r.UserType, r.Payload, r.Kind == journal.Update || r.Kind == journal.UpdateTx, false)
	}}); err != nil {
		return err
	}
	if _, err := journal.Read(o.BindingsOptions(), journal.Visitor{Record: func(r *journal.Record) error {
		queues[r.ID] = queues[r.ID] || r.UserType == 21
		return nil
	}}); err != nil {
		return err
	}
	folders, _, err := paging.Folders(o.FS, o.Paging)
	if err != nil {
		return err
	}
	for _, f := range folders {
		p.line("####################################################################################################")
		p.line("Exploring store %s folder = %s", f.Address, f.Path)
		current := int64(0)
		if n := len(f.Pages); n > 0 {
			current = f.Pages[n-1]
		}
		p.line("Number of pages ::%d, Current writing page ::%d", len(f.Pages), current)
		for i, page := range f.Pages {
			if p.o.MaxPages >= 0 && i >= p.o.MaxPages {
				break
			}
			p.line("*******   Page %d", page)
			if _, _, err := f.Read(page, func(m *paging.Message) error {
				p.paged(m, state, queues)
				return nil
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *printer) paged(m *paging.Message, state *paging.State, queues map[int64]bool) {
	text := "(safe data)"
	userID := ""
	if !p.o.Safe {
		text, userID = p.pagedMessage(m)
	}
	var marks []string
	acked := 0
	for _, q := range m.Queues {
		mark := "(OK) "
		switch {
		case !queues[q]:
			mark = "(N/A)"
		case state.Complete(q, m.Page):
			mark = "(PG-COMPLETE)"
			acked++
		case state.Acked(q, m):
			mark = "(ACK)"
			acked++
		}
		marks = append(marks, fmt.Sprintf("%d %s", q, mark))
	}
	note := ""
	if known, prepared := state.Transaction(m.Tx); !known && !prepared {
		note = ", **PG_TX_NOT_FOUND**"
	}
	p.line("pg=%d, msg=%d,pgTX=%d,userMessageID=%s, msg=%s,Queues = %s%s", m.Page, m.Index, m.Tx, userID, text, strings.Join(marks, ","), note)
	if acked < len(m.Queues) {
		p.line("^^^ Previous record has %d acked queues and %d queues routed\n", acked, len(m.Queues))
	}
}
