package management

import (
	"fmt"
	"sort"
	"strings"

	"github.com/saranga-mq/saranga/broker"
	"github.com/saranga-mq/saranga/broker/message"
)

func (g *Registry) prepared() []broker.PreparedBranch {
	list := g.b.Prepared()
	sort.Slice(list, func(i, j int) bool { return list[i].Created < list[j].Created })
	return list
}

func messageTypeName(t message.Type) string {
	switch t {
	case message.Object:
		return "ObjectMessage"
	case message.Text:
		return "TextMessage"
	case message.Bytes:
		return "ByteMessage"
	case message.Map:
		return "MapMessage"
	case message.Stream:
		return "StreamMessage"
	}
	return "Default"
}

func (g *Registry) preparedMessages(x broker.Xid) []Object {
	out := []Object{}
	g.b.PreparedMessages(x, func(sent bool, m *message.Message) {
		kind := "(-) receive"
		if sent {
			kind = "(+) send"
		}
		out = append(out, Object{{"message_operation_type", kind}, {"message_type", messageTypeName(m.Type())}, {"message_properties", flat(m, -1)}})
	})
	return out
}

// defineTransactions are the operations on prepared and heuristically completed branches.
func defineTransactions(d *definition[*Registry]) {
	d.op("listPreparedTransactions()", Strings, Info, "Prepared transactions, oldest first.", func(g *Registry, _ *Call) (any, error) {
		out := []string{}
		for _, p := range g.prepared() {
			out = append(out, shortDate(p.Created)+" base64: "+p.Xid.Base64()+" "+p.Xid.String())
		}
		return out, nil
	})
	d.op("listPreparedTransactionDetailsAsJSON()", String, Info, "Prepared transactions with their messages, as JSON.", func(g *Registry, _ *Call) (any, error) {
		out := []Object{}
		for _, p := range g.prepared() {
			out = append(out, Object{{"creation_time", shortDate(p.Created)}, {"xid_as_base64", p.Xid.Base64()}, {"xid_format_id", p.Xid.Format}, {"xid_global_txid", p.Xid.Global},
				{"xid_branch_qual", p.Xid.Branch}, {"tx_related_messages", g.preparedMessages(p.Xid)}})
		}
		return JSON(out), nil
	})
	d.op("listPreparedTransactionDetailsAsHTML()", String, Info, "Prepared transactions with their messages, as HTML.", func(g *Registry, _ *Call) (any, error) {
		list := g.prepared()
		var b strings.Builder
		b.WriteString("<h3>*** Prepared Transaction Details ***</h3>")
		if len(list) == 0 {
			b.WriteString("<p>No entry.</p>")
		}
		for _, p := range list {
			fmt.Fprintf(&b, `<table border="1"><tr><th>creation_time</th><td>%s</td><th>xid_as_base_64</th><td colspan="3">%s</td></tr>`, html(shortDate(p.Created)), html(p.Xid.Base64()))
			fmt.Fprintf(&b, `<tr><th>xid_format_id</th><td>%d</td><th>xid_global_txid</th><td>%s</td><th>xid_branch_qual</th><td>%s</td></tr>`, p.Xid.Format, html(p.Xid.Global), html(p.Xid.Branch))
			b.WriteString(`<tr><th colspan="6">Message List</th></tr><tr><td colspan="6"><table border="1" cellspacing="0" cellpadding="0">`)
			for _, m := range g.preparedMessages(p.Xid) {
				fmt.Fprintf(&b, `<tr><th>operation_type</th><td>%s</td><th>message_type</th><td>%s</td></tr><tr><th>properties</th><td colspan="3">`, html(m.Get("message_operation_type")), html(m.Get("message_type")))
				props := m.Get("message_properties").(map[string]any)
				for _, k := range sortedKeys(props) {
					fmt.Fprintf(&b, "%s=%s, ", escape(k), html(props[k]))
				}
				b.WriteString(`</td></tr>`)
			}
			b.WriteString(`</table></td></tr></table><br>`)
		}
		return b.String(), nil
	})
	heuristics := func(name, desc string, commit bool) {
		d.op(name+"()", Strings, Info, desc, func(g *Registry, _ *Call) (any, error) {
			out := []string{}
			for x, committed := range g.b.Heuristics() {
				if committed == commit {
					out = append(out, x.Base64())
				}
			}
			sort.Strings(out)
			return out, nil
		})
	}
	heuristics("listHeuristicCommittedTransactions", "Transactions an operator has committed.", true)
	heuristics("listHeuristicRolledBackTransactions", "Transactions an operator has rolled back.", false)
	complete := func(name, desc string, commit bool) {
		d.op(name+"(transactionAsBase64 string)", Bool, Action, desc, func(g *Registry, c *Call) (any, error) {
			for _, p := range g.b.Prepared() {
				if p.Xid.Base64() == c.text(0) {
					return g.b.CompleteHeuristically(g.b.NewWork(), p.Xid, commit)
				}
			}
			return false, nil
		})
	}
	complete("commitPreparedTransaction", "Commits a prepared transaction by an operator's decision.", true)
	complete("rollbackPreparedTransaction", "Rolls a prepared transaction back by an operator's decision.", false)
}

var htmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func escape(s string) string { return htmlEscapes.Replace(s) }

// html is a value in HTML: texts in quotes.
func html(v any) string { return escape(JSON(v)) }
