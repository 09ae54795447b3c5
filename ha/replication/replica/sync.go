package replica

import (
	"fmt"

	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/wire/core"
)

// sync handles the three kinds of START_FINISH_SYNC.
func (e *Endpoint) sync(p *core.ReplicationStartFinishSync) error {
	switch {
	case p.Finished:
		return e.finish(p)
	case !p.DataType.Valid:
		return fmt.Errorf("%w: a start without a data type", ErrOrder)
	}
	switch p.DataType.V {
	case core.SyncJournalMessages:
		return e.begin(journal.MessagesJournal, p)
	case core.SyncJournalBindings:
		return e.begin(journal.BindingsJournal, p)
	case core.SyncLargeMessages:
		if e.status.upToDate() {
			return fmt.Errorf("%w: a list of large messages after the finish", ErrOrder)
		}
		if err := e.bodies.list(p.IDs); err != nil {
			return err
		}
		e.status.expect(len(p.IDs))
		return e.out.push(startResponse)
	}
	return fmt.Errorf("%w: start of data type %d", ErrOrder, p.DataType.V)
}

// begin starts the copy of a journal. The response leaves before the owner looks at the node id, which may take its time: the peer
// has stopped its appends.
func (e *Endpoint) begin(id journal.JournalID, p *core.ReplicationStartFinishSync) error {
	if e.begun[id] {
		return fmt.Errorf("%w: the %v journal begins a second time", ErrOrder, id)
	}
	if err := markIncomplete(&e.o.Store); err != nil {
		return err
	}
	if err := e.status.begin(p.NodeID, len(p.IDs)); err != nil {
		return err
	}
	if err := e.journals[id].Begin(p.IDs); err != nil {
		return err
	}
	e.begun[id] = true
	if err := e.out.push(startResponse); err != nil {
		return err
	}
	if err := e.out.drain(); err != nil {
		return err
	}
	return e.o.Owner.NodeID(p.NodeID, p.AllowsAutoFailBack)
}

// syncFile takes a piece of a file.
func (e *Endpoint) syncFile(p *core.ReplicationSyncFile) error {
	if p.FileID == -1 {
		return nil
	}
	if e.status.upToDate() {
		return fmt.Errorf("%w: a piece of file %d after the finish", ErrOrder, p.FileID)
	}
	end := p.DataSize <= 0
	if end && p.FileType != core.FilePage {
		e.status.copied()
	}
	switch p.FileType {
	case core.FileJournal:
		j, err := e.journal(p.Journal)
		if err != nil {
			return err
		}
		if end {
			return j.EndOfFile(p.FileID)
		}
		return j.Piece(p.FileID, p.Data)
	case core.FileLarge:
		if end {
			return e.bodies.endOfFile(p.FileID)
		}
		return e.bodies.piece(p.FileID, p.Data)
	default: // the codec knows no other
		if end {
			return e.pages.close(p.Store, p.FileID)
		}
		first, err := e.pages.piece(p.Store, p.FileID, p.Data)
		e.seenPage(p.Store, first)
		return err
	}
}

// finish ends the synchronisation.
func (e *Endpoint) finish(p *core.ReplicationStartFinishSync) error {
	if e.status.upToDate() {
		return fmt.Errorf("%w: a second finish", ErrOrder)
	}
	sequence := int64(-1)
	switch {
	case !p.DataType.Valid: // peers below version 131
	case p.DataType.V != core.SyncActivationSequence || len(p.IDs) != 1:
		return fmt.Errorf("%w: finish with data type %d and %d ids", ErrOrder, p.DataType.V, len(p.IDs))
	default:
		sequence = p.IDs[0]
	}
	for id, begun := range e.begun {
		if !begun {
			return fmt.Errorf("%w: finish without the %v journal", ErrOrder, journal.JournalID(id))
		}
	}
	if !e.bodies.listed {
		return fmt.Errorf("%w: finish without the list of large messages", ErrOrder)
	}
	if err := e.status.sameNode(p.NodeID); err != nil {
		return err
	}
	// Nobody waits for a journal while it is closed and loaded.
	if err := e.out.drain(); err != nil {
		return err
	}
	for _, j := range e.journals {
		if err := j.UpToDate(); err != nil {
			return err
		}
	}
	if err := e.bodies.finish(); err != nil {
		return err
	}
	if err := e.files.sync(); err != nil {
		return err
	}
	if err := markWhole(&e.o.Store); err != nil {
		return err
	}
	if err := e.o.Owner.UpToDate(p.NodeID, sequence); err != nil {
		return err
	}
	e.status.finish(sequence)
	return e.out.push(finalResponse)
}
