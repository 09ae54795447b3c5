package primary

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/large"
	"github.com/saranga-mq/saranga/journal/paging"
	"github.com/saranga-mq/saranga/wire/buf"
	"github.com/saranga-mq/saranga/wire/core"
)

const (
	// filePiece is how many bytes of a file go into one packet.
	filePiece = 32 << 10
	// readPiece is how many are read at once.
	readPiece = 8 * filePiece
	// filesAhead is how many bytes of the queue files may take.
	filesAhead = 256 << 10
)

// synchronise runs the initial synchronisation until the replica has acknowledged its end.
func (s *Sender) synchronise() error {
	if err := s.o.Store.Compact(); err != nil {
		if errors.Is(err, journal.ErrFailed) {
			return fmt.Errorf("compact before the synchronisation: %w", err)
		}
		s.log.Warn("the journals are copied as they are: they could not be compacted", "error", err)
	}
	s.q.mu.Lock()
	s.q.copying = true
	s.q.mu.Unlock()
	sn, err := s.o.Store.Attach(s, s.begin)
	if err != nil {
		return fmt.Errorf("begin the synchronisation: %w", err)
	}
	defer sn.Close()
	if s.lost() { // before there was anything to detach
		s.o.Store.Detach()
		return s.cause()
	}
	s.pumpSoon()
	if err := s.copyFiles(sn); err != nil {
		return err
	}
	// One that is gone, or too slow, is found out before anybody waits for it.
	if !s.q.await() {
		return s.cause()
	}
	finish := s.finishPacket(s.o.ActivationSequence())
	s.o.Store.Gate(func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ended {
			return false // or nobody would know that waiters are held
		}
		s.q.pushFinish(finish)
		s.gated = true
		return true
	})
	s.pumpSoon()
	timeout := time.NewTimer(s.o.InitialSyncTimeout)
	defer timeout.Stop()
	select {
	case <-s.synchronised:
		return nil
	case <-timeout.C:
		return fmt.Errorf("%w, %s", ErrSyncTimeout, s.o.InitialSyncTimeout)
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// begin announces the files. It is called while nothing can be appended, and before the first live packet.
func (s *Sender) begin(sn *journal.Snapshot) {
	bytes := int64(0)
	start := func(t core.SyncDataType, files []journal.FileInfo) {
		p := &core.ReplicationStartFinishSync{AllowsAutoFailBack: s.failBack, NodeID: s.o.NodeID, DataType: buf.Of(t)}
		for _, f := range files {
			p.IDs = append(p.IDs, f.ID)
			bytes += f.Size
		}
		s.q.send(p)
	}
	start(core.SyncJournalMessages, sn.Messages)
	start(core.SyncJournalBindings, sn.Bindings)
	list := &core.ReplicationStartFinishSync{DataType: buf.Of(core.SyncLargeMessages)}
	for _, b := range sn.Bodies {
		list.IDs = append(list.IDs, b.ID())
		bytes += b.Size()
	}
	s.q.send(list)
	files := len(sn.Messages) + len(sn.Bindings) + len(sn.Bodies)
	for _, f := range sn.Pages {
		files += len(f.Pages)
	}
	s.progress.filesTotal.Store(int64(files))
	s.progress.bytesTotal.Store(bytes) // pages are added as they are opened
}

// finishPacket is the one that ends the synchronisation.
func (s *Sender) finishPacket(sequence int64) *core.ReplicationStartFinishSync {
	p := &core.ReplicationStartFinishSync{Finished: true, NodeID: s.o.NodeID}
	if !s.q.version.BeforeTwoEighteen() {
		p.DataType, p.IDs = buf.Of(core.SyncActivationSequence), []int64{sequence}
	}
	return p
}

// copyFiles sends what the snapshot holds: journals, large messages, pages.
func (s *Sender) copyFiles(sn *journal.Snapshot) error {
	b := make([]byte, readPiece)
	for _, x := range []struct {
		id    journal.JournalID
		files []journal.FileInfo
	}{{journal.MessagesJournal, sn.Messages}, {journal.BindingsJournal, sn.Bindings}} {
		for _, f := range x.files {
			file, err := sn.Open(x.id, f)
			if err != nil {
				return err
			}
			s.sending(f.Name, f.Size)
			p := core.ReplicationSyncFile{FileID: f.ID, FileType: core.FileJournal, Journal: int8(x.id)}
			err = errors.Join(s.copyFile(&p, file, f.Size, b), file.Close())
			if err == nil {
				err = s.endFile(&p)
			}
			if err != nil {
				return fmt.Errorf("send %s: %w", f.Name, err)
			}
		}
	}
	for i, body := range sn.Bodies {
		if err := s.copyBody(body, b); err != nil {
			return err
		}
		sn.Bodies[i] = nil
		body.Release()
	}
	for _, folder := range sn.Pages {
		for _, page := range folder.Pages {
			if err := s.copyPage(folder, page, b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Sender) sending(name string, size int64) {
	s.log.Info("AMQ221025: sending a file to the replica", "file", name, "size", size)
}

// copyBody sends a large message up to its size; nothing follows.
func (s *Sender) copyBody(body *large.Body, b []byte) error {
	s.sending(fmt.Sprint(body.ID(), ".msg"), body.Size())
	p := core.ReplicationSyncFile{FileID: body.ID(), FileType: core.FileLarge}
	if err := s.copyFile(&p, body, body.Size(), b); err != nil {
		return fmt.Errorf("send large message %d: %w", body.ID(), err)
	}
	s.progress.files.Add(1)
	return nil
}

// copyPage sends a page and closes it at the replica.
func (s *Sender) copyPage(folder *paging.Folder, page int64, b []byte) error {
	file, err := folder.Open(page)
	if err != nil {
		return err
	}
	size, err := file.Size()
	s.progress.bytesTotal.Add(size)
	s.sending(fmt.Sprint("page ", page, " of ", folder.Address), size)
	p := core.ReplicationSyncFile{FileID: page, FileType: core.FilePage, Store: folder.Address}
	if err == nil {
		err = s.copyFile(&p, file, size, b)
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = s.endFile(&p)
	}
	if err == nil && !s.q.filePiece(&core.ReplicationPageEvent{StoreName: folder.Address, Page: page}, filesAhead) {
		err = s.cause()
	}
	if err != nil {
		return fmt.Errorf("send page %d of %s: %w", page, folder.Address, err)
	}
	return nil
}

// copyFile sends size bytes of a file in pieces.
func (s *Sender) copyFile(p *core.ReplicationSyncFile, r io.ReaderAt, size int64, b []byte) error {
	for off := int64(0); off < size; {
		n, err := r.ReadAt(b[:min(int64(len(b)), size-off)], off)
		if n == 0 {
			return fmt.Errorf("read at %d of %d: %w", off, size, err)
		}
		for rest := b[:n]; len(rest) > 0; {
			p.Data = rest[:min(len(rest), filePiece)]
			p.DataSize = int32(len(p.Data))
			rest = rest[len(p.Data):]
			if !s.q.filePiece(p, filesAhead) {
				return s.cause()
			}
			s.pumpSoon()
		}
		off += int64(n)
		s.progress.bytes.Add(int64(n))
	}
	return nil
}

// endFile tells that a journal file or page has no more bytes.
func (s *Sender) endFile(p *core.ReplicationSyncFile) error {
	p.Data, p.DataSize = nil, -1
	if !s.q.filePiece(p, filesAhead) {
		return s.cause()
	}
	s.progress.files.Add(1)
	return nil
}

// cause is why the queue was closed. Who closes it cancels the context soon after.
func (s *Sender) cause() error {
	<-s.ctx.Done()
	return context.Cause(s.ctx)
}
