package replica

import (
	"errors"
	"fmt"
	"path"

	"github.com/saranga-mq/saranga/journal"
	"github.com/saranga-mq/saranga/journal/fs"
)

// incompleteName is a file in the journal's folder while the folders hold no whole data: from the first step of MoveAway, or of a
// synchronisation, to its end. The process may be another one by then, with another role: a primary with the legacy voting
// starts on what is there when it finds nobody active.
const incompleteName = "replica.incomplete"

const incompleteText = "These folders were emptied for a copy of another node's data, which is not whole.\n" +
	"What was here before is in the newest oldreplica.<n> of each folder.\n"

// ErrIncomplete: see Whole.
var ErrIncomplete = errors.New("the data folders hold a part of another node's data: the synchronisation with it has not ended")

// Whole returns an error if a synchronisation with another node emptied the folders and did not end, so that a broker that is
// started on them would miss messages.
func Whole(o journal.StoreOptions) error {
	name := path.Join(o.Journal, incompleteName)
	there, err := fs.Exists(o.FS, name)
	if err != nil || !there {
		return err
	}
	return fmt.Errorf("%w; start the node that has the data, which this one will copy; or, if that is lost, put back what is in the newest %s<n> of each data folder, and remove %s",
		ErrIncomplete, savedPrefix, name)
}

// markIncomplete makes Whole return an error.
func markIncomplete(o *journal.StoreOptions) error {
	name := path.Join(o.Journal, incompleteName)
	there, err := fs.Exists(o.FS, name)
	if err != nil || there {
		return err
	}
	if err := writeFile(o.FS, name, []byte(incompleteText)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return o.FS.SyncDir(o.Journal)
}

// markWhole takes that back.
func markWhole(o *journal.StoreOptions) error {
	name := path.Join(o.Journal, incompleteName)
	if err := o.FS.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return o.FS.SyncDir(o.Journal)
}
