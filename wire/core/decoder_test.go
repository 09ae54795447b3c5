package core

import (
	"reflect"
	"testing"
)

// What a Decoder reads is what Decode reads, and costs no memory.
func TestDecoder(t *testing.T) {
	var d Decoder
	for _, p := range []Packet{
		&ReplicationAppend{Journal: 1, Operation: RecordAdd, ID: 7, RecordType: 45, Record: []byte("record")},
		&ReplicationAppend{InTx: true, TxID: 9, Journal: 1, Operation: RecordUpdate, ID: 7, RecordType: 33, Record: []byte("ack")},
		&ReplicationDelete{Journal: 1, ID: 7},
		&ReplicationCommitRollback{Journal: 1, TxID: 9},
	} {
		f, _, _, err := Split(Append(nil, ChannelReplication, p, VersionCurrent), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Decode(f.Type, f.Payload, VersionCurrent)
		if err != nil {
			t.Fatal(err)
		}
		got := typeTable[uint8(f.Type)].make()
		if err := d.Decode(got, f.Payload, VersionCurrent); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		if n := testing.AllocsPerRun(100, func() {
			if err := d.Decode(got, f.Payload, VersionCurrent); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%v: %v allocations", f.Type, n)
		}
		if err := d.Decode(got, f.Payload[:len(f.Payload)-1], VersionCurrent); err == nil {
			t.Errorf("%v: a payload cut short was taken", f.Type)
		}
	}
}
