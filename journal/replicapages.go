package journal

import (
	"errors"

	"github.com/saranga-mq/saranga/journal/bindings"
	"github.com/saranga-mq/saranga/journal/fs"
	"github.com/saranga-mq/saranga/journal/paging"
)

// LivePages returns a *LivePagesError if a page holds a message that a queue still waits for: then Load would refuse the
// folders. It changes nothing; the folders must not be in use.
func LivePages(o StoreOptions) error {
	folders, _, err := paging.Folders(o.FS, o.Paging)
	switch {
	case errors.Is(err, fs.ErrNotExist): // a node that never ran
		return nil
	case err != nil || len(folders) == 0:
		return err
	}
	queues := map[int64]bool{}
	if _, err := Read(o.BindingsOptions(), Visitor{Record: func(r *Record) error {
		if r.UserType == bindings.TypeQueue {
			queues[r.ID] = true
		}
		return nil
	}}); err != nil {
		return err
	}
	state := paging.NewState()
	if _, err := Read(o.MessagesOptions(), Visitor{
		Record: func(r *Record) error {
			return state.Record(r.UserType, r.Payload, r.Kind == Update || r.Kind == UpdateTx, false)
		},
		Prepared: func(t *Transaction) error {
			for i := range t.Records {
				r := &t.Records[i]
				if r.Kind == DeleteTx {
					continue
				}
				if err := state.Record(r.UserType, r.Payload, r.Kind == UpdateTx, true); err != nil {
					return err
				}
			}
			return nil
		},
	}); err != nil {
		return err
	}
	for _, f := range folders {
		at, live, err := state.FindLive(f, func(q int64) bool { return queues[q] }, nil)
		if err != nil {
			return err
		}
		if live {
			return &LivePagesError{Address: f.Address, Folder: f.Path, Page: at.Page, Index: at.Index}
		}
	}
	return nil
}
