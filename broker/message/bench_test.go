package message

import "testing"

// benchBlock is a message of 1 KiB with five properties.
func benchBlock() []byte {
	b := New("orders", Bytes)
	b.Durable, b.Timestamp, b.UserID = true, 1700000000000, make([]byte, 16)
	b.Set(PropRoutingType, int8(1))
	b.Set("__AMQ_CID", "1469cb6e-ecb1-11f1-b24d-02fc00000001")
	b.Set("n", int32(1))
	b.Set("color", "red")
	b.Set("price", 1.5)
	b.Body = make([]byte, 1024-len(b.AppendTo(nil)))
	return b.AppendTo(nil)
}

func BenchmarkNewCore(b *testing.B) {
	var pool Pool
	block := benchBlock()
	b.ReportAllocs()
	b.SetBytes(int64(len(block)))
	for b.Loop() {
		m, err := pool.NewCore(block)
		if err != nil {
			b.Fatal(err)
		}
		m.Release()
	}
}

func BenchmarkAppendRecord(b *testing.B) {
	var pool Pool
	m, err := pool.NewCore(benchBlock())
	if err != nil {
		b.Fatal(err)
	}
	dst := make([]byte, 0, 2048)
	b.ReportAllocs()
	for b.Loop() {
		dst = m.AppendRecord(dst[:0])
	}
	m.Release()
}

func BenchmarkProperty(b *testing.B) {
	m, err := ParseCore(benchBlock())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if v, _ := m.Property("color").Text(); v != "red" {
			b.Fatal(v)
		}
	}
}

func BenchmarkFromRecordAMQP(b *testing.B) {
	var pool Pool
	payload := amqpRecord(persisterAMQPv3, "00 53 70 c0 02 01 41 00 53 77 a1 05 68656c6c6f", "", 0)
	b.ReportAllocs()
	for b.Loop() {
		m, err := pool.FromRecord(RecordMessage, payload)
		if err != nil {
			b.Fatal(err)
		}
		m.Release()
	}
}
